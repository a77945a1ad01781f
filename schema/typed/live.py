"""Typed subscriptions: the entities of a type, kept up to date as the nested JSON that a document selects.

A typed live field is one live query over entities and what is pulled of them. Its events tell entities that came,
that changed at any depth, and that went.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import orjson

from adalog.datalog.errors import AdalogError, Code, invalid_argument
from adalog.datalog.values import identity
from adalog.executor.answer.result import Result
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.live.subscribers.event import Event, EventKind, Message
from adalog.executor.live.subscribers.resume import ResumeToken, ResumeTokens, StreamName
from adalog.executor.question.arguments import BasisArgument
from adalog.executor.question.cost import few
from adalog.executor.question.request import QueryRequest
from adalog.schema.arguments.values import describe_arguments
from adalog.schema.live.stream import value_of_event
from adalog.schema.request.limits import exceeded
from adalog.schema.typed.model import FieldModel, Model, TypeModel
from adalog.schema.typed.reading.filters import Clauses, Parameters, anchored
from adalog.schema.typed.reading.page_cursors import PageCursors
from adalog.schema.typed.reading.pages import ordering_variable, size_of
from adalog.schema.typed.reading.patterns import SelectionCompiler
from adalog.schema.typed.reading.queries import HISTORY, PatternText, QueryText
from adalog.schema.typed.reading.reads import named_entity
from adalog.schema.typed.reading.writer import JsonWriter, Shape
from adalog.schema.typed.roots import TypedRoot
from adalog.schema.typed.selection import Selected

if TYPE_CHECKING:
    from adalog.schema.request.context import Services

# Entities that a list without `first` is taken for, where its cost is weighed.
_UNBOUNDED: Final = 1_000
_MOST_ORDERED: Final = 1_000
"""The most ids whose order events tell."""
_INLINE_VALUES: Final = 500
_RESUME: Final = "resume"
_HISTORY: Final = BasisArgument("history", lambda snapshot: snapshot.history())


@dataclass(frozen=True, slots=True)
class LiveRead:
    """A typed live field as a query. The first column of its rows is the entity; the second, where something of it
    is selected, its map; others are what orders them. shapes: by response names, of the fields of an event that
    show entities. fields: those that it reads, as they are declared."""

    query: QueryText
    parameters: Parameters
    cursors: PageCursors
    shapes: Mapping[str, Shape]
    fields: frozenset[tuple[str, FieldModel]]

    @property
    def arguments(self) -> tuple[Any, ...]:
        values = dict(zip(self.parameters.names, self.parameters.values, strict=True))
        return tuple(_HISTORY if name == HISTORY else values[name] for name in self.query.inputs)

    @property
    def meaning(self) -> Hashable:
        """Equal where the schema reads the field in the same way."""
        described = sorted(f"{name}.{each.name} {replace(each, doc=None)}" for name, each in self.fields)
        return (self.query.text, *describe_arguments(self.arguments), *described)


def compiled(services: Services, model: Model, root: TypedRoot, chosen: Selected) -> LiveRead:
    """The query of a live field. Raises ARG_INVALID and LIMIT_EXCEEDED."""
    kind = root.model
    assert kind is not None
    limits = services.limits
    parameters, cursors = Parameters(), PageCursors(services.cursors)
    compiler = SelectionCompiler(model, parameters, cursors, limits.rows)
    entity = parameters.variable("e")
    found = Clauses([anchored(kind, entity)])
    uses: tuple[str, ...] = ()
    tail, first = "", 1
    keys: list[str] = []
    if root.kind == "live_one":
        found.extend((named_entity(compiler, kind, entity, chosen.arguments["by"]),))
    else:
        found.extend((compiler.filters.where(kind, entity, chosen.arguments.get("where")),))
        given = chosen.arguments.get("first")
        first = size_of(given, "first", limits.rows, _UNBOUNDED)
        if given is not None or chosen.arguments.get("orderBy"):
            order, terms = compiler.filters.order(kind, entity, chosen.arguments.get("orderBy"))
            found.extend((order,))
            # One row more than there may be is refused, and not left out.
            limit = parameters.add(limits.rows + 1 if given is None else given)
            uses, tail = (limit,), f":order-by [{' '.join(terms)}] :limit {limit}"
            # What orders the rows is a part of them: no order changes without a change of rows.
            keys = [name for name in map(ordering_variable, terms) if name != entity]
    inner = PatternText()
    compiler.spend(first)
    shown = [each for each in chosen.of(chosen.type_name) if each.field in ("added", "changed")]
    shapes = {each.key: compiler.entities(kind.name, each, inner, first, each.field) for each in shown}
    if cursors.t is not None:
        raise invalid_argument("a live field shows the present, and a cursor is of the past: leave `after` out")
    columns = (entity, *([f"(pull {entity} {inner.text})"] if shown else ()), *dict.fromkeys(keys))
    query = QueryText(" ".join(columns), found, (*inner.uses, *uses), tail)
    fields = frozenset(_fields(model, kind, shown))
    return LiveRead(query, parameters, cursors, shapes, fields)


def _fields(model: Model, kind: TypeModel, shown: Sequence[Selected]) -> set[tuple[str, FieldModel]]:
    """The fields that are selected at any depth, each with the name of its type."""
    found = set()
    left = [(kind.name, each) for selected in shown for each in selected.of(kind.name)]
    while left:
        name, chosen = left.pop()
        of = model.types.get(name)
        declared = None if of is None else of.fields.get(chosen.field)
        if declared is not None:
            found.add((name, declared))
        left += [(inner, each) for inner, several in chosen.fields.items() for each in several]
    return found


@dataclass(slots=True)
class TypedLive:
    """A subscription to a typed live field. current: gives the model of the newest schema; model: the one that the
    document was validated with."""

    services: Services
    model: Model
    root: TypedRoot
    selected: Selected
    current: Callable[[Cancel], Model]
    warns: bool = False
    from_t: int | None = None
    _read: LiveRead = field(init=False)

    def __post_init__(self) -> None:
        self._read = compiled(self.services, self.model, self.root, self.selected)

    @property
    def alias(self) -> str:
        name: str = self.selected.key
        return name

    @property
    def resume(self) -> str | None:
        token: str | None = self.selected.arguments.get(_RESUME)
        return token

    @property
    def is_light(self) -> bool:
        return few(self._read.arguments, _INLINE_VALUES)

    def request(self) -> QueryRequest:
        read = self._read
        return QueryRequest(read.query.text, read.arguments, max_rows=self.services.limits.rows)

    def name(self, request: QueryRequest) -> StreamName:
        return StreamName.of("typed", self._asked, meaning=self._read.meaning)

    @property
    def _asked(self) -> str:
        """The field with its arguments but `resume`, for the stream's name."""
        others = {name: value for name, value in self.selected.arguments.items() if name != _RESUME}
        return _described(replace(self.selected, arguments=others))

    def form(self, name: StreamName) -> TypedLiveForm:
        return TypedLiveForm(
            name,
            self.selected,
            self.services.tokens,
            self.services.limits.result_bytes,
            self._read,
            self.model,
            lambda model: compiled(self.services, model, self.root, self.selected),
            self.current,
        )


