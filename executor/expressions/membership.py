"""`in` and `not-in` over a column of codes: the codes of the members of a collection, looked for among them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from adalog.datalog.values import NUMERIC, EdnSet, type_name
from adalog.executor.join.batch import Column
from adalog.store.values.codes import Scratch
from adalog.store.values.layout import (
    FALSE,
    NIL,
    TAG_BIGDEC,
    TAG_BIGINT,
    TAG_DOUBLE,
    TAG_FLOAT,
    TAG_LONG,
    TRUE,
    one_tag,
)

NAMES: Final = frozenset({"in", "not-in"})
_NUMBERS: Final = frozenset({TAG_DOUBLE, TAG_FLOAT, TAG_LONG, TAG_BIGINT, TAG_BIGDEC})


def among(name: str, codes: Column, collection: int, values: Scratch) -> Column | None:
    """int64[n]: the codes of the results for values of one type, and nil; None where it is left to the built-in.
    `collection`: the code of one for all rows."""
    whole = values.decode(collection)
    if not isinstance(whole, tuple | EdnSet):
        return None
    there = codes != NIL
    tag = one_tag(codes[there])
    if tag is None:
        return None if there.any() else np.full(len(codes), FALSE, np.int64)
    members = _of_tag(whole, tag, values)
    if members is None:
        return None
    return np.where((np.isin(codes, members) == (name == "in")) & there, TRUE, FALSE)


def _of_tag(collection: Iterable[Any], tag: int, values: Scratch) -> list[int] | None:
    """The codes of a tag whose values are `==` to one of a collection; None of numbers that may be fractions."""
    found = []
    for member in collection:
        if type_name(member) not in NUMERIC:
            code = values.lookup(member)
            if code is not None:
                found.append(code)
        elif tag == 0:
            if math.isfinite(member) and member == int(member):
                found.append(int(member))
        elif tag in _NUMBERS:
            return None
    return found
