"""A document's subscription as a stream of messages, each written once for all equal subscriptions.

graphql-core reads the document and its arguments; after that nothing of it runs: what the selection wants of an
event is worked out once (`FieldShape`), and events become the bytes of `{"data": {…}}`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import orjson

from adalog.datalog.diagnostics import Diagnostic
from adalog.datalog.errors import invalid_argument, unavailable
from adalog.executor.answer.result import Result
from adalog.executor.bounds.budget import Memory
from adalog.executor.bounds.cancel import Cancel, StartAgain
from adalog.executor.live.hub.views import LiveQuestion
from adalog.executor.live.subscribers.event import Event, EventKind, Message, MessageForm
from adalog.executor.live.subscribers.resume import (
    ResumeToken,
    ResumeTokens,
    StreamName,
    StreamStart,
    began,
)
from adalog.executor.live.subscribers.subscription import Subscription
from adalog.executor.permissions.reports import VisibleReports
from adalog.executor.permissions.viewers import VisibleMoments, asking_as
from adalog.executor.question.cost import few
from adalog.executor.question.request import QueryRequest
from adalog.schema.arguments.values import check_arguments, describe_arguments, read_arguments
from adalog.schema.arguments.viewers import viewer_named
from adalog.schema.fields import types
from adalog.schema.fields.types import warnings_of
from adalog.schema.request.context import check_asks_for
from adalog.schema.request.limits import exceeded
from adalog.schema.request.transaction_wait import reached
from adalog.schema.writing.columnar import ColumnarWriter, FieldShape
from adalog.schema.writing.encoding import Encoding, encode_rows
from adalog.schema.writing.longs import write_long
from adalog.store.snapshot.transaction_ids import check_moment

if TYPE_CHECKING:
    from adalog.executor.live.hub.hub import Hub
    from adalog.schema.request.context import Services
    from adalog.store.snapshot.snapshot import Snapshot
    from adalog.store.values.datom import TxReport

# Cells that are written between two looks at the flag.
_SLICE: Final = 20_000
# Values that are read in no time.
_INLINE_VALUES: Final = 500
# Datoms, counted once for each viewer, of which it is found at once what is visible.
_SHARED_DATOMS: Final = 1 << 20
_NULL: Final = b"null"


class RefusedError(Exception):
    """A subscription that does not begin. `errors`: as GraphQL answers them."""

    def __init__(self, errors: Sequence[dict[str, Any]]) -> None:
        super().__init__(errors[0]["message"])
        self.errors = list(errors)


@dataclass(frozen=True, slots=True)
class SelectedField:
    """The root field of a subscription: its response name, its arguments, and what is wanted of each event."""

    field: str
    alias: str
    arguments: dict[str, Any]
    shape: FieldShape


@dataclass(frozen=True, slots=True)
class LiveForm:
    """How the events of `live` are written. `name`: of the stream, for its tokens; `most`: bytes of one event."""

    name: StreamName
    alias: str
    encoding: Encoding
    shape: FieldShape
    tokens: ResumeTokens
    most: int

    @property
    def key(self) -> Hashable:
        return self.name, self.alias, self.encoding, self.shape

    def message(self, event: Event, cancel: Cancel) -> Message:
        token = self.tokens.write(self.name, event.position)
        shown = {name: self._value(field, inner, event, token, cancel) for name, field, inner in self.shape.fields}
        if not _warns(self.shape):
            payload = orjson.dumps({"data": {self.alias: shown}})
            return Message(event.kind, event.position, payload, len(payload), token)
        payload, gaps = self._with_gaps(shown)
        return Message(event.kind, event.position, payload, len(payload), token, gaps)

    def first(self, message: Message, warnings: Sequence[Diagnostic]) -> Message:
        """A message, which others share, as the first one of a stream with these warnings."""
        payload, told = message.payload, warnings_of(warnings)
        asked = [inner for _, field, inner in self.shape.fields if field == "warnings" and inner is not None]
        parts: list[bytes] = []
        start = 0
        for gap, inner in zip(message.gaps, asked, strict=True):
            parts += (payload[start:gap], orjson.dumps([_fields(each, inner) for each in told]))
            start = gap + len(_NULL)
        whole = b"".join((*parts, payload[start:]))
        return message._replace(payload=whole, nbytes=len(whole))

    def _with_gaps(self, shown: Mapping[str, Any]) -> tuple[bytes, tuple[int, ...]]:
        """(the payload, where `null` stands for warnings in it)."""
        parts = [b'{"data":{' + orjson.dumps(self.alias) + b":{"]
        size, gaps = len(parts[0]), []
        for number, (name, asked, _) in enumerate(self.shape.fields):
            key = (b"," if number else b"") + orjson.dumps(name) + b":"
            if asked == "warnings":
                gaps.append(size + len(key))
            value = orjson.dumps(shown[name])
            parts += (key, value)
            size += len(key) + len(value)
        return b"".join((*parts, b"}}}")), tuple(gaps)

    def _value(self, field: str, inner: FieldShape | None, event: Event, token: ResumeToken, cancel: Cancel) -> Any:
        change = event.change
        match field:
            case "__typename":
                return self.shape.type_name
            case "kind" | "basisT" | "resume" | "reason" | "last":
                return value_of_event(field, event, token)
            case "columns" if event.answer is not None and inner is not None:
                return [_fields(column, inner) for column in event.answer.columns]
            case "rows" if event.answer is not None:
                return self._rows(event.answer, event.start, event.stop, cancel)
            case "added" if change is not None:
                return self._rows(change.added, 0, len(change.added), cancel)
            case "retracted" if change is not None:
                return self._rows(change.removed, 0, len(change.removed), cancel)
            case _:
                return None

    def _rows(self, result: Result, start: int, stop: int, cancel: Cancel) -> orjson.Fragment:
        types_ = [column.type for column in result.columns]
        step = max(1, _SLICE // max(1, len(types_)))
        parts, size = [], 0
        for first in range(start, stop, step):
            cancel.check()
            last = min(first + step, stop)
            columns = [result.column(index, first, last) for index in range(len(types_))]
            part = orjson.dumps(encode_rows(columns, types_, self.encoding, self._weigh))[1:-1]
            size += len(part)
            self._weigh(size)
            cancel.budget.take(len(part))
            parts.append(part)
        return orjson.Fragment(b"[" + b",".join(parts) + b"]")

    def _weigh(self, nbytes: int) -> None:
        if nbytes > self.most:
            raise exceeded("bytes in one event of a live query", self.most, "result_bytes")


def value_of_event(field: str, event: Event, token: ResumeToken) -> Any:
    """A field that the events of all live queries have."""
    match field:
        case "kind":
            return event.kind.value
        case "basisT":
            return write_long(event.t)
        case "resume":
            return str(token)
        case "reason":
            return event.reason
        case "last":
            return event.last if event.kind is EventKind.SNAPSHOT else None
    raise AssertionError(field)


def _warns(shape: FieldShape) -> bool:
    # On the way of every event, where a generator would cost several times as much.
    for _, field, _ in shape.fields:  # noqa: SIM110
        if field == "warnings":
            return True
    return False


def _fields(item: object, shape: FieldShape) -> dict[str, Any]:
    """What is asked of an object with plain fields."""
    kind = shape.type_name
    return {name: kind if field == "__typename" else getattr(item, field) for name, field, _ in shape.fields}


@dataclass(frozen=True, slots=True)
class LogForm:
    """How the events of `transactions` are written. Their `resume` is the `from` that goes on after them.
    visible: what its viewer sees; None: everything. now: gives the newest snapshot."""

    alias: str
    encoding: Encoding
    shape: FieldShape
    memory: Memory
    most: int
    now: Callable[[], Snapshot]
    visible: VisibleMoments | None = None

    @property
    def key(self) -> Hashable:
        return self.alias, self.encoding, self.shape, None if self.visible is None else self.visible.key

    def message(self, event: Event, cancel: Cancel) -> Message:
        report = event.report
        assert report is not None, "an event of the log"
        if self.visible is None:
            return self._written(event, report, cancel)
        if cancel.is_brief:
            # Rules of policies may take long.
            raise StartAgain
        reports = event.reports or VisibleReports(report, self.now(), _viewers(event) or [self.visible])
        if len(reports.viewers) > 1:
            event.reports = reports
        seen = reports.of(self.visible)
        if seen is None:
            return Message(event.kind, event.position, None, 0, str(event.t + 1))
        key = self.alias, self.encoding, self.shape, id(seen)
        found: Message | None = reports.written.get(key)
        if found is None:
            found = reports.written[key] = self._written(event, seen, cancel)
        return found

    def _written(self, event: Event, report: TxReport, cancel: Cancel) -> Message:
        taken = 0

        def take(nbytes: int) -> None:
            nonlocal taken
            taken += nbytes
            if taken > self.most:
                raise exceeded(f"bytes in transaction {report.t}", self.most, "result_bytes")
            cancel.budget.take(nbytes)

        one = types.TxReports(lambda _: iter((report,)), self.encoding, self.memory, 0.0)
        written = b"".join(ColumnarWriter(take, cancel).written(one, self.shape).chunks)[1:-1]
        payload = b'{"data":{' + orjson.dumps(self.alias) + b":" + written + b"}}"
        return Message(event.kind, event.position, payload, len(payload), str(report.t + 1))


def _viewers(event: Event) -> list[VisibleMoments]:
    """Those for whom a transaction is being written, unless it is so large that one is seen to after the other."""
    assert event.report is not None, "an event of the log"
    if len(event.report.datoms) * len(event.forms) > _SHARED_DATOMS:
        return []
    logs = (each for each in event.forms if isinstance(each, LogForm))
    return [each.visible for each in logs if each.visible is not None]


class Followed(Protocol):
    """What a subscription follows, and how its events are written.

    resume: the token of an earlier stream; from_t: the past transaction to begin at; warns: the first event shows
    warnings. is_light: `request` takes no time."""

    @property
    def resume(self) -> str | None: ...
    @property
    def from_t(self) -> int | None: ...
    @property
    def warns(self) -> bool: ...
    @property
    def is_light(self) -> bool: ...

    def request(self) -> QueryRequest: ...
    def name(self, request: QueryRequest) -> StreamName: ...
    def form(self, name: StreamName) -> MessageForm: ...


@dataclass(frozen=True, slots=True)
class EdnLive:
    """The field `live`. Raises what is too long."""

    services: Services
    selected: SelectedField

    def __post_init__(self) -> None:
        check_arguments(self._given("args"), self._given("argsEdn"))

    def _given(self, name: str) -> Any:
        return self.selected.arguments.get(name)

    @property
    def resume(self) -> str | None:
        return self._given("resume")  # type: ignore[no-any-return]

    @property
    def from_t(self) -> int | None:
        return self._given("fromT")  # type: ignore[no-any-return]

    @property
    def warns(self) -> bool:
        return _warns(self.selected.shape)

    @property
    def is_light(self) -> bool:
        return few((self._given("args") or (), self._given("argsEdn") or ()), _INLINE_VALUES)

    def request(self) -> QueryRequest:
        arguments = read_arguments(self.services.database, self._given("args"), self._given("argsEdn"))
        return QueryRequest(self._given("query"), arguments, max_rows=self.services.limits.rows)

    def name(self, request: QueryRequest) -> StreamName:
        return StreamName.of("live", request.query, describe_arguments(request.args))

    def form(self, name: StreamName) -> LiveForm:
        selected, services = self.selected, self.services
        most = services.limits.result_bytes
        return LiveForm(name, selected.alias, _encoding(selected), selected.shape, services.tokens, most)


def _asking_as_given(selected: SelectedField) -> AbstractContextManager[None]:
    """A block in which the client asks for the identity that its argument names."""
    viewer = viewer_named(selected.arguments.get("as"))
    check_asks_for(viewer)
    return asking_as(viewer)


async def subscribed(services: Services, selected: SelectedField, resume: str | None) -> Subscription:
    """The stream of a root field. `resume`: what the transport knows of an earlier one, instead of the arguments.
    Raises what is wrong with the arguments."""
    if selected.field == "transactions":
        return _log(services, _hub(services), selected, resume)
    with _asking_as_given(selected):
        return await followed(services, EdnLive(services, selected), resume)


def subscribed_at_once(services: Services, selected: SelectedField, resume: str | None) -> Subscription | None:
    """The same where it takes no time: of the log, and of queries whose like is followed already; else None."""
    if selected.field == "transactions":
        return _log(services, _hub(services), selected, resume)
    with _asking_as_given(selected):
        return followed_at_once(services, EdnLive(services, selected), resume)


async def followed(services: Services, asked: Followed, resume: str | None) -> Subscription:
    """The stream of what is asked. `resume`: as in `subscribed`."""
    begun = followed_at_once(services, asked, resume)
    if begun is not None:
        return begun
    reading = _Reading(services, asked, resume)
    deadline = Cancel.after(services.limits.timeout_ms).deadline
    for t in reading.wanted():
        await reached(services.database, t, deadline)
    async with services.reading:
        # By now it may be known, with all others that wait here.
        made = reading.known()
        if made is None:
            made = await services.pool.threaded(Cancel.after(services.limits.timeout_ms), reading.read)
    return _follow(reading.hub, made)


def followed_at_once(services: Services, asked: Followed, resume: str | None) -> Subscription | None:
    """The same where it takes no time, since the like of it is followed already; else None."""
    reading = _Reading(services, asked, resume)
    if any(t > services.database.snapshot().t for t in reading.wanted()):
        return None
    made = reading.known()
    return None if made is None else _follow(reading.hub, made)


def _hub(services: Services) -> Hub:
    if services.hub is None:
        raise unavailable("this gateway has no live queries")
    return services.hub


def _follow(hub: Hub, made: _Made) -> Subscription:
    asked, form, begin, warnings = made
    if warnings is None:
        return hub.follow(asked, form, begin, None)
    assert isinstance(form, LiveForm), "only these show warnings"
    return hub.follow(asked, form, begin, lambda message: form.first(message, warnings))


def _encoding(selected: SelectedField) -> Encoding:
    return Encoding(selected.arguments.get("encoding") or Encoding.PLAIN)


def _log(services: Services, hub: Hub, selected: SelectedField, resume: str | None) -> Subscription:
    start = selected.arguments.get("from")
    if resume is not None:
        if not resume.isdecimal() or len(resume) > 18:
            raise invalid_argument("the last event's id is not the number of a transaction")
        start = int(resume)
    if start is not None:
        check_moment("from", start)
    most, memory, now = services.limits.result_bytes, services.pool.memory, services.database.snapshot
    visible = VisibleMoments.asked(services.pool.permissions, now())
    form = LogForm(selected.alias, _encoding(selected), selected.shape, memory, most, now, visible)
    return hub.follow_log(form, start, guarded=visible is not None)


_Made = tuple[LiveQuestion, MessageForm, StreamStart, Sequence[Diagnostic] | None]


class _Reading:
    """A subscription on its way to the hub. `resume`: instead of the one in `asked`."""

    def __init__(self, services: Services, asked: Followed, resume: str | None) -> None:
        self.hub = _hub(services)
        self._services = services
        self._asked = asked
        # A browser connects again by itself, with the address that it was given at first.
        self._from_t = asked.from_t if resume is None else None
        self._resume = asked.resume if resume is None else resume

    def wanted(self) -> list[int]:
        """The transactions that it begins at, which another process may have told of."""
        if not self._services.database.log.is_shared:
            return []
        resumed = None if self._resume is None else self._services.tokens.t_of(self._resume)
        return [t for t in (self._from_t, resumed) if t is not None]

    def known(self) -> _Made | None:
        """What is to be followed, where the like of it is known; None: it takes longer, and wants a flag."""
        if not self._asked.is_light:
            return None
        if self._resume is not None and not self._services.tokens.is_recent(self._resume):
            # What a token of long ago is, the log has to say, for which the event loop does not wait.
            return None
        request = self._asked.request()
        question = self.hub.known(request)
        if question is None:
            return None
        warns = self._asked.warns
        warnings = self._services.pool.known_diagnostics(question.question) if warns else None
        return None if warns and warnings is None else self._made(question, request, warnings)

    def read(self, cancel: Cancel) -> _Made:
        """The same whatever it takes."""
        request = self._asked.request()
        question = self.hub.asked(request, cancel)
        warnings = self._services.pool.diagnostics(question.question, cancel) if self._asked.warns else None
        return self._made(question, request, warnings)

    def _made(self, question: LiveQuestion, request: QueryRequest, warnings: Sequence[Diagnostic] | None) -> _Made:
        services = self._services
        name = self._asked.name(request)
        guard = None if question.visible is None else question.visible.guard(services.database.snapshot())
        if guard is not None:
            name = name.of_viewer(guard.key)
        begin = began(services.database, services.tokens, name, self._resume, self._from_t)
        return question, self._asked.form(name), begin, warnings


def hashable(shape: FieldShape) -> FieldShape:
    """The shape as part of a key."""
    fields = tuple((name, field, None if inner is None else hashable(inner)) for name, field, inner in shape.fields)
    return FieldShape(shape.type_name, fields)
