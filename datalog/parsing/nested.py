"""A query within a query: `[(q [:find …] $ ?x) binding]`, and what its arguments may be.

The inner query is read by the same parser from the same text, so that its refusals point into it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adalog.datalog import ast
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.parsing.forms import Form, arguments, invalid, is_source, is_symbol, shown, unquoted
from adalog.datalog.values import identity

NAMES = frozenset(("q", "d/q", "datomic.api/q", "datascript.core/q"))
"""What Datomic and DataScript call it, by the namespaces it is usually required as."""


@dataclass(frozen=True)
class Inner:
    """A parsed inner query with its inputs as written: `$` may be anywhere among them, or left out."""

    query: ast.Query
    written: tuple[ast.Input, ...]


ParseInner = Callable[[Form], Inner]


def no_inner(form: Form) -> Inner:
    """For places where no query may stand."""
    raise invalid(form, "a query within the query is a clause of its own")


def inner_query(form: Form, parse: ParseInner) -> Inner:
    """The query of a form within a query. Raises QUERY_INVALID for what only the outer one can have."""
    inner = parse(form)
    if inner.query.timeout_ms is not None:
        raise invalid(form, "a query within a query has no :timeout of its own; give it to the outer one")
    for column in inner.query.find.columns:
        counts = column.args if isinstance(column, ast.FindAggregate) else ()
        for count in counts:
            if isinstance(count, ast.Var):
                message = f"a query within a query writes a number for {count.name}, as in (max 3 ?x)"
                raise AdalogError(Code.QUERY_INVALID, message, count.position)
    for element in inner.query.find.elements:
        if isinstance(element, ast.FindPull) and isinstance(element.pattern, ast.Var):
            message = f"a query within a query writes its pull pattern out: {element.pattern.name} is none"
            raise AdalogError(Code.QUERY_INVALID, message, element.pattern.position)
    return inner


Argument = Callable[[Form], ast.Term | ast.Source]


def nested_call(
    call: Form, parse: ParseInner, source: Callable[[Form], ast.Source], term: Argument, default: str
) -> tuple[ast.Query, tuple[ast.Term | ast.Source, ...]]:
    """The inner query of `(q query argument …)`, and its arguments in the order of `query.inputs` without `%`.
    `default`: the source of one that names none."""
    head, *rest = call.items
    if not rest:
        raise invalid(call, f"({shown(head)} …) takes a query and its arguments: (q [:find ?x :where …] $)")
    inner = inner_query(rest[0], parse)
    given: Sequence[Form] = rest[1:]
    written = inner.written or (ast.SourceInput("$"),) * bool(given)
    if len(given) + 1 == len(written) and not any(map(is_source, given[:1])):
        # XTDB's queries within queries read the same database, and only their :in names it.
        written = tuple(each for each in written if each != ast.SourceInput("$"))
    if len(given) != len(written):
        raise invalid(call, _miscounted(written, len(given)))
    found: dict[ast.Input, ast.Term | ast.Source] = {}
    for each, form in zip(written, given, strict=True):
        match each:
            case ast.SourceInput():
                if not is_source(form):
                    raise invalid(form, f"{each.name} of this query takes a source such as $, not {shown(form)}")
                found[each] = source(form)
            case ast.RulesInput():
                if not (is_symbol(form) and form.value.name == "%"):
                    raise invalid(form, f"% of this query takes the rules of the outer one: %, not {shown(form)}")
            case ast.BindingInput():
                found[each] = _value(each, unquoted(form), term)
    of_text = inner.query.inputs[len(inner.query.inputs) - len(inner.query.args) :]
    for each, value in zip(of_text, inner.query.args, strict=True):
        found[each] = ast.Const(value, identity(value), position=each.position)
    return inner.query, tuple(
        found.get(each, ast.Source(default)) for each in inner.query.inputs if not isinstance(each, ast.RulesInput)
    )


def _value(each: ast.BindingInput, form: Form, term: Argument) -> ast.Term:
    if is_source(form) or (is_symbol(form) and form.value.name in ("%", "_")):
        raise invalid(form, f"{input_name(each)} of this query takes a variable or a value, not {shown(form)}")
    value = term(form)
    assert not isinstance(value, ast.Source)
    return value


def _miscounted(written: Sequence[ast.Input], given: int) -> str:
    takes = f"takes {arguments(len(written))} ({' '.join(map(input_name, written))})" if written else "has no :in"
    return f"this query {takes}, but {given} {'is' if given == 1 else 'are'} given"


def input_name(each: ast.Input) -> str:
    """An input as it is written in `:in`."""
    match each:
        case ast.SourceInput():
            return each.name.partition(" ")[0]
        case ast.RulesInput():
            return "%"
        case ast.BindingInput(binding=ast.ScalarBinding(target=target)):
            return _name(target)
        case ast.BindingInput(binding=ast.CollectionBinding(target=target)):
            return f"[{_name(target)} ...]"
        case ast.BindingInput(binding=ast.RelationBinding(targets=targets)):
            return f"[[{' '.join(map(_name, targets))}]]"
        case ast.BindingInput(binding=ast.TupleBinding(targets=targets)):
            return f"[{' '.join(map(_name, targets))}]"
    raise AssertionError(each)


def _name(target: ast.Var | ast.Blank) -> str:
    return target.name.partition(" at ")[0] if isinstance(target, ast.Var) else "_"


def check_binding(query: ast.Query, binding: ast.Binding, place: Form) -> None:
    """A binding takes no more places than the inner query finds."""
    shape, width = query.find.shape, len(query.find.elements)
    fits = (ast.RelationBinding, "relation"), (ast.TupleBinding, "tuple")
    for kind, wanted in fits:
        if isinstance(binding, kind) and shape == wanted and len(binding.targets) > width:
            places = len(binding.targets)
            raise invalid(place, f"the binding has {places} places, but the query within finds only {width}")
