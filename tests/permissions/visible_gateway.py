"""Two gateways for one identity: one that guards the database, and one whose database has the visible datoms alone,
which an admin asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

import httpx

from adalog.datalog.values import Keyword, identity
from adalog.executor.pool import Pool
from adalog.gateway.settings.config import Settings
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import bootstrap
from adalog.store.values.attribute import TX_BASE
from adalog.store.values.datom import Datom, TxReport
from tests.gateway.identity.signed_tokens import settings_for, token
from tests.gateway.support import Gateway
from tests.permissions.visible_database import VisibleDatabase

_OF_TRANSACTIONS: Final = (Keyword("db/txInstant"), Keyword("db/principal"))


class VisibleAlone:
    """`Database` of what one identity sees; everything else is the database's own."""

    def __init__(self, database: Database, visible: VisibleDatabase) -> None:
        self._database = database
        self._visible = visible
        self._made: dict[int, tuple[Snapshot, Snapshot]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def _of(self, view: Snapshot) -> Snapshot:
        if id(view) not in self._made:
            self._made[id(view)] = view, self._visible.at(view)
        return self._made[id(view)][1]

    def snapshot(self) -> Snapshot:
        return self._of(self._visible.now)

    def at(self, **moment: Any) -> Snapshot:
        found = self._database.at(**moment)
        is_newest = found.is_plain and found.t == self._visible.now.t
        return self.snapshot() if is_newest else self._of(found)

    def entity_count(self, snapshot: Snapshot) -> int:
        return snapshot.entity_count

    def transactions(
        self, start: int, stop: int, limit: int, take: Callable[[int], None] = lambda _: None
    ) -> Iterator[TxReport]:
        """Those of which something is visible, by the visible history."""
        past = self._of(self._visible.now.history())
        shown = {(d.t, d.e, d.a, identity(d.v), d.added) for d in past.datoms("EAVT")}

        def is_shown(datom: Datom) -> bool:
            # What was built in later is in the transaction that needed it first, and not a part of it.
            if datom.e in bootstrap.LATER:
                return False
            if self._visible.is_forgotten(datom.a):
                return self._visible.is_granted_now(datom)
            return (datom.t, datom.e, datom.a, identity(datom.v), datom.added) in shown

        def visible() -> Iterator[TxReport]:
            for report in self._database.transactions(start, stop, max(stop - start, 0), take):
                kept = [each for each in report.datoms if is_shown(each)]
                if not any(each.a not in _OF_TRANSACTIONS for each in kept):
                    continue
                own = TX_BASE + report.t
                kept = [
                    each for each in report.datoms if is_shown(each) or (each.e == own and past.attribute(each.a))
                ]
                seen = {each.e for each in kept}
                named = {name: e for name, e in report.tempids.items() if e in seen}
                yield replace(report, datoms=kept, tempids=named)

        return islice(visible(), limit)


@dataclass(frozen=True)
class Client:
    """Requests of one identity to one gateway."""

    gateway: Gateway
    headers: Mapping[str, str]

    def post(self, document: str, **variables: Any) -> httpx.Response:
        return self.gateway.post(document, self.headers, **variables)

    def answer(self, document: str, **variables: Any) -> Any:
        return self.post(document, **variables).json()

    def schema(self) -> str:
        return self.gateway.http.get("/graphql/schema", headers=dict(self.headers)).text


@contextmanager
def opened(database: Database, pool: Pool, settings: Settings) -> Iterator[Gateway]:
    made = Gateway(database, pool, settings)
    try:
        with made.app.state.hub:
            yield made
    finally:
        made.app.state.surfaces.close()
        made.http.close()


def headers_of(roles: tuple[str, ...], claims: Mapping[str, Any], door: str = "read") -> dict[str, str]:
    """Those of a signed token. `door`: the role that is checked at the door."""
    given = {"sub": "nobody", **claims, "roles": [door, *roles]}
    return {"authorization": f"Bearer {token(**given)}"}


@contextmanager
def both(folder: Path, database: Database, pool: Pool, visible: VisibleDatabase) -> Iterator[tuple[Client, Client]]:
    """(the guarded one, the other)"""
    with ExitStack() as stack:
        guarded = stack.enter_context(opened(database, pool, settings_for(folder)))
        alone: Any = VisibleAlone(database, visible)
        other = Pool(alone)
        stack.callback(other.close)
        free = stack.enter_context(opened(alone, other, Settings(data=":memory:")))
        yield Client(guarded, headers_of(tuple(visible.roles), visible.claims)), Client(free, {})
