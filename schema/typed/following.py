"""The surfaces of a database as it is now: the one of all that is declared, and those of what viewers may see of
that. Made anew when declarations change, on a thread of its own or on that of who asks."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

import numpy as np
from graphql import GraphQLSchema

from adalog.datalog.values import Keyword
from adalog.executor.bounds.cancel import Cancel, StartAgain
from adalog.executor.permissions.grants import Viewer
from adalog.executor.permissions.guards import Guard, Permissions
from adalog.schema.request.background import elsewhere
from adalog.schema.typed.changes import SchemaChanges
from adalog.schema.typed.declarations import of_own_attribute, own_attributes
from adalog.schema.typed.model import Model
from adalog.schema.typed.surface import Surface, SurfaceFactory
from adalog.store.database import Database
from adalog.store.files.gc_pause import uncollected
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import bootstrap
from adalog.store.values.datom import TxReport
from adalog.store.values.schema import Schema

_LOGGER: Final = logging.getLogger("adalog.schema")
# The surfaces of parts of the schema that are kept.
_MOST_GUARDED: Final = 32
# Seconds that a request waits for what other processes wrote. It takes milliseconds, unless the log is away.
_PATIENCE: Final = 5.0


class Surfaces:
    """The surfaces of one database. base: the schema of what all databases have. permissions: None where there are
    none. newest: the surface of all that is declared."""

    def __init__(self, base: GraphQLSchema, database: Database, permissions: Permissions | None = None) -> None:
        self._database = database
        self._permissions = permissions
        # By what policies name, with the schema in which they were found, the one asked for longest ago first.
        self._guarded: OrderedDict[frozenset[Keyword], tuple[Schema, Surface]] = OrderedDict()
        self._making = threading.Lock()
        self._factory = SurfaceFactory(base, strict=database.schema == "strict")
        self._builder = ThreadPoolExecutor(1, "adalog-schema")
        self._lock = threading.Lock()
        self._queued: Future[Surface] | None = None
        self.changes = SchemaChanges()
        snapshot = database.snapshot()
        self.newest = self._factory.surface(snapshot)
        # Of the snapshot that the newest surface was found in, which is not held: folds and excisions replace data.
        # A schema is another object after each change of it.
        self._seen_schema, self._seen_t = snapshot.schema, snapshot.t
        for ident in own_attributes(snapshot):
            _LOGGER.warning("%s", of_own_attribute(ident).message)
        database.add_listener(self._committed)

    def close(self) -> None:
        self._database.remove_listener(self._committed)
        self._builder.shutdown(wait=True, cancel_futures=True)

    @property
    def is_stale(self) -> bool:
        """Whether there may be a newer surface. Costs next to nothing."""
        return self._database.snapshot().schema is not self._seen_schema

    def caught_up(self) -> Future[Surface]:
        """The surface of what is committed now. Thread-safe."""
        with self._lock:
            if self._queued is None:
                self._queued = self._builder.submit(self._follow)
            return self._queued

    async def current(self) -> Surface:
        """The newest surface, awaited if it is being made: of all that was answered, by other processes, too."""
        await self._looked()
        return await self._made()

    async def _looked(self) -> None:
        looked = self._database.looked()
        if looked is not None:
            await asyncio.wait((asyncio.wrap_future(looked),), timeout=_PATIENCE)

    async def _made(self) -> Surface:
        # Others wait for the same future: one that gives up does not cancel it.
        return await asyncio.shield(asyncio.wrap_future(self.caught_up())) if self.is_stale else self.newest

    # What viewers see

    def present(self) -> set[Surface]:
        """All surfaces that are in use."""
        with self._making:
            return {self.newest, *(surface for _, surface in self._guarded.values())}

    def known_to(self, viewer: Viewer | None) -> Surface | None:
        """The surface of what a viewer may see, where it takes no time: of those that see everything the newest,
        which is awaited by `current`. Else None."""
        guard = self._guard(viewer)
        if guard is None:
            return self.newest
        schema, surface = self._guarded.get(_names(guard), (None, None))
        return surface if schema is guard.now.schema else None

    def seen_by(self, viewer: Viewer | None) -> Surface:
        """The same whatever it takes."""
        guard = self._guard(viewer)
        if guard is None:
            return self.newest
        names = _names(guard)
        with self._making:
            schema, known = self._guarded.pop(names, (None, None))
            if known is None or schema is not guard.now.schema:
                with uncollected():
                    known = self._factory.surface(guard.view(guard.now), known)
            self._guarded[names] = guard.now.schema, known
            while len(self._guarded) > _MOST_GUARDED:
                self._guarded.popitem(last=False)
            return known

    async def current_for(self, viewer: Viewer | None) -> Surface:
        """The same for an event loop, as of now."""
        await self._looked()
        if self._guard(viewer) is None:
            return await self._made()
        known = self.known_to(viewer)
        return await elsewhere(lambda _: self.seen_by(viewer)) if known is None else known

    def model_for(self, viewer: Viewer | None, cancel: Cancel) -> Model:
        """The model of what a viewer sees now, for a form of live events."""
        known = self.known_to(viewer)
        if known is None and cancel.is_brief:
            raise StartAgain
        return (known or self.seen_by(viewer)).model

    def _guard(self, viewer: Viewer | None) -> Guard | None:
        return None if self._permissions is None else self._permissions.guard(viewer, self._database.snapshot())

    def _committed(self, report: TxReport, snapshot: Snapshot) -> None:
        if snapshot.schema is not self._seen_schema:
            self.caught_up()
        elif self.changes.has_viewers and any(
            snapshot.data_of(each).last_touched(snapshot.t) >= report.t for each in bootstrap.POLICY_ATTRIBUTES
        ):
            self._builder.submit(self._tell_viewers)

    def _tell_viewers(self) -> None:
        try:
            self.changes.tell_viewers()
        except Exception:
            _LOGGER.exception("viewers could not be told of their schemas")

    def _follow(self) -> Surface:
        with self._lock:
            # From now on, what is asked for is newer than the snapshot below.
            self._queued = None
        snapshot, before = self._database.snapshot(), self.newest
        if self._differs(snapshot):
            try:
                with uncollected():
                    self.newest = self._factory.surface(snapshot, before)
            except Exception:
                _LOGGER.exception("no surface could be made at t = %d; the one before stays", snapshot.t)
        self._seen_schema, self._seen_t = snapshot.schema, snapshot.t
        if self.newest is not before:
            self.changes.changed(self.newest.t)
        if self.changes.has_viewers:
            self._builder.submit(self._tell_viewers)
        return self.newest

    def _differs(self, snapshot: Snapshot) -> bool:
        """Whether anything changed that surfaces are made of. Costs what changed."""
        seen_t = self._seen_t
        if snapshot.schema is self._seen_schema:
            return False
        if snapshot.schema.key != self._seen_schema.key:
            return True
        declaring = bootstrap.DECLARING_GRAPHQL
        if any(snapshot.data_of(each).last_touched(snapshot.t) > seen_t for each in declaring):
            return True
        documented = snapshot.data_of(bootstrap.DOC).changes(seen_t, snapshot.t).e
        if np.isin(documented, snapshot.columns_of(bootstrap.GRAPHQL_NAMESPACE).e).any():
            return True
        named = snapshot.data_of(bootstrap.IDENT).changes(seen_t, snapshot.t).v
        idents: list[Keyword] = snapshot.codes.decode_many(named)
        enums = set(snapshot.codes.decode_many(snapshot.columns_of(bootstrap.GRAPHQL_ENUM).v))
        return any(Keyword(each.namespace or "") in enums for each in idents)


def _names(guard: Guard) -> frozenset[Keyword]:
    """What the policies for reading name: equal for viewers to whom the same attributes are visible."""
    return frozenset(name for each in guard.reading if not each.required for name in each.on)
