"""Random queries followed through random transactions by subscribers who come, stall, leave, resume and begin in
the past: what each has been told comes to what the query answers afresh, at every event."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError
from adalog.store.database import Database
from tests.live.following import Reader, hub_over
from tests.property.generated import PAST, SCHEMA, Asked, query, transaction
from tests.property.model import EARLY, examples
from tests.property.test_cache import little
from tests.property.test_maintained import written

STEPS = 14


class Audience:
    """Subscribers to one query."""

    def __init__(self, database: Database, pool: Any, asked: Asked, rng: Random) -> None:
        self.database, self.pool, self.asked, self.rng = database, pool, asked, rng
        self.readers: list[Reader] = []
        self.left: list[Reader] = []

    def _args(self) -> tuple[Any, ...]:
        return tuple(self.database.at(as_of=EARLY) if arg == PAST else read(arg) for arg in self.asked.args)

    def come(self) -> None:
        begin: dict[str, Any] = {}
        before = None
        kind = self.rng.random()
        if kind < 0.3 and self.left:
            before = self.rng.choice(self.left)
            begin = {"resume": before.resume}
        elif kind < 0.5:
            begin = {"from_t": self.rng.randint(0, self.database.snapshot().t)}
        try:
            reader = Reader(self.database, self.pool, self.asked.text, self._args(), **begin)
        except AdalogError:
            return
        if before is not None:
            reader.rows, reader.t, reader.whole = set(before.rows), before.t, before.whole
        self.readers.append(reader)

    def leave(self) -> None:
        if self.readers:
            reader = self.readers.pop(self.rng.randrange(len(self.readers)))
            reader.close()
            if reader.resume is not None:
                self.left.append(reader)

    def read_some(self) -> None:
        for reader in list(self.readers):
            if self.rng.random() < 0.5:
                self._reads(reader, self.database.snapshot().t)

    def read_all(self) -> None:
        for reader in list(self.readers):
            self._reads(reader, self.database.snapshot().t)

    def _reads(self, reader: Reader, t: int) -> None:
        try:
            reader.until(t)
        except AdalogError:
            # The query is refused at some moment: that is its own affair.
            assert self.asked.partial, (self.asked.text, self.asked.args)
            self.readers.remove(reader)
            reader.close()

    def close(self) -> None:
        for reader in self.readers:
            reader.close()


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32))
def test_what_is_told_comes_to_the_answer(seed: int) -> None:
    rng = Random(seed)
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        for _ in range(3):
            _try(database, transaction(rng))
        asked = query(rng)
        small = {"mailbox_events": rng.choice((2, 4)), "replayed": rng.choice((1, 3)), "chunk_rows": 2}
        with hub_over(database, recent_events=rng.choice((1, 4, 64)), **small) as hub:
            audience = Audience(database, hub.pool, asked, rng)
            try:
                for _ in range(STEPS):
                    rng.choice((audience.come, audience.leave, audience.read_some, audience.read_some))()
                    for _ in range(rng.randint(0, 5)):
                        _try(database, little(rng) if rng.random() < 0.5 else written(rng))
                audience.read_all()
            finally:
                audience.close()


def _try(database: Database, text: str) -> None:
    with suppress(AdalogError):
        database.transact(text)
