"""What the fields `pull` and `pullMany` do: entities as they are written, pulled together, as JSON bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from adalog.datalog.values import EdnMap
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.pool import PullRequest
from adalog.executor.question.cost import few
from adalog.schema.arguments.entities import entity_of
from adalog.schema.arguments.speculation import BasisReading
from adalog.schema.arguments.viewers import visible_as
from adalog.schema.fields.queries import time_limit
from adalog.schema.request.budget import JsonChunks, RepeatedWork, ResponseBudget
from adalog.schema.request.limits import exceeded
from adalog.schema.writing.encoding import Encoding, MapWriter
from adalog.store.files.gc_pause import uncollected

if TYPE_CHECKING:
    from adalog.datalog.diagnostics import Diagnostic
    from adalog.executor.pull.written import ValueTexts
    from adalog.schema.arguments.values import BasisInput
    from adalog.schema.arguments.viewers import AsInput
    from adalog.schema.request.context import Context, Services
    from adalog.store.snapshot.snapshot import Snapshot

# Below these many values or texts the event loop is not worth leaving.
_INLINE_VALUES = 2_000
_INLINE_TEXTS = 200


async def pulled(
    context: Context,
    pattern: str,
    eids: Sequence[str],
    field: str,
    basis: BasisInput | None = None,
    with_: str | None = None,
    with_args: Any = None,
    encoding: Encoding | None = None,
    timeout_ms: int | None = None,
    as_: AsInput | None = None,
) -> tuple[JsonChunks, Sequence[Diagnostic]]:
    """(a list of the JSON for each entity, `null` where there is nothing; what is suspicious about the pull).
    `field`: what the entities came as."""
    services, limits = context.services, context.services.limits
    within = time_limit(timeout_ms, limits.timeout_ms)
    reading = BasisReading(context, visible_as(context, as_), basis, with_, within.deadline, with_args)
    snapshot = await reading.snapshot()
    if len(eids) > limits.rows:
        raise exceeded(f"entities in {field}", limits.rows, "rows")
    if few(eids, _INLINE_TEXTS):
        entities = _entities(eids, field, snapshot, within)
    else:
        entities = await services.pool.threaded(
            Cancel(within.deadline), lambda cancel: _entities(eids, field, snapshot, cancel)
        )
    held, how = RepeatedWork(context.budget.take), encoding or Encoding.PLAIN
    texts = services.texts if how is Encoding.PLAIN else None
    pulled = await services.pool.apull(
        PullRequest(pattern, entities, snapshot, within.left_ms, lambda number: _place(field, number)), texts
    )
    if isinstance(pulled, list):
        context.rows += len(pulled)
        held.take(sum(map(len, pulled)))
        return JsonChunks.list_of(pulled), reading.told
    maps, values, found = pulled
    context.rows += len(maps)
    if values > _INLINE_VALUES or not few(maps, 2 * _INLINE_VALUES):
        written = await services.pool.threaded(
            Cancel(within.deadline), lambda cancel: _written(maps, how, context.budget, held, cancel)
        )
    else:
        written = _written(maps, how, context.budget, held, within)
    return written, (*reading.told, *found)


def pulled_at_once(
    services: Services, snapshot: Snapshot, texts: ValueTexts, given: Mapping[str, Any]
) -> bytes | None:
    """The JSON of a `pull` or `pullMany` of a few entities of the newest snapshot; None where it may take longer.
    Raises what is wrong with an entity."""
    many = given.get("eids")
    eids = [given["eid"]] if many is None else many
    if not few(eids, _INLINE_TEXTS) or len(eids) > services.limits.rows:
        return None
    entities = [entity_of(each, "eid", snapshot) for each in eids]
    found = services.pool.pull_at_once(given["pattern"], entities, snapshot, texts)
    if found is None:
        return None
    return found[0] if many is None else b"[" + b",".join(found) + b"]"


def only(written: JsonChunks) -> JsonChunks | None:
    """What is written of the only entity of a list; None where that is null."""
    text = b"".join(written.chunks)[1:-1]
    return None if text == b"null" else JsonChunks((text,))


def _place(field: str, number: int) -> str:
    """What messages call an entity."""
    return f"{field}[{number}]" if field == "eids" else field


def _entities(texts: Sequence[str], field: str, snapshot: Snapshot, cancel: Cancel) -> list[Any]:
    entities = []
    for number, text in enumerate(texts):
        if number % 1_000 == 0:
            cancel.check()
        entities.append(entity_of(text, _place(field, number), snapshot))
    return entities


def _written(
    maps: Sequence[EdnMap | None], encoding: Encoding, budget: ResponseBudget, held: RepeatedWork, cancel: Cancel
) -> JsonChunks:
    held.begin()
    writer = MapWriter(encoding, budget.estimate().take)

    def texts() -> Iterator[bytes]:
        for each in maps:
            cancel.check()
            text = b"null" if each is None else orjson.dumps(writer.write(each))
            held.take(len(text))
            yield text

    with uncollected():
        return JsonChunks.list_of(texts())
