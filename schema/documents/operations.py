"""GraphQL documents run, with lists that skip GraphQL's completion of each item.

`Operations` is the way in for the gateway: text in, an answer ready to be written out. A document is run with the
schema that it was validated with (`documents.preparation`). Two kinds of list are answered whole: JSON prepared as
bytes, and columns of objects (`schema.writing.columnar`). What is long leaves the event loop: reading a document,
coercing large variables, introspection, writing lists.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import CoroutineType
from typing import Any, Final

import orjson
import strawberry
from graphql import (
    ExecutionResult,
    FieldNode,
    GraphQLError,
    GraphQLField,
    GraphQLList,
    GraphQLObjectType,
    OperationDefinitionNode,
    OperationType,
    SchemaMetaFieldDef,
    TypeMetaFieldDef,
    get_named_type,
)
from graphql.execution import Executor
from graphql.execution.collect_fields import collect_fields
from graphql.execution.values import get_variable_values

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.failure import emptied
from adalog.executor.bounds.lru_cache import LruCache
from adalog.executor.live.subscribers.subscription import Subscription
from adalog.executor.permissions.guards import ADMIN
from adalog.executor.permissions.viewers import viewer_asking
from adalog.executor.question.cost import few
from adalog.schema.documents.introspection import IntrospectionWriter
from adalog.schema.documents.measure import only_introspects
from adalog.schema.documents.mistakes import advised
from adalog.schema.documents.preparation import Documents, PreparedDocument, Root
from adalog.schema.fields.alone import answered_alone, written_at_once
from adalog.schema.fields.object_lists import object_list
from adalog.schema.fields.single_field import SingleField
from adalog.schema.fields.types import warnings_of
from adalog.schema.live.stream import (
    RefusedError,
    SelectedField,
    followed,
    followed_at_once,
    hashable,
    subscribed,
    subscribed_at_once,
)
from adalog.schema.live.subscriptions import streamed
from adalog.schema.request.background import elsewhere
from adalog.schema.request.budget import JsonChunks, assembled
from adalog.schema.request.context import Context, Services
from adalog.schema.request.errors import describe, format_error
from adalog.schema.request.limits import RequestLimits
from adalog.schema.request.transaction_wait import caught_up, missed
from adalog.schema.typed.alone import TypedField
from adalog.schema.typed.following import Surfaces
from adalog.schema.typed.live import TypedLive
from adalog.schema.typed.resolving import resolve
from adalog.schema.typed.roots import TYPED_MODEL, TYPED_ROOT
from adalog.schema.typed.selection import Selected, selected
from adalog.schema.typed.surface import CHANGED
from adalog.schema.writing.columnar import FieldShape
from adalog.schema.writing.written_answer import WrittenAnswer
from adalog.store.files.gc_pause import uncollected
from adalog.store.snapshot.snapshot import Snapshot

Variables = Mapping[str, Any] | None

_COERCION_ERRORS: Final = 50
# Answers to introspection that are kept.
_SCHEMA_BYTES: Final = 32 * 1024 * 1024
_WARNING: Final = ("code", "message", "line", "column")
# Values of variables, and entries of introspection, below which the event loop is not worth leaving.
_INLINE_VALUES: Final = 1_000
_INLINE_INTROSPECTION: Final = 500
# Characters of a document.
_LONG_DOCUMENT: Final = 64 * 1024


class Owned:
    """A coroutine that may never be awaited, if its waiter is cancelled first. It is closed then, and Python does
    not warn."""

    __slots__ = ("_coroutine",)

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine: Coroutine[Any, Any, Any] | None = coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        coroutine, self._coroutine = self._coroutine, None
        assert coroutine is not None, "a coroutine is awaited once"
        return coroutine.__await__()

    def __del__(self) -> None:
        if self._coroutine is not None:
            self._coroutine.close()


def owned(value: Any) -> Any:
    """The value, a coroutine as one that may be forgotten."""
    return Owned(value) if type(value) is CoroutineType else value


class PreparingExecutor(Executor[Any]):
    """graphql-core's executor, except that what is already in shape is not taken apart item by item.

    Fields run as tasks beside each other. A cancelled request may end such a task before it has begun, and with it
    the coroutines of which it was made, unawaited; so each of these is `Owned`."""

    context_value: Context

    def execute_fields(self, *given: Any, **named: Any) -> Any:
        return owned(super().execute_fields(*given, **named))

    def execute_field(
        self, parent_type: GraphQLObjectType, source: Any, field_details_list: Any, path: Any, position_context: Any
    ) -> Any:
        field = parent_type.fields.get(field_details_list[0].node.name.value)
        if field is not None and TYPED_ROOT in field.extensions:
            return owned(self._typed(parent_type, field, field_details_list, path))
        return owned(super().execute_field(parent_type, source, field_details_list, path, position_context))

    async def _typed(self, parent_type: GraphQLObjectType, field: GraphQLField, details: Any, path: Any) -> Any:
        """A field of the typed surface: one read for all that is selected below it."""
        try:
            chosen = selected(self, parent_type, details)
            model = self.schema.extensions[TYPED_MODEL]
            return await resolve(self.context_value, model, field.extensions[TYPED_ROOT], chosen, path)
        except Exception as raw_error:  # noqa: BLE001 (as graphql-core does with what a resolver raises)
            self.handle_field_error(raw_error, field.type, details, path)
            return None

    def complete_awaitable_value(
        self, return_type: Any, field_details_list: Any, info: Any, path: Any, result: Any, *more: Any
    ) -> Any:
        return super().complete_awaitable_value(return_type, field_details_list, info, path, owned(result), *more)

    def handle_field_error(
        self, raw_error: Exception, return_type: Any, field_details_list: Any, path: Any
    ) -> None:
        if len(field_details_list) > 1 and _is_long(field_details_list[0].node):
            # Of several places graphql-core finds the lines by going through all of the document.
            field_details_list = field_details_list[:1]
        super().handle_field_error(raw_error, return_type, field_details_list, path)

    def complete_list_value(
        self, return_type: GraphQLList[Any], field_details_list: Any, info: Any, path: Any, result: Any, *more: Any
    ) -> Any:
        if isinstance(result, JsonChunks | orjson.Fragment):
            return result
        if hasattr(result, "pieces"):
            item = get_named_type(return_type)
            assert isinstance(item, GraphQLObjectType)
            shape, is_told = (
                self._shape(item, field_details_list),
                self.operation.operation is OperationType.MUTATION,
            )
            return owned(object_list(self.context_value, result, shape, is_told=is_told))
        return owned(super().complete_list_value(return_type, field_details_list, info, path, result, *more))

    def _shape(self, item: GraphQLObjectType, details: Any) -> FieldShape:
        """What is asked of each object of a list."""
        grouped, *_ = self.collect_subfields(item, details)
        fields = []
        for name, group in grouped.items():
            field = group[0].node.name.value
            inner = None if field == "__typename" else get_named_type(item.fields[field].type)
            shape = self._shape(inner, group) if isinstance(inner, GraphQLObjectType) else None
            fields.append((name, field, shape))
        return FieldShape(item.name, fields)

    def subscribed_root(self) -> Root | Selected:
        """The root field of a subscription; of a typed one what is selected of it. Raises QUERY_INVALID where there
        is none."""
        root = self.schema.subscription_type
        if self.operation.operation is not OperationType.SUBSCRIPTION or root is None:
            raise AdalogError(Code.QUERY_INVALID, "the operation is no subscription")
        collected = collect_fields(self.schema, self.fragments, self.variable_values, root, self.operation)
        grouped = collected.grouped_field_set
        if len(grouped) != 1:
            raise AdalogError(Code.QUERY_INVALID, "a subscription has one root field")
        alias, details = next(iter(grouped.items()))
        node = details[0].node
        field = root.fields[node.name.value]
        if TYPED_ROOT in field.extensions:
            return selected(self, root, details)
        item = get_named_type(field.type)
        shape = self._shape(item, details) if isinstance(item, GraphQLObjectType) else FieldShape(item.name, ())
        return Root(self.operation, field, node, alias, hashable(shape))


class IntrospectingExecutor(PreparingExecutor):
    """The same for large introspection, which is done on another thread."""

    def execute_field(
        self, parent_type: GraphQLObjectType, source: Any, field_details_list: Any, path: Any, position_context: Any
    ) -> Any:
        field = self.schema.get_field(parent_type, field_details_list[0].node.name.value)
        if field in (SchemaMetaFieldDef, TypeMetaFieldDef):
            return owned(self._introspected(parent_type, field, field_details_list, path))
        return super().execute_field(parent_type, source, field_details_list, path, position_context)

    async def _introspected(
        self, parent_type: GraphQLObjectType, field: GraphQLField, details: Any, path: Any
    ) -> Any:
        def introspect(cancel: Cancel) -> JsonChunks:
            chosen = selected(self, parent_type, details)
            with uncollected():
                text = IntrospectionWriter(self.schema, cancel).text(field, chosen)
            self.context_value.budget.take(len(text))
            return JsonChunks((text,))

        try:
            return await elsewhere(introspect)
        except Exception as raw_error:  # noqa: BLE001 (as graphql-core does with what a resolver raises)
            self.handle_field_error(raw_error, field.type, details, path)
            return None


def _is_long(node: FieldNode) -> bool:
    return node.loc is not None and len(node.loc.source.body) > _LONG_DOCUMENT


def is_awaitable(value: Any) -> bool:
    """Only coroutines and futures are awaited here: a cheaper question than graphql-core's own."""
    return hasattr(value, "__await__")


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is the response; `executed` says whether it got as far as having `data`."""

    body: dict[str, Any]
    executed: bool

    def chunks(self) -> list[bytes]:
        """The response as it is sent. Raises TypeError for text that is no UTF-8."""
        return assembled(self.body)


@dataclass(frozen=True, slots=True)
class OperationRequest:
    """What a client asks. `name`: of the operation, where the document has several."""

    prepared: PreparedDocument
    context: Context
    variables: Variables = None
    name: str | None = None

    @property
    def is_light(self) -> bool:
        """Whether the variables are read in no time."""
        return few(tuple(self.variables.values()) if self.variables else (), _INLINE_VALUES)


def root_fields(operation: OperationDefinitionNode) -> list[str]:
    """The names of an operation's root fields (those written directly), for metrics."""
    return [node.name.value for node in operation.selection_set.selections if isinstance(node, FieldNode)]


