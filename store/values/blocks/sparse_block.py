"""A block of a dictionary without the keys that are placeholders, of which only the seeds are kept.

A placeholder follows from its type, seed and number. A block in which many keys are placeholders has the others
together, as a block of their own does, and the runs of its numbers: some numbers with keys, then some with
placeholders of one seed. To readers it is the block with all of its keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from adalog.store.values.arrays import Bools, Int64s
from adalog.store.values.blocks.block import Block, hashes_of, key_arrays
from adalog.store.values.excised.placeholders import placeholder
from adalog.store.values.excised.recognition import NONE, TAGS, recognise, recognised

# A block is sparse if it has at least this share of placeholders: the places of keys have to be looked up.
_SHARE: Final = 0.25
# So many keys are looked at before all are: of a block with that share, 1 in 10^8 has no placeholder among them.
_SAMPLE: Final = 64


class Runs(NamedTuple):
    """Numbers in runs: first those with keys, then those with placeholders of one seed.

    bounds: where each run begins, counted from the block's first number, and where the last one ends. places: how
    many numbers before have keys. seeds: `NONE` if the last run has no placeholders.
    """

    bounds: NDArray[np.int32]
    places: NDArray[np.int32]
    seeds: NDArray[np.int16]

    @staticmethod
    def of(seeds: NDArray[np.int16]) -> Runs:
        """seeds: int16[n], of each number, `NONE` for those with keys."""
        first = np.ones(len(seeds), np.bool_)
        first[1:] = (seeds[:-1] != NONE) & (seeds[1:] != seeds[:-1])
        bounds = np.append(np.flatnonzero(first), len(seeds)).astype(np.int32)
        before = np.zeros(len(seeds) + 1, np.int32)
        np.cumsum(seeds == NONE, out=before[1:])
        return Runs(bounds, before[bounds], seeds[bounds[1:] - 1])

    def expanded(self) -> NDArray[np.int16]:
        """What they were made of."""
        sizes, keys = np.diff(self.bounds), np.diff(self.places)
        lengths = np.column_stack((keys, sizes - keys)).ravel()
        return np.repeat(np.column_stack((np.full_like(self.seeds, NONE), self.seeds)).ravel(), lengths)

    def located(self, at: Int64s) -> tuple[Int64s, Bools, NDArray[np.int16]]:
        """Of numbers: the places of their keys, whether they have any, and the seeds of the others."""
        run = self.bounds.searchsorted(at, side="right") - 1
        places = at - self.bounds[run] + self.places[run]
        return places, places < self.places[run + 1], self.seeds[run]

    def numbers_at(self, places: Int64s) -> Int64s:
        """The numbers whose keys are at some places."""
        run = self.places.searchsorted(places, side="right") - 1
        return np.asarray(self.bounds[run] + places - self.places[run], np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class SparseBlock(Block):
    """`arrays` are those of a block of the keys that it has, whose numbers are their places. tag: of its type."""

    runs: Runs
    tag: int

    @property
    def stop(self) -> int:
        return self.start + int(self.runs.bounds[-1])

    @cached_property
    def dense(self) -> Block:
        """The keys that it has, by place."""
        return Block(0, self.arrays)

    def __getstate__(self) -> dict[str, object]:
        return {**super().__getstate__(), "runs": self.runs, "tag": self.tag}

    def key(self, number: int) -> bytes:
        return self.keys(np.array([number]))[0]

    def keys(self, numbers: NDArray[np.int64]) -> list[bytes]:
        places, has_key, seeds = self.runs.located(numbers - self.start)
        found = self.dense.keys(np.where(has_key, places, 0)) if has_key.any() else [b""] * len(numbers)
        for at in np.flatnonzero(~has_key).tolist():
            found[at] = placeholder(self.tag, int(seeds[at]), int(numbers[at]))
        return found

    def taken(self, numbers: NDArray[np.int64]) -> pa.LargeBinaryArray:
        places, has_key, _ = self.runs.located(numbers - self.start)
        if has_key.all():
            return self.dense.taken(places)
        others = pa.array(self.keys(numbers[~has_key]), pa.large_binary())
        parts = [self.dense.taken(places[has_key]), others]
        where = np.where(has_key, np.cumsum(has_key), len(parts[0]) + np.cumsum(~has_key)) - 1
        return pa.concat_arrays(parts).take(pa.array(where))

    def sliced(self, first: int, count: int) -> pa.LargeBinaryArray | None:
        places, has_key, _ = self.runs.located(np.array([first, first + count - 1]) - self.start)
        together = has_key.all() and places[1] - places[0] == count - 1
        return self.dense.sliced(int(places[0]), count) if together else None

    def words(self, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
        places, has_key, _ = self.runs.located(numbers - self.start)
        if has_key.all():
            return self.dense.words(places)
        words = np.empty(len(numbers), "<u8")
        words[has_key] = self.dense.words(places[has_key])
        words[~has_key] = np.frombuffer(b"".join(self.keys(numbers[~has_key])), "<u8")
        return words

    def find(self, key: bytes, key_hash: int) -> int | None:
        place = self.dense.find(key, key_hash)
        if place is not None:
            return self.start + int(self.runs.numbers_at(np.array([place]))[0])
        known = recognise(self.tag, key)
        if known is None or not self.start <= known[1] < self.stop:
            return None
        seed, number = known
        _, has_key, seeds = self.runs.located(np.array([number - self.start]))
        return number if not has_key[0] and seeds[0] == seed else None

    def find_many(self, keys: Sequence[bytes], hashes: NDArray[np.uint32]) -> NDArray[np.int64]:
        found = self._numbered(self.dense.find_many(keys, hashes))
        left = np.flatnonzero(found < 0)
        found[left] = self._placeholders(pa.array([keys[at] for at in left.tolist()], pa.large_binary()))
        return found

    def find_column(self, keys: pa.LargeBinaryArray, hashes: NDArray[np.uint32]) -> NDArray[np.int64]:
        found = self._numbered(self.dense.find_column(keys, hashes))
        left = np.flatnonzero(found < 0)
        found[left] = self._placeholders(keys.take(pa.array(left)))
        return found

    def _numbered(self, places: Int64s) -> Int64s:
        """The numbers of keys at some places, -1 for places of -1."""
        found = np.full(len(places), -1, np.int64)
        known = places >= 0
        found[known] = self.start + self.runs.numbers_at(places[known])
        return found

    def _placeholders(self, keys: pa.LargeBinaryArray) -> Int64s:
        """The numbers of keys that are placeholders here, -1 for others."""
        seeds, numbers = recognised(self.tag, *key_arrays(keys))
        found = np.full(len(keys), -1, np.int64)
        at = np.flatnonzero((seeds != NONE) & (numbers >= self.start) & (numbers < self.stop))
        _, has_key, own = self.runs.located(numbers[at] - self.start)
        at = at[~has_key & (own == seeds[at])]
        found[at] = numbers[at]
        return found

    def renamed(self, keys: Mapping[int, bytes]) -> Block:
        """With other keys for some of its numbers, which are placeholders, in no file."""
        numbers = np.array(sorted(keys), np.int64)
        new = pa.array([keys[each] for each in numbers.tolist()], pa.large_binary())
        seeds, told = recognised(self.tag, *key_arrays(new))
        assert np.array_equal(told, numbers), "placeholders of these numbers"
        assert (seeds != NONE).all(), "placeholders"
        every = self.runs.expanded()
        every[numbers - self.start] = seeds
        return _with_seeds(self, self.tag, every)

    def nbytes(self) -> int:
        return super().nbytes() + sum(array.nbytes for array in self.runs)


def compacted(tag: int, block: Block) -> Block:
    """A block, in no file, as it is written: without its placeholders if they are many, else with all keys."""
    every = _seeds_of(block)
    if _has_some(tag, block):
        places = np.flatnonzero(every == NONE)
        found = recognised(tag, block.arrays.offsets, block.arrays.heap)
        own = (found.seeds != NONE) & (found.numbers == places + block.start)
        every[places[own]] = found.seeds[own]
    placeholders = np.count_nonzero(every != NONE)
    if placeholders and placeholders >= _SHARE * len(every):
        return _with_seeds(block, tag, every)
    return _whole(block) if isinstance(block, SparseBlock) else block


def merged(blocks: Sequence[Block]) -> Block:
    """Neighbouring blocks of a dictionary, oldest first, as one."""
    sparse = [each for each in blocks if isinstance(each, SparseBlock)]
    if not sparse:
        return Block.merge(blocks)
    dense = Block.merge([each.dense if isinstance(each, SparseBlock) else each for each in blocks])
    runs = Runs.of(np.concatenate([_seeds_of(each) for each in blocks]))
    return SparseBlock(blocks[0].start, dense.arrays, runs=runs, tag=sparse[0].tag)


def _seeds_of(block: Block) -> NDArray[np.int16]:
    """int16[n]: the seeds of its numbers, `NONE` for those with keys."""
    if isinstance(block, SparseBlock):
        return block.runs.expanded()
    return np.full(len(block.arrays.order), NONE, np.int16)


def _with_seeds(block: Block, tag: int, seeds: NDArray[np.int16]) -> SparseBlock:
    """A block without the keys of the numbers that have a seed; those that have no key have one."""
    numbers = np.flatnonzero(_seeds_of(block) == NONE)
    dense = block.filtered(seeds[numbers] == NONE)
    return SparseBlock(block.start, dense.arrays, runs=Runs.of(seeds), tag=tag)


def _whole(block: SparseBlock) -> Block:
    """The same with all of its keys."""
    numbers = np.arange(block.start, block.stop)
    keys, has_key = block.taken(numbers), _seeds_of(block) == NONE
    by_place = np.empty(len(block.arrays.order), np.uint32)
    by_place[block.arrays.order] = block.arrays.hashes
    hashes = np.empty(len(numbers), np.uint32)
    hashes[has_key] = by_place
    hashes[~has_key] = hashes_of(keys.filter(pa.array(~has_key)).to_pylist(), block.secret)
    return Block.hashed(block.start, keys, hashes, block.secret)


def _has_some(tag: int, block: Block) -> bool:
    """Whether there are placeholders among some of the keys that it has."""
    count = len(block.arrays.order)
    if tag not in TAGS:
        return False
    places = sorted(Random(count).sample(range(count), min(count, _SAMPLE)))
    offsets, heap = block.arrays.offsets, block.arrays.heap
    return any(recognise(tag, heap[offsets[place] : offsets[place + 1]].tobytes()) is not None for place in places)
