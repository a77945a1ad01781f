"""Equal codes are equal values, whatever the type, before and after the young part is folded."""

import math
import pickle
import zlib
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import BigInt, Char, EdnList, EdnMap, EdnSet, Float, Keyword, Symbol, Uri, identity
from adalog.store.files.packing import pack_as_written, unpack
from adalog.store.values import layout
from adalog.store.values.blocks import block as blocks
from adalog.store.values.blocks.block import Block, BlockArrays, hashes_of
from adalog.store.values.codes import Codes, Scratch
from adalog.store.values.dictionary import Dictionary

ONE_OF_EACH = [
    1,
    0,
    -(2**59),
    2**59 - 1,
    2**59,
    -(2**63),
    2**63 - 1,
    True,
    False,
    None,
    1.0,
    0.1,
    math.inf,
    math.nan,
    Float(1.0),
    BigInt(1),
    BigInt(10**40),
    Decimal(1),
    Decimal("1.5"),
    "a",
    "",
    "é😀",
    Keyword("a"),
    Keyword("a/b"),
    Symbol("a"),
    Char("a"),
    Uri("a"),
    b"a",
    datetime(2026, 1, 2, 3, 4, 5, 678000, UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, tzinfo=UTC),
    UUID(int=7),
    (1, 2.0, "x"),
    (),
    EdnList([1, 2]),
    (1, 2),
    EdnMap({Keyword("a"): 1}),
    EdnSet([1, 1.0, True]),
]

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.integers().map(BigInt),
    st.floats(),
    st.floats(width=32).map(Float),
    st.decimals(allow_nan=False, allow_infinity=False, places=3),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.sampled_from(["a", "b/c"]).map(Keyword),
    st.sampled_from(["a", "b/c"]).map(Symbol),
    st.text("ab", min_size=1).map(Uri),
    st.binary(),
    st.uuids(),
    st.integers(-(10**12), 10**12).map(lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, max_size=3).map(EdnList),
        st.lists(inner, max_size=3).map(EdnSet),
        st.lists(st.tuples(inner, inner), max_size=3).map(EdnMap),
    ),
    max_leaves=6,
)


def folded(codes: Codes) -> None:
    codes.adopt({tag: dictionary.folded() for tag, dictionary in codes.dictionaries().items()})


def test_every_type_comes_back() -> None:
    codes = Codes()
    interned = [codes.intern(value) for value in ONE_OF_EACH]
    assert len(set(interned)) == len(ONE_OF_EACH)
    for _ in range(2):
        assert [identity(codes.decode(code)) for code in interned] == [identity(value) for value in ONE_OF_EACH]
        many = codes.decode_many(np.array(interned, np.int64))
        assert [identity(value) for value in many] == [identity(value) for value in ONE_OF_EACH]
        assert [codes.lookup(value) for value in ONE_OF_EACH] == interned
        folded(codes)


@pytest.mark.parametrize("count", [1, 9, 40, 200, 900])
def test_few_and_many_are_decoded_alike(count: int) -> None:
    """One by one, a page of them, and a column, of old blocks, of young keys, and of a fork's own."""
    texts = [f"{number}é" for number in range(60)]
    old = Codes()
    first = [old.intern(text) for text in texts[:20]]
    folded(old)
    second = [old.intern(text) for text in texts[20:40]]
    folded(old)
    fork = old.fork()
    third = [fork.intern(text) for text in texts[40:]]
    old_again = [old.intern(text) for text in reversed(texts[40:])]
    for codes, known, values in (
        (old, [*first, *second, *old_again], [*texts[:40], *reversed(texts[40:])]),
        (fork, [*first, *second, *third], texts),
    ):
        at = [(7 * i) % len(known) for i in range(count)]
        assert codes.decode_many(np.array([known[i] for i in at], np.int64)) == [values[i] for i in at]
        mixed = np.array([known[i] if i % 3 else i for i in at], np.int64)
        assert codes.decode_many(mixed) == [values[i] if i % 3 else i for i in at]
        dictionary, keys = codes.dictionaries()[layout.TAG_STRING], [*(text.encode() for text in texts), b"none"]
        found = dictionary.find_column(pa.array(keys, pa.large_binary()), hashes_of(keys, dictionary.secret))
        assert found.tolist() == [-1 if number is None else number for number in dictionary.find_many(keys)]


