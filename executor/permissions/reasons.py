"""Why an entity is visible to a viewer: for each policy a derivation, or the clause that nothing passes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from adalog.datalog import ast
from adalog.datalog.edn import read_form, write
from adalog.datalog.edn.form import Form
from adalog.datalog.errors import AdalogError, Code, Position
from adalog.datalog.names import names_in
from adalog.datalog.parsing.policy_rules import ALLOW, ORIGIN, PolicyRules
from adalog.executor.bounds.budget import Memory
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.local import run_join
from adalog.executor.join.batch import Batch
from adalog.executor.permissions.claims import claim_rows
from adalog.executor.permissions.guards import Guard
from adalog.executor.permissions.policies import Policy
from adalog.executor.question.arguments import GivenArgument, matched, settled
from adalog.executor.question.inputs import bind_inputs, sizes_of
from adalog.planner.model.plan import Options
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import plan_query
from adalog.planner.scope.outline import outline_of
from adalog.planner.scope.resolve import plain_value
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.attribute import Attribute
from adalog.store.values.codes import Scratch

_SUBJECTS: Final = "$subjects"
# Rows among which one is looked for whose calls do not lead back to themselves.
_TRIED: Final = 32

Reason = dict[str, Any]
Call = tuple[str, tuple[int, ...]]
"""A rule with the codes of its arguments."""


def reasons(guard: Guard, entity: int, memory: Memory, cancel: Cancel) -> Reason:
    """What each policy of the viewer's roles says of an entity, and of which of its attributes it decides."""
    state, shown = guard.now, guard.view(guard.now)
    own = state.attributes_of(np.array([entity], np.int64))
    held = [each for each in own if len(state.values_of(each, entity))]
    with memory.lent(cancel):
        concerned = [policy for policy in guard.reading if any(map(policy.names, held))]
        policies = [_of_policy(each, held, entity, guard, cancel) for each in concerned]
    visible = [each for each in held if len(shown.values_of(each, entity))]
    return {
        "entity": entity,
        "visible": sorted(write(each.ident) for each in visible),
        "hidden": sorted(write(each.ident) for each in held if each not in visible),
        "policies": policies,
    }


def _of_policy(policy: Policy, held: Sequence[Attribute], entity: int, guard: Guard, cancel: Cancel) -> Reason:
    named = [each for each in held if policy.names(each)]
    said: Reason = {
        "policy": policy.name,
        "effect": "require" if policy.required else "grant",
        "attributes": sorted(write(each.ident) for each in named),
    }
    if policy.broken:
        return {**said, "holds": False, "why": "its rules cannot be read"}
    if policy.rules is None:
        return {**said, "holds": True, "why": "it has no rules, and is for all entities"}
    asking = _Asking(policy.rules, policy.text or "", guard.viewer.claims, guard.now, cancel)
    if policy.rules.places == 1:
        return {**said, **asking.of_call((ALLOW, (entity,)))}
    facts = []
    for each in named:
        for code in guard.now.values_of(each, entity).tolist():
            value = write(guard.now.codes.decode(code))
            found = asking.of_call((ALLOW, (entity, each.ident_code, code)))
            facts.append({"attribute": write(each.ident), "value": value, **found})
    return {**said, "holds": any(each["holds"] for each in facts), "facts": facts}


