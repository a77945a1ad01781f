"""Helpers of the query parser: asking a form what it is, and refusing it at its place."""

from __future__ import annotations

from adalog.datalog import ast
from adalog.datalog.edn import writer
from adalog.datalog.edn.form import Form as Form
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Symbol, identity

_SPECIAL = frozenset(("...", ".", "%"))


def is_symbol(form: Form) -> bool:
    """Whether the form is a plain symbol."""
    return form.kind == "atom" and isinstance(form.value, Symbol)


def is_source(form: Form) -> bool:
    """`$` or `$name`."""
    return is_symbol(form) and form.value.name.startswith("$")


def is_variable(form: Form) -> bool:
    """`?x`, or any other symbol without a meaning of its own."""
    return is_symbol(form) and form.value.name not in _SPECIAL and form.value.name != "_" and not is_source(form)


def is_call(form: Form) -> bool:
    """A list that begins with a name: `(inc ?x)`."""
    return form.kind == "list" and bool(form.items) and is_symbol(form.items[0])


def shown(form: Form) -> str:
    """The form as text, cut short."""
    return writer.shown(form.value)


def variable(form: Form) -> ast.Var:
    return ast.Var(form.value.name, position=form.position)


def constant(form: Form) -> ast.Const:
    return ast.Const(form.value, identity(form.value), position=form.position)


def arguments(count: int) -> str:
    return f"{count} argument{'' if count == 1 else 's'}"


def unquoted(form: Form) -> Form:
    """`(quote x)`, as `'x` reads in Clojure, is `x`."""
    if form.kind == "list" and len(form.items) == 2 and form.items[0].value == Symbol("quote"):
        return form.items[1]
    return form


def invalid(form: Form, message: str) -> AdalogError:
    """A refusal at the form's place."""
    return AdalogError(Code.QUERY_INVALID, message, form.position)


class UnknownNameError(AdalogError):
    """A source, rule or built-in that is not there, or takes other arguments, in a text whose syntax is right."""


def unknown(form: Form, message: str) -> UnknownNameError:
    """The refusal of a name, or of a call by it, at the form's place."""
    return UnknownNameError(Code.QUERY_INVALID, message, form.position)
