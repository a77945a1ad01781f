"""GraphQL documents, parsed and validated once, and kept by their text.

A document of fixed fields is validated with the schema of these, whatever the database declares; any other one with
the newest surface, and again when there is a newer one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import strawberry
from graphql import (
    DocumentNode,
    FieldNode,
    GraphQLError,
    GraphQLField,
    GraphQLSchema,
    OperationDefinitionNode,
    validate,
)
from graphql.execution.values import VariableValues, get_argument_values

from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.lru_cache import LruCache
from adalog.schema.documents.measure import IntrospectionSize, introspected, introspects, is_within, parse_within
from adalog.schema.documents.mistakes import RULES, advised
from adalog.schema.fields.transacting import Transact, transact_in
from adalog.schema.live.stream import SelectedField
from adalog.schema.request.background import elsewhere
from adalog.schema.request.errors import describe, format_error
from adalog.schema.request.limits import RequestLimits
from adalog.schema.typed.following import Surfaces
from adalog.schema.typed.surface import WARNINGS, Surface
from adalog.schema.writing.columnar import FieldShape

_VALIDATION_ERRORS: Final = 20
# Of the tree that is made of one token of a document.
_TOKEN_BYTES: Final = 600


@dataclass(frozen=True, slots=True)
class Root:
    """The root field of a subscription, with what is wanted of each event."""

    operation: OperationDefinitionNode
    definition: GraphQLField
    node: FieldNode
    alias: str
    shape: FieldShape

    def selected(self, variables: VariableValues) -> SelectedField:
        """The field with its arguments. Raises GraphQLError for these."""
        arguments = get_argument_values(self.definition, self.node, variables)
        return SelectedField(self.node.name.value, self.alias, arguments, self.shape)


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document that was parsed and validated, or why it was refused.

    `surface`: what it was validated with; None where it has fixed fields alone, or is no document. `introspection`:
    how many entries its introspection may give. `roots`: of its subscriptions, by the requested name, as far as no
    directive makes them depend on variables. `transact`: set where the document is one transaction and nothing
    else."""

    document: DocumentNode | None
    refusal: tuple[dict[str, Any], ...] = ()
    surface: Surface | None = None
    introspection: int = 0
    roots: dict[str | None, Root] = field(default_factory=dict, compare=False)
    transact: Transact | None = None

    def operation(self, name: str | None) -> OperationDefinitionNode | None:
        """The operation that `name` chooses; None where the choice is not clear (execution says why)."""
        if self.document is None:
            return None
        found = [d for d in self.document.definitions if isinstance(d, OperationDefinitionNode)]
        if name is not None:
            found = [d for d in found if d.name is not None and d.name.value == name]
        return found[0] if len(found) == 1 else None


class Documents:
    """The documents of one server. schema: of the fixed fields."""

    def __init__(self, schema: strawberry.Schema, limits: RequestLimits, surfaces: Surfaces | None) -> None:
        self._fixed = schema._schema  # graphql-core's schema: the one thing Strawberry offers no public name for
        self._limits = limits
        self._surfaces = surfaces
        self._introspections: tuple[int | None, IntrospectionSize] | None = None
        self.kept: LruCache[str, PreparedDocument] = LruCache(limits.document_bytes)
        # Those of the newest surface; older surfaces are kept by nothing but requests that run.
        self._typed = self._of_surface()

    def _of_surface(self) -> tuple[Surface | None, LruCache[str, PreparedDocument]]:
        return self._newest, LruCache(self._limits.document_bytes)

    def prepare(self, text: str) -> PreparedDocument:
        """The document in `text`, from memory when it was asked before."""
        known = self._known(text)
        if known is not None:
            return known
        prepared = self._prepare(text)
        document = prepared.document
        tokens = 0 if document is None or document.loc is None else document.token_count or 0
        weight = sum(len(each["message"]) for each in prepared.refusal)
        kept = self.kept
        if prepared.surface is not None:
            if prepared.surface is not self._typed[0]:
                self._typed = self._of_surface()
            surface, kept = self._typed
            if prepared.surface is not surface:
                return prepared
        kept.put(text, prepared, weight + 2 * len(text) + _TOKEN_BYTES * tokens)
        return prepared

    async def aprepare(self, text: str) -> PreparedDocument:
        """The same for an event loop: a document not seen before is read on another thread. One that is not valid,
        or looks at the schema, waits for the newest surface."""
        known = self.kept.get(text)
        if known is not None:
            return known
        prepared = await self._prepared(text)
        if prepared.surface is None or not (prepared.refusal or prepared.introspection or WARNINGS in text):
            return prepared
        assert self._surfaces is not None, "it made the surface"
        newest = await self._surfaces.current()
        return prepared if prepared.surface is newest else await self._prepared(text)

    async def _prepared(self, text: str) -> PreparedDocument:
        known = self._known(text)
        return await elsewhere(lambda _: self.prepare(text)) if known is None else known

    def _known(self, text: str) -> PreparedDocument | None:
        """The document from memory, unless its surface is not the newest."""
        known = self.kept.get(text)
        if known is not None:
            return known
        surface, kept = self._typed
        return kept.get(text) if surface is not None and surface is self._newest else None

    @property
    def _newest(self) -> Surface | None:
        return None if self._surfaces is None else self._surfaces.newest

    def schema(self, prepared: PreparedDocument) -> GraphQLSchema:
        """The schema that a document was validated with."""
        return self._fixed if prepared.surface is None else prepared.surface.schema

    def _prepare(self, text: str) -> PreparedDocument:
        newest, size = self._newest, None
        try:
            size = self._introspected(newest) if introspects(text) else None
            document, introspection = parse_within(text, self._limits, size)
        except AdalogError as error:
            return PreparedDocument(None, (describe(error),), None if size is None else newest)
        except GraphQLError as error:
            advised([error], self._fixed, text)
            return PreparedDocument(None, (format_error(error),))
        if newest is None or is_within(document, self._fixed):
            surface, schema = None, self._fixed
        else:
            surface, schema = newest, newest.schema
        errors = validate(schema, document, RULES, max_errors=_VALIDATION_ERRORS)
        if errors:
            advised(errors, schema, text, document)
            # The refusal is kept; the document itself is of no use.
            return PreparedDocument(None, tuple(format_error(error) for error in errors), surface)
        return PreparedDocument(document, (), surface, introspection, transact=transact_in(document, schema))

    def _introspected(self, surface: Surface | None) -> IntrospectionSize:
        known, version = self._introspections, None if surface is None else surface.model.version
        if known is None or known[0] != version:
            schema = self._fixed if surface is None else surface.schema
            known = self._introspections = version, introspected(schema)
        return known[1]
