"""The calls of the library: reads of one moment of a database, and of the connection what writes and follows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from html import escape
from types import TracebackType
from typing import Any, Final, Protocol, Self

from adalog.client.errors import refusing
from adalog.client.result import Attribute, Change, Datom, Explanation, Result, TxReport
from adalog.client.values import Keyword, to_edn
from adalog.datalog import edn, values
from adalog.datalog.errors import invalid_argument, quoted, unavailable

Entity = int | str | Sequence[Any]
"""A number, an ident such as `:status/open`, or a lookup ref such as `("issue/id", 7)`."""

_INDEXES: Final = ("eavt", "aevt", "avet", "vaet")


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


class LiveChanges(Iterator[Change], AbstractContextManager["LiveChanges"], Protocol):
    """The changes of a live query; `close` ends it, also while another thread waits for the next."""

    def close(self) -> None: ...


class Backend(Protocol):
    """A database in this process, or a server. Arguments are values of the engine, answers are the library's.
    Raises AdalogError. Thread-safe."""

    place: str

    def query(self, moment: Moment, query: str, args: Sequence[Any], timeout_ms: int | None) -> Result: ...
    def explain(self, moment: Moment, query: str, args: Sequence[Any], *, analyze: bool) -> Explanation: ...
    def pull(
        self, moment: Moment, pattern: str, entities: Sequence[str], name: str, timeout_ms: int | None
    ) -> list[Any]: ...
    def datoms(self, moment: Moment, index: str, components: Sequence[Any], limit: int | None) -> list[Datom]: ...
    def attributes(self) -> list[Attribute]: ...
    def transact(
        self, tx: TransactionText | tuple[Any, ...], expected_basis_t: int | None, idempotency_key: str | None
    ) -> TxReport: ...
    def live(self, query: str, args: Sequence[Any], resume: str | None, from_t: int | None) -> LiveChanges: ...
    def newest(self) -> int: ...
    def close(self) -> None: ...


class Database:
    """A moment of a database, to be read. Immutable, and for all threads.

    >>> import adalog
    >>> with adalog.connect(":memory:") as db:
    ...     t = db.transact([{"n/x": 1}]).t
    ...     _ = db.transact([{"n/x": 2}])
    ...     before = db.as_of(t).q("[:find [?x ...] :where [_ :n/x ?x]]").value
    ...     before, sorted(db.q("[:find [?x ...] :where [_ :n/x ?x]]").value)
    ([1], [1, 2])
    """

    def __init__(self, backend: Backend, moment: Moment, process: int) -> None:
        self._backend = backend
        self._moment = moment
        self._process = process

    def _own(self) -> Backend:
        """Raises BACKEND_UNAVAILABLE in a child process: threads and locks are left behind by a fork."""
        if os.getpid() != self._process:
            raise unavailable(
                f"this connection was opened by process {self._process}, and a fork left its threads behind; "
                "call adalog.connect in the new process",
                retryable=False,
            )
        return self._backend

    # Reads

    def q(self, query: str, *args: Any, as_of: int | datetime | None = None, since: int | datetime | None = None,
          timeout: float | None = None) -> Result:  # fmt: skip
        """Runs a query. `args`: values for its `:in` after `$`, in order; a Database is one for a `$source`. as_of,
        since: as the methods of these names. timeout: in seconds.

        >>> import adalog
        >>> with adalog.connect(":memory:") as db:
        ...     _ = db.transact([{"n/x": 1}, {"n/x": 2}])
        ...     db.q("[:find (count ?e) . :in $ ?least :where [?e :n/x ?x] [(>= ?x ?least)]]", 2).value
        1
        """
        with refusing():
            moment = self._moment
            moment = moment if as_of is None else replace(moment, as_of=_moment_given(as_of, "as_of"))
            moment = moment if since is None else replace(moment, since=_moment_given(since, "since"))
            return self._own().query(moment, _text(query, "a query"), self._arguments(args), _milliseconds(timeout))

    def pull(self, pattern: str, entity: Entity, *, timeout: float | None = None) -> Any:
        """What there is of an entity, as a dict; None if there is nothing.

        >>> import adalog
        >>> with adalog.connect(":memory:") as db:
        ...     _ = db.transact('[{:db/ident :p/id :db/valueType :db.type/long :db/unique :db.unique/identity}]')
        ...     _ = db.transact([{"p/id": 7, "p/name": "Ada"}])
        ...     db.pull("[:p/name]", ("p/id", 7))
        {Keyword(':p/name'): 'Ada'}
        """
        with refusing():
            texts = [_entity_text(entity)]
            return self._own().pull(
                self._moment, _text(pattern, "a pattern"), texts, "eid", _milliseconds(timeout)
            )[0]

    def pull_many(self, pattern: str, entities: Sequence[Entity], *, timeout: float | None = None) -> list[Any]:
        """`pull` of several entities of one moment, in their order."""
        with refusing():
            texts = list(map(_entity_text, entities))
            return self._own().pull(
                self._moment, _text(pattern, "a pattern"), texts, "eids", _milliseconds(timeout)
            )

    def explain(self, query: str, *args: Any, analyze: bool = False) -> Explanation:
        """The plan of a query; with `analyze`, what running it did."""
        with refusing():
            return self._own().explain(
                self._moment, _text(query, "a query"), self._arguments(args), analyze=analyze
            )

    def attributes(self) -> list[Attribute]:
        """The attributes of the newest schema."""
        with refusing():
            self._check_not_for_another("attributes")
            return self._own().attributes()

    def datoms(self, index: str, *components: Any, limit: int | None = None) -> list[Datom]:
        """Datoms of an index, `eavt`, `aevt`, `avet` or `vaet`, in its order. `components` fix its first places.

        >>> import adalog
        >>> with adalog.connect(":memory:") as db:
        ...     _ = db.transact([{"db/id": 5, "n/x": 1}])
        ...     [(datom.e, datom.a, datom.v) for datom in db.datoms("aevt", "n/x")]
        [(5, Keyword(':n/x'), 1)]
        """
        with refusing():
            self._check_not_for_another("datoms")
            if index.lower() not in _INDEXES:
                raise invalid_argument(f"no index {quoted(index)}; there are {', '.join(_INDEXES)}")
            places = zip(index.lower(), components, strict=False)
            given = [_component(place, each) for place, each in places] + list(map(to_edn, components[4:]))
            return self._own().datoms(self._moment, index.upper(), given, limit)

    # Other moments

    def as_of(self, t: int | datetime) -> Database:
        """The database as it was after transaction `t`, or at an instant."""
        with refusing():
            return self._at(replace(self._moment, as_of=_moment_given(t, "as_of")))

    def since(self, t: int | datetime) -> Database:
        """Only what was asserted after transaction `t`, or an instant."""
        with refusing():
            return self._at(replace(self._moment, since=_moment_given(t, "since")))

    def history(self) -> Database:
        """All that was ever asserted or retracted."""
        return self._at(replace(self._moment, history=True))

    def with_(self, tx: str | Sequence[Any], *, args: Mapping[str, Any] | None = None) -> Database:
        """The database with a transaction applied that is never committed.

        >>> import adalog
        >>> with adalog.connect(":memory:") as db:
        ...     _ = db.transact([{"n/x": 1}])
        ...     db.with_([{"n/x": 2}]).q("[:find (sum ?x) . :where [_ :n/x ?x]]").value
        3
        """
        with refusing():
            if self._moment.tried is not None:
                raise invalid_argument("one transaction is tried already; give all its forms to one with_")
            data = _transaction(tx, args)
            if isinstance(data, tuple):
                # The forms as values of variables: these are read by the schema that they meet.
                names = [str(number) for number in range(len(data))]
                text = f"[{' '.join(f'?{name}' for name in names)}]"
                data = TransactionText(text, dict(zip(names, data, strict=True)))
            return self._at(replace(self._moment, tried=data))

    def as_user(self, claims: Mapping[str, Any], *, roles: Sequence[str] = ()) -> Database:
        """The database as policies show it to a user. Needs the role admin."""
        return self._at(replace(self._moment, user=User(dict(claims), tuple(roles))))

    def _at(self, moment: Moment) -> Database:
        return Database(self._backend, moment, self._process)

    # Parts

    def _check_not_for_another(self, what: str) -> None:
        if self._moment.user is not None:
            raise invalid_argument(f"{what} cannot be asked for another user; q, pull and explain can")

    def _arguments(self, args: Sequence[Any]) -> list[Any]:
        return [each._source(self) if isinstance(each, Database) else to_edn(each) for each in args]

    def _source(self, asking: Database) -> Moment:
        if self._backend is not asking._backend:
            raise invalid_argument("a database given as a source belongs to another connection")
        if self._moment.tried is not None or self._moment.user is not None:
            raise invalid_argument("a database given as a source has no with_ and no as_user: its basis counts")
        return self._moment

    def __repr__(self) -> str:
        about = [f"{name}={value!r}" for name, value in _told(self._moment)]
        return f"<adalog {self._backend.place}{', ' if about else ''}{', '.join(about)}>"

    def _repr_html_(self) -> str:
        rows = [("place", self._backend.place), *_told(self._moment)]
        if os.getpid() == self._process:
            with refusing():
                rows.append(("newest transaction", self._backend.newest()))
        cells = (f"<tr><th>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>" for name, value in rows)
        return f"<table><tbody>{''.join(cells)}</tbody></table>"


class Connection(Database):
    """A database to be read and written; `connect` makes one, and leaving its `with` block closes it."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend, Moment(), os.getpid())

    def transact(
        self,
        tx: str | Sequence[Any],
        *,
        args: Mapping[str, Any] | None = None,
        expected_basis_t: int | None = None,
        idempotency_key: str | None = None,
    ) -> TxReport:
        """Applies a transaction, wholly or not at all, and returns when it is on disk. `tx`: EDN text, or maps and
        lists. `args`: values for variables of the text, by their names. expected_basis_t: apply only if this is
        still the newest transaction. idempotency_key: what comes with the same key is applied once.

        >>> import adalog
        >>> with adalog.connect(":memory:") as db:
        ...     _ = db.transact('[{:db/ident :i/status :db/valueType :db.type/keyword}]')
        ...     _ = db.transact([{"i/title": "x", "i/status": "open"}])
        ...     _ = db.transact("[{:i/title ?title}]", args={"title": '"] typed'})
        ...     sorted(db.q("[:find [?t ...] :where [_ :i/title ?t]]").value)
        ['"] typed', 'x']
        """
        with refusing():
            return self._own().transact(_transaction(tx, args), expected_basis_t, idempotency_key)

    def live(self, query: str, *args: Any, resume: str | None = None, from_t: int | None = None) -> LiveChanges:
        """The answer to a query and then its changes, as they are made. resume: that of the last change seen.
        from_t: the transaction to start from.

        >>> import adalog
        >>> with adalog.connect(":memory:") as db, db.live("[:find ?x :where [_ :n/x ?x]]") as changes:
        ...     first = next(changes)
        ...     _ = db.transact([{"n/x": 1}])
        ...     (first.kind, first.added), next(changes).added
        (('SNAPSHOT', []), [(1,)])
        """
        with refusing():
            return self._own().live(_text(query, "a query"), self._arguments(args), resume, from_t)

    def close(self) -> None:
        """Ends live queries, and lets go of the folder or the server."""
        if os.getpid() == self._process:
            self._backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _told(moment: Moment) -> list[tuple[str, Any]]:
    told: list[tuple[str, Any]] = [("as_of", moment.as_of), ("since", moment.since)]
    told.append(("history", moment.history or None))
    user = None if moment.user is None else dict(moment.user.claims)
    told += [("with_", None if moment.tried is None else moment.tried.text), ("user", user)]
    return [(name, value) for name, value in told if value is not None]


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise invalid_argument(f"{what} is EDN text in a str, not {quoted(value)}")
    return value


