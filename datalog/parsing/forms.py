"""Helpers of the query parser: asking a form what it is, and refusing it at its place."""

from __future__ import annotations

from adalog.datalog.edn import write
from adalog.datalog.edn.form import Form
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Symbol

__all__ = ["Form", "invalid", "is_source", "is_symbol", "is_variable", "shown"]

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


def shown(form: Form) -> str:
    """The form as text, cut short."""
    text = write(form.value)
    return text if len(text) <= 60 else text[:57] + "…"


def invalid(form: Form, message: str) -> AdalogError:
    """A refusal at the form's place."""
    return AdalogError(Code.QUERY_INVALID, message, form.position)
