"""The surface of a database as it is now: made anew on a thread of its own when declarations change."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

import numpy as np
from graphql import GraphQLSchema

from adalog.datalog.values import Keyword
from adalog.schema.typed.changes import SchemaChanges
from adalog.schema.typed.declarations import of_own_attribute, own_attributes
from adalog.schema.typed.surface import Surface, SurfaceFactory
from adalog.store.database import Database
from adalog.store.files.gc_pause import uncollected
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import bootstrap
from adalog.store.values.datom import TxReport

_LOGGER: Final = logging.getLogger("adalog.schema")


class Surfaces:
    """The surfaces of one database, one at a time. base: the schema of what all databases have."""

    def __init__(self, base: GraphQLSchema, database: Database) -> None:
        self._database = database
        self._factory = SurfaceFactory(base, strict=database.schema == "strict")
        self._builder = ThreadPoolExecutor(1, "adalog-schema")
        self._lock = threading.Lock()
        self._queued: Future[Surface] | None = None
        self.changes = SchemaChanges()
        # What the newest surface was found in. A schema is another object after each change of it.
        self._seen = database.snapshot()
        self.newest = self._factory.surface(self._seen)
        for ident in own_attributes(self._seen):
            _LOGGER.warning("%s", of_own_attribute(ident).message)
        database.add_listener(self._committed)

    def close(self) -> None:
        self._database.remove_listener(self._committed)
        self._builder.shutdown(wait=True, cancel_futures=True)

    @property
    def is_stale(self) -> bool:
        """Whether there may be a newer surface. Costs next to nothing."""
        return self._database.snapshot().schema is not self._seen.schema

    def caught_up(self) -> Future[Surface]:
        """The surface of what is committed now. Thread-safe."""
        with self._lock:
            if self._queued is None:
                self._queued = self._builder.submit(self._follow)
            return self._queued

    async def current(self) -> Surface:
        """The newest surface, awaited if it is being made."""
        return await asyncio.wrap_future(self.caught_up()) if self.is_stale else self.newest

    def _committed(self, _: TxReport, snapshot: Snapshot) -> None:
        if snapshot.schema is not self._seen.schema:
            self.caught_up()

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
        self._seen = snapshot
        if self.newest is not before:
            self.changes.changed(self.newest.t)
        return self.newest

    def _differs(self, snapshot: Snapshot) -> bool:
        """Whether anything changed that surfaces are made of. Costs what changed."""
        seen = self._seen
        if snapshot.schema is seen.schema:
            return False
        if snapshot.schema.key != seen.schema.key:
            return True
        declaring = bootstrap.DECLARING_GRAPHQL
        if any(snapshot.data_of(each).last_touched(snapshot.t) > seen.t for each in declaring):
            return True
        documented = snapshot.data_of(bootstrap.DOC).changes(seen.t, snapshot.t).e
        if np.isin(documented, snapshot.columns_of(bootstrap.GRAPHQL_NAMESPACE).e).any():
            return True
        named = snapshot.data_of(bootstrap.IDENT).changes(seen.t, snapshot.t).v
        idents: list[Keyword] = snapshot.codes.decode_many(named)
        enums = set(snapshot.codes.decode_many(snapshot.columns_of(bootstrap.GRAPHQL_ENUM).v))
        return any(Keyword(each.namespace or "") in enums for each in idents)
