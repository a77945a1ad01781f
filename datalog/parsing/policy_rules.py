"""The rules of a policy: `(allow ?e)` or `(allow ?e ?a ?v)` over the database and the relation `claim`.

Each call `(claim :name ?value)` becomes a pattern over a source of its own, whose rows are the values of that
claim: they are read as the place of `?value` wants them, like arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from adalog.datalog import ast
from adalog.datalog.edn import read_form, write
from adalog.datalog.errors import AdalogError, Code, Position
from adalog.datalog.names import bound_by
from adalog.datalog.parsing.forms import Form
from adalog.datalog.parsing.nested import Inner
from adalog.datalog.parsing.parser import parse_inner
from adalog.datalog.parsing.rules import read_rules, rule_forms
from adalog.datalog.values import Keyword

ALLOW: Final = "allow"
CLAIM: Final = "claim"
ORIGIN: Final = ":policy/rules"
"""The origin of places in the rules of a policy."""

_NO_RULES: Final = "a query within a policy's rule takes no %; call the rules in the rule's body, or give it :rules"
_SHAPES: Final = "(allow ?e) or (allow ?e ?a ?v)"


@dataclass(frozen=True)
class ClaimSource:
    """A source whose rows are the values of one claim; `claim` None: pairs of names and values of all claims."""

    source: str
    claim: str | None


@dataclass(frozen=True)
class PolicyRules:
    """`places`: 1 for `(allow ?e)`, 3 for `(allow ?e ?a ?v)`. `claims`: the sources that the rules read besides the
    database. `enumerable`: the rules say by themselves which entities they allow; else only of given ones."""

    rules: tuple[ast.Rule, ...]
    places: int
    claims: tuple[ClaimSource, ...]
    enumerable: bool


def read_policy_rules(text: str) -> PolicyRules:
    """The rules in the text of `:policy/rules`. Raises EDN_SYNTAX and QUERY_INVALID with positions in it."""
    own = rule_forms([read_form(text, origin=ORIGIN)])
    rule_set = read_rules([*own, *_STUBS], frozenset(("$",)), _inner, complete=True)
    for fault in rule_set.faults.values():
        raise fault
    stubs = len(_STUBS)
    rules = rule_set.rules[:-stubs]
    heads = [rule for rule in rules if rule.name == ALLOW]
    defined = next((rule for rule in rules if rule.name == CLAIM), None)
    if defined is not None:
        raise _refused(
            "claim is the relation of the identity's claims; give the rule another name", defined.position
        )
    if not heads:
        raise _refused(f"the rules of a policy define {_SHAPES}", own[0].position if own else None)
    if len(heads[0].places) not in (1, 3):
        raise _refused(f"a policy allows entities or datoms: {_SHAPES}", heads[0].position)
    for rule in heads:
        if any(isinstance(each, ast.FindAggregate) for each in rule.args) or rule.with_:
            message = f"{_SHAPES} has no aggregates in its head; compute them in a rule that it calls"
            raise _refused(message, rule.position)
    reader = _ClaimReader()
    rules = tuple(replace(rule, clauses=reader.clauses(rule.clauses)) for rule in rules)
    enumerable = all(
        {each.name for each in rule.args if isinstance(each, ast.Var)} <= _bound(rule.clauses)
        for rule in rules
        if rule.name == ALLOW
    )
    if not enumerable:
        rules = tuple(_requiring_all(rule) if rule.name == ALLOW else rule for rule in rules)
    return PolicyRules(rules, len(heads[0].places), tuple(reader.found), enumerable)


def _inner(form: Form) -> Inner:
    return parse_inner(form, None, _NO_RULES)


_STUBS: Final = rule_forms([read_form("[[(claim ?name ?value) [?name :db/ident ?value]]]")])
"""Stands for the relation while calls are checked."""


def _requiring_all(rule: ast.Rule) -> ast.Rule:
    places = tuple(each for each in rule.places if isinstance(each, ast.Var))
    return replace(rule, required=places, args=())


def _bound(clauses: Iterable[ast.Clause]) -> set[str]:
    return set().union(*map(bound_by, clauses))


def _refused(message: str, position: Position | None) -> AdalogError:
    return AdalogError(Code.QUERY_INVALID, message, position)


@dataclass
class _ClaimReader:
    """Replaces calls of `claim` by patterns over sources, of which `found` has one for each call."""

    found: list[ClaimSource] = field(default_factory=list)

    def clauses(self, clauses: Iterable[ast.Clause]) -> tuple[ast.Clause, ...]:
        return tuple(with_calls(each, self._pattern) for each in clauses)

    def _pattern(self, call: ast.RuleCall) -> ast.Clause:
        if call.name != CLAIM:
            return call
        name, value = call.args
        given = name.value if isinstance(name, ast.Const) else None
        if isinstance(name, ast.Const) and not isinstance(given, Keyword | str):
            raise _refused(f"a claim is named by a keyword or a string, not {write(given)}", call.position)
        claim = given.name if isinstance(given, Keyword) else given
        source = ClaimSource(f"$claim {len(self.found)}", claim)
        self.found.append(source)
        terms = (name, value) if claim is None else (value,)
        return ast.Pattern(ast.Source(source.source), terms, position=call.position)


def with_calls(clause: ast.Clause, change: Callable[[ast.RuleCall], ast.Clause]) -> ast.Clause:
    """The clause with what `change` makes of each rule call within it."""

    def all_of(clauses: tuple[ast.Clause, ...]) -> tuple[ast.Clause, ...]:
        return tuple(with_calls(each, change) for each in clauses)

    match clause:
        case ast.RuleCall():
            return change(clause)
        case ast.And() | ast.Not() | ast.NotJoin():
            return replace(clause, clauses=all_of(clause.clauses))
        case ast.Or() | ast.OrJoin():
            return replace(clause, branches=tuple(replace(b, clauses=all_of(b.clauses)) for b in clause.branches))
        case _:
            return clause
