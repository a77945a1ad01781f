"""`:in` and the four shapes of a binding, which functions share."""

from __future__ import annotations

from collections.abc import Sequence, Set

from adalog.datalog import ast
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.names import targets
from adalog.datalog.parsing.forms import Form, invalid, is_source, is_symbol, is_variable, shown, variable


def written_inputs(forms: Sequence[Form], logs: Set[str] = frozenset()) -> tuple[ast.Input, ...]:
    """The inputs as they are written. `logs`: the variables that calls take for a source."""
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
            binding = parse_binding(form, ":in")
            each = ast.BindingInput(binding, position=form.position)
            names = [(t.name, t.position) for t in targets(binding) if isinstance(t, ast.Var)]
        for name, position in names:
            if name in seen:
                raise AdalogError(Code.QUERY_INVALID, f"{name} is in :in twice", position)
            seen.add(name)
        inputs.append(each)
    return tuple(inputs)


def parse_inputs(forms: Sequence[Form], logs: Set[str] = frozenset()) -> tuple[ast.Input, ...]:
    """The inputs in order; the default source comes first, whether or not it was written."""
    inputs = written_inputs(forms, logs)
    default = next((each for each in inputs if isinstance(each, ast.SourceInput) and each.name == "$"), None)
    if default is None:
        return (ast.SourceInput("$"), *inputs)
    return (default, *(each for each in inputs if each is not default))


def parse_binding(form: Form, place: str) -> ast.Binding:
    """`?x`, `[?a ?b]`, `[?x ...]` or `[[?a ?b]]`."""
    if is_symbol(form):
        return ast.ScalarBinding(_target(form, place))
    if form.kind != "vector" or not form.items:
        raise invalid(form, f"{place} takes ?x, [?x ...], [?a ?b] or [[?a ?b]], not {shown(form)}")
    items = form.items
    spread = len(items) == 2 and is_symbol(items[1]) and items[1].value.name == "..."
    if items[0].kind == "vector" and (spread or len(items) == 1):
        columns = tuple(_target(item, place) for item in items[0].items)
        if not columns:
            raise invalid(form, f"{place} binds nothing here; write [[?a ?b]]")
        return ast.RelationBinding(columns, position=form.position)
    if spread:
        return ast.CollectionBinding(_target(items[0], place), position=form.position)
    return ast.TupleBinding(tuple(_target(item, place) for item in items), position=form.position)


def _target(form: Form, place: str) -> ast.Var | ast.Blank:
    if is_symbol(form) and form.value.name == "_":
        return ast.Blank(position=form.position)
    if not is_variable(form):
        raise invalid(form, f"{place} binds variables such as ?x, not {shown(form)}")
    return variable(form)
