"""How rows are laid out for people: columns side by side, or one under the other where the terminal is too narrow.

No column is ever left out. Text is cut to fit, with a mark, and numbers never are; the layout says what was cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from rich.cells import cell_len, set_cell_size

_GAP, _NARROW_GAP = 3, 2
# The narrowest that a column of text, or the name above one of numbers, is cut to.
_LEAST = 8


class CellKind(Enum):
    """What a column holds. Numbers stand at the right and are never cut; what tells names apart is their end."""

    NUMBER = auto()
    NAME = auto()
    TEXT = auto()


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column's name, kind and values, as they are to be shown."""

    name: str
    kind: CellKind
    cells: Sequence[str]


@dataclass(frozen=True, slots=True)
class Layout:
    """Lines to print below `head`. `cut`: how many values were cut. `where`: columns cut, or just their name."""

    head: Sequence[str]
    lines: Sequence[str]
    cut: int = 0
    where: Sequence[str] = ()


def side_by_side(columns: Sequence[TextColumn], room: int | None, mark: str = "…") -> Layout | None:
    """A line for each row, at most `room` wide (None: as wide as need be); None where the columns cannot fit.
    `mark`: what stands, one wide, for the part of a text that was cut."""
    sizes = [[_width(text) for text in column.cells] for column in columns]
    chosen = _widths(columns, [max(column, default=0) for column in sizes], room)
    if chosen is None:
        return None
    widths, gap = chosen
    cut, where, shown = 0, [], []
    for column, column_sizes, width in zip(columns, sizes, widths, strict=True):
        short = sum(size > width for size in column_sizes)
        cut += short
        if short or _width(column.name) > width:
            where.append(column.name)
        name = _fitted(column.name, width, mark, CellKind.TEXT if column.kind is CellKind.NAME else column.kind)
        shown.append([name, *(_fitted(text, width, mark, column.kind) for text in column.cells)])
    head, *lines = ((" " * gap).join(cells).rstrip() for cells in zip(*shown, strict=True))
    return Layout([head, "─" * (sum(widths) + gap * (len(columns) - 1))], lines, cut, where)


def one_below_the_other(columns: Sequence[TextColumn], room: int | None) -> Layout:
    """A line for each value, whole however long, and one above each row with its number."""
    width = max((_width(column.name) for column in columns), default=0)
    names = [set_cell_size(column.name, width) for column in columns]
    rule = min(room or 40, 40)
    lines: list[str] = []
    for number, row in enumerate(zip(*(column.cells for column in columns), strict=True), 1):
        title = f"─ row {number:,} "
        lines.append(title + "─" * (rule - len(title)))
        lines += [f"{name}   {text}".rstrip() for name, text in zip(names, row, strict=True)]
    return Layout([], lines)


def _widths(
    columns: Sequence[TextColumn], widest: Sequence[int], room: int | None
) -> tuple[Sequence[int], int] | None:
    """The columns' widths and the gap between them, taken from the widest columns first; None where too narrow."""
    natural = [max(wide, _width(column.name)) for wide, column in zip(widest, columns, strict=True)]
    gaps = len(columns) - 1
    if room is None or sum(natural) + _GAP * gaps <= room:
        return natural, _GAP
    room -= _NARROW_GAP * gaps
    least = [
        min(full, max(_LEAST, wide if column.kind is CellKind.NUMBER else 0))
        for full, wide, column in zip(natural, widest, columns, strict=True)
    ]
    if sum(least) > room:
        return None

    def capped(cap: int) -> list[int]:
        return [max(low, min(full, cap)) for full, low in zip(natural, least, strict=True)]

    # No column can have more than all the room there is.
    cap = next(cap for cap in range(room, -1, -1) if sum(capped(cap)) <= room)
    widths = capped(cap)
    for index, full in enumerate(natural):
        if sum(widths) < room and widths[index] == cap < full:
            widths[index] += 1
    return widths, _NARROW_GAP


def _width(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def _fitted(text: str, width: int, mark: str, kind: CellKind) -> str:
    size = _width(text)
    if size <= width:
        return " " * (width - size) + text if kind is CellKind.NUMBER else text + " " * (width - size)
    if kind is not CellKind.NAME:
        return set_cell_size(text, width - 1) + mark
    end = text[1 - width :]
    while _width(end) >= width:
        end = end[1:]
    return mark + end + " " * (width - 1 - _width(end))
