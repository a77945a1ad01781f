"""Rule sets, from `:rules` or given for `%`: `[[(name [?required …] ?arg …) clause …] …]`.

Heads first, so that bodies may call rules that come later; then the bodies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from adalog.datalog import ast
from adalog.datalog.aggregates import AGGREGATES, FIND_AGGREGATES, HEAD_AGGREGATES
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.hints import nearest
from adalog.datalog.names import called, names_in
from adalog.datalog.parsing.clauses import CONNECTIVES, ClauseParser, taken_names
from adalog.datalog.parsing.columns import pair_clauses, paired
from adalog.datalog.parsing.forms import Form, UnknownNameError, invalid, is_symbol, is_variable, shown, variable
from adalog.datalog.parsing.nested import ParseInner
from adalog.datalog.parsing.optionals import rule_with_optionals
from adalog.datalog.values import Keyword

_SHAPE = "[(rule ?a ?b) clause …]"
_WITH = Keyword("with")


def rule_forms(forms: Sequence[Form]) -> list[Form]:
    """The rules of a section or an argument: each form is one rule or a vector of rules."""
    found: list[Form] = []
    for form in forms:
        if form.kind not in ("vector", "list") or (form.items and form.items[0].kind not in ("vector", "list")):
            raise invalid(form, f"a rule set is a vector of rules {_SHAPE}, not {shown(form)}{_as_json(form)}")
        if form.items and form.kind == "vector" and _is_head(form.items[0]):
            found.append(form)
        else:
            found.extend(form.items)
    return found


def _is_head(form: Form) -> bool:
    """`(rule ?a ?b)` or `[rule ?a ?b]`."""
    return form.kind == "list" or (form.kind == "vector" and bool(form.items) and is_symbol(form.items[0]))


def _as_json(form: Form) -> str:
    """A hint where rules came as JSON, which has strings for variables and no lists."""
    first = form
    while first.kind == "vector" and first.items:
        first = first.items[0]
    return "; rules are EDN: as JSON, give them as one string" if type(first.value) is str else ""


@dataclass(frozen=True)
class RuleSet:
    """The rules of a query. `arity`: of each name its number of arguments; None where more rules may come.
    `faults`: what is wrong with a rule besides its syntax, by its name; only a call makes it an error."""

    rules: tuple[ast.Rule, ...]
    arity: Mapping[str, int] | None
    faults: Mapping[str, AdalogError]

    def check(self, where: Sequence[ast.Clause]) -> None:
        """Raises what is wrong with the first rule that clauses reach."""
        if not self.faults:
            return
        bodies: dict[str, list[ast.Clause]] = {}
        for rule in self.rules:
            bodies.setdefault(rule.name, []).extend(rule.clauses)
        reached: dict[str, None] = {}
        waiting = called(where)
        while waiting:
            name = waiting.pop()
            if name in self.faults:
                raise self.faults[name]
            if name not in reached:
                reached[name] = None
                waiting.extend(called(bodies.get(name, ())))


def read_rules(forms: Sequence[Form], sources: frozenset[str], inner: ParseInner, *, complete: bool) -> RuleSet:
    """The rules of these forms. Unless `complete`, more may come."""
    heads = [_head(form) for form in forms]
    faults = _disagreements(heads)
    arity = {head.name: len(head.places) for head in heads} if complete else None
    rules = []
    for head, form in zip(heads, forms, strict=True):
        try:
            body = _body(form)
            parser = ClauseParser(sources, inner, arity, taken=taken_names((form.items[0], *body), arity or {}))
            clauses = (*map(parser.clause, body), *pair_clauses(head.args))
            _check_with(head, clauses)
            rules.append(rule_with_optionals(replace(head, clauses=clauses, position=form.position)))
        except UnknownNameError as error:
            faults.setdefault(head.name, error)
    return RuleSet(tuple(rules), arity, faults)


def _head(form: Form) -> ast.Rule:
    """A rule without its clauses."""
    if form.kind not in ("vector", "list") or not form.items or form.items[0].kind not in ("vector", "list"):
        raise invalid(form, f"a rule is {_SHAPE}, not {shown(form)}{_as_json(form)}")
    head = form.items[0]
    if not head.items or not is_symbol(head.items[0]):
        raise invalid(head, f"a rule's head begins with its name: (rule ?a ?b), not {shown(head)}{_as_json(form)}")
    name = head.items[0].value.name
    if name in CONNECTIVES:
        raise invalid(head.items[0], f"{name} cannot be the name of a rule: it is a clause")
    places = list(head.items[1:])
    required: tuple[ast.Var, ...] = ()
    if places and places[0].kind == "vector":
        required = tuple(_variable(each) for each in places[0].items)
        places = places[1:]
    args = tuple(_place(each) for each in places)
    if not required and not args:
        raise invalid(head, f"the rule {name} has no variables; write ({name} ?x)")
    if not _body(form):
        raise invalid(form, f"the rule {name} says nothing: its head is followed by clauses, {_SHAPE}")
    return ast.Rule(name, required, args, (), _with(form), position=head.position)


def _body(form: Form) -> Sequence[Form]:
    """The clauses of a rule, after its head and the variables of `:with`."""
    rest = form.items[1:]
    if rest and rest[0].value == _WITH:
        return rest[1 + len(_with_forms(form)) :]
    return rest


def _with_forms(form: Form) -> list[Form]:
    rest = form.items[1:]
    return list(takewhile(is_variable, rest[1:])) if rest and rest[0].value == _WITH else []


def _with(form: Form) -> tuple[ast.Var, ...]:
    """The variables of `:with`, where an aggregate of the head counts tuples that they keep apart."""
    found = tuple(map(variable, _with_forms(form)))
    if len(form.items) > 1 and form.items[1].value == _WITH and not found:
        raise invalid(form.items[1], ":with takes variables that keep rows apart: [(rule ?a (sum ?n)) :with ?e …]")
    return found


def _check_with(head: ast.Rule, clauses: Sequence[ast.Clause]) -> None:
    known = names_in(clauses)
    for each in head.with_:
        if not any(isinstance(place, ast.FindAggregate) for place in head.args):
            message = f":with keeps rows apart for aggregates, and the head of {head.name} has none"
            raise AdalogError(Code.QUERY_INVALID, message, each.position)
        if each.name not in known:
            message = f"{each.name} is in :with, but no clause of the rule binds it{nearest(each.name, known)}"
            raise AdalogError(Code.UNBOUND_VARIABLE, message, each.position)


def _place(form: Form) -> ast.Var | ast.FindAggregate:
    """`?x` or `(min ?x)`."""
    if form.kind != "list":
        return _variable(form)
    if form.items and is_symbol(form.items[0]) and _is_paired(form.items[0].value.name):
        return paired(form)
    if len(form.items) != 2 or not is_symbol(form.items[0]) or not is_variable(form.items[1]):
        raise invalid(form, f"a place of a rule's head is ?x or an aggregate such as (min ?x), not {shown(form)}")
    name = form.items[0].value.name
    if name not in HEAD_AGGREGATES:
        if name in FIND_AGGREGATES:
            raise invalid(form, f"({name} …) cannot stand in a rule's head; use it in :find")
        raise invalid(form.items[0], f"there is no aggregate {name}{nearest(name, HEAD_AGGREGATES)}")
    return ast.FindAggregate(name, (), _variable(form.items[1]), position=form.position)


def _is_paired(name: str) -> bool:
    return name in AGGREGATES and bool(AGGREGATES[name].of_pairs)


def _variable(form: Form) -> ast.Var:
    if not is_variable(form):
        raise invalid(form, f"a rule's head takes variables such as ?x, not {shown(form)}; bind it in a clause")
    return variable(form)


def _disagreements(heads: Sequence[ast.Rule]) -> dict[str, AdalogError]:
    """All heads of one name have the same places: what is wrong with those that have others."""
    first: dict[str, ast.Rule] = {}
    found: dict[str, AdalogError] = {}
    for head in heads:
        other = first.setdefault(head.name, head)
        if len(other.places) != len(head.places) or len(other.required) != len(head.required):
            found.setdefault(head.name, _differs(head, f"{_places(other)} elsewhere and {_places(head)} here"))
        elif other.aggregates[: len(other.places)] != head.aggregates[: len(head.places)]:
            what = "other aggregates elsewhere; every head of a rule has the same in the same places"
            found.setdefault(head.name, _differs(head, what))
        elif len(other.with_) != len(head.with_):
            found.setdefault(head.name, _differs(head, "more or fewer variables in :with elsewhere"))
    return found


def _differs(head: ast.Rule, what: str) -> AdalogError:
    return AdalogError(Code.QUERY_INVALID, f"the rule {head.name} has {what}", head.position)


def _places(head: ast.Rule) -> str:
    count = len(head.places)
    required = f", {len(head.required)} of them required," if head.required else ""
    return f"{count} place{'' if count == 1 else 's'}{required}"
