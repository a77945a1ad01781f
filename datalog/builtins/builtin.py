"""What a built-in is, what it may ask of a database, and how it refuses its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NoReturn, Protocol

from adalog.datalog.edn.writer import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword, Value, type_name

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function that queries may call.

    `call` takes EDN values, after a `DatabaseAccess` where `needs_database`, and gives one, None being nil. It
    raises `AdalogError(QUERY_INVALID, …)` without a position. `min_args` and `max_args` (None: any number) do not
    count the database. As in Datomic every function may stand as a predicate (true unless nil or false), and every
    predicate's answer may be bound. `nil_gives_nil`: engines do not call it with nil, which gives nil. `is_total`:
    it refuses no arguments.
    """

    name: str
    min_args: int
    max_args: int | None
    call: Callable[..., Value]
    needs_database: bool = False
    nil_gives_nil: bool = False
    is_total: bool = False


class DatabaseAccess(Protocol):
    """One view of a database, as built-ins see it."""

    def values(self, entity: Any, attribute: Keyword) -> tuple[Value, ...]:
        """The entity's values of the attribute; none where either is unknown."""

    def entid(self, entity: Value) -> int | None:
        """The id of the entity that a number, an ident or a lookup ref names; None where there is none."""

    def tx_ids(self, start: int | datetime | None, end: int | datetime | None) -> tuple[int, ...]:
        """The transaction entities from `start` on and before `end`: numbers, entities or instants."""

    def tx_data(self, transaction: int) -> tuple[tuple[Value, ...], ...]:
        """The datoms of one transaction as [e a v tx added]."""


def passing_nil(*builtins: Builtin) -> tuple[Builtin, ...]:
    """The same built-ins, each of which gives nil for nil."""
    return tuple(replace(each, nil_gives_nil=True) for each in builtins)


def total(*builtins: Builtin) -> tuple[Builtin, ...]:
    """The same built-ins, which refuse nothing."""
    return tuple(replace(each, is_total=True) for each in builtins)


def refuse(message: str) -> NoReturn:
    raise AdalogError(Code.QUERY_INVALID, message)


def shown(value: Value) -> str:
    """The value as EDN, cut to what fits in a message."""
    long = isinstance(value, (str, tuple)) and len(value) > _SHOWN
    text = write(type(value)(value[:_SHOWN]) if long else value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def shown_call(name: str, args: Sequence[Value]) -> str:
    """`(+ 1 "a")`"""
    few = [shown(arg) for arg in args[:6]]
    return f"({' '.join([name, *few])}{' …' if len(args) > 6 else ''})"


def refuse_type(name: str, args: Sequence[Value], culprit: Value, wanted: str) -> NoReturn:
    """`(+ 1 "a"): "a" is a string; + takes numbers`"""
    what = "an argument is nil" if culprit is None else f"{shown(culprit)} is {_article(type_name(culprit))}"
    refuse(f"{shown_call(name, args)}: {what}; {name} takes {wanted}")


def _article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" and not noun.startswith("uu") else f"a {noun}"


def text_of(name: str, args: Sequence[Value], index: int) -> str:
    """The argument as a string, or a refusal."""
    value = args[index]
    if type(value) is not str:
        refuse_type(name, args, value, "strings (str makes one of any value)")
    return value


def long_of(name: str, args: Sequence[Value], index: int) -> int:
    """The argument as a long, or a refusal."""
    value = args[index]
    if type(value) is not int:
        refuse_type(name, args, value, "a long there")
    return value
