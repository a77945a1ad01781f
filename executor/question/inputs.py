"""Settled arguments as the join wants them: the first batch, relations of codes, and databases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from adalog.datalog import ast
from adalog.datalog.edn import write
from adalog.datalog.edn.writer import shown
from adalog.datalog.errors import AdalogError, invalid_argument
from adalog.datalog.parsing.nested import input_name
from adalog.datalog.values import EdnSet, Keyword, NotAValueError, identity, type_name
from adalog.datalog.watched import WatchedList
from adalog.executor.join.batch import Batch, Column
from adalog.executor.question.arguments import UNBOUND, matched, refusal
from adalog.planner.model.plan import Plan
from adalog.planner.scope.resolve import plain_value
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.codes import Scratch


@dataclass
class Inputs:
    """`start` is None where the scalar inputs contradict each other."""

    start: Batch | None = field(default_factory=lambda: Batch(1, {}))
    relations: dict[str, list[Column]] = field(default_factory=dict)
    databases: dict[str, Snapshot] = field(default_factory=dict)


def sizes_of(query: ast.Query, args: Sequence[Any]) -> dict[str, int]:
    """The number of tuples of every relation and collection input, by the name of its relation."""
    sizes: dict[str, int] = {}
    for place, (each, value) in enumerate(matched(query, args)):
        if isinstance(each, ast.SourceInput) and place > 0 and not isinstance(value, Snapshot):
            sizes[each.name] = len(value) if hasattr(value, "__len__") else 1
        binding = each.binding if isinstance(each, ast.BindingInput) else None
        if isinstance(binding, ast.CollectionBinding | ast.RelationBinding):
            sizes[f"in {place}"] = len(value) if hasattr(value, "__len__") else 1
    return sizes


def limited(plan: Plan, args: Sequence[Any]) -> Plan:
    """The plan with numbers for the variables of :limit, :offset and `(max ?n ?x)`. Raises ARG_INVALID for other
    values."""
    query = plan.query
    by_rows = isinstance(query.limit, ast.Var) or isinstance(query.offset, ast.Var)
    return replace(plan, query=numbered(query, args)) if by_rows or query.find.takes_numbers else plan


def numbered(query: ast.Query, args: Sequence[Any]) -> ast.Query:
    """The same for a query."""
    given: dict[str, Any] = {}
    for each, value in matched(query, args):
        binding = each.binding if isinstance(each, ast.BindingInput) else None
        if isinstance(binding, ast.ScalarBinding) and isinstance(binding.target, ast.Var):
            given[binding.target.name] = value
    if query.find.takes_numbers:
        query = replace(query, find=_with_numbers(query.find, given))
    return with_row_numbers(query, given)


def _with_numbers(find: ast.Find, values: Mapping[str, Any]) -> ast.Find:
    """The find spec with numbers for the variables before those of aggregates."""

    def number(element: ast.FindAggregate, given: ast.Const | ast.Var) -> ast.Const:
        if isinstance(given, ast.Const):
            return given
        value = values[given.name]
        if type(value) is not int or value < 0:
            message = f"{given.name} is the number of {element.label}, a non-negative whole number, but was given"
            raise invalid_argument(f"{message} {shown(value)}", given.position)
        return ast.Const(value, identity(value), position=given.position)

    def with_number(column: Any) -> Any:
        if not isinstance(column, ast.FindAggregate) or not column.args:
            return column
        return replace(column, args=tuple(number(column, each) for each in column.args), written=column.label)

    return replace(
        find, elements=tuple(map(with_number, find.elements)), hidden=tuple(map(with_number, find.hidden))
    )


def with_row_numbers(query: ast.Query, values: Mapping[str, Any]) -> ast.Query:
    """The query with numbers for the variables of :limit and :offset."""

    def number(section: str, given: ast.RowNumber | None) -> int | None:
        if not isinstance(given, ast.Var):
            return given
        value = values[given.name]
        if type(value) is not int or value < 0:
            message = f"{given.name} is the :{section}, a non-negative whole number, but was given {shown(value)}"
            raise invalid_argument(message, given.position)
        return value

    return replace(query, limit=number("limit", query.limit), offset=number("offset", query.offset) or 0)


def constant_codes(plan: Plan, snapshot: Snapshot | None, values: Scratch) -> dict[str, int]:
    """The constants of a plan's rule calls by their variables, read as arguments are."""
    codes: dict[str, int] = {}
    for name, term in plan.constants:
        value = plain_value(term)
        if snapshot is not None and name in plan.entities:
            value = entity_named(snapshot, value)
        codes[name] = values.intern(_plain(value))
    return codes


def code_given(query: ast.Query, args: Sequence[Any], binding: ast.Binding, values: Scratch) -> int:
    """The code of the argument of a binding in `:in`, whole."""
    pairs = ((each.binding, value) for each, value in matched(query, args) if isinstance(each, ast.BindingInput))
    value = next(value for each, value in pairs if each == binding)
    rows = getattr(value, "items", None)
    return values.intern(_plain(value if rows is None else list(rows())))


