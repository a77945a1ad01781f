"""Why an entity is visible to a viewer: for each policy a derivation, or the clause that nothing passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from adalog.datalog import ast
from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.parsing.policy_rules import ALLOW, ORIGIN, PolicyRules
from adalog.executor.bounds.budget import Memory
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.derivations.bodies import Bodies
from adalog.executor.derivations.derivation import Derivations, Reason
from adalog.executor.derivations.texts import Texts
from adalog.executor.permissions.claims import claim_rows
from adalog.executor.permissions.guards import Guard
from adalog.executor.permissions.policies import Policy
from adalog.executor.question.arguments import GivenArgument, matched, settled
from adalog.executor.question.inputs import bind_inputs, sizes_of
from adalog.planner.model.plan import Options, Plan
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import plan_query
from adalog.planner.scope.outline import outline_of
from adalog.store.values.attribute import Attribute
from adalog.store.values.codes import Scratch


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
    derivations = _derivations(policy, policy.rules, guard, cancel)
    if policy.rules.places == 1:
        return {**said, **_of_call(derivations, (entity,))}
    facts = []
    for each in named:
        for code in guard.now.values_of(each, entity).tolist():
            value = write(guard.now.codes.decode(code))
            found = _of_call(derivations, (entity, each.ident_code, code))
            facts.append({"attribute": write(each.ident), "value": value, **found})
    return {**said, "holds": any(each["holds"] for each in facts), "facts": facts}


def _derivations(policy: Policy, rules: PolicyRules, guard: Guard, cancel: Cancel) -> Derivations:
    """Derivations by the rules of a policy, over the whole database and the viewer's claims."""
    state = guard.now
    names = [each.source for each in rules.claims]
    places = tuple(ast.Var(f"?{number}") for number in range(rules.places))
    query = ast.Query(
        find=ast.Find(tuple(map(ast.FindVar, places))),
        with_=(),
        inputs=(ast.SourceInput("$"), *map(ast.SourceInput, names)),
        where=(ast.RuleCall(ALLOW, places, ast.Source("$")),),
        rules=rules.rules,
    )
    given = [GivenArgument(claim_rows(each, guard.viewer.claims), json=True) for each in rules.claims]
    args = settled(outline_of(query, frozenset(names)), matched(query, given), state).args
    run = QueryRun(Scratch(state.codes, take=cancel.budget.take), cancel)

    def plan(part: ast.Query, relations: Mapping[str, int], options: Options) -> Plan:
        statistics = Statistics({"$": state}, relations, check=cancel.check)
        return plan_query(part, statistics, frozenset(relations), options)

    planned = plan(query, sizes_of(query, args), Options())
    inputs = bind_inputs(planned, args, state, run.values, cancel.check)
    bodies = Bodies(rules.rules, inputs.databases, dict(inputs.relations), run, plan)
    return Derivations(bodies, Texts({ORIGIN: policy.text or ""}))


def _of_call(derivations: Derivations, codes: Sequence[int]) -> Reason:
    """A derivation of what a policy allows, or for each of its rules the clause that no row passes."""
    call = ALLOW, "$", tuple(codes)
    try:
        derived = derivations.derived(call)
        if derived is not None:
            return {"holds": True, "derivation": derived}
        return {"holds": False, "fails": derivations.failures(call)}
    except AdalogError as error:
        if error.code in (Code.CANCELLED, Code.TIMEOUT):
            raise
        return {"holds": False, "why": f"its rules fail: {error}"}
