"""A served adalog over HTTP. Rows travel as Arrow, all other values as TAGGED JSON, so that nothing is lost."""

from __future__ import annotations

import base64
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from typing import Any, Final

import httpx
import orjson
import pyarrow as pa

from adalog.client.arrow_answer import ArrowAnswer
from adalog.client.given import Moment, TransactionText, User
from adalog.client.http.cancellable import Exchange, cancellable_request, watch_connections
from adalog.client.http.documents import (
    ATTRIBUTES,
    DATOMS,
    EXPLAIN,
    LIVE,
    NEWEST,
    PULL,
    PULL_MANY,
    REVERT,
    TRANSACT,
    TRANSACT_AS,
    TRANSACT_JSON,
    WHY,
    Q,
)
from adalog.client.http.following import RemoteChanges
from adalog.client.http.protocol import (
    ARROW,
    ARROW_BYTES,
    EVENT_STREAM,
    GRAPHQL_JSON,
    Answer,
    data_of,
    events_of,
    is_graphql,
    is_near,
    json_bytes,
    reads_certificates,
    request_body,
)
from adalog.client.progress import Show, StageProgress, told
from adalog.client.result import (
    Attribute,
    Column,
    Datom,
    Explanation,
    ExportReport,
    ImportReport,
    Reason,
    Result,
    ResultList,
    ResultWarning,
    TxReport,
)
from adalog.client.values import Keyword, from_edn, from_pulled
from adalog.datalog import edn
from adalog.datalog.errors import AdalogError, Code, invalid_argument, unavailable
from adalog.datalog.extras import require
from adalog.schema.writing.encoding import Encoding, decode, encode, iso

_PAGE: Final = 10_000
# A server says something of a stream more often than this, if only that it is there.
_SILENCE: Final = 90.0
_JOB_SILENCE: Final = 120.0


