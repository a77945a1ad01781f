"""A surface: the GraphQL schema and the model that documents are validated and answered by, until a newer one."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

from graphql import GraphQLField, GraphQLNonNull, GraphQLSchema, print_schema

from adalog.schema.fields.types import Warning
from adalog.schema.typed.declarations import model_of
from adalog.schema.typed.graphql_types import fixed_names, list_of, schema_of
from adalog.schema.typed.model import Model
from adalog.schema.typed.proposal import proposed
from adalog.schema.typed.root_fields import fields_of, roots_of
from adalog.schema.typed.roots import TypedRoot
from adalog.schema.typed.type_table import TypeTable
from adalog.store.snapshot.snapshot import Snapshot

WARNINGS = "schemaWarnings"
CHANGED = "schemaChanged"
PROPOSAL = "schemaProposal"


@dataclass(frozen=True, eq=False)
class Surface:
    """t: the last transaction that declared or named something."""

    schema: GraphQLSchema
    model: Model
    t: int = 0

    @cached_property
    def sdl(self) -> str:
        """The schema as text; of a thousand attributes it takes a second."""
        return print_schema(self.schema)


class SurfaceFactory:
    """Makes the surfaces of one database. base: the schema of the fields that all databases have. strict: whether
    the database's schema is."""

    def __init__(self, base: GraphQLSchema, *, strict: bool = False) -> None:
        self._base = base
        self._strict = strict
        self._taken = fixed_names(base)

    def surface(self, snapshot: Snapshot, before: Surface | None = None) -> Surface:
        """The surface of a snapshot's declarations; the earlier one, if it is the same."""
        known = None if before is None else before.model
        model = model_of(snapshot, strict=self._strict, taken=self._taken, before=known)
        if before is not None and model.version == before.model.version:
            return before
        return self.of_model(model, snapshot.schema_touched)

    def of_model(self, model: Model, t: int = 0) -> Surface:
        """The surface of a model."""
        fixed: Mapping[str, frozenset[str]] = {
            each.name: frozenset((*each.fields, WARNINGS, CHANGED, PROPOSAL))
            for each in (self._base.query_type, self._base.mutation_type, self._base.subscription_type)
            if each is not None
        }
        roots, warnings = roots_of(model, fixed)
        model = replace(model, warnings=(*model.warnings, *warnings))
        makers = {name: partial(self._fields, name, own, model) for name, own in roots.items()}
        schema = schema_of(self._base, model, makers)
        surface = Surface(schema, model, t)
        weakref.finalize(surface, schema.type_map.release).atexit = False
        return surface

    @staticmethod
    def _fields(
        operation: str, roots: Mapping[str, TypedRoot], model: Model, table: TypeTable
    ) -> dict[str, GraphQLField]:
        fields = fields_of(table, roots)
        if operation == "Query":
            shown = [
                Warning(code=each.code, message=each.message, line=None, column=None) for each in model.warnings
            ]
            fields[WARNINGS] = GraphQLField(
                GraphQLNonNull(list_of(table["Warning"])),
                resolve=lambda *_: shown,
                description="What the typed surface leaves out, and why.",
            )
            fields[PROPOSAL] = GraphQLField(
                GraphQLNonNull(table["EDN"]),
                resolve=proposed,
                description=(
                    "Declarations of `:graphql/…` that the data suggest, as transaction data with comments, for "
                    "admins to review: what `adalog schema --propose` prints."
                ),
            )
        elif operation == "Subscription":
            fields[CHANGED] = GraphQLField(
                GraphQLNonNull(table["Long"]),
                description="The transaction that changed the schema last: now, and after each change.",
            )
        return fields
