"""Calls in `:find`, `:having` and `:order-by`: what is computed for each tuple, and what for each group.

A call without aggregates becomes a function of `:where` with a variable that no symbol can be: the call as it is
written. So do the arguments of aggregates. A call over aggregates stays one, and has the columns of the group as
variables by their labels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from adalog.datalog import ast
from adalog.datalog.aggregates import AGGREGATES, FIND_AGGREGATES, TALLY, Reduction
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.builtins.conditionals import CONDITIONALS
from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.names import names_in, variables_of
from adalog.datalog.parsing.calls import CallParser
from adalog.datalog.parsing.foreign_names import instead_of_aggregate
from adalog.datalog.parsing.forms import Form, constant, invalid, is_call, is_symbol, is_variable, shown, variable
from adalog.datalog.values import identity

_ONE = ast.Const(1, identity(1))


def is_aggregated(form: Form) -> bool:
    """Whether a form has an aggregate in it."""
    if not is_call(form):
        return False
    return form.items[0].value.name in FIND_AGGREGATES or any(map(is_aggregated, form.items[1:]))


def _aggregate_within(form: Form) -> Form | None:
    """The first aggregate in the argument of one, where `min`, `max` and `count` are functions."""
    if not is_call(form):
        return None
    name = form.items[0].value.name
    if name in FIND_AGGREGATES and name not in BUILTINS:
        return form
    return next((found for each in form.items[1:] if (found := _aggregate_within(each)) is not None), None)


def is_known_call(form: Form) -> bool:
    """Whether a form is an aggregate, a pull, a built-in or a conditional, rather than a list of variables."""
    if not is_call(form):
        return False
    name, *rest = form.items
    if name.value.name in (*FIND_AGGREGATES, "pull"):
        return True
    # A list of plain symbols was one of variables before it could be a call.
    plain = all(is_variable(each) and not each.value.name.startswith("?") for each in rest)
    return name.value.name in (BUILTINS.keys() | CONDITIONALS.keys()) and bool(rest) and not plain


@dataclass
class ColumnReader:
    """`calls` reads those for each tuple. `given`: the variables that `:in` gives one value. `functions`: the
    clauses that calls become, by their variables. `apart`: the variables that arguments of aggregates in `:find`
    are computed from. `counts_rows`: whether `:find` has `(count *)`. `mentioned`: all variables of calls, with
    their section, which is `section` for those that come."""

    calls: CallParser
    given: frozenset[str]
    functions: dict[str, ast.Function] = field(default_factory=dict)
    apart: dict[str, ast.Var] = field(default_factory=dict)
    mentioned: dict[str, tuple[ast.Var, str]] = field(default_factory=dict)
    section: str = ":find"
    counts_rows: bool = False

    def rows_apart(self, where: Sequence[ast.Clause], given: Collection[str]) -> None:
        """Adds the variables of all clauses and inputs to `apart`, if rows are counted."""
        names = names_in(where)
        if "*" in self.functions and "*" in names:
            message = "* is a variable in :where, and all rows in (count *): give the variable another name"
            raise AdalogError(Code.QUERY_INVALID, message, names["*"])
        if self.counts_rows:
            self.apart |= {name: ast.Var(name, position=names.get(name)) for name in (*names, *given)}

    def value(self, form: Form) -> ast.Var:
        """The variable that has the value of a call without aggregates."""
        return self._bound(self.calls.call(form), form)

    def _bound(self, call: ast.Expression, form: Form) -> ast.Var:
        self._mention(variables_of(call))
        var = ast.Var(write(form.value), position=form.position)
        binding = ast.ScalarBinding(var)
        self.functions[var.name] = ast.Function(
            call.name, call.args, binding, keeps_nil=True, position=form.position
        )
        return var

    def _mention(self, variables: Iterable[ast.Var]) -> None:
        for each in variables:
            self.mentioned.setdefault(each.name, (each, self.section))

    def aggregate(self, form: Form, *, in_find: bool = True) -> ast.FindAggregate:
        """`(sum ?x)`, `(max 3 ?x)`, `(sum (* ?x ?y))`. `in_find`: the variables of its argument part tuples."""
        head, *rest = form.items
        name = head.value.name
        known = AGGREGATES.get(name)
        if known is None or not known.in_find:
            raise invalid(head, _no_aggregate(form, name))
        if rest and is_call(rest[-1]) and _is_misplaced(name, rest[-1]):
            rest = [*rest[:-1], *rest[-1].items]
        if len(rest) == 2 and is_symbol(rest[0]) and f"{name}-{rest[0].value.name}" in FIND_AGGREGATES:
            raise invalid(form, f"write ({name}-{shown(rest[0])} {shown(rest[1])})")
        if known.of_pairs:
            pairs = paired(form)
            (self.functions[pairs.var.name],) = pair_clauses((pairs,))
            self._mention(map(variable, rest))
            return pairs
        if len(rest) == 1 and is_symbol(rest[0]) and rest[0].value.name == "*":
            if known.reduction not in (Reduction.COUNT, Reduction.COUNT_DISTINCT):
                raise invalid(
                    rest[0], f"{name} aggregates a variable: ({name} ?e) for the entities of [?e :person/name]"
                )
            return self._rows(rest[0], in_find=in_find)
        if rest and (inner := _aggregate_within(rest[-1])) is not None:
            raise invalid(
                inner,
                f"({name} …) takes values of rows, and {shown(inner)} is one of a group: find it in a query within "
                f"the query, [(q [:find ?key {shown(inner)} :where …] $) [[?key ?each]]], then ({name} ?each)",
            )
        if not rest or not (is_variable(rest[-1]) or is_call(rest[-1])):
            raise invalid(rest[-1] if rest else form, f"({name} …) aggregates a variable: ({name} ?x)")
        constants = rest[:-1]
        if not known.min_args <= len(constants) <= known.max_args:
            takes = f"({name} ?x)" if known.max_args == 0 else f"({name} n ?x)"
            raise invalid(form, f"{shown(form)} has the wrong number of arguments; write {takes}")
        for each in constants:
            if is_variable(each) and each.value.name in self.given and in_find:
                continue
            if type(each.value) is not int or each.value < 0 or each.kind != "atom":
                hint = ", or a variable that stands by itself in :in" if is_variable(each) and in_find else ""
                raise invalid(each, f"({name} n ?x) takes a whole number for n{hint}, not {shown(each)}")
        args = tuple(variable(each) if is_variable(each) else constant(each) for each in constants)
        if is_variable(rest[-1]):
            return ast.FindAggregate(name, args, variable(rest[-1]), position=form.position)
        return replace(self.of_call(form, in_find=in_find), args=args)

    def _rows(self, star: Form, *, in_find: bool) -> ast.FindAggregate:
        """`(count *)` and `(count-distinct *)`: over a constant, beside the variables of all clauses."""
        var = variable(star)
        self.functions[var.name] = ast.Function("ground", (_ONE,), ast.ScalarBinding(var), position=star.position)
        self.counts_rows |= in_find
        return ast.FindAggregate(TALLY, (), var, position=star.position)

    def of_call(self, form: Form, *, in_find: bool = True) -> ast.FindAggregate:
        """`(sum (* ?x ?y))`, without the constants before the call."""
        name, argument = form.items[0].value.name, form.items[-1]
        call = self.calls.call(argument)
        if in_find:
            self.apart |= {each.name: each for each in variables_of(call)}
        return ast.FindAggregate(name, (), self._bound(call, argument), may_be_nil=True, position=form.position)

    def grouped(
        self,
        form: Form,
        columns: dict[str, ast.FindColumn],
        find: ast.Find | None = None,
        *,
        aggregate: Callable[[Form], ast.FindAggregate] | None = None,
    ) -> ast.Expression:
        """A call with aggregates in it. `columns`: takes those that it is computed from, by their labels. `find`:
        the find spec, outside of which it stands. `aggregate` reads aggregates other than those of `:find`."""
        known = {} if find is None else {each.label: each for each in find.columns}

        def column(each: Form) -> ast.Term:
            made: ast.FindColumn
            if is_variable(each):
                made = ast.FindVar(variable(each))
                self._mention((made.var,))
            elif not is_call(each):
                return constant(each)
            elif each.items[0].value.name in FIND_AGGREGATES:
                made = self.aggregate(each, in_find=find is None) if aggregate is None else aggregate(each)
            else:
                made = known[write(each.value)]
            columns.setdefault(made.label, made)
            return ast.Var(made.label, position=each.position)

        return _GroupCalls(self.calls.source, column, known=frozenset(known)).call(form)


@dataclass(frozen=True)
class _GroupCalls(CallParser):
    """Calls over columns of groups. `known`: the labels of columns."""

    known: frozenset[str] = frozenset()

    def within(self, form: Form) -> ast.Argument:
        if form.items[0].value.name in FIND_AGGREGATES or write(form.value) in self.known:
            return self.term(form)
        return self.call(form)

    def call(self, form: Form) -> ast.Expression:
        name = form.items[0].value.name
        if name in BUILTINS and BUILTINS[name].needs_database:
            raise invalid(form, f"({name} …) looks into the database, not into groups; bind its value in :where")
        return super().call(form)


def _is_misplaced(name: str, form: Form) -> bool:
    """`(count (distinct ?x))`"""
    inner = form.items[0].value.name
    return inner not in BUILTINS and f"{name}-{inner}" in FIND_AGGREGATES


def _no_aggregate(form: Form, name: str) -> str:
    if name == "*" and len(form.items) == 1:
        return "an aggregate takes a variable within its brackets: (count ?e) for the entities of [?e :person/name]"
    if name.startswith("?"):
        written = shown(form)[1:]
        return f"the name of an aggregate stands within its brackets: (count {written}, not count({written}"
    return f"there is no aggregate {name}{instead_of_aggregate(name)}"


def paired(form: Form) -> ast.FindAggregate:
    """`(min-by ?cost ?path)`: over a variable that `pair_clauses` binds to pairs."""
    name, *rest = form.items
    if len(rest) != 2 or not all(map(is_variable, rest)):
        example = f"({shown(name)} ?cost ?path)"
        raise invalid(form, f"{shown(form)}: {shown(name)} takes what it compares and what it gives: {example}")
    # No symbol has a space in it, so that no variable of the query is meant.
    pair = ast.Var(" ".join(map(shown, rest)), position=rest[0].position)
    return ast.FindAggregate(name.value.name, (), pair, position=form.position)


def pair_clauses(places: Iterable[object]) -> tuple[ast.Function, ...]:
    """What binds the pairs of aggregates that take two variables."""
    pairs = [each.var for each in places if isinstance(each, ast.FindAggregate) and each.known.of_pairs]
    return tuple(
        ast.Function(
            "tuple",
            tuple(ast.Var(name, position=pair.position) for name in pair.name.split(" ")),
            ast.ScalarBinding(pair),
            position=pair.position,
        )
        for pair in dict.fromkeys(pairs)
    )


# What :having and :order-by may ask of groups


def read_having(
    forms: Sequence[Form], reader: ColumnReader, find: ast.Find, with_: Sequence[ast.Var]
) -> tuple[tuple[ast.Expression, ...], tuple[ast.Predicate, ...], ast.Find]:
    """(conditions on groups, those for each tuple, the find spec with the columns that they take)."""
    reader.section = ":having"
    columns: dict[str, ast.FindColumn] = {}
    conditions: list[ast.Expression] = []
    early: list[ast.Predicate] = []
    for form in _entries(forms):
        if is_aggregated(form):
            if form.items[0].value.name in FIND_AGGREGATES:
                raise invalid(form, f":having takes conditions, such as (> {shown(form)} 1)")
            conditions.append(reader.grouped(form, columns, find))
        else:
            early.append(_early(form, reader, find, with_))
    return tuple(conditions), tuple(early), with_columns(find, columns, with_, reader)


def _entries(forms: Sequence[Form]) -> Iterator[Form]:
    for form in forms:
        if form.kind == "vector" and form.items:
            yield from _entries(form.items)
        elif is_call(form):
            yield form
        else:
            raise invalid(form, f":having takes conditions on groups, such as (> (count ?x) 1), not {shown(form)}")


def _early(form: Form, reader: ColumnReader, find: ast.Find, with_: Sequence[ast.Var]) -> ast.Predicate:
    """A condition without aggregates holds of all tuples of a group or of none."""
    known: dict[str, ast.Var] = {each.var.name: each.var for each in find.columns if isinstance(each, ast.FindVar)}
    known |= {each.var.name: each.var for each in find.columns if isinstance(each, ast.FindPull)}
    if not find.has_aggregates:
        known |= {each.name: each for each in with_}
    if write(form.value) in known:
        return ast.Predicate("identity", (known[write(form.value)],), position=form.position)
    call = _KeyCalls(reader.calls.source, reader.calls.term, known=known).call(form)
    for each in variables_of(call):
        if each.name not in known and each.name not in reader.given:
            hint = (
                "is no key of groups, which :find has outside aggregates" if find.has_aggregates else "is not there"
            )
            message = f":having takes the variables of :find, and {each.name} {hint}"
            raise AdalogError(Code.QUERY_INVALID, message, each.position)
    return ast.Predicate(call.name, call.args, position=form.position)


@dataclass(frozen=True)
class _KeyCalls(CallParser):
    """Calls over keys of groups, of which some are calls themselves."""

    known: Mapping[str, ast.Var] = field(default_factory=dict)

    def within(self, form: Form) -> ast.Argument:
        key = self.known.get(write(form.value))
        return super().within(form) if key is None else ast.Var(key.name, position=form.position)


def with_columns(
    find: ast.Find, columns: Mapping[str, ast.FindColumn], with_: Sequence[ast.Var], reader: ColumnReader
) -> ast.Find:
    """The find spec with more columns of its groups. Raises QUERY_INVALID for one that would change the groups, or
    the tuples that aggregates run over."""
    labels = {each.label for each in find.columns}
    new = {label: each for label, each in columns.items() if label not in labels}
    keys = {each.var.name for each in find.columns if not isinstance(each, ast.FindAggregate)}
    apart = {each.name for each in (*(each.var for each in find.columns), *with_)}
    for column in new.values():
        if isinstance(column, ast.FindAggregate):
            made = reader.functions.get(column.var.name)
            taken = (column.var,) if made is None else variables_of(ast.Expression(made.name, made.args))
            wrong = next((each for each in taken if each.name not in apart), None)
            why = "stands neither in :find nor in :with; add it to :with"
        else:
            wrong = None if column.var.name in keys or column.var.name in reader.given else column.var
            why = "is no key of the groups, which :find has outside aggregates"
        if wrong is not None:
            raise AdalogError(Code.QUERY_INVALID, f"{wrong.name} in {reader.section} {why}", wrong.position)
    return replace(find, hidden=(*find.hidden, *new.values()))


def skipping_nil(find: ast.Find, names: Collection[str]) -> ast.Find:
    """The find spec with aggregates that skip nil among the values of these variables."""

    def skipping(column: Any) -> Any:
        is_over = isinstance(column, ast.FindAggregate) and column.var.name in names
        return replace(column, may_be_nil=True) if is_over else column

    if not any(isinstance(each, ast.FindAggregate) and each.var.name in names for each in find.columns):
        return find
    return replace(find, elements=tuple(map(skipping, find.elements)), hidden=tuple(map(skipping, find.hidden)))
