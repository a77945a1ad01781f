"""One type's values by number: an append-only list of distinct byte keys, found by number and by content.

The old part is a few immutable blocks (often memory-mapped), the young part Python objects. One thread adds; any
number read, each from the state it sees when it starts. Knows bytes and numbers, not what they stand for. Keys come
from clients, so a block's index hashes them with a secret.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from adalog.store.files.segment import Segment
from adalog.store.values.blocks.block import Block, hash_of, hashes_of
from adalog.store.values.blocks.sparse_block import SparseBlock, merged

# A block takes in its younger neighbour once that has grown to this share of its size: log(n) blocks, each key
# rewritten log(n) times.
_MERGE_SHARE: Final = 0.5
# Bytes of a secret: with it, keys of up to 48 bytes are one block of the hash function.
SECRET_BYTES: Final = 16


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
        """The keys of its blocks, oldest first, without a copy. Those of sparse blocks, and young ones, are in none
        of them."""
        return [
            KeyColumn(each.start, each.arrays.offsets, each.arrays.heap)
            for each in self._state.blocks
            if not isinstance(each, SparseBlock)
        ]

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
                parts.append(block.taken(numbers[at]))
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
        return block.sliced(int(numbers[0]), len(numbers)) if numbers[-1] < block.stop else None

    def gather_words(self, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
        """uint64[n]: the keys of many numbers, in their order, of a dictionary whose keys have eight bytes each."""
        state = self._state
        if state.blocks and len(numbers) and numbers.max() < state.blocks[0].stop:
            return state.blocks[0].words(numbers)
        words = np.empty(len(numbers), "<u8")
        for block in state.blocks:
            inside = (numbers >= block.start) & (numbers < block.stop)
            words[inside] = block.words(numbers[inside])
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
            blocks[first:] = [merged(blocks[first:])]
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

    def find_column(self, keys: pa.LargeBinaryArray, hashes: NDArray[np.uint32]) -> NDArray[np.int64]:
        return np.array([-1 if number is None else number for number in self.find_many(keys.to_pylist())], np.int64)

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
