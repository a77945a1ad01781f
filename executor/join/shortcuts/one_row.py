"""Taken where ranges of a single prefix are intersected: each is a plain slice of a column.

Saves preparing a kernel's arguments, which would cost more than the work.
"""

from __future__ import annotations

from adalog.executor.join.batch import Column
from adalog.executor.join.ranges import Ranges


def intersect_one(ranges: list[Ranges]) -> Column:
    """The values in all the ranges of the only prefix."""
    rows = []
    for each in sorted(ranges, key=lambda each: int(each.hi[0] - each.lo[0])):
        column = each.over if each.src[0] else each.base
        rows.append(column[int(each.lo[0]) : int(each.hi[0])])
    value, *others = rows
    for other in others:
        if not len(value):
            break
        value = common(value, other)
    return value


def common(few: Column, many: Column) -> Column:
    """The values of a sorted row that another one has, too. The first is not empty, the other no shorter."""
    place = many.searchsorted(few)
    if place[-1] == len(many):
        place[place == len(many)] = 0
    shared: Column = few[many[place] == few]
    return shared
