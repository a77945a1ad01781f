"""How a query with rules is shared out: which variable, which values; and the shares together are the answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adalog.datalog.edn import read
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.compile import Compiler
from adalog.executor.evaluation.fixpoint import Fixpoint
from adalog.executor.evaluation.local import run_join
from adalog.executor.question.inputs import bind_inputs
from adalog.executor.question.question import Questions
from adalog.executor.question.request import QueryRequest
from adalog.planner.model.plan import Plan
from adalog.planner.rules.sharing import SHARE
from adalog.store.values.codes import Scratch
from tests.support import World

PATH = "[(p ?a ?b) [?a :to ?b]] [(p ?a ?c) [?a :to ?b] (p ?b ?c)]"


@pytest.fixture
def graph(db: World) -> World:
    db.tx(
        "[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]",
        f"[{' '.join(f'[:db/add {i} :to {i * 7 % 30 + 1}] [:db/add {i} :n {i * 10}]' for i in range(1, 25))}]",
    )
    return db


class Shared:
    """A query planned to be shared out, and run share by share in this process."""

    def __init__(self, world: World, query: str, *args: str) -> None:
        self.snapshot = world.database.snapshot()
        self.args = tuple(read(arg) for arg in args)
        question = Questions().of(QueryRequest(query, self.args), self.snapshot, Cancel())
        self.plan: Plan = Compiler().compile(question, share=True)
        self.values = Scratch(self.snapshot.codes)
        self.inputs = bind_inputs(self.plan, self.args, self.snapshot, self.values)

    @property
    def variable(self) -> str | None:
        return None if self.plan.sharing is None else self.plan.sharing.variable

    def domain(self) -> list[Any]:
        assert self.plan.sharing is not None
        assert self.inputs.start is not None
        fixpoint = Fixpoint(self.plan, self.inputs, self.inputs.start, QueryRun(self.values))
        domain: list[Any] = fixpoint.domain(self.plan.sharing).tolist()
        return domain

    def rows(self, values: list[int]) -> set[tuple[Any, ...]]:
        """What the shares of these values answer, each decoded."""
        relations = {**self.inputs.relations, SHARE: [np.array(values, np.int64)]}
        inputs = type(self.inputs)(self.inputs.start, relations, self.inputs.databases)
        found = run_join(self.plan, inputs, QueryRun(self.values), most=None).rows
        columns = [self.values.decode_many(found.columns[e.var.name]) for e in self.plan.query.find.columns]
        return set(zip(*columns, strict=True))


REVERSED = "[(p ?a ?b) [?a :to ?b]] [(p ?a ?b) (p ?b ?a)]"
NEAR = "[(p ?a (min ?b)) [?a :to ?b]] [(p ?a (min ?c)) [?a :to ?b] (p ?b ?c)]"
LISTED = "[(p ?a ?b) [$e ?a ?b]] [(p ?a ?c) [$e ?a ?b] (p ?b ?c)]"


@pytest.mark.parametrize(
    ("query", "args", "variable"),
    [
        (f"[:find ?a ?b :where (p ?a ?b) :rules [{PATH}]]", (), "?a"),
        (f"[:find ?b ?n :where [?b :n ?n] (p ?a ?b) :rules [{PATH}]]", (), "?b"),
        (f"[:find ?a ?c :where (p ?a ?b) (p ?b ?c) :rules [{PATH}]]", (), "?a"),
        (f"[:find ?a :where [?a :n] (not (p ?a ?b) [?b :n 30]) (p ?a _) :rules [{PATH}]]", (), "?a"),
        (f"[:find ?b :where (p 3 ?b) [?b :n] :rules [{PATH}]]", (), "?b"),
        (f"[:find ?a :in $ ?b :where (p ?a ?b) :rules [{PATH}]]", ("5",), "?a"),
        (f"[:find ?a ?b :in $ [?a ...] :where (p ?a ?b) :rules [{PATH}]]", ("[3 4 77]",), "?a"),
        (f"[:find ?a ?b :in $ $e :where (p ?a ?b) :rules [{LISTED}]]", ("[[1 2] [2 3] [3 3] [9 1]]",), "?a"),
        (f"[:find ?a ?b :where (p ?a ?b) :rules [{NEAR}]]", (), "?a"),
        # Nothing says which values there are, short of evaluating the rules.
        (f"[:find ?b :where (p 3 ?b) :rules [{REVERSED}]]", (), None),
        (
            "[:find ?a :where (p ?a) :rules [[(p ?a) [(ground 1) ?a]] [(p ?a) (p ?b) [(inc ?b) ?a] [(< ?a 9)]]]]",
            (),
            None,
        ),
        (f"[:find ?m :where (q ?m) :rules [[(q (min ?b)) (p 3 ?b)] {PATH}]]", (), None),
        (f"[:find ?n :where [?a :n ?n] (or (p ?a 3) (p 3 ?a)) :rules [{PATH}]]", (), None),
    ],
)
def test_shares_together_are_the_answer(
    graph: World, query: str, args: tuple[str, ...], variable: str | None
) -> None:
    shared = Shared(graph, query, *args)
    expected = set(map(tuple, graph.q(query, *args).rows))
    assert expected
    assert shared.variable == variable
    if variable is None:
        return
    domain = shared.domain()
    assert domain == sorted(set(domain))
    parts = [shared.rows(domain[i::3]) for i in range(3)]
    assert set().union(*parts) == expected
    assert shared.rows([]) == set()


def test_without_rules_nothing_is_shared_out_this_way(graph: World) -> None:
    assert Shared(graph, "[:find ?a ?b :where [?a :to ?b]]").variable is None
