"""Whoever reads one log has the same codes, ids and counters, whatever else it resolved or was asked."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datalog.errors import AdalogError, Code
from executor.pool import Pool
from executor.question.request import Request
from store.database import Database
from tests.property.model import examples
from tests.shared.logs import caught_up, file_opening, state, together
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
                    asked.run(Request(f'[:find ?e :where [?e :text/a "only asked {rng.random()}"]]'))
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
