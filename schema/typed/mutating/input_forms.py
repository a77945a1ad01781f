"""Inputs of typed mutations as the forms of one transaction, for one state of the database.

A created entity has the path of its input as its tempid, `input.labels.create[0]`: reports show it. What depends on
the state is read here: which entities a `by` names, what an upsert finds, what `set` replaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from adalog.datalog.errors import Code, quoted
from adalog.datalog.values import Keyword
from adalog.schema.typed.model import FieldModel, Model, TypeModel
from adalog.schema.typed.mutating.input_values import InputValues, refused
from adalog.schema.typed.reading.filters import entity_id
from adalog.store.state.permission import GuardedState, unseen
from adalog.store.state.state import DatabaseState
from adalog.store.transact.resolve import Transaction
from adalog.store.values.attribute import Attribute

Input = Mapping[str, Any]
Entity = int | str
"""The id of an entity, or the tempid of one that is created."""

_ADD: Final = Keyword("db/add")
_RETRACT: Final = Keyword("db/retract")
_RETRACT_ENTITY: Final = Keyword("db/retractEntity")


class InputForms:
    """Collects the forms of one mutation. Every method raises TX_INVALID with the path of what is wrong."""

    def __init__(self, model: Model, state: DatabaseState) -> None:
        self._model = model
        self._state = state
        self._snapshot = state.snapshot()
        self._values = InputValues(model, state.schema)
        self._forms: list[tuple[Any, ...]] = []
        self._places: list[str] = []
        self._created: list[str] = []
        # What is created, by its unique values: other parts of the input may name it by these.
        self._announced: dict[tuple[Keyword, Any], str] = {}

    def transaction(self) -> Transaction:
        return Transaction(self._forms, created=self._created, places=self._places)

    # Whole entities

    def announce(self, kind: TypeModel, given: Input, place: str, within: str = "", *, created: bool) -> None:
        """Notes the entities that an input creates, so that any part of it can connect them. within: tells apart
        the entities of several inputs that are the same."""
        for field, value, at in self._entries(kind, given, place):
            if field.refers:
                for inner, input_, inner_at in self._creates(field, value, at):
                    self.announce(inner, input_, inner_at, within, created=True)
            elif created and field.unique and value is not None:
                code = self._values.value(field, value, at)
                self._announced.setdefault((field.attribute, code), place + within)

    def create(self, kind: TypeModel, given: Input, place: str, within: str = "", *, upserts: bool = False) -> str:
        """The tempid of a new entity. upserts: of one that may be there, by the attributes of a unique tuple."""
        tempid = place + within
        if not upserts:
            self._created.append(tempid)
        before = len(self._forms)
        self._fill(kind, tempid, given, place, within)
        # References of others to it say nothing of itself.
        if not any(form[1] == tempid for form in self._forms[before:]):
            raise refused(place, f"a new {kind.name} has at least one value; give it one")
        return tempid

    def known(self, kind: TypeModel, given: Input, place: str) -> int | None:
        """The entity that is there with a unique identity of an input."""
        for field, value, at in self._entries(kind, given, place):
            if field.unique and field.kind.unique == "identity" and value is not None:
                found = self._holder(field, value, at)
                if found is not None:
                    return found
        return None

    def change(self, kind: TypeModel, entity: int, given: Input, place: str, within: str = "") -> None:
        self._fill(kind, entity, given, place, within)

    def delete(self, entity: int, place: str) -> None:
        self._say(place, _RETRACT_ENTITY, entity)

    def named(self, kind: TypeModel | None, by: Input, place: str) -> int:
        """The entity that is there and that an input names by its id or a unique value."""
        found = self._named(kind, by, place)
        if isinstance(found, str):
            raise refused(place, f"{_shown(by)} names what this mutation creates; name what is there already")
        return found

    # Fields

    def _entries(self, kind: TypeModel, given: Input, place: str) -> Iterator[tuple[FieldModel, Any, str]]:
        for name, value in given.items():
            yield kind.fields[name], value, f"{place}.{name}"

    def _fill(self, kind: TypeModel, entity: Entity, given: Input, place: str, within: str) -> None:
        for field, value, at in self._entries(kind, given, place):
            if value is None and field.name == kind.key:
                raise refused(
                    at, f"{kind.name} has this anchor always; delete{kind.name} retracts the whole entity"
                )
            if field.refers:
                self._relate(field, entity, value, at, within)
                continue
            if value is None or field.many:
                self._clear(field, entity, at)
            each = () if value is None else value if field.many else (value,)
            for number, item in enumerate(each):
                item_at = f"{at}[{number}]" if field.many else at
                self._say(item_at, _ADD, entity, field.attribute, self._values.value(field, item, item_at))

    def _relate(self, field: FieldModel, entity: Entity, given: Input | None, place: str, within: str) -> None:
        """What a field that refers to entities gets: `set` first, then the others."""
        if given is None or given.get("set") is not None:
            self._replace(field, entity, () if given is None else given["set"], f"{place}.set")
        if given is None:
            return
        target = self._target(field)
        for by, at in _several(given.get("disconnect"), f"{place}.disconnect"):
            if by is True:
                self._clear(field, entity, at)
            elif by is not False:
                self._retract(field, entity, self._named(target, by, at), at)
        for by, at in _several(given.get("connect"), f"{place}.connect"):
            self._refer(field, entity, self._named(target, by, at), at)
        for inner, input_, at in self._creates(field, given, place):
            self._refer(field, entity, self.create(inner, input_, at, within), at)

    def _creates(
        self, field: FieldModel, given: Input | None, place: str
    ) -> Iterator[tuple[TypeModel, Input, str]]:
        """The entities that a field's input creates: their type, input and path."""
        for input_, at in _several((given or {}).get("create"), f"{place}.create"):
            target = self._target(field)
            assert target is not None, "entities without a type are connected, not created"
            yield target, input_, at

    def _replace(self, field: FieldModel, entity: Entity, by: Sequence[Input], place: str) -> None:
        """Has the field refer to these entities alone."""
        target = self._target(field)
        others = [(self._named(target, each, at), at) for each, at in _several(by, place)]
        if not field.reverse:
            self._clear(field, entity, place)
        elif isinstance(entity, int):
            kept = {other for other, _ in others}
            for each in self._referring(field, entity, place):
                if each not in kept:
                    self._retract(field, entity, each, place)
        for other, at in others:
            self._refer(field, entity, other, at)

    def _clear(self, field: FieldModel, entity: Entity, place: str) -> None:
        """Removes all values of a field; a new entity has none."""
        if isinstance(entity, str):
            return
        if field.reverse:
            for other in self._referring(field, entity, place):
                self._retract(field, entity, other, place)
        else:
            self._say(place, _RETRACT, entity, self._values.attribute(field, place).ident)

    def _refer(self, field: FieldModel, entity: Entity, other: Entity, place: str) -> None:
        e, v = (other, entity) if field.reverse else (entity, other)
        if field.kind.component and isinstance(v, int):
            # A part has one owner: it moves.
            for owner in self._state.live(self._values.attribute(field, place).id).entities(v):
                if owner != e:
                    self._say(place, _RETRACT, owner, field.attribute, v)
        self._say(place, _ADD, e, field.attribute, v)

    def _retract(self, field: FieldModel, entity: Entity, other: Entity, place: str) -> None:
        if isinstance(entity, str) or isinstance(other, str):
            # A new entity has no references yet.
            return
        e, v = (other, entity) if field.reverse else (entity, other)
        self._say(place, _RETRACT, e, field.attribute, v)

    def _say(self, place: str, *form: Any) -> None:
        self._forms.append(form)
        self._places.append(place)

    # What is there

    def _target(self, field: FieldModel) -> TypeModel | None:
        return None if field.target is None else self._model.types[field.target]

    def _referring(self, field: FieldModel, entity: int, place: str) -> list[int]:
        return self._state.live(self._values.attribute(field, place).id).entities(entity)

    def _named(self, kind: TypeModel | None, by: Input, place: str) -> Entity:
        ((name, value),) = by.items()
        at = f"{place}.{name}"
        if value is None:
            raise refused(at, "null names no entity")
        if name == "id":
            found: int | None = entity_id(value, at)
        elif name == "ident":
            ident = self._values.ident(value, at)
            found = self._state.ident_holder(ident)
        else:
            assert kind is not None
            field = kind.fields[name]
            created = self._announced.get((field.attribute, self._values.value(field, value, at)))
            if created is not None:
                return created
            found = self._holder(field, value, at)
        if name == "id" and isinstance(self._state, GuardedState) and unseen(self._state.view, [found or 0]):
            # As transactions refuse it, whether it is there or not.
            message = f"entity {found} is not there, or nothing of it is visible to you"
            raise refused(at, message, Code.FORBIDDEN)
        if found is None or not self._is_there(kind, found):
            what = "entity" if kind is None else kind.name
            raise refused(place, f"there is no {what} with {_shown(by)}")
        return found

    def _holder(self, field: FieldModel, given: Any, place: str) -> int | None:
        attribute = self._values.attribute(field, place)
        code = self._snapshot.value_code(attribute, self._values.value(field, given, place))
        return None if code is None else self._state.holder(attribute.id, code)

    def _is_there(self, kind: TypeModel | None, entity: int) -> bool:
        """Whether the entity has an anchor of the type; without a type, whether anything is said of it."""
        found: Sequence[Attribute | None]
        if kind is None:
            found = self._snapshot.attributes_of(np.array([entity], np.int64))
        else:
            found = [self._state.schema.get(anchor) for anchor in kind.anchors]
        return any(each is not None and bool(self._state.live(each.id).values(entity)) for each in found)


def _several(given: Any, place: str) -> Iterator[tuple[Any, str]]:
    """One thing or a list, each with its path."""
    if isinstance(given, list | tuple):
        for number, each in enumerate(given):
            yield each, f"{place}[{number}]"
    elif given is not None:
        yield given, place


def _shown(by: Input) -> str:
    ((name, value),) = by.items()
    return f"{name}: {quoted(value if isinstance(value, str | int | float) else str(value))}"
