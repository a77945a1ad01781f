"""What a resolver finds in `info.context`: the database, the pool, the limits, and the client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from adalog.datalog.diagnostics import Diagnostic
from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.client import ASKING
from adalog.executor.permissions.guards import ADMIN
from adalog.executor.permissions.viewers import viewer_asking
from adalog.schema.request.attachment import Attachment
from adalog.schema.request.budget import ResponseBudget, Responses
from adalog.schema.request.cursor import Cursors
from adalog.schema.request.limits import RequestLimits
from adalog.schema.request.visible_database import VisibleDatabase

if TYPE_CHECKING:
    from graphql.pyutils import Path

    from adalog.executor.answer.result import Result
    from adalog.executor.live.hub.hub import Hub
    from adalog.executor.live.subscribers.resume import ResumeTokens
    from adalog.executor.permissions.grants import Viewer
    from adalog.executor.pool import Pool
    from adalog.executor.pull.written import ValueTexts
    from adalog.executor.turns.running_queries import RunningQuery
    from adalog.schema.request.budget import JsonChunks
    from adalog.store.database import Database
    from adalog.store.snapshot.snapshot import Snapshot


_READING: Final = 16


class QueryList(Protocol):
    """`executor.turns.running_queries.RunningQueries`, or that of several processes."""

    def all(self) -> list[RunningQuery]: ...

    def cancel(self, name: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Services:
    """What lives as long as the process."""

    database: Database
    pool: Pool
    limits: RequestLimits
    cursors: Cursors
    responses: Responses | None = None
    hub: Hub | None = None
    # Of all workers, where there are several.
    running: QueryList | None = None
    # `schema.writing.code_texts.NewestTexts.texts`; None: nothing is written from codes.
    newest_texts: Callable[[], ValueTexts] | None = None
    tokens: ResumeTokens = field(init=False)
    # Of subscriptions that take long to read, so many at once: the others wait for what they may have in common.
    reading: asyncio.Semaphore = field(init=False, default_factory=lambda: asyncio.Semaphore(_READING))

    @property
    def texts(self) -> ValueTexts | None:
        """Of the newest codes; others after an excision, so that one piece of work asks for them once."""
        return None if self.newest_texts is None else self.newest_texts()

    @property
    def queries(self) -> QueryList:
        """The queries that wait or run on this server."""
        return self.running or self.pool.turns.queries

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", self.cursors.tokens(self.database))


def check_asks_for(viewer: Viewer | None) -> None:
    """Raises FORBIDDEN if the client may not ask for another. None: it asks for itself."""
    if viewer is not None:
        check_admin("`as` asks for others")


def check_admin(reason: str) -> None:
    """Raises FORBIDDEN unless the client is an admin. reason: what for."""
    own = viewer_asking()
    if own is not None and ADMIN not in own.roles:
        raise AdalogError(Code.FORBIDDEN, f"{reason}, which needs the role admin")


@dataclass(slots=True)
class CacheLookups:
    """The lookups of one request in the cache: the number of queries, the number of values (rows, and each pull),
    and whether one was missing."""

    queries: int = 0
    values: int = 0
    missed: bool = False

    def add(self, result: Result) -> None:
        """Adds the lookups for a query's answer."""
        self.queries += 1
        self.values += 1 + len(result.pulled)
        self.missed |= result.cache != "HIT"


@dataclass(slots=True)
class Context:
    """One request: the services, the newest transaction that its client has seen (`min_basis_t`), how many rows
    its queries gave (for the metrics), what its response may still come to, and the warnings of fields that
    cannot carry them, by their paths. visible: the database as its client sees it. reads: its typed fields, with
    what is selected of each. lookups: of its queries in the cache. holds_for: the snapshot that is read, if the
    cache has the answer, and any request like this one gets the same on it."""

    services: Services
    min_basis_t: int | None = None
    rows: int = 0
    warnings: dict[tuple[str | int, ...], Sequence[Diagnostic]] = field(default_factory=dict)
    budget: ResponseBudget = field(init=False)
    visible: VisibleDatabase = field(init=False)
    reads: list[tuple[Any, asyncio.Future[tuple[JsonChunks, Sequence[Diagnostic]]]]] = field(default_factory=list)
    # None where the client takes nothing but JSON.
    attachment: Attachment | None = None
    lookups: CacheLookups = field(default_factory=CacheLookups)
    holds_for: Snapshot | None = None

    _present: Snapshot | None = None

    # Strawberry hands the context to field extensions by these names when it is not a dict.
    request: Any = None
    response: Any = None

    def __post_init__(self) -> None:
        limits, responses = self.services.limits, self.services.responses
        self.budget = ResponseBudget(limits.result_bytes, responses, ASKING.get().principal)
        self.visible = self._seen_by(viewer_asking())

    def _seen_by(self, viewer: Viewer | None, *, for_another: bool = False) -> VisibleDatabase:
        return VisibleDatabase(self.services.database, self.services.pool.permissions, viewer, for_another)

    def visible_to(self, viewer: Viewer | None) -> VisibleDatabase:
        """The database as another viewer sees it, for whom the client asks; None: as the client does. Raises
        FORBIDDEN unless the client is an admin."""
        if viewer is None:
            return self.visible
        check_asks_for(viewer)
        return self._seen_by(viewer, for_another=True)

    def present(self, visible: VisibleDatabase) -> Snapshot:
        """What `database` and all typed fields without a basis read: the newest, when the first of them asks."""
        if self._present is None:
            self._present = self.services.database.snapshot()
        return visible.see(self._present)

    def warn(self, path: Path, diagnostics: Sequence[Diagnostic]) -> None:
        """Has the response say what is suspicious about a field."""
        if diagnostics:
            self.warnings[tuple(path.as_list())] = diagnostics
