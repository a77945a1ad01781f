"""The layout of an export: a folder for each attribute, `schema.edn`, and `manifest.json`, which lists them.

Exports and imports both read it here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Final

import orjson

from adalog.datalog.errors import Code, invalid_argument
from adalog.datalog.values import Keyword
from adalog.pipeline.exporting.origin import ExportOrigin
from adalog.store.files.formats import EXPORT, check_format

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
        """The file's content. From the second format on `adalog` gives the release; readers know that already."""
        return orjson.dumps({"version": EXPORT.newest, **asdict(self)}, option=orjson.OPT_INDENT_2) + b"\n"


def read_manifest(origin: ExportOrigin) -> Listing:
    """The listing of an export. Raises ARG_INVALID for what is no export, or an incomplete one."""
    path = origin.shown(MANIFEST)
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
        raise invalid_argument(
            f"{origin} is no folder that `adalog export` wrote: {MANIFEST}: {error.strerror}"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise invalid_argument(f"{path} does not say what an export holds ({error!r})") from None
    for attribute in manifest.attributes:
        for file in attribute.files:
            for name in (attribute.folder, file.name):
                if not _NAME.fullmatch(name):
                    raise invalid_argument(f"{path} names {name!r}, which is no name in an export")
            _check_there(origin, f"{attribute.folder}/{file.name}", file)
    return manifest


def _check_there(origin: ExportOrigin, name: str, file: File) -> None:
    path = origin.shown(name)
    try:
        size = origin.size(name)
    except OSError as error:
        raise invalid_argument(f"the export is not whole: {path}: {error.strerror}") from None
    if size != file.bytes:
        raise invalid_argument(f"the export is not whole: {path} has {size:,} bytes, and had {file.bytes:,}")


def folder_names(idents: Iterable[Keyword]) -> dict[Keyword, str]:
    """A folder's name for each attribute: `person.name`, special letters as %xx; no two differ in case alone."""
    names = {ident: folder_name(ident) for ident in idents}
    folded = Counter(name.lower() for name in names.values())
    return {
        ident: name if folded[name.lower()] == 1 else folder_name(ident, capitals=False)
        for ident, name in names.items()
    }


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
