"""How a value's type and place are laid out in an int64 code; the constants the kernels share with the store.

A long of modest size is its own code. Every other code has a tag in bits 60-63 and a payload in the 60 bits below:
the value itself for booleans and instants, an index into the tag's dictionary for the rest.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

TAG_SHIFT: Final = 60
PAYLOAD_MASK: Final = (1 << TAG_SHIFT) - 1

LONG_BITS: Final = 59
LONG_MIN: Final = -(1 << LONG_BITS)
LONG_MAX: Final = (1 << LONG_BITS) - 1

TAG_STRING: Final = 1
TAG_KEYWORD: Final = 2
TAG_SYMBOL: Final = 3
TAG_DOUBLE: Final = 4
TAG_FLOAT: Final = 5
TAG_BOOLEAN: Final = 6
TAG_INSTANT: Final = 7
TAG_UUID: Final = 8
TAG_LONG: Final = 9
TAG_BIGINT: Final = 10
TAG_BIGDEC: Final = 11
TAG_URI: Final = 12
TAG_BYTES: Final = 13
TAG_OTHER: Final = 14
# Half of the payloads of this tag are small negative longs, and no dictionary is so long.
TAG_DURATION: Final = 15

DICTIONARY_TAGS: Final = (
    *(TAG_STRING, TAG_KEYWORD, TAG_SYMBOL, TAG_DOUBLE, TAG_FLOAT, TAG_UUID),
    *(TAG_LONG, TAG_BIGINT, TAG_BIGDEC, TAG_URI, TAG_BYTES, TAG_OTHER, TAG_DURATION),
)

TYPES: Final = {
    TAG_STRING: "string",
    TAG_KEYWORD: "keyword",
    TAG_SYMBOL: "symbol",
    TAG_DOUBLE: "double",
    TAG_FLOAT: "float",
    TAG_BOOLEAN: "boolean",
    TAG_INSTANT: "instant",
    TAG_UUID: "uuid",
    TAG_LONG: "long",
    TAG_BIGINT: "bigint",
    TAG_BIGDEC: "bigdec",
    TAG_URI: "uri",
    TAG_BYTES: "bytes",
    TAG_DURATION: "duration",
}
"""The type of a tag's values."""

# Payloads from here up belong to one query's Scratch and mean nothing outside it.
SCRATCH_BASE: Final = 1 << 40

INSTANT_BIAS: Final = 1 << 59


def code_of(tag: int, payload: int) -> int:
    """The signed 64-bit code of a tag (1..15) and a payload below 2^60."""
    code = (tag << TAG_SHIFT) | payload
    return code - (1 << 64) if code >= 1 << 63 else code


FALSE: Final = code_of(TAG_BOOLEAN, 0)
TRUE: Final = code_of(TAG_BOOLEAN, 1)
NIL: Final = code_of(TAG_BOOLEAN, 2)


def is_long(code: int) -> bool:
    return -(1 << LONG_BITS) <= code <= LONG_MAX


def tag_of(code: int) -> int:
    """The tag, 0 for a code that is its own long."""
    return 0 if LONG_MIN <= code <= LONG_MAX else (code >> TAG_SHIFT) & 0xF


# Of so few codes Python's least is found sooner than NumPy's.
_SHORT: Final = 48


def one_tag(codes: NDArray[np.int64]) -> int | None:
    """The tag that all codes have; None if there are several tags, or no codes."""
    if not len(codes):
        return None
    # The codes of a tag lie side by side.
    if len(codes) <= _SHORT:
        few = codes.tolist()
        least, greatest = tag_of(min(few)), tag_of(max(few))
    else:
        least, greatest = tag_of(int(codes.min())), tag_of(int(codes.max()))
    return least if least == greatest else None


def tags_of(codes: NDArray[np.int64]) -> NDArray[np.int8]:
    """int8[n]: the tag of each code, 0 where the code is its own long."""
    # Most columns are of one type: two reductions cost a tenth of taking the bits apart.
    one = one_tag(codes)
    if one is not None:
        return np.full(len(codes), one, np.int8)
    half = codes >> LONG_BITS
    tags = (half >> 1) & 0xF
    tags[(half == 0) | (half == -1)] = 0
    return tags.astype(np.int8)
