"""Rule sets, from `:rules` or given for `%`: `[[(name [?required …] ?arg …) clause …] …]`.

Heads first, so that bodies may call rules that come later; then the bodies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from adalog.datalog import ast
from adalog.datalog.aggregates import AGGREGATES, FIND_AGGREGATES, HEAD_AGGREGATES
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.builtins.conditionals import CONDITIONALS
from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.hints import nearest
from adalog.datalog.names import called, names_in
from adalog.datalog.parsing.calls import CallParser
from adalog.datalog.parsing.clauses import CONNECTIVES, ClauseParser, taken_names
from adalog.datalog.parsing.columns import ColumnReader, is_aggregated, pair_clauses, paired
from adalog.datalog.parsing.forms import (
    Form,
    UnknownNameError,
    invalid,
    is_call,
    is_symbol,
    is_variable,
    shown,
    unknown,
    variable,
)
from adalog.datalog.parsing.nested import ParseInner
from adalog.datalog.parsing.optionals import rule_with_optionals
from adalog.datalog.values import Keyword

_SHAPE = "[(rule ?a ?b) clause …]"
_PLACE = "a place of a rule's head is ?x, an aggregate such as (min ?x), or a call such as (* 2 ?x)"
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
    faults: dict[str, AdalogError] = {}
    plain = ClauseParser(sources)
    calls = CallParser(plain.source, plain.term)
    heads = [_head(form, calls, faults) for form in forms]
    faults |= _disagreements([each.shown or each.rule for each in heads])
    faults |= _several_over_groups(heads)
    arity = {each.name: len((each.shown or each.rule).places) for each in heads} if complete else None
    rules = []
    for each, form in zip(heads, forms, strict=True):
        head, reader = each.rule, each.reader
        try:
            body = _body(form)
            parser = ClauseParser(sources, inner, arity, taken=taken_names((form.items[0], *body), arity or {}))
            clauses = (*map(parser.clause, body), *pair_clauses(head.args))
            _check_with(head, clauses)
            _check_calls(each.shown or head, reader, clauses)
            whole = _with_calls(replace(head, clauses=clauses, position=form.position), reader)
            rules.append(rule_with_optionals(whole))
            if each.shown is not None:
                rules.append(each.shown)
        except UnknownNameError as error:
            faults.setdefault(each.name, error)
    return RuleSet(tuple(_equally_wide(rules)), arity, faults)


@dataclass(frozen=True)
class _Head:
    """A rule without its clauses, and the calls in its head for each row. `shown`: where calls over aggregates are
    in the head, the rule that has its name, and computes them from the groups, which are then the other rule's."""

    rule: ast.Rule
    reader: ColumnReader
    shown: ast.Rule | None = None

    @property
    def name(self) -> str:
        return (self.shown or self.rule).name


def _head(form: Form, calls: CallParser, faults: dict[str, AdalogError]) -> _Head:
    """The head of a rule. `faults`: receives errors other than of syntax."""
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
    reader = ColumnReader(calls, frozenset(), section=f"the head of {name}")
    grouped = _Grouped(reader)
    try:
        args = tuple(map(grouped.place, places))
    except UnknownNameError as error:
        faults.setdefault(name, error)
        args = tuple(ast.Var(f"place {number}") for number, _ in enumerate(places))
    if not required and not args:
        raise invalid(head, f"the rule {name} has no variables; write ({name} ?x)")
    if not _body(form):
        raise invalid(form, f"the rule {name} says nothing: its head is followed by clauses, {_SHAPE}")
    rule = ast.Rule(name, required, args, (), _with(form), position=head.position)
    return grouped.head(rule) if grouped.functions else _Head(rule, reader)


@dataclass
class _Grouped:
    """The calls over aggregates in a head, as functions of the groups of a rule that has these as its places."""

    reader: ColumnReader
    columns: dict[str, ast.FindColumn] = field(default_factory=dict)
    functions: list[ast.Function] = field(default_factory=list)

    def place(self, form: Form) -> ast.Var | ast.FindAggregate:
        """A place of the head; a variable for a call over aggregates."""
        is_call_over = (
            form.kind == "list" and is_aggregated(form) and form.items[0].value.name not in FIND_AGGREGATES
        )
        if not is_call_over or form.items[0].value.name not in (BUILTINS.keys() | CONDITIONALS.keys()):
            made = _place(form, self.reader)
            column = made if isinstance(made, ast.FindAggregate) else ast.FindVar(made)
            self.columns.setdefault(column.label, column)
            return made
        call = self.reader.grouped(form, self.columns, aggregate=self._aggregate)
        out = ast.Var(write(form.value), position=form.position)
        self.functions.append(ast.Function(call.name, call.args, ast.ScalarBinding(out), position=form.position))
        return out

    def _aggregate(self, form: Form) -> ast.FindAggregate:
        found = _place(form, self.reader)
        assert isinstance(found, ast.FindAggregate), "the name is that of an aggregate"
        return found

    def head(self, rule: ast.Rule) -> _Head:
        """The head of the groups, and the rule that is called. No symbol has a space in it."""
        places = [each if isinstance(each, ast.FindAggregate) else each.var for each in self.columns.values()]
        groups = replace(rule, name=f"groups of {rule.name}", args=tuple(places))
        variables = [
            ast.Var(label, position=each.position) for label, each in zip(self.columns, places, strict=True)
        ]
        call = ast.RuleCall(groups.name, (*rule.required, *variables), ast.Source("$"), position=rule.position)
        args = tuple(ast.Var(each.label) if isinstance(each, ast.FindAggregate) else each for each in rule.args)
        shown = replace(rule, args=args, clauses=(call, *self.functions), with_=())
        return _Head(groups, self.reader, shown)


