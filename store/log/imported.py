"""The datoms of an import as the log keeps them: a file for each attribute, which the log's entry names.

A file holds the keys of the values that its codes stand for, so that it means the same whatever dictionary reads
it. It belongs to the log: it stays for as long as the entry does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from adalog.datalog.errors import AdalogError, Code
from adalog.store.files.narrow import column_of, length_of, narrowed
from adalog.store.files.segment import NARROW, DamagedSegment, Segment, open_segment, write_segment
from adalog.store.tries.trie import distinct
from adalog.store.values import layout
from adalog.store.values.arrays import Bools, Int64s, RowColumn, arrow_of
from adalog.store.values.codes import Codes
from adalog.store.values.keys import inline_value, value_of_key

_STEM: Final = "imported"
_NAME: Final = re.compile(rf"{_STEM}-\d+-(\d+)-\d+-[0-9a-f]{{8}}\.seg")
# The files whose checksum was found right by this process, with when they were written.
_verified: set[tuple[Segment, int]] = set()
# Bytes of keys that offsets of four bytes reach.
_MOST_SHORT: Final = (1 << 31) - 1
_PAYLOAD: Final = np.int64(layout.PAYLOAD_MASK)


@dataclass(frozen=True, eq=False)
class LoggedFile:
    """Assertions and retractions of one attribute in a file; count: how many."""

    attribute: int
    segment: Segment
    count: int

    def __len__(self) -> int:
        return self.count

    @cached_property
    def _arrays(self) -> dict[str, NDArray[Any]]:
        try:
            # Opened anew for each page that is read.
            known = (self.segment, Path(self.segment.path).stat().st_mtime_ns)
            arrays = open_segment(self.segment, trusted=known in _verified)
        except (DamagedSegment, OSError) as error:
            why = error.message if isinstance(error, AdalogError) else f"{self.segment.file}: {error.strerror}"
            raise AdalogError(
                Code.INTERNAL,
                f"the log is damaged: it names a file of {self.count:,} datoms, and {why.split(';')[0]}. Nothing "
                f"was changed; restore {self.segment.file} from a backup",
            ) from None
        _verified.add(known)
        return arrays

    def open(self) -> None:
        """Maps the file, which may be removed afterwards. Raises INTERNAL where it is damaged or missing."""
        _ = self._arrays

    @property
    def e(self) -> Int64s:
        """The entities, sorted."""
        return self.entities()

    @property
    def added(self) -> Bools:
        return self.assertions()

    def entities(self, start: int = 0, stop: int | None = None) -> Int64s:
        """The entities, from number `start` up to `stop`."""
        return column_of(self._arrays, "e", start, stop)

    def assertions(self, start: int = 0, stop: int | None = None) -> Bools:
        """Which are assertions, likewise."""
        return column_of(self._arrays, "added", start, stop).astype(np.bool_, copy=False)

    @cached_property
    def _known(self) -> Int64s:
        """The distinct codes whose values are in dictionaries, sorted."""
        return column_of(self._arrays, "codes")

    def codes(self, codes: Codes) -> Int64s:
        """The values' codes; they are interned. For one thread at a time."""
        known, v = self._known, column_of(self._arrays, "v")
        if not len(known):
            return v
        dictionaries = codes.dictionaries()
        spelt = zip(layout.tags_of(known).tolist(), self._keys().to_pylist(), strict=True)
        numbers = [layout.code_of(tag, dictionaries[tag].add(key)) for tag, key in spelt]
        if numbers == known.tolist():
            return v
        at = np.minimum(known.searchsorted(v), len(known) - 1)
        return np.where(known[at] == v, np.array(numbers, np.int64)[at], v)

    def refs(self) -> Int64s:
        """The values of refs, without a look at a dictionary."""
        return column_of(self._arrays, "v")

    def known_codes(self, codes: Codes, which: RowColumn) -> list[int]:
        """The codes of some rows' values, which have some. Costs these alone."""
        some, where = np.unique(column_of(self._arrays, "v")[which], return_inverse=True)
        tags = layout.tags_of(some)
        places = np.flatnonzero(np.isin(tags, layout.DICTIONARY_TAGS))
        keys = self._keys().take(arrow_of(self._known.searchsorted(some[places])))
        for place, key in zip(places.tolist(), keys.to_pylist(), strict=True):
            found = codes.lookup_key(int(tags[place]), key)
            assert found is not None, "a value of the database"
            some[place] = found
        listed: list[int] = some[where].tolist()
        return listed

    def without(self, gone: Bools, folder: Path, t: int) -> LoggedFile:
        """Without some of its rows, in a new file. Raises OSError."""
        left = ~gone
        v = column_of(self._arrays, "v")[left]
        known = _dictionary_codes(v)
        keys = self._keys().take(arrow_of(self._known.searchsorted(known))).cast(pa.large_binary())
        events = self.entities()[left], v, self.assertions()[left]
        return _written(folder, f"{_STEM}-{self.attribute}-{t}-0", self.attribute, events, known, [keys])

    def keys_from(self, lengths: Mapping[int, int]) -> Iterator[tuple[int, dict[int, bytes]]]:
        """By tag, the keys with numbers from the given ones on, by their codes."""
        known = self._known
        tags = layout.tags_of(known)
        for tag in np.unique(tags).tolist():
            at = np.flatnonzero((tags == tag) & (known >= layout.code_of(tag, lengths[tag])))
            if len(at):
                keys = self._keys().take(pa.array(at)).to_pylist()
                yield tag, dict(zip(known[at].tolist(), keys, strict=True))

    def values(self, start: int = 0, stop: int | None = None) -> list[Any]:
        """The values, from number `start` up to `stop`."""
        codes, where = np.unique(column_of(self._arrays, "v", start, stop), return_inverse=True)
        made = np.empty(len(codes), object)
        tags = layout.tags_of(codes)
        inline = np.isin(tags, (0, layout.TAG_BOOLEAN, layout.TAG_INSTANT))
        for at in np.flatnonzero(inline).tolist():
            code, tag = int(codes[at]), int(tags[at])
            made[at] = code if tag == 0 else inline_value(tag, code & layout.PAYLOAD_MASK)
        others = np.flatnonzero(~inline)
        if len(others):
            keys = self._keys().take(pa.array(self._known.searchsorted(codes[others])))
            for at, key in zip(others.tolist(), keys.to_pylist(), strict=True):
                made[at] = value_of_key(int(tags[at]), key)
        values: list[Any] = made[where].tolist()
        return values

    def _keys(self) -> pa.LargeBinaryArray | pa.BinaryArray:
        arrays = self._arrays
        buffers = [None, pa.py_buffer(arrays["offsets"]), pa.py_buffer(arrays["heap"])]
        kind = pa.binary() if arrays["offsets"].dtype == np.int32 else pa.large_binary()
        return pa.Array.from_buffers(kind, length_of(arrays, "codes"), buffers)