class Operations:
    """Runs GraphQL requests against the fixed schema, and the surfaces of a database where there are some."""

    def __init__(self, schema: strawberry.Schema, limits: RequestLimits, surfaces: Surfaces | None = None) -> None:
        self.documents = Documents(schema, limits, surfaces)
        self._surfaces = surfaces
        # Answers to documents that only look at a schema, by its version.
        self._schemas: LruCache[tuple[int, str], Mapping[str, Any]] = LruCache(_SCHEMA_BYTES, _SCHEMA_BYTES)

    def prepare(self, text: str) -> PreparedDocument:
        """The document in `text`, from memory when it was asked before."""
        return self.documents.prepare(text)

    async def aprepare(self, text: str) -> PreparedDocument:
        """The same for an event loop."""
        return await self.documents.aprepare(text)

    @staticmethod
    def _shown(prepared: PreparedDocument) -> tuple[int, str] | None:
        """What the answer to a document that only looks at the schema is kept under; None for any other one."""
        document = prepared.document
        if document is None or document.loc is None or not only_introspects(document):
            return None
        version = -1 if prepared.surface is None else prepared.surface.model.version
        return version, document.loc.source.body

    async def subscribe(self, asked: OperationRequest, resume: str | None = None) -> Subscription:
        """The stream of a prepared subscription; its messages' payloads are the bytes of `{"data": …}`.

        It is read and closed on the event loop that calls this (see `executor.live.subscribers.subscription`).
        `resume`: the last event's id that the transport knows, which counts instead of `resume`, `fromT` and
        `from`. Raises RefusedError.
        """
        services, selected = asked.context.services, None
        try:
            try:
                selected = await self._read(asked)
            except RefusedError:
                newer = await self._newer(asked)
                if newer is None:
                    raise
                selected = await self._read(newer)
            await caught_up(services.database, asked.context.min_basis_t)
            if isinstance(selected, TypedLive):
                return await followed(services, selected, resume)
            if selected.field == CHANGED:
                return self._schema_changes(selected, resume)
            return await subscribed(services, selected, resume)
        except (AdalogError, GraphQLError) as error:
            raise _refused(error, selected) from None

    def subscribe_at_once(self, asked: OperationRequest, resume: str | None = None) -> Subscription | None:
        """The same where it takes no time, since the like of it is followed already; None: use `subscribe`."""
        services, selected = asked.context.services, None
        if not asked.is_light or missed(services.database, asked.context.min_basis_t) is not None:
            return None
        try:
            selected = self._selected(asked)
            if isinstance(selected, TypedLive):
                return followed_at_once(services, selected, resume)
            if selected.field == CHANGED:
                return self._schema_changes(selected, resume)
            return subscribed_at_once(services, selected, resume)
        except RefusedError:
            # What its variables name may have been declared since.
            return None
        except (AdalogError, GraphQLError) as error:
            raise _refused(error, selected) from None

    async def _read(self, asked: OperationRequest) -> SelectedField | TypedLive:
        return self._selected(asked) if asked.is_light else await elsewhere(lambda _: self._selected(asked))

    async def _newer(self, asked: OperationRequest) -> OperationRequest | None:
        """A request whose variables were refused, for the newest surface: what they name may have been declared
        since. None where that is the surface that refused them."""
        document = asked.prepared.document
        if document is None or document.loc is None:
            return None
        prepared = await self.documents.newer(asked.prepared, document.loc.source.body)
        return None if prepared is None else replace(asked, prepared=prepared)

    def _schema_changes(self, selected: SelectedField, resume: str | None) -> Subscription:
        assert self._surfaces is not None, "a field of surfaces"
        surfaces, viewer = self._surfaces, viewer_asking()
        if viewer is None or ADMIN in viewer.roles:
            return surfaces.changes.subscribe(lambda: surfaces.newest.t, selected.alias, resume)

        def seen() -> tuple[int, int]:
            surface = surfaces.seen_by(viewer)
            return surface.model.version, surface.t

        return surfaces.changes.subscribe_viewer(seen, selected.alias, resume)

    def _selected(self, asked: OperationRequest) -> SelectedField | TypedLive:
        """The root field that is subscribed to. Raises RefusedError, GraphQLError and AdalogError."""
        prepared = asked.prepared
        if prepared.refusal or prepared.document is None:
            raise RefusedError(prepared.refusal)
        raw = dict(asked.variables or {})
        root = prepared.roots.get(asked.name)
        if root is not None:
            given = root.operation.variable_definitions or ()
            values = get_variable_values(self.documents.schema(prepared), given, raw, max_errors=_COERCION_ERRORS)
            if isinstance(values, list):
                raise RefusedError(self._wrong_variables(values, prepared, raw))
            return root.selected(values)
        executor = PreparingExecutor.build(
            self.documents.schema(prepared),
            prepared.document,
            context_value=asked.context,
            raw_variable_values=raw,
            operation_name=asked.name,
            max_coercion_errors=_COERCION_ERRORS,
        )
        if isinstance(executor, list):
            raise RefusedError(self._wrong_variables(executor, prepared, raw))
        assert isinstance(executor, PreparingExecutor)
        subscribed_root = executor.subscribed_root()
        if isinstance(subscribed_root, Selected):
            return self._typed_live(prepared, subscribed_root, asked.context)
        root = subscribed_root
        # Without directives; a string may look like one.
        if prepared.document.loc is not None and "@" not in prepared.document.loc.source.body:
            prepared.roots[asked.name] = root
        return root.selected(executor.variable_values)

    def _typed_live(self, prepared: PreparedDocument, chosen: Selected, context: Context) -> TypedLive:
        surface, surfaces = prepared.surface, self._surfaces
        assert surface is not None, "a typed field is one of a surface's"
        assert surfaces is not None, "likewise"
        subscription = surface.schema.subscription_type
        assert subscription is not None, "the document is valid"
        root = subscription.fields[chosen.field].extensions[TYPED_ROOT]
        viewer = context.visible.viewer
        current = partial(surfaces.model_for, viewer)
        return TypedLive(context.services, surface.model, root, chosen, current)

    def _wrong_variables(
        self, errors: list[GraphQLError], prepared: PreparedDocument, variables: Variables
    ) -> list[dict[str, Any]]:
        """The refusal of a request whose variables, or the name of whose operation, are wrong."""
        found = advised(errors, self.documents.schema(prepared), document=prepared.document, variables=variables)
        return [format_error(each) for each in found]

    def alone(self, asked: OperationRequest) -> Coroutine[Any, Any, Answer] | None:
        """What `run` would do, for a request that is one field and needs no execution; None: use `run`."""
        single = asked.prepared.single
        if single is None or asked.name not in (None, single.name) or not (single.writes or asked.is_light):
            return None
        context = asked.context
        if isinstance(single, TypedField):
            arguments = single.given(asked.variables)
            if arguments is None:
                return None
            return self._typed_alone(asked.prepared, context, partial(single.answer, context, arguments))
        given = single.given(asked.variables)
        return None if given is None else _alone(single, context, partial(answered_alone, single, context, given))

    async def _typed_alone(
        self, prepared: PreparedDocument, context: Context, answer: Callable[[], Awaitable[dict[str, Any]]]
    ) -> Answer:
        assert prepared.single is not None, "it is a typed field"
        answered = await _alone(prepared.single, context, answer)
        if context.holds_for is not None and not self.documents.is_current(prepared):
            # On the same snapshot the next request may be read by another schema.
            context.holds_for = None
        return answered

    def at_once(
        self, single: SingleField | TypedField, services: Services, snapshot: Snapshot, variables: Variables
    ) -> WrittenAnswer | None:
        """The answer to a request that is one field and waits for nothing, on the newest snapshot, for a client who
        sees all of it; None: use `alone`, as if nothing had been."""
        if single.writes:
            return None
        if isinstance(single, TypedField):
            return single.written_at_once(services, snapshot, variables)
        given = single.given(variables)
        return None if given is None else written_at_once(single, services, snapshot, given)

    async def run(self, asked: OperationRequest) -> Answer:
        prepared, context = asked.prepared, asked.context
        if prepared.refusal or prepared.document is None:
            return Answer({"errors": list(prepared.refusal)}, executed=False)
        document = prepared.document
        operation = prepared.operation(asked.name)
        if operation is not None and operation.operation is OperationType.SUBSCRIPTION:
            return Answer({"errors": [describe(streamed())]}, executed=False)
        shown = None if prepared.introspection <= _INLINE_INTROSPECTION else self._shown(prepared)
        if shown is not None and (known := self._schemas.get(shown)) is not None:
            return Answer({"data": known}, executed=True)
        kind = IntrospectingExecutor if prepared.introspection > _INLINE_INTROSPECTION else PreparingExecutor

        def build(_: Cancel) -> Executor[Any] | list[GraphQLError]:
            return kind.build(
                self.documents.schema(prepared),
                document,
                context_value=context,
                raw_variable_values=dict(asked.variables) if asked.variables else None,
                operation_name=asked.name,
                is_awaitable=is_awaitable,  # type: ignore[arg-type]
            )

        executor = build(Cancel()) if asked.is_light else await elsewhere(build)
        if isinstance(executor, list):
            newer = await self._newer(asked)
            if newer is not None:
                return await self.run(newer)
            return Answer({"errors": self._wrong_variables(executor, prepared, asked.variables)}, executed=False)
        if operation is None or operation.operation is not OperationType.MUTATION:
            try:
                await caught_up(context.services.database, context.min_basis_t)
            except AdalogError as error:
                return Answer({"errors": [describe(error)]}, executed=False)
        outcome: Any = executor.execute_operation()
        result = outcome if isinstance(outcome, ExecutionResult) else await outcome
        answer = _answer(result)
        if shown is not None and result.data is not None and not result.errors:
            chunks = [each for each in result.data.values() if isinstance(each, JsonChunks)]
            self._schemas.put(shown, result.data, sum(len(part) for each in chunks for part in each.chunks))
        if context.warnings:
            answer.body["extensions"] = {"warnings": _warnings(context, result.data)}
        return answer