def _several_over_groups(heads: Sequence[_Head]) -> dict[str, AdalogError]:
    """A call over aggregates says nothing of the groups of other heads."""
    number = Counter(each.name for each in heads)
    return {
        each.name: AdalogError(
            Code.QUERY_INVALID,
            f"the rule {each.name} has several heads, and a call over aggregates in one: give the aggregates "
            "places of their own, and compute in a rule that calls it",
            each.rule.position,
        )
        for each in heads
        if each.shown is not None and number[each.name] > 1
    }


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


def _check_calls(head: ast.Rule, reader: ColumnReader, clauses: Sequence[ast.Clause]) -> None:
    """A call in a head takes variables of the body, or of other places."""
    known = {*names_in(clauses), *(each.name for each in head.places if isinstance(each, ast.Var))}
    for each, section in reader.mentioned.values():
        if each.name not in known:
            message = f"{each.name} is in {section}, but no clause of the rule binds it{nearest(each.name, known)}"
            raise AdalogError(Code.UNBOUND_VARIABLE, message, each.position)


def _with_calls(rule: ast.Rule, reader: ColumnReader) -> ast.Rule:
    """A rule with the calls of its head among its clauses. A nil drops the row, but for an aggregate, which skips
    it. The variables that an aggregate is computed from keep rows apart."""
    if not reader.functions:
        return rule
    plain = {each.name for each in rule.places if isinstance(each, ast.Var)}
    calls = (replace(each, keeps_nil=name not in plain) for name, each in reader.functions.items())
    known = plain.union(each.name for each in rule.with_)
    apart = (each for name, each in reader.apart.items() if name not in known)
    return replace(rule, clauses=(*rule.clauses, *calls), with_=(*rule.with_, *apart))


def _equally_wide(rules: Sequence[ast.Rule]) -> Iterator[ast.Rule]:
    """Rules of which all of one name have as many variables that keep rows apart: one of the head's is repeated."""
    widest: dict[str, int] = {}
    for rule in rules:
        widest[rule.name] = max(widest.get(rule.name, 0), len(rule.with_))
    for rule in rules:
        first = rule.places[0]
        repeated = first if isinstance(first, ast.Var) else first.var
        missing = widest[rule.name] - len(rule.with_)
        yield replace(rule, with_=(*rule.with_, *[repeated] * missing)) if missing else rule


def _place(form: Form, reader: ColumnReader) -> ast.Var | ast.FindAggregate:
    """`?x`, `(min ?x)`, `(* ?x 2)` or `(sum (* ?x 2))`."""
    if form.kind != "list":
        return _variable(form)
    if not is_call(form) or form.items[0].value.name.startswith("?"):
        raise invalid(form, f"{_PLACE}, not {shown(form)}")
    name, *given = form.items
    if _is_paired(name.value.name):
        return paired(form)
    if name.value.name in HEAD_AGGREGATES:
        if len(given) != 1 or not (is_variable(given[0]) or is_call(given[0])):
            raise invalid(form, f"{_PLACE}, not {shown(form)}; an aggregate there takes one variable or call")
        if is_call(given[0]):
            return reader.of_call(form)
        return ast.FindAggregate(name.value.name, (), variable(given[0]), position=form.position)
    if name.value.name in FIND_AGGREGATES:
        raise invalid(form, f"({shown(name)} …) cannot stand in a rule's head; use it in :find")
    if name.value.name not in (BUILTINS.keys() | CONDITIONALS.keys()):
        hint = nearest(name.value.name, (*HEAD_AGGREGATES, *BUILTINS, *CONDITIONALS))
        raise unknown(name, f"there is no aggregate or built-in {shown(name)}{hint}")
    return reader.value(form)


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
