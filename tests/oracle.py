"""A naive evaluator of parsed queries over a list of datoms: what the engine is compared with.

No cleverness: clause by clause, in the first order in which all become evaluable. Rows are dictionaries made
distinct by typed identity after every clause. The one index saves a pattern datoms that cannot match.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from adalog.datalog import ast
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.values import BigInt, Keyword, identity, sort_key, type_name
from tests.oracle_aggregates import element_value

Row = dict[str, Any]
MOST_ROWS = 20_000


class UnboundError(Exception):
    """No order of the clauses binds every variable before it is needed."""


class TooMuchError(Exception):
    """More intermediate rows than a test should wait for."""


class Derived(ABC):
    """A clause that evaluates itself: what rule calls are made into."""

    @abstractmethod
    def binds(self) -> set[str]: ...

    @abstractmethod
    def mentions(self) -> set[str]: ...

    @abstractmethod
    def evaluable(self, bound: set[str]) -> bool: ...

    @abstractmethod
    def extend(self, row: Row, sources: dict[str, Any]) -> Iterable[Row]: ...


class Facts:
    """A database as a list of datoms `(e, a, v, tx, added)`; what is known of its schema is in the datoms."""

    def __init__(self, datoms: Iterable[tuple[int, Keyword, Any, int, bool]]) -> None:
        self.datoms = list(datoms)

    @cached_property
    def idents(self) -> dict[Keyword, int]:
        return {v: e for e, a, v, _, _ in self.datoms if a == Keyword("db/ident")}

    @cached_property
    def types(self) -> dict[Keyword, str]:
        names = {e: ident for ident, e in self.idents.items()}
        typed = [(e, v) for e, a, v, _, _ in self.datoms if a == Keyword("db/valueType")]
        return {names[e]: names[v].local for e, v in typed}

    @cached_property
    def known(self) -> dict[tuple[Any, ...], list[tuple[int, Keyword, Any, int, bool]]]:
        """The datoms by attribute, and by attribute and the identity of what is in place 0 or 2."""
        found: dict[tuple[Any, ...], list[tuple[int, Keyword, Any, int, bool]]] = {}
        for datom in self.datoms:
            for rest in ((), (0, identity(datom[0])), (2, identity(datom[2]))):
                found.setdefault((datom[1], *rest), []).append(datom)
        return found

    def candidates(self, terms: Sequence[Any], row: Row) -> Iterable[tuple[int, Keyword, Any, int, bool]]:
        """The datoms that a pattern may match, of which each is still compared."""
        attribute = terms[1] if len(terms) > 1 else None
        if not isinstance(attribute, ast.Const):
            return self.datoms
        for place in (0, 2):
            term = terms[place] if place < len(terms) else None
            if isinstance(term, ast.Var) and term.name in row:
                return self.known.get((attribute.value, place, identity(row[term.name])), ())
        return self.known.get((attribute.value,), ())

    def entid(self, term: Any) -> Any:
        return self.entity(term)

    def values(self, e: Any, a: Keyword) -> tuple[Any, ...]:
        return tuple(d[2] for d in self.datoms if d[0] == e and d[1] == a)

    def entity(self, term: Any) -> Any:
        """The entity that a number, an ident or a lookup ref names; None: nobody."""
        if isinstance(term, Keyword):
            return self.idents.get(term)
        if isinstance(term, tuple):
            a, wanted = term[0], identity(coerced(term[1], self.types.get(term[0])))
            return next((d[0] for d in self.datoms if d[1] == a and identity(d[2]) == wanted), None)
        return term

    def value(self, a: Keyword, term: Any) -> Any:
        if self.types.get(a) == "ref" and isinstance(term, Keyword | tuple):
            return self.entity(term)
        return coerced(term, self.types.get(a))


def coerced(value: Any, kind: str | None) -> Any:
    """A literal as its attribute's declared type, where nothing is lost."""
    if kind == "double" and type_name(value) == "long" and int(float(value)) == value:
        return float(value)
    if kind == "long" and type_name(value) in ("double", "bigint") and value == value // 1:
        return int(value)
    if kind == "bigint" and type_name(value) == "long":
        return BigInt(value)
    return value


def same(left: Any, right: Any) -> bool:
    return identity(left) == identity(right)


