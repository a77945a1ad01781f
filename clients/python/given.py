"""What callers give, checked and as the engine has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from adalog.client.values import Keyword, to_edn
from adalog.datalog import edn, values
from adalog.datalog.errors import invalid_argument, quoted

Entity = int | str | Sequence[Any]
"""A number, an ident such as `:status/open`, or a lookup ref such as `("issue/id", 7)`."""


@dataclass(frozen=True, slots=True)
class TransactionText:
    """EDN text and, by their names, values of variables in it, as the engine has values."""

    text: str
    values: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class User:
    """For whom an admin asks."""

    claims: Mapping[str, Any]
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """What is read: the newest state, or as of a transaction or instant, what came since, all there ever was, with
    a transaction tried on it, as a user sees it."""

    as_of: int | datetime | None = None
    since: int | datetime | None = None
    history: bool = False
    tried: TransactionText | None = None
    user: User | None = None


def text_given(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise invalid_argument(f"{what} is EDN text in a str, not {quoted(value)}")
    return value


def moment_given(value: Any, name: str) -> int | datetime:
    if isinstance(value, datetime):
        moment: datetime = to_edn(value)
        return moment
    if type(value) is not int:
        raise invalid_argument(f"{name} is a transaction's number or an aware datetime, not {quoted(value)}")
    return value


def milliseconds(timeout: float | None) -> int | None:
    if timeout is not None and not timeout > 0:
        raise invalid_argument(f"timeout is {timeout}; give more than 0 seconds")
    return None if timeout is None else max(1, round(timeout * 1000))


def transaction_given(tx: Any, args: Mapping[str, Any] | None) -> TransactionText | tuple[Any, ...]:
    if isinstance(tx, str):
        given = None if args is None else {str(name): to_edn(value) for name, value in args.items()}
        return TransactionText(tx, given)
    if args is not None:
        raise invalid_argument(
            "args are values for variables of EDN text; put values into maps and lists themselves"
        )
    if isinstance(tx, Mapping) or not isinstance(tx, Sequence):
        raise invalid_argument(f"a transaction is EDN text, or a list of maps and lists, not {quoted(tx)}")
    return tuple(map(to_edn, tx))


def _keyword(name: Any) -> Any:
    """A keyword of a str, with or without its colon."""
    return values.Keyword(name.removeprefix(":")) if isinstance(name, str) else to_edn(name)


def entity_text(entity: Any) -> str:
    if isinstance(entity, Mapping):
        entity = entity.get(":db/id", entity)
    if isinstance(entity, str):
        return str(Keyword(entity))
    if isinstance(entity, list | tuple) and len(entity) == 2 and isinstance(entity[0], str):
        # As JSON has it: a text is then also read as a keyword, an instant or a uuid.
        return edn.write((str(Keyword(entity[0])), to_edn(entity[1])))
    return edn.write(to_edn(entity))


def component_given(place: str, value: Any) -> Any:
    if place == "a":
        return _keyword(value)
    if place == "e" and isinstance(value, str):
        return _keyword(value)
    if isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str) and place == "e":
        return (_keyword(value[0]), to_edn(value[1]))
    return to_edn(value)