@dataclass
class _Asking:
    rules: PolicyRules
    text: str
    claims: Mapping[str, Any]
    state: Snapshot
    cancel: Cancel

    def __post_init__(self) -> None:
        self.values = Scratch(self.state.codes, take=self.cancel.budget.take)

    def of_call(self, call: Call) -> Reason:
        """A derivation of a call, or for each of its rules the clause that no row passes."""
        try:
            derived = self._derived(call, frozenset((call,)))
            if derived is not None:
                return {"holds": True, "derivation": derived}
            return {"holds": False, "fails": self._failures(call, frozenset((call,)))}
        except AdalogError as error:
            if error.code in (Code.CANCELLED, Code.TIMEOUT):
                raise
            return {"holds": False, "why": f"its rules fail: {error}"}

    def _rules(self, call: Call) -> list[ast.Rule]:
        return [rule for rule in self.rules.rules if rule.name == call[0]]

    def _derived(self, call: Call, above: frozenset[Call]) -> Reason | None:
        """The first rule with a row whose calls have derivations that do not need the call itself."""
        for rule in self._rules(call):
            found = self._rows(rule, rule.clauses, call)
            calls = [each for each in rule.clauses if isinstance(each, ast.RuleCall)]
            for row in _first(found, _TRIED):
                below = self._below(calls, row, above)
                if below is not None:
                    return {
                        "rule": self._shown(rule.position),
                        "with": {name: write(self.values.decode(code)) for name, code in row.items()},
                        **({"calls": below} if below else {}),
                    }
        return None

    def _below(
        self, calls: Sequence[ast.RuleCall], row: Mapping[str, int], above: frozenset[Call]
    ) -> list[Reason] | None:
        """Derivations of the calls of a row; None where one leads back."""
        derived = []
        for each in calls:
            codes = [self._code(term, row) for term in each.args]
            known = [code for code in codes if code is not None]
            if len(known) < len(codes):
                continue
            call = (each.name, tuple(known))
            found = None if call in above else self._derived(call, above | {call})
            if found is None:
                return None
            derived.append(found)
        return derived

    def _code(self, term: ast.Term, row: Mapping[str, int]) -> int | None:
        if isinstance(term, ast.Var):
            return row.get(term.name)
        return self.values.intern(plain_value(term)) if isinstance(term, ast.Const) else None

    def _failures(self, call: Call, above: frozenset[Call]) -> list[Reason]:
        return [self._failing(rule, call, above) for rule in self._rules(call)]

    def _failing(self, rule: ast.Rule, call: Call, above: frozenset[Call]) -> Reason:
        """The first clause that no row passes together with those before it; of a call why that fails in its
        turn, if its arguments are those of the rule."""
        said: Reason = {"rule": self._shown(rule.position)}
        for number in range(1, len(rule.clauses) + 1):
            try:
                found = self._rows(rule, rule.clauses[:number], call)
            except AdalogError as error:
                if error.code is not Code.UNBOUND_VARIABLE:
                    raise
                # A later clause binds what this one needs.
                continue
            if not found.size:
                clause = rule.clauses[number - 1]
                position = clause.position
                said |= {"clause": self._shown(position), **_place(position)}
                if isinstance(clause, ast.RuleCall):
                    places = [each.name for each in rule.places if isinstance(each, ast.Var)]
                    codes = [self._code(each, dict(zip(places, call[1], strict=True))) for each in clause.args]
                    known = [each for each in codes if each is not None]
                    below = (clause.name, tuple(known))
                    if len(known) == len(codes) and below not in above:
                        said["fails"] = self._failures(below, above | {below})
                return said
        return {**said, "clause": None, "why": "what holds of it leads back to itself"}

    def _rows(self, rule: ast.Rule, clauses: Sequence[ast.Clause], call: Call) -> Batch:
        """The rows of variables for which clauses of a rule hold, for the arguments of a call."""
        places = [each for each in rule.places if isinstance(each, ast.Var)]
        names = dict.fromkeys([*(each.name for each in places), *names_in(clauses)])
        subjects = ast.Pattern(ast.Source(_SUBJECTS), tuple(places))
        sources = [*(each.source for each in self.rules.claims), _SUBJECTS]
        query = ast.Query(
            find=ast.Find(tuple(ast.FindVar(ast.Var(name)) for name in names)),
            with_=(),
            inputs=(ast.SourceInput("$"), *map(ast.SourceInput, sources)),
            where=(subjects, *clauses),
            rules=self.rules.rules,
        )
        outline = outline_of(query, frozenset(sources))
        given = [GivenArgument(claim_rows(each, self.claims), json=True) for each in self.rules.claims]
        args = settled(outline, matched(query, [*given, ()]), self.state).args
        sizes = {**sizes_of(query, args), _SUBJECTS: 1}
        plan = plan_query(query, Statistics({"$": self.state}, sizes), frozenset(sources), Options())
        inputs = bind_inputs(plan, args, self.state, self.values, self.cancel.check)
        inputs.relations[_SUBJECTS] = [np.array([code], np.int64) for code in call[1]]
        return run_join(plan, inputs, QueryRun(self.values, self.cancel), most=None).rows

    def _shown(self, position: Position | None) -> str | None:
        """What the text of the rules has at a place."""
        form = None if position is None else _at(read_form(self.text, origin=ORIGIN), position)
        return None if form is None else write(form.value)


def _first(rows: Batch, most: int) -> Iterator[dict[str, int]]:
    names = list(rows.columns)
    columns = [rows.columns[name][:most].tolist() for name in names]
    for row in zip(*columns, strict=True):
        yield dict(zip(names, row, strict=True))


def _place(position: Position | None) -> Reason:
    return {} if position is None else {"line": position.line, "column": position.column}


def _at(form: Form, position: Position) -> Form | None:
    own = form.position
    if own is not None and (own.line, own.column) == (position.line, position.column):
        return form
    if isinstance(form.value, str | int | float) or not hasattr(form.value, "__iter__"):
        return None
    return next((found for each in form if (found := _at(each, position)) is not None), None)
