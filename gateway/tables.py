"""How rows are laid out for people: columns side by side, or one under the other where the terminal is too narrow.

No column is ever left out. Text is cut to fit, with a mark, and numbers never are; the layout says what was cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

_GAP = 3
# The narrowest that a column of text, or the name above one of numbers, is cut to.
_LEAST = 8

Cells = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Layout:
    """Lines to print below `head`. `cut`: how many values were cut, in the columns `where`."""

    head: Sequence[str]
    lines: Sequence[str]
    cut: int = 0
    where: Sequence[str] = ()


def side_by_side(
    names: Sequence[str], rows: Cells, whole: Sequence[bool], room: int | None, mark: str = "…"
) -> Layout | None:
    """A line for each row, at most `room` wide; None where the columns cannot fit.

    `whole`: which columns hold numbers, which stand at the right and are never cut. `mark`: ends what was cut, and
    is one wide.
    """
    columns = [[row[index] for row in rows] for index in range(len(names))]
    sizes = [[_width(text) for text in column] for column in columns]
    widest = [max(column, default=0) for column in sizes]
    natural = [max(wide, _width(name)) for wide, name in zip(widest, names, strict=True)]
    least = [
        min(full, max(_LEAST, wide if number else 0))
        for full, wide, number in zip(natural, widest, whole, strict=True)
    ]
    widths = natural if room is None else _shared(natural, least, room - _GAP * (len(names) - 1))
    if widths is None:
        return None
    cut, where = 0, []
    shown = []
    for name, column, column_sizes, width, number in zip(names, columns, sizes, widths, whole, strict=True):
        short = sum(size > width for size in column_sizes)
        cut += short
        if short or _width(name) > width:
            where.append(name)
        shown.append([_fitted(text, width, number, mark) for text in (name, *column)])
    gap = " " * _GAP
    head, *lines = (gap.join(cells).rstrip() for cells in zip(*shown, strict=True))
    return Layout([head, "─" * (sum(widths) + _GAP * (len(names) - 1))], lines, cut, where)


def one_below_the_other(names: Sequence[str], rows: Cells, room: int | None) -> Layout:
    """A line for each value, whole however long, and one above each row with its number."""
    width = max(map(_width, names), default=0)
    padded = [set_cell_size(name, width) for name in names]
    rule = min(room or 40, 40)
    lines: list[str] = []
    for number, row in enumerate(rows, 1):
        title = f"─ row {number:,} "
        lines.append(title + "─" * (rule - len(title)))
        lines += [f"{name}   {text}".rstrip() for name, text in zip(padded, row, strict=True)]
    return Layout([], lines)


def _shared(natural: Sequence[int], least: Sequence[int], room: int) -> Sequence[int] | None:
    """Widths that come to `room` at most, taken from the widest columns first; None below the least."""
    if sum(natural) <= room:
        return natural
    if sum(least) > room:
        return None

    def capped(cap: int) -> list[int]:
        return [max(low, min(full, cap)) for full, low in zip(natural, least, strict=True)]

    cap = max(natural)
    while sum(capped(cap)) > room:
        cap -= 1
    widths = capped(cap)
    left = room - sum(widths)
    for index, full in enumerate(natural):
        if left and widths[index] == cap < full:
            widths[index] += 1
            left -= 1
    return widths


def _width(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def _fitted(text: str, width: int, right: bool, mark: str) -> str:
    size = _width(text)
    if size > width:
        return set_cell_size(text, width - 1) + mark
    return " " * (width - size) + text if right else text + " " * (width - size)
