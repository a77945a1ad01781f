"""Typed root fields that read: the selection becomes EDN queries, their answers become the JSON of the field.

A list or an entity is one query. A connection is one for its page, and one for its number, its aggregates and its
groups, where these are selected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from adalog.datalog.diagnostics import Diagnostic, Suspicion
from adalog.datalog.errors import AdalogError, invalid_argument
from adalog.datalog.values import Keyword
from adalog.executor.answer.result import Result
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.question.cost import few
from adalog.executor.question.request import QueryRequest
from adalog.schema.arguments.speculation import BasisReading
from adalog.schema.arguments.values import BasisInput
from adalog.schema.arguments.viewers import visible_as_named
from adalog.schema.request.budget import JsonChunks, RepeatedWork
from adalog.schema.request.context import Context, Services
from adalog.schema.request.limits import exceeded
from adalog.schema.request.transaction_wait import reached
from adalog.schema.request.visible_database import VisibleDatabase
from adalog.schema.typed.model import Model, TypeModel
from adalog.schema.typed.reading.entity_texts import EntityTexts
from adalog.schema.typed.reading.filters import Clauses, Parameters, anchored, entity_id, pattern
from adalog.schema.typed.reading.page_cursors import PageCursors
from adalog.schema.typed.reading.pages import size_of
from adalog.schema.typed.reading.patterns import SelectionCompiler
from adalog.schema.typed.reading.queries import PatternText, QueryText
from adalog.schema.typed.reading.writer import DB_ID, JsonWriter, Shape
from adalog.schema.typed.roots import TypedRoot
from adalog.schema.typed.selection import Selected
from adalog.schema.typed.slots import Slot
from adalog.store.files.gc_pause import uncollected
from adalog.store.snapshot.past_limits import may_lack
from adalog.store.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from adalog.executor.pool import CodedRows

_ROWS: Final = "rows"
_WRITTEN: Final = frozenset(("one", "list"))
# Values below which the event loop is not worth leaving, and the pool's cost of writing one.
_INLINE_VALUES: Final = 4_000
_VALUE_COST: Final = 8.0


@dataclass(slots=True)
class TypedRead:
    """A root field as queries. parts: by the key under which the answer is found. kind: of the root. ids: the
    entities of `nodes`, in the order in which they are shown. anchors: one of which the entities have; in a past
    without these there are none. paged: the root itself has a cursor, which names the basis. has_connections: at
    any depth; their shapes hold the cursors. pattern: what is pulled of the entities where nothing else is read.
    texts: write a few of these."""

    shape: Shape
    parameters: Parameters
    cursors: PageCursors
    parts: dict[str, QueryText] = field(default_factory=dict)
    kind: str = "list"
    ids: Sequence[int] = ()
    anchors: Sequence[Keyword] = ()
    paged: bool = False
    has_connections: bool = False
    pattern: str = ""
    texts: EntityTexts | None = None


def compiled(
    context: Context, model: Model, root: TypedRoot, chosen: Selected, viewer: tuple[str, ...] = ()
) -> TypedRead:
    """The queries of a root field. viewer: whose cursors it has. Raises ARG_INVALID and LIMIT_EXCEEDED."""
    limits = context.services.limits
    parameters, cursors = Parameters(), PageCursors(context.services.cursors, viewer)
    compiler = SelectionCompiler(model, parameters, cursors, limits.rows)
    asked = _COMPILERS[root.kind](compiler, root.model, chosen)
    asked.anchors = () if root.model is None else root.model.anchors
    asked.paged = any(chosen.arguments.get(name) is not None for name in ("after", "before"))
    asked.has_connections = compiler.has_connections
    return asked


def _list(compiler: SelectionCompiler, kind: TypeModel | None, chosen: Selected) -> TypedRead:
    assert kind is not None
    given = chosen.arguments
    first = size_of(given.get("first"), "first", compiler.most)
    offset = _offset(given.get("offset"))
    entity = compiler.parameters.variable("e")
    found = Clauses([anchored(kind, entity)])
    found.extend((compiler.filters.where(kind, entity, given.get("where")),))
    order, terms = compiler.filters.order(kind, entity, given.get("orderBy"))
    found.extend((order,))
    inner = PatternText()
    compiler.spend(first)
    shape = compiler.entities(kind.name, chosen, inner, first, chosen.field)
    limit, start = compiler.parameters.add(first), compiler.parameters.add(offset)
    tail = f":order-by [{' '.join(terms)}] :limit {limit} :offset {start}"
    query = QueryText(f"[(pull {entity} {inner.text}) ...]", found, (*inner.uses, limit, start), tail)
    return TypedRead(shape, compiler.parameters, compiler.cursors, {_ROWS: query}, pattern=inner.text)


def _offset(given: Any) -> Any:
    """The rows before the first one; a slot for them where there is a slot. Raises ARG_INVALID."""
    return Slot(given.name, _offset) if isinstance(given, Slot) else size_of(given, "offset", 2**53, 0)


def _one(compiler: SelectionCompiler, kind: TypeModel | None, chosen: Selected) -> TypedRead:
    assert kind is not None
    entity = compiler.parameters.variable("e")
    clauses = Clauses([anchored(kind, entity)])
    clauses.extend((named_entity(compiler, kind, entity, chosen.arguments),))
    return _entity(compiler, kind.name, entity, clauses, chosen)


def named_entity(compiler: SelectionCompiler, kind: TypeModel, entity: str, given: Mapping[str, Any]) -> Clauses:
    """The clause for the one entity that `id` or a unique field names."""
    keys = ("id", *kind.uniques)
    named = {name: value for name, value in given.items() if name in keys and value is not None}
    if len(named) != 1:
        were = " and ".join(named) if named else "none of them"
        raise invalid_argument(f"exactly one of {', '.join(keys)} names the entity; {were} was given")
    ((name, value),) = named.items()
    found = Clauses()
    if name == "id":
        parameter = compiler.parameters.add(entity_id(value, "id"))
        found.add(f"[(= {entity} {parameter})]", parameter)
    else:
        parameter = compiler.parameters.add(compiler.filters.value(kind.fields[name], value, name))
        found.add(pattern(kind.fields[name], entity, parameter), parameter)
    return found


def _entity(
    compiler: SelectionCompiler, target: str | None, entity: str, clauses: Clauses, chosen: Selected
) -> TypedRead:
    inner = PatternText()
    compiler.spend(1)
    shape = compiler.entities(target, chosen, inner, 1, chosen.field)
    query = QueryText(f"[(pull {entity} {inner.text}) ...]", clauses, tuple(inner.uses))
    return TypedRead(shape, compiler.parameters, compiler.cursors, {_ROWS: query}, "one", pattern=inner.text)


def _node(compiler: SelectionCompiler, kind: TypeModel | None, chosen: Selected) -> TypedRead:
    entity, any_attribute = compiler.parameters.variable("e"), compiler.parameters.variable("a")
    parameter = compiler.parameters.add(entity_id(chosen.arguments["id"], "id"))
    clauses = Clauses()
    clauses.add(f"[(= {entity} {parameter})]", parameter)
    clauses.add(f"[{entity} {any_attribute}]")
    return _entity(compiler, None, entity, clauses, chosen)


def _nodes(compiler: SelectionCompiler, kind: TypeModel | None, chosen: Selected) -> TypedRead:
    given = chosen.arguments["ids"]
    if len(given) > compiler.most:
        raise exceeded("ids", compiler.most, "rows")
    ids = [entity_id(each, f"ids[{number}]") for number, each in enumerate(given)]
    entity, any_attribute = compiler.parameters.variable("e"), compiler.parameters.variable("a")
    parameter = compiler.parameters.add(tuple(ids))
    clauses = Clauses()
    clauses.add(f"[(in {entity} {parameter})]", parameter)
    clauses.add(f"[{entity} {any_attribute}]")
    inner = PatternText()
    compiler.spend(len(ids))
    shape = compiler.entities(None, chosen, inner, len(ids), chosen.field)
    query = QueryText(f"[(pull {entity} {inner.text}) ...]", clauses, tuple(inner.uses))
    return TypedRead(shape, compiler.parameters, compiler.cursors, {_ROWS: query}, "nodes", ids)


def _connection(compiler: SelectionCompiler, kind: TypeModel | None, chosen: Selected) -> TypedRead:
    assert kind is not None
    parts: dict[str, QueryText] = {}

    def place(wanted: str, query: QueryText) -> str:
        for key, known in parts.items():
            if known.text == query.text:
                return key
        key = f"{wanted} {len(parts)}"
        parts[key] = query
        return key

    shape = compiler.connections.root(kind, chosen, place)
    return TypedRead(shape, compiler.parameters, compiler.cursors, parts, "connection")


_COMPILERS: Final[Mapping[str, Callable[[SelectionCompiler, TypeModel | None, Selected], TypedRead]]] = {
    "list": _list,
    "one": _one,
    "node": _node,
    "nodes": _nodes,
    "connection": _connection,
}


async def read(
    context: Context, model: Model, root: TypedRoot, chosen: Selected
) -> tuple[JsonChunks, Sequence[Diagnostic]]:
    """(the JSON of a root field, what is suspicious about the moment that it reads)"""
    visible = visible_as_named(context, chosen.arguments.get("as"))
    asked = compiled(context, model, root, chosen, visible.key)
    return await answered(context, visible, asked, chosen.arguments.get("basis"))


async def answered(
    context: Context, visible: VisibleDatabase, asked: TypedRead, basis: Mapping[str, Any] | None
) -> tuple[JsonChunks, Sequence[Diagnostic]]:
    """The same of a compiled root field, read as of a basis."""
    services = context.services
    within = Cancel.after(services.limits.timeout_ms)
    told: list[Diagnostic] = []
    snapshot = await _snapshot(context, visible, asked, basis, within, told)
    if asked.anchors and all(snapshot.attribute(each) is None for each in asked.anchors):
        return await _written(context, asked, dict.fromkeys(asked.parts), within), told
    texts = services.texts
    if asked.texts is not None and texts is not None and asked.texts.suits(snapshot, texts):
        result = await _ran(context, asked, asked.parts[_ROWS], snapshot, within, told, unpulled=True)
        entities = result.codes_of(0, 0, len(result)).tolist()
        written = asked.texts.write(snapshot, entities, texts, within)
        if written is not None:
            context.rows += len(result)
            return _whole(context, asked, written), told
    found: dict[str, Any] = {}
    for key, query in asked.parts.items():
        result = await _ran(context, asked, query, snapshot, within, told)
        context.rows += len(result)
        if result.shape == "scalar":
            found[key] = result.column(0)[0] if len(result) else None
        else:
            found[key] = result.column(0) if result.shape == "collection" else result.rows()
    return await _written(context, asked, found, within), told


def read_at_once(
    services: Services, snapshot: Snapshot, asked: TypedRead, values: Mapping[str, Any]
) -> bytes | None:
    """The JSON of a compiled root field of a few entities, of the newest snapshot; None where it may take longer.
    values: of its parameters' slots. Raises what is wrong with these."""
    texts, own = services.texts, asked.texts
    if texts is None or own is None or asked.kind not in _WRITTEN or not own.suits(snapshot, texts):
        return None
    if asked.anchors and all(snapshot.attribute(each) is None for each in asked.anchors):
        return None
    query = asked.parts[_ROWS]
    args = query.arguments(asked.parameters.filled(values), snapshot)

    def shown(rows: CodedRows) -> bytes | None:
        found = own.write(snapshot, rows.columns[0].tolist(), texts, Cancel())
        if found is None:
            return None
        if asked.kind == "one":
            return found[0] if found else b"null"
        return b"[" + b",".join(found) + b"]"

    return services.pool.at_once(query.text, args, snapshot, services.limits.rows, shown, unpulled=True)


