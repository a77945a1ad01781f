"""Dictionaries whose files lack placeholders answer as those with all keys, and no file has what was replaced."""

import pickle
from pathlib import Path
from random import Random
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog.values import Keyword, Symbol, Uri
from adalog.store.backup.integrity import block_faults
from adalog.store.files.segment import SPARSE, Segment, open_segment
from adalog.store.tries.relation_files import block_of, save_blocks
from adalog.store.values import layout
from adalog.store.values.blocks import sparse_block
from adalog.store.values.blocks.block import Block, file_has, hashes_of
from adalog.store.values.blocks.sparse_block import Runs, SparseBlock, compacted
from adalog.store.values.codes import Codes
from adalog.store.values.dictionary import Dictionary
from adalog.store.values.excised.placeholders import NUMBER_BITS, SEEDS, new_seed, placeholder, runs_of
from adalog.store.values.excised.recognition import NONE, TAGS, recognise, recognised
from adalog.store.values.keys import spell
from tests.property.model import examples

MAKERS = {
    layout.TAG_STRING: lambda n: f"secret text {n:06}",
    layout.TAG_KEYWORD: lambda n: Keyword(f"secret/word{n:06}"),
    layout.TAG_SYMBOL: lambda n: Symbol(f"secret-sign{n:06}"),
    layout.TAG_URI: lambda n: Uri(f"http://secret/{n:06}"),
    layout.TAG_BYTES: lambda n: b"secret bytes %06d" % n,
    layout.TAG_DOUBLE: lambda n: n + 0.123456789,
    layout.TAG_LONG: lambda n: 2**61 + 1_000_003 * n,
    layout.TAG_UUID: lambda n: UUID(int=2**127 + 1_000_003 * n),
}
NUMBERS = (0, 1, 25, 35, 36, 37, 1295, 1296, 46_655, 46_656, 10**6, 2**31 - 1, 2**35, 2**NUMBER_BITS - 1)


def key_of(tag: int, n: int) -> bytes:
    made, key = spell(MAKERS[tag](n))
    assert made == tag
    assert isinstance(key, bytes)
    return key


def column(keys: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, keys)])
    return offsets, np.frombuffer(b"".join(keys), np.uint8)


@pytest.mark.parametrize("tag", sorted(TAGS))
def test_placeholders_are_recognised(tag: int) -> None:
    made = [(seed, number) for seed in (0, 1, 25, 26, 27, SEEDS - 1) for number in NUMBERS]
    keys = [placeholder(tag, *each) for each in made]
    assert [recognise(tag, key) for key in keys] == made
    seeds, numbers = recognised(tag, *column(keys))
    assert list(zip(seeds.tolist(), numbers.tolist(), strict=True)) == made


@pytest.mark.parametrize("tag", sorted(TAGS))
def test_what_is_no_placeholder_is_none(tag: int) -> None:
    """What is recognised as one is one, also of keys that differ from one by a byte."""
    random = Random(tag)
    keys = [key_of(tag, n) for n in range(50)] + [
        b"",
        b"a",
        b"9a",
        b"Aa",
        b"aba",
        "äa".encode(),
        b"urn:a",
        b"x" * 80,
    ]
    for number in NUMBERS:
        whole = bytearray(placeholder(tag, random.randrange(SEEDS), number))
        others = (bytes([random.randrange(256)]) for _ in whole)
        keys += [bytes(whole[:at] + other + whole[at + 1 :]) for at, other in enumerate(others)]
        keys += [bytes(whole) + b"a", bytes(whole[:-1])]
    if tag == layout.TAG_LONG:
        keys += [number.to_bytes(8, "little", signed=True) for number in (-(2**63), -(2**62), 2**63 - 1, 2**62 - 1)]
    if tag == layout.TAG_DOUBLE:
        keys += [spell(each)[1] for each in (float("nan"), float("inf"), -float("inf"), -float(2**53), 0.0, 0.5)]
    seeds, numbers = recognised(tag, *column(keys))
    for key, seed, number in zip(keys, seeds.tolist(), numbers.tolist(), strict=True):
        assert recognise(tag, key) == (None if seed == NONE else (seed, number))
        if seed != NONE and number < 1 << NUMBER_BITS:
            assert placeholder(tag, seed, number) == key


@given(st.lists(st.sampled_from([NONE, NONE, 0, 1, 935]), min_size=1, max_size=60))
def test_runs_tell_what_they_were_made_of(seeds: list[int]) -> None:
    runs, numbers = Runs.of(np.array(seeds, np.int16)), np.arange(len(seeds))
    assert runs.expanded().tolist() == seeds
    places, has_key, own = runs.located(numbers)
    live = [at for at, seed in enumerate(seeds) if seed == NONE]
    assert has_key.tolist() == [seed == NONE for seed in seeds]
    assert places[has_key].tolist() == list(range(len(live)))
    assert own[~has_key].tolist() == [seed for seed in seeds if seed != NONE]
    assert runs.numbers_at(np.arange(len(live))).tolist() == live


