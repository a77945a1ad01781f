"""GraphQL arguments as the engine wants them: JSON and EDN arguments as values, a basis as a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import strawberry

from datalog import edn, values
from datalog.errors import AdalogError, Code
from schema.encoding import TagError, decode
from schema.scalars import Long, read_long

if TYPE_CHECKING:
    from store.database import Database
    from store.snapshot import Snapshot


@strawberry.input(description="Which database value to read. At most one of t, asOf; none means the latest.")
class BasisInput:
    t: Long | None = strawberry.field(default=None, description="As of this transaction number.")
    as_of: str | None = strawberry.field(default=None, description="As of this instant (ISO-8601) or EDN #inst.")
    since: Long | None = strawberry.field(
        default=None,
        description="Only what was asserted after this transaction number (Datomic's `since`).",
    )
    history: bool | None = strawberry.field(
        default=False, description="All datoms ever asserted or retracted (Datomic's `history`)."
    )


def snapshot_of(database: Database, basis: BasisInput | None) -> Snapshot:
    """The snapshot a basis names; the latest when it names none."""
    if basis is None:
        return database.snapshot()
    if basis.t is not None and basis.as_of is not None:
        raise AdalogError(Code.ARG_INVALID, "basis has both t and asOf; give at most one of them")
    for name, number in (("t", basis.t), ("since", basis.since)):
        if number is not None and number < 0:
            raise AdalogError(Code.ARG_INVALID, f"basis.{name} is {number}; transaction numbers start at 0")
    if basis.as_of is not None:
        return database.at(as_of=read_instant(basis.as_of), since=basis.since, history=bool(basis.history))
    return database.at(t=basis.t, since=basis.since, history=bool(basis.history))


def read_instant(text: str) -> datetime:
    """An instant from ISO-8601 text (UTC where no offset is given) or from EDN `#inst "…"`."""
    if text.lstrip().startswith("#inst"):
        value = edn.read(text)
        if isinstance(value, datetime):
            return value
    try:
        instant = datetime.fromisoformat(text.strip())
    except ValueError:
        raise AdalogError(
            Code.ARG_INVALID, f'basis.asOf {text!r} is no instant; write e.g. "2024-05-01T12:00:00Z"'
        ) from None
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


def read_arguments(
    database: Database, args: Sequence[Any] | None, args_edn: Sequence[str] | None
) -> tuple[Any, ...]:
    """The values for `:in` after `$`. In `args`, {"#basis": {"t": 5}} is another database value for a `$source`."""
    if args is not None and args_edn is not None:
        raise AdalogError(Code.ARG_INVALID, "both args and argsEdn are given; give at most one of them")
    if args_edn is not None:
        return tuple(_read_edn(index, text) for index, text in enumerate(args_edn))
    return tuple(_read_json(database, index, value) for index, value in enumerate(args or ()))


def _read_edn(index: int, text: str) -> Any:
    try:
        return edn.read(text)
    except AdalogError as error:
        raise AdalogError(error.code, f"argsEdn[{index}]: {error.message}", error.position) from None


def _read_json(database: Database, index: int, value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"#basis"}:
        return snapshot_of(database, _read_basis(index, value["#basis"]))
    try:
        return decode(value)
    except TagError as error:
        raise AdalogError(Code.ARG_INVALID, f"args[{index}]: {error}") from None
    except RecursionError:
        raise AdalogError(Code.LIMIT_EXCEEDED, f"args[{index}] is nested too deeply") from None


def _read_basis(index: int, content: Any) -> BasisInput:
    if not isinstance(content, dict) or not content.keys() <= {"t", "asOf", "since", "history"}:
        raise AdalogError(
            Code.ARG_INVALID, f'args[{index}]: {{"#basis": …}} takes t, asOf, since and history, as BasisInput does'
        )
    t, since = (None if content.get(key) is None else Long(read_long(content[key])) for key in ("t", "since"))
    return BasisInput(t=t, as_of=content.get("asOf"), since=since, history=bool(content.get("history")))


def describe_arguments(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """A repr-stable description of arguments, by typed identity, for cursors."""
    return tuple(getattr(value, "key", None) or repr(values.identity(value)) for value in arguments)
