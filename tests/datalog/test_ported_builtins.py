"""Built-ins that SQL, Clojure and Java have too, with what they give there."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import pytest

from adalog.datalog.builtins import BUILTINS
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import BigInt, EdnSet, Keyword, Value, identity
from adalog.store.values.attribute import TX_BASE

MOMENT = datetime(2024, 5, 17, 13, 14, 15, 123000, tzinfo=UTC)


def call(name: str, *args: Value) -> Value:
    return BUILTINS[name].call(*args)


def gives(expected: Value, name: str, *args: Value) -> None:
    result = call(name, *args)
    assert identity(result) == identity(expected), f"({name} {args}) gave {result!r}"


def refused(name: str, *args: Value) -> str:
    with pytest.raises(AdalogError) as caught:
        call(name, *args)
    assert caught.value.code is Code.QUERY_INVALID
    return caught.value.message


@pytest.mark.parametrize(
    ("expected", "name", "args"),
    [
        (("a", "b", "", "c"), "split", ("a,b,,c,,", ",")),
        (("a", "b", "", "c", "", ""), "split", ("a,b,,c,,", ",", -1)),
        (("a", "b,c"), "split", ("a,b,c", ",", 2)),
        (("a", "b", "c"), "split", ("abc", "")),
        (("",), "split", ("", ",")),
        (("", "a"), "split", (",a", ",")),
        (("é", "ß"), "split", ("é→ß", "→")),
        (("a", "b", "", "c"), "split-lines", ("a\r\nb\n\nc\n",)),
        ("a-b-c", "replace", ("a.b.c", ".", "-")),
        ("b.a", "replace-first", ("a.a", "a", "b")),
        ("a<1>b<22>", "re-replace", ("a1b22", "([0-9]+)", "<$1>")),
        ("$1-22", "re-replace-first", ("1-22", "([0-9]+)", "\\$1")),
        ("-a-b-c-", "re-replace", ("abc", "x*", "-")),
        ("1, a, :k", "join", (", ", (1, "a", Keyword("k")))),
        ("1a", "join", ((1, "a"),)),
        ("cba", "reverse", ("abc",)),
        ("Hello", "capitalize", ("hELLO",)),
        ("a ", "triml", (" a ",)),
        (" a", "trimr", (" a ",)),
        ("a ", "trim-newline", ("a \r\n",)),
        (5, "index-of", ("abcabc", "c", 3)),
        (None, "index-of", ("abc", "x")),
        (2, "last-index-of", ("abcabc", "c", 4)),
        (None, "last-index-of", ("abcabc", "a", -1)),
        (0, "index-of", ("abcabc", "a", -3)),
        ((), "split", (",,", ",")),
        ((), "split-lines", ("\n",)),
        (("a\r",), "split-lines", ("a\r",)),
        ("0.0", "str", (-0.0,)),
        (True, "like", ("hello", "h_l%")),
        (False, "like", ("hello", "h_l")),
        (True, "like", ("a\nb", "a_b")),
        (True, "like", ("50%", "50\\%")),
        (False, "like", ("a.b", "a\\_b")),
        (True, "not-like", ("a|b", "a")),
        ("005", "lpad", ("5", 3, "0")),
        ("abxyx", "rpad", ("ab", 5, "xy")),
        ("ab", "lpad", ("abc", 2)),
        (datetime(2024, 4, 1, tzinfo=UTC), "truncate", (MOMENT, Keyword("quarter"))),
        (datetime(2024, 5, 13, tzinfo=UTC), "truncate", (MOMENT, "week")),
        (datetime(2024, 5, 17, 13, tzinfo=UTC), "truncate", (MOMENT, Keyword("hour"))),
        (datetime(1, 1, 1, tzinfo=UTC), "truncate", (datetime(1, 1, 1, 5, tzinfo=UTC), Keyword("week"))),
        (True, "in", (1.0, (1, 2))),
        (False, "in", ("1", EdnSet([1, 2]))),
        (True, "not-in", (3, (1, 2))),
        (True, "between", (2, 2, Decimal("2.0"))),
        (False, "between", ("a", 1, 2)),
        *((False, name, (None, (None,))) for name in ("in", "not-in")),
        *((False, name, (None, "%")) for name in ("like", "not-like")),
        (3, "round", (2.5,)),
        (-2, "round", (-2.5,)),
        (0, "round", (0.49999999999999994,)),
        (2.68, "round", (2.675, 2)),
        (Decimal("-2.3"), "round", (Decimal("-2.35"), 1)),
        (1200, "round", (1249, -2)),
        (BigInt(10**30), "round", (BigInt(10**30 + 1), -2)),
        (7, "round", (7,)),
        (-3.0, "floor", (-2.5,)),
        (Decimal(-2), "ceil", (Decimal("-2.5"),)),
        (4.0, "rint", (4.5,)),
        (-3, "floor-div", (-5, 2)),
        (1, "floor-mod", (-5, 2)),
        (math.nan, "sqrt", (-1,)),
        (-math.inf, "log", (0,)),
        (math.nan, "log", (-1,)),
        (-math.inf, "log1p", (-1,)),
        (1024.0, "pow", (2, 10)),
        (math.inf, "pow", (0, -1)),
        (-math.inf, "pow", (-10, 309)),
        (math.nan, "pow", (-8, 0.5)),
        (math.nan, "pow", (1, math.nan)),
        (math.nan, "pow", (-1, math.inf)),
        (math.inf, "pow", (2, math.inf)),
        (0.0, "atan2", (0.0, -0.0)),
        (math.inf, "exp", (710,)),
        (-math.inf, "sinh", (-711,)),
        (math.nan, "asin", (2,)),
        (-1.0, "signum", (-0.5,)),
        ("a|    1|2    |-0003|+4|1,234,567", "format", ("%s|%5d|%-5d|%05d|%+d|%,d", "a", 1, 2, -3, 4, 1234567)),
        ("3.14|1.234568e+04|ff|FF|17|%", "format", ("%.2f|%e|%x|%X|%o|%%", 3.14159, 12345.678, 255, 255, 15)),
        (
            "     2.001|(1.50)|1,234.5",
            "format",
            ("%10.3f|%(.2f|%,.1f", Decimal("2.0005"), -1.5, Decimal("1234.45")),
        ),
        ("b a|null|true|ab", "format", ("%2$s %1$s|%3$s|%4$b|%5$.2s", "a", "b", None, 0, "abc")),
        ("  NaN|-Infinity|NaN", "format", ("%05.1f|%f|%+.1f", math.nan, -math.inf, math.nan)),
        ("ffffffffffffffff|-ff|0xff|07", "format", ("%x|%x|%#x|%#o", -1, BigInt(-255), 255, 7)),
        ("0.00e+00|0e+00|(005)|0x00ff", "format", ("%.2e|%.0e|%(05d|%#06x", 0.0, Decimal("0.000"), -5, 255)),
        (12, "parse-long", ("+12",)),
        (None, "parse-long", ("9223372036854775808",)),
        (None, "parse-long", ("1.0",)),
        (1000.0, "parse-double", (" 1e3",)),
        (None, "parse-double", ("1_000",)),
        (None, "parse-double", ("٣",)),
        (False, "parse-boolean", ("false",)),
        (None, "parse-boolean", ("False",)),
        (UUID(int=1), "parse-uuid", ("00000000-0000-0000-0000-000000000001",)),
        (None, "parse-uuid", ("1",)),
        (86_400_000, "-", (datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 2, 29, tzinfo=UTC))),
        (-1, "inst-ms", (datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC),)),
        (True, "before?", (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC))),
        (False, "after?", (None, datetime(2024, 1, 2, tzinfo=UTC))),
        (5, "tx->t", (TX_BASE + 5,)),
        (TX_BASE + 5, "t->tx", (5,)),
    ],
)
def test_values(expected: Value, name: str, args: tuple[Value, ...]) -> None:
    gives(expected, name, *args)


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("in", (1, 5), "in takes a vector, a list or a set in second place"),
        ("like", (3, "a"), "like takes strings"),
        ("round", (math.nan,), "there is no such long"),
        ("round", (1e300,), "beyond the 64 bits"),
        ("round", (1.5, 2000), "digits from -1000 to 1000"),
        ("floor-div", (1, 0), "divides by zero"),
        ("format", ("%d", 1.5), "a long or bigint for %d"),
        ("format", ("%f", 1), "a double or bigdec for %f"),
        ("format", ("%q", 1), "%q is no conversion"),
        ("format", ("100%", 1), "% is no conversion"),
        ("format", ("%s",), "%s takes argument 1, which is not there"),
        ("format", ("%9999d", 1), "wider than 1000"),
        ("re-replace", ("a", "a", "$1"), "has no group 1"),
        ("split", ("a", "("), "is not a regular expression"),
        ("truncate", (datetime(2024, 1, 1, tzinfo=UTC), "decade"), ":year, :quarter, :month"),
        ("tx->t", (-1,), "the number or the id of a transaction"),
        ("join", ("a", "b"), "a collection in last place"),
    ],
)
def test_what_is_refused(name: str, args: tuple[Value, ...], message: str) -> None:
    assert message in refused(name, *args)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("lpad", ("a", 10**9)),
        ("replace", ("a" * 2000, "a", "b" * 2000)),
        ("re-replace", ("a" * 2000, "a", "b" * 2000)),
        ("join", ("x" * 2000, ("a",) * 2000)),
        ("format", ("%1000d" * 2000, *range(2000))),
    ],
)
def test_texts_without_measure(name: str, args: tuple[Value, ...]) -> None:
    with pytest.raises(AdalogError) as caught:
        call(name, *args)
    assert caught.value.code is Code.LIMIT_EXCEEDED