# Variables


def terms_of(clause: ast.Clause) -> Iterator[Any]:
    """Everything that stands in the clause's own places."""
    if isinstance(clause, ast.Pattern):
        yield from clause.terms
    elif isinstance(clause, ast.Predicate | ast.Function):
        yield from clause.args


def needs(terms: Iterable[Any]) -> set[str]:
    """The variables that these terms read."""
    terms = [term.value if isinstance(term, ast.LookupRef) else term for term in terms]
    within = (needs(term.args) for term in terms if isinstance(term, ast.Expression))
    return {term.name for term in terms if isinstance(term, ast.Var)}.union(*within)


def outputs(binding: ast.Binding) -> list[Any]:
    return [binding.target] if hasattr(binding, "target") else list(binding.targets)


def binds(clause: ast.Clause) -> set[str]:
    """The variables that a clause can bind."""
    match clause:
        case ast.Pattern():
            return needs(clause.terms)
        case ast.Function():
            return needs(outputs(clause.binding))
        case ast.And():
            return set().union(*map(binds, clause.clauses))
        case ast.Or():
            return set().union(*map(binds, clause.branches))
        case ast.OrJoin():
            return needs(clause.required + clause.variables)
        case Derived():
            return clause.binds()
    return set()


def mentions(clause: ast.Clause) -> set[str]:
    """The variables that others can see in a clause."""
    match clause:
        case ast.And() | ast.Not():
            return set().union(*map(mentions, clause.clauses))
        case ast.Or():
            return set().union(*map(mentions, clause.branches))
        case ast.NotJoin():
            return needs(clause.variables)
        case Derived():
            return clause.mentions()
    return needs(terms_of(clause)) | binds(clause)


# Clauses


def flat(clauses: Sequence[ast.Clause]) -> list[ast.Clause]:
    return [
        inner for clause in clauses for inner in (flat(clause.clauses) if isinstance(clause, ast.And) else [clause])
    ]


def order(clauses: Sequence[ast.Clause], bound: set[str], outer: set[str]) -> list[ast.Clause]:
    """The clauses in the first order in which each can be evaluated; `outer`: what enclosing clauses may bind."""
    waiting, ordered = flat(clauses), []
    context = outer.union(*map(binds, waiting))
    while waiting:
        ready = next((clause for clause in waiting if evaluable(clause, bound, context)), None)
        if ready is None:
            raise UnboundError(waiting)
        waiting.remove(ready)
        ordered.append(ready)
        bound = bound | binds(ready)
    return ordered


def evaluable(clause: ast.Clause, bound: set[str], context: set[str]) -> bool:
    match clause:
        case ast.Pattern():
            return True
        case ast.Function(query=ast.Query() as inner):
            taken = needs(target for slot in inner.inputs[1:] for target in outputs(slot.binding))
            return needs(clause.args) <= bound and orderable(inner.where, taken, taken)
        case ast.Predicate() | ast.Function():
            return needs(clause.args) <= bound
        case ast.Or():
            return all(orderable(branch.clauses, bound, context) for branch in clause.branches)
        case ast.Optional():
            shared = needs(clause.required)
            return shared <= bound and orderable(clause.clauses, shared, binds(clause))
        case ast.OrJoin():
            listed = binds(clause)
            inside = bound & listed
            return needs(clause.required) <= bound and all(
                orderable(branch.clauses, inside, listed) and listed <= inside | binds(branch)
                for branch in clause.branches
            )
        case ast.Not():
            seen = mentions(clause)
            shared = seen & context
            return shared <= bound and bool(shared or not seen) and orderable(clause.clauses, bound, context)
        case ast.NotJoin():
            listed = needs(clause.variables)
            return listed <= bound and orderable(clause.clauses, listed, listed)
        case Derived():
            return clause.evaluable(bound)
    raise AssertionError(clause)


def orderable(clauses: Sequence[ast.Clause], bound: set[str], outer: set[str]) -> bool:
    try:
        order(clauses, bound, outer)
    except UnboundError:
        return False
    return True


