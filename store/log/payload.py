"""A transaction as the log keeps it: values, not codes, so that it means the same whatever dictionary reads it."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from adalog.datalog.errors import AdalogError, Code
from adalog.store.files.formats import PAYLOAD, check_format
from adalog.store.files.packing import pack, unpack
from adalog.store.files.segment import Segment
from adalog.store.log.entry import LogEntry, room_of
from adalog.store.log.imported import LoggedFile
from adalog.store.values import bootstrap, layout
from adalog.store.values.arrays import Bools, Int64s, RowColumn, arrow_of
from adalog.store.values.attribute import TX_BASE
from adalog.store.values.changes import Effect, Excision
from adalog.store.values.codes import Codes
from adalog.store.values.excised.placeholders import placeholder

# The first byte is the format.
_PLAIN: Final = b"\0"
_ZSTD: Final = b"\1"
# Compressed as well: the first transaction with what earlier versions must not go on with. They stop there.
_LATER: Final = b"\2"
# An excision, or what one has left of a transaction: whether it is compressed, the bytes without compression, and
# those that follow. What comes after them means nothing.
EXCISED: Final = b"\3"
FILES_KEY: Final = pack("files")
"""What the bytes of a transaction with files have in them, without compression."""
_EXCISED_HEAD: Final = struct.Struct("<?QI")
_COMPRESS_FROM: Final = 4096
# What an excision leaves repeats much, so that short bodies compress well.
_COMPRESS_REST: Final = 256
# Bytes that are searched at once.
_SEARCHED: Final = 1 << 16
# Of the log's bytes without compression, and of what is made of them.
_WEIGHT: Final = 3

# Types whose Arrow column gives every value back as it was.
_ARROW_TAGS: Final = frozenset({layout.TAG_STRING, layout.TAG_DOUBLE})


@dataclass(frozen=True, eq=False)
class LoggedColumn:
    """Assertions of one attribute that came as columns. kind says how `data` holds the values."""

    attribute: int
    e: Int64s
    kind: str
    data: Any

    def __len__(self) -> int:
        return len(self.e)

    @property
    def added(self) -> Bools:
        """Which are assertions: all."""
        return self.assertions()

    def entities(self, start: int = 0, stop: int | None = None) -> Int64s:
        """The entities, from number `start` up to `stop`."""
        return self.e[start:stop]

    def assertions(self, start: int = 0, stop: int | None = None) -> Bools:
        """Which are assertions, likewise: all."""
        return np.ones(len(self.e[start:stop]), np.bool_)

    @staticmethod
    def of(attribute: int, e: Int64s, v: Int64s, codes: Codes) -> LoggedColumn:
        tags = set(np.flatnonzero(np.bincount(layout.tags_of(v))).tolist())
        if tags <= {0}:
            return LoggedColumn(attribute, e, "long", v.astype("<i8").tobytes())
        if len(tags) == 1 and tags <= _ARROW_TAGS:
            return LoggedColumn(attribute, e, "arrow", _ipc(codes.to_arrow(v)))
        return LoggedColumn(attribute, e, "values", codes.decode_many(v))

    def codes(self, codes: Codes) -> Int64s:
        """The values' codes; they are interned."""
        if self.kind == "long":
            return np.frombuffer(self.data, "<i8")
        if self.kind == "arrow":
            return codes.intern_arrow(self._arrow())
        return np.array([codes.intern(value) for value in self.data], np.int64)

    def codes_among(self, codes: Codes, slots: DictionarySlots) -> Int64s:
        """The same, with values among them that are excised."""
        if self.kind == "long":
            return np.frombuffer(self.data, "<i8")
        made = []
        for value in self.values():
            slots.fill(codes)
            made.append(codes.intern(value))
        return np.array(made, np.int64)

    def refs(self) -> Int64s:
        """The values of refs, without a look at a dictionary."""
        assert self.kind == "long", "refs are entities"
        return np.frombuffer(self.data, "<i8")

    def known_codes(self, codes: Codes, which: RowColumn) -> list[int]:
        """The codes of some rows' values, which have some. Costs these alone."""
        if self.kind == "long":
            listed: list[int] = np.frombuffer(self.data, "<i8")[which].tolist()
            return listed
        some = self._arrow().take(arrow_of(which)).to_pylist() if self.kind == "arrow" else self._some(which)
        found = [codes.lookup(value) for value in some]
        return [code for code in found if code is not None]

    def _some(self, which: RowColumn) -> list[Any]:
        return [self.data[place] for place in which.tolist()]

    def without(self, gone: Bools) -> LoggedColumn:
        """Without some of its rows, and of the same kind."""
        left = np.flatnonzero(~gone)
        if self.kind == "long":
            data: Any = np.frombuffer(self.data, "<i8")[left].tobytes()
        else:
            data = _ipc(self._arrow().take(arrow_of(left))) if self.kind == "arrow" else self._some(left)
        return LoggedColumn(self.attribute, self.e[left], self.kind, data)

    def values(self, start: int = 0, stop: int | None = None) -> list[Any]:
        """The values, from number `start` up to `stop`."""
        if self.kind == "long":
            numbers: list[Any] = np.frombuffer(self.data, "<i8")[start:stop].tolist()
            return numbers
        return list(self._arrow()[start:stop].to_pylist() if self.kind == "arrow" else self.data[start:stop])

    def _arrow(self) -> pa.Array:
        return pa.ipc.open_stream(self.data).read_all().column(0).combine_chunks()