async def _ran(
    context: Context,
    asked: TypedRead,
    query: QueryText,
    snapshot: Snapshot,
    within: Cancel,
    told: list[Diagnostic],
    *,
    unpulled: bool = False,
) -> Result:
    """The answer of a part. told: gets the warnings that retention may have taken some of it."""
    request = QueryRequest(
        query.text,
        query.arguments(asked.parameters, snapshot),
        snapshot,
        timeout_ms=within.left_ms,
        max_rows=context.services.limits.rows,
        unpulled=unpulled,
    )
    try:
        result = await context.services.pool.arun(request)
        context.lookups.add(result)
        if may_lack(snapshot) and result.question is not None:
            suspicious = await context.services.pool.adiagnostics(result.question)
            forgotten = (each.message for each in suspicious if each.code == Suspicion.PAST_FORGOTTEN)
            # Their places, too, are in a text that the client does not know; parts may read the same attribute.
            found = (Diagnostic(Suspicion.PAST_FORGOTTEN, message, None) for message in forgotten)
            told += [each for each in found if each not in told]
        return result
    except AdalogError as error:
        # Its place is in a text that the client does not know.
        again, wait = error.retryable, error.retry_after
        raise AdalogError(error.code, error.message, retryable=again, retry_after=wait) from None


def _whole(context: Context, asked: TypedRead, texts: Sequence[bytes]) -> JsonChunks:
    """The JSON of entities that are written."""
    for each in texts:
        context.budget.take(len(each))
    if asked.kind == "one":
        return JsonChunks((texts[0] if texts else b"null",))
    return JsonChunks.list_of(texts)


