"""What a failure holds on to: the frames that it came through, and every column that was at work there."""

from __future__ import annotations

import traceback


def emptied(failure: BaseException) -> None:
    """Drops the variables of the frames that a failure, and those it came of, has left behind; their lines stay. A
    failure may be held for a while, in a future that a frame on its own way out refers to."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [failure]
    while waiting:
        each = waiting.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            traceback.clear_frames(each.__traceback__)
            waiting += [each.__cause__, each.__context__]
