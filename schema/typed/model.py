"""The typed surface as data: types, fields and enums, as the declarations of one schema give them.

Made by `declarations` from a snapshot; read by everything else here. Of the data only the members of enums count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from adalog.datalog.values import Keyword
from adalog.store.values.attribute import AttributeKind

OTHER_ENTITY = "OtherEntity"
"""The type of an entity that has no anchor of a declared type."""


@dataclass(frozen=True, slots=True)
class EnumModel:
    """All idents of one namespace as an enum. members: GraphQL name to ident, in the order of the idents' entities.
    Without members, or where their names clash, it is none: its fields are of the scalar `Keyword`."""

    name: str
    namespace: str
    members: Mapping[str, Keyword] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FieldModel:
    """One field of a type.

    attribute: what it shows; of a reverse field the attribute through which others refer to the entity.
    scalar: the name of a GraphQL scalar; None for what refers to entities.
    target: the name of the type of these; None where any entity may be meant (`Entity`).
    enum: the name of the enum of a ref's idents; where there is no such enum, `scalar` is "Keyword".
    many: shows a list, and a connection. A component's reverse field shows its one owner.
    composite: of a composite tuple, the types of its items.
    """

    name: str
    attribute: Keyword
    kind: AttributeKind
    many: bool = False
    reverse: bool = False
    scalar: str | None = None
    target: str | None = None
    enum: str | None = None
    doc: str | None = None
    composite: tuple[str, ...] = ()

    def item_types(self, length: int) -> tuple[str, ...] | None:
        """The types of the items of its tuples of this length."""
        if self.composite:
            return self.composite
        return self.kind.tuple_types or (self.kind.tuple_type and (self.kind.tuple_type,) * length) or None

    @property
    def refers(self) -> bool:
        """Whether it shows entities, with a selection of their own."""
        return self.scalar is None and self.enum is None

    @property
    def unique(self) -> bool:
        return self.kind.unique is not None and not self.reverse


@dataclass(frozen=True)
class TypeModel:
    """One namespace as a type.

    singular, plural: its root fields, `issue` and `issues`. anchors: an entity is of this type if it has any of
    these attributes. key: the name of the field that is the anchor, which inputs require; None where there is none.
    id: the entity of its first declared attribute, by which types are in the order of their declaration.
    """

    name: str
    namespace: str
    singular: str
    plural: str
    anchors: tuple[Keyword, ...]
    fields: Mapping[str, FieldModel]
    key: str | None = None
    id: int = 0
    doc: str | None = None

    @cached_property
    def uniques(self) -> Mapping[str, FieldModel]:
        """The fields that name one entity, besides `id`."""
        return {name: each for name, each in self.fields.items() if each.unique}


@dataclass(frozen=True, slots=True)
class SurfaceWarning:
    """What the surface leaves out, and why."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Model:
    """The whole typed surface of one schema. version: equal for equal models. types and enums: by their names, in
    the order of declaration. hidden: the attributes that are shown nowhere."""

    version: int
    types: Mapping[str, TypeModel] = field(default_factory=dict)
    enums: Mapping[str, EnumModel] = field(default_factory=dict)
    warnings: tuple[SurfaceWarning, ...] = ()
    hidden: frozenset[Keyword] = frozenset()
