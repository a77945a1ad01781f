"""Answers: columns that other libraries take as they are, and rows of Python values, made on demand."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from html import escape
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from adalog.client.errors import refusing
from adalog.client.reasons import reason_text
from adalog.client.values import Keyword, column_of

# Rows of a table in a notebook.
_SHOWN: Final = 20
# Rows of a result's repr, and characters of a row there.
_FIRST: Final = 5
_WIDTH: Final = 100

Rows = list[tuple[Any, ...]]
T = TypeVar("T")


class Column(NamedTuple):
    """`type`: that of all values, such as `string`, or `any`."""

    name: str
    type: str


class ResultWarning(NamedTuple):
    """What is allowed and probably not meant."""

    code: str
    message: str
    line: int | None
    column: int | None


class Datom(NamedTuple):
    """One fact: an entity has a value of an attribute since transaction `t`, or, if not `added`, no longer."""

    e: int
    a: Keyword
    v: Any
    t: int
    added: bool


class ResultList(list[T], Generic[T]):
    """A list, with `warnings` as of a result."""

    def __init__(self, found: Iterable[T], warnings: Sequence[ResultWarning]) -> None:
        super().__init__(found)
        self.warnings = list(warnings)

    def __reduce__(self) -> tuple[Any, ...]:
        return ResultList, (list(self), self.warnings)


class PulledMap(dict[Any, Any]):
    """A dict, with `warnings` as of a result."""

    def __init__(self, found: Mapping[Any, Any], warnings: Sequence[ResultWarning]) -> None:
        super().__init__(found)
        self.warnings = list(warnings)

    def __reduce__(self) -> tuple[Any, ...]:
        return PulledMap, (dict(self), self.warnings)


class Answer(Protocol):
    """Where a result's columns are: codes of the engine, or an Arrow table that came over HTTP."""

    def __len__(self) -> int: ...
    def values(self, column: int, most: int | None = None) -> Sequence[Any]:
        """The column's values as the engine has them: of all rows, or of the first."""

    def table(self) -> Any:
        """All columns as a `pyarrow.Table`."""

    def warnings(self) -> list[ResultWarning]: ...


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The answer to a query.

    `len(result)` is the number of rows and `list(result)` the rows. Libraries that speak Arrow take the columns
    directly: `polars.DataFrame(result)`, `duckdb.from_arrow(result)`, `pyarrow.table(result)`. `shape`: that of
    `value`. `basis_t`: the transaction that was read."""

    columns: tuple[Column, ...]
    shape: str
    keys: tuple[str, ...] | None
    basis_t: int
    answer: Answer

    @cached_property
    def rows(self) -> Rows:
        """A tuple for each row."""
        return self._rows(None)

    def _rows(self, most: int | None) -> Rows:
        columns = [column_of(self.answer.values(place, most), each.type) for place, each in enumerate(self.columns)]
        return list(zip(*columns, strict=True))

    @property
    def value(self) -> Any:
        """The answer in the shape of its `:find`: a list of tuples, a list for `[?x ...]`, a tuple for `[?x ?y]`,
        one value for `?x .`, and dicts for `:keys`. None if a tuple or one value was asked for and there is
        none."""
        if self.keys is not None:
            return [dict(zip(self.keys, row, strict=True)) for row in self.rows]
        if self.shape == "collection":
            return [row[0] for row in self.rows]
        if self.shape in ("scalar", "tuple"):
            if not self.rows:
                return None
            return self.rows[0][0] if self.shape == "scalar" else self.rows[0]
        return self.rows

    @cached_property
    def warnings(self) -> list[ResultWarning]:
        """What is allowed in the query and probably not meant."""
        return self.answer.warnings()

    def __len__(self) -> int:
        return len(self.answer)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __bool__(self) -> bool:
        return len(self) > 0

    @cached_property
    def _table(self) -> Any:
        table = self.answer.table()
        return table if self.keys is None else table.rename_columns(list(self.keys))

    def arrow(self, *, dictionaries: bool = True) -> Any:
        """A `pyarrow.Table`. Its columns, as those of all frames, are named after `:keys`, or else the elements of
        `:find`. Columns of several types, and pulled maps, are EDN text. dictionaries: columns of text are
        dictionaries of their distinct values; else each row has its text.

        >>> import adalog
        >>> with adalog.connect(":memory:") as db:
        ...     result = db.q("[:find ?x ?s :in $ [[?x ?s]] :order-by [?x]]", [(1, "a"), (2, "b"), (3, "a")])
        >>> result.arrow()["?s"].chunk(0).dictionary.to_pylist()
        ['a', 'b']
        >>> str(result.arrow(dictionaries=False)["?s"].type)
        'string'
        """
        if dictionaries:
            return self._table
        return frames().plain_texts(self._table)

    def pandas(self) -> Any:
        """A `pandas.DataFrame`, with texts as `str`; pandas has to be installed."""
        _require("pandas")
        return frames().pandas_frame(self._table)

    def polars(self) -> Any:
        """A `polars.DataFrame`, with texts as `String`; Polars has to be installed."""
        return _require("polars").from_arrow(frames().text_views(self._table))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        names = ", ".join(f"{each.name} {each.type}" for each in self.columns)
        count = f"{len(self):,} row{'' if len(self) == 1 else 's'}"
        lines = [f"<result at transaction {self.basis_t}: {count} of {_short(names)}"]
        lines += [f"  {_short(repr(row))}" for row in self._rows(_FIRST)]
        if len(self) > _FIRST:
            lines.append(f"  … {len(self) - _FIRST:,} more")
        lines += [f"  warning {each.code}: {_short(each.message)}" for each in self.warnings]
        return "\n".join(lines) + ">"

    def _repr_html_(self) -> str:
        names = self.keys or [each.name for each in self.columns]
        return html_rows(names, self._rows(_SHOWN), len(self), "rows") + _html_warnings(self.warnings)


def frames() -> ModuleType:
    """`client.frames`, which imports Arrow."""
    return import_module("adalog.client.frames")


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _require(library: str) -> ModuleType:
    try:
        return import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library:
            raise
        raise ModuleNotFoundError(f"a frame of {library} needs it: pip install {library}", name=library) from None


def shown_value(value: Any) -> str:
    return "" if value is None else str(value)


def html_rows(names: Sequence[str], rows: Iterable[Sequence[Any]], count: int, noun: str) -> str:
    """A table of the first `rows` of `count`, for a notebook."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(shown_value(value))}</td>" for value in row) + "</tr>" for row in rows
    )
    note = f"<p>{count - _SHOWN:,} more {noun}</p>" if count > _SHOWN else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def html_properties(properties: Iterable[tuple[str, Any]]) -> str:
    """A table of names and values, for a notebook."""
    cells = (f"<tr><th>{escape(name)}</th><td>{escape(shown_value(value))}</td></tr>" for name, value in properties)
    return f"<table><tbody>{''.join(cells)}</tbody></table>"