def test_many_values_have_the_codes_of_each() -> None:
    codes = Codes()
    texts = [f"{number}é" for number in range(9_000)]
    for part in (texts[:3_000], texts[3_000:5_000], texts[5_000:6_000]):
        for text in part:
            codes.intern(text)
        if part[-1] != texts[5_999]:
            folded(codes)
    asked = [*ONE_OF_EACH, *texts[::-1], *texts[:10], *ONE_OF_EACH, 7, -7]
    for base in (codes, codes.fork()):
        many, each = Scratch(base), Scratch(base)
        made = many.intern_many(iter(asked))
        assert made.tolist() == [each.intern(value) for value in asked]
        assert [identity(value) for value in many.decode_many(made)] == [identity(value) for value in asked]
        assert many.intern_many(asked).tolist() == made.tolist()
        assert base.lookup_keys(layout.TAG_STRING, [text.encode() for text in texts[-3:]]) == [None] * 3


def test_keys_that_share_a_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked up together as one by one."""
    monkeypatch.setattr(blocks, "blake2s", lambda data, digest_size: _Short(data[-1:] * digest_size))
    codes = Codes()
    texts = [f"{number}" for number in range(100)]
    known = [codes.intern(text) for text in texts]
    folded(codes)
    assert Scratch(codes).intern_many(texts).tolist() == known
    assert codes.lookup_keys(layout.TAG_STRING, [b"100", b"7"]) == [None, known[7]]


class _Short:
    """A digest of the last byte alone."""

    def __init__(self, made: bytes) -> None:
        self._made = made

    def digest(self) -> bytes:
        return self._made


def test_the_layout() -> None:
    codes = Codes()
    interned = np.array([codes.intern(value) for value in ONE_OF_EACH], np.int64)
    tags = layout.tags_of(interned).tolist()
    assert tags == [layout.tag_of(int(code)) for code in interned]
    assert tags[:5] == [0, 0, 0, 0, layout.TAG_LONG]
    assert codes.intern(7) == 7
    assert codes.intern(True) == layout.TRUE


@given(st.lists(VALUES, max_size=30), st.integers(0, 30))
def test_equal_codes_are_equal_values(values: list[object], fold_at: int) -> None:
    codes = Codes()
    by_code: dict[int, object] = {}
    for i, value in enumerate(values):
        if i == fold_at:
            folded(codes)
        code = codes.intern(value)
        assert identity(codes.decode(code)) == identity(value)
        assert identity(by_code.setdefault(code, value)) == identity(value)
    assert len(by_code) == len({identity(value) for value in values})


def test_zeros_and_decimals_have_one_form() -> None:
    codes = Codes()
    assert codes.intern(0.0) == codes.intern(-0.0)
    assert codes.intern((0.0,)) == codes.intern((-0.0,))
    assert codes.intern(Decimal("1.00")) == codes.intern(Decimal(1))
    assert codes.intern(Decimal("1E+2")) == codes.intern(Decimal("100.0"))
    assert codes.lookup(1) != codes.lookup(1.0)


def colliding(count: int) -> list[bytes]:
    """Keys with one CRC-32."""
    table = [0] * 256
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (0xEDB88320 if value & 1 else 0)
        table[byte] = value
    by_first = {value >> 24: byte for byte, value in enumerate(table)}
    keys = []
    for number in range(count):
        key = b"key %d " % number
        # Backwards from the wanted checksum: which table entries its last four steps took.
        steps, wanted = [], 0xDEADBEEF
        for _ in range(4):
            steps.append(by_first[wanted >> 24])
            wanted = ((wanted ^ table[steps[-1]]) << 8) & 0xFFFFFFFF
        state = zlib.crc32(key) ^ 0xFFFFFFFF
        for step in reversed(steps):
            key += bytes([(state ^ step) & 0xFF])
            state = (state >> 8) ^ table[step]
        keys.append(key)
    assert {zlib.crc32(key) for key in keys} == {0xDEADBEEF ^ 0xFFFFFFFF}
    return keys


def test_keys_that_somebody_chose_share_no_hash() -> None:
    keys = colliding(2000)
    codes = Codes()
    interned = [codes.intern(key) for key in keys]
    folded(codes)
    (block,), _ = codes.dictionaries()[layout.TAG_BYTES].parts()
    hashes = block.arrays.hashes.tolist()
    assert max(Counter(hashes).values()) <= 2
    assert [codes.lookup(key) for key in keys] == interned
    other = Codes()
    for key in keys:
        other.intern(key)
    folded(other)
    (elsewhere,), _ = other.dictionaries()[layout.TAG_BYTES].parts()
    assert len(set(hashes) & set(elsewhere.arrays.hashes.tolist())) <= 2


def test_blocks_without_a_secret_are_hashed_anew() -> None:
    """As versions before had them: with CRC-32."""
    keys = [b"a", b"", b"b", b"key"]
    old = Block.build(3, keys, b"any")
    crcs = np.array([zlib.crc32(key) for key in keys], np.uint32)
    order = np.argsort(crcs).astype(np.int32)
    nothing = np.empty(0, np.uint8)
    old = Block(3, BlockArrays(old.arrays.offsets, old.arrays.heap, crcs[order], order, nothing))
    first = Block(0, Block.build(0, [b"x", b"y", b"z"], b"any").arrays._replace(secret=nothing))
    dictionary = Dictionary([first, old], [b"young"])
    everything = [b"x", b"y", b"z", *keys, b"young"]
    assert [dictionary.find(key) for key in everything] == list(range(8))
    assert dictionary.find(b"c") is None
    dictionary.adopt(dictionary.folded())
    assert [dictionary.find(key) for key in everything] == list(range(8))


def test_a_block_that_was_shipped_finds_its_keys() -> None:
    block = Block.build(0, [b"%d" % number for number in range(1000)], b"secret")
    dictionary = Dictionary([block])
    assert dictionary.find(b"17") == 17
    received = pickle.loads(pickle.dumps(block))
    assert [Dictionary([received]).find(b"%d" % number) for number in (0, 999, 1000)] == [0, 999, None]


@pytest.mark.parametrize(
    "hashes", [[], [0], [0, 0, 2**32 - 1], [7] * 500, [*range(300), 2**32 - 1], list(range(2**31, 2**31 + 999))]
)
def test_the_place_of_a_hash_is_found_however_they_are_spread(hashes: list[int]) -> None:
    own = np.array(hashes, np.uint32)
    order = np.arange(len(own), dtype=np.int32)
    offsets, nothing = np.zeros(len(own) + 1, np.int64), np.empty(0, np.uint8)
    block = Block(0, BlockArrays(offsets, nothing, own, order, nothing))
    for each in {0, 6, 7, 8, 2**31, 2**32 - 1, *hashes}:
        assert block._place(each) == own.searchsorted(np.uint32(each))


@pytest.mark.parametrize("text", ["1e999999999", "-1.5E+99999", "1e20001"])
def test_a_decimal_is_measured_before_it_is_written_out(text: str) -> None:
    for value in (Decimal(text), (Decimal(text), 1), EdnMap({Keyword("a"): Decimal(text)})):
        with pytest.raises(AdalogError, match=r"a bigdec of [0-9,]+ digits is too long") as refused:
            Codes().lookup(value)
        assert refused.value.code is Code.LIMIT_EXCEEDED
    assert unpack(pack_as_written(Decimal(text))) == Decimal(text)


def test_small_decimals_keep_their_exponent() -> None:
    codes = Codes()
    for text in ("1e-999999999", "1e8000", "-1.5e-8000"):
        assert codes.decode(codes.intern(Decimal(text))) == Decimal(text)


def test_blocks_merge_and_keep_every_number() -> None:
    codes = Codes()
    expected = {}
    for round_ in range(12):
        for i in range(37 * (round_ % 3 + 1)):
            text = f"{round_}-{i}"
            expected[text] = codes.intern(text)
        folded(codes)
    assert len(codes.dictionaries()[layout.TAG_STRING].parts()[0]) < 6
    for text, code in expected.items():
        assert codes.lookup(text) == code
        assert codes.decode(code) == text
    assert codes.lookup("absent") is None
    many = np.array(list(expected.values())[::-1], np.int64)
    assert codes.decode_many(many) == list(expected)[::-1]


def test_arrow_columns() -> None:
    codes = Codes()

    def column(*values: object) -> pa.Array:
        return codes.to_arrow(np.array([codes.intern(value) for value in values], np.int64))

    assert column("a", "b", "a").to_pylist() == ["a", "b", "a"]
    assert column(Keyword("x/y")).to_pylist() == [":x/y"]
    assert column(1.5, -2.0).to_pylist() == [1.5, -2.0]
    assert column(True, False).to_pylist() == [True, False]
    assert column(3, 1).type == pa.int64()
    now = datetime(2026, 1, 2, tzinfo=UTC)
    assert column(now).to_pylist() == [now]
    with pytest.raises(ValueError, match="more than one type"):
        column(1, "a")
    with pytest.raises(ValueError, match="no Arrow type"):
        column(BigInt(1))


def test_scratch_adds_nothing_to_the_database() -> None:
    codes = Codes()
    known = codes.intern("known")
    scratch = Scratch(codes)
    own = scratch.intern("new")
    assert scratch.intern("known") == known
    assert scratch.intern("new") == own
    assert codes.lookup("new") is None
    assert scratch.lookup("new") == own
    assert scratch.lookup("never") is None
    assert scratch.decode(own) == "new"
    assert scratch.decode_many(np.array([own, known, 5], np.int64)) == ["new", "known", 5]
    assert scratch.to_arrow(np.array([own, known], np.int64)).to_pylist() == ["new", "known"]
    codes.intern("new")
    assert scratch.intern("new") == own
    assert scratch.decode(scratch.intern((1, "z"))) == (1, "z")


def test_scratch_is_bounded() -> None:
    scratch = Scratch(Codes(), limit=3)
    for i in range(3):
        scratch.intern(f"{i}")
    with pytest.raises(AdalogError) as refused:
        scratch.intern("one more")
    assert refused.value.code is Code.LIMIT_EXCEEDED


def test_the_strings_of_a_scratch_are_bounded_together() -> None:
    scratch = Scratch(Codes(), characters=10)
    scratch.intern("12345")
    scratch.intern("12345")
    scratch.intern("67890")
    with pytest.raises(AdalogError, match="too long together") as refused:
        scratch.intern("x")
    assert refused.value.code is Code.LIMIT_EXCEEDED


def test_doubles_of_blocks_of_young_values_and_of_forks() -> None:
    codes = Codes()
    numbers = [number / 7 for number in range(40)]
    made: list[int] = []
    for start in range(0, 30, 10):
        made += [codes.intern(number) for number in numbers[start : start + 10]]
        if start < 20:
            codes.adopt({layout.TAG_DOUBLE: codes.dictionaries()[layout.TAG_DOUBLE].folded()})
    fork = codes.fork()
    forked = [*made, *(fork.intern(number) for number in numbers[30:])]
    codes.intern(99.0)
    for own, known in ((codes, made), (fork, forked), (fork.fork(), forked)):
        places = np.random.default_rng(1).integers(0, len(known), 200)
        wanted = [numbers[place] for place in places.tolist()]
        assert own.doubles(np.array(known, np.int64)[places]).tolist() == wanted
        assert own.doubles(np.array(known[:1], np.int64)).tolist() == numbers[:1]
        assert own.doubles(np.empty(0, np.int64)).tolist() == []


def test_short_columns_of_strings_are_decoded_alike_however_often() -> None:
    texts = ["", "é😀", "a" * 200, "a" * 201, "b" * 5_000, *(f"text {i}" for i in range(40_000))]
    codes = Codes()
    coded = np.array([codes.intern(text) for text in texts])
    own = Scratch(codes)
    for start in (*range(0, len(texts), 1_500), 0, 0):
        some = np.concatenate((coded[start : start + 1_500], coded[:7], coded[:7]))
        expected = [*texts[start : start + 1_500], *texts[:7], *texts[:7]]
        assert codes.decode_many(some) == expected
        assert own.decode_many(some) == expected
    # Among others there may be one string alone.
    for text in ("two", "x", "yes"):
        mixed = np.array([*(codes.intern(number / 2) for number in range(20)), *range(20), codes.intern(text)])
        for _ in range(2):
            assert codes.decode_many(mixed) == [*(number / 2 for number in range(20)), *range(20), text]
    more = np.array([own.intern("of a query"), *coded[:20].tolist()])
    for _ in range(2):
        assert own.decode_many(more) == ["of a query", *texts[:20]]