def _ipc(values: pa.Array) -> bytes:
    batch = pa.record_batch([values], names=["v"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


class DictionarySlot(NamedTuple):
    """Numbers that excised datoms had brought into the dictionary of a tag: a replay puts keys in their place, so
    that later values get the numbers that they had. It does so once the dictionary has all smaller numbers, unless
    it has these already. size: how many numbers there are, from `number` on. key: of the only one, or the seed of
    the placeholders of all. place: how many of the n datoms that are left come before it; n + 1 + c after c of the
    columns that are left; -1 for values of files, whose numbers follow each other whatever file they were in."""

    place: int
    tag: int
    number: int
    size: int
    key: bytes | int

    @property
    def stop(self) -> int:
        return self.number + self.size

    def key_of(self, number: int) -> bytes:
        return placeholder(self.tag, self.key, number) if isinstance(self.key, int) else self.key


class DictionarySlots:
    """Some slots to be filled, as soon as each can be."""

    def __init__(self, slots: Iterable[DictionarySlot]) -> None:
        self._left: dict[int, list[DictionarySlot]] = {}
        for slot in sorted(slots, key=lambda slot: slot.number, reverse=True):
            self._left.setdefault(slot.tag, []).append(slot)

    def fill(self, codes: Codes) -> None:
        """Fills those whose turn it is."""
        for tag, left in self._left.items():
            dictionary = codes.dictionaries()[tag]
            while left and left[-1].number <= len(dictionary):
                slot = left.pop()
                for number in range(len(dictionary), slot.stop):
                    if dictionary.add(slot.key_of(number)) != number:
                        raise _damaged(slot, len(dictionary))

    def close(self, codes: Codes) -> None:
        """Fills all that are left. Raises INTERNAL where values before them are missing."""
        self.fill(codes)
        for tag, left in self._left.items():
            if left:
                raise _damaged(left[-1], len(codes.dictionaries()[tag]))


def _has_any(plain: bytes, parts: Sequence[bytes]) -> bool:
    """Whether one of the parts is in some bytes. A search holds the interpreter, and so comes in pieces."""
    more = max(map(len, parts), default=0) - 1
    return any(
        plain.find(part, start, start + _SEARCHED + more) >= 0
        for start in range(0, len(plain), _SEARCHED)
        for part in parts
    )


def _steps(ids: Int64s) -> list[Any]:
    """Ids in order, as the first one, the bytes of a step, and the steps to the others."""
    steps = np.diff(ids, prepend=0)
    size = next(size for size in (1, 2, 4, 8) if int(steps[1:].max(initial=0)) < 1 << (8 * size - 1))
    return [int(steps[0]), size, steps[1:].astype(f"<i{size}").tobytes()]


def _from_steps(said: Sequence[Any]) -> Int64s:
    first, size, steps = said
    return np.cumsum(np.append(first, np.frombuffer(steps, f"<i{size}")).astype(np.int64))


def _damaged(slot: DictionarySlot, length: int) -> AdalogError:
    return AdalogError(
        Code.INTERNAL,
        f"the log is damaged: an excised transaction has value {slot.number} of its kind where {length} are known. "
        "Nothing was changed; restore the data folder from a backup",
    )


@dataclass(frozen=True, eq=False)
class ExcisedParts:
    """What an excision says, or has left of a transaction. excision: that the transaction is one. redacted: the
    last excision that took something of it, 0 for none; slots, ids: what that left, in order of place; ids of
    entities that no others may get."""

    excision: Excision | None = None
    redacted: int = 0
    slots: Sequence[DictionarySlot] = ()
    ids: Int64s = field(default_factory=lambda: np.empty(0, np.int64))


_WHOLE: Final = ExcisedParts()


@dataclass(frozen=True, eq=False)
class Logged:
    """A transaction's datoms (entity, attribute entity, value, added), its columns, some of them in files, and the
    tempids to report."""

    datoms: Sequence[tuple[int, int, Any, bool]]
    tempids: Mapping[str, int]
    columns: Sequence[LoggedColumn | LoggedFile] = ()
    excised: ExcisedParts = _WHOLE

    @property
    def excision(self) -> Excision | None:
        return self.excised.excision

    @property
    def slots(self) -> Sequence[DictionarySlot]:
        return self.excised.slots

    @property
    def count(self) -> int:
        return len(self.datoms) + sum(map(len, self.columns))

    @staticmethod
    def of(effects: Iterable[Effect], tempids: Mapping[str, int], codes: Codes) -> Logged:
        return Logged([(e, a, codes.decode(v), added) for e, a, v, added in effects], tempids)

    def principal(self, t: int) -> str | None:
        """Whose transaction it is, if it says so. t: its number."""
        own = (TX_BASE + t, bootstrap.PRINCIPAL)
        return next((value for e, a, value, _ in self.datoms if (e, a) == own), None)

    def effects(self, codes: Codes) -> list[Effect]:
        """The datoms that are not in columns, their values interned."""
        if not self.slots:
            return [Effect(e, a, codes.intern(value), added) for e, a, value, added in self.datoms]
        slots = self.slots_at(range(len(self.datoms) + 1))
        effects = []
        for e, a, value, added in self.datoms:
            slots.fill(codes)
            effects.append(Effect(e, a, codes.intern(value), added))
        slots.close(codes)
        return effects

    @property
    def together(self) -> list[DictionarySlot]:
        """Those that are filled with the values of its files."""
        return [slot for slot in self.slots if slot.place < 0]

    def slots_at(self, places: range) -> DictionarySlots:
        """Those that are filled at some places."""
        return DictionarySlots(slot for slot in self.slots if slot.place in places)

    def encoded(self) -> bytes:
        """The bytes for the log. Raises UnicodeEncodeError for text that is not Unicode."""
        body: dict[str, Any] = {"datoms": [item for datom in self.datoms for item in datom]}
        if self.tempids:
            body["tempids"] = self.tempids
        columns = [column for column in self.columns if isinstance(column, LoggedColumn)]
        if columns:
            body["columns"] = [
                [column.attribute, column.e.astype("<i8").tobytes(), column.kind, column.data] for column in columns
            ]
        files = [column for column in self.columns if isinstance(column, LoggedFile)]
        if files:
            body["files"] = [
                [each.attribute, each.segment.file, each.segment.checksum, each.count] for each in files
            ]
        if self.excised is not _WHOLE:
            return self._excised(body)
        data = pack(body)
        is_later = not bootstrap.BARRING.isdisjoint(map(itemgetter(0), self.datoms))
        if len(data) < _COMPRESS_FROM and not is_later:
            return _PLAIN + data
        compressed: bytes = pa.compress(data, codec="zstd", asbytes=True)
        return (_LATER if is_later else _ZSTD) + struct.pack("<Q", len(data)) + compressed

    def in_place_of(self, entry: LogEntry) -> bytes:
        """What an excision has left of an entry, for the log: as long as what was there, where it is shorter."""
        data = self.encoded()
        assert data[:1] == EXCISED, "what an excision has left"
        return data + bytes(max(room_of(entry) - len(data), 0))

    def _excised(self, body: dict[str, Any]) -> bytes:
        parts = self.excised
        if parts.excision is not None:
            body["excision"] = parts.excision.packed()
        if parts.redacted:
            body["redacted"] = parts.redacted
        if parts.slots:
            body["slots"] = [item for slot in parts.slots for item in slot]
        if len(parts.ids):
            body["ids"] = _steps(parts.ids)
        data = pack(body)
        stored: bytes = pa.compress(data, codec="zstd", asbytes=True) if len(data) >= _COMPRESS_REST else data
        is_long = len(stored) < len(data)
        stored = stored if is_long else data
        return EXCISED + _EXCISED_HEAD.pack(is_long, len(data), len(stored)) + stored

    @staticmethod
    def weight(data: bytes) -> int:
        """About the bytes that `decoded` will hold."""
        if data[:1] == _PLAIN:
            return _WEIGHT * len(data)
        (size,) = struct.unpack_from("<Q", data, 2 if data[:1] == EXCISED else 1)
        return _WEIGHT * int(size)

    @staticmethod
    def uncompressed(data: bytes) -> bytes:
        """What the log's bytes say, as MessagePack. Raises NewerFormat."""
        check_format(PAYLOAD, data[0], "a transaction in the log")
        if data[:1] == _PLAIN:
            return data[1:]
        if data[:1] == EXCISED:
            is_long, size, length = _EXCISED_HEAD.unpack_from(data, 1)
            stored = data[1 + _EXCISED_HEAD.size :][:length]
            if not is_long:
                return stored
        else:
            (size,) = struct.unpack_from("<Q", data, 1)
            stored = data[9:]
        plain: bytes = pa.decompress(stored, decompressed_size=size, codec="zstd", asbytes=True)
        return plain

    @staticmethod
    def files_in(data: bytes) -> list[str]:
        """The names of the files that the log's bytes name. Raises NewerFormat."""
        plain = Logged.uncompressed(data)
        return [name for _, name, *_ in unpack(plain).get("files", ())] if FILES_KEY in plain else []

    @staticmethod
    def decoded(data: bytes, folder: Path | None = None) -> Logged:
        """From the log's bytes. folder: where the files are that it may name. Raises NewerFormat."""
        return Logged._of(data, Logged.uncompressed(data), folder)

    @staticmethod
    def decoded_with(data: bytes, folder: Path | None, parts: Sequence[bytes]) -> Logged | None:
        """The content of an entry whose MessagePack has one of the parts, or which an excision made or changed.
        Returns None for every other entry, which is not unpacked."""
        plain = Logged.uncompressed(data)
        return Logged._of(data, plain, folder) if data[:1] == EXCISED or _has_any(plain, parts) else None

    @staticmethod
    def _of(data: bytes, plain: bytes, folder: Path | None) -> Logged:
        body = unpack(plain)
        flat = body["datoms"]
        columns: list[LoggedColumn | LoggedFile] = [
            LoggedColumn(attribute, np.frombuffer(e, "<i8"), kind, values)
            for attribute, e, kind, values in body.get("columns", ())
        ]
        for attribute, name, checksum, count in body.get("files", ()):
            assert folder is not None, "only the log of a folder names files"
            columns.append(LoggedFile(attribute, Segment(str(folder / name), checksum), count))
        datoms = list(zip(flat[::4], flat[1::4], flat[2::4], flat[3::4], strict=True))
        if data[:1] != EXCISED:
            return Logged(datoms, body.get("tempids", {}), columns)
        said, slots = body.get("excision"), body.get("slots", ())
        parts = ExcisedParts(
            None if said is None else Excision.unpacked(said),
            body.get("redacted", 0),
            [DictionarySlot(*each) for each in zip(*(slots[item::5] for item in range(5)), strict=True)],
            _from_steps(body["ids"]) if "ids" in body else np.empty(0, np.int64),
        )
        return Logged(datoms, body.get("tempids", {}), columns, parts)
