"""Calls of built-ins: `(name arg …)`, where an argument may be a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from adalog.datalog import ast
from adalog.datalog.aggregates import FIND_AGGREGATES
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.builtins.applying import APPLY, may_be_applied
from adalog.datalog.builtins.conditionals import CONDITIONALS
from adalog.datalog.parsing.foreign_names import GROUPS, NO_FUNCTIONS, USAGES, instead_of_builtin
from adalog.datalog.parsing.forms import (
    Form,
    arguments,
    constant,
    invalid,
    is_call,
    is_source,
    is_symbol,
    is_variable,
    shown,
    unknown,
    unquoted,
)
from adalog.datalog.parsing.nested import NAMES
from adalog.datalog.values import Symbol
from adalog.datalog.watched import look

_CORE = "clojure.core/"
# In Clojure these take texts and patterns.
_OF_PATTERNS = {
    f"{namespace}{name}": f"re-{name}"
    for namespace in ("", "clojure.string/")
    for name in ("replace", "replace-first")
}


@dataclass(frozen=True)
class CallParser:
    """`source` and `term` read arguments that are no calls. `logs`: the variables that are sources.
    `default`: the source of calls that name none."""

    source: Callable[[Form], ast.Source]
    term: Callable[[Form], ast.Term]
    logs: frozenset[str] = frozenset()
    default: str = "$"

    def call(self, form: Form) -> ast.Expression:
        """A call with the calls within it."""
        look()
        head, *given = form.items
        name = head.value.name if isinstance(head.value, Symbol) else str(head.value)
        if name.removeprefix(_CORE) in CONDITIONALS:
            name = name.removeprefix(_CORE)
        if name in _OF_PATTERNS and len(given) > 1 and given[1].is_regex:
            name = _OF_PATTERNS[name]
        known = CONDITIONALS.get(name) if name not in BUILTINS else BUILTINS[name]
        if known is None:
            raise unknown(head, f"there is no built-in {name}{_instead(form, name)}")
        needs_database = name in BUILTINS and BUILTINS[name].needs_database
        if name == "case":
            args = self._case(form, given)
        elif name.removeprefix(_CORE) == APPLY and given:
            args = (_applied(given[0]), *(self._argument(each, name, needs_database=False) for each in given[1:]))
        else:
            args = tuple(self._argument(each, name, needs_database=needs_database) for each in given)
        count = sum(not isinstance(arg, ast.Source) for arg in args)
        most = known.max_args
        if count < known.min_args or (most is not None and count > most):
            raise unknown(form, f"({name} …) takes {_arity(known.min_args, most)}, not {count}{_usage(name)}")
        if name == "cond" and count % 2:
            raise invalid(given[-1], f"(cond …) takes pairs of a condition and a value{_usage(name)}")
        if needs_database and count == len(args) and self.default != "$":
            args = (ast.Source(self.default), *args)
        return ast.Expression(name, args, position=form.position)

    def _argument(self, form: Form, name: str, *, needs_database: bool) -> ast.Argument:
        if is_source(form) or (is_symbol(form) and form.value.name in self.logs):
            if not needs_database:
                raise invalid(form, f"({name} …) takes no source")
            return self.source(form)
        if is_symbol(form) and form.value.name == "_":
            raise invalid(form, "an argument cannot be _: name a variable")
        return self._within(form)

    def _within(self, form: Form) -> ast.Argument:
        if form.kind in ("vector", "map", "set") and (found := _question(form)) is not None:
            made = {"vector": "vector", "set": "hash-set", "map": "hash-map"}[form.kind]
            written = f"; write ({made} {shown(form)[2 if form.kind == 'set' else 1 : -1]})"
            message = f"{shown(form)} is a constant, in which {shown(found)} is a symbol and no variable{written}"
            raise invalid(found, message)
        form = unquoted(form)
        return self.within(form) if is_call(form) else self.term(form)

    def within(self, form: Form) -> ast.Argument:
        """A call within the call."""
        name = form.items[0].value.name
        if name in NAMES:
            raise invalid(
                form, f"a query within the query is a clause of its own: bind it, e.g. [{shown(form)} ?x]"
            )
        if name in FIND_AGGREGATES and name not in BUILTINS:
            raise invalid(form, f"{name} is an aggregate; {GROUPS}")
        return self.call(form)

    def _case(self, form: Form, given: list[Form]) -> tuple[ast.Argument, ...]:
        """Its tests are constants; a list is several."""
        if not given:
            return ()
        args = [self._argument(given[0], "case", needs_database=False)]
        pairs = given[1:]
        for place, each in enumerate(pairs):
            if place % 2 == 0 and place < len(pairs) - 1:
                each = unquoted(each)
                if is_variable(each) or (each.kind == "list" and any(map(is_variable, each.items))):
                    raise invalid(each, f"(case …) compares with constants, and {shown(each)} is none: write cond")
                args.append(constant(each))
            else:
                args.append(self._argument(each, "case", needs_database=False))
        return tuple(args)


def _applied(form: Form) -> ast.Const:
    """The name of the built-in that `apply` calls."""
    name = form.value.name if is_symbol(form) else ""
    if not may_be_applied(name, BUILTINS):
        takes = "apply takes the name of a built-in and a collection, as in (apply + ?numbers)"
        instead = instead_of_builtin(name) if name and name not in BUILTINS else ""
        raise unknown(form, f"{takes}, not {shown(form)}{instead}")
    return constant(form)


def _question(form: Form) -> Form | None:
    """The first symbol with a question mark in a form."""
    waiting = [form]
    while waiting:
        look()
        each = waiting.pop()
        if is_symbol(each) and each.value.name.startswith("?"):
            return each
        waiting += reversed(each.items)
    return None


def log_variables(forms: Iterable[Form]) -> frozenset[str]:
    """The variables that clauses take for Datomic's log, `(tx-ids ?log ?from ?to)`, which is a source here."""
    found: set[str] = set()
    waiting = list(forms)
    while waiting:
        items = waiting.pop().items
        if len(items) > 2 and items[0].value in _OF_LOG and len(items) == _OF_LOG[items[0].value] + 2:
            found.update(each.value.name for each in items[1:2] if is_variable(each))
        waiting += items
    return frozenset(found)


_OF_LOG = {Symbol(name): BUILTINS[name].min_args for name in ("tx-ids", "tx-data")}
"""The numbers of their arguments besides the source."""


def _usage(name: str) -> str:
    if name in USAGES:
        return f", as in {USAGES[name]}"
    return f", as in {CONDITIONALS[name].usage}" if name in CONDITIONALS else ""


def _instead(call: Form, name: str) -> str:
    """What to write for a call of what is not there."""
    prefixed = _prefixed(call)
    if prefixed and name.startswith("?"):
        return prefixed
    return instead_of_builtin(name) or prefixed or NO_FUNCTIONS


def _prefixed(call: Form) -> str:
    """What to write for `(?x > 3)`, or nothing."""
    items = call.items
    if len(items) != 3 or not is_symbol(items[1]) or items[1].value.name not in BUILTINS:
        return ""
    return f"; the name of a built-in comes first: [({shown(items[1])} {shown(items[0])} {shown(items[2])})]"


def _arity(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {arguments(least)}"
    return arguments(least) if least == most else f"{least} to {most} arguments"
