"""The reader and the writer on random values and random texts, and beside edn_format where that is right."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Any

import edn_format
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog.edn import EdnError, locate, read, read_form, write
from adalog.datalog.edn.form import Form
from adalog.datalog.values import Char, EdnList, EdnMap, Keyword, Symbol, Value, identity, instant
from tests.datalog.strategies import values


@given(values)
def test_what_is_written_reads_back_as_the_same_value(value: Value) -> None:
    assert identity(read(write(value))) == identity(value)


@given(values)
def test_writing_is_stable(value: Value) -> None:
    assert write(read(write(value))) == write(value)


@given(values)
def test_each_form_and_each_path_points_at_the_text_of_its_part(value: Value) -> None:
    text = write(value)

    def check(form: Form, path: list[int]) -> None:
        place = form.position
        assert place is not None
        assert place == locate(text, path)
        assert text[place.column - 1 :].startswith(write(form.value))
        for number, part in enumerate(form.items):
            check(part, [*path, number])

    check(read_form(text), [])


PIECES = st.sampled_from(
    [
        *(
            "[",
            "]",
            "(",
            ")",
            "{",
            "}",
            "#{",
            "#_",
            "#inst",
            '"2024"',
            '"',
            "\\",
            "\\a",
            "'",
            "#",
            ";x\n",
            " ",
            ",",
        ),
        *("1", ":a", "x", "/", "1.5", "-", "nil", "##NaN", "^", "é", "\u00a0", "\n", "#:p", '#"'),
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=40))
def test_any_text_is_read_or_refused_at_a_place_inside_it(text: str) -> None:
    refusal, value = _outcome(text)
    if refusal is None:
        assert identity(read(write(value))) == identity(value)
    else:
        place = refusal.position
        assert place is not None
        lines = text.split("\n")
        assert 1 <= place.line <= len(lines)
        assert 1 <= place.column <= len(lines[place.line - 1]) + 1


def _outcome(text: str) -> tuple[EdnError | None, Value]:
    try:
        return None, read(text)
    except EdnError as error:
        return error, None


@given(st.lists(PIECES, max_size=25).map("".join))
def test_a_query_text_is_never_read_less_than_data(text: str) -> None:
    with suppress(EdnError):
        value = read(text)
        assert identity(read_form(text).value) == identity(value)


def _ours(value: Any) -> Value:
    """What edn_format read, in our types: its vectors are ImmutableList, its lists are tuples."""
    match value:
        case edn_format.ImmutableDict():
            return EdnMap((_ours(key), _ours(item)) for key, item in value.items())
        case edn_format.ImmutableList():
            return tuple(map(_ours, value))
        case tuple():
            return EdnList(map(_ours, value))
        case edn_format.Keyword():
            return Keyword(value.name)
        case edn_format.Symbol():
            return Symbol(value.name)
        case edn_format.Char():
            return Char(value)
        case datetime():
            return instant(value)
        case _:
            return value


ORACLE = [
    "[:find ?e ?name :in $ [?x ...] :where [?e :person/name ?name] (or [?e :a 1] [?e :b 2.5]) [(< ?x 10)]]",
    '{:find [?x .] :where [[?x :a "text \\" with \\n escapes"]]}',
    "[nil true false 1 -1 +1 1.5 -1.5e3 1.5M :a :a/b a a/b / - + *x* \\a \\newline]",
    '[{:db/id "t" :a/b [1 2 3]} [:db/add 12 :a/b "text"] #_ [:db/retract 1 :a/b] ] ; the end',
    "((1) [2 [3]] {:a {:b ()}})",
    '#uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"',
    '#inst "2024-05-01T12:30:00.123Z"',
    "##-Inf",
]


@pytest.mark.parametrize("text", ORACLE)
def test_edn_format_reads_the_same(text: str) -> None:
    assert identity(read(text)) == identity(_ours(edn_format.loads(text)))


@pytest.mark.parametrize(("text", "lax"), [("1 2 3", 1), ("012", 0), ('"\\q"', "\\q")])
def test_where_edn_format_is_lax_the_reader_refuses(text: str, lax: Any) -> None:
    assert edn_format.loads(text) == lax
    with pytest.raises(EdnError):
        read(text)


def test_where_edn_format_loses_members_the_reader_keeps_them() -> None:
    assert len(edn_format.loads("#{1 true 1.0}")) == 1
    assert len(read("#{1 true 1.0}")) == 3
