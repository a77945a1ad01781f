"""A selection of entities as a pull pattern and as the shape that writes what it pulled.

A list with a filter, an order or an offset is a query within the pattern; other lists are plain elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adalog.schema.request.limits import exceeded
from adalog.schema.typed.model import OTHER_ENTITY, FieldModel, Model, TypeModel
from adalog.schema.typed.reading.connections import ConnectionCompiler
from adalog.schema.typed.reading.filters import Clauses, FilterCompiler, Parameters, names_idents, pattern, written
from adalog.schema.typed.reading.page_cursors import PageCursors
from adalog.schema.typed.reading.pages import size_of
from adalog.schema.typed.reading.queries import KEY, PatternText, QueryText
from adalog.schema.typed.reading.writer import (
    AnyEntityShape,
    AttributesField,
    Constant,
    EntityField,
    EntityId,
    IdentField,
    ObjectShape,
    ScalarField,
    Shape,
    TypeName,
)
from adalog.schema.typed.selection import ANY_TYPE, Selected

_CONNECTION: Final = "Connection"
_TYPENAME: Final = "__typename"
# Entities that the lists of one root field may come to if all of them are full.
_MOST_ENTITIES: Final = 10_000_000


@dataclass
class SelectionCompiler:
    """Compiles what is selected below one root field.

    most: the rows that one list may ask for. cursors: read those of connections at any depth. has_connections:
    whether there was one so far.
    """

    model: Model
    parameters: Parameters
    cursors: PageCursors
    most: int
    has_connections: bool = False

    def __post_init__(self) -> None:
        self.filters = FilterCompiler(self.model, self.parameters)
        self._entities = 0

    @property
    def connections(self) -> ConnectionCompiler:
        self.has_connections = True
        return ConnectionCompiler(self)

    def spend(self, entities: int) -> None:
        """Counts entities before any is read. Raises LIMIT_EXCEEDED."""
        self._entities += entities
        if self._entities > _MOST_ENTITIES:
            what = "entities that the lists of the selection may come to; give smaller values of `first`"
            raise exceeded(what, _MOST_ENTITIES)

    def entities(self, target: str | None, chosen: Selected, into: PatternText, times: int, path: str) -> Shape:
        """Adds to a pattern what is selected of entities of the type `target` (None: of any type). times: how many
        entities these are at most. path: the fields on the way here, for cursors."""
        if target is not None:
            return self.object(self.model.types[target], chosen.of(target), into, times, path)
        shapes: dict[str, Shape] = {}
        for name in chosen.fields:
            if name != ANY_TYPE:
                shapes[name] = self.object(self.model.types.get(name), chosen.of(name), into, times, path)
        rest = self.object(None, chosen.of(ANY_TYPE), into, times, path)
        return AnyEntityShape(self._anchors(chosen, into), shapes, rest)

    def _anchors(self, chosen: Selected, into: PatternText) -> Sequence[tuple[str, Sequence[str]]]:
        """The types that tell what is shown of an entity, each with the keys of its anchors."""
        types = list(self.model.types.values())
        named = set(chosen.fields) - {ANY_TYPE}
        if OTHER_ENTITY not in named and all(each.field != _TYPENAME for each in chosen.of(ANY_TYPE)):
            last = max((number for number, each in enumerate(types) if each.name in named), default=-1)
            types = types[: last + 1]
        return [
            (each.name, [into.key(f":{a}", f"[{written(a)} :as {KEY} :limit 1]") for a in each.anchors])
            for each in types
        ]

    def object(
        self, kind: TypeModel | None, chosen: Sequence[Selected], into: PatternText, times: int, path: str
    ) -> ObjectShape:
        """The same for entities of one type; None: of those that have none."""
        shapes: dict[str, Shape] = {}
        for number, each in enumerate(chosen):
            # What is selected twice is read once.
            known = next((other for other in chosen[:number] if each.fields and other.is_same(each)), None)
            shapes[each.key] = self._field(kind, each, into, times, path) if known is None else shapes[known.key]
        return ObjectShape(shapes)

    def _field(self, kind: TypeModel | None, chosen: Selected, into: PatternText, times: int, path: str) -> Shape:
        common = _COMMON.get(chosen.field)
        if common is not None:
            return common(self, kind, chosen, into)
        if chosen.field == "history":
            return self.connections.history(kind, chosen, into, path)
        assert kind is not None, "an entity without a type has the fields of all"
        shown = kind.fields.get(chosen.field)
        if shown is None:
            shown = kind.fields[chosen.field.removesuffix(_CONNECTION)]
            return self.connections.nested(shown, chosen, into, times, path)
        if not shown.refers:
            return self._value(shown, chosen, into)
        if shown.many:
            return self._list(shown, chosen, into, times, path)
        inner = PatternText()
        self.spend(times)
        shape = self.entities(shown.target, chosen, inner, times, f"{path}.{chosen.field}")
        key = into.key(chosen.key, f"{{[{_attribute(shown)} :as {KEY}] {inner.text}}}", inner.uses)
        return EntityField(key, False, shape)

    def _value(self, shown: FieldModel, chosen: Selected, into: PatternText) -> Shape:
        limit = " :limit nil" if shown.many else ""
        element = f"[{_attribute(shown)} :as {KEY}{limit}]"
        if shown.enum is None and not names_idents(shown):
            kind = None if shown.scalar == "JSON" else shown.kind.value_type
            return ScalarField(into.key(chosen.key, element), shown.many, kind)
        key = into.key(chosen.key, f"{{{element} [:db/ident]}}")
        if shown.enum is None:
            return IdentField(key, shown.many, None)
        members = self.model.enums[shown.enum].members
        return IdentField(key, shown.many, {ident: name for name, ident in members.items()})

    def _list(self, shown: FieldModel, chosen: Selected, into: PatternText, times: int, path: str) -> Shape:
        given = chosen.arguments
        first = size_of(given.get("first"), f"{chosen.key}.first", self.most)
        offset = size_of(given.get("offset"), f"{chosen.key}.offset", 2**53, 0)
        if not first:
            return Constant([])
        self.spend(times * first)
        inner = PatternText()
        shape = self.entities(shown.target, chosen, inner, times * first, f"{path}.{chosen.field}")
        if not (given.get("where") or given.get("orderBy") or offset):
            element = f"{{[{_attribute(shown)} :as {KEY} :limit {first}] {inner.text}}}"
            return EntityField(into.key(chosen.key, element, inner.uses), True, shape)
        owner, entity = self.parameters.variable("e"), self.parameters.variable("e")
        found = self.selection(shown, owner, entity, given, chosen.key)
        order, terms = self.order(shown.target, entity, given)
        found.extend((order,))
        tail = f":order-by [{' '.join(terms)}] :limit {first}" + (f" :offset {offset}" if offset else "")
        query = QueryText(f"[(pull {entity} {inner.text}) ...]", found, tuple(inner.uses), tail)
        return EntityField(into.key(chosen.key, query.within(owner), query.inputs), True, shape)

    def selection(self, shown: FieldModel, owner: str, entity: str, given: Mapping[str, Any], key: str) -> Clauses:
        """The clauses for the entities of a list that its filter selects."""
        found = Clauses([pattern(shown, owner, entity)])
        if given.get("where") is not None:
            found.extend((self.filters.within(shown, entity, given["where"], f"{key}.where"),))
        return found

    def order(self, target: str | None, entity: str, given: Mapping[str, Any]) -> tuple[Clauses, list[str]]:
        kind = None if target is None else self.model.types[target]
        return (Clauses(), [entity]) if kind is None else self.filters.order(kind, entity, given.get("orderBy"))

    def _ident(self, kind: TypeModel | None, chosen: Selected, into: PatternText) -> Shape:
        return ScalarField(into.key(chosen.key, f"[:db/ident :as {KEY}]"))

    def _attributes(self, kind: TypeModel | None, chosen: Selected, into: PatternText) -> Shape:
        owner, entity = self.parameters.variable("e"), self.parameters.variable("e")
        query = QueryText(f"(pull {entity} [*]) .", Clauses([f"[(identity {owner}) {entity}]"]))
        return AttributesField(into.key(chosen.key, query.within(owner)), self.model.hidden)


_Common = Callable[[SelectionCompiler, TypeModel | None, Selected, PatternText], Shape]
_COMMON: Final[Mapping[str, _Common]] = {
    "id": lambda compiler, kind, chosen, into: EntityId(),
    _TYPENAME: lambda compiler, kind, chosen, into: TypeName(OTHER_ENTITY if kind is None else kind.name),
    "ident": SelectionCompiler._ident,
    "attributes": SelectionCompiler._attributes,
}


def _attribute(shown: FieldModel) -> str:
    """The attribute as patterns have it, backwards with an underscore."""
    if not shown.reverse:
        return written(shown.attribute)
    namespace = shown.attribute.namespace
    return f":{namespace}/_{shown.attribute.local}" if namespace else f":_{shown.attribute.local}"
