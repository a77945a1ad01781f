"""What explain says of rules: strata, adornments, and what each round found."""

from __future__ import annotations

import pytest

from adalog.executor.question.request import QueryRequest
from adalog.planner.model.plan import Options

PATH = "[[(path ?a ?b) [?a :to ?b]] [(path ?a ?c) (path ?a ?b) [?b :to ?c]] [(unused ?a) [?a :n]]]"


@pytest.fixture
def chain(db):
    db.tx("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx("[[:db/add 1 :to 2] [:db/add 2 :to 3] [:db/add 3 :to 4] [:db/add 5 :to 6]]")
    return db


def explained(db, query, *, analyze=False, **options):
    request = QueryRequest(query, (), db.database.snapshot(), options=Options(**options))
    return db.pool.explain(request, analyze=analyze).text


def test_the_rules_that_are_reached(chain):
    text = explained(chain, f"[:find ?b :where (path 1 ?b) :rules {PATH}]")
    assert "path" in text
    assert "unused" not in text


def test_adornments(chain):
    assert "bf" in explained(chain, f"[:find ?b :where (path 1 ?b) :rules {PATH}]")
    assert "ff" in explained(chain, f"[:find ?a ?b :where (path ?a ?b) :rules {PATH}]")
    text = explained(chain, f"[:find ?b :where (path 1 ?b) :rules {PATH}]", magic=False)
    assert "bf" not in text


def test_strata(chain):
    rules = PATH[:-1] + " [(apart ?a ?b) [?a :to] [?b :to] (not (path ?a ?b))]]"
    text = explained(chain, f"[:find ?a (count ?b) :where (apart ?a ?b) :rules {rules}]")
    assert "stratum" in text.lower()


def test_rounds_under_analyze(chain):
    query = f"[:find ?b :where (path 1 ?b) :rules {PATH}]"
    assert "round" in explained(chain, query, analyze=True).lower()