def transaction_of(file: str) -> int | None:
    """The number of the transaction that made a file of an import, from its name; None for another file's name."""
    found = _NAME.fullmatch(file)
    return None if found is None else int(found[1])


def intern_together(
    files: Sequence[LoggedFile], codes: Codes, others: Iterable[tuple[int, int, bytes]] = ()
) -> None:
    """Interns the values of an import's files in the order of the codes that they had where it was made:
    equal dictionaries before give equal codes after. others: tag, number and key of values that are in no file any
    more. For one thread at a time."""
    new: dict[int, dict[int, bytes]] = {}
    dictionaries = codes.dictionaries()
    for file in files:
        for tag, own in file.keys_from({tag: len(each) for tag, each in dictionaries.items()}):
            new.setdefault(tag, {}).update(own)
    for tag, number, key in others:
        if number >= len(dictionaries[tag]):
            new.setdefault(tag, {}).setdefault(layout.code_of(tag, number), key)
    for tag, keys in new.items():
        for code in sorted(keys):
            dictionaries[tag].add(keys[code])


def write_logged(
    folder: Path, attribute: int, t: int, events: tuple[Int64s, Int64s, Bools], codes: Codes, part: int = 0
) -> LoggedFile:
    """A file of (entities, value codes, which are asserted), sorted by entity and value. part: its number, of
    several."""
    known = _dictionary_codes(events[1])
    # Sorted codes: those of one tag follow each other.
    tags = layout.tags_of(known)
    starts = np.flatnonzero(np.append(True, tags[1:] != tags[:-1])[: len(tags)]).tolist()
    parts = [known[start:stop] for start, stop in pairwise([*starts, len(known)])]
    keys = [codes.dictionaries()[int(layout.tags_of(own)[0])].gather(own & _PAYLOAD) for own in parts]
    return _written(folder, f"{_STEM}-{attribute}-{t}-{part}", attribute, events, known, keys)


def _written(
    folder: Path,
    stem: str,
    attribute: int,
    events: tuple[Int64s, Int64s, Bools],
    known: Int64s,
    keys: Sequence[pa.LargeBinaryArray],
) -> LoggedFile:
    """known: the distinct codes with keys, in order; keys: theirs, in some arrays."""
    e, v, added = events
    offsets = np.zeros(len(known) + 1, np.int64)
    lengths = [
        np.diff(np.frombuffer(each.buffers()[1], np.int64)[each.offset : each.offset + len(each) + 1])
        for each in keys
        if len(each)
    ]
    if lengths:
        np.cumsum(np.concatenate(lengths), out=offsets[1:])
    parts = [_heap_of(each) for each in keys if len(each)]
    whole = np.concatenate(parts) if parts else np.empty(0, np.uint8)
    has_codes = len(known) > 0
    arrays = {
        **narrowed("e", e),
        **narrowed("v", v, grows=has_codes),
        **narrowed("added", added.astype(np.int64)),
        **narrowed("codes", known, grows=True),
        "offsets": offsets.astype(np.int32) if len(whole) <= _MOST_SHORT else offsets,
        "heap": whole,
    }
    segment = write_segment(folder, stem, arrays, NARROW)
    return LoggedFile(attribute, segment, len(e))


def _heap_of(keys: pa.LargeBinaryArray) -> NDArray[np.uint8]:
    ends = np.frombuffer(keys.buffers()[1], np.int64)
    start, stop = int(ends[keys.offset]), int(ends[keys.offset + len(keys)])
    heap = keys.buffers()[2]
    return np.frombuffer(heap, np.uint8)[start:stop] if heap is not None else np.empty(0, np.uint8)


def _dictionary_codes(v: Int64s) -> Int64s:
    """The distinct codes among them whose values are in dictionaries, sorted."""
    return distinct(v[np.isin(layout.tags_of(v), layout.DICTIONARY_TAGS)])
