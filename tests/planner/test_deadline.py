"""A plan of many rules may take longer than the query is given: the planner looks at the deadline, too."""

from __future__ import annotations

import pytest

from datalog.errors import AdalogError
from executor.bounds.cancel import Cancel
from executor.evaluation.compile import Compiler
from executor.question.question import Questions
from executor.question.request import Request
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
        Compiler().compile(Questions().of(Request(query), db.database.snapshot(), Cancel()), cancel=cancel)
    assert str(caught.value.code) == "CANCELLED"


def test_a_query_of_too_many_rules_ends_at_its_timeout(db: World) -> None:
    db.tx("[{:db/id 1 :to 2} {:db/id 2 :to 1}]")
    query = f"[:find ?c :where (r0 1 ?c) :timeout 50 :rules [{DOUBLING} [(r30 ?a ?b) [?a :to ?b]]]]"
    db.refuses("TIMEOUT", query)
