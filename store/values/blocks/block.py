"""A block of a dictionary: distinct byte keys with consecutive numbers, found by number and by content.

Immutable, and often mapped from a file. Keys come from clients, so a block's index hashes them with a secret.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2s
from math import isqrt
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from adalog.store.files.segment import DamagedSegment, Segment, open_segment

_HASH_BITS: Final = 32
# Hashes are uniform: of n, the place of one is off by more than this many roots of n once in 15,000 times.
_ROOTS: Final = 2


def hash_of(key: bytes, secret: bytes) -> int:
    """32 bits of BLAKE2s, keyed by prefix: without the secret no keys that share a hash are found."""
    return int.from_bytes(blake2s(secret + key, digest_size=4).digest(), "little")


def hashes_of(keys: Iterable[bytes], secret: bytes) -> NDArray[np.uint32]:
    """uint32[n]: the keys' `hash_of`."""
    return np.frombuffer(b"".join([blake2s(secret + key, digest_size=4).digest() for key in keys]), "<u4")


class BlockArrays(NamedTuple):
    """What a block is made of, as a segment file stores it."""

    offsets: NDArray[np.int64]
    heap: NDArray[np.uint8]
    hashes: NDArray[np.uint32]
    order: NDArray[np.int32]
    secret: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Block:
    """Keys number `start` to `stop`: key i is `heap[offsets[i - start]:offsets[i - start + 1]]`.

    hashes: the keys' `hash_of`, sorted. order: the position of the key each hash belongs to. secret: of the
    hashes; empty in files of versions that had none, whose hashes are no use. segment: the file that the arrays are
    mapped from, if any.
    """

    start: int
    arrays: BlockArrays
    segment: Segment | None = None

    @property
    def stop(self) -> int:
        return self.start + len(self.arrays.order)

    def key(self, number: int) -> bytes:
        offsets = self.arrays.offsets
        at = number - self.start
        return self.arrays.heap[offsets[at] : offsets[at + 1]].tobytes()

    def keys(self, numbers: NDArray[np.int64]) -> list[bytes]:
        at, offsets = numbers - self.start, self.arrays.offsets
        heap = self.arrays.heap.data
        return [bytes(heap[a:b]) for a, b in zip(offsets[at].tolist(), offsets[at + 1].tolist(), strict=True)]

    @property
    def secret(self) -> bytes:
        return self.arrays.secret.tobytes()

    def taken(self, numbers: NDArray[np.int64]) -> pa.LargeBinaryArray:
        """The keys of many numbers."""
        return self.arrow().take(pa.array(numbers - self.start))

    def sliced(self, first: int, count: int) -> pa.LargeBinaryArray | None:
        """The keys of so many consecutive numbers, without a copy; None where they do not lie side by side."""
        return self.arrow()[first - self.start :][:count]

    def words(self, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
        """uint64[n]: the keys of many numbers, which have eight bytes each."""
        return self._words[numbers - self.start] if self.start else self._words[numbers]

    @cached_property
    def _words(self) -> NDArray[np.uint64]:
        return self.arrays.heap.view("<u8")

    def find(self, key: bytes, key_hash: int) -> int | None:
        hashes = self._hashes
        at = self._place(key_hash)
        while at < len(hashes) and hashes[at] == key_hash:
            number = self.start + int(self.arrays.order[at])
            if self.key(number) == key:
                return number
            at += 1
        return None

    def find_column(self, keys: pa.LargeBinaryArray, hashes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """int64[n]: the numbers of keys, given their hashes; -1 where it has none."""
        found = np.full(len(keys), -1, np.int64)
        own, order = self.arrays.hashes, self.arrays.order
        if not len(own):
            return found
        import pyarrow.compute as pc

        # Equal hashes lie side by side: each round looks at the next one of each key that is not found yet.
        left, at, held = np.arange(len(keys)), own.searchsorted(hashes), self.arrow()
        while len(left):
            inside = at < len(own)
            inside[inside] = own[at[inside]] == hashes[left[inside]]
            left, at = left[inside], at[inside]
            if not len(left):
                break
            places = order[at]
            same = pc.equal(held.take(pa.array(places)), keys.take(pa.array(left))).to_numpy(zero_copy_only=False)
            found[left[same]] = self.start + places[same]
            left, at = left[~same], at[~same] + 1
        return found

    def find_many(self, keys: Sequence[bytes], hashes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """int64[n]: the numbers of keys, given their hashes; -1 where it has none."""
        own = self.arrays.hashes
        found = np.full(len(keys), -1, np.int64)
        if not len(own):
            return found
        first = np.minimum(own.searchsorted(hashes), len(own) - 1)
        alike = np.flatnonzero(own[first] == hashes)
        numbers = self.start + self.arrays.order[first[alike]].astype(np.int64)
        for at, number, known in zip(alike.tolist(), numbers.tolist(), self.keys(numbers), strict=True):
            # Another key with the same hash may come before it.
            number = number if known == keys[at] else self.find(keys[at], int(hashes[at]))
            found[at] = -1 if number is None else number
        return found

    @cached_property
    def _hashes(self) -> memoryview:
        return self.arrays.hashes.data

    def _place(self, key_hash: int) -> int:
        """Where the hash is among the sorted ones, or would be: few steps, all close to where it is expected."""
        hashes, count = self._hashes, len(self._hashes)
        expected, slack = key_hash * count >> _HASH_BITS, _ROOTS * isqrt(count) + 1
        low, high = max(expected - slack, 0), min(expected + slack, count)
        at = bisect_left(hashes, key_hash, low, high)
        if (at == low and low > 0) or (at == high and high < count):
            return bisect_left(hashes, key_hash)
        return at

    def __getstate__(self) -> dict[str, object]:
        return {"start": self.start, "arrays": self.arrays, "segment": self.segment}

    def arrow(self) -> pa.LargeBinaryArray:
        """All its keys, without a copy."""
        arrays = self.arrays
        buffers = [None, pa.py_buffer(arrays.offsets), pa.py_buffer(arrays.heap)]
        return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(arrays.order), buffers)

    @staticmethod
    def build(start: int, keys: Sequence[bytes], secret: bytes) -> Block:
        offsets = np.zeros(len(keys) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, keys), np.int64, len(keys)), out=offsets[1:])
        heap = np.frombuffer(b"".join(keys), np.uint8)
        return _indexed(start, offsets, heap, hashes_of(keys, secret), secret)

    @staticmethod
    def hashed(start: int, keys: pa.LargeBinaryArray, hashes: NDArray[np.uint32], secret: bytes) -> Block:
        """A block of keys whose hashes are known."""
        return _indexed(start, *key_arrays(keys), hashes, secret)

    @staticmethod
    def merge(blocks: Sequence[Block]) -> Block:
        """Neighbouring blocks with one secret, oldest first, as one."""
        hashes, offsets, shift = [], [np.zeros(1, np.int64)], 0
        for block in blocks:
            assert block.secret == blocks[0].secret, "blocks of one dictionary have one secret"
            own = np.empty(len(block.arrays.order), np.uint32)
            own[block.arrays.order] = block.arrays.hashes
            hashes.append(own)
            offsets.append(block.arrays.offsets[1:] + shift)
            shift += len(block.arrays.heap)
        heap = np.concatenate([block.arrays.heap for block in blocks])
        offsets_of_all, hashes_of_all = np.concatenate(offsets), np.concatenate(hashes)
        return _indexed(blocks[0].start, offsets_of_all, heap, hashes_of_all, blocks[0].secret)

    def renamed(self, keys: Mapping[int, bytes]) -> Block:
        """With other keys for some of its numbers, in no file."""
        arrays, places = self.arrays, np.array(sorted(number - self.start for number in keys), np.int64)
        new = [keys[self.start + place] for place in places.tolist()]
        lengths = np.diff(arrays.offsets)
        lengths[places] = list(map(len, new))
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        parts, end = list[NDArray[np.uint8]](), 0
        for place, key in zip(places.tolist(), new, strict=True):
            parts += [arrays.heap[end : arrays.offsets[place]], np.frombuffer(key, np.uint8)]
            end = int(arrays.offsets[place + 1])
        heap = np.concatenate([*parts, arrays.heap[end:]])
        kept = ~np.isin(arrays.order, places)
        hashes, order = arrays.hashes[kept], arrays.order[kept]
        fresh = hashes_of(new, self.secret)
        first = np.argsort(fresh)
        at = hashes.searchsorted(fresh[first])
        hashes = np.insert(hashes, at, fresh[first])
        order = np.insert(order, at, places[first].astype(np.int32))
        return Block(self.start, BlockArrays(offsets, heap, hashes, order, arrays.secret))

    def filtered(self, keep: NDArray[np.bool_]) -> Block:
        """The keys that are marked, with the numbers from its first one on, in no file. keep: bool[n]."""
        offsets, heap = key_arrays(self.arrow().filter(pa.array(keep)))
        marked = keep[self.arrays.order]
        places = np.cumsum(keep, dtype=np.int32) - np.int32(1)
        hashes, order = self.arrays.hashes[marked], places[self.arrays.order[marked]]
        return Block(self.start, BlockArrays(offsets, heap, hashes, order, self.arrays.secret))

    def rehashed(self, secret: bytes) -> Block:
        """The same keys by another secret, in no file."""
        hashes = hashes_of(self.arrow().to_pylist(), secret)
        return _indexed(self.start, self.arrays.offsets, self.arrays.heap, hashes, secret)

    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)


