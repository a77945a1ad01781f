"""`:find` and `:keys / :strs / :syms`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from adalog.datalog import ast
from adalog.datalog.aggregates import FIND_AGGREGATES
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.builtins.conditionals import CONDITIONALS
from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.hints import nearest
from adalog.datalog.parsing.columns import ColumnReader, is_aggregated, is_known_call
from adalog.datalog.parsing.forms import Form, invalid, is_call, is_source, is_symbol, is_variable, shown, variable
from adalog.datalog.parsing.nested import ParseInner
from adalog.datalog.parsing.pull import parse_pull, with_inputs
from adalog.datalog.values import Keyword, Symbol


def parse_find(
    forms: Sequence[Form], keys: tuple[str, Sequence[Form]] | None, reader: ColumnReader, inner: ParseInner
) -> ast.Find:
    """A find spec: relation `?a ?b`, collection `[?a ...]`, tuple `[?a ?b]` or scalar `?a .`.

    In a map form `[?a ...]` may stand without further brackets. `forms` are one or more. `inner` reads the queries
    in pull patterns.
    """
    shape, elements = "relation", list(forms)
    if len(forms) == 1 and forms[0].kind == "vector":
        shape, elements = "tuple", list(forms[0].items)
    if elements and _is(".", elements[-1]) and shape == "relation":
        shape = "scalar"
        if len(elements) != 2:
            are = f"here are {len(elements) - 1}"
            raise invalid(elements[-1], f"a scalar find is one element and a dot: ?x . — {are}")
    elif elements and _is("...", elements[-1]):
        shape = "collection"
        if len(elements) != 2:
            are = f"here are {len(elements) - 1}"
            raise invalid(elements[-1], f"a collection find is one element and dots: [?x ...] — {are}")
    if shape in ("scalar", "collection"):
        elements.pop()
    if not elements:
        raise invalid(forms[0], ":find needs at least one variable, e.g. [?e ...]")
    for form, after in pairwise(elements):
        if is_symbol(form) and form.value.name.lower() in ("where", "in") and _is_clause(after):
            raise invalid(form, f"a section begins with a colon: write :{form.value.name.lower()}")
        if _is("pull", form) and after.kind == "list":
            raise invalid(form, f"the name stands within the brackets: (pull {shown(after)[1:]}")
    columns: dict[str, ast.FindColumn] = {}
    parsed = tuple(_element(form, reader, columns, inner) for form in elements)
    labels = {element.label for element in parsed}
    hidden = tuple(each for label, each in columns.items() if label not in labels)
    named = _parse_keys(keys, len(parsed), shape)
    counts = (each.args for each in (*parsed, *hidden) if isinstance(each, ast.FindAggregate))
    takes_numbers = any(isinstance(each, ast.Var) for args in counts for each in args)
    return ast.Find(parsed, shape, named, hidden, takes_numbers, position=forms[0].position)


def _is_clause(form: Form) -> bool:
    calls = is_known_call(form) and not any(each.kind == "vector" for each in form.items)
    return form.kind == "vector" or (form.kind == "list" and not calls)


def _is(name: str, form: Form) -> bool:
    return is_symbol(form) and form.value.name == name


def _element(
    form: Form, reader: ColumnReader, hidden: dict[str, ast.FindColumn], inner: ParseInner
) -> ast.FindElement:
    if is_variable(form):
        return ast.FindVar(variable(form))
    if is_call(form):
        name = form.items[0].value.name
        if name == "pull":
            return _pull(form, reader.calls.default, inner)
        # `(*)` is left of COUNT(*).
        is_star = name == "*" and len(form.items) == 1
        if name in FIND_AGGREGATES or is_star or name not in (BUILTINS.keys() | CONDITIONALS.keys()):
            return reader.aggregate(form)
        if not is_aggregated(form):
            return ast.FindVar(reader.value(form))
        expression = reader.grouped(form, hidden)
        return ast.FindExpression(expression, write(form.value), position=form.position)
    wanted = "variables, calls, aggregates and pulls: ?x, (inc ?x), (count ?x) or (pull ?e [*])"
    made = "; rows are maps by :keys, as in :find ?n ?a :keys name age" if form.kind == "map" else ""
    raise invalid(form, f":find takes {wanted}, not {shown(form)}{made}")


def _pull(form: Form, own: str, inner: ParseInner) -> ast.FindPull:
    """`(pull ?e [*])`, `(pull $src ?e [*])`, `(pull ?e ?pattern)`. `own`: what `$` is called."""
    _head, *rest = form.items
    source = ast.Source(own)
    if rest and is_source(rest[0]):
        name = own if _is("$", rest[0]) else rest[0].value.name
        source = ast.Source(name, position=rest[0].position)
        rest = rest[1:]
    if len(rest) == 2 and _is("*", rest[1]):
        raise invalid(rest[1], f"a pull pattern is a vector: (pull {shown(rest[0])} [*])")
    if len(rest) == 2 and (binding := _bound_by(rest[0])) is not None:
        raise invalid(
            rest[0], f"a pull in :find takes a variable: bind it in :where, {binding}, or use the field pull"
        )
    if len(rest) != 2 or not is_variable(rest[0]):
        raise invalid(form, f"a pull takes a variable and a pattern, as in (pull ?e [*]), not {shown(form)}")
    pattern = variable(rest[1]) if is_variable(rest[1]) else parse_pull(rest[1], inner)
    return ast.FindPull(variable(rest[0]), source, pattern, write(form.value), position=form.position)


def _bound_by(entity: Form) -> str | None:
    """The clause that binds ?e to an entity that is named by a keyword, a lookup ref or a number."""
    if isinstance(entity.value, Keyword):
        return f"[?e :db/ident {shown(entity)}]"
    if entity.kind == "vector" and len(entity.items) == 2 and isinstance(entity.items[0].value, Keyword):
        return f"[?e {' '.join(map(shown, entity.items))}]"
    return f"[(ground {shown(entity)}) ?e]" if type(entity.value) is int else None


def with_pulls(find: ast.Find, inputs: Sequence[ast.Input]) -> ast.Find:
    """The find spec with pulls whose queries take what is in `:in`. Refuses one whose source or pattern is not."""
    sources = {each.name for each in inputs if isinstance(each, ast.SourceInput)}
    given = {
        each.binding.target.name
        for each in inputs
        if isinstance(each, ast.BindingInput)
        and isinstance(each.binding, ast.ScalarBinding)
        and isinstance(each.binding.target, ast.Var)
    }
    elements: list[ast.FindElement] = []
    for element in find.elements:
        elements.append(element)
        if not isinstance(element, ast.FindPull):
            continue
        if element.source.name not in sources:
            message = f"{element.source.name} is no source; :in names {' '.join(sorted(sources))}"
            raise AdalogError(Code.QUERY_INVALID, message, element.source.position)
        if isinstance(element.pattern, ast.Var) and element.pattern.name not in given:
            name = element.pattern.name
            hint = f"write one there, or name it by itself in :in, as in :in $ {name}{nearest(name, given)}"
            raise AdalogError(Code.QUERY_INVALID, f"{name} is no pattern: {hint}", element.pattern.position)
        if not isinstance(element.pattern, ast.Var):
            elements[-1] = replace(element, pattern=with_inputs(element.pattern, inputs))
    return replace(find, elements=tuple(elements))


def _parse_keys(keys: tuple[str, Sequence[Form]] | None, width: int, shape: str) -> tuple[Any, ...] | None:
    if keys is None:
        return None
    kind, forms = keys
    if shape not in ("relation", "tuple"):
        raise invalid(forms[0], f":{kind} names the elements of rows, but this :find is a {shape}")
    if len(forms) != width:
        raise invalid(
            forms[min(width, len(forms) - 1)],
            f":{kind} has {len(forms)} name{'' if len(forms) == 1 else 's'} "
            f"for the {width} element{'' if width == 1 else 's'} of :find",
        )
    made: dict[Any, None] = {}
    for form in forms:
        is_text = kind == "strs" and type(form.value) is str
        if not is_text and not isinstance(form.value, Symbol | Keyword):
            raise invalid(form, f":{kind} takes plain names such as name, not {shown(form)}")
        name = form.value if is_text else _KEYS[kind](form.value.name)
        if name in made:
            raise invalid(form, f"{shown(form)} is in :{kind} twice")
        made[name] = None
    return tuple(made)


_KEYS: Mapping[str, type[Any]] = {"keys": Keyword, "strs": str, "syms": Symbol}
