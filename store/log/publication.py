"""Which checkpoints the gateways on one server share, and which of them makes the next: tables beside the log.

The right to publish is a lease with a fencing token, larger for each new holder. A holder that was paused for
longer than its lease publishes nothing any more, whatever it believes: the server compares the token in the
transaction that names the checkpoint.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import uuid4

import sqlalchemy as sa

from adalog.store.log.tables import CHECKPOINTS, LEASES

_LOGGER: Final = logging.getLogger("adalog.store")
_NAME: Final = "folding"
# A holder that does not renew the lease for so long loses it.
_LEASE_SECONDS: Final = 15
_RENEW_SECONDS: Final = 4.0
_NOW: Final = sa.func.clock_timestamp()
_UNTIL: Final = _NOW + sa.literal_column(f"interval '{_LEASE_SECONDS} seconds'")
_COLUMNS: Final = CHECKPOINTS.c
_NEWEST: Final = sa.select(_COLUMNS.t, _COLUMNS.token).order_by(_COLUMNS.t.desc(), _COLUMNS.token.desc())


class Published(NamedTuple):
    """A checkpoint that gateways share. token: of the lease under which it was made."""

    t: int
    token: int

    @property
    def file(self) -> str:
        """Its name where it is shared."""
        return f"{self.t}-{self.token}.json"


def published(engine: sa.Engine) -> list[Published]:
    """The checkpoints that gateways on the engine's server share, the newest first."""
    with engine.connect() as connection:
        return [Published(t, token) for t, token in connection.execute(_NEWEST)]


class Publication:
    """For one gateway. A thread renews its lease while it has one."""

    def __init__(self, engine: sa.Engine) -> None:
        """engine: of the log's server, each statement its own transaction."""
        self._engine = engine
        self._transactional = engine.execution_options(isolation_level="READ COMMITTED")
        self._holder = uuid4().hex
        self._token: int | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="adalog-lease", daemon=True)
        self._thread.start()

    def lease(self) -> int | None:
        """The token of the lease, which is taken if it is free; None if another gateway has it. Raises
        sqlalchemy.exc.SQLAlchemyError where the server does not answer."""
        from sqlalchemy.dialects import postgresql

        insert = postgresql.insert(LEASES).values(name=_NAME, holder=self._holder, token=1, until=_UNTIL)
        old = LEASES.c
        is_ours = sa.and_(old.holder == self._holder, old.until > _NOW)
        taken = insert.on_conflict_do_update(
            index_elements=[old.name],
            set_={
                "holder": self._holder,
                "until": _UNTIL,
                # Even a holder that comes back is another one than it was.
                "token": old.token + sa.case((is_ours, 0), else_=1),
            },
            where=sa.or_(old.holder == self._holder, old.until <= _NOW),
        ).returning(old.token)
        with self._engine.connect() as connection:
            self._token = connection.execute(taken).scalar()
        return self._token

    def published(self) -> list[Published]:
        """The checkpoints that are shared, the newest first."""
        return published(self._engine)

    def publish(self, published: Published, keep: int) -> bool:
        """Names a checkpoint, all of whose files are where they are shared, and forgets all but the newest `keep`.

        Returns whether the lease still holds; nothing is changed where it does not.
        """
        held = sa.select(LEASES.c.token).where(
            LEASES.c.name == _NAME,
            LEASES.c.holder == self._holder,
            LEASES.c.token == published.token,
            LEASES.c.until > _NOW,
        )
        with self._transactional.begin() as connection:
            if connection.execute(held.with_for_update()).scalar() is None:
                return False
            from sqlalchemy.dialects import postgresql

            fresh = postgresql.insert(CHECKPOINTS).values(t=published.t, token=published.token)
            connection.execute(fresh.on_conflict_do_nothing())
            old = _NEWEST.offset(keep).subquery()
            place = sa.tuple_(_COLUMNS.t, _COLUMNS.token)
            connection.execute(sa.delete(CHECKPOINTS).where(place.in_(sa.select(old.c.t, old.c.token))))
        return True

    def withdraw(self, outdated: Sequence[Published]) -> None:
        """Forgets checkpoints, whose files are to go."""
        if outdated:
            place = sa.tuple_(_COLUMNS.t, _COLUMNS.token)
            with self._transactional.begin() as connection:
                connection.execute(
                    sa.delete(CHECKPOINTS).where(place.in_([(each.t, each.token) for each in outdated]))
                )

    def close(self) -> None:
        """Lets the next one have the lease."""
        self._closed.set()
        self._thread.join()
        if self._token is None:
            return
        own = sa.and_(LEASES.c.name == _NAME, LEASES.c.holder == self._holder)
        try:
            with self._engine.connect() as connection:
                connection.execute(sa.update(LEASES).where(own).values(until=_NOW))
        except sa.exc.SQLAlchemyError as error:
            _LOGGER.warning("the lease on folding ends by itself: %s", error.__cause__ or error)

    def _renew(self) -> None:
        while not self._closed.wait(_RENEW_SECONDS):
            if self._token is not None:
                try:
                    self.lease()
                except sa.exc.SQLAlchemyError as error:
                    _LOGGER.warning("the lease on folding could not be renewed: %s", error.__cause__ or error)
