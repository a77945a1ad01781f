"""Where the variables of a query stand in its text, and which are plain symbols, without a question mark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Final

from adalog.datalog import ast
from adalog.datalog.edn.writer import shown
from adalog.datalog.parsing.foreign_names import instead_of_operator
from adalog.datalog.pull import PullPattern

# A comparison and what follows it without a space.
_GLUED: Final = re.compile(r"([<>=!]+)(\?\S+|-?\d\S*)")


@dataclass(frozen=True, slots=True)
class SymbolUse:
    """A variable in a `place` of a data pattern; elsewhere the place is -1."""

    variable: ast.Var
    place: int = -1
    pattern: ast.Pattern | None = None

    def as_condition(self) -> str:
        """What to write for `[?e :person/age > 3]` and `[?e :person/age >3]`, of which this is the third term."""
        assert self.pattern is not None
        written = [_written(each) for each in self.pattern.terms]
        if len(written) == 3 and (glued := _GLUED.fullmatch(written[2])) is not None:
            written[2:] = glued.groups()
        return instead_of_operator(*written[:4]) if len(written) > 3 else ""

    def as_call(self) -> str:
        """The pattern as the call of a built-in that it was probably meant to be: `[(> ?n 3)]`."""
        terms = () if self.pattern is None else self.pattern.terms
        written = " ".join(_written(each) for place, each in enumerate(terms) if place != self.place)
        return f"[({self.variable.name} {written})]"


def is_plain(variable: ast.Var) -> bool:
    return not variable.name.startswith(("?", "_"))


def variable_uses(part: object) -> Iterator[SymbolUse]:
    """Every variable of a part of a query, not of those within, nor of its sources."""
    if isinstance(part, ast.Var):
        yield SymbolUse(part)
    elif isinstance(part, ast.Pattern):
        for place, term in enumerate(part.terms):
            for use in variable_uses(term):
                yield SymbolUse(use.variable, place, part)
    elif isinstance(part, ast.Query | PullPattern | ast.SourceInput):
        return
    elif is_dataclass(part):
        for each in fields(part):
            yield from variable_uses(getattr(part, each.name))
    elif isinstance(part, tuple):
        for item in part:
            yield from variable_uses(item)


def has_plain_symbols(query: ast.Query) -> bool:
    """Whether some variable of a query has no question mark; those within are not looked at."""
    parts = (query.find, query.with_, query.order_elements, query.inputs, query.where, query.rules)
    return any(is_plain(use.variable) for use in variable_uses(parts))


def _written(term: ast.Term) -> str:
    match term:
        case ast.Var():
            return term.name
        case ast.Const():
            return shown(term.value)
        case ast.LookupRef():
            return f"[{_written(term.attribute)} {_written(term.value)}]"
        case ast.Blank():
            return "_"
