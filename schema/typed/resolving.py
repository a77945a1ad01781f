"""A typed root field: from what is selected of it to the bytes of its JSON."""

from __future__ import annotations

from adalog.schema.request.budget import JsonChunks
from adalog.schema.request.context import Context
from adalog.schema.typed.model import Model
from adalog.schema.typed.mutating.payloads import mutated
from adalog.schema.typed.reading.reads import read
from adalog.schema.typed.roots import MUTATIONS, TypedRoot
from adalog.schema.typed.selection import Selected


async def resolve(context: Context, model: Model, root: TypedRoot, chosen: Selected) -> JsonChunks:
    """The JSON of a typed root field. Raises AdalogError."""
    if root.kind in MUTATIONS:
        return await mutated(context, model, root, chosen)
    return await read(context, model, root, chosen)
