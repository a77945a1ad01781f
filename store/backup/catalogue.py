"""What each backup says: the database and the transaction it is of, and the files it is made of.

One small JSON file for each, written last: a backup is there when this is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Final

from adalog.datalog.errors import AdalogError, invalid_argument
from adalog.store.backup.chunks import DamagedBackup, LogChunk
from adalog.store.files.formats import BACKUPS, PAYLOAD, RELEASE, NewerFormat, check_format
from adalog.store.files.place import FOLDERS, Place

OWNER: Final = "adalog-backups.json"
_FORMAT: Final = "adalog backups"
_OWNER_KEYS: Final = frozenset(["format", "version", "adalog", "identity"])
_NAME: Final = re.compile(r"(\d+)-[0-9a-f]{8}\.json")


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file of the data folder: where it belongs there, its segment's checksum, SHA-256 and bytes of all of it."""

    folder: str
    name: str
    checksum: int
    digest: str
    size: int

    @property
    def file(self) -> str:
        """Its name in the place."""
        return f"files/{self.digest}"


@dataclass(frozen=True)
class Backup:
    """A database as of transaction t, which is of `instant`, and of when it was `made`; both in milliseconds.

    name: of its file. number: of the backups in a place, from 1. log_checksum: the log's at t. chunks: its log from
    the first entry. checkpoint: the text of the folder's, which is of transaction `checkpoint_t`, None without one.
    files: those that the checkpoint and the log name. payloads: the newest format of its transactions. cleaned: the
    last excision that its log knows of, also a later one than t.
    """

    name: str
    number: int
    made: int
    identity: str
    t: int
    instant: int
    log_checksum: int
    chunks: Sequence[LogChunk]
    checkpoint: str | None
    checkpoint_t: int
    files: Sequence[KeptFile]
    payloads: int
    cleaned: int = 0

    @property
    def file(self) -> str:
        """Its name in the place."""
        return f"backups/{self.name}"

    def parts(self) -> dict[str, int]:
        """The names in the place of all its files, with their bytes."""
        return {chunk.file: chunk.size for chunk in self.chunks} | {file.file: file.size for file in self.files}


@dataclass(frozen=True)
class Catalogue:
    """The backups of a place, the oldest first. damaged: what cannot be read, by name, and why."""

    backups: Sequence[Backup]
    damaged: Mapping[str, DamagedBackup]

    @property
    def newest(self) -> Backup | None:
        """The one that was made last, of those that can be read."""
        return self.backups[-1] if self.backups else None

    def damaged_after(self, number: int) -> DamagedBackup | None:
        """What cannot be read and was made after the backup of this number, or may have been."""
        for name, error in self.damaged.items():
            match = _NAME.fullmatch(name)
            if match is None or int(match[1]) > number:
                return error
        return None

    @property
    def next_number(self) -> int:
        numbers = [backup.number for backup in self.backups]
        numbers += [int(match[1]) for match in map(_NAME.fullmatch, self.damaged) if match]
        return max(numbers, default=0) + 1

    def one(self, number: int, shown: str) -> Backup:
        """The backup of a number. Raises ARG_INVALID where there is none, INTERNAL where it cannot be read."""
        for backup in self.backups:
            if backup.number == number:
                return backup
        for name, error in self.damaged.items():
            match = _NAME.fullmatch(name)
            if match is not None and int(match[1]) == number:
                raise error
        known = ", ".join(str(backup.number) for backup in self.backups[-20:])
        raise invalid_argument(f"there is no backup {number} in {shown}; there are {known}")


def catalogue(place: Place) -> Catalogue:
    """The backups of a place. Raises ARG_INVALID for one that holds something else, or nothing, and NewerFormat
    where one of them is of a later version: what that needs is not known here."""
    found = place.top()
    names = sorted(place.sizes("backups"))
    if OWNER not in found and not any(map(_NAME.fullmatch, names)):
        what = "it holds something else" if set(found) - set(FOLDERS) else "it is empty, or not there"
        raise invalid_argument(f"there are no backups in {place.shown}: {what}")
    if OWNER in found:
        with suppress(DamagedBackup):
            owner(place)
    backups, damaged = [], {}
    for name in names:
        try:
            backups.append(_read(place, name))
        except DamagedBackup as error:
            # Without a lock, older ones may go meanwhile.
            if name in place.sizes("backups"):
                damaged[name] = error
    return Catalogue(sorted(backups, key=lambda backup: (backup.number, backup.made)), damaged)