class RemoteBackend:
    """As of `Backend`."""

    def __init__(self, place: str, token: str | None) -> None:
        self.place = place.rstrip("/").removesuffix("/graphql")
        self._url = self.place + "/graphql"
        headers = {"Content-Type": "application/json"}
        if token is not None:
            if not token.isascii() or not token.isprintable():
                raise AdalogError(Code.UNAUTHENTICATED, "the token holds characters that no token has")
            headers["Authorization"] = f"Bearer {token}"
        try:
            url = httpx.URL(self._url)
        except httpx.InvalidURL as error:
            raise invalid_argument(f"{place!r} is no address of a server: {error}") from None
        if not url.host:
            raise invalid_argument(f"{place!r} names no server, as http://127.0.0.1:8080 does")
        if is_near(url.host):
            # Compression would take longer than the way.
            headers["Accept-Encoding"] = "identity"
        self._http = httpx.Client(
            headers=headers, timeout=httpx.Timeout(10, read=None), verify=reads_certificates(url.scheme, url.host)
        )
        watch_connections(self._http)
        self._seen = 0

    def close(self) -> None:
        self._http.close()

    def newest(self) -> int:
        return self._saw(int(self._ask(NEWEST, {})["database"]["basisT"]))

    # Reads

    def query(self, moment: Moment, query: str, args: Sequence[Any], timeout_ms: int | None) -> Result:
        variables = {"query": query, "args": _arguments(args), **_moment(moment), "timeoutMs": timeout_ms}
        data, stream = self._ask_for_rows(Q, variables)
        found = data["q"]
        stream = base64.b64decode(found["arrow"]) if stream is None else stream
        with pa.ipc.open_stream(stream) as reader:
            answer = ArrowAnswer(reader.read_all(), _warnings(found["warnings"]))
        about, t = answer.about, self._saw(int(found["basisT"]))
        names = answer.shown.column_names
        columns = tuple(Column(name, kind) for name, kind in zip(names, about["types"], strict=True))
        keys = None if about["keys"] is None else tuple(about["keys"])
        return Result(columns, about["shape"], keys, t, answer)

    def explain(self, moment: Moment, query: str, args: Sequence[Any], *, analyze: bool) -> Explanation:
        variables = {"query": query, "args": _arguments(args), **_moment(moment), "analyze": analyze}
        found = self._ask(EXPLAIN, variables)["explain"]
        return Explanation(found["text"], found["plan"], _warnings(found["warnings"]))

    def why(
        self, moment: Moment, query: str, args: Sequence[Any], row: Sequence[Any], timeout_ms: int | None
    ) -> Reason:
        variables = {"query": query, "args": _arguments(args), **_moment(moment), "timeoutMs": timeout_ms}
        found = self._ask(WHY, variables | {"row": [encode(each, Encoding.TAGGED) for each in row]})["why"]
        return Reason(found["holds"], found)

    def pull(
        self, moment: Moment, pattern: str, entities: Sequence[str], name: str, timeout_ms: int | None
    ) -> ResultList[Any]:
        variables = {"pattern": pattern, **_moment(moment), "timeoutMs": timeout_ms}
        if name == "eid":
            data, warnings = self._ask_warned(PULL, variables | {"eid": entities[0]})
            found = [data["pull"]]
        else:
            data, warnings = self._ask_warned(PULL_MANY, variables | {"eids": list(entities)})
            found = data["pullMany"]
        return ResultList((from_pulled(decode(each)) for each in found), warnings)

    def datoms(self, moment: Moment, index: str, components: Sequence[Any], limit: int | None) -> ResultList[Datom]:
        given = [edn.write(each) for each in components]
        variables: dict[str, Any] = {"index": index, "components": given, **_moment(moment)}
        found: list[Datom] = []
        warnings: list[ResultWarning] | None = None
        while True:
            first = _PAGE if limit is None else min(_PAGE, limit - len(found))
            data, told = self._ask_warned(DATOMS, variables | {"first": first})
            page, warnings = data["datoms"], told if warnings is None else warnings
            found += _datoms(page["datoms"])
            if not page["pageInfo"]["hasNextPage"] or len(found) == limit:
                return ResultList(found, warnings)
            variables["after"] = page["pageInfo"]["endCursor"]

    def attributes(self, user: User | None) -> list[Attribute]:
        return [
            Attribute(
                Keyword(each["ident"]),
                each["valueType"],
                each["cardinality"],
                each["unique"],
                each["isComponent"],
                each["doc"],
                int(each["datomCount"]),
            )
            for each in self._ask(ATTRIBUTES, {"as": _as(user)})["attributes"]
        ]

    # Writing and following

    def transact(
        self,
        tx: TransactionText | tuple[Any, ...],
        expected_basis_t: int | None,
        idempotency_key: str | None,
        user: User | None,
    ) -> TxReport:
        variables: dict[str, Any] = {"expectedBasisT": expected_basis_t, "idempotencyKey": idempotency_key}
        if user is not None:
            variables["as"] = _as(user)
        if isinstance(tx, tuple):
            forms = [encode(form, Encoding.TAGGED) for form in tx]
            report = self._ask(TRANSACT_JSON, variables | {"tx": forms}, writes=True)["transactJson"]
        else:
            given = {"tx": tx.text, "args": _values(tx)}
            document = TRANSACT if user is None else TRANSACT_AS
            report = self._ask(document, variables | given, writes=True)["transact"]
        return self._reported(report)

    def revert(
        self, t: int, expected_basis_t: int | None, idempotency_key: str | None, user: User | None
    ) -> TxReport:
        variables = {"t": t, "expectedBasisT": expected_basis_t, "idempotencyKey": idempotency_key, "as": _as(user)}
        return self._reported(self._ask(REVERT, variables, writes=True)["revert"])

    def _reported(self, report: Mapping[str, Any]) -> TxReport:
        warnings = _warnings(report["warnings"])
        return TxReport(
            self._saw(int(report["t"])),
            int(report["basisBefore"]),
            datetime.fromisoformat(report["txInstant"]),
            {name: int(entity) for name, entity in report["tempids"].items()},
            _datoms(report["datoms"]),
            lambda: warnings,
        )

    def live(
        self, query: str, args: Sequence[Any], resume: str | None, from_t: int | None, user: User | None
    ) -> RemoteChanges:
        variables = {"query": query, "args": _arguments(args), "resume": resume, "fromT": from_t, "as": _as(user)}
        return RemoteChanges(query, self, variables)

    # Files

    def import_(
        self,
        mapping: Any,
        paths: Mapping[str, str],
        quarantine: str | os.PathLike[str] | None,
        progress: bool | Show,
        *,
        max_errors: int,
        dry_run: bool,
    ) -> ImportReport:
        require("yaml", "server", "an import")
        from adalog.client.imports import Quarantine, RejectedFolder, job_outcome, mapping_given, wish_of

        wish = wish_of(mapping_given(mapping), paths, max_errors=max_errors, dry_run=dry_run)
        with told(progress) as show, Quarantine(quarantine) as rejected, cancellable_request():
            events = self._job("import", wish)
            outcome = job_outcome(events, StageProgress(show), RejectedFolder(rejected.folder).write)
            self._saw(outcome["t"])
            return rejected.report(outcome, max_errors)

    def export(self, moment: Moment, to: str, form: str, progress: bool | Show) -> ExportReport:
        raise invalid_argument(
            f"an export is made where the folder is: adalog export --data FOLDER {to}, also while it is served"
        )

    # Requests

    def _ask(self, document: str, variables: Mapping[str, Any], *, writes: bool = False) -> Answer:
        """What an answer says. Raises AdalogError for the first of its errors."""
        response = self._sent(document, variables, GRAPHQL_JSON, writes=writes)
        return data_of(self._answer(response, response.content))

    def _ask_warned(self, document: str, variables: Mapping[str, Any]) -> tuple[Answer, list[ResultWarning]]:
        """The same, and what is suspicious about fields that have no place for it."""
        response = self._sent(document, variables, GRAPHQL_JSON)
        answer = self._answer(response, response.content)
        return data_of(answer), _warnings(answer.get("extensions", {}).get("warnings", ()))

    def _ask_for_rows(self, document: str, variables: Mapping[str, Any]) -> tuple[Answer, bytes | None]:
        """The same, and the Arrow stream that came before the JSON."""
        response = self._sent(document, variables, f"{ARROW}, {GRAPHQL_JSON}")
        content = response.content
        length = int(response.headers.get(ARROW_BYTES, 0))
        return data_of(self._answer(response, content[length:])), content if length else None

    def _sent(
        self, document: str, variables: Mapping[str, Any], accept: str, *, writes: bool = False
    ) -> httpx.Response:
        extensions = None if writes or not self._seen else {"minBasisT": self._seen}
        # What is written may be on its way to the disk.
        with self.sending(), nullcontext() if writes else cancellable_request():
            body = request_body(document, variables, extensions)
            return self._http.post(self._url, content=body, headers={"Accept": accept})

    def events(self, variables: Mapping[str, Any]) -> Generator[Exchange | Answer]:
        """The exchange with the server, then the events of a live query. Raises what the server refuses, and
        BACKEND_UNAVAILABLE where the stream breaks off."""
        extensions = {"minBasisT": self._seen} if self._seen else None
        with self.sending():
            request = self._http.build_request(
                "POST",
                self._url,
                content=request_body(LIVE, variables, extensions),
                headers={"Accept": EVENT_STREAM},
                timeout=httpx.Timeout(10, read=_SILENCE),
            )
            response = self._http.send(request, stream=True)
            exchange = Exchange()
            exchange.takes(response.extensions["network_stream"])
            try:
                if not response.headers.get("content-type", "").startswith(EVENT_STREAM):
                    response.read()
                    data_of(self._answer(response, response.content))
                yield exchange
                for kind, data in events_of(response.iter_lines()):
                    if kind == "complete":
                        break
                    yield data_of(orjson.loads(data))["live"]
            finally:
                exchange.end()
                response.close()
        raise unavailable("the stream of a live query broke off")

    def _job(self, name: str, wish: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """What a server says of a job, by kind, `done` last. Raises why there was none."""
        with (
            self.sending(),
            self._http.stream(
                "POST",
                f"{self.place}/{name}",
                content=json_bytes(wish),
                headers={"Accept": EVENT_STREAM},
                timeout=httpx.Timeout(10, read=_JOB_SILENCE),
            ) as response,
        ):
            if not response.headers.get("content-type", "").startswith(EVENT_STREAM):
                response.read()
                data_of(self._answer(response, response.content))
            for kind, data in events_of(response.iter_lines()):
                said = orjson.loads(data)
                if kind == "error":
                    data_of(said)
                yield kind, said
                if kind == "done":
                    return
        raise unavailable(
            f"the stream broke off, and whether the {name} was done is not known; asked for again, it does only "
            "what is not so already"
        )

    @contextmanager
    def sending(self) -> Iterator[None]:
        """What goes wrong on the way becomes BACKEND_UNAVAILABLE."""
        try:
            yield
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            reason = str(error) or type(error).__name__
            raise unavailable(f"no adalog answers at {self._url} ({reason})") from None
        except RuntimeError as error:
            if not self._http.is_closed:
                raise
            raise unavailable(f"the connection is closed: {error}", retryable=False) from None

    def _answer(self, response: httpx.Response, body: bytes) -> Answer:
        try:
            answer = orjson.loads(body)
        except orjson.JSONDecodeError:
            answer = None
        if not is_graphql(answer):
            what = f"{self._url} answered {response.status_code} with something that is not GraphQL"
            raise unavailable(f"{what}; is it adalog's?", retryable=False)
        found: Answer = answer
        return found

    def _saw(self, t: int) -> int:
        """The newest transaction that this connection has seen: no later answer is of an older state."""
        self._seen = max(self._seen, t)
        return t


def _arguments(args: Sequence[Any]) -> list[Any]:
    return [{"#basis": _basis(each, source=True)} if isinstance(each, Moment) else _argument(each) for each in args]


def _argument(value: Any) -> Any:
    if value is None:
        # GraphQL has no null in a list of JSON!.
        return {"#edn": "nil"}
    encoded = encode(value, Encoding.TAGGED)
    if isinstance(encoded, dict) and encoded.keys() == {"basis"}:
        # A map of the caller's, and no basis.
        return {"#map": list(encoded.items())}
    return encoded


def _moment(moment: Moment) -> dict[str, Any]:
    """The variables that say what is read."""
    variables: dict[str, Any] = {"basis": _basis(moment) or None}
    if moment.tried is not None:
        variables |= {"with": moment.tried.text, "withArgs": _values(moment.tried)}
    variables["as"] = _as(moment.user)
    return variables


def _as(user: User | None) -> dict[str, Any] | None:
    return None if user is None else {"claims": dict(user.claims), "roles": list(user.roles)}


def _basis(moment: Moment, *, source: bool = False) -> dict[str, Any]:
    basis: dict[str, Any] = {}
    as_of, since = moment.as_of, moment.since
    if as_of is not None:
        basis |= {"t": as_of} if isinstance(as_of, int) else {"asOf": iso(as_of)}
    if isinstance(since, int):
        basis["since"] = since
    elif since is not None:
        basis["since" if source else "sinceInstant"] = iso(since)
    if moment.history:
        basis["history"] = True
    return basis


def _values(tx: TransactionText) -> dict[str, Any] | None:
    if tx.values is None:
        return None
    return {name: encode(value, Encoding.TAGGED) for name, value in tx.values.items()}


def _datoms(datoms: Sequence[Mapping[str, Any]]) -> list[Datom]:
    return [
        Datom(int(each["e"]), Keyword(each["a"]), from_edn(decode(each["v"])), int(each["t"]), each["added"])
        for each in datoms
    ]


def _warnings(warnings: Sequence[Mapping[str, Any]]) -> list[ResultWarning]:
    return [ResultWarning(each["code"], each["message"], each["line"], each["column"]) for each in warnings]
