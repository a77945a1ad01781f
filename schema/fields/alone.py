"""The fields that a document may consist of, to be answered without GraphQL's executor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import graphql
import orjson

from adalog.executor.bounds.cancel import Cancel
from adalog.schema.fields import types
from adalog.schema.fields.object_lists import object_list
from adalog.schema.fields.pulls import only, pulled, pulled_at_once
from adalog.schema.fields.queries import queried
from adalog.schema.fields.single_field import SingleField, single_field
from adalog.schema.fields.transacting import TRANSACT, transaction_alone
from adalog.schema.request.budget import SMALL_BYTES
from adalog.schema.writing.columnar import ColumnarWriter, FieldShape, Objects, Reading, free
from adalog.schema.writing.encoding import Encoding
from adalog.schema.writing.longs import write_long
from adalog.schema.writing.rows import CODED_CELLS
from adalog.schema.writing.written_answer import WrittenAnswer

if TYPE_CHECKING:
    from adalog.executor.pool import CodedRows
    from adalog.executor.pull.written import ValueTexts
    from adalog.schema.fields.types import QueryResult
    from adalog.schema.request.budget import JsonChunks
    from adalog.schema.request.context import Context, Services
    from adalog.store.snapshot.snapshot import Snapshot

_READ: Final = frozenset({"basis", "with", "withArgs", "encoding", "timeoutMs"})
FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "transact": TRANSACT,
    "q": frozenset(
        {
            "query",
            "args",
            "argsEdn",
            "basis",
            "with",
            "withArgs",
            "first",
            "after",
            "encoding",
            "engine",
            "timeoutMs",
        }
    ),
    "pull": _READ | {"pattern", "eid"},
    "pullMany": _READ | {"pattern", "eids"},
}
"""The fields, each with the arguments that it may have."""
_PYTHON_NAMES: Final = {"argsEdn": "args_edn", "with": "with_", "withArgs": "with_args", "timeoutMs": "timeout_ms"}


# Answers at once: the fields of an answer to `q`, and the arguments.
_CODED_FIELDS: Final = frozenset({"rows", "value", "basisT", "__typename"})
_CODED_ARGUMENTS: Final = frozenset({"query", "args", "pattern", "eid", "eids", "encoding"})


def field_alone(document: graphql.DocumentNode, schema: graphql.GraphQLSchema) -> SingleField | None:
    """The one of these fields that a valid document consists of; None for any other document."""
    single = single_field(document, schema, FIELDS)
    if single is None or single.writes:
        return single
    if single.shape is None:
        return replace(single, form=((b'{"data":{%b:' % orjson.dumps(single.alias), single.field),))
    if not all(field in _RESULT_FIELDS for _, field, _ in single.shape.fields):
        return None
    if not single.fields <= _CODED_FIELDS:
        return single
    form, before = [], b'{"data":{%b:{' % orjson.dumps(single.alias)
    for name, field, _ in single.shape.fields:
        form.append((before + orjson.dumps(name) + b":", field))
        before = b","
    return replace(single, form=tuple(form))


def written_at_once(
    single: SingleField, services: Services, snapshot: Snapshot, given: Mapping[str, Any]
) -> WrittenAnswer | None:
    """The answer to what is read without a wait on the newest snapshot, for a client who sees all of it; None where
    `answered_alone` is to answer, as if nothing had been. Raises what is wrong with an entity."""
    form, texts = single.form, services.texts
    if form is None or texts is None or not given.keys() <= _CODED_ARGUMENTS:
        return None
    if snapshot.codes is not texts.codes or given.get("encoding") not in (None, Encoding.PLAIN):
        return None
    if single.field == "q":
        return _query_at_once(form, services, snapshot, texts, given)
    found = pulled_at_once(services, snapshot, texts, given)
    text = None if found is None else form[0][0] + found + b"}}"
    return None if text is None or len(text) > services.limits.result_bytes else WrittenAnswer(text, 0)


def _query_at_once(
    form: Sequence[tuple[bytes, str]],
    services: Services,
    snapshot: Snapshot,
    texts: ValueTexts,
    given: Mapping[str, Any],
) -> WrittenAnswer | None:
    t, limits = snapshot.t, services.limits

    def written(found: CodedRows) -> WrittenAnswer | None:
        rows = None if len(found) * len(found.columns) > CODED_CELLS else texts.rows(found.columns)
        if rows is None:
            return None
        parts: list[bytes] = []
        for before, field in form:
            if field == "rows":
                parts += (before, rows)
            elif field == "value":
                value = _value_of(rows, found.shape)
                if value is None:
                    return None
                parts += (before, value)
            else:
                parts += (before, orjson.dumps(write_long(t)) if field == "basisT" else b'"QueryResult"')
        text = b"".join(parts) + b"}}}"
        return WrittenAnswer(text, len(found)) if len(text) <= min(limits.result_bytes, SMALL_BYTES) else None

    return services.pool.at_once(given["query"], given.get("args", ()), snapshot, limits.rows, written)


def _value_of(rows: bytes, shape: str) -> bytes | None:
    """The `value` of an answer with these rows in JSON; None where it takes more than a slice of their text."""
    if shape == "relation":
        return rows
    if shape not in ("scalar", "tuple"):
        return None
    if rows == b"[]":
        return b"null"
    return rows[2:-2] if shape == "scalar" else rows[1:-1]


# Of a query that any request like it asks again, and that shows nothing of how it was answered.
_HOLDING_ARGUMENTS: Final = frozenset({"query", "args", "argsEdn", "encoding", "engine", "timeoutMs"})
_HOLDING_FIELDS: Final = frozenset({"rows", "value", "columns", "basisT", "__typename"})


async def answered_alone(single: SingleField, context: Context, given: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a document that is one of these fields, with its arguments."""
    return await _ANSWERS[single.field](single, context, given)