def _moment_given(value: Any, name: str) -> int | datetime:
    if isinstance(value, datetime):
        moment: datetime = to_edn(value)
        return moment
    if type(value) is not int:
        raise invalid_argument(f"{name} is a transaction's number or an aware datetime, not {quoted(value)}")
    return value


def _milliseconds(timeout: float | None) -> int | None:
    if timeout is not None and not timeout > 0:
        raise invalid_argument(f"timeout is {timeout}; give more than 0 seconds")
    return None if timeout is None else max(1, round(timeout * 1000))


def _transaction(tx: Any, args: Mapping[str, Any] | None) -> TransactionText | tuple[Any, ...]:
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


def _entity_text(entity: Any) -> str:
    if isinstance(entity, Mapping):
        entity = entity.get(":db/id", entity)
    if isinstance(entity, str):
        return str(Keyword(entity))
    if isinstance(entity, list | tuple) and len(entity) == 2 and isinstance(entity[0], str):
        # As JSON has it: a text is then also read as a keyword, an instant or a uuid.
        return edn.write((str(Keyword(entity[0])), to_edn(entity[1])))
    return edn.write(to_edn(entity))


def _component(place: str, value: Any) -> Any:
    if place == "a":
        return _keyword(value)
    if place == "e" and isinstance(value, str):
        return _keyword(value)
    if isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str) and place == "e":
        return (_keyword(value[0]), to_edn(value[1]))
    return to_edn(value)
