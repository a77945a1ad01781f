"""GraphQL documents, parsed and validated once, and kept by their text.

A document of fixed fields is validated with the schema of these, whatever the database declares; any other one with
the newest surface, and again when there is a newer one.
"""

from __future__ import annotations

import threading
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
from adalog.executor.permissions.viewers import viewer_asking
from adalog.schema.documents.measure import IntrospectionSize, introspected, introspects, is_within, parse_within
from adalog.schema.documents.mistakes import RULES, advised
from adalog.schema.fields.alone import field_alone
from adalog.schema.fields.single_field import SingleField
from adalog.schema.live.stream import SelectedField
from adalog.schema.request.background import elsewhere
from adalog.schema.request.errors import describe, format_error
from adalog.schema.request.limits import RequestLimits
from adalog.schema.typed.alone import TypedField, typed_field
from adalog.schema.typed.following import Surfaces
from adalog.schema.typed.surface import WARNINGS, Surface
from adalog.schema.writing.columnar import FieldShape

_VALIDATION_ERRORS: Final = 20
# The documents of what some viewers see may take such a part of the bytes of those of the whole schema.
_PARTS: Final = 8
# Versions of schemas whose introspection is measured once.
_SIZES: Final = 32
# Of the tree that is made of one token of a document.
_TOKEN_BYTES: Final = 600
# Of what is compiled and kept of a document that is one typed field.
_READS_BYTES: Final = 24 * 1024


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
    directive makes them depend on variables. `single`: set where the document is one field that needs no
    execution."""

    document: DocumentNode | None
    refusal: tuple[dict[str, Any], ...] = ()
    surface: Surface | None = None
    introspection: int = 0
    roots: dict[str | None, Root] = field(default_factory=dict, compare=False)
    single: SingleField | TypedField | None = None

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
        self._introspections: dict[int | None, IntrospectionSize] = {}
        self.kept: LruCache[str, PreparedDocument] = LruCache(limits.document_bytes)
        # Those of present surfaces; older surfaces are kept by nothing but requests that run.
        self._typed: dict[Surface, LruCache[str, PreparedDocument]] = {}
        self._lock = threading.Lock()

    def prepare(self, text: str) -> PreparedDocument:
        """The document in `text`, from memory when it was asked before, as the viewer who asks sees the schema."""
        known = self._known(text)
        if known is not None:
            return known
        prepared = self._prepare(text, None if self._surfaces is None else self._surfaces.seen_by(viewer_asking()))
        document = prepared.document
        tokens = 0 if document is None or document.loc is None else document.token_count or 0
        weight = sum(len(each["message"]) for each in prepared.refusal)
        weight += _READS_BYTES if isinstance(prepared.single, TypedField) else 0
        kept = self.kept
        if prepared.surface is not None:
            typed = self._typed_of(prepared.surface)
            if typed is None:
                return prepared
            kept = typed
        kept.put(text, prepared, weight + 2 * len(text) + _TOKEN_BYTES * tokens)
        return prepared

    async def aprepare(self, text: str) -> PreparedDocument:
        """The same for an event loop: a document not seen before is read on another thread. One with typed fields
        waits for a surface that is being made, since what it names may be something else by now; one that is not
        valid, or looks at the schema, also for what other processes have answered."""
        known = self.kept.get(text)
        if known is not None:
            return known
        prepared = await self._prepared(text)
        looks = prepared.refusal or prepared.introspection or WARNINGS in text
        if not looks and (prepared.surface is None or self._surfaces is None or not self._surfaces.is_stale):
            return prepared
        return await self.newer(prepared, text) or prepared

    def is_current(self, prepared: PreparedDocument) -> bool:
        """Whether a document was validated with what is declared now."""
        surfaces = self._surfaces
        return prepared.surface is None or (
            surfaces is not None and prepared.surface is surfaces.newest and not surfaces.is_stale
        )

    def known(self, text: str) -> PreparedDocument | None:
        """A document that was prepared and that the viewer who asks may ask now; None for others, and where that
        takes a while to find out."""
        known = self.kept.get(text)
        if known is None and self._surfaces is not None and not self._surfaces.is_stale:
            known = self._known(text)
        return known

    def is_single(self, text: str) -> bool:
        """Whether a document is likely one field that needs no execution: it was, for some viewer."""
        kept = self.kept.get(text)
        if kept is None:
            kept = next((each for known in self._typed.values() if (each := known.get(text)) is not None), None)
        return kept is not None and kept.single is not None

    async def newer(self, prepared: PreparedDocument, text: str) -> PreparedDocument | None:
        """The document as the newest surface has it, which is awaited; None where it has it so already."""
        if prepared.surface is None or self._surfaces is None:
            return None
        newest = await self._surfaces.current_for(viewer_asking())
        return None if prepared.surface is newest else await self._prepared(text)

    async def _prepared(self, text: str) -> PreparedDocument:
        known = self._known(text)
        return await elsewhere(lambda _: self.prepare(text)) if known is None else known

    def _known(self, text: str) -> PreparedDocument | None:
        """The document from memory, unless its surface is not the newest."""
        known = self.kept.get(text)
        if known is not None:
            return known
        surface = None if self._surfaces is None else self._surfaces.known_to(viewer_asking())
        typed = None if surface is None else self._typed.get(surface)
        return None if typed is None else typed.get(text)

    def _typed_of(self, surface: Surface) -> LruCache[str, PreparedDocument] | None:
        """The documents of a surface, None for one of the past. Those of the past are forgotten."""
        assert self._surfaces is not None, "it made the surface"
        present = self._surfaces.present()
        with self._lock:
            self._typed = {each: kept for each, kept in self._typed.items() if each in present}
            if surface in present and surface not in self._typed:
                part = 1 if surface is self._surfaces.newest else _PARTS
                self._typed[surface] = LruCache(self._limits.document_bytes // part)
            return self._typed.get(surface)

    def schema(self, prepared: PreparedDocument) -> GraphQLSchema:
        """The schema that a document was validated with."""
        return self._fixed if prepared.surface is None else prepared.surface.schema

    def _prepare(self, text: str, newest: Surface | None) -> PreparedDocument:
        size = None
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
        single = field_alone(document, schema) or (None if surface is None else typed_field(document, schema))
        return PreparedDocument(document, (), surface, introspection, single=single)

    def _introspected(self, surface: Surface | None) -> IntrospectionSize:
        version = None if surface is None else surface.model.version
        known = self._introspections.get(version)
        if known is None:
            if len(self._introspections) >= _SIZES:
                self._introspections = {}
            schema = self._fixed if surface is None else surface.schema
            known = self._introspections[version] = introspected(schema)
        return known
