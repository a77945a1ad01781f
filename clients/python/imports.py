"""What an import is asked with, and what a server says of one; the command line uses it, too."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Final, Protocol

import orjson

from adalog.client.result import ImportReport
from adalog.datalog.errors import invalid_argument, quoted
from adalog.pipeline.importing.read.mapping import mapping_text
from adalog.pipeline.importing.read.mapping_places import GIVEN

# Of rejected rows, in a message.
_TOLD: Final = 3


@dataclass(frozen=True, slots=True)
class MappingText:
    """A mapping, and the file that its paths are relative to."""

    text: str
    file: Path


def mapping_given(mapping: Any) -> MappingText:
    """Of a file's name, or of a dict, whose paths are relative to the working directory."""
    if isinstance(mapping, Mapping):
        try:
            # JSON is YAML, too.
            return MappingText(orjson.dumps(mapping).decode(), Path.cwd() / GIVEN)
        except TypeError as error:
            raise invalid_argument(
                f"the mapping is no mapping of texts, numbers, lists and dicts: {error}"
            ) from None
    if not isinstance(mapping, str | os.PathLike):
        raise invalid_argument(f"a mapping is the name of a YAML file, or a dict, not {quoted(mapping)}")
    file = Path(mapping)
    return MappingText(mapping_text(file), file)


def wish_of(mapping: MappingText, paths: Mapping[str, str], *, max_errors: int, dry_run: bool) -> dict[str, Any]:
    """What a server is sent, which reads the sources itself. The mapping's schema is read here."""
    from adalog.pipeline.importing.read.mapping_reader import mapping_of

    plan = mapping_of(mapping.text, mapping.file, paths, os.environ)
    tables = [source.sql for source in plan.sources if source.sql is not None]
    return {
        "mapping": mapping.text,
        "file": str(mapping.file.absolute()),
        "schema": plan.schema_text(),
        "passwords": {table.variable: table.password for table in tables if table.variable is not None},
        "paths": {name: path if "://" in path else str(Path(path).absolute()) for name, path in paths.items()},
        "maxErrors": max_errors,
        "dryRun": dry_run,
    }


class RejectedFolder:
    """The folder of rejected rows: each file is written anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._begun: set[str] = set()

    def write(self, name: str, text: str) -> None:
        # A server has no say in which folder is written to.
        path = self._folder / Path(name).name
        self._folder.mkdir(parents=True, exist_ok=True)
        with path.open("a" if path.name in self._begun else "w", encoding="utf-8") as file:
            file.write(text)
        self._begun.add(path.name)


class ServerJobProgress(Protocol):
    """Listens to a server's job."""

    def stage(self, name: str) -> None: ...
    def tasks(self, done: int, total: int, rows: int) -> None: ...
    def waits(self, running: str, ahead: int, seconds: float) -> None: ...


def job_outcome(
    events: Iterable[tuple[str, Any]],
    progress: ServerJobProgress,
    rejected: Callable[[str, str], None] | None = None,
) -> dict[str, Any]:
    """What came of a server's job: its last event. `rejected`: takes the file and text of rejected rows."""
    stage = None
    for kind, said in events:
        if kind == "done":
            return dict(said)
        if kind == "waiting":
            progress.waits(said["running"], said["ahead"], said["seconds"])
        elif kind == "rejected" and rejected is not None:
            rejected(said["file"], said["text"])
        elif kind == "progress":
            if said["stage"] != stage:
                stage = said["stage"]
                progress.stage(stage)
            if "total" in said:
                progress.tasks(said["done"], said["total"], said["rows"])
    raise AssertionError("done comes last, or an error was raised")


class Quarantine:
    """The folder for rejected rows while an import runs. folder: None for one that goes at the end."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self._temporary = TemporaryDirectory(prefix="adalog-rejected-") if folder is None else None
        self.folder = Path(folder if self._temporary is None else self._temporary.name)  # type: ignore[arg-type]

    def __enter__(self) -> Quarantine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()

    def report(self, outcome: Mapping[str, Any], max_errors: int) -> ImportReport:
        """The report of an outcome. Raises ARG_INVALID, with the first reasons, if too many rows were rejected."""
        if not outcome["accepted"]:
            told, rejected = self._reasons(), outcome["rejected"]
            where = "quarantine=FOLDER keeps" if self._temporary is not None else f"{self.folder} has"
            first = f"The first {len(told)}: " if len(told) < rejected else ""
            raise invalid_argument(
                f"{rejected:,} rows were rejected, max_errors is {max_errors:,}, and nothing was imported; {where} "
                f"all of them, with reasons. {first}{' '.join(told)}".rstrip()
            )
        said = {name: outcome[name] for name in ("t", "rows", "entities", "datoms", "rejected", "seconds")}
        return ImportReport(**said, warnings=list(outcome["warnings"]), attributes=list(outcome["report"]))

    def _reasons(self) -> list[str]:
        found: list[str] = []
        for file in sorted(self.folder.glob("*")):
            with file.open(encoding="utf-8") as lines:
                for line in lines:
                    said = orjson.loads(line)
                    # A message has room for few whole paths.
                    place = Path(said.get("file") or said["source"]).name
                    at = f":{said['line']}" if said.get("line") else ""
                    found.append(f"{place}{at}: {said['reason']}.")
                    if len(found) == _TOLD:
                        return found
        return found
