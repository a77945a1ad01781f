"""A typed root field: from what is selected of it to the bytes of its JSON."""

from __future__ import annotations

import asyncio

from adalog.schema.request.budget import JsonChunks
from adalog.schema.request.context import Context
from adalog.schema.typed.model import Model
from adalog.schema.typed.mutating.payloads import mutated
from adalog.schema.typed.reading.reads import read
from adalog.schema.typed.roots import MUTATIONS, TypedRoot
from adalog.schema.typed.selection import Selected


async def resolve(context: Context, model: Model, root: TypedRoot, chosen: Selected) -> JsonChunks:
    """The JSON of a typed root field; those of one request that read the same share it. Raises AdalogError."""
    if root.kind in MUTATIONS:
        return await mutated(context, model, root, chosen)
    for other, reading in context.reads:
        if other.is_same(chosen):
            found = await reading
            context.budget.take(found.nbytes)
            return found
    reading = asyncio.ensure_future(read(context, model, root, chosen))
    context.reads.append((chosen, reading))
    return await reading