def key_arrays(keys: pa.LargeBinaryArray) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Keys as a block has them: key i of n is `heap[offsets[i]:offsets[i + 1]]`, and the heap has nothing else."""
    if not len(keys):
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    offsets = np.frombuffer(keys.buffers()[1], np.int64)[keys.offset : keys.offset + len(keys) + 1]
    heap = keys.buffers()[2]
    content = np.empty(0, np.uint8) if heap is None else np.frombuffer(heap, np.uint8)
    return offsets - offsets[0], content[offsets[0] : offsets[-1]]


def file_has(block: Block, numbers: Mapping[int, Collection[int]]) -> bool:
    """Whether the file of a block has keys of some numbers, by tag, also if a later file has them, too. So it had
    if another process has removed it."""
    assert block.segment is not None
    try:
        arrays = open_segment(block.segment, trusted=True)
    except DamagedSegment:
        return True
    for name, array in arrays.items():
        tag, first, part = name.split(".")
        if part == "offsets" and int(tag) in numbers:
            # That of a block in a file of its own is not said there.
            start = int(first) if first.isdigit() else block.start
            bounds = arrays.get(f"{tag}.{first}.bounds")
            stop = start + (len(array) - 1 if bounds is None else int(bounds[-1]))
            if any(start <= number < stop for number in numbers[int(tag)]):
                return True
    return False


def _indexed(
    start: int, offsets: NDArray[np.int64], heap: NDArray[np.uint8], hashes: NDArray[np.uint32], secret: bytes
) -> Block:
    order = np.argsort(hashes)
    secret_bytes = np.frombuffer(secret, np.uint8)
    return Block(start, BlockArrays(offsets, heap, hashes[order], order.astype(np.int32), secret_bytes))
