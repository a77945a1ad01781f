"""The built-ins called directly: types, bounds and refusals that queries in tests/language do not reach."""

from __future__ import annotations

import contextlib
import math
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog.builtins import BUILTINS
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import (
    LONG_MAX,
    LONG_MIN,
    BigInt,
    Char,
    EdnList,
    EdnMap,
    EdnSet,
    Float,
    Keyword,
    Symbol,
    Uri,
    identity,
)

LONGS = st.integers(LONG_MIN, LONG_MAX)
MOMENT = datetime(2020, 2, 29, 12, 34, 56, 789000, tzinfo=UTC)


def call(name, *args):
    built_in = BUILTINS[name]
    assert built_in.min_args <= len(args)
    assert built_in.max_args is None or len(args) <= built_in.max_args
    return built_in.call(*args)


def gives(expected, name, *args):
    result = call(name, *args)
    assert identity(result) == identity(expected), f"({name} {args}) gave {result!r}"


def refused(name, *args):
    with pytest.raises(AdalogError) as caught:
        call(name, *args)
    assert caught.value.code is Code.QUERY_INVALID
    assert caught.value.position is None
    return caught.value.message


def test_aliases_are_the_same_built_in():
    assert BUILTINS["clojure.string/upper-case"] is BUILTINS["upper-case"]
    assert BUILTINS["clojure.core/inc"] is BUILTINS["inc"]
    for unknown in ("clojure.core/eval", "clojure.core/upper-case", "user/inc", "slurp"):
        assert unknown not in BUILTINS


def test_every_built_in_has_sound_arity():
    for built_in in BUILTINS.values():
        assert built_in.min_args >= 0
        assert built_in.max_args is None or built_in.min_args <= built_in.max_args


# Arithmetic


@given(LONGS, LONGS.filter(bool))
def test_division_of_longs(a, b):
    if (a, b) == (LONG_MIN, -1):
        refused("quot", a, b)
        return
    quotient, rest, modulus = call("quot", a, b), call("rem", a, b), call("mod", a, b)
    assert quotient * b + rest == a
    assert rest == 0 or (rest > 0) == (a > 0)
    assert modulus == 0 or (modulus > 0) == (b > 0)
    assert (a - modulus) % b == 0


@given(LONGS, LONGS)
def test_longs_fit_or_are_refused(a, b):
    for name, exact in (("+", a + b), ("-", a - b), ("*", a * b)):
        if LONG_MIN <= exact <= LONG_MAX:
            gives(exact, name, a, b)
        else:
            assert "bigint" in refused(name, a, b)
        gives(BigInt(exact), name, BigInt(a), b)


def test_contagion():
    gives(BigInt(3), "+", 1, BigInt(2))
    gives(Decimal("3.5"), "+", BigInt(1), Decimal("2.5"))
    gives(3.5, "+", Decimal("1.5"), 2.0)
    gives(1.5, "+", 1, Float(0.5))
    gives(3.0, "*", BigInt(2), 1.5)
    gives(BigInt(-LONG_MIN), "-", BigInt(LONG_MIN))
    gives(math.inf, "+", BigInt(10**400), 1.0)


def test_longs_at_their_ends():
    gives(LONG_MIN, "dec", LONG_MIN + 1)
    for name in ("-", "abs", "dec"):
        refused(name, LONG_MIN)
    refused("inc", LONG_MAX)


def test_division():
    gives(2, "/", 6, 3)
    gives(BigInt(2), "/", BigInt(6), 3)
    gives(0.5, "/", 2)
    gives(Decimal("0.5"), "/", Decimal(1), 2)
    gives(Decimal("0.3333333333333333333333333333333333"), "/", Decimal(1), 3)
    gives(Decimal(-3), "quot", Decimal("-7.5"), 2)
    gives(Decimal("-1.5"), "rem", Decimal("-7.5"), 2)
    gives(Decimal("0.5"), "mod", Decimal("-7.5"), 2)
    gives(-3.0, "quot", -7.5, 2)
    gives(-1.5, "rem", -7.5, 2)
    for zero in (0, 0.0, BigInt(0), Decimal(0)):
        for name in ("/", "quot", "rem", "mod"):
            assert "zero" in refused(name, 1, zero)
    refused("rem", math.inf, 2)


def test_numbers_do_not_grow_without_end():
    big = BigInt(10**3000)
    assert "4,000 digits" in refused("*", big, big)
    refused("+", Decimal("1E4000"), Decimal("1E-4000"))


def test_type_errors_quote_the_call():
    assert refused("+", 1, "a") == '(+ 1 "a"): "a" is a string; + takes numbers'
    assert "nil" in refused("inc", None)
    assert "boolean" in refused("+", 1, True)
    assert len(refused("+", "x" * 10_000)) < 300
    assert len(refused("+", *(["x"] * 1000))) < 300


