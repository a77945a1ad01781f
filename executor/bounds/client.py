"""The client of a query, by which fairness between queries goes."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Final

from adalog.executor.bounds.meter import Meter, Tab


@dataclass(frozen=True, slots=True)
class Identity:
    """An authenticated principal, with the roles as its token says them; `admin` is among them for those that the
    door takes for one, and for no other. `expires`: in seconds since 1970. `claims`: all that its token says."""

    name: str
    roles: tuple[str, ...]
    expires: float | None = None
    claims: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Client:
    """`principal`: the name of the authenticated user, or the address. `request`: equal for all that one request
    asks. `meter`: where its costs go, if they are counted; `id`: what its request is called in logs. `identity`:
    None without authentication. `address`: where the request came from."""

    principal: str = ""
    request: int = 0
    meter: Meter | None = field(default=None, compare=False, repr=False)
    id: str = field(default="", compare=False)
    identity: Identity | None = field(default=None, compare=False)
    address: str = field(default="", compare=False)

    @property
    def author(self) -> str | None:
        """The `:db/principal` of its transactions; None without authentication."""
        return None if self.identity is None else self.identity.name

    @property
    def admitted(self) -> Client:
        """The same client for what goes on after its request, whose costs are counted and not refused."""
        return self if self.meter is None else replace(self, meter=Tab(self.meter))


NOBODY: Final = Client()
ASKING: Final[ContextVar[Client]] = ContextVar("asking", default=NOBODY)
"""The client whose request this task or thread answers."""