class Tried:
    """The codes of one type, in files, and a list of the keys that they must have."""

    def __init__(self, tag: int, folder: Path, random: Random) -> None:
        self.tag, self.folder, self.random = tag, folder, random
        self.codes, self.keys, self.made, self.gone = Codes(), list[bytes](), 0, set[bytes]()
        self.numbers: dict[bytes, int] = {}

    @property
    def dictionary(self) -> Dictionary:
        return self.codes.dictionaries()[self.tag]

    def step(self) -> None:
        self.random.choice((self.add, self.add, self.add_odd, self.replace, self.replace, self.fold, self.reopen))()

    def _add(self, key: bytes) -> None:
        number = self.dictionary.add(key)
        assert number == self.numbers.setdefault(key, len(self.keys))
        if number == len(self.keys):
            self.keys.append(key)

    def add(self) -> None:
        for _ in range(self.random.choice((1, 5, 40))):
            self.made += 1
            self._add(key_of(self.tag, self.made))

    def add_odd(self) -> None:
        """A client's value that is a placeholder: one that is there, or another one."""
        for _ in range(3):
            number = self.random.randrange(len(self.keys) + 3)
            if number < len(self.keys) and self.random.random() < 0.5:
                self._add(self.keys[number])
            else:
                self._add(placeholder(self.tag, self.random.randrange(SEEDS), number))

    def replace(self) -> None:
        share = self.random.choice((0.05, 0.5, 0.9, 1.0))
        first = self.random.randrange(len(self.keys) + 1)
        self.kill([n for n in range(first, len(self.keys)) if self.random.random() < share])

    def kill(self, some: list[int]) -> None:
        runs = runs_of(self.tag, some)
        seed = new_seed(runs, self.codes.dictionaries())
        self.codes = self.codes.renamed(runs, seed)
        for number in some:
            del self.numbers[self.keys[number]]
            if recognise(self.tag, self.keys[number]) is None:
                self.gone.add(self.keys[number])
            self.keys[number] = placeholder(self.tag, seed, number)
            self.numbers[self.keys[number]] = number

    def fold(self) -> None:
        saved = save_blocks(self.folder, 1, {self.tag: self.dictionary.folded()})
        self.codes.adopt(saved)
        for block in saved[self.tag]:
            assert not list(block_faults(block))
            assert block.segment is not None
            assert file_has(block, {self.tag: [block.start]})
        assert not saved[self.tag] or not file_has(block, {self.tag: [block.stop], layout.TAG_OTHER: [0]})
        named = {Path(each.segment.path) for each in saved[self.tag] if each.segment is not None}
        for path in set(self.folder.iterdir()) - named:
            path.unlink()
        content = b"".join(path.read_bytes() for path in named)
        assert not any(key in content for key in self.gone if len(key) > 8)

    def reopen(self) -> None:
        """As another process does."""
        self.fold()
        blocks = [
            block_of(open_segment(each.segment), self.tag, each.start, each.segment)
            for each in self.dictionary.parts()[0]
            if each.segment is not None
        ]
        self.codes = Codes({self.tag: Dictionary(pickle.loads(pickle.dumps(blocks)) if self.made % 2 else blocks)})

    def check(self) -> None:
        dictionary, count = self.dictionary, len(self.keys)
        assert len(dictionary) == count
        other = key_of(self.tag, self.made + 1)
        some = np.array([self.random.randrange(count) for _ in range(40)] if count else [], np.int64)
        first = self.random.randrange(count + 1)
        span = np.arange(first, self.random.randint(first, count))
        for own in (dictionary, dictionary.fork()):
            assert [own.key(number) for number in range(count)] == self.keys
            for numbers in (some, span, np.arange(count)):
                expected = [self.keys[number] for number in numbers.tolist()]
                assert own.some(numbers) == expected
                assert own.gather(numbers).to_pylist() == expected
                if self.tag in (layout.TAG_DOUBLE, layout.TAG_LONG):
                    assert own.gather_words(numbers).tobytes() == b"".join(expected)
            odd = [placeholder(self.tag, self.random.randrange(SEEDS), n) for n in range(count + 2)]
            asked = [*self.keys, *self.gone, other, *odd]
            expected_numbers = [self.numbers.get(key) for key in asked]
            assert own.find_many(asked) == expected_numbers
            assert [own.find(key) for key in asked] == expected_numbers
            distinct = list(dict.fromkeys(asked))
            hashes = hashes_of(distinct, dictionary.secret)
            found = own.find_column(pa.array(distinct, pa.large_binary()), hashes).tolist()
            assert [None if number < 0 else number for number in found] == [
                self.numbers.get(key) for key in distinct
            ]
        for each in dictionary.key_columns():
            for at, number in enumerate(range(each.start, each.stop)):
                key = each.heap[each.offsets[at] : each.offsets[at + 1]].tobytes()
                assert key == self.keys[number]


