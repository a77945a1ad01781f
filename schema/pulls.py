"""What the fields `pull` and `pullMany` do: entities as they are written, pulled together, as JSON bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson

from datalog import edn
from datalog.errors import AdalogError
from datalog.values import EdnMap
from executor.allocation import uncollected
from executor.cancel import Cancel
from executor.pool import PullRequest
from planner.readings import entity_named
from schema.encoding import Encoding, MapWriter
from schema.limits import Limits, exceeded

if TYPE_CHECKING:
    from schema.context import Context
    from store.snapshot import Snapshot

# Below these many values or texts the event loop is not worth leaving.
_INLINE_VALUES = 2_000
_INLINE_TEXTS = 200
_AN_ENTITY = 'an entity is a number, an ident or a lookup ref such as [:user/email "ada@example.org"]'


async def pulled(
    context: Context,
    pattern: str,
    eids: Sequence[str],
    field: str,
    snapshot: Snapshot,
    encoding: Encoding,
    within: Cancel,
) -> list[bytes]:
    """JSON for each entity, `null` where there is nothing to show. `field`: what the entities came as."""
    services, limits = context.services, context.services.limits
    if len(eids) > limits.rows:
        raise exceeded(f"entities in {field}", limits.rows, "rows")
    if len(eids) > _INLINE_TEXTS:
        entities = await services.pool.threaded(Cancel(within.deadline), lambda _: _entities(eids, field, snapshot))
    else:
        entities = _entities(eids, field, snapshot)
    maps, values = await services.pool.apull(
        PullRequest(pattern, entities, snapshot=snapshot, timeout_ms=within.left_ms)
    )
    context.rows += len(maps)
    if values > _INLINE_VALUES:
        return await services.pool.threaded(Cancel(within.deadline), lambda _: _written(maps, encoding, limits))
    return _written(maps, encoding, limits)


def _entities(texts: Sequence[str], field: str, snapshot: Snapshot) -> list[Any]:
    return [
        int(text)
        if text.isascii() and text.isdigit()
        else _entity(text, f"{field}[{i}]" if field == "eids" else field, snapshot)
        for i, text in enumerate(texts)
    ]


def _entity(text: str, place: str, snapshot: Snapshot) -> Any:
    try:
        value = edn.read(text)
    except AdalogError as error:
        # A position would be looked for in the pattern, the one text that errors of a pull point into.
        at = f" at {error.position.line}:{error.position.column}" if error.position else ""
        raise AdalogError(error.code, f"{place}{at}: {error.message}; {_AN_ENTITY}") from None
    try:
        return entity_named(snapshot, value)
    except AdalogError as error:
        raise AdalogError(error.code, f"{place}: {error.message}") from None


def _written(maps: Sequence[EdnMap | None], encoding: Encoding, limits: Limits) -> list[bytes]:
    with uncollected():
        return _texts(maps, encoding, limits)


def _texts(maps: Sequence[EdnMap | None], encoding: Encoding, limits: Limits) -> list[bytes]:
    writer = MapWriter(encoding)
    written: list[bytes] = []
    size = 0
    for each in maps:
        text = b"null" if each is None else orjson.dumps(writer.write(each))
        size += len(text)
        if size > limits.result_bytes:
            raise exceeded("bytes in the result; pull fewer entities at once", limits.result_bytes, "result_bytes")
        written.append(text)
    return written
