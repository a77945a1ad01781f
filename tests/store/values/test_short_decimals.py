"""Bigdecs as numbers and places: the same values, and the same codes, as by their texts."""

from __future__ import annotations

from decimal import Decimal
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from adalog.datalog.errors import AdalogError
from adalog.datalog.values import identity
from adalog.store.files.packing import canonical_decimal
from adalog.store.values import layout, short_decimals
from adalog.store.values.codes import Codes, Scratch
from adalog.store.values.short_decimals import ShortDecimals, decimal_of, parts_of, parts_of_keys, word_of

EDGES = (
    *("0", "-0.0", "1", "-1", "100", "0.1", "-0.10", "1E-7", "1E-18", "1E-19", "1E+3", "1E+30", "123.456"),
    *("999999999999999999", "-999999999999999999", "1000000000000000000", "0.999999999999999999"),
    *("288230376151711743", "288230376151711744", "-288230376151711744", "-288230376151711745", "NaN", "Infinity"),
)


def key_of(value: Decimal) -> bytes:
    return str(canonical_decimal(value)).encode()


def drawn(rng: Random) -> Decimal:
    if rng.random() < 0.3:
        return Decimal(rng.choice(EDGES))
    most = 10 ** rng.randint(0, 21)
    return Decimal(rng.randint(-most, most)).scaleb(-rng.randint(0, 20))


def is_short(value: Decimal) -> bool:
    _, digits, exponent = canonical_decimal(value).as_tuple()
    return isinstance(exponent, int) and exponent >= -18 and len(digits) <= 18


def test_parts_of_texts() -> None:
    rng = Random(3)
    values = [*map(Decimal, EDGES), *(drawn(rng) for _ in range(2000))]
    numbers, places = parts_of_keys(pa.array([key_of(each) for each in values], pa.large_binary()))
    for value, number, place in zip(values, numbers.tolist(), places.tolist(), strict=True):
        assert (place >= 0) is is_short(value), value
        if place >= 0:
            assert Decimal(number).scaleb(-place) == value
            assert place == 0 or number % 10, "no zeros at the end"


@pytest.mark.parametrize("text", EDGES)
def test_a_word_stands_for_one_value(text: str) -> None:
    key = key_of(Decimal(text))
    word = word_of(key)
    numbers = parts_of_keys(pa.array([key], pa.large_binary()))
    assert (word is not None) is bool(numbers.fit()[0])
    if word is not None:
        assert word == numbers.packed()[0]
        assert identity(decimal_of(word)) == identity(canonical_decimal(Decimal(text)))


def test_parts_of_integers_have_no_zeros_at_their_ends() -> None:
    numbers = np.array([0, 100, 105, -120, 7, 10**17], np.int64)
    assert parts_of(numbers, 2).numbers.tolist() == [0, 1, 105, -12, 7, 10**15]
    assert parts_of(numbers, 2).places.tolist() == [0, 0, 2, 1, 2, 0]
    assert parts_of(numbers, 0).numbers.tolist() == numbers.tolist()


@pytest.mark.parametrize("page", [2, 8, 4096])
def test_a_dictionary_is_read_and_found_while_it_grows(page: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_decimals, "_PAGE", page)
    rng, codes = Random(page), Codes()
    dictionary = codes.dictionaries()[layout.TAG_BIGDEC]
    short = ShortDecimals(dictionary)
    known: list[Decimal] = []
    tables = 0
    for _ in range(60):
        for value in [drawn(rng) for _ in range(rng.randint(0, 9))]:
            if codes.intern(value) & layout.PAYLOAD_MASK == len(known):
                known.append(value)
        if rng.random() < 0.2:
            codes.adopt({layout.TAG_BIGDEC: dictionary.folded()})
        if not known:
            continue
        asked = np.array([rng.randrange(len(known)) for _ in range(rng.randint(1, 30))])
        numbers, places = short.parts(asked)
        for at, number, place in zip(asked.tolist(), numbers.tolist(), places.tolist(), strict=True):
            assert (place >= 0) is is_short(known[at])
            assert place < 0 or Decimal(number).scaleb(-place) == known[at]
        table = short.table(asked)
        if table is not None:
            tables += 1
            assert table.numbers[asked].tolist() == numbers.tolist()
            assert table.places[asked].tolist() == places.tolist()
        sought = parts_of(np.array([rng.randint(-999, 999) for _ in range(50)] + [105], np.int64), 2)
        found = short.find(sought)
        if found is not None:
            for number, place, at in zip(*sought, found.tolist(), strict=True):
                value = Decimal(int(number)).scaleb(-int(place))
                assert at == next((i for i, each in enumerate(known) if each == value), -1)
    assert tables


def test_computed_bigdecs_have_the_codes_of_their_values() -> None:
    rng, codes = Random(5), Codes()
    for _ in range(300):
        codes.intern(Decimal(rng.randint(-9999, 9999)).scaleb(-2))
    for _ in range(30):
        one, other = Scratch(codes), Scratch(codes)
        for _ in range(6):
            scale = rng.randint(0, 4)
            numbers = np.unique([rng.randint(-(10**5), 10 ** rng.randint(1, 18)) for _ in range(20)])
            values = [Decimal(each).scaleb(-scale) for each in numbers.tolist()]
            some = rng.sample(values, 5)
            ahead = [one.intern(each) for each in some]
            made = one.intern_decimals(numbers, scale)
            assert ahead == [made[values.index(each)] for each in some]
            assert made.tolist() == [one.intern(each) for each in values] == one.intern_many(values).tolist()
            assert [identity(each) for each in one.decode_many(made)] == [*map(identity, values)]
            assert [one.lookup(each) for each in values] == made.tolist()
            theirs = other.intern_many(values)
            assert (one.made_numbers(made) < 0).tolist() == (other.made_numbers(theirs) < 0).tolist()
            parts, expected = one.decimal_parts(made), other.decimal_parts(theirs)
            assert [each.tolist() for each in parts] == [each.tolist() for each in expected]
        assert [*map(identity, one.fork().made())] == [*map(identity, one.made())]
        again = Scratch(codes)
        again.adopt(one.made())
        assert [again.intern(each) for each in one.made()] == [one.intern(each) for each in one.made()]


def test_computed_bigdecs_are_limited() -> None:
    few = Scratch(Codes(), limit=10)
    few.intern_decimals(np.arange(1, 11), 1)
    few.intern_decimals(np.arange(1, 11), 1)
    with pytest.raises(AdalogError, match="the query made more than 10 values"):
        few.intern_decimals(np.arange(10, 12), 1)