def test_min_and_max():
    gives(1, "min", 3, 1, 2)
    gives(2.5, "max", 1, 2.5)
    gives("b", "max", "a", "b")
    assert math.isnan(call("max", math.nan, 1))
    assert math.isnan(call("min", 1, math.nan))
    refused("max", 1, "a")


def test_conversions():
    gives(2, "long", 2.9)
    gives(-2, "long", Decimal("-2.9"))
    gives(2.0, "double", 2)
    gives(BigInt(2), "bigint", 2)
    gives(Decimal("0.1"), "bigdec", 0.1)
    for value in (math.inf, math.nan, 1e300):
        refused("long", value)
    refused("long", "1")


# Comparison


def test_typed_equality_and_equality_by_value():
    gives(False, "=", 1, 1.0)
    gives(True, "==", 1, 1.0, Decimal(1), BigInt(1))
    gives(True, "=", Decimal("1.0"), Decimal("1.00"))
    gives(False, "=", True, 1)
    gives(False, "==", True, 1)
    gives(False, "=", "x", Uri("x"))
    gives(False, "=", "x", Char("x"))
    gives(True, "==", "a", "a")
    gives(True, "not=", 1, 1, 2)
    gives(False, "==", 0.1, Decimal("0.1"))


def test_order_never_fails():
    for left, right in ((1, "a"), (None, None), (EdnMap(), EdnMap()), (math.nan, 1), (1, None)):
        for name in ("<", ">", "<=", ">="):
            gives(False, name, left, right)
    gives(True, "<", 9007199254740992.0, 9007199254740993)
    gives(True, "<", 1)
    gives(False, "<", 1, 3, 2)
    gives(-1, "compare", "a", "b")
    gives(-1, "compare", None, 1)
    refused("compare", 1, "a")


# Strings


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("a b", "a b"),
        (Char("a"), "a"),
        (Uri("http://x"), "http://x"),
        (Keyword("a/b"), ":a/b"),
        (Symbol("s"), "s"),
        (BigInt(12), "12"),
        (Decimal("1.50"), "1.50"),
        (1.0, "1.0"),
        (True, "true"),
        (MOMENT, "2020-02-29T12:34:56.789Z"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ((1, "a", None), '[1 "a" nil]'),
        (b"\x00\x01", "AAE="),
    ],
)
def test_str(value, text):
    assert call("str", value) == text
    assert type(call("str", value)) is str


def test_subs():
    gives("", "subs", "hello", 5)
    gives("😀b", "subs", "a😀b", 1)
    for bounds in ((6,), (3, 1), (-1,), (0, 6), (1.0,), (None,), (True,)):
        refused("subs", "hello", *bounds)
    refused("subs", Keyword("a"), 0)


def test_string_functions_take_strings_only():
    for name in ("starts-with?", "ends-with?", "includes?"):
        assert "str makes one" in refused(name, Keyword("a"), "a")
        refused(name, "a", None)
        refused(name, Uri("a"), "a")
    refused("upper-case", Symbol("a"))
    gives(True, "blank?", None)
    gives(True, "blank?", " \t")


def test_names():
    gives("b", "name", Keyword("a/b"))
    gives("b", "name", "b")
    gives("a", "namespace", Keyword("a/b"))
    gives(None, "namespace", Symbol("b"))
    gives("/", "name", Symbol("/"))
    gives(Keyword("a/b"), "keyword", "a/b")
    gives(Keyword("a/b"), "keyword", "a", "b")
    gives(Keyword("b"), "keyword", None, "b")
    gives(Keyword("b"), "keyword", Symbol("b"))
    for name in ("", "a b", "a/b/c", ":a", "a\n", "(x)", "#{"):
        refused("keyword", name)
    refused("name", 1)


# Everything else


def test_type_tests():
    gives(True, "number?", Float(1.5))
    gives(True, "float?", Float(1.5))
    gives(False, "double?", Float(1.5))
    gives(False, "integer?", True)
    gives(False, "string?", Uri("x"))
    gives(False, "string?", Char("x"))
    gives(True, "list?", EdnList((1,)))
    gives(False, "vector?", EdnList((1,)))
    gives(True, "coll?", EdnMap())
    gives(False, "coll?", "x")
    gives(True, "empty?", None)
    gives(True, "empty?", EdnSet())
    refused("empty?", 1)
    refused("even?", 1.0)
    refused("zero?", "a")
    gives(False, "true?", 1)