def solve(clauses: Sequence[ast.Clause], rows: list[Row], outer: set[str], sources: dict[str, Any]) -> list[Row]:
    """Every row extended in every way that makes all clauses true. All rows bind the same variables."""
    if not rows:
        return rows
    context = outer.union(*map(binds, flat(clauses)))
    for clause in order(clauses, set(rows[0]), outer):
        rows = distinct(grown for row in rows for grown in extend(clause, row, context, sources))
        if not rows:
            return rows
    return rows


def extend(clause: ast.Clause, row: Row, context: set[str], sources: dict[str, Any]) -> Iterable[Row]:
    match clause:
        case ast.Pattern():
            source = sources[clause.source.name]
            return [
                grown
                for named in looked_up(clause.terms, row, source)
                for grown in match_pattern(clause, named, source)
            ]
        case ast.Predicate():
            return [row] if call(clause, row, sources) not in (None, False) else []
        case ast.Function():
            return bind(clause.binding, call(clause, row, sources), row)
        case ast.Or():
            return [grown for branch in clause.branches for grown in solve(branch.clauses, [row], context, sources)]
        case ast.Optional():
            inside = {name: row[name] for name in needs(clause.required)}
            own = needs(clause.variables)
            found = solve(clause.clauses, [inside], binds(clause), sources)
            return [row | {name: grown[name] for name in own} for grown in found or [dict.fromkeys(own)]]
        case ast.OrJoin():
            listed = binds(clause)
            inside = {name: row[name] for name in listed & row.keys()}
            found = [g for branch in clause.branches for g in solve(branch.clauses, [inside], listed, sources)]
            return [row | {name: grown[name] for name in listed} for grown in found]
        case ast.Not():
            return [] if solve(clause.clauses, [row], context, sources) else [row]
        case ast.NotJoin():
            listed = needs(clause.variables)
            inside = {name: row[name] for name in listed}
            return [] if solve(clause.clauses, [inside], listed, sources) else [row]
        case Derived():
            return clause.extend(row, sources)
    raise AssertionError(clause)


def distinct(rows: Iterable[Row]) -> list[Row]:
    kept: dict[Any, Row] = {}
    for row in rows:
        kept.setdefault(frozenset((name, identity(value)) for name, value in row.items()), row)
        if len(kept) > MOST_ROWS:
            raise TooMuchError
    return list(kept.values())


def looked_up(terms: Iterable[Any], row: Row, source: Any) -> list[Row]:
    """The row once for each value that a variable inside a lookup ref can have."""
    rows = [row]
    for term in terms:
        if isinstance(term, ast.LookupRef) and isinstance(term.value, ast.Var):
            values = [value for _, a, value, _, _ in source.datoms if a == term.attribute.value]
            rows = [
                grown for each in rows for value in values if (grown := unify(term.value, value, each)) is not None
            ]
    return rows


def match_pattern(clause: ast.Pattern, row: Row, source: Any) -> Iterator[Row]:
    for fact in source.candidates(clause.terms, row) if isinstance(source, Facts) else source:
        grown: Row | None = row
        for place, (term, value) in enumerate(zip(clause.terms, fact, strict=False)):
            grown = unify(resolve(term, place, fact, grown, source), value, grown)
            if grown is None:
                break
        else:
            yield grown


def resolve(term: Any, place: int, fact: Any, row: Row, source: Any) -> Any:
    """A constant as the value it stands for in its place; other terms as they are."""
    if isinstance(term, ast.LookupRef):
        value = row[term.value.name] if isinstance(term.value, ast.Var) else term.value.value
        constant = (term.attribute.value, value)
    elif isinstance(term, ast.Const):
        constant = term.value
    else:
        return term
    if isinstance(source, Facts):
        constant = (
            source.entity(constant) if place == 0 else source.value(fact[1], constant) if place == 2 else constant
        )
    return ast.Const(constant, identity(constant))


def unify(term: Any, value: Any, row: Row) -> Row | None:
    if isinstance(term, ast.Const):
        return row if same(term.value, value) else None
    if isinstance(term, ast.Var):
        if term.name in row:
            return row if same(row[term.name], value) else None
        return row | {term.name: value}
    return row


