"""Entries as bytes: lossless for every value, and a miss for whatever is not the entry of its key."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog.edn import write
from adalog.datalog.values import Float, Keyword, identity
from adalog.executor.cache.cached_value import fetched_rows, kept_rows
from adalog.executor.cache.codec import (
    KEY_BYTES,
    UNSIGNED,
    CacheEntry,
    NotAnEntryError,
    Signature,
    decode,
    encode,
    entry_of,
    stored,
)
from adalog.executor.question.request import QueryRequest
from adalog.store.files.packing import pack_as_written, unpack
from tests.datalog.strategies import values
from tests.support import World

KEY = bytes(range(KEY_BYTES))
OTHER = bytes(KEY_BYTES)


@given(values)
def test_every_value_as_it_is(value: object) -> None:
    back = unpack(pack_as_written(value))
    assert identity(back) == identity(value)
    assert type(back) is type(value)
    assert write(back) == write(value)


@given(st.lists(values, max_size=6), st.text(max_size=5))
def test_a_column_of_any_values(column: list[object], engine: str) -> None:
    back = decode(KEY, encode(KEY, CacheEntry((stored("any", column),), engine)))
    assert list(map(identity, back.columns[0].values())) == list(map(identity, column))
    assert back.engine == engine


TYPES = {
    ":long": ["0", "-1", str(2**63 - 1), str(-(2**63)), str(2**60)],
    ":string": ['""', '"a"', '"ä🙂\\n"'],
    ":double": ["0.0", "1.5", "##Inf", "##-Inf", "##NaN"],
    ":boolean": ["true", "false"],
    ":keyword": [":a", ":a/b"],
    ":symbol": ["a", "a/b"],
    ":instant": ['#inst "1969-12-31T23:59:59.999Z"', '#inst "2024-02-29T12:00:00Z"'],
    ":uuid": ['#uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"'],
    ":duration": ['#duration "P1M-2DT3H"', '#duration "PT0S"'],
    ":uri": ['#uri "https://example.org/a"'],
    ":bigint": ["1N", "-123456789012345678901234567890N"],
    ":bigdec": ["1.0M", "1.00M", "1E+30M"],
    ":bytes": ['#bytes "aGVsbG8="'],
    ":any": ["1", "1.0", "true", ":a", '"a"', "[1 2]", "nil", "(1 2)", "#{1 2}", "{:a 1}", "\\a"],
}


@pytest.mark.parametrize("name", TYPES)
def test_columns_of_every_type_as_a_query_gives_them(db: World, name: str) -> None:
    result = db.run("[:find ?x :in $ [?x ...]]", f"[{' '.join(TYPES[name])}]")
    back = decode(KEY, encode(KEY, entry_of(result)))
    assert len(back.columns[0].values(0, 1)) == 1
    assert list(map(write, back.columns[0].values())) == list(map(write, result.column(0)))
    assert back.columns[0].type == result.columns[0].type
    kept = fetched_rows(back, 1, db.database.snapshot().codes)
    assert kept is not None
    assert kept.result is not None
    again = kept.result.codes_of(0, 0, len(result))
    assert list(map(write, kept.result.values.decode_many(again))) == list(map(write, result.column(0)))


def test_values_that_only_the_query_holds_are_kept_without_those_it_does_not_show(db: World) -> None:
    result = db.run('[:find ?s :in $ [?n ...] :where [(str "made-" ?n) ?s] [(ends-with? ?s "7")]]', "[1 2 7 17]")
    assert len(result.values.made()) > 2
    kept = kept_rows(result, db.database.snapshot().codes)
    assert kept.result is not None
    shown = kept.result.values.decode_many(kept.result.codes[0])
    assert sorted(shown) == ["made-17", "made-7"]
    assert len(kept.result.values.made()) == 2


def test_floats_of_32_bits() -> None:
    back = decode(KEY, encode(KEY, CacheEntry((stored("float", [Float(1.5), Float("nan")]),))))
    assert [type(value) for value in back.columns[0].values()] == [Float, Float]


def entry_bytes() -> bytes:
    columns = (
        stored("long", list(range(50))),
        stored("keyword", [Keyword("a")] * 50),
        stored("any", [(1, "x")] * 50),
    )
    return encode(KEY, CacheEntry(columns, "LOCAL"))


def test_the_entry_of_another_key() -> None:
    with pytest.raises(NotAnEntryError):
        decode(OTHER, entry_bytes())


def test_an_entry_put_under_another_key_with_its_name_changed() -> None:
    data = entry_bytes()
    with pytest.raises(NotAnEntryError):
        decode(OTHER, data.replace(KEY, OTHER))


def test_another_version() -> None:
    data = bytearray(entry_bytes())
    data[len(b"adalog")] += 1
    with pytest.raises(NotAnEntryError):
        decode(KEY, bytes(data))


@given(st.integers(0, 2**32))
def test_a_bit_turned_or_the_end_cut(seed: int) -> None:
    rng, data = Random(seed), bytearray(entry_bytes())
    at = rng.randrange(len(data))
    if rng.random() < 0.5:
        data[at] ^= 1 << rng.randrange(8)
    else:
        del data[at:]
    with pytest.raises(NotAnEntryError):
        decode(KEY, bytes(data))


@given(st.binary(max_size=300))
def test_random_bytes(data: bytes) -> None:
    with pytest.raises(NotAnEntryError):
        decode(KEY, data)


@given(st.binary(max_size=300))
def test_random_bytes_with_a_checksum_that_fits(body: bytes) -> None:
    """Who can write to Redis can do that, too; what is no entry stays none."""
    with pytest.raises(NotAnEntryError):
        decode(KEY, UNSIGNED.magic + KEY + UNSIGNED.over(KEY, body) + body)


def test_the_cache_is_not_the_number_of_columns_of_another_query(db: World) -> None:
    result = db.pool.run(QueryRequest("[:find ?x ?y :in $ ?x ?y]", [1, 2]))
    assert fetched_rows(entry_of(result), 1, db.database.snapshot().codes) is None


SECRET = "a secret of thirty-two characters"


def test_a_signed_entry_is_read_by_whoever_has_the_secret(db: World) -> None:
    signature = Signature(SECRET)
    entry = entry_of(db.run("[:find ?x :in [?x ...]]", "[1 2 3]"))
    data = encode(KEY, entry, signature)
    assert decode(KEY, data, Signature(SECRET)).columns[0].values() == entry.columns[0].values()
    for seal in (UNSIGNED, Signature(SECRET + "!")):
        with pytest.raises(NotAnEntryError):
            decode(KEY, data, seal)
    with pytest.raises(NotAnEntryError):
        decode(KEY, encode(KEY, entry), signature)
    with pytest.raises(NotAnEntryError):
        decode(OTHER, data.replace(KEY, OTHER), signature)
    for place in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[place] ^= 1
        with pytest.raises(NotAnEntryError):
            decode(KEY, bytes(damaged), signature)


def test_a_body_with_the_other_seal_s_bytes_is_no_entry(db: World) -> None:
    """Who can write to Redis but has no secret."""
    signature = Signature(SECRET)
    data = encode(KEY, entry_of(db.run("[:find ?x :in [?x ...]]", "[1 2 3]")))
    body = data[len(UNSIGNED.magic) + len(KEY) + UNSIGNED.size :]
    forged = signature.magic + KEY + UNSIGNED.over(KEY, body).ljust(signature.size, b"\0") + body
    with pytest.raises(NotAnEntryError, match="not signed"):
        decode(KEY, forged, signature)
