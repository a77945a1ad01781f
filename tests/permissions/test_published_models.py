"""The models of relations that OpenFGA and SpiceDB test themselves with, as policies: their checks and their
lists.

Not among the cases is what those servers refuse as a request, what they leave undecided for want of a value,
lists of users, and facts that expire. NOT_ASKED has the relations that cannot be policies: rules that depend on
what they exclude are refused when they are written, also where no fact leads around the circle, and some
conditions are no comparisons.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import groupby

import numpy as np
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.executor.permissions.claims import flattened
from adalog.executor.permissions.grants import Viewer
from adalog.executor.permissions.guards import Guard
from adalog.executor.permissions.policies import READ
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from tests.permissions.published.cases import Case, Expected, Model, Name, cases
from tests.permissions.published.translated import (
    Untranslatable,
    asked_attribute,
    claims,
    declarations,
    facts,
    policy,
)

_CYCLE = "it depends on what it excludes"
NOT_ASKED = {
    "openfga.txt": {
        "list_objects_expands_wildcard_tuple 2: folder.can_read": _CYCLE,
        "true_butnot_cycle_return_false: document.viewer": _CYCLE,
        "false_butnot_cycle_return_false: document.viewer": _CYCLE,
        "nested_indirect_relation_with_condition: document.viewer": "user_ip.in_cidr(cidr)",
    },
    "openfga_matrices.txt": {},
    "spicedb.txt": {
        # What holds of every parent, of whose parents it holds of every one.
        "multibranchcaveatwithintersectionarrows: document.read": _CYCLE,
        "caveatindirectarrow: resource.can_view": "me in admin_teams",
        "caveatip: document.view": "user_ip.in_cidr(cidr)",
        "quay: repo.view": "!user_ip.in_cidr(cidr)",
    },
}
# Of the matrices, whose cases are much alike, every twelfth one is asked unless all are wanted.
_PART = 1 if "ADALOG_PERMISSIONS" in os.environ else 12


class Relations:
    """The cases of one model in a database. `refused`: the relations without a policy, and why."""

    def __init__(self, model: Model, own: list[Case]) -> None:
        self.model = model
        self.cases = own
        self.asked = sorted({each.relation for case in own for each in case.expected})
        self.refused: dict[Name, str] = {}

    @contextmanager
    def opened(self) -> Iterator[None]:
        given = {name: value for case in self.cases for fact in case.facts for name, value in flattened(fact.given)}
        with Database.open(":memory:") as database, closing(Pool(database)) as self.pool:
            database.transact(declarations(self.model, self.asked, given))
            self.write(database, self.asked)
            for number, case in enumerate(self.cases):
                database.transact(facts(case, f"{number} "))
            self.now = database.snapshot()
            yield

    def write(self, database: Database, relations: Sequence[Name]) -> None:
        """Policies for the relations, but for those that are refused."""
        try:
            database.transact(f"[{' '.join(policy(self.model, each) for each in relations)}]")
        except Untranslatable as error:
            why = str(error)
        except AdalogError as error:
            if error.code is not Code.UNSTRATIFIABLE:
                raise
            why = _CYCLE
        else:
            return
        if len(relations) == 1:
            self.refused[relations[0]] = why
            return
        for half in (relations[: len(relations) // 2], relations[len(relations) // 2 :]):
            self.write(database, half)

    def listed(self, number: int, expected: Expected) -> frozenset[str]:
        """The objects to which the identity has the relation, by a query; checks say the same."""
        guard = self.pool.permissions.guard(Viewer(frozenset(), claims(expected, f"{number} ")), self.now)
        assert guard is not None
        a = asked_attribute(expected.relation)
        request = QueryRequest(f"[:find [?n ...] :where [_ {a} ?n]]", snapshot=guard.view(self.now))
        found = {row[0] for row in self.pool.run(request).rows()}
        assert found == self.checked(guard, a)
        return frozenset(each.removeprefix(f"{number} ") for each in found if each.startswith(f"{number} "))

    def checked(self, guard: Guard, a: str) -> set[str]:
        attribute = self.now.attribute(Keyword(a[1:]))
        assert attribute is not None
        every = self.now.columns_of(attribute.id)
        allowed = guard.allows(READ, attribute, every.e, every.v, self.now)
        return set(self.now.codes.decode_many(every.v[np.flatnonzero(allowed)]))


def groups(file: str, part: int) -> Iterator[Relations]:
    for _, own in groupby(cases(file), key=lambda case: id(case.model)):
        chosen = list(own)[::part]
        yield Relations(chosen[0].model, chosen)


@pytest.mark.parametrize(
    ("file", "part"), [("openfga.txt", 1), ("openfga_matrices.txt", _PART), ("spicedb.txt", 1)]
)
def test_checks_and_lists_are_those_published(file: str, part: int) -> None:
    wrong, not_asked = [], {}
    for relations in groups(file, part):
        with relations.opened():
            for number, case in enumerate(relations.cases):
                asked = [each for each in case.expected if each.relation not in relations.refused]
                not_asked |= {f"{case.name}: {a}.{b}": why for (a, b), why in relations.refused.items()}
                for key, own in groupby(sorted(asked, key=identity), key=identity):
                    every = list(own)
                    found = relations.listed(number, every[0])
                    wrong += [(case.name, key, each, sorted(found)) for each in every if not each.is_met_by(found)]
    assert not wrong
    assert not_asked == NOT_ASKED[file]


def identity(expected: Expected) -> tuple[Name, str, str]:
    return expected.relation, expected.subject, expected.told