def _described(chosen: Selected) -> str:
    """A selection without the types of its fields, which are the schema's."""
    given = sorted(f"{name}: {value!r}" for name, value in chosen.arguments.items())
    inner = (" ".join(map(_described, several)) for several in chosen.fields.values())
    return f"{chosen.key}: {chosen.field}({', '.join(given)}) {{ {' | '.join(inner)} }}"


@dataclass(slots=True)
class TypedLiveForm:
    """How the events of a typed live field are written. name: of the stream; most: bytes of one event; compile: the
    field as another model has it."""

    name: StreamName
    selected: Selected
    tokens: ResumeTokens
    most: int
    read: LiveRead
    model: Model
    compile: Callable[[Model], LiveRead]
    current: Callable[[Cancel], Model]
    # Of its shapes, which write cursors of the event's moment.
    _lock: Lock = field(default_factory=Lock)

    @property
    def key(self) -> Hashable:
        return self.name, self.selected.key

    def message(self, event: Event, cancel: Cancel) -> Message:
        with self._lock:
            self._follow_schema(cancel)
            self.read.cursors.t = event.t
            token = self.tokens.write(self.name, event.position)
            fields = self.selected.of(self.selected.type_name)
            rows = _ShownRows.of(event, bool(self.read.shapes))
            writer = JsonWriter(cancel.budget.take)
            shown = {each.key: self._value(each, event, token, rows, writer, cancel) for each in fields}
        payload = orjson.dumps({"data": {self.selected.key: shown}})
        return Message(event.kind, event.position, payload, len(payload), token)

    def _follow_schema(self, cancel: Cancel) -> None:
        """Reads the fields as the newest schema has them. Raises a retryable QUERY_INVALID if that is otherwise."""
        model = self.current(cancel)
        if model is self.model:
            return
        try:
            read = self.compile(model)
        except KeyError:
            read = None
        if read is None or read.meaning != self.read.meaning:
            raise AdalogError(
                Code.QUERY_INVALID,
                f"the schema has changed, and with it what {self.selected.field} shows; subscribe again",
                retryable=True,
            )
        self.model, self.read = model, read

    def _value(
        self,
        chosen: Selected,
        event: Event,
        token: ResumeToken,
        rows: _ShownRows,
        writer: JsonWriter,
        cancel: Cancel,
    ) -> Any:
        match chosen.field:
            case "__typename":
                return self.selected.type_name
            case "kind":
                # What orders a row may change while its place stays.
                idle = event.kind is EventKind.DELTA and not rows and self._order(event) is None
                return EventKind.PROGRESS if idle else event.kind
            case "basisT" | "resume" | "reason" | "last":
                return value_of_event(chosen.field, event, token)
            case "first":
                return event.start == 0 if event.kind is EventKind.SNAPSHOT else None
            case "added":
                return self._entities(chosen, rows.added, writer, cancel)
            case "changed":
                return self._entities(chosen, rows.changed, writer, cancel)
            case "removed":
                return [str(each) for each in rows.removed]
            case "order":
                return self._order(event)
        raise AssertionError(chosen.field)

    def _order(self, event: Event) -> list[str] | None:
        order = None if event.change is None else event.change.order
        return None if order is None or len(order) > _MOST_ORDERED else [str(each) for each in order.tolist()]

    def _entities(
        self, chosen: Selected, entities: Sequence[Any], writer: JsonWriter, cancel: Cancel
    ) -> orjson.Fragment:
        shape, parts, size = self.read.shapes[chosen.key], [], 0
        for each in entities:
            cancel.check()
            text = writer.text(shape, each)
            size += len(text) + 1
            if size > self.most:
                raise exceeded("bytes in one event of a live query", self.most, "result_bytes")
            cancel.budget.take(len(text))
            parts.append(text)
        return orjson.Fragment(b"[" + b",".join(parts) + b"]")


@dataclass(frozen=True, slots=True)
class _ShownRows:
    """The entities of an event: maps of those that came and that changed, ids of those that went."""

    added: Sequence[Any] = ()
    changed: Sequence[Any] = ()
    removed: Sequence[int] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    @staticmethod
    def of(event: Event, shows: bool) -> _ShownRows:
        """shows: something is selected of the entities."""
        if event.answer is not None:
            return _ShownRows(_maps(event.answer, event.start, event.stop, shows))
        change = event.change
        if change is None:
            return _ShownRows()
        came, went = (
            dict(zip(each.column(0), _maps(each, 0, len(each), shows), strict=True))
            for each in (change.added, change.removed)
        )
        return _ShownRows(
            [found for entity, found in came.items() if entity not in went],
            [
                found
                for entity, found in came.items()
                if entity in went and identity(found) != identity(went[entity])
            ],
            [entity for entity in went if entity not in came],
        )


def _maps(result: Result, start: int, stop: int, shows: bool) -> Sequence[Any]:
    """What is pulled of the entities; nothing where nothing of them is selected."""
    return result.column(1, start, stop) if shows else [None] * (stop - start)
