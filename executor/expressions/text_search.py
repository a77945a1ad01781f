"""Which texts of a column include a part: a search of the bytes of all of them at once.

Short texts lie one after the other in memory. One search over their bytes costs less than one per text, where few
texts include the part. The bytes of a part occur in UTF-8 where the part does, and nowhere else.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

# The search holds the interpreter's lock, so it has to be short.
_MOST_BYTES: Final = 1 << 20
_LONGEST_PART: Final = 255
# Each place is found in Python: if more than one text in so many has the part, a search per text is faster.
_RARE: Final = 16


def including(texts: pa.LargeStringArray, part: str) -> pa.Array | None:
    """boolean[n], of texts of which none is null; None where a search per text is faster."""
    wanted = part.encode()
    if not len(texts) or not 0 < len(wanted) <= _LONGEST_PART:
        return None
    _, offset_buffer, heap_buffer = texts.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[texts.offset :][: len(texts) + 1]
    start, end = int(offsets[0]), int(offsets[-1])
    found = np.zeros(len(texts), np.bool_)
    if start == end:
        return pa.array(found)
    if end - start > _MOST_BYTES:
        return None
    heap = heap_buffer[start:end].to_pybytes()
    most = len(texts) // _RARE
    places: list[int] = []
    place = heap.find(wanted)
    while place >= 0:
        if len(places) >= most:
            return None
        places.append(place)
        place = heap.find(wanted, place + 1)
    if places:
        begins = np.array(places) + start
        owners = offsets.searchsorted(begins, side="right") - 1
        # Others begin in one text and end in the next.
        found[owners[begins + len(wanted) <= offsets[owners + 1]]] = True
    return pa.array(found)
