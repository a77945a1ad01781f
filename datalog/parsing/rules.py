"""Rule sets, from `:rules` or given for `%`: `[[(name [?required …] ?arg …) clause …] …]`.

Heads first, so that bodies may call rules that come later; then the bodies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adalog.datalog import ast
from adalog.datalog.aggregates import FIND_AGGREGATES, HEAD_AGGREGATES
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.hints import nearest
from adalog.datalog.parsing.clauses import CONNECTIVES, ClauseParser
from adalog.datalog.parsing.forms import Form, invalid, is_symbol, is_variable, shown, variable
from adalog.datalog.parsing.nested import ParseInner

_SHAPE = "[(rule ?a ?b) clause …]"


def rule_forms(forms: Sequence[Form]) -> list[Form]:
    """The rules of a section or an argument: each form is one rule or a vector of rules."""
    found: list[Form] = []
    for form in forms:
        if form.kind not in ("vector", "list") or (form.items and form.items[0].kind not in ("vector", "list")):
            raise invalid(form, f"a rule set is a vector of rules {_SHAPE}, not {shown(form)}{_as_json(form)}")
        if form.items and form.items[0].kind == "list" and form.kind == "vector":
            found.append(form)
        else:
            found.extend(form.items)
    return found


def _as_json(form: Form) -> str:
    """A hint where rules came as JSON, which has strings for variables and no lists."""
    first = form
    while first.kind == "vector" and first.items:
        first = first.items[0]
    return "; rules are EDN: as JSON, give them as one string" if type(first.value) is str else ""


def read_rules(
    forms: Sequence[Form], sources: frozenset[str], inner: ParseInner, *, complete: bool
) -> tuple[tuple[ast.Rule, ...], Mapping[str, int] | None]:
    """(the rules, each name's number of arguments). Unless `complete`, more may come: None for the numbers."""
    heads = [_head(form) for form in forms]
    _check_agreement(heads)
    arity = {head.name: len(head.head) for head in heads} if complete else None
    parser = ClauseParser(sources, inner, arity)
    rules = []
    for head, form in zip(heads, forms, strict=True):
        clauses = tuple(parser.clause(each) for each in form.items[1:])
        rules.append(ast.Rule(head.name, head.required, head.args, clauses, position=form.position))
    return tuple(rules), arity


def _head(form: Form) -> ast.Rule:
    """A rule without its clauses."""
    if form.kind not in ("vector", "list") or not form.items or form.items[0].kind != "list":
        raise invalid(form, f"a rule is {_SHAPE}, not {shown(form)}{_as_json(form)}")
    head = form.items[0]
    if not head.items or not is_symbol(head.items[0]):
        raise invalid(head, f"a rule's head begins with its name: (rule ?a ?b), not {shown(head)}")
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
    if len(form.items) < 2:
        raise invalid(form, f"the rule {name} says nothing: its head is followed by clauses, {_SHAPE}")
    return ast.Rule(name, required, args, (), position=head.position)


def _place(form: Form) -> ast.Var | ast.FindAggregate:
    """`?x` or `(min ?x)`."""
    if form.kind != "list":
        return _variable(form)
    if len(form.items) != 2 or not is_symbol(form.items[0]) or not is_variable(form.items[1]):
        raise invalid(form, f"a place of a rule's head is ?x or an aggregate such as (min ?x), not {shown(form)}")
    name = form.items[0].value.name
    if name not in HEAD_AGGREGATES:
        if name in FIND_AGGREGATES:
            raise invalid(form, f"({name} …) cannot stand in a rule's head; use it in :find")
        raise invalid(form.items[0], f"there is no aggregate {name}{nearest(name, HEAD_AGGREGATES)}")
    return ast.FindAggregate(name, (), _variable(form.items[1]), position=form.position)


def _variable(form: Form) -> ast.Var:
    if not is_variable(form):
        raise invalid(form, f"a rule's head takes variables such as ?x, not {shown(form)}; bind it in a clause")
    return variable(form)


def _check_agreement(heads: Sequence[ast.Rule]) -> None:
    """All heads of one name have the same places."""
    first: dict[str, ast.Rule] = {}
    for head in heads:
        other = first.setdefault(head.name, head)
        if len(other.head) != len(head.head) or len(other.required) != len(head.required):
            raise _differs(head, f"{_places(other)} elsewhere and {_places(head)} here")
        if other.aggregates != head.aggregates:
            raise _differs(head, "other aggregates elsewhere; every head of a rule has the same in the same places")


def _differs(head: ast.Rule, what: str) -> AdalogError:
    return AdalogError(Code.QUERY_INVALID, f"the rule {head.name} has {what}", head.position)


def _places(head: ast.Rule) -> str:
    count = len(head.head)
    required = f", {len(head.required)} of them required," if head.required else ""
    return f"{count} place{'' if count == 1 else 's'}{required}"
