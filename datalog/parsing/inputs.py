"""`:in` and the four shapes of a binding, which functions share."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final

from adalog.datalog import ast
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.names import targets
from adalog.datalog.parsing.foreign_names import instead_of_section
from adalog.datalog.parsing.forms import Form, invalid, is_source, is_symbol, is_variable, shown, variable
from adalog.datalog.values import Keyword, Value


def written_inputs(
    forms: Sequence[Form], logs: Set[str] = frozenset(), parts: list[ast.Function] | None = None
) -> tuple[ast.Input, ...]:
    """The inputs as they are written. `logs`: the variables that calls take for a source. `parts`: as in
    `parse_binding`."""
    inputs: list[ast.Input] = []
    seen: set[str] = set()
    for form in forms:
        if is_source(form) or (is_symbol(form) and form.value.name in logs):
            each: ast.Input = ast.SourceInput(form.value.name, position=form.position)
            names = [(form.value.name, form.position)]
        elif is_symbol(form) and form.value.name == "%":
            each = ast.RulesInput(position=form.position)
            names = [("%", form.position)]
        else:
            inner: list[ast.Function] = []
            binding = parse_binding(form, ":in", inner)
            each = ast.BindingInput(binding, position=form.position)
            bound = [*targets(binding), *(t for part in inner for t in targets(part.binding))]
            names = [(t.name, t.position) for t in bound if isinstance(t, ast.Var)]
            if parts is not None:
                parts += inner
        for name, position in names:
            if name in seen:
                raise AdalogError(Code.QUERY_INVALID, f"{name} is in :in twice", position)
            seen.add(name)
        inputs.append(each)
    return tuple(inputs)


GIVEN: Final = "$ (given)"
"""What `$` is called where an argument is given for it: no symbol has a space in it."""


def parse_inputs(
    forms: Sequence[Form], logs: Set[str], parts: list[ast.Function], *, given: bool = False
) -> tuple[ast.Input, ...]:
    """The inputs in order; the default source comes first, whether or not it was written. `parts`: as in
    `parse_binding`. `given`: an argument comes for `$`, which is an input of its own then."""
    inputs = written_inputs(forms, logs, parts)
    default = next((each for each in inputs if isinstance(each, ast.SourceInput) and each.name == "$"), None)
    if given:
        own = ast.SourceInput(GIVEN, position=None if default is None else default.position)
        rest = (own, *inputs) if default is None else (own if each is default else each for each in inputs)
        return (ast.SourceInput("$"), *rest)
    if default is None:
        return (ast.SourceInput("$"), *inputs)
    return (default, *(each for each in inputs if each is not default))


def parse_args(forms: Sequence[Form]) -> tuple[ast.BindingInput, Value] | None:
    """`:args [{x 1, y 2} {x 3, y 4}]`, as XTDB has it: an input, and its argument in the query's text."""
    maps = forms[0].items if len(forms) == 1 and forms[0].kind in ("vector", "list") else forms
    for form in maps:
        if form.kind != "map":
            message = f"a query has no section :args{instead_of_section('args')}; here it may have maps, [{{?x 1}}]"
            raise invalid(form, message)
        for key in form.items[::2]:
            if not is_variable(key) and not isinstance(key.value, Keyword):
                raise invalid(key, f":args names variables by symbols or keywords, not by {shown(key)}")
    pairs = (zip(form.items[::2], form.items[1::2], strict=True) for form in maps)
    rows = [{str(key.value.name): each for key, each in row} for row in pairs]
    if not rows or not rows[0]:
        return None
    names = list(rows[0])
    odd = next((form for form, row in zip(maps, rows, strict=True) if row.keys() != rows[0].keys()), None)
    if odd is not None:
        raise invalid(odd, f"the maps of :args have the same keys: {' '.join(names)}")
    values = tuple(tuple(row[name].value for name in names) for row in rows)
    binding = ast.RelationBinding(tuple(ast.Var(name, position=maps[0].position) for name in names))
    return ast.BindingInput(binding, position=maps[0].position), values


def parse_binding(form: Form, place: str, parts: list[ast.Function]) -> ast.Binding:
    """`?x`, `[?x ...]`, `[?a ?b]` or `[[?a ?b]]`.

    A binding within one, `[?k [?min ?max]]`, becomes a variable that no symbol can be; `parts` takes what binds its
    variables from that one.
    """
    if is_symbol(form):
        return ast.ScalarBinding(_target(form, place, parts))
    if form.kind != "vector" or not form.items:
        clause = "; a clause stands in :where" if form.kind == "list" and place == ":in" else ""
        raise invalid(form, f"{place} takes ?x, [?x ...], [?a ?b] or [[?a ?b]], not {shown(form)}{clause}")
    items = form.items
    if items[0].kind == "vector" and (len(items) == 1 or _is_spread(items)) and not _is_spread(items[0].items):
        columns = tuple(_target(item, place, parts) for item in items[0].items)
        if not columns:
            raise invalid(form, f"{place} binds nothing here; write [[?a ?b]]")
        return ast.RelationBinding(columns, position=form.position)
    if _is_spread(items):
        return ast.CollectionBinding(_target(items[0], place, parts), position=form.position)
    return ast.TupleBinding(tuple(_target(item, place, parts) for item in items), position=form.position)


def _is_spread(items: Sequence[Form]) -> bool:
    """Whether these are the forms of `[?x ...]`."""
    return len(items) == 2 and is_symbol(items[1]) and items[1].value.name == "..."


def _target(form: Form, place: str, parts: list[ast.Function]) -> ast.Var | ast.Blank:
    if is_symbol(form) and form.value.name == "_":
        return ast.Blank(position=form.position)
    if form.kind == "vector":
        # No symbol has a space in it, and no other binding stands at this place.
        at = form.position
        whole = ast.Var(f"{shown(form)} at {at.line}:{at.column}" if at else f"{shown(form)} at", position=at)
        parts.append(ast.Function("identity", (whole,), parse_binding(form, place, parts), position=at))
        return whole
    if not is_variable(form):
        raise invalid(form, f"{place} binds variables such as ?x, not {shown(form)}")
    return variable(form)
