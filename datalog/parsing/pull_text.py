"""Pull patterns that stand outside a query: in fields of their own, and as arguments."""

from __future__ import annotations

from collections.abc import Sequence

from adalog.datalog import ast
from adalog.datalog.edn import read_form
from adalog.datalog.parsing.forms import Form
from adalog.datalog.parsing.nested import Inner
from adalog.datalog.parsing.parser import parse_inner
from adalog.datalog.parsing.pull import parse_pull, with_inputs
from adalog.datalog.pull import PullPattern

ALONE = (ast.SourceInput("$"),)
"""What the queries in a pattern can take where no query is around it, besides the entity."""


def read_pull(text: str, inputs: Sequence[ast.Input] = ALONE) -> PullPattern:
    """The pattern of an EDN text; `inputs`: of the query around it. Raises EDN_SYNTAX or QUERY_INVALID with a
    position, and UNBOUND_VARIABLE."""
    return pull_of(read_form(text), inputs)


def pull_of(form: Form, inputs: Sequence[ast.Input]) -> PullPattern:
    """The pattern of a form, as `read_pull` reads a text."""
    return with_inputs(parse_pull(form, _inner), inputs)


def _inner(form: Form) -> Inner:
    return parse_inner(form, None, "a pull pattern that is given beside a query has no rules; use :rules")
