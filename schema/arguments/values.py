"""GraphQL arguments as the engine wants them: JSON and EDN arguments as values, a basis as a snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import strawberry

from adalog.datalog import edn, values
from adalog.datalog.diagnostics import Diagnostic
from adalog.datalog.errors import AdalogError, Code, invalid_argument
from adalog.executor.question.arguments import UNBOUND, GivenArgument
from adalog.schema.arguments.basis import moment, read_instant, unwrapped
from adalog.schema.arguments.moments import out_of_range
from adalog.schema.request.limits import exceeded
from adalog.schema.writing.encoding import NestingError, TagError, decode
from adalog.schema.writing.scalars import Long
from adalog.store.snapshot.transaction_ids import check_moment

if TYPE_CHECKING:
    from adalog.schema.request.visible_database import VisibleDatabase
    from adalog.store.database import Database
    from adalog.store.snapshot.snapshot import Snapshot


@strawberry.input
class BasisInput:
    t: Long | None = None
    as_of: str | None = None
    since: Long | None = None
    since_instant: str | None = None
    history: bool | None = False

    @property
    def start(self) -> datetime | int | None:
        """The moment after which it reads."""
        return self.since if self.since_instant is None else read_instant(self.since_instant, "basis.sinceInstant")


_BASIS = values.Keyword("basis")
_MOST_ARGUMENTS = 1_000


def snapshot_of(database: VisibleDatabase, basis: BasisInput | None) -> Snapshot:
    """The snapshot a basis names; the latest when it names none."""
    if basis is None:
        return database.snapshot()
    if basis.t is not None and basis.as_of is not None:
        raise invalid_argument("basis has both t and asOf; give at most one of them")
    if basis.since is not None and basis.since_instant is not None:
        raise invalid_argument("basis has both since and sinceInstant; give at most one of them")
    for name, number in (("t", basis.t), ("since", basis.since)):
        if number is not None:
            check_moment(f"basis.{name}", number)
    if basis.as_of is not None:
        return database.at(as_of=read_instant(basis.as_of), since=basis.start, history=bool(basis.history))
    return database.at(t=basis.t, since=basis.start, history=bool(basis.history))


def basis_suspicions(database: Database, basis: BasisInput) -> Iterator[Diagnostic]:
    """What is suspicious about a basis that names a snapshot."""
    as_of = None if basis.as_of is None else read_instant(basis.as_of)
    place = "basis.since" if basis.since_instant is None else "basis.sinceInstant"
    return out_of_range(database.snapshot(), "basis.asOf", as_of, place, basis.start)


def check_arguments(args: Sequence[Any] | None, args_edn: Sequence[str] | None) -> None:
    """Raises LIMIT_EXCEEDED for more than any query has places for."""
    for name, given in (("args", args), ("argsEdn", args_edn)):
        if given is not None and len(given) > _MOST_ARGUMENTS:
            raise exceeded(f"arguments in {name}", _MOST_ARGUMENTS)


def read_arguments(
    database: Database, args: Sequence[Any] | None, args_edn: Sequence[str] | None
) -> tuple[Any, ...]:
    """The values for `:in` after `$`. {"basis": {"t": 5}} is another database value for a `$source`."""
    if args is not None and args_edn is not None:
        raise invalid_argument("both args and argsEdn are given; give at most one of them")
    if args_edn is not None:
        return tuple(_read_edn(database, f"argsEdn[{index}]", text) for index, text in enumerate(args_edn))
    return tuple(_read_json(database, index, value) for index, value in enumerate(args or ()))


def read_draft_arguments(database: Database, args_edn: Sequence[str | None]) -> tuple[Any, ...]:
    """The same of EDN texts; UNBOUND for those that are still to come."""
    read = partial(_read_edn, database)
    return tuple(UNBOUND if text is None else read(f"argsEdn[{i}]", text) for i, text in enumerate(args_edn))


def read_row(database: Database, row: Sequence[Any]) -> tuple[GivenArgument, ...]:
    """The cells of a row of an answer."""
    cells = tuple(_read_json(database, index, value, "row") for index, value in enumerate(row))
    for index, cell in enumerate(cells):
        if not isinstance(cell, GivenArgument):
            raise invalid_argument(f"row[{index}] is a basis; a row has values")
    return cells


def _read_edn(database: Database, place: str, text: str) -> Any:
    try:
        value = edn.read(text)
    except AdalogError as error:
        raise error.of_text(place) from None
    given = GivenArgument(value, text)
    if isinstance(value, values.EdnMap) and list(value) == [_BASIS]:
        return moment(database, f"{place} :basis", value[_BASIS], given)
    return unwrapped(place, value, given)


def _read_json(database: Database, index: int, value: Any, named: str = "args") -> Any:
    place = f"{named}[{index}]"
    if isinstance(value, dict) and value.keys() == {"#edn"} and isinstance(value["#edn"], str):
        return _read_edn(database, f"{place}.#edn", value["#edn"])
    if isinstance(value, dict) and value.keys() == {"#basis"}:
        return moment(database, f"{place}.#basis", value["#basis"], None)
    try:
        decoded = decode(value)
    except TagError as error:
        code = Code.LIMIT_EXCEEDED if isinstance(error, NestingError) else Code.ARG_INVALID
        raise AdalogError(code, f"{place}: {error}") from None
    given = GivenArgument(decoded, json=True)
    if isinstance(value, dict) and value.keys() == {"basis"}:
        return moment(database, f"{place}.basis", value["basis"], given)
    return unwrapped(place, value, given)


def describe_arguments(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """A description of arguments, by typed identity and the same in every process: for cursors and tokens."""
    return tuple(getattr(value, "key", None) or values.stable_text(values.identity(value)) for value in arguments)
