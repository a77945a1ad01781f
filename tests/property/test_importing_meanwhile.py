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

from datalog.errors import AdalogError
from store.database import Database, TxReport
from store.hold import Hold
from store.snapshot import Snapshot
from tests.executor import pipeline_in_process
from tests.executor.pipeline_in_process import InProcess, imported
from tests.property.model import examples
from tests.property.test_importing import MAPPING, PEOPLE, PLACES, SCHEMA, Naive, Row, facts, people, places

T = TypeVar("T")
R = TypeVar("R")

names = st.sampled_from(["a", "b", "c", "d"])
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
    def held(self, seconds: float) -> Iterator[Hold]:
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
    plan=st.lists(st.lists(writes, max_size=2), max_size=12),
    rows=st.integers(1, 4),
)
def test_an_import_among_transactions(
    before: list[Row], people: list[Row], places: list[Row], plan: list[list[str]], rows: int
) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        with Database.open(str(folder / "data")) as ours:
            ours.transact(SCHEMA)
            Naive(ours, before, []).load()
            base = ours.snapshot().t
            writers = Writers(ours, plan)

            class Disturbed(InProcess):
                def each(self, stage: str, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
                    made = super().each(stage, work, items)
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
                outcome, rejected = imported(ours, folder, MAPPING, tables, max_errors=100, rows=rows)
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
    finally:
        shutil.rmtree(folder)


def replay(database: Database, before: list[Row], log: list[str]) -> None:
    database.transact(SCHEMA)
    Naive(database, before, []).load()
    for text in log:
        try:
            database.transact(text)
        except AdalogError as error:
            raise AssertionError(f"{text} was accepted there: {error.message}") from None
