"""Plans for people and for programs: the text and the data of `explain`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from adalog.datalog import ast
from adalog.datalog.edn import write
from adalog.planner.explain.rules import explain_program, plain_names, text_of_program
from adalog.planner.group_lookups import GroupLookups
from adalog.planner.model import logical
from adalog.planner.model.logical import AndNode, Node, describe, everything, variables
from adalog.planner.model.plan import Plan, inner_plan
from adalog.planner.order.ordering import can_propose
from adalog.planner.scope.resolve import plain_value

Apart = Callable[[Plan], tuple[Plan, Mapping[str, logical.FunctionAtom]]]
"""The plan of a join without the calls that are computed after it, and these."""


def explain_plan(
    plan: Plan,
    engine: str,
    reason: str,
    late: Mapping[str, logical.FunctionAtom],
    apart: Apart,
    lookups: GroupLookups | None = None,
) -> dict[str, Any]:
    """The plan as data: engine, order, levels with their extenders and estimates, the extender tree. `late`: the
    calls that it is without. `apart`: applied to the plans of queries within. `lookups`: of which it is the plan of
    the groups."""

    def within(subquery: logical.Subquery, place: str) -> dict[str, Any]:
        inner, waiting = apart(inner_plan(subquery))
        return explain_plan(inner, engine, place, waiting, apart)

    bound = frozenset(plan.given)
    levels = []
    for level in plan.levels:
        proposers = [i for i in plan.body.items if can_propose(i, level.variable, bound)]
        bound |= {level.variable}
        filters = [
            item
            for item in plan.body.items
            if item not in proposers and level.variable in variables(item) and variables(item) <= bound
        ]
        levels.append(
            {
                "variable": level.variable,
                "propose": [describe(item) for item in proposers],
                "filter": [describe(item) for item in filters],
                "estimate": round(level.estimate, 1),
                "counted": level.counted,
                "merges": level.merge,
                "keeps": None if level.keep is None else sorted(n for n in level.keep if not n.startswith("#")),
            }
        )
    return {
        "engine": engine,
        "reason": reason,
        "given": [_constant(plan, name) for name in plan.given],
        "order": list(plan.order),
        "cost": round(plan.cost, 1),
        "estimatedRows": round(plan.rows, 1),
        "weighted": plan.weighted,
        "rules": explain_program(plan.program),
        "levels": levels,
        "extenders": _tree(plan.body),
        "queries": [
            {"clause": describe(leaf), "plan": within(leaf.subquery, "within the query")}
            for leaf in everything(plan.body)
            if isinstance(leaf, logical.FunctionAtom | logical.RelationAtom) and leaf.subquery is not None
        ]
        + [{"clause": each.clause, "plan": within(each.subquery, "for what is pulled")} for each in plan.pulled],
        **({"afterJoin": [describe(each) for each in late.values()]} if late else {}),
        **({"afterGrouping": lookups.clauses} if lookups else {}),
    }


def _tree(node: Node) -> dict[str, Any]:
    match node:
        case AndNode():
            return {"kind": "and", "children": [_tree(item) for item in node.items]}
        case logical.OrNode(optional=True):
            return {"kind": "optional", "children": [_tree(item) for item in node.branches[0].items]}
        case logical.OrNode():
            return {"kind": "or", "children": [_tree(branch) for branch in node.branches]}
        case logical.NotNode():
            order, children = [level.variable for level in node.levels], [_tree(item) for item in node.items]
            return {"kind": node.kind, "shared": list(node.shared), "order": order, "children": children}
        case _:
            return {"kind": node.kind, "clause": node.clause}


def _constant(plan: Plan, name: str) -> str:
    """A variable that has one value; of a rule call's constant that constant."""
    term = dict(plan.constants).get(name)
    return name if term is None else write(plain_value(term))


def explain_groups(query: ast.Query) -> dict[str, list[str]]:
    """Calls over the columns of groups, and the conditions of `:having`."""
    computed = [each.label for each in query.find.elements if isinstance(each, ast.FindExpression)]
    return {"computed": computed, "having": [_call(each) for each in query.having]}


def _call(argument: ast.Argument) -> str:
    match argument:
        case ast.Expression():
            return f"({' '.join([argument.name, *map(_call, argument.args)])})"
        case ast.Var() | ast.Source():
            return argument.name
        case ast.Const() | ast.LookupRef():
            return write(plain_value(argument))
        case _:
            return "_"


def text_of(shown: dict[str, Any]) -> str:
    """The same for people."""
    lines = [f"engine {shown['engine']}: {shown['reason']}"]
    if shown["given"]:
        lines.append(f"given  {' '.join(shown['given'])}")
    lines.extend(text_of_program(shown["rules"]))
    lines.append(f"order  {' '.join(shown['order']) or '(nothing to bind)'}")
    if shown["weighted"]:
        lines.append("counts are carried as weights: counted variables are not written out")
    lines.extend(f"after the join: {each}" for each in shown.get("afterJoin", ()))
    lines.extend(f"for each group that is left: {each}" for each in shown.get("afterGrouping", ()))
    for i, level in enumerate(shown["levels"]):
        notes = [f"about {level['estimate']:,.0f} prefixes"]
        if "actual" in level:
            actual = level["actual"]
            tried = f"{actual['candidates']:,} candidates in {actual['ms']:.1f} ms"
            notes.append(f"actual {actual['rows']:,} from {tried}")
        if level["counted"]:
            notes.append("counted only")
        if level["merges"]:
            notes.append("merges equal rows")
        lines.append(f"{i + 1}. {level['variable']}: {'; '.join(notes)}")
        lines.extend(f"     propose/intersect {clause}" for clause in level["propose"])
        lines.extend(f"     filter            {clause}" for clause in level["filter"])
    if "tasks" in shown:
        tasks, ms = shown["tasks"], shown["tasks"]["ms"]
        lines.append(
            f"tasks  {tasks['number']} in {tasks['workers']} processes: {ms['least']:.0f}, {ms['median']:.0f} and "
            f"{ms['most']:.0f} ms (least, median, most), skew {tasks['skew']:.2f}, estimated "
            f"{tasks['estimatedSkew']:.2f}; {tasks['rows']:,} rows to the driver"
        )
    for inner in shown["queries"]:
        lines.append(f"within {inner['clause']}")
        lines.extend(f"  {line}" for line in text_of(inner["plan"]).splitlines()[1:])
    groups = shown.get("groups", {})
    lines.extend(f"{kind} {call}" for kind in groups for call in groups[kind])
    lines = [plain_names(line) for line in lines]
    if "guarded" in shown:
        lines.append(f"guarded {' '.join(shown['guarded'])}: every pattern reads what the identity may see")
    if "live" in shown:
        how, reason = shown["live"]["how"], shown["live"]["reason"]
        lines.append(f"live   {how}" if reason is None else f"live   {how}: {reason}")
    if "rows" in shown:
        lines.append(f"{shown['rows']:,} rows in {shown['elapsedMs']:.1f} ms")
    return "\n".join(lines)
