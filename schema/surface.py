"""The whole GraphQL schema, put together."""

from __future__ import annotations

from functools import cache

import strawberry
from strawberry.schema.config import StrawberryConfig

from adalog.schema.descriptions import describe
from adalog.schema.fields import fields
from adalog.schema.live import subscriptions
from adalog.schema.writing import encoding, scalars

strawberry.enum(encoding.Encoding)


@cache
def build_schema() -> strawberry.Schema:
    schema = strawberry.Schema(
        query=fields.QueryFields,
        mutation=fields.MutationFields,
        subscription=subscriptions.SubscriptionFields,
        config=StrawberryConfig(scalar_map=scalars.SCALARS),
    )
    describe(schema._schema)
    return schema
