"""The Dockerfile's instructions, and a shell script that does what they say over a copy of this machine's root.

The script wants root: it lays a file system in memory over `/` in a mount namespace of its own, which ends with it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Final

from helm.tests.chart import ROOT

FILE: Final = ROOT / "Dockerfile"
IGNORED: Final = ("--exclude=__pycache__", "--exclude=*.pyc", "--exclude=node_modules")


@dataclass(frozen=True)
class Instruction:
    """One instruction: `RUN`, what follows it, and where it stands."""

    name: str
    value: str
    line: int

    @property
    def words(self) -> list[str]:
        """The arguments without flags; of the exec form, too."""
        if self.value.startswith("["):
            return [str(each) for each in json.loads(self.value)]
        return [word for word in shlex.split(self.value) if not word.startswith("--")]

    def flag(self, name: str) -> str | None:
        """What `--name=` says."""
        found = re.search(rf"(?:^|\s)--{name}=(\S+)", self.value)
        return found and found[1]


def instructions() -> list[Instruction]:
    """The file's instructions, in order."""
    found, text, first = [], "", 0
    for number, line in enumerate(FILE.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("#") or not (line.strip() or text):
            continue
        first = first if text else number
        text += line.strip().removesuffix("\\").strip() + " "
        if not line.endswith("\\"):
            name, _, value = text.strip().partition(" ")
            found.append(Instruction(name, value.strip(), first))
            text = ""
    return found


def last_stage() -> list[Instruction]:
    """The instructions of what runs."""
    every = instructions()
    begins = max(at for at, each in enumerate(every) if each.name == "FROM")
    return every[begins:]


def pairs(value: str) -> dict[str, str]:
    """The NAME=value pairs of ENV, ARG and LABEL."""
    return {name: text for name, _, text in (word.partition("=") for word in shlex.split(value))}


def script(folder: Path, serve: Mapping[str, str]) -> str:
    """Builds, then becomes what the image runs, with these variables too, on a root that is read-only."""
    return "\n".join(_lines(folder, serve)) + "\n"


def _lines(folder: Path, serve: Mapping[str, str]) -> Iterator[str]:
    root = shlex.quote(str(folder / "root"))
    yield "set -eux; exec 3>&1 1>&2"
    yield f"mkdir -p {folder}/layer {folder}/root; mount -t tmpfs -o size=8g,mode=755 none {folder}/layer"
    yield f"mkdir {folder}/layer/upper {folder}/layer/work"
    yield f"mount -t overlay -o lowerdir=/,upperdir={folder}/layer/upper,workdir={folder}/layer/work none {root}"
    # The base image's python is everybody's to run; this machine's may lie in root's own folder.
    yield f"chmod 755 {root}/root; rm -rf {root}/opt/libraries {root}/opt/adalog {root}/data {root}/build"
    yield f"for each in proc dev sys; do mount --rbind /$each {root}/$each; done; mount -t tmpfs none {root}/tmp"
    stages: dict[str, dict[str, str]] = {}
    arguments: dict[str, str] = {}
    environ: dict[str, str] = {}
    for each in instructions():
        if each.name == "FROM":
            environ = dict(stages.get(each.words[0], {"PATH": "$PATH"}))
            stages[each.words[-1]] = environ
        elif each.name == "ARG":
            arguments |= pairs(each.value)
        elif each.name == "ENV":
            environ |= {name: Template(text).substitute(arguments) for name, text in pairs(each.value).items()}
            stages[next(reversed(stages))] = environ
        elif each.name == "COPY" and each.flag("from") is None:
            *sources, target = each.words
            for source in sources:
                place = f"{root}{target}{Path(source).name if target.endswith('/') else ''}"
                yield f"mkdir -p $(dirname {place})"
                if (ROOT / source).is_dir():
                    yield f"tar -C {ROOT / source} -c {' '.join(IGNORED)} . | (mkdir -p {place}; tar -C {place} -x)"
                else:
                    yield f"cp {ROOT / source} {place}"
                if mode := each.flag("chmod"):
                    yield f"chmod {mode} {place}"
        elif each.name == "RUN":
            yield f"{_env(environ | arguments)} chroot {root} /bin/sh -c {shlex.quote(each.value)}"
    user = next(each.value for each in last_stage() if each.name == "USER").split(":")
    words = [
        word for name in ("ENTRYPOINT", "CMD") for each in last_stage() if each.name == name for word in each.words
    ]
    # As a container: nothing can be written but the two volumes.
    yield f"mount -t tmpfs -o mode=1777 none {root}/tmp; cp -a {root}/data {folder}/layer/data"
    yield f"mount --bind {folder}/layer/data {root}/data; mount -o remount,ro {root}"
    yield f"! touch {root}/opt/adalog/here; exec 1>&3 3>&-"
    yield (
        f"cd /; exec env -i {_env(environ | dict(serve)).removeprefix('env ')} $(command -v chroot) {root} "
        f"setpriv --reuid {user[0]} --regid {user[1]} --clear-groups --no-new-privs --bounding-set -all "
        + " ".join(words)
    )


def _env(environ: Mapping[str, str]) -> str:
    shown = (
        f'{name}="{text}"' if text == "$PATH" else f"{name}={shlex.quote(text)}" for name, text in environ.items()
    )
    return "env " + " ".join(shown)
