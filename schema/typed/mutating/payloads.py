"""A typed mutation's root field: its transaction, and the payload, which is read at the transaction's moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson

from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.permissions.viewers import viewer_asking
from adalog.schema.fields.transacting import reported, transacted
from adalog.schema.request.budget import JsonChunks
from adalog.schema.request.context import Context, Services
from adalog.schema.request.limits import exceeded
from adalog.schema.typed.model import Model
from adalog.schema.typed.mutating.mutations import TypedMutation
from adalog.schema.typed.names import payload_field
from adalog.schema.typed.reading.reads import compiled, read
from adalog.schema.typed.roots import TypedRoot
from adalog.schema.typed.selection import Selected
from adalog.schema.writing.columnar import FieldShape
from adalog.schema.writing.encoding import Encoding
from adalog.schema.writing.longs import write_long
from adalog.store.values.datom import TxReport

# The tempid of what a `create` or `upsert` created.
_INPUT: Final = "input"


async def mutated(context: Context, model: Model, root: TypedRoot, chosen: Selected) -> JsonChunks:
    """The JSON of the payload. Raises what refuses the transaction."""
    assert root.model is not None
    given, services = chosen.arguments, context.services
    mutation = TypedMutation(model, root.model, root.kind, given)
    shown = [each for each in chosen.of(chosen.type_name) if each.field in _entity_fields(root)]
    _check(context, mutation, root, shown)
    report = await transacted(services, mutation, given.get("expectedBasisT"), given.get("idempotencyKey"))
    try:
        return await _payload(context, mutation, report, chosen)
    except AdalogError as error:
        message = f"transaction {report.t} was applied, and what it changed cannot be shown: {error.message}"
        raise AdalogError(error.code, message, retryable=False) from None


def _entity_fields(root: TypedRoot) -> tuple[str, ...]:
    """The fields of a payload that show entities."""
    assert root.model is not None
    return payload_field(root.model.singular), payload_field(root.model.plural)


def _check(context: Context, mutation: TypedMutation, root: TypedRoot, shown: Sequence[Selected]) -> None:
    """Refuses a selection that cannot be shown before anything is applied."""
    expected, most = mutation.arguments.get("expected", 1), context.services.limits.rows
    for each in shown:
        if expected > most:
            raise exceeded(f"{each.field} that the payload shows: {expected}", most, "rows")
        compiled(context, mutation.model, *_reading(mutation, each, [0], 0))


def _reading(
    mutation: TypedMutation, shown: Selected, entities: Sequence[int], t: int
) -> tuple[TypedRoot, Selected]:
    """The root field that reads what a payload shows of entities."""
    ids = list(map(str, entities))
    given: dict[str, Any] = {"basis": {"t": t}}
    if mutation.is_bulk:
        root, given = TypedRoot("list", mutation.kind), given | {"where": {"id": {"in": ids}}, "first": len(ids)}
    else:
        root, given = TypedRoot("one", mutation.kind), given | {"id": ids[0]}
    return root, Selected(shown.key, shown.field, given, shown.type_name, shown.fields)


async def _payload(context: Context, mutation: TypedMutation, report: TxReport, chosen: Selected) -> JsonChunks:
    entities = await _entities(context.services, mutation, report)
    chunks: list[bytes] = []
    for each in chosen.of(chosen.type_name):
        chunks.append(b"%s%s:" % (b"," if chunks else b"{", orjson.dumps(each.key)))
        if each.field == "t":
            chunks.append(orjson.dumps(write_long(report.t)))
        elif each.field == "ids":
            chunks.append(orjson.dumps(list(map(str, entities))))
        elif each.field == "report":
            chunks.append(orjson.dumps(await reported(report, Encoding.PLAIN, _shape(each))))
        elif each.field == "__typename":
            chunks.append(orjson.dumps(chosen.type_name))
        elif not entities and not mutation.is_bulk:
            chunks.append(b"null")
        else:
            root, reading = _reading(mutation, each, entities, report.t)
            found, _ = await read(context, mutation.model, root, reading)
            chunks += found.chunks
    return JsonChunks((*chunks, b"}"))


async def _entities(services: Services, mutation: TypedMutation, report: TxReport) -> list[int]:
    """The entities that the transaction was about. Of one that an earlier request with this idempotency key made,
    they are found as it found them."""
    database, viewer = services.database, viewer_asking()
    known = mutation.entities.get(report.t)
    if known is None and _INPUT in report.tempids:
        known = (_INPUT,)
    if known is None:

        def again(cancel: Cancel) -> None:
            database.speculate(database.at(t=report.basis_before), mutation, watch=cancel, viewer=viewer)

        await services.pool.threaded(Cancel.after(services.limits.timeout_ms), again)
        known = mutation.entities[report.t]
    # What its maker does not see is not among the tempids.
    made = (report.tempids.get(each) if isinstance(each, str) else each for each in known)
    return [each for each in made if each is not None]


def _shape(shown: Selected) -> FieldShape:
    """What is selected of a report."""
    fields: list[Any] = [
        (each.key, each.field, _shape(each) if each.fields else None) for each in shown.of(shown.type_name)
    ]
    return FieldShape(str(shown.type_name), fields)
