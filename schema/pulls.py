"""What the fields `pull` and `pullMany` do: entities as they are written, pulled together, as JSON bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from datalog import edn
from datalog.errors import AdalogError
from datalog.values import EdnMap
from executor.allocation import uncollected
from executor.arguments import few
from executor.cancel import Cancel
from executor.pool import PullRequest
from schema.background import elsewhere
from schema.budget import Budget, Written
from schema.encoding import Encoding, MapWriter
from schema.limits import exceeded

if TYPE_CHECKING:
    from schema.context import Context
    from store.snapshot import Snapshot

# Below these many values or texts the event loop is not worth leaving.
_INLINE_VALUES = 2_000
_INLINE_TEXTS = 200
# Of an entity's number.
_DIGITS = 19


async def pulled(
    context: Context,
    pattern: str,
    eids: Sequence[str],
    field: str,
    snapshot: Snapshot,
    encoding: Encoding,
    timeout_ms: int,
) -> Written:
    """A list of the JSON for each entity, `null` where there is nothing. `field`: what the entities came as."""
    services, limits = context.services, context.services.limits
    if len(eids) > limits.rows:
        raise exceeded(f"entities in {field}", limits.rows, "rows")
    deadline = Cancel.after(timeout_ms)
    if few(eids, _INLINE_TEXTS):
        entities = _entities(eids, field, deadline)
    else:
        entities = await elsewhere(lambda cancel: _entities(eids, field, cancel), deadline)
    maps, values = await services.pool.apull(
        PullRequest(pattern, entities, snapshot=snapshot, timeout_ms=timeout_ms)
    )
    context.rows += len(maps)
    if values > _INLINE_VALUES or not few(maps, 2 * _INLINE_VALUES):
        return await elsewhere(lambda cancel: _written(maps, encoding, context.budget, cancel), deadline)
    return _written(maps, encoding, context.budget, deadline)


def _entities(texts: Sequence[str], field: str, cancel: Cancel) -> list[Any]:
    entities = []
    for number, text in enumerate(texts):
        if number % 1_000 == 0:
            cancel.check()
        plain = len(text) <= _DIGITS and text.isascii() and text.isdigit()
        entities.append(int(text) if plain else _entity(text, field, number))
    return entities


def _entity(text: str, field: str, number: int) -> Any:
    try:
        return edn.read(text)
    except AdalogError as error:
        place = f"{field}[{number}]" if field == "eids" else field
        # A position would be looked for in the pattern, the one text that errors of a pull point into.
        at = f" at {error.position.line}:{error.position.column}" if error.position else ""
        raise AdalogError(error.code, f"{place}{at}: {error.message}") from None


def _written(maps: Sequence[EdnMap | None], encoding: Encoding, budget: Budget, cancel: Cancel) -> Written:
    writer = MapWriter(encoding, budget.estimate().take)

    def texts() -> Iterator[bytes]:
        for each in maps:
            cancel.check()
            text = b"null" if each is None else orjson.dumps(writer.write(each))
            budget.take(len(text))
            yield text

    with uncollected():
        return Written.list_of(texts())