def _html_warnings(warnings: Iterable[ResultWarning]) -> str:
    return "".join(f"<p>Warning: {escape(each.message)}</p>" for each in warnings)


@dataclass(frozen=True)
class TxReport:
    """What a transaction did. `tempids`: the entities that its temporary ids became."""

    t: int
    basis_before: int
    tx_instant: datetime
    tempids: Mapping[str, int]
    datoms: Sequence[Datom]
    find_warnings: Callable[[], list[ResultWarning]] = field(repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        found = partial(list[ResultWarning], self.warnings)
        tempids = dict(self.tempids)
        return TxReport, (self.t, self.basis_before, self.tx_instant, tempids, list(self.datoms), found)

    @cached_property
    def warnings(self) -> list[ResultWarning]:
        """What is allowed in the transaction and probably not meant."""
        return self.find_warnings()

    def _repr_html_(self) -> str:
        properties = [("transaction", self.t), ("instant", self.tx_instant), *self.tempids.items()]
        datoms = html_rows(Datom._fields, self.datoms[:_SHOWN], len(self.datoms), "datoms")
        return html_properties(properties) + datoms + _html_warnings(self.warnings)


@dataclass(frozen=True)
class ImportReport:
    """What an import did. `t`: its transaction; if it changed nothing, the newest one. `attributes`: of a dry run,
    what would come and go."""

    t: int
    rows: int
    entities: int
    datoms: int
    rejected: int
    seconds: float
    warnings: Sequence[str] = ()
    attributes: Sequence[Mapping[str, Any]] = field(default=(), repr=False)


@dataclass(frozen=True)
class ExportReport:
    """What an export wrote. `bytes`: of the attributes' files."""

    t: int
    datoms: int
    attributes: int
    files: int
    bytes: int
    seconds: float


@dataclass(frozen=True)
class Explanation:
    """A query's plan: `text` for people, `plan` for programs."""

    text: str
    plan: Mapping[str, Any] = field(repr=False)
    warnings: Sequence[ResultWarning] = ()

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text)}</pre>"


