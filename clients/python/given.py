"""What callers give, checked and as the engine has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import index
from typing import Any, Final

import orjson

from adalog.client.values import Keyword, from_edn, to_edn
from adalog.datalog import edn
from adalog.datalog.errors import AdalogError, invalid_argument, quoted
from adalog.datalog.values import LONG_MAX, LONG_MIN
from adalog.datalog.values import Keyword as EdnKeyword
from adalog.store.values.scalars import iso_instant

Entity = int | str | Sequence[Any]
"""A number, an ident such as `:status/open`, or a lookup ref such as `("issue/id", 7)`."""

# In seconds: GraphQL's Int has that many milliseconds.
_LONGEST_TIMEOUT: Final = (2**31 - 1) // 1000


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


NEWEST: Final = Moment()


def text_given(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise invalid_argument(f"{what} is EDN text in a str, not {quoted(value)}")
    return value


def number_given(value: Any, name: str) -> int | None:
    """A whole number of 64 bits, also one of NumPy; None if there is none."""
    if value is None:
        return None
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not LONG_MIN <= number <= LONG_MAX:
        raise invalid_argument(f"{name} is a whole number of 64 bits, not {quoted(value)}")
    return number


def name_given(value: Any, name: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise invalid_argument(f"{name} is a str, not {quoted(value)}")
    return value


def moment_given(value: Any, name: str) -> int | datetime:
    if isinstance(value, str):
        # Digits alone are a transaction's number at the command line, and here they are probably meant as one.
        instant = None if value.strip().isdigit() else iso_instant(value)
        if instant is None:
            raise invalid_argument(
                f'{name} is {quoted(value)}, which is no instant; write e.g. "2024-05-01T12:00:00Z"'
            )
        return instant
    if isinstance(value, datetime):
        moment: datetime = to_edn(value)
        return moment
    try:
        number = number_given(value, name)
    except AdalogError:
        number = None
    if number is None:
        raise invalid_argument(
            f"{name} is a transaction's number, an aware datetime or ISO text, not {quoted(value)}"
        )
    return number


def milliseconds(timeout: float | None) -> int | None:
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise invalid_argument(f"timeout is a number of seconds, not {quoted(timeout)}")
    if not 0 < timeout <= _LONGEST_TIMEOUT:
        raise invalid_argument(
            f"timeout is {timeout}; give more than 0 seconds and at most {_LONGEST_TIMEOUT:,}, or None for no limit"
        )
    return max(1, round(timeout * 1000))


def user_given(claims: Any, roles: Any) -> User:
    """Claims as JSON has them, in which they come in tokens."""
    if not isinstance(claims, Mapping):
        raise invalid_argument(f"claims are a dict of names and values, not {quoted(claims)}")
    if isinstance(roles, str) or not isinstance(roles, Iterable):
        raise invalid_argument(f"roles are a list of names, not {quoted(roles)}")
    names = tuple(roles)
    for each in names:
        if not isinstance(each, str):
            raise invalid_argument(f"roles are a list of names, and {quoted(each)} is none")
    try:
        return User(orjson.loads(orjson.dumps(dict(claims))), names)
    except orjson.JSONEncodeError as error:
        raise invalid_argument(f"claims are JSON: {error}") from None


def entities_given(entities: Any) -> list[str]:
    if isinstance(entities, str | Mapping) or not isinstance(entities, Iterable):
        raise invalid_argument(f"entities are a list, not {quoted(entities)}; `pull` takes a single one")
    return list(map(entity_text, entities))


def transaction_given(tx: Any, args: Mapping[str, Any] | None) -> TransactionText | tuple[Any, ...]:
    if args is not None and not isinstance(args, Mapping):
        raise invalid_argument(f"args are a dict of names and values, not {quoted(args)}")
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
    return to_edn(Keyword(name) if isinstance(name, str) else name)


def _ident(name: str) -> Any:
    """The ident that a str is as an entity. Raises ARG_INVALID for other EDN text, with what to write instead."""
    try:
        return _keyword(name)
    except AdalogError:
        pass
    try:
        found = edn.read(name)
    except AdalogError:
        found = None
    right = "a number such as 7, or a lookup ref as a tuple such as ('issue/id', 7)"
    if isinstance(found, list | tuple) and len(found) == 2:
        attribute = str(found[0])[1:] if isinstance(found[0], EdnKeyword) else found[0]
        right = repr((attribute, from_edn(found[1])))
    raise invalid_argument(
        f"a str as an entity is an ident such as ':issue/open'; {quoted(name)} is none; write {right}"
    )


def entity_text(entity: Any) -> str:
    """The EDN text of a number, an ident, a lookup ref, or a map with `:db/id`. Raises ARG_INVALID."""
    if isinstance(entity, Mapping):
        entity = entity.get(":db/id", entity)
    if isinstance(entity, str):
        return edn.write(_ident(entity))
    if isinstance(entity, list | tuple) and len(entity) == 2 and isinstance(entity[0], str):
        # As JSON has it: a text is then also read as a keyword, an instant or a uuid.
        return edn.write((str(Keyword(entity[0])), to_edn(entity[1])))
    return edn.write(to_edn(entity))


def component_given(index_name: str, number: int, value: Any) -> Any:
    """A component of an index, at its place."""
    place = index_name[number : number + 1]
    is_entity = place == "e" or (place == "v" and number == 0)
    if isinstance(value, str) and is_entity:
        return _ident(value)
    if isinstance(value, str) and place == "a":
        return _keyword(value)
    if is_entity and isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str):
        return (_keyword(value[0]), to_edn(value[1]))
    return to_edn(value)
