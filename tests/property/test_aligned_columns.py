"""Aligned columns, calls after the join and tables of decimals against the oracle, over few rows: random databases
of lines with attributes that most of them have, in every kind of view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.errors import AdalogError
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from tests.property.generated import PAST, Asked
from tests.property.model import SWITCHES, Log, check, examples, opened
from tests.property.test_maintained import Following
from tests.short_columns import read_as_long

SCHEMA = """[{:db/ident :p :db/valueType :db.type/bigdec} {:db/ident :q :db/valueType :db.type/bigdec}
             {:db/ident :n :db/valueType :db.type/long} {:db/ident :x :db/valueType :db.type/double}
             {:db/ident :g :db/valueType :db.type/string} {:db/ident :to :db/valueType :db.type/ref}
             {:db/ident :u :db/valueType :db.type/long :db/unique :db.unique/identity}
             {:db/ident :ps :db/valueType :db.type/bigdec :db/cardinality :db.cardinality/many}
             {:db/ident :tos :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""
DECIMALS = ("1M", "2.5M", "-0.25M", "3M", "0M", "12.50M", "100000000000000000M", "0.000000001M", "1E+30M")
VALUES = {
    ":p": DECIMALS,
    ":q": DECIMALS[:6],
    ":n": ("0", "1", "2", "3", "3000000000"),
    ":x": ("0.5", "2.0", "-1.25"),
    ":g": ('"a"', '"b"', '"c"'),
    ":ps": DECIMALS[:6],
}
# Sums of doubles that are exact: in whatever order they are made.
PAIRS = (
    (":p", ":q"),
    (":q", ":p"),
    (":p", ":p"),
    (":p", ":n"),
    (":q", ":n"),
    (":q", ":x"),
    (":x", ":n"),
    (":ps", ":q"),
)
RULES = (
    ('(good ?l)', '[?l :g "a"]'),
    ("(good ?l)", "[?l :n ?few]", "[(< ?few 2)]"),
    ("(near ?l ?m)", "[?l :to ?m]"),
    ("(near ?l ?m)", "[?l :to ?k]", "(near ?k ?m)"),
)  # fmt: skip
ALL = ("column", "late", "table")
SEEDS = st.integers(0, 2**48)


@pytest.fixture(scope="module")
def taken() -> Iterator[Counter[str]]:
    with read_as_long() as paths:
        yield paths


class Lines:
    """Random transactions over lines that follow each other, and queries of them."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.lines = range(9000, 9000 + rng.randint(2, 9), rng.choice((1, 1, 1, 2)))
        self.missing = rng.choice((0, 0, 0.1, 0.4))

    def first(self) -> str:
        """Most attributes of all lines."""
        forms = []
        for line in self.lines:
            for name in (*VALUES, ":to", ":tos", ":ps", ":u"):
                if self.rng.random() < self.missing:
                    continue
                forms.append(self._datom(line, name))
        return f"[{' '.join(dict.fromkeys(forms))}]"

    def change(self) -> str:
        """Values that are replaced or retracted, and lines that go or come."""
        kind = self.rng.random()
        line = self.rng.choice(self.lines)
        if kind < 0.2:
            return f"[[:db/retractEntity {line}]]"
        if kind < 0.5:
            return f"[[:db/retract {line} {self.rng.choice((*VALUES, ':to', ':tos'))}]]"
        if kind < 0.6:
            return self.first()
        name = self.rng.choice((*VALUES, ":to", ":tos"))
        return f"[{self._datom(line, name)} {self._datom(9100, ':p')}]"

    def _datom(self, line: int, name: str) -> str:
        if name in VALUES:
            value = self.rng.choice(VALUES[name])
        else:
            value = str(line - 8000 if name == ":u" else self.rng.choice(self.lines))
        return f"[:db/add {line} {name} {value}]"

    def query(self, rng: Random, *, several: bool = True) -> Asked:
        """Rows or aggregates over several attributes of a line, of one it refers to, and of numbers computed from
        them. A call stands after what else there is, so that only rows that the answer needs have its errors."""
        values, clauses, rules = ["?p", "?q"], [], []
        names = rng.choice(PAIRS)
        place = rng.choice(("?l", "?l", "?m"))
        clauses += [f"[?l {names[0]} ?p]", f"[{place} {names[1]} ?q]"]
        if place == "?m" or rng.random() < 0.3:
            clauses.append(rng.choice(("[?l :to ?m]", "[?l :to ?m]", "[?l :tos ?m]", "(near ?l ?m)")))
        bound = "?l"
        group = rng.random() < 0.5
        if group:
            clauses.append(f"[?l {rng.choice((':g', ':n', ':u'))} ?g]")
        clauses += rng.sample(self._conditions(several=several), rng.choice((0, 0, 1, 1, 2)))
        rng.shuffle(clauses)
        if any("(near" in each or "(good" in each for each in clauses):
            rules = list(RULES)
        calls = rng.choice(
            (
                [],
                ["[(* ?p ?q) ?y]"],
                ["[(* ?p ?q) ?y]"],
                ["[(* ?p (- 1 ?q)) ?y]"],
                ["[(+ ?p ?p) ?y]"],
                ["[(- 3 ?q) ?y]"],
                ["[(* ?p ?q) ?y]", "[(+ ?p 1) ?z]"],
                ["[(* ?p ?q) ?y]", "[(+ ?y 1) ?z]"],
                ["[(/ ?p ?q) ?y]"],
                ["[(* ?p ?q nil) ?y]"],
            )
        )
        last = "?z" if len(calls) > 1 else "?y" if calls else "?p"
        aggregates = rng.sample(
            ("(sum ?y)", "(avg ?y)", f"(sum {last})", "(count ?l)", "(max ?p)", "(count ?y)"), rng.randint(1, 3)
        )
        find = " ".join([*(("?g",) if group else ()), *aggregates]).replace("?y", "?y" if calls else "?q")
        with_ = rng.choice((f" :with {bound}", f" :with {bound}", "", f" :with {bound} ?q"))
        if rng.random() < 0.2:
            find, with_ = " ".join(["?l", *values, *(("?y",) if calls else ())]), ""
        old = any("$old" in each for each in clauses)
        head = f"[:find {find}{with_} :in ${' $old' if old else ''}"
        return Asked(head, (*clauses, *calls), "", (PAST,) if old else (), partial=False, rules=tuple(rules))

    def _conditions(self, *, several: bool) -> list[str]:
        conditions = [
            '(not [?l :g "b"])',
            "(not-join [?l] [?l :to ?o] [?o :n 0])",
            '(or [?l :g "a"] [?l :g "c"])',
            "(or [?l :n 1] [?l :to ?l])",
            "(or-join [?l] [?l :n 2] (and [?l :to ?o] [?o :g ?s] [?l :g ?s]))",
            "[?l :n ?few] [(< ?few 3)]",
            '[?l :g ?text] [(not= ?text "a")]',
            "(good ?l)",
            "[?back :to ?l]",
            "[?l :to ?l]",
        ]
        return [*conditions, "[$old ?l :p ?p]", "[$old ?l :g ?then]"] if several else conditions


@contextmanager
def opened_lines(rng: Random) -> Iterator[tuple[Database, Pool, Lines, Log]]:
    """A database of lines after some transactions, folded at times."""
    lines = Lines(rng)
    texts = (SCHEMA, lines.first(), *(lines.change() for _ in range(rng.choice((0, 0, 1, 3)))))
    with opened(rng, texts, 0.5) as (database, pool, log):
        if rng.random() < 0.6:
            database.compact()
        yield database, pool, lines, log


@settings(max_examples=examples(60))
@given(SEEDS)
def test_queries_of_the_present(taken: Counter[str], seed: int) -> None:
    rng = Random(seed)
    with opened_lines(rng) as (database, pool, lines, log):
        facts = log.facts()
        for _ in range(8):
            check(pool, database.snapshot(), facts, lines.query(rng), rng.sample(SWITCHES, 3))


@settings(max_examples=examples(40))
@given(SEEDS)
def test_queries_of_other_views(taken: Counter[str], seed: int) -> None:
    """As of, since, and the history; and what a transaction would make of the database."""
    rng = Random(seed)
    with opened_lines(rng) as (database, pool, lines, log):
        for _ in range(3):
            as_of = rng.randint(1, database.snapshot().t)
            since = rng.choice((0, 0, as_of // 2))
            history = rng.random() < 0.4
            snapshot = database.at(as_of=as_of, since=since or None, history=history)
            facts = log.facts(as_of=as_of, since=since, history=history)
            for _ in range(3):
                check(pool, snapshot, facts, lines.query(rng), SWITCHES[:2])
        tried, report = database.speculate(database.snapshot(), lines.change())
        then = Log([*log.datoms, *report.datoms])
        for _ in range(3):
            check(pool, tried, then.facts(), lines.query(rng), SWITCHES[:2])


@settings(max_examples=examples(20))
@given(SEEDS)
def test_live_views(taken: Counter[str], seed: int) -> None:
    """What a view adds and takes away is the difference of the answers, which are the oracle's."""
    rng = Random(seed)
    with opened_lines(rng) as (database, pool, lines, log):
        views = []
        for _ in range(5):
            with suppress(AdalogError):
                views.append(Following(database, pool, lines.query(rng, several=False), rng))
                views[-1].add()
        for _ in range(5):
            log.datoms.extend(database.transact(lines.change()).datoms)
            if rng.random() < 0.3:
                database.compact()
            for each in views:
                each.step(database.snapshot())
        for each in views:
            check(pool, database.snapshot(), log.facts(), each.asked, SWITCHES[:1])


def test_each_path_was_taken(taken: Counter[str]) -> None:
    """A few queries of a folded database take all of them."""
    with TemporaryDirectory() as folder, Database.open(folder) as database:
        database.transact(SCHEMA)
        lines = " ".join(f"{{:db/id {9000 + i} :p {i}.5M :q {i}M}}" for i in range(5))
        database.transact(f"[{lines}]")
        database.compact()
        pool, before = Pool(database), Counter(taken)
        query = "[:find (sum ?y) . :with ?l :where [?l :p ?p] [?l :q ?q] [(* ?p ?q) ?y]]"
        assert pool.run(QueryRequest(query, (), database.snapshot())).rows() == [(Decimal(35),)]
        pool.close()
    assert all(taken[path] > before[path] for path in ALL), (taken, before)
