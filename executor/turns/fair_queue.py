"""A fair queue of items that wait for a slot: fair between principals first, then between their requests.

The principal with the fewest slots comes first, then the one that has used the least time. Within one request it is
first come, first served. The owner of a queue holds a lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from adalog.executor.bounds.client import Client

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class _Share(Generic[T]):
    """What one request has: slots at the moment, seconds so far, and items that wait."""

    running: int = 0
    used: float = 0.0
    waiting: deque[T] = field(default_factory=deque)

    @property
    def rank(self) -> tuple[int, float]:
        return self.running, self.used


@dataclass(eq=False, slots=True)
class _Principal(Generic[T]):
    """The same of all requests of one principal. `soon`: those of its items that come before all others."""

    running: int = 0
    used: float = 0.0
    waiting: int = 0
    soon: deque[tuple[T, Client]] = field(default_factory=deque)
    requests: dict[int, _Share[T]] = field(default_factory=dict)

    @property
    def rank(self) -> tuple[int, float]:
        return self.running, self.used


class FairQueue(Generic[T]):
    """One lane's."""

    def __init__(self) -> None:
        self._principals: dict[str, _Principal[T]] = {}
        self._filed: dict[T, list[Client]] = {}

    def __len__(self) -> int:
        return len(self._filed)

    def __iter__(self) -> Iterator[T]:
        return iter(tuple(self._filed))

    def add(self, item: T, client: Client, *, first: bool = False, soon: bool = False) -> None:
        """Lets an item wait for a client; it may wait for several, and is served once. `first`: before the others
        of its request; `soon`: before the others of its principal."""
        clients = self._filed.setdefault(item, [])
        if client in clients:
            return
        clients.append(client)
        principal, share = self._shares(client)
        principal.waiting += 1
        if soon:
            principal.soon.append((item, client))
        if first or soon:
            share.waiting.appendleft(item)
        else:
            share.waiting.append(item)

    def remove(self, item: T) -> None:
        for client in self._filed.pop(item, ()):
            principal, share = self._shares(client)
            principal.waiting -= 1
            share.waiting.remove(item)
            if (item, client) in principal.soon:
                principal.soon.remove((item, client))
            self._forget(client)

    def pick(self) -> tuple[T, Client] | None:
        """The item that is next, and the client that it is next for."""
        if not self._filed:
            return None
        waiting = [(each.rank, name) for name, each in self._principals.items() if each.waiting]
        if not waiting:
            return None
        name = min(waiting)[1]
        if self._principals[name].soon:
            return self._principals[name].soon[0]
        requests = self._principals[name].requests
        number = min((share.rank, number) for number, share in requests.items() if share.waiting)[1]
        return requests[number].waiting[0], Client(name, number)

    def took(self, client: Client) -> None:
        principal, share = self._shares(client)
        principal.running += 1
        share.running += 1

    def gave(self, client: Client, seconds: float) -> None:
        """An item of the client has given up its slot after so many seconds."""
        principal, share = self._shares(client)
        for each in (principal, share):
            each.running -= 1
            each.used += seconds
        self._forget(client)

    def used(self, client: Client, seconds: float) -> None:
        """Counts seconds that a client has used without a slot. One that has nothing here begins like a new one."""
        principal = self._principals.get(client.principal)
        if principal is not None:
            principal.used += seconds

    def lead(self, one: Client, other: Client) -> int:
        """How many places the principal of one client has more than that of another."""
        return self._running(one) - self._running(other)

    def _running(self, client: Client) -> int:
        principal = self._principals.get(client.principal)
        return 0 if principal is None else principal.running

    def ahead_of(self, client: Client) -> int:
        """How many will be served before one more of this client is; none where nothing of its request waits."""
        principal = self._principals.get(client.principal)
        share = None if principal is None else principal.requests.get(client.request)
        if principal is None or share is None:
            return 0
        own = len(share.waiting)
        own += sum(min(len(each.waiting), own) for each in principal.requests.values() if each is not share)
        return own + sum(min(each.waiting, own) for each in self._principals.values() if each is not principal)

    def waiting_by_principal(self) -> dict[str, int]:
        return {name: each.waiting for name, each in self._principals.items() if each.waiting}

    def newest_first(self, principal: str) -> Iterator[T]:
        """What waits for a principal alone, from the last that was added."""
        for item, clients in reversed(tuple(self._filed.items())):
            if all(client.principal == principal for client in clients):
                yield item

    def _shares(self, client: Client) -> tuple[_Principal[T], _Share[T]]:
        principal = self._principals.get(client.principal)
        if principal is None:
            # A new client has no claim on the time before it came.
            used = min((each.used for each in self._principals.values()), default=0.0)
            principal = self._principals[client.principal] = _Principal(used=used)
        share = principal.requests.get(client.request)
        if share is None:
            used = min((each.used for each in principal.requests.values()), default=0.0)
            share = principal.requests[client.request] = _Share(used=used)
        return principal, share

    def _forget(self, client: Client) -> None:
        principal = self._principals[client.principal]
        share = principal.requests[client.request]
        if not share.running and not share.waiting:
            del principal.requests[client.request]
            if not principal.requests:
                del self._principals[client.principal]
