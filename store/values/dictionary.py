"""One type's values by number: an append-only list of distinct byte keys, found by number and by content.

The old part is a few immutable blocks (often memory-mapped), the young part Python objects. One thread adds; any
number read, each from the state it sees when it starts. Knows bytes and numbers, not what they stand for. Keys come
from clients, so a block's index hashes them with a secret.
"""

from __future__ import annotations

import secrets
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2s
from math import isqrt
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from adalog.store.files.segment import DamagedSegment, Segment, open_segment

# A block takes in its younger neighbour once that has grown to this share of its size: log(n) blocks, each key
# rewritten log(n) times.
_MERGE_SHARE: Final = 0.5
# Bytes of a secret: with it, keys of up to 48 bytes are one block of the hash function.
SECRET_BYTES: Final = 16
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
        offsets = np.frombuffer(keys.buffers()[1], np.int64)[keys.offset : keys.offset + len(keys) + 1]
        heap = keys.buffers()[2]
        content = np.empty(0, np.uint8) if heap is None else np.frombuffer(heap, np.uint8)
        return _indexed(start, offsets - offsets[0], content[offsets[0] : offsets[-1]], hashes, secret)

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

    def rehashed(self, secret: bytes) -> Block:
        """The same keys by another secret, in no file."""
        hashes = hashes_of(self.arrow().to_pylist(), secret)
        return _indexed(self.start, self.arrays.offsets, self.arrays.heap, hashes, secret)

    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)


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
            if any(start <= number < start + len(array) - 1 for number in numbers[int(tag)]):
                return True
    return False


def _indexed(
    start: int, offsets: NDArray[np.int64], heap: NDArray[np.uint8], hashes: NDArray[np.uint32], secret: bytes
) -> Block:
    order = np.argsort(hashes)
    secret_bytes = np.frombuffer(secret, np.uint8)
    return Block(start, BlockArrays(offsets, heap, hashes[order], order.astype(np.int32), secret_bytes))


class KeyColumn(NamedTuple):
    """The keys number `start` to `stop`, as in a block."""

    start: int
    offsets: NDArray[np.int64]
    heap: NDArray[np.uint8]

    @property
    def stop(self) -> int:
        return self.start + len(self.offsets) - 1


class _State(NamedTuple):
    blocks: tuple[Block, ...]
    start: int
    keys: list[bytes]
    numbers: dict[bytes, int]


