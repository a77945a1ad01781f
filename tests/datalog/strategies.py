"""Random EDN values for property tests."""

from __future__ import annotations

from datetime import UTC
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from adalog.datalog.durations import Duration
from adalog.datalog.values import (
    LONG_MAX,
    LONG_MIN,
    BigInt,
    Char,
    EdnList,
    EdnMap,
    EdnSet,
    Keyword,
    Symbol,
    Uri,
    instant,
)

_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_names = st.from_regex(r"[a-z*!?][a-z0-9.*+!_?<>=-]{0,6}(/[a-z][a-z0-9-]{0,4})?", fullmatch=True).filter(
    lambda name: name not in ("nil", "true", "false")
)

longs = st.integers(LONG_MIN, LONG_MAX)
decimals = st.builds(
    lambda digits, exponent: Decimal(digits).scaleb(exponent), st.integers(-(10**20), 10**20), st.integers(-50, 50)
)

scalars: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    longs,
    st.integers(-3, 3),
    st.integers().map(BigInt),
    st.floats(),
    decimals,
    _text,
    _names.map(Keyword),
    _names.map(Symbol),
    st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF).map(Char),
    st.datetimes(timezones=st.just(UTC)).map(instant),
    st.uuids(),
    st.builds(Duration, *3 * (st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(-40, 40),)),
    st.binary(max_size=12),
    st.from_regex(r"https://[a-z.]{1,9}(/[a-z%20]{0,5})?", fullmatch=True).map(Uri),
)

values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(tuple),
        st.lists(inner, max_size=4).map(EdnList),
        st.lists(inner, max_size=4).map(EdnSet),
        st.lists(st.tuples(inner, inner), max_size=4).map(EdnMap),
    ),
    max_leaves=15,
)
