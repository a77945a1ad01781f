"""A typed root field: from what is selected of it to the bytes of its JSON."""

from __future__ import annotations

import asyncio

from graphql.pyutils import Path

from adalog.schema.request.budget import JsonChunks
from adalog.schema.request.context import Context
from adalog.schema.typed.model import Model
from adalog.schema.typed.mutating.payloads import mutated
from adalog.schema.typed.reading.reads import read
from adalog.schema.typed.roots import MUTATIONS, TypedRoot
from adalog.schema.typed.selection import Selected


async def resolve(context: Context, model: Model, root: TypedRoot, chosen: Selected, path: Path) -> JsonChunks:
    """The JSON of a typed root field, whose path gets its warnings; the fields of one request that read the same
    share an answer. Raises AdalogError."""
    if root.kind in MUTATIONS:
        return await mutated(context, model, root, chosen)
    for other, reading in context.reads:
        if other.is_same(chosen):
            found, told = await reading
            context.warn(path, told)
            context.budget.take(found.nbytes)
            return found
    reading = asyncio.ensure_future(read(context, model, root, chosen))
    context.reads.append((chosen, reading))
    found, told = await reading
    context.warn(path, told)
    return found