class Dictionary:
    """Distinct keys numbered 0, 1, 2 …"""

    def __init__(
        self, blocks: Iterable[Block] = (), young: Iterable[bytes] = (), secret: bytes | None = None
    ) -> None:
        """Blocks without a secret are hashed anew, which takes a second for a million keys. secret: for blocks to
        come, where there are none; by default one of its own."""
        blocks = tuple(blocks)
        known = [block.secret for block in blocks if block.secret]
        self.secret = known[0] if known else secret or secrets.token_bytes(SECRET_BYTES)
        blocks = tuple(block if block.secret else block.rehashed(self.secret) for block in blocks)
        self._state = _young_state(blocks, list(young))

    def __len__(self) -> int:
        state = self._state
        return state.start + len(state.keys)

    def parts(self) -> tuple[tuple[Block, ...], list[bytes]]:
        """The blocks, oldest first, and a copy of the keys that none of them holds yet."""
        state = self._state
        return state.blocks, list(state.keys)

    def key_columns(self) -> list[KeyColumn]:
        """The keys of its blocks, oldest first, without a copy. Young keys are in none of them."""
        return [KeyColumn(each.start, each.arrays.offsets, each.arrays.heap) for each in self._state.blocks]

    def add(self, key: bytes) -> int:
        """The key's number, a new one where it has none. For one thread at a time."""
        number = self.find(key)
        return self._append(key) if number is None else number

    def _append(self, key: bytes) -> int:
        """The number of a key that has none yet."""
        state = self._state
        number = state.start + len(state.keys)
        # Readers find a key by `numbers` only, so it must be in `keys` before it can be found.
        state.keys.append(key)
        state.numbers[key] = number
        return number

    def extend(self, keys: list[bytes], numbers: dict[bytes, int]) -> None:
        """Add keys that it does not have, which are given the next numbers. For the adding thread."""
        state = self._state
        state.keys.extend(keys)
        state.numbers.update(numbers)

    def find(self, key: bytes) -> int | None:
        state = self._state
        number = state.numbers.get(key)
        if number is not None or not state.blocks:
            return number
        key_hash = hash_of(key, self.secret)
        for block in state.blocks:
            number = block.find(key, key_hash)
            if number is not None:
                return number
        return None

    def find_many(self, keys: Sequence[bytes]) -> list[int | None]:
        state = self._state
        found: list[int | None] = [state.numbers.get(key) for key in keys]
        left = [at for at, number in enumerate(found) if number is None]
        if not left or not state.blocks:
            return found
        hashes = hashes_of((keys[at] for at in left), self.secret)
        for block in state.blocks:
            numbers = block.find_many([keys[at] for at in left], hashes)
            for at, number in zip(left, numbers.tolist(), strict=True):
                if number >= 0:
                    found[at] = number
            missing = numbers < 0
            left = [at for at, lacks in zip(left, missing.tolist(), strict=True) if lacks]
            hashes = hashes[missing]
        return found

    def key(self, number: int) -> bytes:
        state = self._state
        if number >= state.start:
            return state.keys[number - state.start]
        for block in state.blocks:
            if number < block.stop:
                return block.key(number)
        raise IndexError(number)

    def some(self, numbers: NDArray[np.int64]) -> list[bytes]:
        """The keys of some numbers, in their order."""
        state = self._state
        found = [b""] * len(numbers)
        for block in state.blocks:
            at = np.flatnonzero((numbers >= block.start) & (numbers < block.stop))
            if len(at) == len(numbers):
                return block.keys(numbers)
            for place, key in zip(at.tolist(), block.keys(numbers[at]), strict=True):
                found[place] = key
        for place in np.flatnonzero(numbers >= state.start).tolist():
            found[place] = state.keys[int(numbers[place]) - state.start]
        return found

    def gather(self, numbers: NDArray[np.int64]) -> pa.LargeBinaryArray:
        """The keys of many numbers, in their order."""
        state = self._state
        whole = self._span(state, numbers)
        if whole is not None:
            return whole
        parts, places = [], []
        for block in state.blocks:
            at = np.flatnonzero((numbers >= block.start) & (numbers < block.stop))
            if len(at):
                parts.append(block.arrow().take(pa.array(numbers[at] - block.start)))
                places.append(at)
        at = np.flatnonzero(numbers >= state.start)
        if len(at):
            distinct, where = np.unique(numbers[at], return_inverse=True)
            keys = [state.keys[number - state.start] for number in distinct.tolist()]
            parts.append(pa.array(keys, pa.large_binary()).take(pa.array(where)))
            places.append(at)
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return pa.array([], pa.large_binary())
        back = np.empty(len(numbers), np.int64)
        back[np.concatenate(places)] = np.arange(len(numbers))
        return pa.concat_arrays(parts).take(pa.array(back))

    @staticmethod
    def _span(state: _State, numbers: NDArray[np.int64]) -> pa.LargeBinaryArray | None:
        """The keys of numbers that follow each other in one block, without a copy; None of others."""
        if not len(numbers) or numbers[-1] - numbers[0] != len(numbers) - 1 or numbers[-1] >= state.start:
            return None
        if len(numbers) > 2 and not (np.diff(numbers) == 1).all():
            return None
        block = next(each for each in state.blocks if numbers[0] < each.stop)
        return block.arrow()[numbers[0] - block.start :][: len(numbers)] if numbers[-1] < block.stop else None

    def gather_words(self, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
        """uint64[n]: the keys of many numbers, in their order, of a dictionary whose keys have eight bytes each."""
        state = self._state
        if state.blocks and len(numbers) and numbers.max() < state.blocks[0].stop:
            return state.blocks[0].arrays.heap.view("<u8")[numbers]
        words = np.empty(len(numbers), "<u8")
        for block in state.blocks:
            inside = (numbers >= block.start) & (numbers < block.stop)
            words[inside] = block.arrays.heap.view("<u8")[numbers[inside] - block.start]
        young = numbers >= state.start
        if young.any():
            distinct, where = np.unique(numbers[young] - state.start, return_inverse=True)
            keys = b"".join([state.keys[number] for number in distinct.tolist()])
            words[young] = np.frombuffer(keys, "<u8")[where]
        return words

    def folded(self) -> tuple[Block, ...]:
        """The blocks as they would be with the young keys of this moment in one; changes nothing."""
        state = self._state
        if not state.keys:
            return state.blocks
        blocks = [*state.blocks, Block.build(state.start, state.keys[:], self.secret)]
        first = len(blocks) - 1
        size = len(blocks[first].arrays.order)
        while first and size >= _MERGE_SHARE * len(blocks[first - 1].arrays.order):
            first -= 1
            size += len(blocks[first].arrays.order)
        if first < len(blocks) - 1:
            blocks[first:] = [Block.merge(blocks[first:])]
        return tuple(blocks)

    def adopt(self, blocks: tuple[Block, ...]) -> None:
        """Take blocks made by `folded` (or read back from disk) as the old part. For the adding thread's lock."""
        state, stop = self._state, blocks[-1].stop if blocks else 0
        self._state = _young_state(blocks, state.keys[stop - state.start :])

    def take_over(self, blocks: tuple[Block, ...]) -> None:
        """The same with blocks that another process made of the same keys, unless its own have more of them, or
        hash them by another secret."""
        if blocks and blocks[-1].stop >= self._state.start and all(each.secret == self.secret for each in blocks):
            self.adopt(blocks)

    def append(self, blocks: Sequence[Block]) -> None:
        """Take blocks of further keys, none of which it has, after all of its own. For the adding thread."""
        assert blocks[0].start == len(self), "numbers follow each other"
        state = self._state
        young = (Block.build(state.start, state.keys[:], self.secret),) if state.keys else ()
        self._state = _young_state((*state.blocks, *young, *blocks), [])

    def find_column(self, keys: pa.LargeBinaryArray, hashes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """int64[n]: the numbers of distinct keys, -1 where it has none. hashes: by its secret."""
        state = self._state
        numbers, own = np.full(len(keys), -1, np.int64), state.numbers
        if own:
            numbers = np.fromiter((own.get(key, -1) for key in keys.to_pylist()), np.int64, len(keys))
        for block in state.blocks:
            left = np.flatnonzero(numbers < 0)
            if not len(left):
                break
            wanted = keys if len(left) == len(keys) else keys.take(pa.array(left))
            numbers[left] = block.find_column(wanted, hashes[left])
        return numbers

    def nbytes(self) -> int:
        state = self._state
        return sum(block.nbytes() for block in state.blocks) + sum(len(key) + 130 for key in state.keys)

    def is_in(self, segments: Collection[Segment]) -> bool:
        """Whether one of its blocks is in one of the files."""
        return any(block.segment in segments for block in self._state.blocks)

    def renamed(self, keys: Mapping[int, bytes], given_up: Collection[Segment]) -> Dictionary:
        """One that goes on from here with other keys for some numbers. This one keeps what it has. given_up: files
        that it is to need no more, once its blocks are saved."""
        state, made = self._state, Dictionary(secret=self.secret)
        blocks = []
        for block in state.blocks:
            own = {number: key for number, key in keys.items() if block.start <= number < block.stop}
            if own:
                blocks.append(block.renamed(own))
            else:
                blocks.append(replace(block, segment=None) if block.segment in given_up else block)
        young = state.keys[:]
        for number, key in keys.items():
            if number >= state.start:
                young[number - state.start] = key
        made._state = _young_state(tuple(blocks), young)
        return made

    def fork(self) -> Dictionary:
        """One that goes on from here by itself; neither sees what is added to the other. Copies nothing."""
        frozen = Dictionary()
        frozen._state, frozen.secret = self._state, self.secret
        return ForkedDictionary(frozen)


class ForkedDictionary(Dictionary):
    """The keys that another dictionary had at some moment, and keys of its own after them."""

    def __init__(self, base: Dictionary) -> None:
        super().__init__()
        self._base = base
        self._restart()

    def _restart(self) -> None:
        """Begin, with no keys of its own, where the other one ends now."""
        self._length = len(self._base)
        self._state = _young_state((), [])

    def __len__(self) -> int:
        return self._length + super().__len__()

    def parts(self) -> tuple[tuple[Block, ...], list[bytes]]:
        blocks, young = self._base.parts()
        first = blocks[-1].stop if blocks else 0
        return blocks, [*young[: self._length - first], *super().parts()[1]]

    def key_columns(self) -> list[KeyColumn]:
        # The other one may have folded keys that it was given later.
        own = [(each, self._length - each.start) for each in self._base.key_columns()]
        return [KeyColumn(each.start, each.offsets[: count + 1], each.heap) for each, count in own if count > 0]

    def add(self, key: bytes) -> int:
        number = self.find(key)
        return self._length + self._append(key) if number is None else number

    def find(self, key: bytes) -> int | None:
        # Own keys first: the base may be given the same key later, under a number that means another one here.
        own = super().find(key)
        if own is not None:
            return self._length + own
        number = self._base.find(key)
        return None if number is None or number >= self._length else number

    def find_many(self, keys: Sequence[bytes]) -> list[int | None]:
        return [self.find(key) for key in keys]

    def key(self, number: int) -> bytes:
        return self._base.key(number) if number < self._length else super().key(number - self._length)

    def some(self, numbers: NDArray[np.int64]) -> list[bytes]:
        return [self.key(number) for number in numbers.tolist()]

    def gather(self, numbers: NDArray[np.int64]) -> pa.LargeBinaryArray:
        own = numbers >= self._length
        if not own.any():
            return self._base.gather(numbers)
        parts = [self._base.gather(numbers[~own]), super().gather(numbers[own] - self._length)]
        back = np.empty(len(numbers), np.int64)
        back[np.concatenate((np.flatnonzero(~own), np.flatnonzero(own)))] = np.arange(len(numbers))
        return pa.concat_arrays(parts).take(pa.array(back))

    def gather_words(self, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
        own = numbers >= self._length
        words = np.empty(len(numbers), "<u8")
        words[~own] = self._base.gather_words(numbers[~own])
        words[own] = super().gather_words(numbers[own] - self._length)
        return words

    def nbytes(self) -> int:
        return self._base.nbytes() + super().nbytes()

    def fork(self) -> Dictionary:
        return ForkedDictionary(self)


def _young_state(blocks: tuple[Block, ...], keys: list[bytes]) -> _State:
    start = blocks[-1].stop if blocks else 0
    return _State(blocks, start, keys, {key: start + i for i, key in enumerate(keys)})