@pytest.mark.parametrize("tag", sorted(TAGS))
def test_random_deaths(tag: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Against a list: keys are added, replaced at random, folded into files and opened."""
    for seed in range(examples(12)):
        # Seeds of placeholders are secrets: whether a client's value is one of them differs each time.
        random = Random(1000 * tag + seed)
        tried = Tried(tag, tmp_path_factory.mktemp("files"), random)
        for _ in range(random.randint(3, 20)):
            tried.step()
            tried.check()
        tried.reopen()
        tried.check()
        # What the steps left is sparse or not.
        tried.add()
        for first in (1, 0):
            tried.kill(list(range(first, len(tried.keys))))
            tried.reopen()
            tried.check()
        assert all(isinstance(each, SparseBlock) for each in tried.dictionary.parts()[0])


def _saved(folder: Path, codes: Codes, tag: int) -> tuple[Block, Segment]:
    (block,) = save_blocks(folder, 1, {tag: codes.dictionaries()[tag].folded()})[tag]
    assert block.segment is not None
    return block, block.segment


def test_a_number_without_a_key_takes_almost_nothing(tmp_path: Path) -> None:
    tag, codes = layout.TAG_STRING, Codes()
    for n in range(20_000):
        codes.intern(f"text {n}")
    whole = Path(_saved(tmp_path, codes, tag)[1].path).stat().st_size
    codes = codes.renamed(runs_of(tag, range(100, 19_900)), 5)
    block, segment = _saved(tmp_path, codes, tag)
    assert isinstance(block, SparseBlock)
    assert Path(segment.path).stat().st_size < whole / 50
    assert Path(segment.path).read_bytes()[7] == SPARSE


def test_a_block_with_few_placeholders_has_all_keys(tmp_path: Path) -> None:
    """Also one that had more of them before it was merged."""
    tag, codes = layout.TAG_STRING, Codes()
    for n in range(40):
        codes.intern(f"text {n}")
    few = codes.renamed(runs_of(tag, range(5)), 5)
    assert type(_saved(tmp_path, few, tag)[0]) is Block
    codes = codes.renamed(runs_of(tag, range(30)), 5)
    block, _ = _saved(tmp_path, codes, tag)
    codes.adopt({tag: (block,)})
    for n in range(40, 400):
        codes.intern(f"text {n}")
    block, _ = _saved(tmp_path, codes, tag)
    assert type(block) is Block
    expected = [placeholder(tag, 5, n) if n < 30 else f"text {n}".encode() for n in range(400)]
    assert block.keys(np.arange(400)) == expected
    secret = codes.dictionaries()[tag].secret
    assert block.find_many(expected, hashes_of(expected, secret)).tolist() == list(range(400))


def test_other_blocks_are_not_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """What writes a block of a database without excisions looks at some keys."""

    def refuses(*_: object) -> None:
        raise AssertionError("all keys were looked at")

    monkeypatch.setattr(sparse_block, "recognised", refuses)
    block = Block.build(0, [f"text {n}".encode() for n in range(1000)], bytes(16))
    assert compacted(layout.TAG_STRING, block) is block
    assert compacted(layout.TAG_FLOAT, block) is block


@pytest.mark.parametrize(
    "broken",
    [
        {"bounds": [0, 4]},
        {"bounds": [0, 4, 4]},
        {"bounds": [1, 4, 8]},
        {"places": [0, 3, 2]},
        {"places": [0, 1, 4]},
        {"places": [0, 4, 3]},
        {"seeds": [5, NONE]},
        {"seeds": [SEEDS, 7]},
    ],
)
def test_wrong_runs_are_found(broken: dict[str, list[int]]) -> None:
    tag = layout.TAG_STRING
    dense = Block.build(0, [b"one", b"two", b"three"], bytes(16))
    runs = Runs(np.array([0, 4, 8], np.int32), np.array([0, 1, 3], np.int32), np.array([5, 7], np.int16))
    assert not list(block_faults(SparseBlock(0, dense.arrays, runs=runs, tag=tag)))
    wrong = runs._replace(**{part: np.array(each, np.int32) for part, each in broken.items()})
    assert list(block_faults(SparseBlock(0, dense.arrays, runs=wrong, tag=tag))) == [
        "the runs of its numbers are wrong"
    ]
