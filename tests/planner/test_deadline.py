"""A plan of many rules may take longer than the query is given: the planner looks at the deadline, too."""

from __future__ import annotations

import inspect
import time
from collections import Counter
from dataclasses import replace

import pytest

from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError
from adalog.datalog.watched import watching
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.cache.canonical_form import form_of
from adalog.executor.evaluation.compile import Compiler
from adalog.executor.pool import Pool
from adalog.executor.question.question import Questions
from adalog.executor.question.request import QueryRequest
from tests.support import World

# Each rule calls the next one twice: the bodies are long, and magic sets plan a part of them for each call.
DOUBLING = " ".join(f"[(r{i} ?a ?c) (r{i + 1} ?a ?b) (r{i + 1} ?b ?c)]" for i in range(30))


@pytest.mark.parametrize(
    "query",
    [
        "[:find ?a ?c :where [?a :to ?b] [?b :to ?c]]",
        f"[:find ?c :where (r0 1 ?c) :rules [{DOUBLING} [(r30 ?a ?b) [?a :to ?b]]]]",
        "[:find ?n :where [(q [:find (count ?a) . :where [?a :to ?b] [?b :to ?c]] $) ?n]]",
    ],
)
def test_a_cancelled_query_is_not_planned(db: World, query: str) -> None:
    db.tx("[{:db/id 1 :to 2} {:db/id 2 :to 1}]")
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(AdalogError) as caught:
        Compiler().compile(Questions().of(QueryRequest(query), db.database.snapshot(), Cancel()), cancel=cancel)
    assert str(caught.value.code) == "CANCELLED"


def test_a_query_of_too_many_rules_ends_at_its_timeout(db: World) -> None:
    db.tx("[{:db/id 1 :to 2} {:db/id 2 :to 1}]")
    query = f"[:find ?c :where (r0 1 ?c) :timeout 50 :rules [{DOUBLING} [(r30 ?a ?b) [?a :to ?b]]]]"
    db.refuses("TIMEOUT", query)


class Counting(Cancel):
    """A flag that counts who looks at it, by the function that does."""

    def __init__(self) -> None:
        super().__init__()
        self.looks: Counter[str] = Counter()

    def check(self) -> None:
        frame = inspect.currentframe()
        assert frame is not None
        caller = frame.f_back
        assert caller is not None
        # What is looked after by its thread looks by way of a function.
        if caller.f_code.co_name == "look" and caller.f_back is not None:
            caller = caller.f_back
        self.looks[caller.f_code.co_name] += 1


def test_reading_a_text_is_in_the_time_that_the_query_has(db: World) -> None:
    cancel = Cancel(time.monotonic() + 10)
    request = QueryRequest("[:find ?a :where [?a :to] :timeout 60000]", timeout_ms=60_000)
    assert Questions().of(request, db.database.snapshot(), cancel).deadline == cancel.deadline
    began = time.monotonic()
    sooner = Questions().of(replace(request, timeout_ms=20), db.database.snapshot(), Cancel()).deadline
    assert sooner is not None
    assert began + 0.02 <= sooner <= time.monotonic() + 0.02


RULES = 40
LONG = " ".join(f"[(r{i} ?a) (r{i + 1} ?a)] [(r{i} ?a) [?a :to {i}]]" for i in range(RULES))
CHAIN = f"[:find ?a :where (r0 ?a) :rules [{LONG} [(r{RULES} ?a) [?a :to _]]]]"


def test_reading_a_text_and_planning_it_look_at_the_deadline(db: World) -> None:
    db.tx("[{:db/id 1 :to 2} {:db/id 2 :to 1}]")
    reading, planning = Counting(), Counting()
    question = Questions().of(QueryRequest(CHAIN), db.database.snapshot(), reading)
    Compiler().compile(question, cancel=planning)
    naming = Counting()
    with watching(naming.check):
        form_of(question.query)
    assert naming.looks["clause"] >= RULES
    assert reading.looks["clause"] >= RULES
    # Most of the rules stand in the place of their calls.
    for name, least in (("clause", RULES), ("_requiring", 1), ("_conjunction", RULES // 2)):
        assert planning.looks[name] >= least, name


def test_reading_many_forms_looks_at_the_deadline() -> None:
    reading = Counting()
    with watching(reading.check):
        read("[" + "1 " * 10_000 + "]")
    assert reading.looks.total() >= 2


def test_an_or_of_many_branches_looks_at_the_deadline_for_each(db: World) -> None:
    db.tx("[{:db/id 1 :to 2} {:db/id 2 :to 1}]")
    branches = " ".join(f"(and [?a :to ?b] [(not= ?b {i + 10}) ?t] [(= ?t true)])" for i in range(RULES))
    cancel = Counting()
    Pool(db.database).run(QueryRequest(f"[:find ?a :where (or-join [?a] {branches})]"), cancel)
    assert cancel.looks["_step"] >= RULES


def test_what_is_suspicious_is_looked_for_until_the_deadline(db: World) -> None:
    db.tx("[{:db/id 1 :to 2} {:db/id 2 :to 1}]")
    clauses = " ".join(f"[?a{i} :nobody/declared{i} ?b{i}]" for i in range(50))
    question = db.pool.question(QueryRequest(f"[:find ?a0 :where {clauses}]"))
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(AdalogError) as caught:
        db.pool.diagnostics(question, cancel)
    assert str(caught.value.code) == "CANCELLED"
    assert db.pool.diagnostics(question)