def call(clause: Any, row: Row, sources: dict[str, Any]) -> Any:
    if clause.name == "q":
        return within(clause, row, sources)
    args = [
        row[a.name]
        if isinstance(a, ast.Var)
        else call(a, row, sources)
        if isinstance(a, ast.Expression)
        else a.value
        for a in clause.args
        if not isinstance(a, ast.Source)
    ]
    if clause.name == "coalesce":
        return next((each for each in args if each is not None), None)
    builtin = BUILTINS[clause.name]
    if builtin.nil_gives_nil and None in args:
        return None
    if builtin.needs_database:
        name = next((a.name for a in clause.args if isinstance(a, ast.Source)), "$")
        return builtin.call(sources[name], *args)
    return builtin.call(*args)


def within(clause: ast.Function, row: Row, sources: dict[str, Any]) -> tuple[Any, ...]:
    """What a query within the query finds, as rows or as a column."""
    values = [row[a.name] if isinstance(a, ast.Var) else getattr(a, "value", None) for a in clause.args[1:]]
    rows = answer(clause.query, sources[clause.args[0].name], values)
    return tuple(each for (each,) in rows) if clause.query.find.shape == "collection" else tuple(rows)


def bind(binding: ast.Binding, value: Any, row: Row) -> list[Row]:
    """The row once for each way in which the value fits the binding; nil fits none."""
    if value is None:
        return []
    match binding:
        case ast.ScalarBinding():
            tuples = [(value,)]
        case ast.CollectionBinding():
            tuples = [(item,) for item in value if item is not None]
        case ast.TupleBinding():
            tuples = [tuple(value)]
        case _:
            tuples = [tuple(item) for item in value]
    grown = []
    for items in tuples:
        candidate: Row | None = row
        for target, item in zip(outputs(binding), items, strict=False):
            candidate = None if candidate is None or item is None else unify(target, item, candidate)
        if candidate is not None:
            grown.append(candidate)
    return grown


# The query


def answer(query: ast.Query, default: Facts, args: Sequence[Any]) -> list[tuple[Any, ...]]:
    """All distinct rows of find, before `:offset` and `:limit`; in order where there is an `:order-by`."""
    sources: dict[str, Any] = {"$": default}
    rows: list[Row] = [{}]
    given = iter(args)
    for slot in query.inputs:
        if isinstance(slot, ast.BindingInput):
            argument = next(given)
            rows = [grown for row in rows for grown in bind(slot.binding, argument, row)]
        elif slot.name != "$":
            sources[slot.name] = next(given)
    names = {
        name for slot in query.inputs if isinstance(slot, ast.BindingInput) for name in needs(outputs(slot.binding))
    }
    wanted = {e.var.name for e in query.find.elements} | {variable.name for variable in query.with_}
    ordering = {key.var.name for key in query.order_by if key.outside}
    ordered = order(query.where, names, names)
    if not wanted | ordering <= names.union(*map(binds, ordered)):
        raise UnboundError(wanted | ordering)
    rows = solve(query.where, distinct(rows), names, sources)
    plain = [e.var.name for e in query.find.elements if isinstance(e, ast.FindVar)]

    def grouped(wanted: set[str]) -> dict[Any, list[Row]]:
        groups: dict[Any, list[Row]] = {}
        for row in distinct({name: row[name] for name in wanted} for row in rows):
            groups.setdefault(tuple(identity(row[name]) for name in plain), []).append(row)
        return groups

    whole = grouped(wanted | ordering)
    found = []
    for group, members in grouped(wanted).items():
        row = OrderedRow(element_value(e, members) for e in query.find.elements)
        row.ranks = [rank(key, query, row, whole[group]) for key in query.order_by]
        found.append(row)
    for place, key in reversed(list(enumerate(query.order_by))):
        found.sort(key=lambda row, place=place: row.ranks[place], reverse=key.descending)
    return found


class OrderedRow(tuple[Any, ...]):
    """A row and what orders it."""

    ranks: list[Any]


def rank(key: ast.OrderKey, query: ast.Query, row: tuple[Any, ...], group: list[Row]) -> Any:
    if key.outside:
        values = [each[key.var.name] for each in group if each[key.var.name] is not None]
    else:
        values = [row[[element.label for element in query.find.elements].index(key.var.name)]]
    ends = [sort_key(each) for each in values if each is not None]
    # Nil is last in either direction.
    return (bool(ends) == key.descending, (max if key.descending else min)(ends, default=()))