async def _query_alone(single: SingleField, context: Context, given: Mapping[str, Any]) -> dict[str, Any]:
    assert single.shape is not None, "it shows a result"
    try:
        found = await queried(context, **_python(given))
    except Exception as error:  # noqa: BLE001 - as in GraphQL: it is the field's
        return single.nothing(single.failed(error))
    shown: dict[str, Any] = {}
    errors, fatal = [], None
    for name, field, shape in single.shape.fields:
        try:
            shown[name] = await _RESULT_FIELDS[field](found, context, shape)
        except Exception as error:  # noqa: BLE001 - likewise
            described = single.failed(error, name)
            shown[name] = None
            if field == "value":
                errors.append(described)
            elif fatal is None:
                fatal = described
    if fatal is not None:
        return single.nothing(*errors, fatal)
    if not errors and given.keys() <= _HOLDING_ARGUMENTS and single.fields <= _HOLDING_FIELDS:
        context.holds_for = _held_for(found, context)
    body: dict[str, Any] = {"errors": errors} if errors else {}
    body["data"] = {single.alias: shown}
    return body


def _held_for(found: QueryResult, context: Context) -> Snapshot | None:
    """The snapshot that is read, where the cache had the answer, and everybody sees all."""
    question = found.result.question
    context.lookups.add(found.result)
    if question is None or context.lookups.missed or context.visible.guard is not None:
        return None
    return question.snapshot if all(each is question.snapshot for each in question.databases.values()) else None


async def _pull_alone(single: SingleField, context: Context, given: Mapping[str, Any]) -> dict[str, Any]:
    arguments = _python(given)
    many = single.field == "pullMany"
    field = "eids" if many else "eid"
    eids = arguments.pop(field)
    try:
        found, told = await pulled(context, eids=eids if many else [eids], field=field, **arguments)
    except Exception as error:  # noqa: BLE001 - likewise
        return single.nothing(single.failed(error))
    if told:
        context.warnings[(single.alias,)] = told
    return {"data": {single.alias: found if many else only(found)}}


_ANSWERS: Final[Mapping[str, Callable[[SingleField, Context, Mapping[str, Any]], Awaitable[dict[str, Any]]]]] = {
    "transact": transaction_alone,
    "q": _query_alone,
    "pull": _pull_alone,
    "pullMany": _pull_alone,
}


def _python(given: Mapping[str, Any]) -> dict[str, Any]:
    return {_PYTHON_NAMES.get(name, name): value for name, value in given.items()}


# What the fields of a result show


async def _rows(found: QueryResult, context: Context, shape: FieldShape | None) -> Any:
    return await found.page.rows()


async def _value(found: QueryResult, context: Context, shape: FieldShape | None) -> Any:
    return await found.page.value()


async def _basis_t(found: QueryResult, context: Context, shape: FieldShape | None) -> Any:
    return write_long(found.basis_t)


async def _type_name(found: QueryResult, context: Context, shape: FieldShape | None) -> Any:
    return "QueryResult"


async def _columns(found: QueryResult, context: Context, shape: FieldShape | None) -> JsonChunks:
    assert shape is not None, "columns are objects"
    written = object_list(context, Objects(found.result.columns, types.COLUMN_FIELDS), shape, is_told=False)
    return await written if isinstance(written, Awaitable) else written


async def _warnings(found: QueryResult, context: Context, shape: FieldShape | None) -> JsonChunks:
    assert shape is not None, "warnings are objects"
    warnings = await types.result_warnings(found, context)
    return ColumnarWriter(free, Cancel()).written(Objects(warnings, types.WARNING_FIELDS), shape)


async def _page_info(found: QueryResult, context: Context, shape: FieldShape | None) -> dict[str, Any]:
    assert shape is not None, "it is an object"
    return ColumnarWriter(free, Cancel()).row(Objects([found.page_info], _PAGE_INFO), shape)


async def _stats(found: QueryResult, context: Context, shape: FieldShape | None) -> dict[str, Any]:
    assert shape is not None, "they are an object"
    return ColumnarWriter(free, Cancel()).row(Objects([types.result_stats(found.result)], _STATS), shape)


_PAGE_INFO: Final[Reading] = {
    "hasNextPage": lambda info: info.has_next_page,
    "endCursor": lambda info: info.end_cursor,
    "hasPreviousPage": lambda info: info.has_previous_page,
    "startCursor": lambda info: info.start_cursor,
}
_STATS: Final[Reading] = {
    "engine": lambda stats: stats.engine.name,
    "cache": lambda stats: stats.cache.name,
    "elapsedMs": lambda stats: stats.elapsed_ms,
    "rows": lambda stats: stats.rows,
    "waitedMs": lambda stats: stats.waited_ms,
    "lane": lambda stats: None if stats.lane is None else stats.lane.name,
}
_RESULT_FIELDS: Final[Mapping[str, Callable[[QueryResult, Context, FieldShape | None], Awaitable[Any]]]] = {
    "rows": _rows,
    "value": _value,
    "basisT": _basis_t,
    "columns": _columns,
    "pageInfo": _page_info,
    "warnings": _warnings,
    "stats": _stats,
    "__typename": _type_name,
}