@dataclass(frozen=True)
class Reason:
    """Why a row is in an answer, if it `holds`, or why it is not. `text`: for people. `plain`: the same as data, a
    step for each clause, as the field `why` of GraphQL has it."""

    holds: bool
    plain: Mapping[str, Any] = field(repr=False)

    @property
    def text(self) -> str:
        return reason_text(self.plain)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text)}</pre>"


@dataclass(frozen=True)
class Attribute:
    """An attribute of the schema, and how many datoms it has."""

    ident: Keyword
    value_type: str | None
    cardinality: str
    unique: str | None
    is_component: bool
    doc: str | None
    datom_count: int


@dataclass(frozen=True)
class Change:
    """One event of a live query. SNAPSHOT: a chunk of the rows, in `added`; `last` with the last chunk. DELTA: rows
    that entered and left, to be applied together. RESET: the rows so far are void, for `reason`; a SNAPSHOT
    follows. `resume`: to be given to `live` to go on after this event."""

    kind: str
    basis_t: int
    resume: str
    added: Rows
    retracted: Rows
    columns: tuple[Column, ...] | None = None
    last: bool | None = None
    reason: str | None = None

    def _repr_html_(self) -> str:
        rows = [("+", *row) for row in self.added[:_SHOWN]]
        rows += [("−", *row) for row in self.retracted[: _SHOWN - len(rows)]]
        names = [] if self.columns is None else ["", *(each.name for each in self.columns)]
        count = len(self.added) + len(self.retracted)
        return f"<p>{escape(change_text(self))}</p>" + (html_rows(names, rows, count, "rows") if rows else "")


class LiveChanges(Iterator[Change], AbstractContextManager["LiveChanges"]):
    """The changes of a live query; `close` ends it, also while another thread waits for the next."""

    def __init__(self, query: str) -> None:
        self._query = query
        self._latest: Change | None = None
        self._closed = threading.Event()

    def __next__(self) -> Change:
        with refusing():
            try:
                self._latest = self._next()
            except StopIteration:
                self._closed.set()
                raise
        return self._latest

    @abstractmethod
    def _next(self) -> Change:
        """Waits for the next change. Raises StopIteration after `close`."""

    def close(self) -> None:
        self._closed.set()
        self._end()

    @abstractmethod
    def _end(self) -> None:
        """Wakes the thread that waits for a change."""

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return live_text(self._query, self._latest, is_closed=self._closed.is_set())

    def _repr_html_(self) -> str:
        return live_html(self._query, self._latest, is_closed=self._closed.is_set())


def change_text(change: Change) -> str:
    """A change in one line."""
    if change.kind == "RESET":
        return f"RESET at transaction {change.basis_t}: {change.reason}"
    rows = f"{len(change.added):,} added, {len(change.retracted):,} retracted"
    return f"{change.kind} at transaction {change.basis_t}: {rows}"


def live_text(query: str, latest: Change | None, *, is_closed: bool) -> str:
    """A live query in one line, with the last change that was read."""
    read = "nothing read" if latest is None else change_text(latest)
    return f"<live query {query!r}, {read}{', closed' if is_closed else ''}>"


def live_html(query: str, latest: Change | None, *, is_closed: bool) -> str:
    """The same for a notebook."""
    read = "none" if latest is None else change_text(latest)
    return html_properties(
        [("live query", query), ("last change read", read), ("state", "closed" if is_closed else "open")]
    )
