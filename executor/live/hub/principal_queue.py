"""What waits, each principal's in order, and one of each principal in turn."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")


class PrincipalQueue(Generic[T]):
    """Not thread-safe."""

    def __init__(self) -> None:
        # By principal, who is next first.
        self._waiting: OrderedDict[str, deque[T]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, principal: str, item: T, *, first: bool = False) -> None:
        """`first`: before all others of the same principal."""
        own = self._waiting.setdefault(principal, deque())
        if first:
            own.appendleft(item)
        else:
            own.append(item)

    def next(self) -> T:
        """Takes the first item of the principal who is next, and lets the others go before its other ones."""
        principal, own = next(iter(self._waiting.items()))
        item = own.popleft()
        if own:
            self._waiting.move_to_end(principal)
        else:
            del self._waiting[principal]
        return item
