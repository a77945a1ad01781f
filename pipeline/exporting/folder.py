"""The folder of an export: its folders by attribute, `schema.edn`, and `manifest.json`, which says what is in it.

Whoever imports it reads it through this, too.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final
from uuid import uuid4

import orjson

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.pipeline.exporting.origin import ExportOrigin
from adalog.store.files.formats import EXPORT, check_format
from adalog.store.files.permissions import FOLDER_MODE

MANIFEST: Final = "manifest.json"
SCHEMA: Final = "schema.edn"
FORMATS: Final = ("parquet", "edn")
_PLAIN: Final = re.compile(rb"[A-Za-z0-9_-]")
_LONGEST: Final = 150
# What an export calls folders and files: nothing leads elsewhere.
_NAME: Final = re.compile(r"[A-Za-z0-9%_-][A-Za-z0-9%._-]*")


@dataclass(frozen=True, slots=True)
class File:
    """A file of an attribute's folder: its name there, how many datoms and bytes it has."""

    name: str
    datoms: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ExportedAttribute:
    """attribute: with its colon. type: as `:db/valueType` names it, without the namespace."""

    attribute: str
    type: str
    folder: str
    files: tuple[File, ...]

    @property
    def datoms(self) -> int:
        """How many it has."""
        return sum(file.datoms for file in self.files)


@dataclass(frozen=True, slots=True)
class Listing:
    """t: the database is that after this transaction. history: with what no longer holds. idents: the entity of
    every ident that is not built in."""

    format: str
    t: int
    history: bool
    attributes: tuple[ExportedAttribute, ...]
    idents: Mapping[str, int]

    def written(self) -> bytes:
        """As the file holds it. The first format has no room for the release; from the second on `adalog` says it,
        which readers know already."""
        return orjson.dumps({"version": EXPORT.newest, **asdict(self)}, option=orjson.OPT_INDENT_2) + b"\n"


def read_manifest(origin: ExportOrigin) -> Listing:
    """What a place says that it holds. Raises ARG_INVALID where it is no export, or not a whole one."""
    path = origin.told(MANIFEST)
    try:
        said = orjson.loads(origin.content(MANIFEST))
        version, release = said.pop("version"), said.pop("adalog", None)
        if type(version) is not int or version < EXPORT.oldest:
            raise ValueError(f"its format is {version!r}")
        check_format(EXPORT, version, path, release, Code.ARG_INVALID)
        attributes = tuple(
            ExportedAttribute(**{**each, "files": tuple(File(**file) for file in each["files"])})
            for each in said.pop("attributes")
        )
        manifest = Listing(attributes=attributes, **said)
        if manifest.format not in FORMATS or not all(type(e) is int for e in manifest.idents.values()):
            raise ValueError(f"format {manifest.format}, or an ident that is no entity's")
    except OSError as error:
        raise AdalogError(
            Code.ARG_INVALID, f"{origin} is no folder that `adalog export` wrote: {MANIFEST}: {error.strerror}"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise AdalogError(Code.ARG_INVALID, f"{path} does not say what an export holds ({error!r})") from None
    for attribute in manifest.attributes:
        for file in attribute.files:
            for name in (attribute.folder, file.name):
                if not _NAME.fullmatch(name):
                    raise AdalogError(Code.ARG_INVALID, f"{path} names {name!r}, which is no name in an export")
            _check_there(origin, f"{attribute.folder}/{file.name}", file)
    return manifest


def _check_there(origin: ExportOrigin, name: str, file: File) -> None:
    path = origin.told(name)
    try:
        size = origin.size(name)
    except OSError as error:
        raise AdalogError(Code.ARG_INVALID, f"the export is not whole: {path}: {error.strerror}") from None
    if size != file.bytes:
        raise AdalogError(
            Code.ARG_INVALID, f"the export is not whole: {path} has {size:,} bytes, and had {file.bytes:,}"
        )


# Names


def folder_names(idents: Iterable[Keyword]) -> dict[Keyword, str]:
    """A folder's name for each attribute: `person.name`, with what is not plain as %xx; no two of them differ in
    case alone."""
    names = {ident: folder_name(ident) for ident in idents}
    groups: dict[str, list[Keyword]] = {}
    for ident, name in names.items():
        groups.setdefault(name.lower(), []).append(ident)
    for alike in groups.values():
        if len(alike) > 1:
            names |= {ident: folder_name(ident, capitals=False) for ident in alike}
    return names


def folder_name(ident: Keyword, *, capitals: bool = True) -> str:
    """The namespace, a dot, the name; a part's own dots are %2e. `capitals`: whether these are plain, too."""
    namespace, slash, local = ident.name.partition("/")
    parts = (namespace, local) if slash else (namespace,)
    name = ".".join(_encoded(part, capitals=capitals) for part in parts)
    if name.startswith("_") or name.lower() in (MANIFEST, SCHEMA):
        # Spark reads over it, or it is what another file is called.
        name = f"%{ord(name[0]):02x}{name[1:]}"
    if len(name) > _LONGEST:
        digest = blake2b(ident.name.encode(), digest_size=12).hexdigest()
        name = f"{name[:_LONGEST]}%{digest}"
    return name


def _encoded(part: str, *, capitals: bool) -> str:
    letters = [bytes((byte,)) for byte in part.encode()]
    return "".join(
        letter.decode() if _PLAIN.match(letter) and (capitals or not letter.isupper()) else f"%{letter[0]:02x}"
        for letter in letters
    )


# Writing


def check_folder(to: Path) -> None:
    """Raises ARG_INVALID unless a folder can be made there: nothing is there, or an empty one."""
    if to.is_dir():
        if any(to.iterdir()):
            raise AdalogError(
                Code.ARG_INVALID, f"{to} is not empty, and an export is a folder of its own: name another one"
            )
    elif to.exists() or to.is_symlink():
        raise AdalogError(Code.ARG_INVALID, f"{to} is no folder")


@contextmanager
def unfinished_folder(to: Path) -> Iterator[Path]:
    """A folder beside `to` that becomes it at the end; where that is not reached, it goes with what is in it."""
    path = to.parent / f".{to.name}.{uuid4().hex[:12]}.partial"
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(FOLDER_MODE)
        yield path
        os.rename(path, to)
    except OSError as error:
        raise AdalogError(
            Code.BACKEND_UNAVAILABLE, f"{to} cannot be written: {error.strerror or error}", retryable=False
        ) from None
    finally:
        shutil.rmtree(path, ignore_errors=True)
