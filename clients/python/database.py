"""The calls of the library: reads of one moment of a database, and of the connection what writes and follows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Self

from adalog.client.backend import Backend
from adalog.client.errors import refusing
from adalog.client.given import (
    NEWEST,
    Entity,
    Moment,
    TransactionText,
    component_given,
    entities_given,
    entity_text,
    milliseconds,
    moment_given,
    name_given,
    number_given,
    text_given,
    transaction_given,
    user_given,
)
from adalog.client.lifetime import Lifetime
from adalog.client.progress import Show
from adalog.client.result import (
    Attribute,
    Datom,
    Explanation,
    ExportReport,
    ImportReport,
    LiveChanges,
    PulledMap,
    Reason,
    Result,
    ResultList,
    TxReport,
    html_properties,
)
from adalog.client.tables import path_names
from adalog.client.values import to_edn
from adalog.client.warning import warn
from adalog.datalog.errors import invalid_argument, quoted

_FORMATS: Final = ("parquet", "edn")
_INDEXES: Final = ("eavt", "aevt", "avet", "vaet")


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

    def __init__(self, backend: Backend, moment: Moment, lifetime: Lifetime) -> None:
        self._backend = backend
        self._moment = moment
        self._lifetime = lifetime

    def _own(self) -> Backend:
        self._lifetime.check()
        return self._backend

    # Reads

    def q(self, query: str, *args: Any, as_of: int | datetime | str | None = None,
          since: int | datetime | str | None = None, timeout: float | None = None) -> Result:  # fmt: skip
        """Runs a query. `args`: values for its `:in` after `$`, in order; a Database is one for a `$source`. as_of,
        since: as the methods of these names. timeout: in seconds. What is probably not meant is in the result's
        `warnings`, and a QueryWarning of Python.

        >>> import adalog
        >>> with adalog.connect(":memory:") as db:
        ...     _ = db.transact([{"n/x": 1}, {"n/x": 2}])
        ...     db.q("[:find (count ?e) . :in $ ?least :where [?e :n/x ?x] [(>= ?x ?least)]]", 2).value
        1
        """
        with refusing():
            moment = self._moment
            moment = moment if as_of is None else replace(moment, as_of=moment_given(as_of, "as_of"))
            moment = moment if since is None else replace(moment, since=moment_given(since, "since"))
            text, given = text_given(query, "a query"), self._arguments(args)
            result = self._own().query(moment, text, given, milliseconds(timeout))
        warn(result.warnings)
        return result

    def pull(self, pattern: str, entity: Entity, *, timeout: float | None = None) -> PulledMap | None:
        """What there is of an entity, as a dict; None if there is nothing. Its `warnings` say what is probably not
        meant, as those of a result; where there is nothing, those of `pull_many` do.

        >>> import adalog
        >>> with adalog.connect(":memory:") as db:
        ...     _ = db.transact('[{:db/ident :p/id :db/valueType :db.type/long :db/unique :db.unique/identity}]')
        ...     _ = db.transact([{"p/id": 7, "p/name": "Ada"}])
        ...     db.pull("[:p/name]", ("p/id", 7))
        {Keyword(':p/name'): 'Ada'}
        """
        with refusing():
            texts = [entity_text(entity)]
            found = self._own().pull(
                self._moment, text_given(pattern, "a pattern"), texts, "eid", milliseconds(timeout)
            )
        warn(found.warnings)
        return None if found[0] is None else PulledMap(found[0], found.warnings)

    def pull_many(
        self, pattern: str, entities: Sequence[Entity], *, timeout: float | None = None
    ) -> ResultList[Any]:
        """`pull` of several entities of one moment: a list in their order, with `warnings`.

        >>> import adalog
        >>> with adalog.connect(":memory:") as db:
        ...     _ = db.transact([{"db/id": 5, "p/name": "Ada"}])
        ...     db.pull_many("[:p/name]", [5, 6])
        [{Keyword(':p/name'): 'Ada'}, None]
        """
        with refusing():
            texts = entities_given(entities)
            found = self._own().pull(
                self._moment, text_given(pattern, "a pattern"), texts, "eids", milliseconds(timeout)
            )
        warn(found.warnings)
        return found

    def explain(self, query: str, *args: Any, analyze: bool = False) -> Explanation:
        """The plan of a query; with `analyze`, what running it did."""
        with refusing():
            return self._own().explain(
                self._moment, text_given(query, "a query"), self._arguments(args), analyze=analyze
            )

    def why(self, query: str, *args: Any, row: Sequence[Any], timeout: float | None = None) -> Reason:
        """Why a row is in the answer of a query, or why it is not. `row`: its values, in the order of `:find`.

        >>> import adalog
        >>> with adalog.connect(":memory:") as db:
        ...     _ = db.transact([{"db/id": 5, "p/name": "Ada", "p/born": 1815}])
        ...     query = "[:find ?n :where [?p :p/name ?n] [?p :p/born ?b] [(< ?b 1900)]]"
        ...     print(db.why(query, row=["Ada"]))
        ...     print(db.why(query, row=["Bob"]))
        the row is in the answer
          [5 :p/name "Ada"], transaction 1
          [5 :p/born 1815], transaction 1
          [(< 1815 1900)]
        the row is not in the answer
          no row passes [?p :p/name ?n], at 1:18; ?n = "Bob"
        """
        with refusing():
            if isinstance(row, str) or not isinstance(row, Sequence):
                raise invalid_argument(f"row is a list of the values of one row, not {quoted(row)}")
            text, given = text_given(query, "a query"), self._arguments(args)
            return self._own().why(self._moment, text, given, list(map(to_edn, row)), milliseconds(timeout))

    def attributes(self) -> list[Attribute]:
        """The attributes of the newest schema."""
        with refusing():
            return self._own().attributes(self._moment.user)

    def datoms(self, index: str, *components: Any, limit: int | None = None) -> ResultList[Datom]:
        """Datoms of an index, `eavt`, `aevt`, `avet` or `vaet`, in its order. `components` fix its first places.
        The list has `warnings`.

        >>> import adalog
        >>> with adalog.connect(":memory:") as db:
        ...     _ = db.transact([{"db/id": 5, "n/x": 1}])
        ...     [(datom.e, datom.a, datom.v) for datom in db.datoms("aevt", "n/x")]
        [(5, Keyword(':n/x'), 1)]
        """
        with refusing():
            name = str(index).lower()
            if name not in _INDEXES:
                raise invalid_argument(f"no index {quoted(index)}; there are {', '.join(_INDEXES)}")
            given = [component_given(name, number, each) for number, each in enumerate(components)]
            most = number_given(limit, "limit")
            if most is not None and most < 0:
                raise invalid_argument(f"limit is {most}; give 0 or more, or None for all")
            found = self._own().datoms(self._moment, name.upper(), given, most)
        warn(found.warnings)
        return found

    def export(
        self, folder: str | os.PathLike[str], *, format: str = "parquet", progress: bool | Show = True
    ) -> ExportReport:
        """Writes the datoms into a new folder, or to an address such as `s3://…`: a folder for each attribute, as
        `parquet` or `edn`, and the schema. Of `history()` it is all that was ever asserted or retracted. For
        databases in this process. progress: whether a notebook or terminal shows a bar; or what is told the stage,
        how many tasks are done, of how many, and how many rows.

        >>> import adalog, tempfile
        >>> with adalog.connect(":memory:") as db, tempfile.TemporaryDirectory() as folder:
        ...     _ = db.transact([{"n/x": 1}, {"n/x": 2}])
        ...     db.export(folder + "/all").datoms
        2
        """
        with refusing():
            if format not in _FORMATS:
                raise invalid_argument(f"format is {quoted(format)}; there are {' and '.join(_FORMATS)}")
            moment = self._moment
            if moment.tried is not None or moment.user is not None or moment.since is not None:
                raise invalid_argument("an export is of a state, or of a history: without with_, since and as_user")
            return self._own().export(moment, os.fspath(folder), format, progress)

    # Other moments

    def as_of(self, t: int | datetime | str) -> Database:
        """The database as it was after transaction `t`, or at an instant: an aware datetime, or ISO text in UTC."""
        with refusing():
            return self._at(replace(self._moment, as_of=moment_given(t, "as_of")))

    def since(self, t: int | datetime | str) -> Database:
        """Only what was asserted after transaction `t`, or an instant."""
        with refusing():
            return self._at(replace(self._moment, since=moment_given(t, "since")))

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
            data = transaction_given(tx, args)
            if isinstance(data, tuple):
                # The forms as values of variables: these are read by the schema that they meet.
                names = [str(number) for number in range(len(data))]
                text = f"[{' '.join(f'?{name}' for name in names)}]"
                data = TransactionText(text, dict(zip(names, data, strict=True)))
            return self._at(replace(self._moment, tried=data))

    def as_user(self, claims: Mapping[str, Any], *, roles: Sequence[str] = ()) -> Database:
        """The database as policies show it to a user. Needs the role admin."""
        with refusing():
            return self._at(replace(self._moment, user=user_given(claims, roles)))

    def _at(self, moment: Moment) -> Database:
        return Database(self._backend, moment, self._lifetime)

    # Parts

    def _arguments(self, args: Sequence[Any]) -> list[Any]:
        return [
            each._source(self)
            if isinstance(each, Database)
            else to_edn(each.rows if isinstance(each, Result) else each)
            for each in args
        ]

    def _source(self, asking: Database) -> Moment:
        if self._backend is not asking._backend:
            raise invalid_argument("a database given as a source belongs to another connection")
        if self._moment.tried is not None or self._moment.user not in (None, asking._moment.user):
            raise invalid_argument(
                "a database given as a source has no with_, and no other user than the query: its basis counts"
            )
        return replace(self._moment, user=None)

    def __repr__(self) -> str:
        about = [f"{name}={value!r}" for name, value in _told(self._moment)]
        return f"<adalog {self._backend.place}{', ' if about else ''}{', '.join(about)}>"

    def _repr_html_(self) -> str:
        rows = [("place", self._backend.place), *_told(self._moment)]
        if self._lifetime.is_over():
            rows.append(("state", "closed"))
        else:
            with refusing():
                rows.append(("newest transaction", self._backend.newest()))
        return html_properties(rows)


class CurrentDatabase(Database):
    """The newest state of a database, to be read, written and followed: by the connection, or as a user."""

    def as_user(self, claims: Mapping[str, Any], *, roles: Sequence[str] = ()) -> CurrentDatabase:
        """The database as policies show it to a user, and let the user write it. Needs the role admin.

        >>> import adalog
        >>> with adalog.connect(":memory:") as db:
        ...     _ = db.transact([{"n/x": 1, "n/y": 2}])
        ...     _ = db.transact(
        ...         '[{:policy/name "x" :policy/roles [:reader] :policy/ops [:read] :policy/on [:n/x]}]'
        ...     )
        ...     user = db.as_user({"sub": "ada"}, roles=["reader"])
        ...     user.q("[:find ?a ?v :where [_ ?a ?v] [(in ?a [:n/x :n/y])]]").rows
        ...     try:
        ...         user.transact([{"n/x": 3}])
        ...     except adalog.Error as error:
        ...         error.code
        [(Keyword(':n/x'), 1)]
        'FORBIDDEN'
        """
        with refusing():
            moment = replace(self._moment, user=user_given(claims, roles))
            return CurrentDatabase(self._backend, moment, self._lifetime)

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
            data = transaction_given(tx, args)
            expected = number_given(expected_basis_t, "expected_basis_t")
            key = name_given(idempotency_key, "idempotency_key")
            return self._own().transact(data, expected, key, self._moment.user)

    def revert(
        self, t: int, *, expected_basis_t: int | None = None, idempotency_key: str | None = None
    ) -> TxReport:
        """Undoes transaction `t` by a new one: what it asserted goes, what it retracted comes back, and attributes
        stay declared. Raises TX_CONFLICT, which says what came since, where that forbids it.

        >>> import adalog
        >>> with adalog.connect(":memory:") as db:
        ...     _ = db.transact([{"db/id": 1, "n/x": 1}])
        ...     t = db.transact([{"db/id": 1, "n/x": 2}]).t
        ...     _ = db.revert(t)
        ...     db.q("[:find ?x . :where [1 :n/x ?x]]").value
        1
        """
        with refusing():
            expected = number_given(expected_basis_t, "expected_basis_t")
            key = name_given(idempotency_key, "idempotency_key")
            return self._own().revert(t, expected, key, self._moment.user)

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
            text, given = text_given(query, "a query"), self._arguments(args)
            t = number_given(from_t, "from_t")
            changes = self._own().live(text, given, name_given(resume, "resume"), t, self._moment.user)
            return self._lifetime.with_changes(changes)


class Connection(CurrentDatabase):
    """A database to be read and written; `connect` makes one, and leaving its `with` block closes it."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend, NEWEST, Lifetime())

    def import_(
        self,
        mapping: str | os.PathLike[str] | Mapping[str, Any],
        paths: Mapping[str, str | os.PathLike[str] | Any] | None = None,
        *,
        max_errors: int = 0,
        quarantine: str | os.PathLike[str] | None = None,
        dry_run: bool = False,
        progress: bool | Show = True,
    ) -> ImportReport:
        """Imports rows of files as one transaction. `mapping`: says what becomes of which columns, the name of a
        YAML file or the same as a dict. `paths`: of sources by name, instead of those in the mapping; a table of
        pandas, Polars, PyArrow or DuckDB stands for a file. Over HTTP the server reads the files, also
        those of tables. quarantine: the folder for rejected rows; with more than `max_errors` of them nothing is
        imported, and ARG_INVALID is raised. dry_run: do everything but the import itself. progress: as of `export`.

        >>> import adalog, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, adalog.connect(folder + "/data") as db:
        ...     _ = pathlib.Path(folder, "people.csv").write_text("id,name\\n7,Ada\\n8,Bob\\n")
        ...     source = {
        ...         "path": folder + "/people.csv",
        ...         "entity": {"attribute": "person/id", "column": "id"},
        ...         "attributes": {"person/name": "name"},
        ...         "options": {"header": True},
        ...     }
        ...     _ = db.transact(
        ...         '[{:db/ident :person/id :db/valueType :db.type/long :db/unique :db.unique/identity}]'
        ...     )
        ...     db.import_({"sources": {"people": source}}).rows
        ...     db.pull("[:person/name]", ("person/id", 7))
        2
        {Keyword(':person/name'): 'Ada'}
        """
        with refusing():
            backend = self._own()
            with path_names(paths) as given:
                return backend.import_(mapping, given, quarantine, progress, max_errors=max_errors, dry_run=dry_run)

    def close(self) -> None:
        """Ends live queries, and lets go of the folder or the server. Later calls raise BACKEND_UNAVAILABLE."""
        if self._lifetime.end():
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