async def _snapshot(
    context: Context,
    visible: VisibleDatabase,
    asked: TypedRead,
    basis: Mapping[str, Any] | None,
    within: Cancel,
    told: list[Diagnostic],
) -> Snapshot:
    """The snapshot that a root field reads: of its cursors, of its basis, or the one of the request. told: gets
    the warnings about the basis."""
    cursors = asked.cursors
    given = {name: value for name, value in (basis or {}).items() if value is not None and value is not False}
    if unknown := given.keys() - {"t", "asOf"}:
        raise invalid_argument(f"basis.{min(unknown)} is not for typed fields; their basis takes t and asOf")
    if cursors.t is not None and (asked.paged or not given):
        # A cursor of the root itself belongs to this very basis.
        given = {"t": cursors.t}
    await reached(visible.raw, cursors.excised, within.deadline)
    if not given:
        snapshot = context.present(visible)
    else:
        wanted = BasisInput(t=given.get("t"), as_of=given.get("asOf"))
        reading = BasisReading(context, visible, wanted, None, within.deadline, told=told)
        snapshot = await reading.snapshot()
    if cursors.t not in (None, snapshot.t):
        raise invalid_argument(
            f"basis is of transaction {snapshot.t}, but the cursor is of transaction {cursors.t}; leave one of "
            "them out"
        )
    cursors.read_from(snapshot)
    return snapshot


