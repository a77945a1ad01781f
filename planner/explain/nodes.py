"""The nodes of a plan as clauses and as data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adalog.datalog import ast
from adalog.datalog.edn import write
from adalog.planner.model.logical import (
    AndNode,
    DatomAtom,
    FunctionAtom,
    Node,
    NotNode,
    OrNode,
    PredicateAtom,
    RelationAtom,
    RuleAtom,
    Subquery,
    Term,
    UnnestAtom,
)
from adalog.planner.model.version import Version


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
            plain = node.source == "$" and node.version is Version.ALL
            source = "" if plain else f"{_versioned(node.source, node.version)} "
            return f"[{source}{_list(terms)}]"
        case RelationAtom(subquery=Subquery() as inner):
            return f"[{_call_of(inner, inner.given)} [[{_list(node.terms)}]]]"
        case RelationAtom(derived=True):
            return f"({_versioned(node.relation, node.version)} {_list(node.terms)})"
        case RelationAtom():
            return f"[{_versioned(node.relation, node.version)} {_list(node.terms)}]"
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


def _versioned(name: str, version: Version) -> str:
    return name if version is Version.ALL else f"{name} ({version})"


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