def _refused(error: AdalogError | GraphQLError, selected: SelectedField | TypedLive | None) -> RefusedError:
    """The refusal of a subscription. With the field that was refused, places are those of an argument, and not of
    the document."""
    if isinstance(error, GraphQLError):
        return RefusedError([format_error(error)])
    return RefusedError([describe(error) | ({} if selected is None else {"path": [selected.alias]})])


async def _alone(
    single: SingleField | TypedField, context: Context, answer: Callable[[], Awaitable[dict[str, Any]]]
) -> Answer:
    if not single.writes:
        try:
            await caught_up(context.services.database, context.min_basis_t)
        except AdalogError as error:
            return Answer({"errors": [describe(error)]}, executed=False)
    body = await answer()
    if context.warnings:
        body["extensions"] = {"warnings": _warnings(context, body["data"])}
    return Answer(body, executed=True)


def _warnings(context: Context, data: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The warnings of fields that cannot carry them, in the order of the response's fields."""
    places = {name: number for number, name in enumerate(data or ())}
    ordered = sorted(context.warnings.items(), key=lambda item: places.get(str(item[0][0]), len(places)))
    return [
        {name: getattr(each, name) for name in _WARNING} | {"path": path}
        for path, diagnostics in ordered
        for each in warnings_of(diagnostics)
    ]


def _answer(result: ExecutionResult) -> Answer:
    # A request error (no such operation, a wrong variable) comes without data and without a path.
    executed = result.data is not None or any(error.path for error in result.errors or ())
    body: dict[str, Any] = {}
    if result.errors:
        body["errors"] = [format_error(error) for error in result.errors]
        for error in result.errors:
            # Its frames refer to it, and hold what the other fields came to.
            emptied(error)
    if executed:
        body["data"] = result.data
    return Answer(body, executed)
