"""Tables: every column is there however narrow the terminal, and what is cut is marked and told."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from adalog.datalog import values
from adalog.gateway.cli.output import tables
from adalog.gateway.cli.output.console import Terminal
from adalog.gateway.cli.output.formats import ResultTable, ShownWarning, print_table, print_warnings
from tests.gateway.cli.command_line import adalog

LONG = "a line of text that goes on and on, far beyond the edge of what there is"
WIDE = ["?name", "?description", "?size", "?kind"]


class Screen(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def relation(names: Sequence[str], types: Sequence[str], *rows: Sequence[Any]) -> ResultTable:
    return ResultTable(names, types, rows, rows, "summary")


def printed(shown: ResultTable, width: int | None, show: int | None = None, *, expanded: bool = False) -> list[str]:
    """The lines on a terminal of this width, or in a pipe."""
    stream = io.StringIO() if width is None else Screen()
    print_table(shown, Terminal(file=stream, width=width or 80, color_system=None), show, expanded=expanded)
    return stream.getvalue().splitlines()


ROW = ("git", LONG, 45967360, values.Keyword("package.kind/optional"))
DESCRIBED = relation(WIDE, ["string", "string", "long", "keyword"], ROW)


def test_a_pipe_cuts_nothing() -> None:
    head, _, row, summary = printed(DESCRIBED, None)
    assert head.split() == WIDE
    assert LONG in row
    assert ":package.kind/optional" in row
    assert summary == "summary"


def test_text_is_cut_with_a_mark_and_numbers_are_not() -> None:
    head, rule, row, note, summary = printed(DESCRIBED, 60)
    assert head.split() == WIDE
    assert len(rule) == 60
    assert "a line of t" in row
    assert "…" in row
    assert "45967360" in row
    assert note == "2 values cut to fit in 60 characters, in ?description, ?kind; --format expanded shows all"
    assert summary == "summary"


def test_a_name_is_cut_at_its_beginning() -> None:
    assert re.search(r" …[.a-z]*/optional$", printed(DESCRIBED, 60)[2])


def test_columns_that_cannot_fit_stand_below_each_other_and_whole() -> None:
    assert printed(DESCRIBED, 30) == [
        "─ row 1 " + "─" * 22,
        "?name          git",
        f"?description   {LONG}",
        "?size          45967360",
        "?kind          :package.kind/optional",
        "4 columns do not fit in 30 characters, so they stand below each other",
        "summary",
    ]


def test_expanded_when_asked_for() -> None:
    lines = printed(DESCRIBED, 200, expanded=True)
    assert lines[1:3] == ["?name          git", f"?description   {LONG}"]
    assert lines[-1] == "summary"
    assert "fit" not in "".join(lines)


def test_forty_columns_are_all_there() -> None:
    names = [f"?column{number}" for number in range(40)]
    lines = printed(relation(names, ["string"] * 40, ["value"] * 40), 80)
    assert [line.split()[0] for line in lines[1:41]] == names


def test_the_name_of_a_column_of_numbers_may_be_cut() -> None:
    shown = relation(["(count-distinct ?everything)", "?n"], ["long", "string"], (5, "x" * 30))
    lines = printed(shown, 40)
    assert "…" in lines[0]
    assert lines[-2].startswith("1 value cut to fit in 40 characters, in (count-distinct ?everything), ?n; ")


def test_rows_that_are_not_shown_are_counted() -> None:
    shown = relation(["?x"], ["long"], *([number] for number in range(1200)))
    assert printed(shown, 80)[-2] == "the first 500 of 1,200 rows; --show 0 shows all"
    assert printed(shown, 80, 3)[2:] == [
        *(f" {number}" for number in range(3)),
        "the first 3 of 1,200 rows; --show 0 shows all",
        "summary",
    ]
    assert len(printed(shown, None)) == 1203
    assert len(printed(shown, 80, 0)) == 1203


def test_no_rows() -> None:
    assert printed(relation(["?x", "?y"], ["any", "any"]), 80) == ["?x   ?y", "───────", "summary"]


def test_double_width_characters_stand_in_line() -> None:
    shown = relation(["?a", "?b"], ["string", "string"], ("日本語の長い文字列です", "x"), ("abc", "y"))
    lines = printed(shown, 20)
    assert [cell_len(line) for line in lines[2:4]] == [cell_len(lines[2])] * 2
    assert "…" in lines[2]
    assert max(map(cell_len, lines[:4])) <= 20


def test_a_stream_without_the_mark_gets_another() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="adalog")
    stream.isatty = lambda: True  # type: ignore[method-assign]
    print_table(DESCRIBED, Terminal(file=stream, width=60, color_system=None), None)
    stream.flush()
    head, rule, row, *_ = stream.buffer.getvalue().decode("ascii").splitlines()  # type: ignore[attr-defined]
    assert head.split() == WIDE
    assert rule == "-" * 60
    assert "~" in row


TEXTS = st.text(st.sampled_from("ab 日é"), max_size=30)


@given(
    st.lists(st.tuples(TEXTS, st.sampled_from(tables.CellKind)), min_size=1, max_size=8),
    st.integers(1, 120),
    st.data(),
)
def test_a_layout_fits_or_is_none(
    columns: list[tuple[str, tables.CellKind]], room: int, data: st.DataObject
) -> None:
    count = data.draw(st.integers(0, 3))
    made = [
        tables.TextColumn(name, kind, data.draw(st.lists(TEXTS, min_size=count, max_size=count)))
        for name, kind in columns
    ]
    layout = tables.side_by_side(made, room)
    if layout is not None:
        assert len(layout.lines) == count
        assert all(cell_len(line) <= room for line in [*layout.head, *layout.lines])
        cut = sum(column.name in layout.where for column in made)
        assert bool(layout.where) == any("…" in line for line in [*layout.head, *layout.lines])
        assert cut >= len(set(layout.where))
    whole = tables.side_by_side(made, None)
    assert whole is not None
    assert not whole.where


def test_json_shows_what_a_table_cuts(folder: str) -> None:
    adalog("transact", "--data", folder, f'[{{:person/name "{LONG}"}}]')
    result = adalog("query", "--data", folder, "[:find ?n :where [_ :person/name ?n]]", COLUMNS="30")
    assert LONG in result.stdout


@pytest.mark.parametrize(
    ("warning", "text"),
    [
        (
            ShownWarning("UNKNOWN", "nobody declared :a/b, a name", 2, 7),
            "warning UNKNOWN nobody declared :a/b, a name (2:7)",
        ),
        (ShownWarning("PRODUCT", "two parts share no [/b]", None, None), "warning PRODUCT two parts share no [/b]"),
        (ShownWarning("ODD", "a\x1b[31m name", 1, 1), "warning ODD a\\x1b[31m name (1:1)"),
    ],
)
def test_a_warning_is_a_line(warning: ShownWarning, text: str) -> None:
    stream = io.StringIO()
    print_warnings([warning], Terminal(file=stream, width=20, color_system=None))
    assert stream.getvalue() == text + "\n"
