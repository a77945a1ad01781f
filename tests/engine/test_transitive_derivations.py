"""Why of rules that are joined with themselves: `[(path ?x ?y) (path ?x ?z) (path ?z ?y)]`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.arguments import GivenArgument
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from tests.derivation_checker import DerivationChecker

SCHEMA = """[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
  {:db/ident :by :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
  {:db/ident :name :db/valueType :db.type/string :db/unique :db.unique/identity}
  {:db/ident :open :db/valueType :db.type/boolean}]"""
PATH = "[(path ?x ?y) [?x :to ?y]] [(path ?x ?y) (path ?x ?z) (path ?z ?y)]"
WAYS = PATH.replace("[?x :to ?y]", "(way ?x ?y)")
ALL = "[:find ?x ?y :where (path ?x ?y)"
NODES = range(1001, 1007)
# A ring with a way out, a way in, and a node that leads to itself.
EDGES = ((1, 2), (2, 3), (3, 1), (3, 4), (5, 1), (6, 6))
Edges = Iterable[tuple[int, int]]


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(":memory:") as opened:
        opened.transact(SCHEMA)
        yield opened


@pytest.fixture
def pool(database: Database) -> Iterator[Pool]:
    opened = Pool(database, PoolSettings(threads=1))
    yield opened
    opened.close()


def link(database: Database, edges: Edges, attribute: str = ":to") -> None:
    database.transact(f"[{' '.join(f'[:db/add {1000 + a} {attribute} {1000 + b}]' for a, b in edges)}]")


def why(pool: Pool, text: str, row: Iterable[Any], *args: Any) -> Any:
    question = pool.question(QueryRequest(text, list(args)))
    return pool.engine.why(question, [GivenArgument(value) for value in row], Cancel())


def check_all(pool: Pool, text: str, *args: Any, **databases: Any) -> int:
    """Every row of the answer has a derivation, and no other pair of nodes. Returns the number of rows."""
    named = {"$": pool.database.snapshot(), **{f"${name}": each for name, each in databases.items()}}
    rows = {tuple(row) for row in pool.run(QueryRequest(text, list(args))).rows()}
    for row in rows:
        checker = DerivationChecker(pool, text, named)
        checker.check(why(pool, text, row, *args))
        assert not checker.cut
    for row in product(NODES, repeat=len(next(iter(rows)))):
        assert row in rows or not why(pool, text, row, *args)["holds"]
    return len(rows)


@pytest.mark.parametrize(
    ("rules", "rows"),
    [
        (PATH, 17),
        ("[(path ?x ?y) (path ?x ?z) (path ?z ?y)] [(path ?a ?b) [?a :to ?b]]", 17),
        (f"{PATH} [(path ?b ?a) [?a :by ?b]] [(path ?a ?b) [?a :to ?p] [?p :by ?b]]", 26),
        (f"{PATH} [(path ?x ?x) [?x :to _]]", 18),
        (f"{PATH} [(path ?u ?v) (path ?u ?w) (path ?w ?v)]", 17),
        ("[(path ?x ?y) [?x :to ?y] (not [?y :to ?x])] [(path ?x ?y) (path ?x ?z) (path ?z ?y)]", 16),
        ("[(path ?x ?y) (or [?x :to ?y] [?x :by ?y])] [(path ?x ?y) (path ?x ?z) (path ?z ?y)]", 26),
        (f"{PATH.replace('[?x :to ?y]', '(edge ?x ?y)')} [(edge ?x ?y) [?x :to ?y]]", 17),
        # Steps that are paths of another rule, joined with itself as well.
        (f"{WAYS} {PATH.replace('path', 'way')}", 17),
        (f"{WAYS} [(way ?x ?y) [?x :to ?y]] [(way ?x ?y) [?x :to ?z] (way ?z ?y)]", 17),
    ],
)  # fmt: skip
def test_every_row_has_a_derivation_by_the_rules_as_they_are_written(
    database: Database, pool: Pool, rules: str, rows: int
) -> None:
    link(database, EDGES)
    link(database, ((4, 6), (2, 5)), ":by")
    assert check_all(pool, f"{ALL} :rules [{rules}]]") == rows


@pytest.mark.parametrize(
    ("where", "rules"),
    [
        ("(above ?x ?y)", "[(above ?x ?y) (path ?x ?y) [?y :to _]]"),
        ("(above ?x ?y)", "[(above ?x ?y) (path ?x ?y)] [(above ?x ?y) [?x :by ?z] (above ?z ?y)]"),
        ("(above ?x ?y)", "[(above ?x ?y) [?x :by ?y]] [(above ?x ?y) (above ?x ?z) (path ?z ?y)]"),
        ("(path ?x 1004) [?y :to ?x]", ""),
        ("(path 1005 ?x) (path ?y 1003)", ""),
        ("(path ?x _) (path _ ?y)", ""),
        ("(path ?x ?x) (path ?x ?y) (not (path ?y ?x))", ""),
        ("(far ?x ?y)", "[(far ?x ?y) [?x :to _] [?y :to _] (not (path ?x ?y))]"),
        ("(hops ?x ?n) (path ?x ?y)", "[(hops ?x (count ?y)) (path ?x ?y)]"),
    ],
)
def test_other_clauses_and_rules_call_it(database: Database, pool: Pool, where: str, rules: str) -> None:
    link(database, EDGES)
    link(database, ((4, 6), (2, 5)), ":by")
    assert check_all(pool, f"[:find ?x ?y :where {where} :rules [{PATH} {rules}]]")


@pytest.mark.parametrize("place", ["?x", "?y"])
def test_one_end_is_asked_for(database: Database, pool: Pool, place: str) -> None:
    link(database, EDGES)
    other = "?y" if place == "?x" else "?x"
    text = f"[:find {other} :in $ {place} :where (path ?x ?y) :rules [{PATH}]]"
    rows = sorted(row[0] for row in pool.run(QueryRequest(text, [1003])).rows())
    assert rows == ([1001, 1002, 1003, 1004] if place == "?x" else [1001, 1002, 1003, 1005])
    for row in rows:
        DerivationChecker(pool, text, {"$": database.snapshot()}).check(why(pool, text, [row], 1003))
    # The other end is any.
    text = f"[:find {place} :where (path ?x ?y) :rules [{PATH}]]"
    assert check_all(pool, text) == 5


def test_another_source_and_the_past(database: Database, pool: Pool) -> None:
    link(database, EDGES)
    early = database.snapshot()
    database.transact("[[:db/retract 1003 :to 1001] [:db/add 1004 :to 1005]]")
    text = f"[:find ?x ?y :in $ $old :where ($old path ?x ?y) (path ?y ?x) :rules [{PATH}]]"
    assert check_all(pool, text, early, old=early)
    text = f"{ALL} :rules [{PATH}]]"
    request = QueryRequest(text, [], database.at(as_of=early.t))
    rows = pool.run(request).rows()
    assert len(rows) == 17
    for row in rows:
        reason = pool.engine.why(pool.question(request), [GivenArgument(value) for value in row], Cancel())
        DerivationChecker(pool, text, {"$": early}).check(reason)


def test_a_list_of_pairs_is_the_source(database: Database, pool: Pool) -> None:
    rules = "[(path ?x ?y) [?x ?y]] [(path ?x ?y) (path ?x ?z) (path ?z ?y)]"
    text = f"[:find ?x ?y :in $ $edges :where ($edges path ?x ?y) :rules [{rules}]]"
    pairs = [[1000 + a, 1000 + b] for a, b in EDGES]
    assert check_all(pool, text, pairs) == 17


@pytest.mark.parametrize("length", [1, 2, 3, 7, 60])
def test_a_way_is_halved(database: Database, pool: Pool, length: int) -> None:
    link(database, [(number, number + 1) for number in range(length)])
    text = f"{ALL} :rules [{PATH}]]"
    reason = why(pool, text, [1000, 1000 + length])
    checker = DerivationChecker(pool, text, {"$": database.snapshot()})
    checker.check(reason)
    assert not checker.cut
    assert depth(reason) == (length - 1).bit_length() + 1
    assert datoms(reason) == [(1000 + number, 1001 + number) for number in range(length)]


def test_the_shortest_way_is_shown(database: Database, pool: Pool) -> None:
    link(database, [*((number, number + 1) for number in range(20)), (3, 17), (2, 9), (9, 17)])
    reason = why(pool, f"{ALL} :rules [{PATH}]]", [1000, 1020])
    assert [end for _, end in datoms(reason)] == [1001, 1002, 1003, 1017, 1018, 1019, 1020]


def test_a_long_way_is_cut_and_goes_on_where_it_is_asked(database: Database, pool: Pool) -> None:
    link(database, [(number, number + 1) for number in range(10_000)])
    text = f"{ALL} :rules [{PATH}]]"
    checker = DerivationChecker(pool, text, {"$": database.snapshot()})
    checker.check(why(pool, text, [1000, 11_000]))
    assert checker.cut
    checker = DerivationChecker(pool, text, {"$": database.snapshot()})
    checker.check(why(pool, text, [6000, 6060]))
    assert not checker.cut


def test_what_does_not_hold_is_said_of_each_rule(database: Database, pool: Pool) -> None:
    link(database, EDGES)
    reason = why(pool, f"{ALL} :rules [{PATH}]]", [1004, 1001])
    assert (reason["holds"], reason["clause"]) == (False, "(path ?x ?y)")
    assert [each["clause"] for each in reason["fails"]] == ["[?x :to ?y]", "(path ?x ?z)"]


def test_too_many_facts_are_refused(database: Database, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    link(database, [(number, number + 1) for number in range(2000)])
    monkeypatch.setattr("adalog.executor.facts.facts.MOST_ROWS", 500)
    with pytest.raises(AdalogError) as refused:
        why(pool, f"{ALL} :rules [{PATH}]]", [1000, 3000])
    assert refused.value.code is Code.LIMIT_EXCEEDED


def calls(reason: Any) -> list[Any]:
    return [each for each in reason["steps"] if "rule" in each]


def depth(reason: Any) -> int:
    return max((1 + depth(each) for each in calls(reason)), default=0)


def datoms(reason: Any) -> list[tuple[int, int]]:
    found = []
    for each in reason["steps"]:
        if "datom" in each:
            found.append((each["datom"]["e"], int(each["datom"]["v"])))
        found += datoms(each) if "steps" in each else []
    return found
