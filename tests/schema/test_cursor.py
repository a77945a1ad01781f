"""Cursors: bound to their question, and of no use when changed or made elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog.errors import AdalogError, Code
from adalog.schema.request.cursor import Cursor, Cursors, question

KEY = b"k" * 32
ASKED = question("q", "[:find ?e]", ())


@given(st.integers(0, 2**40), st.integers(0, 2**40), st.none() | st.integers(0, 2**40), st.booleans())
def test_a_cursor_comes_back_as_it_was(offset: int, t: int, since: int | None, history: bool) -> None:
    cursor = Cursor(ASKED, offset, t, since, history)
    assert Cursors(KEY).read(Cursors(KEY).write(cursor), ASKED) == cursor


@given(st.data())
def test_a_changed_cursor_is_refused(data: st.DataObject) -> None:
    text = Cursors(KEY).write(Cursor(ASKED, 10, 5))
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(codec="ascii").filter(lambda char: char != text[place]))
    changed = text[:place] + other + text[place + 1 :]
    if place == len(text) - 1 and other.isalnum():
        return  # the spare bits of base64's last character say nothing
    with pytest.raises(AdalogError) as caught:
        Cursors(KEY).read(changed, ASKED)
    assert caught.value.code is Code.ARG_INVALID


@pytest.mark.parametrize("text", ["", "x", "ü", "AAAA", "=" * 9, "\x00", "A" * 5000])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(AdalogError, match="ARG_INVALID"):
        Cursors(KEY).read(text, ASKED)


def test_a_cursor_of_another_question_is_refused() -> None:
    text = Cursors(KEY).write(Cursor(question("q", "[:find ?x]", ()), 10, 5))
    with pytest.raises(AdalogError, match="another query"):
        Cursors(KEY).read(text, ASKED)


def test_a_cursor_of_another_database_is_refused() -> None:
    text = Cursors(b"o" * 32).write(Cursor(ASKED, 10, 5))
    with pytest.raises(AdalogError, match="was not made by this database"):
        Cursors(KEY).read(text, ASKED)
