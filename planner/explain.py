"""Plans for people and for programs: the text and the data of `explain`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from datalog import ast
from datalog.edn import write
from planner.logical import (
    AndNode,
    DatomAtom,
    FunctionAtom,
    Node,
    NotNode,
    OrNode,
    PredicateAtom,
    RelationAtom,
    RuleAtom,
    Term,
    UnnestAtom,
    everything,
    variables,
)
from planner.nested import Subquery
from planner.ordering import can_bind
from planner.plan import Plan


def show(term: Term | ast.Source) -> str:
    """One term as it would be written."""
    match term:
        case None:
            return "_"
        case str():
            return term
        case ast.Source():
            return term.name
        case ast.LookupRef():
            value = term.value.name if isinstance(term.value, ast.Var) else write(term.value.value)
            return f"[{write(term.attribute.value)} {value}]"
        case _:
            return write(term.value)


def describe(node: Node) -> str:
    """One node as a clause."""
    match node:
        case DatomAtom():
            terms = list(node.terms)
            while len(terms) > 3 and terms[-1] is None:
                terms.pop()
            source = "" if node.source == "$" else node.source + " "
            return f"[{source}{_list(terms)}]"
        case RelationAtom(subquery=Subquery() as inner):
            return f"[{_call_of(inner, inner.given)} [[{_list(node.terms)}]]]"
        case RelationAtom():
            return f"[{node.relation} {_list(node.terms)}]"
        case RuleAtom():
            return f"({node.rule} {_list(node.terms)})"
        case PredicateAtom():
            return f"[({node.name} {_list(node.args)})]"
        case FunctionAtom(subquery=Subquery() as inner):
            return f"[{_call_of(inner, node.args)} {node.out}]"
        case FunctionAtom():
            return f"[({node.name} {_list(node.args)}) {node.out}]"
        case UnnestAtom():
            return f"[(unnest {node.collection}) {node.out}]"
        case AndNode():
            return f"(and {' '.join(describe(item) for item in node.items)})"
        case OrNode():
            return f"(or {' '.join(describe(branch) for branch in node.branches)})"
        case NotNode():
            return f"(not {' '.join(describe(item) for item in node.items)})"


def _call_of(inner: Subquery, values: tuple[Term | ast.Source, ...]) -> str:
    """`(q [:find ?m …] $ ?x)`"""
    find = " ".join(element.label for element in inner.query.find.elements)
    sources = " ".join(outside for _, outside in inner.sources)
    return f"(q [:find {find} …] {' '.join(filter(None, (sources, _list(values))))})"


def _list(terms: Iterable[Term | ast.Source]) -> str:
    return " ".join(show(term) for term in terms)


def kind(node: Node) -> str:
    """The name of a node's extender."""
    return {
        DatomAtom: "pattern",
        RelationAtom: "relation",
        RuleAtom: "rule",
        PredicateAtom: "predicate",
        FunctionAtom: "function",
        UnnestAtom: "unnest",
        AndNode: "and",
        OrNode: "or",
        NotNode: "not",
    }[type(node)]


def tree(node: Node) -> dict[str, Any]:
    """The extender tree as data."""
    shown: dict[str, Any] = {"kind": kind(node)}
    match node:
        case AndNode():
            shown["children"] = [tree(item) for item in node.items]
        case OrNode():
            shown["children"] = [tree(branch) for branch in node.branches]
        case NotNode():
            shown["shared"] = list(node.shared)
            shown["order"] = [level.variable for level in node.levels]
            shown["children"] = [tree(item) for item in node.items]
        case _:
            shown["clause"] = describe(node)
    return shown


def explain_plan(plan: Plan, engine: str, reason: str) -> dict[str, Any]:
    """The plan as data: engine, order, levels with their extenders and estimates, the extender tree."""
    bound = frozenset(plan.given)
    levels = []
    for level in plan.levels:
        proposers = [i for i in plan.body.items if can_bind(i, level.variable, bound)]
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
        "given": list(plan.given),
        "order": list(plan.order),
        "cost": round(plan.cost, 1),
        "estimatedRows": round(plan.rows, 1),
        "weighted": plan.weighted,
        "levels": levels,
        "extenders": tree(plan.body),
        "queries": [
            {"clause": describe(leaf), "plan": explain_plan(leaf.subquery.plan, engine, "within the query")}
            for leaf in everything(plan.body)
            if isinstance(leaf, FunctionAtom | RelationAtom) and leaf.subquery is not None
        ],
    }


def text_of(shown: dict[str, Any]) -> str:
    """The same for people."""
    lines = [f"engine {shown['engine']}: {shown['reason']}"]
    if shown["given"]:
        lines.append(f"given  {' '.join(shown['given'])}")
    lines.append(f"order  {' '.join(shown['order']) or '(nothing to bind)'}")
    if shown["weighted"]:
        lines.append("counts are carried as weights: counted variables are not written out")
    for i, level in enumerate(shown["levels"]):
        notes = [f"about {level['estimate']:,.0f} prefixes"]
        if "actual" in level:
            actual = level["actual"]
            notes.append(
                f"actual {actual['rows']:,} from {actual['candidates']:,} candidates in {actual['ms']:.1f} ms"
            )
        if level["counted"]:
            notes.append("counted only")
        if level["merges"]:
            notes.append("merges equal rows")
        lines.append(f"{i + 1}. {level['variable']}: {'; '.join(notes)}")
        lines.extend(f"     propose/intersect {clause}" for clause in level["propose"])
        lines.extend(f"     filter            {clause}" for clause in level["filter"])
    for inner in shown["queries"]:
        lines.append(f"within {inner['clause']}")
        lines.extend(f"  {line}" for line in text_of(inner["plan"]).splitlines()[1:])
    if "rows" in shown:
        lines.append(f"{shown['rows']:,} rows in {shown['elapsedMs']:.1f} ms")
    return "\n".join(lines)
