"""The type of a column of codes."""

from __future__ import annotations

from typing import Final

import numpy as np

from adalog.executor.join.batch import Column as Codes
from adalog.store.values import layout
from adalog.store.values.layout import NIL, TAG_BOOLEAN, one_tag, tag_of, tags_of

_TYPES: Final = {0: "long", **layout.TYPES}


def type_of(codes: Codes) -> str:
    """The one type of all values; `any` if there are several, nil or no values."""
    if not len(codes):
        return "any"
    tag = tag_of(int(codes[0])) if len(codes) == 1 else one_tag(codes)
    if tag == TAG_BOOLEAN and (codes == NIL).any():
        return "any"
    if tag is None:
        return "long" if np.isin(tags_of(codes), (0, layout.TAG_LONG)).all() else "any"
    return _TYPES.get(tag, "any")
