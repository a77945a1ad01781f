"""Whoever reads one log has the same codes, ids and counters, whatever else it resolved or was asked."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from tests.pipeline.pipeline_in_process import imported
from tests.property.model import examples
from tests.property.test_importing import MAPPING, PEOPLE, PLACES, names
from tests.property.test_importing import SCHEMA as IMPORTED
from tests.several.log.logs import caught_up, file_opening, state, together
from tests.store.test_stateful import SCHEMA, forms

PLAIN = '[:db/add {} :text/{} "s{}"]'


def some_text() -> st.SearchStrategy[str]:
    """Strings, of which some are only named to be compared or retracted, in orders of their own."""
    number = st.integers(0, 9)
    return st.one_of(
        st.builds('[:db/add {} :text/a "s{}"]'.format, number, number),
        st.builds('[:db/retract {} :text/a "s{}"]'.format, number, number),
        st.builds('[:db/cas {} :text/a "s{}" "s{}"]'.format, number, number, number),
        st.builds('{{:db/id {} :text/b ["s{}" "s{}" "s{}"] :text/a "s{}"}}'.format, *[number] * 5),
    )


@settings(max_examples=examples(30))
@given(
    written=st.lists(
        st.tuples(st.integers(0, 2), st.lists(forms() | some_text(), min_size=1, max_size=4)), max_size=25
    ),
    seed=st.integers(0, 9),
)
def test_three_on_one_log(
    tmp_path_factory: pytest.TempPathFactory, written: list[tuple[int, list[str]]], seed: int
) -> None:
    rng = Random(seed)
    with together(file_opening(tmp_path_factory.mktemp("log") / "data")) as databases:
        pools = [Pool(database) for database in databases]
        try:
            databases[0].transact(SCHEMA)
            databases[0].transact("[{:db/ident :text/b :db/cardinality :db.cardinality/many}]")
            for place, each in written:
                attempted(databases[place], f"[{' '.join(each)}]")
                if rng.random() < 0.3:
                    asked = rng.choice(pools)
                    asked.run(QueryRequest(f'[:find ?e :where [?e :text/a "only asked {rng.random()}"]]'))
                if rng.random() < 0.2:
                    many = " ".join(
                        PLAIN.format(rng.randrange(9), rng.choice("cd"), rng.randrange(99)) for _ in range(300)
                    )
                    attempted(databases[rng.randrange(3)], f"[{many}]")
            caught_up(databases)
            first = state(databases[0])
            assert all(state(database) == first for database in databases)
        finally:
            for pool in pools:
                pool.close()


def attempted(database: Database, text: str) -> None:
    try:
        database.transact(text)
    except AdalogError as error:
        if error.code in (Code.INTERNAL, Code.TIMEOUT, Code.BACKEND_UNAVAILABLE):
            raise


row = st.fixed_dictionaries({"id": names, "mail": names, "tags": st.sampled_from(["x", "x,y", "y,new"])})


@settings(max_examples=examples(20))
@given(held=st.lists(row, max_size=2), people=st.lists(row, max_size=5), later=st.lists(names, max_size=2))
def test_an_import_by_one_of_them(
    tmp_path_factory: pytest.TempPathFactory,
    held: list[dict[str, str]],
    people: list[dict[str, str]],
    later: list[str],
) -> None:
    folder = tmp_path_factory.mktemp("log")
    with together(file_opening(folder / "data")) as databases:
        databases[0].transact(IMPORTED)
        for number, each in enumerate(held):
            attempted(databases[number], f'[{{:p/id "{each["mail"]}" :p/mail "{each["id"]}"}}]')
        caught_up(databases)
        tables = {
            "people": pa.Table.from_pylist(people, PEOPLE),
            "places": pa.Table.from_pylist([{"id": 1, "age": "1"}], PLACES),
        }
        imported(databases[1], folder, MAPPING, tables, max_errors=100)
        for number, name in enumerate(later):
            attempted(databases[number], f'[{{:p/id "{name}" :p/mail "later{number}"}} [:db/add "new" :p/age 1]]')
        caught_up(databases)
        first = state(databases[0])
        assert all(state(database) == first for database in databases)
    with Database.open(str(folder / "data")) as again:
        assert state(again)[2:] == first[2:]