def test_collections():
    gives(2, "count", EdnSet((1, 1.0)))
    gives(3, "count", b"abc")
    refused("count", Uri("x"))
    gives((1, None), "tuple", 1, None)
    gives((1, 2), "untuple", EdnList((1, 2)))
    refused("untuple", 1)
    gives(1, "get", EdnMap({Keyword("a"): 1}), Keyword("a"))
    gives(None, "get", EdnMap({Keyword("a"): 1}), Keyword("b"))
    gives(5, "get", (1, 2), 2, 5)
    gives(True, "contains?", EdnSet((1,)), 1)
    gives(False, "contains?", EdnSet((1,)), 1.0)
    gives(True, "contains?", (5,), 0)
    refused("contains?", 5, 0)
    assert refused("contains?", "name", "ame").endswith("a vector; a part of a text is asked for with includes?")
    gives(EdnSet((1, 2)), "set", (1, 2, 1))
    gives(None, "not-empty", ())


def test_connectives_know_nil_and_false_only():
    gives(0, "and", True, 0)
    gives(None, "and", None, False)
    gives(False, "or", None, False)
    gives(None, "or")
    gives("", "or", False, "")


def test_date_parts():
    parts = ("year", "month", "day", "hour", "minute", "second", "millisecond", "day-of-week")
    assert [call(part, MOMENT) for part in parts] == [2020, 2, 29, 12, 34, 56, 789, 6]
    assert "#inst" in refused("year", "2020")


class People:
    """A database of one entity with a name and two tags."""

    def entid(self, entity):
        return {Keyword("name"): 7, (Keyword("name"), "Ada"): 1}.get(
            entity, entity if type(entity) is int else None
        )

    def values(self, entity, attribute):
        return {Keyword("name"): ("Ada",), Keyword("tags"): (1, 2)}.get(attribute, ()) if entity == 1 else ()

    def tx_ids(self, start, end):
        return tuple(range(start or 1, end or 4))

    def tx_data(self, transaction):
        return ([1, Keyword("name"), "Ada", transaction, True],)


def ask(name, *args):
    assert BUILTINS[name].needs_database
    return BUILTINS[name].call(People(), *args)


def test_names_of_entities():
    assert ask("entid", Keyword("name")) == 7
    assert ask("entid", 5) == 5
    assert ask("entid", Keyword("other")) is ask("ident", Keyword("other")) is None
    with pytest.raises(AdalogError, match="an ident such as :person/name, or a lookup ref"):
        ask("entid", "name")


def test_database_built_ins():
    assert ask("get-else", 1, Keyword("name"), "?") == "Ada"
    assert ask("get-else", 2, Keyword("name"), "?") == "?"
    assert ask("get-attr", 1, Keyword("tags")) == (1, 2)
    assert ask("get-attr", 2, Keyword("tags"), "?") == ("?",)
    assert ask("get-attr", 2, Keyword("tags")) is None
    assert ask("get-some", 1, Keyword("nick"), Keyword("name")) == (Keyword("name"), "Ada")
    assert ask("get-some", 2, Keyword("name")) is None
    assert ask("missing?", 1, Keyword("name")) is False
    assert ask("missing?", 1, Keyword("nick")) is True
    assert ask("tx-ids", None, 3) == (1, 2)
    assert ask("tx-data", 7) == ((1, Keyword("name"), "Ada", 7, True),)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("get-else", (1, Keyword("name"), None)),
        ("get-else", (1, Keyword("tags"), 0)),
        ("get-some", (1, Keyword("tags"))),
        ("get-else", (1, "name", 0)),
        ("missing?", (1, ":name")),
        ("tx-ids", ("a", 3)),
        ("tx-data", (None,)),
    ],
)
def test_database_built_ins_refuse(name, args):
    with pytest.raises(AdalogError) as caught:
        ask(name, *args)
    assert caught.value.code is Code.QUERY_INVALID


ANYTHING = st.sampled_from(
    [None, True, 0, -1, LONG_MAX, BigInt(3), 1.5, math.nan, math.inf, Float(0.5), Decimal("1.5"), "", "ab", "(a+)+",
     Keyword("a/b"), Symbol("x"), Char("c"), MOMENT, UUID(int=7), Uri("u"), b"x", (1, "a"), EdnList((1,)),
     EdnMap({1: 2}), EdnSet((1, 2))]
)  # fmt: skip


@given(st.sampled_from(sorted(BUILTINS)), st.data())
def test_every_call_gives_a_value_or_a_refusal(name, data):
    built_in = BUILTINS[name]
    most = built_in.max_args if built_in.max_args is not None else built_in.min_args + 2
    args = data.draw(st.lists(ANYTHING, min_size=built_in.min_args, max_size=most))
    database = (People(),) if built_in.needs_database else ()
    with contextlib.suppress(AdalogError):
        identity(built_in.call(*database, *args))
