"""An import among random transactions is one of them: the log's order says what each found, the import too."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from unittest import mock

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.errors import AdalogError
from adalog.store.backup.check import check_data
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.datom import TxReport
from adalog.store.writer.exclusive import ExclusiveWriter
from tests.pipeline import pipeline_in_process
from tests.pipeline.pipeline_in_process import InProcess, imported
from tests.property.model import examples
from tests.property.test_importing import MAPPING, PEOPLE, PLACES, SCHEMA, Naive, Row, facts, people, places

T = TypeVar("T")
R = TypeVar("R")

OTHER = "[{:db/ident :other/thing :db/valueType :db.type/string}]"

names = st.sampled_from(["a", "b", "c", "d"])
# Of nobody and nothing that rows tell of.
apart = st.one_of(
    st.builds('[{{:p/id "new {0}" :p/mail "new {0}" :p/near {{:q/id {0}}}}}]'.format, st.integers(10, 99)),
    st.builds('[{{:other/thing "{}"}}]'.format, st.integers(0, 99)),
    st.builds('[{{:other/thing "{}"}}]'.format, st.sampled_from("mno")),
)
writes = st.one_of(
    st.builds('[{{:p/id "{}"}}]'.format, names),
    st.builds('[{{:p/id "{}" :p/age {}}}]'.format, names, st.integers(1, 3)),
    st.builds('[{{:p/id "{}" :p/mail "{}"}}]'.format, names, st.sampled_from(["m", "n", "o"])),
    st.builds('[{{:p/id "{}" :p/tag [:{} :new{}]}}]'.format, names, st.sampled_from("xy"), st.integers(1, 2)),
    st.builds('[{{:p/id "{}" :p/near {{:q/id {}}}}}]'.format, names, st.integers(1, 3)),
    st.builds('[[:db/retractEntity [:p/id "{}"]]]'.format, names),
    st.builds('[[:db/retract [:p/id "{0}"] :p/id "{0}"]]'.format, names),
    st.builds('[{{:other/thing "{}"}}]'.format, names),
)


class Writers:
    """Transactions that are made between the steps of an import; during a hold they are only asked for."""

    def __init__(self, database: Database, plan: Sequence[Sequence[str]]) -> None:
        self.made: list[tuple[str, Future[TxReport]]] = []
        self._database = database
        self._plan = iter(plan)
        self._is_held = False
        self._hold = database.held

    @contextmanager
    def held(self, seconds: float) -> Iterator[ExclusiveWriter]:
        with self._hold(seconds) as hold:
            self._is_held = True
            yield hold
        self._is_held = False

    def step(self) -> None:
        for text in next(self._plan, ()):
            self.made.append((text, self._database.submit(text)))
            if not self._is_held:
                self.made[-1][1].exception()

    def log(self) -> list[tuple[int, str]]:
        """(number, text) of those that were not refused, in order."""
        return sorted((made.result().t, text) for text, made in self.made if made.exception() is None)


class At:
    """A moment of a database, as those who look at databases want it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def snapshot(self) -> Snapshot:
        return self._snapshot


@settings(max_examples=examples(40))
@given(
    before=people,
    people=people,
    places=places,
    plan=st.one_of(
        st.lists(st.lists(writes, max_size=2), max_size=12),
        st.lists(st.lists(apart, min_size=1, max_size=2), min_size=8, max_size=8),
    ),
    rows=st.integers(1, 4),
    leeway=st.sampled_from([0, 1, 50]),
)
def test_an_import_among_transactions(
    before: list[Row], people: list[Row], places: list[Row], plan: list[list[str]], rows: int, leeway: int
) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        with Database.open(str(folder / "data")) as ours:
            ours.transact(SCHEMA)
            ours.transact(OTHER)
            Naive(ours, before, []).load()
            base = ours.snapshot().t
            writers = Writers(ours, plan)

            class Disturbed(InProcess):
                def each(
                    self,
                    stage: str,
                    work: Callable[[T], R],
                    items: Sequence[T],
                    rows: Callable[[], int] = lambda: 0,
                ) -> list[R]:
                    made = super().each(stage, work, items, rows)
                    writers.step()
                    return made

            tables = {
                "people": pa.Table.from_pylist(people, PEOPLE),
                "places": pa.Table.from_pylist(places, PLACES),
            }
            with (
                mock.patch.object(pipeline_in_process, "InProcess", Disturbed),
                mock.patch.object(ours, "held", writers.held),
            ):
                outcome, rejected = imported(
                    ours, folder, MAPPING, tables, max_errors=100, rows=rows, leeway=leeway
                )
            log = writers.log()
            numbers = [t for t, _ in log]
            assert len(set(numbers)) == len(numbers)
            wrote = outcome.datoms > 0
            assert wrote == (ours.snapshot().t - base > len(log))
            with Database.open(":memory:") as theirs:
                replay(theirs, before, [text for t, text in log if not wrote or t < outcome.t])
                if wrote:
                    assert outcome.t not in numbers
                    assert facts(At(ours.at(t=outcome.t - 1))) == facts(theirs)  # type: ignore[arg-type]
                    naive = Naive(theirs, people, places)
                    naive.load()
                    assert {(source, row) for source, row, _ in rejected} == naive.lost
                    assert facts(At(ours.at(t=outcome.t))) == facts(theirs)  # type: ignore[arg-type]
                    for _, text in ((t, text) for t, text in log if t > outcome.t):
                        theirs.transact(text)
                told = facts(theirs)
                assert facts(ours) == told
        with Database.open(str(folder / "data")) as again:
            assert facts(again) == told
        # What was adopted is what the log says.
        assert not check_data(str(folder / "data"), deep=True).findings
    finally:
        shutil.rmtree(folder)


def replay(database: Database, before: list[Row], log: list[str]) -> None:
    database.transact(SCHEMA)
    database.transact(OTHER)
    Naive(database, before, []).load()
    for text in log:
        try:
            database.transact(text)
        except AdalogError as error:
            raise AssertionError(f"{text} was accepted there: {error.message}") from None