def bind_inputs(
    plan: Plan, args: Sequence[Any], snapshot: Snapshot, values: Scratch, check: Callable[[], None] = lambda: None
) -> Inputs:
    """Interns the arguments; for variables in entity places idents and lookup refs become entity ids. Of what is
    UNBOUND there is nothing. `check` is called now and then, and may raise."""
    inputs = Inputs()
    start = constant_codes(plan, snapshot, values)
    pairs = matched(plan.query, args)
    sources = ((each.name, value) for each, value in pairs if isinstance(each, ast.SourceInput))
    given = {name: value for name, value in sources if isinstance(value, Snapshot)}

    def database_of(target: ast.Var) -> Snapshot:
        """Where a name means an entity: the source that alone reads it, else `$`."""
        readers = {each.source for each in plan.places.variables.get(target.name, ())}
        found = given.get(readers.pop()) if len(readers) == 1 else None
        return snapshot if found is None else found

    def code(target: ast.Var | ast.Blank, value: Any) -> int:
        if isinstance(target, ast.Var) and target.name in plan.entities:
            value = entity_named(database_of(target), value)
        return values.intern(_plain(value))

    def column(target: ast.Var | ast.Blank, items: Sequence[Any]) -> Column:
        items = WatchedList(items, check)
        if isinstance(target, ast.Var) and target.name in plan.entities:
            database = database_of(target)
            return values.intern_many(_plain(entity_named(database, item)) for item in items)
        return values.intern_many(map(_plain, items))

    for place, (each, value) in enumerate(pairs):
        try:
            if isinstance(each, ast.SourceInput):
                if value is None and place == 0:
                    inputs.databases[each.name] = snapshot
                elif isinstance(value, Snapshot):
                    inputs.databases[each.name] = value
                else:
                    inputs.relations[each.name] = _relation(each, None, value, column)
            elif isinstance(each, ast.BindingInput) and value is not UNBOUND:
                binding = each.binding
                match binding:
                    case ast.ScalarBinding():
                        _bind(inputs, start, binding.target, code(binding.target, value))
                    case ast.TupleBinding():
                        items = _tuple(each, binding.targets, value)
                        for target, item in zip(binding.targets, items, strict=False):
                            _bind(inputs, start, target, code(target, item))
                    case ast.CollectionBinding():
                        items = _sequence(each, value)
                        inputs.relations[f"in {place}"] = [column(binding.target, items)]
                    case ast.RelationBinding():
                        inputs.relations[f"in {place}"] = _relation(each, binding.targets, value, column)
        except NotAValueError as wrong:
            raise refusal(each, wrong) from None
    if inputs.start is not None:
        inputs.start = Batch(1, {name: np.array([x], np.int64) for name, x in start.items()})
    return inputs


def _bind(inputs: Inputs, start: dict[str, int], target: ast.Var | ast.Blank, code: int) -> None:
    if isinstance(target, ast.Var) and start.setdefault(target.name, code) != code:
        inputs.start = None


def entity_named(snapshot: Snapshot, value: Any) -> Any:
    """Idents and lookup refs as entity ids; what names nothing stays, and matches nothing."""
    is_lookup = isinstance(value, tuple | list) and len(value) == 2 and isinstance(value[0], Keyword)
    if is_lookup or isinstance(value, Keyword):
        found = snapshot.entid(tuple(value) if isinstance(value, list) else value)
        return value if found is None else found
    return value


def entities_named(snapshot: Snapshot, entities: frozenset[str], binding: ast.Binding, value: Any) -> Any:
    """The argument of an input with entity ids in place of idents and lookup refs, wherever the binding hands them
    to one of the variables `entities`. A value that the binding cannot take apart stays."""

    def named(target: ast.Var | ast.Blank, item: Any) -> Any:
        return entity_named(snapshot, item) if isinstance(target, ast.Var) and target.name in entities else item

    def tuple_named(targets: Sequence[ast.Var | ast.Blank], items: Any) -> Any:
        if not isinstance(items, tuple) or len(items) < len(targets):
            return items
        return (*map(named, targets, items), *items[len(targets) :])

    match binding:
        case ast.ScalarBinding(target=target):
            return named(target, value)
        case ast.TupleBinding(targets=targets):
            return tuple_named(targets, value)
        case ast.CollectionBinding(target=target) if isinstance(value, tuple | EdnSet):
            return tuple(named(target, item) for item in value)
        case ast.RelationBinding(targets=targets) if isinstance(value, tuple | EdnSet):
            return tuple(tuple_named(targets, row) for row in value)
    return value


def _plain(value: Any) -> Any:
    return tuple(_plain(item) for item in value) if type(value) is list else value


def _sequence(each: ast.Input, value: Any) -> Sequence[Any]:
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__") or hasattr(value, "items"):
        raise _refused(each, "a list", value)
    return list(value)


def _tuple(each: ast.Input, targets: Sequence[Any], value: Any) -> Sequence[Any]:
    items = _sequence(each, value)
    if len(items) < len(targets):
        raise _refused(each, f"a list of {len(targets)}", value)
    return items


def _relation(
    each: ast.Input,
    targets: Sequence[ast.Var | ast.Blank] | None,
    value: Any,
    column: Callable[[ast.Var | ast.Blank, Sequence[Any]], Column],
) -> list[Column]:
    pairs = getattr(value, "items", None)
    rows = [tuple(_sequence(each, row)) for row in (list(pairs()) if pairs is not None else _sequence(each, value))]
    if not rows:
        return [np.empty(0, np.int64) for _ in targets or ()]
    width = len(rows[0]) if targets is None else len(targets)
    short = next((row for row in rows if len(row) < width or (targets is None and len(row) != width)), None)
    if short is not None:
        raise _refused(each, f"a list of tuples of {width}", short)
    unnamed = ast.Blank(position=each.position)
    return [column(unnamed if targets is None else targets[i], [row[i] for row in rows]) for i in range(width)]


def _refused(each: ast.Input, wanted: str, value: Any) -> AdalogError:
    if isinstance(each, ast.SourceInput):
        wanted = "a basis or a list of tuples"
    shown = write(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "…"
    message = f"{input_name(each)} takes {wanted}, but was given {shown} (a {type_name(value)})"
    return invalid_argument(message, each.position)
