"""Lists of objects held as columns, written for a field of an answer: long ones on another thread."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from adalog.executor.bounds.cancel import Cancel
from adalog.schema.request.background import elsewhere
from adalog.schema.request.budget import JsonChunks, RepeatedWork
from adalog.schema.writing.columnar import Columnar, ColumnarWriter, FieldShape, free
from adalog.store.files.gc_pause import uncollected

if TYPE_CHECKING:
    from adalog.schema.request.context import Context


def object_list(
    context: Context, items: Columnar, shape: FieldShape, *, is_told: bool
) -> JsonChunks | Coroutine[Any, Any, JsonChunks]:
    """The list as JSON. `is_told`: what a transaction did has to be told, whatever its size: it is as large as the
    request that made it."""
    take: Callable[[int], None] = free if is_told else (items.prepaid or context.budget).take
    if items.short:
        return ColumnarWriter(take, Cancel()).written(items, shape)
    held = RepeatedWork(take)

    def write(cancel: Cancel) -> JsonChunks:
        held.begin()
        with uncollected():
            return ColumnarWriter(held.take, cancel).written(items, shape)

    if is_told:
        return elsewhere(write)
    return context.services.pool.threaded(Cancel(items.deadline), write, items.cost)