def _check_known(place: Place, file: str, said: dict[str, Any]) -> None:
    """Raises NewerFormat for what a later version wrote, and ValueError where no format is said."""
    for name, form in (("version", BACKUPS), ("payloads", PAYLOAD)):
        version = said.get(name, form.oldest)
        if type(version) is not int or version < form.oldest:
            raise ValueError(f"its format is {version!r}")
        check_format(form, version, f"{file} of the backups in {place.shown}", said.get("adalog"))


def owner(place: Place) -> str:
    """The identity of the database whose backups a place holds. Raises DamagedBackup where that cannot be read, and
    NewerFormat."""
    try:
        said = json.loads(place.read(OWNER))
        _check_known(place, OWNER, said)
        identity = said["identity"]
        checksum = said.pop("checksum", None)
    except NewerFormat:
        raise
    except AdalogError as error:
        raise DamagedBackup(place.shown, OWNER, error.message) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedBackup(place.shown, OWNER, f"it does not say whose backups these are ({error})") from None
    if not isinstance(identity, str):
        raise DamagedBackup(place.shown, OWNER, "it does not say whose backups these are")
    if checksum is None:
        # As it was written before there was one, or by hand.
        if not said.keys() <= _OWNER_KEYS or said.get("format", _FORMAT) != _FORMAT:
            raise DamagedBackup(place.shown, OWNER, "it says something else than whose backups these are")
    elif checksum != _checksum(said):
        raise DamagedBackup(place.shown, OWNER, "its checksum is wrong")
    return identity


def _checksum(said: Mapping[str, Any]) -> str:
    return sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def check_owner(place: Place, identity: str) -> bool:
    """Whether a place holds backups of the database with this identity; False for an empty one. Raises ARG_INVALID
    for a place that holds something else, or another database's backups."""
    found = place.top()
    if OWNER in found:
        held = owner(place)
        if held != identity:
            raise invalid_argument(
                f"{place.shown} holds the backups of another database ({held}, not {identity}); name another place"
            )
        return True
    if any(map(_NAME.fullmatch, place.sizes("backups"))):
        raise DamagedBackup(
            place.shown, OWNER, "it is gone, though there are backups; `adalog check` says what to write into it"
        )
    if found:
        raise invalid_argument(
            f"{place.shown} holds something else than backups; name a new or empty folder, or one that has backups "
            "of this database"
        )
    return False


def claim(place: Place, identity: str) -> None:
    """Makes a place that of the database with this identity, or finds that it is. Raises as `check_owner`."""
    if check_owner(place, identity):
        return
    # It is the same in all formats; each backup says its own.
    whose = {"format": _FORMAT, "version": BACKUPS.oldest, "adalog": RELEASE, "identity": identity}
    place.write(OWNER, [json.dumps({**whose, "checksum": _checksum(whose)}).encode()])


def publish(place: Place, backup: Backup) -> None:
    """Makes a backup one that is there, all of whose files are. Where that fails it may be there or not."""
    said = asdict(backup)
    del said["name"], said["payloads"]
    if not backup.cleaned:
        # Earlier versions do not know it.
        del said["cleaned"]
    body = json.dumps(said)
    whole = {
        "version": BACKUPS.newest,
        "adalog": RELEASE,
        "payloads": backup.payloads,
        "checksum": sha256(body.encode()).hexdigest(),
        "body": body,
    }
    place.write(backup.file, [json.dumps(whole).encode()])
    place.settle()


def _read(place: Place, name: str) -> Backup:
    file = f"backups/{name}"
    try:
        text = place.read(file)
    except AdalogError as error:
        raise DamagedBackup(place.shown, file, error.message) from None
    try:
        whole = json.loads(text)
        _check_known(place, file, whole)
        body = whole["body"]
        if sha256(body.encode()).hexdigest() != whole["checksum"]:
            raise ValueError("its checksum is wrong")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedBackup(place.shown, file, str(error)) from None
    try:
        said: dict[str, Any] = json.loads(body)
        chunks = [LogChunk(**each) for each in said.pop("chunks")]
        files = [KeptFile(**each) for each in said.pop("files")]
        payloads = whole.get("payloads", PAYLOAD.oldest)
        return Backup(**said, chunks=chunks, files=files, name=name, payloads=payloads)
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedBackup(place.shown, file, f"it does not say what a backup says ({error!r})") from None
