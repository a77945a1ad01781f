"""Random transactions, one after the other: after each, everything that is always true of a database is true.

What a transaction reports is the truth of the model; what `with` said before is compared with what then happened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import identity
from adalog.executor.pool import Pool
from adalog.store.checkpoint import compactor
from adalog.store.database import Database
from adalog.store.files.packing import milliseconds
from adalog.store.snapshot.snapshot import Snapshot, SpeculationStart
from adalog.store.tries import relation
from adalog.store.values import layout
from tests.store.model import Model, check

SCHEMA = """[
 {:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :code :db/valueType :db.type/long :db/unique :db.unique/value}
 {:db/ident :n :db/valueType :db.type/long :db.attr/preds my/small}
 {:db/ident :on :db/valueType :db.type/boolean}
 {:db/ident :tags :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}
 {:db/ident :knows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :part :db/valueType :db.type/ref :db/isComponent true}
 {:db/ident :seen :db/valueType :db.type/long :db/noHistory true}
 {:db/ident :a :db/valueType :db.type/long} {:db/ident :b :db/valueType :db.type/ref}
 {:db/ident :a+b :db/valueType :db.type/tuple :db/tupleAttrs [:a :b] :db/unique :db.unique/identity}
 {:db/ident :my/small :db/fn "[:find ?v . :in $ ?v :where [(< ?v 8)]]"}
 {:db/ident :my/move :db/fn "[:find ?op ?to ?a ?v :in $ ?from ?to :where [?from :tags ?v] [(ground :tags) ?a]
                              [(ground :db/add) ?op]]"}
 {:db/ident :my/spec :db.entity/attrs [:n]}]"""
SINGLE, UNIQUE = (":email", ":code", ":n", ":on", ":part", ":seen", ":a", ":b", ":a+b"), (":email", ":code", ":a+b")

T = TypeVar("T")

NUMBER = st.integers(0, 3)
KNOWN = st.integers(1, 6).map(str)
# Mostly what can be; lookup refs often name nobody.
ENTITY = KNOWN | KNOWN | KNOWN | st.sampled_from(['"t"', '"u"', "-1", '[:email "0@x"]', "[:a+b [1 2]]"])


def forms() -> st.SearchStrategy[str]:
    def of(pattern: str, *parts: st.SearchStrategy[object]) -> st.SearchStrategy[str]:
        return st.tuples(*parts).map(lambda given: pattern.format(*given))

    return st.one_of(
        of('[:db/add {} :email "{}@x"]', ENTITY, NUMBER),
        of("[:db/add {} :code {}]", ENTITY, NUMBER),
        of("[:db/add {} :n {}]", ENTITY, st.integers(5, 8)),
        of("[:db/add {} :tags :{}]", ENTITY, st.sampled_from("abc")),
        of("[:db/add {} :knows {}]", ENTITY, ENTITY),
        of("[:db/add {} :part {}]", ENTITY, KNOWN),
        of("[:db/add {} :seen {}]", KNOWN, NUMBER),
        of("[:db/add {} :a {}]", ENTITY, NUMBER),
        of("[:db/add {} :b {}]", ENTITY, KNOWN),
        of("[:db/add {} :free/{} {}]", KNOWN, NUMBER, NUMBER),
        of(
            '{{:db/id {} :a {} :b {} :tags [:a :b] :knows [{} {{:email "{}@y"}}]}}',
            ENTITY,
            NUMBER,
            KNOWN,
            KNOWN,
            NUMBER,
        ),
        of('{{:email "{}@x" :code {} :_knows {}}}', NUMBER, NUMBER, KNOWN),
        of("{{:db/id {} :n {} :db/ensure :my/spec}}", ENTITY, NUMBER),
        of("[:db/retract {} :tags :a]", KNOWN),
        of("[:db/retract {} :{}]", KNOWN, st.sampled_from(["code", "tags", "a", "b", "seen"])),
        of("[:db/retract {} :knows {}]", KNOWN, KNOWN),
        of("[:db/retractEntity {}]", KNOWN),
        of("[:db/cas {} :code {} {}]", KNOWN, NUMBER | st.just("nil"), NUMBER | st.just("nil")),
        of("[:db.fn/inc {} :n {}]", ENTITY, NUMBER),
        of("[:db.fn/toggle {} :on]", ENTITY),
        of("[:db.fn/default {} :code {}]", ENTITY, NUMBER),
        of("[:my/move {} {}]", KNOWN, KNOWN),
    )


def attempted(act: Callable[[], T]) -> T | AdalogError:
    """What it gives, or how it was refused."""
    try:
        return act()
    except AdalogError as error:
        return error


class Transactions(RuleBasedStateMachine):
    """A database, the model of its log, and snapshots held since."""

    def __init__(self) -> None:
        super().__init__()
        self.database = Database.open(":memory:")
        self.pool = Pool(self.database)
        self.model = Model(forgetful=frozenset({":seen"}))
        self.held: list[tuple[Snapshot, Model]] = []

    def teardown(self) -> None:
        self.pool.close()
        self.database.close()

    @initialize()
    def declare(self) -> None:
        self.model.told(self.database.transact(SCHEMA))

    @rule(written=st.lists(forms(), min_size=1, max_size=3))
    def transact(self, written: list[str]) -> None:
        text, before = f"[{' '.join(written)}]", self.database.snapshot()
        free = before.origin.free.current
        ids = free.start, before.origin.next_ident, free.stop - 1
        report = attempted(lambda: self.database.transact(text))
        if isinstance(report, AdalogError):
            assert report.code not in (Code.INTERNAL, Code.TIMEOUT), report
            assert self.database.snapshot() is before
            assert str(attempted(lambda: self.database.speculate(before, text))) == str(report)
            return
        self.model.told(report)
        start = SpeculationStart(milliseconds(report.tx_instant), *ids)
        speculative, same_report = self.database.speculate(before, text, start)
        assert same_report == report
        check(speculative, self.model)

    @rule(written=forms())
    def speculate(self, written: str) -> None:
        basis = self.database.snapshot()
        outcome = attempted(lambda: self.database.speculate(basis, f"[{written}]"))
        if not isinstance(outcome, AdalogError):
            model = self.model.copy()
            model.told(outcome[1])
            self.held.append((outcome[0], model))

    @rule()
    def hold(self) -> None:
        self.held.append((self.database.snapshot(), self.model.copy()))

    @rule()
    def fold(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compactor, "_LEAST", 1)
            patch.setattr(relation, "_LEAST", 1)
            patch.setattr(compactor, "_SHARE", 0.0)
            self.database.compact()

    @precondition(lambda self: self.held)
    @rule()
    def look_again(self) -> None:
        for snapshot, model in self.held[-2:]:
            check(snapshot, model)

    @rule()
    def count(self) -> None:
        """Now and then, so that some transactions, and perhaps a fold, lie in between."""
        assert self.database.entity_count(self.database.snapshot()) == self.database.snapshot().entity_count

    @rule(dice=st.integers(0, 1000))
    def look_back(self, dice: int) -> None:
        past = self.database.at(t=dice % (self.model.t + 1))
        check(past, self.model)
        check(past.history(), self.model)
        check(past.since(dice % (past.t + 1)), self.model)

    @invariant()
    def the_tries_hold_what_was_told(self) -> None:
        if self.model.t:
            check(self.database.snapshot(), self.model)

    @invariant()
    def values_are_as_the_schema_says(self) -> None:
        facts = self.model.held(self.model.t)
        values: dict[tuple[int, str], list[object]] = {}
        owners: dict[tuple[str, object], list[int]] = {}
        for e, attribute, value in facts:
            values.setdefault((e, attribute), []).append(value)
            owners.setdefault((attribute, value), []).append(e)
        assert all(len(found) == 1 for (_, attribute), found in values.items() if attribute in SINGLE)
        assert all(len(found) == 1 for (attribute, _), found in owners.items() if attribute in UNIQUE)
        components = {e for e, attribute in values if attribute in (":a", ":b")}
        assert {e for e, attribute in values if attribute == ":a+b"} == components
        for e in components:
            codes = (self._code(e, name) for name in (":a", ":b"))
            assert values[e, ":a+b"] == [identity(tuple(codes))]

    def _code(self, e: int, name: str) -> int | None:
        snapshot = self.database.snapshot()
        attribute = next(each for each in snapshot.attributes() if str(each.ident) == name)
        row = snapshot.ev(attribute).row(e)
        assert len(row) == 0 or layout.is_long(int(row[0]))
        return int(row[0]) if len(row) else None


TestTransactions = Transactions.TestCase
TestTransactions.settings = settings(max_examples=20, stateful_step_count=25)