async def _written(context: Context, asked: TypedRead, found: dict[str, Any], within: Cancel) -> JsonChunks:
    held = RepeatedWork(context.budget.take)

    def write(cancel: Cancel) -> JsonChunks:
        held.begin()
        with uncollected():
            return _json(asked, found, cancel, held.take, context.budget.estimate().take)

    if few(list(found.values()), _INLINE_VALUES):
        return write(within)
    rows = sum(len(each) for each in found.values() if isinstance(each, list))
    return await context.services.pool.threaded(Cancel(within.deadline), write, _VALUE_COST * rows)


def _json(
    asked: TypedRead,
    found: Mapping[str, Any],
    cancel: Cancel,
    take: Callable[[int], None],
    weigh: Callable[[int], None],
) -> JsonChunks:
    writer = JsonWriter(weigh)

    def text(shape: Shape, value: Any) -> bytes:
        cancel.check()
        written = writer.text(shape, value)
        take(len(written))
        return written

    if asked.kind == "connection":
        return JsonChunks((text(asked.shape, found),))
    rows = found[_ROWS] or ()
    if asked.kind == "one":
        return JsonChunks((text(asked.shape, rows[0]) if rows else b"null",))
    if asked.kind == "nodes":
        by_id = {each[DB_ID]: each for each in rows}
        rows = [by_id.get(each) for each in asked.ids]
    return JsonChunks.list_of(b"null" if each is None else text(asked.shape, each) for each in rows)
