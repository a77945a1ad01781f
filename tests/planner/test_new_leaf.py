"""The passes take a kind of leaf that they have never seen by what it declares, and never as holding anyway."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from adalog.planner.delta.bodies import looks_elsewhere
from adalog.planner.delta.monotone import not_monotone
from adalog.planner.delta.refusals import refusal_of_body
from adalog.planner.delta.versions import moving_database
from adalog.planner.model.leaf import Change, LeafNode, names_of, new_name, shown
from adalog.planner.model.logical import AndNode, PredicateAtom, RelationAtom, describe, rewritten, variables
from adalog.planner.model.program import Branch, RuleRelation, Stratum
from adalog.planner.order.ordering import can_bind, order_variables
from adalog.planner.order.projection import blank_singletons
from adalog.planner.order.statistics import Statistics
from adalog.planner.rules.magic import _Prefix


@dataclass(frozen=True, slots=True)
class MeasureAtom(LeafNode):
    """`[(measure $source ?of) ?out]`"""

    kind = "measure"
    fanout = 3.0
    source: str
    of: str
    out: str

    @property
    def mentions(self) -> tuple[str, ...]:
        return (self.of, self.out)

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.out,)

    @property
    def reads(self) -> frozenset[str]:
        return frozenset((self.source,))

    @property
    def clause(self) -> str:
        return f"[(measure {self.source} {shown(names_of((self.of,)))}) {self.out}]"

    def with_terms(self, change: Change) -> Self:
        return replace(self, of=new_name(change, self.of), out=new_name(change, self.out))


MEASURE: Any = MeasureAtom("$", "?x", "?y")
NUMBERS = RelationAtom("numbers", ("?x",), given=True)
BODY = AndNode((MEASURE, NUMBERS))
STATISTICS = Statistics({}, {"numbers": 10})


def test_its_needs_come_before_what_it_gives() -> None:
    assert not can_bind(BODY, "?y", frozenset())
    assert can_bind(BODY, "?y", frozenset(("?x",)))
    found = order_variables(BODY, frozenset(), frozenset(("?y",)), STATISTICS)
    assert found is not None
    assert found.order == ("?x", "?y")
    assert found.prefixes == (10.0, 30.0)


def test_a_call_of_a_rule_sees_it_only_with_its_needs() -> None:
    prefix = _Prefix(frozenset(), frozenset())
    waiting: list[Any] = [MEASURE]
    prefix.absorb(waiting, anchored_only=False)
    assert waiting == [MEASURE]
    waiting.append(NUMBERS)
    prefix.absorb(waiting, anchored_only=True)
    assert prefix.items == [NUMBERS, MEASURE]
    assert prefix.bound == {"?x", "?y"}


def test_its_variables_are_neither_blanked_nor_lost() -> None:
    assert blank_singletons(BODY, frozenset(("?y",))) == BODY
    changed = rewritten(BODY, lambda leaf: leaf.with_terms(lambda term: f"{term}1"))
    assert variables(changed) == {"?x1", "?y1"}


def test_a_value_that_gets_better_must_not_reach_it() -> None:
    def stratum(*items: Any) -> Stratum:
        branch = Branch(("?k", "?x"), AndNode((RelationAtom("r", ("?k", "?x"), derived=True), *items)))
        relation = RuleRelation("r", "r", 2, (None, "min"))
        return Stratum((relation,), (), (), None, (("r", branch),))

    assert not_monotone(stratum()) == ""
    assert "in another way" in not_monotone(stratum(MEASURE))
    assert "in another way" in not_monotone(stratum(PredicateAtom("odd?", ("?x",))))


def test_a_query_with_it_is_asked_again_when_what_it_reads_changes() -> None:
    reason = refusal_of_body(BODY, moving_database("$"))
    assert reason == "[(measure $ ?x) ?y] reads the database without being a data pattern"
    assert refusal_of_body(BODY, moving_database("$past")) is None
    assert looks_elsewhere(BODY, frozenset(("$",)))
    assert not looks_elsewhere(BODY, frozenset(("$past",)))


def test_plans_show_it() -> None:
    assert describe(BODY) == "(and [(measure $ ?x) ?y] [numbers ?x])"
