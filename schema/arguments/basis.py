"""A basis among the arguments: `{"basis": {"asOf": …}}` in JSON, `{:basis {:as-of …}}` in EDN, as a moment.

Whether it is one is for the query to say: where a `$source` asks for it. Anywhere else it is the map it looks like.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from graphql import GraphQLError

from adalog.datalog import edn, values
from adalog.datalog.diagnostics import Diagnostic
from adalog.datalog.errors import AdalogError, invalid_argument, quoted, shown
from adalog.datalog.hints import nearest
from adalog.executor.question.arguments import BasisArgument, GivenArgument
from adalog.schema.arguments.moments import out_of_range
from adalog.schema.writing.scalars import read_long
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.transaction_ids import check_moment, number_of
from adalog.store.values.attribute import TX_BASE
from adalog.store.values.scalars import iso_instant

if TYPE_CHECKING:
    from adalog.store.database import Database
    from adalog.store.snapshot.snapshot import Snapshot

_KEYS = ("t", "asOf", "since", "history")
_EDN_KEYS = {"as-of": "asOf"}


def moment(database: Database, place: str, content: Any, value: GivenArgument | None) -> BasisArgument:
    """The database that `content` names, as it was when `$` was read unless t or asOf says otherwise.

    `place`: where in the arguments, for messages. `value`: its value where no source is wanted; None: nothing."""

    def opened(default: Snapshot, *, ahead: bool = True) -> Snapshot:
        now = database.snapshot().t
        asked = _read(place, content)
        at = asked.get("t", asked.get("asOf"))
        # `$` may be a database that a transaction was only tried on: its number is not reached yet.
        at = min(default.t, database.snapshot().t) if at is None else at
        try:
            made = database.at(as_of=at, since=asked.get("since"), history=asked.get("history", False))
        except AdalogError as error:
            raise AdalogError(error.code, f"{place}: {error.message}") from None
        if isinstance(default, GuardedSnapshot):
            # Whoever sees a part of `$` sees the like part of other moments.
            made = GuardedSnapshot(made, default.visible.of(made))
        return made if ahead or not isinstance(at, datetime) or made.t < now else made.as_of(default.t)

    def beside(default: Snapshot) -> Snapshot:
        return opened(default, ahead=False)

    def suspicions() -> Iterator[Diagnostic]:
        asked = _read(place, content)
        return out_of_range(
            database.snapshot(), f"{place}.asOf", asked.get("asOf"), f"{place}.since", asked.get("since")
        )

    name = f"{type(content).__name__} {content!r}"
    return BasisArgument(name, opened, value, _number_in(content), beside, suspicions)


def _number_in(content: Any) -> int | None:
    """The transaction that a basis names by its number; None where it names none, or is none."""
    try:
        asked = _read("", content)
    except AdalogError:
        return None
    at = asked.get("t", asked.get("asOf"))
    return None if at is None or isinstance(at, datetime) else number_of(at)


def unwrapped(place: str, content: Any, value: GivenArgument) -> GivenArgument | BasisArgument:
    """The value, which no source may be where it looks like a basis that nothing says is one."""
    if not isinstance(content, Mapping) or not content or any(_name(key) not in _KEYS for key in content):
        return value

    def refused(_: Snapshot) -> Snapshot:
        raise _invalid(f'{place}: a basis is written {{"basis": {{"asOf": 5}}}}, under that name')

    return BasisArgument(f"{type(content).__name__} {content!r}", refused, value)


def read_instant(text: str, place: str = "basis.asOf") -> datetime:
    """An instant from ISO-8601 text (UTC where no offset is given) or from EDN `#inst "…"`."""
    if text.lstrip().startswith("#inst"):
        value = edn.read(text)
        if isinstance(value, datetime):
            return value
    instant = iso_instant(text)
    if instant is None:
        hint = (
            f"a transaction's number is t: {{t: {text}}}"
            if text.isdecimal()
            else 'write e.g. "2024-05-01T12:00:00Z"'
        )
        raise _invalid(f"{place} {quoted(text)} is no instant; {hint}")
    return instant


def read_moment(text: str, place: str) -> datetime | int:
    """An instant as `read_instant`, or a transaction's number, also as the entity that patterns show."""
    text = text.strip()
    if not text.lstrip("-").isdigit():
        return read_instant(text, place)
    number = int(text)
    return number - TX_BASE if number >= TX_BASE else number


def _read(place: str, content: Any) -> dict[str, Any]:
    """What a basis says, by the names of BasisInput; nothing for what is null."""
    if not isinstance(content, Mapping):
        raise _invalid(f'{place} is a map of t, asOf, since and history, e.g. {{"asOf": 5}}, not {quoted(content)}')
    found: dict[str, Any] = {}
    for key, value in content.items():
        written = key.name if isinstance(key, values.Keyword) else str(key)
        name = _name(key)
        if name not in _KEYS:
            hint = nearest(written, _KEYS)
            raise _invalid(f"{place} has no {shown(written)}{hint}; it takes t, asOf, since and history")
        if value is not None:
            found[name] = _READERS[name](f"{place}.{written}", value)
    if "t" in found and "asOf" in found:
        raise _invalid(f"{place} has both t and asOf; give at most one of them")
    return found


def _name(key: Any) -> str:
    written = key.name if isinstance(key, values.Keyword) else str(key)
    return _EDN_KEYS.get(written, written)


def _number(place: str, value: Any) -> int:
    try:
        number = read_long(value)
    except GraphQLError:
        raise _invalid(f"{place} is a transaction's number, not {quoted(value)}") from None
    check_moment(place, number)
    return number


def _moment(place: str, value: Any) -> int | datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, Mapping) and value.keys() == {"#inst"}:
        value = value["#inst"]
    if isinstance(value, str) and not value.strip().isdecimal():
        return read_instant(value, place)
    return _number(place, value)


def _flag(place: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _invalid(f"{place} is true or false, not {quoted(value)}")
    return value


def _invalid(message: str) -> AdalogError:
    return invalid_argument(message)


_READERS = {"t": _number, "asOf": _moment, "since": _moment, "history": _flag}
