"""The typed surface that a snapshot's declarations give: `model_of`, in the order of its steps.

Attributes are read in the order of their declaration; where two would have one name, the earlier one has it, and
the later one is left out with a warning. Of values only those of `:graphql/…` and idents of enums are looked at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from adalog.datalog.values import Keyword
from adalog.schema.typed import names
from adalog.schema.typed.model import EnumModel, FieldModel, Model, SurfaceWarning, TypeModel
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import bootstrap
from adalog.store.values.attribute import Attribute
from adalog.store.values.schema import item_types

SCALARS: Final = {
    **dict.fromkeys(("double", "float"), "Float"),
    **{name: name.capitalize() for name in ("string", "boolean", "long", "duration", "bytes", "keyword", "symbol")},
    "bigint": "BigInt",
    "bigdec": "Decimal",
    "instant": "DateTime",
    "uuid": "UUID",
    "uri": "URI",
    "tuple": "JSON",
}
"""The scalar of each type of values but refs."""
FIXED_FIELDS: Final = frozenset({"id", "ident", "attributes", "history"})
LOGIC: Final = frozenset({"and", "or", "not"})
"""What combines conditions; a field of such a name has no condition."""
COUNT: Final = "count"


@dataclass(frozen=True, slots=True)
class _Declared:
    """What `:graphql/…` says, by entity. namespaces: by name, their own entities."""

    types: Mapping[int, str]
    enums: Mapping[int, str]
    names: Mapping[int, str]
    plurals: Mapping[int, str]
    anchors: Mapping[int, Keyword]
    hidden: Collection[int]
    namespaces: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Namespace:
    """A namespace that becomes a type. attributes: all of it, those that are hidden too."""

    namespace: str
    name: str
    singular: str
    plural: str
    attributes: list[Attribute]


@dataclass(slots=True)
class _Reading:
    snapshot: Snapshot
    strict: bool
    declared: _Declared
    warnings: list[SurfaceWarning] = field(default_factory=list)

    def warn(self, code: str, message: str) -> None:
        self.warnings.append(SurfaceWarning(code, message))


def model_of(
    snapshot: Snapshot, *, strict: bool = False, taken: Collection[str] = (), before: Model | None = None
) -> Model:
    """The surface of what the snapshot declares. strict: attributes need a type of their own. taken: names of types
    that are given away. before: an earlier model, whose equal types are taken over."""
    snapshot = snapshot.plain
    reading = _Reading(snapshot, strict, _declared(snapshot))
    _warn_of_own_attributes(reading)
    attributes = [each for each in snapshot.attributes() if _is_shown(each, strict)]
    named = set(taken)
    found = _namespaces(reading, attributes)
    wanted = _wanted_enums(reading, attributes)
    chosen, enums = _claimed(reading, found, wanted, named)
    enums = _with_members(reading, enums)
    types = _with_fields(reading, chosen, enums)
    _warn_of_places(reading, types.values())
    hidden = frozenset(each.ident for each in snapshot.attributes() if each.id in reading.declared.hidden)
    by_name = {each.name: each for each in enums.values()}
    return _numbered(Model(0, types, by_name, tuple(reading.warnings), hidden), before)


def _numbered(model: Model, before: Model | None) -> Model:
    """The model with its version; with the types of the earlier one where they are equal."""
    if before is not None:
        known = before.types
        types = {name: known[name] if known.get(name) == each else each for name, each in model.types.items()}
        model = replace(model, types=types)
    hidden = sorted(map(str, model.hidden))
    content = repr((list(model.types.values()), list(model.enums.values()), model.warnings, hidden))
    # Below 2^53, as JSON's numbers are.
    version = int.from_bytes(hashlib.blake2b(content.encode(), digest_size=6).digest())
    return replace(model, version=version)


def _is_shown(attribute: Attribute, strict: bool) -> bool:
    namespace = attribute.ident.namespace
    return (
        not bootstrap.is_built_in(attribute.id)
        and namespace is not None
        and namespace not in ("db", "graphql", "policy")
        and not namespace.startswith("db.")
        and (attribute.kind.value_type is not None or not strict)
    )


def _declared(snapshot: Snapshot) -> _Declared:
    """What is declared of visible attributes, and of the namespaces in which there is one."""
    raw, described = snapshot, set[int]()
    if isinstance(snapshot, GuardedSnapshot):
        raw = snapshot.raw
        shown = {each.ident.namespace for each in snapshot.attributes()}
        described = {e for e, each in _values(raw, bootstrap.GRAPHQL_NAMESPACE).items() if each.name in shown}

    def values(attribute: int) -> dict[int, Any]:
        if raw is snapshot:
            return _values(raw, attribute)
        own = {e: each for e, each in _values(raw, attribute).items() if e in described}
        return _values(snapshot, attribute) | own

    def namespaces(attribute: int) -> dict[int, str]:
        return {e: each.name for e, each in values(attribute).items()}

    return _Declared(
        namespaces(bootstrap.GRAPHQL_TYPE),
        namespaces(bootstrap.GRAPHQL_ENUM),
        values(bootstrap.GRAPHQL_NAME),
        values(bootstrap.GRAPHQL_PLURAL),
        {e: each for e, each in values(bootstrap.GRAPHQL_ANCHOR).items() if not _is_hidden(each, snapshot, raw)},
        {e for e, hidden in values(bootstrap.GRAPHQL_HIDDEN).items() if hidden},
        {name: e for e, name in namespaces(bootstrap.GRAPHQL_NAMESPACE).items()},
    )


def _values(snapshot: Snapshot, attribute: int) -> dict[int, Any]:
    """One value for each entity."""
    if snapshot.schema.get(attribute) is None:
        return {}
    rows = snapshot.columns_of(attribute)
    return dict(zip(rows.e.tolist(), snapshot.codes.decode_many(rows.v), strict=True))


def _is_hidden(ident: Keyword, snapshot: Snapshot, raw: Snapshot) -> bool:
    return snapshot.schema.get(ident) is None and raw.schema.get(ident) is not None


def own_attributes(snapshot: Snapshot) -> list[Keyword]:
    """The names built in later that this database had declared before as its own."""
    return [ident for ident, id_ in bootstrap.DECLARED_BY_USE.items() if snapshot.entid(ident) not in (None, id_)]


def of_own_attribute(ident: Keyword) -> SurfaceWarning:
    lacks = "decides nothing" if ident.namespace == "policy" else "declares nothing for GraphQL"
    return SurfaceWarning(
        "OWN_ATTRIBUTE",
        f"{ident} was declared in this database before it was built in: it stays what it is and {lacks}. To use "
        f"the built-in one, rename yours: [:db/add {ident} :db/ident :my/{ident.local}]",
    )


def _warn_of_own_attributes(reading: _Reading) -> None:
    reading.warnings += map(of_own_attribute, own_attributes(reading.snapshot))


# Namespaces and enums, and their names


def _namespaces(reading: _Reading, attributes: Iterable[Attribute]) -> list[_Namespace]:
    """The namespaces with an attribute that is shown, in the order of their first ones."""
    declared = reading.declared
    grouped: dict[str, list[Attribute]] = {}
    for each in attributes:
        grouped.setdefault(str(each.ident.namespace), []).append(each)
    for namespace in declared.namespaces:
        if namespace not in grouped:
            reading.warn(
                "UNKNOWN_NAMESPACE", f"{{:graphql/namespace :{namespace}}}: no attribute is in this namespace"
            )
    found = []
    for namespace, own in grouped.items():
        if all(each.id in declared.hidden for each in own):
            continue
        entity = declared.namespaces.get(namespace, -1)
        name = declared.names.get(entity, names.pascal(namespace))
        if not names.is_spellable(name):
            given = "" if entity not in declared.names else f', "{name}",'
            reading.warn(
                "NAME_INVALID",
                f"the namespace {namespace} has no type: its name{given} cannot be spelt in GraphQL; give another "
                f'one: {{:graphql/namespace :{namespace} :graphql/name "Name"}}',
            )
            continue
        singular = names.camel(name)
        many = declared.plurals.get(entity, "")
        if many and not names.is_spellable(many):
            reading.warn(
                "NAME_INVALID",
                f'{{:graphql/namespace :{namespace} :graphql/plural "{many}"}}: the plural cannot be spelt in '
                f"GraphQL; {names.plural(singular)} is used",
            )
            many = ""
        elif many == singular:
            reading.warn("NAME_TAKEN", f"the plural of {name} is its singular; {names.plural(singular)} is used")
            many = ""
        found.append(_Namespace(namespace, name, singular, many or names.plural(singular), own))
    return found


def _wanted_enums(reading: _Reading, attributes: Iterable[Attribute]) -> dict[str, tuple[int, EnumModel]]:
    """The enums that attributes name, by their namespaces, each with the first such attribute."""
    found: dict[str, tuple[int, EnumModel]] = {}
    for each in attributes:
        namespace = reading.declared.enums.get(each.id)
        if namespace is None:
            continue
        if not each.is_ref:
            reading.warn(
                "NO_REF", f"{each.ident} is no ref, so :graphql/enum :{namespace} means nothing; remove it"
            )
        elif namespace not in found:
            entity = reading.declared.namespaces.get(namespace, -1)
            name = reading.declared.names.get(entity, names.pascal(namespace))
            found[namespace] = each.id, EnumModel(name, namespace)
    return found


def _claimed(
    reading: _Reading,
    namespaces: list[_Namespace],
    enums: Mapping[str, tuple[int, EnumModel]],
    taken: set[str],
) -> tuple[list[_Namespace], dict[str, EnumModel]]:
    """Those whose names nothing has that was declared earlier."""
    chosen: list[_Namespace] = []
    left: dict[str, EnumModel] = {}
    claims: list[tuple[int, _Namespace | EnumModel]] = [(each.attributes[0].id, each) for each in namespaces]
    claims += enums.values()
    for _, each in sorted(claims, key=lambda claim: claim[0]):
        if isinstance(each, EnumModel):
            own: tuple[str, ...] = (each.name, f"{each.name}Filter", f"{each.name}ListFilter")
        else:
            own = names.derived(each.name, each.plural)
        clash = next((name for name in own if name in taken), None)
        if not names.is_spellable(each.name):
            # Of a namespace that is known already.
            reading.warn(
                "NAME_INVALID", f"the enum of :{each.namespace} has no name that GraphQL can spell: Keyword is used"
            )
        elif clash is None:
            taken.update(own)
            if isinstance(each, EnumModel):
                left[each.namespace] = each
            else:
                chosen.append(each)
        else:
            what = "Keyword is used for the enum of" if isinstance(each, EnumModel) else "no type for the namespace"
            reading.warn(
                "NAME_TAKEN",
                f"{what} :{each.namespace}: the name {clash} is given already; choose another one: "
                f'{{:graphql/namespace :{each.namespace} :graphql/name "Name"}}',
            )
    return chosen, left


def _with_members(reading: _Reading, enums: Mapping[str, EnumModel]) -> dict[str, EnumModel]:
    """The enums that have members, by namespace."""
    members: dict[str, list[Keyword]] = {namespace: [] for namespace in enums}
    if enums:
        snapshot = reading.snapshot
        rows = snapshot.columns_of(bootstrap.IDENT)
        for e, ident in zip(rows.e.tolist(), snapshot.codes.decode_many(rows.v), strict=True):
            own = members.get(ident.namespace or "")
            if own is not None and snapshot.schema.get(e) is None:
                own.append(ident)
    found = {}
    for namespace, each in enums.items():
        spelt: dict[str, Keyword] = {}
        clash: Keyword | None = None
        for ident in members[namespace]:
            name = names.capitals(ident.local)
            if not names.is_spellable(name):
                reading.warn("NAME_INVALID", f"{ident} is no member of {each.name}: GraphQL cannot spell {name}")
            elif spelt.setdefault(name, ident) != ident:
                clash = ident
        if clash is not None:
            first = spelt[names.capitals(clash.local)]
            reading.warn(
                "ENUM_CLASH", f"Keyword is used for the enum {each.name}: {first} and {clash} have one name"
            )
        elif not spelt:
            reading.warn(
                "ENUM_EMPTY", f"Keyword is used for the enum {each.name}: no ident is in the namespace {namespace}"
            )
        else:
            found[namespace] = EnumModel(each.name, namespace, spelt)
    return found


# Fields


def _with_fields(
    reading: _Reading, namespaces: list[_Namespace], enums: Mapping[str, EnumModel]
) -> dict[str, TypeModel]:
    by_namespace = {each.namespace: each for each in namespaces}
    fields = {each.namespace: _forward(reading, each, by_namespace, enums) for each in namespaces}
    _add_reverse(reading, namespaces, fields, by_namespace)
    return {each.name: _type(reading, each, fields[each.namespace]) for each in namespaces}


def _type(reading: _Reading, found: _Namespace, fields: Mapping[str, FieldModel]) -> TypeModel:
    declared = reading.declared
    entity = declared.namespaces.get(found.namespace, -1)
    anchor = _anchor(reading, found, declared.anchors.get(entity))
    every = tuple(each.ident for each in found.attributes)
    keys = (name for name, each in fields.items() if each.attribute == anchor and not each.reverse)
    return TypeModel(
        name=found.name,
        namespace=found.namespace,
        singular=found.singular,
        plural=found.plural,
        anchors=every if anchor is None else (anchor,),
        fields=fields,
        key=next(keys, None),
        id=found.attributes[0].id,
        doc=_doc_of(reading.snapshot, entity),
    )


def _anchor(reading: _Reading, found: _Namespace, declared: Keyword | None) -> Keyword | None:
    """The attribute that all entities of the type have; None where any attribute of the namespace will do."""
    if declared is not None:
        if reading.snapshot.schema.get(declared) is not None:
            return declared
        reading.warn("UNKNOWN_ANCHOR", f"the anchor of {found.name} is no attribute: {declared}")
    unique = next((each for each in found.attributes if each.kind.unique == "identity"), None)
    return None if unique is None else unique.ident


def _doc_of(snapshot: Snapshot, entity: int) -> str | None:
    if entity < 0:
        return None
    if isinstance(snapshot, GuardedSnapshot):
        # The entity declares a namespace with a visible attribute.
        snapshot = snapshot.raw
    row = snapshot.trie(bootstrap.DOC, inverse=False).row(entity)
    return str(snapshot.codes.decode(int(row[0]))) if len(row) else None


def _forward(
    reading: _Reading,
    found: _Namespace,
    namespaces: Mapping[str, _Namespace],
    enums: Mapping[str, EnumModel],
) -> dict[str, FieldModel]:
    declared = reading.declared
    fields: dict[str, FieldModel] = {}
    for attribute in found.attributes:
        if attribute.id in declared.hidden:
            continue
        given = declared.names.get(attribute.id)
        name = names.camel(attribute.ident.local) if given is None else given
        if given is None and name in FIXED_FIELDS:
            name = "key" if name == "id" else f"{name}Value"
        if attribute.ident.local.startswith("_"):
            reading.warn(
                "NAME_INVALID",
                f"{attribute.ident} is no field: patterns read the underscore as a reference backwards",
            )
        elif not names.is_spellable(name) or name in FIXED_FIELDS:
            why = "belongs to every type" if name in FIXED_FIELDS else "cannot be spelt in GraphQL"
            reading.warn(
                "NAME_INVALID",
                f"{attribute.ident} is no field: the name {name} {why}; "
                f'choose another one: [:db/add {attribute.ident} :graphql/name "name"]',
            )
        elif name in fields:
            reading.warn(
                "NAME_TAKEN",
                f"{attribute.ident} is no field: {fields[name].attribute} has the name {found.name}.{name}; "
                f'choose another one: [:db/add {attribute.ident} :graphql/name "name"]',
            )
        else:
            fields[name] = _field(reading, name, attribute, namespaces, enums)
    return fields


def _field(
    reading: _Reading,
    name: str,
    attribute: Attribute,
    namespaces: Mapping[str, _Namespace],
    enums: Mapping[str, EnumModel],
) -> FieldModel:
    kind = attribute.kind
    composite = () if kind.tuple_attrs is None else item_types(attribute, 0, reading.snapshot.schema.by_ident) or ()
    shown = FieldModel(name, attribute.ident, kind, many=attribute.is_many, doc=attribute.doc, composite=composite)
    target, enum = reading.declared.types.get(attribute.id), reading.declared.enums.get(attribute.id)
    if not attribute.is_ref:
        if target is not None:
            reading.warn(
                "NO_REF", f"{attribute.ident} is no ref, so :graphql/type :{target} means nothing; remove it"
            )
        return replace(shown, scalar=SCALARS.get(str(kind.value_type), "JSON"))
    if enum is not None:
        if target is not None:
            reading.warn("NO_TYPE", f"{attribute.ident} has :graphql/enum, so :graphql/type means nothing")
        known = enums.get(enum)
        return replace(shown, scalar="Keyword") if known is None else replace(shown, enum=known.name)
    if target is None:
        return shown
    if target not in namespaces:
        reading.warn(
            "UNKNOWN_NAMESPACE",
            f"{attribute.ident} shows any Entity: its :graphql/type :{target} is no namespace with a type",
        )
        return shown
    return replace(shown, target=namespaces[target].name)


def _add_reverse(
    reading: _Reading,
    namespaces: Iterable[_Namespace],
    fields: Mapping[str, dict[str, FieldModel]],
    by_namespace: Mapping[str, _Namespace],
) -> None:
    """Gives targets of refs the fields that lead back, in the order in which the refs were declared."""
    used: set[tuple[str, str]] = set()
    refs = [
        (attribute, source)
        for source in namespaces
        for attribute in source.attributes
        if attribute.is_ref and attribute.id not in reading.declared.hidden
    ]
    shown = {each.attribute: each for own in fields.values() for each in own.values()}
    for attribute, source in sorted(refs, key=lambda ref: ref[0].id):
        target = reading.declared.types.get(attribute.id)
        forward = shown.get(attribute.ident)
        if target is None or target not in by_namespace or (forward is not None and forward.target is None):
            continue
        component = attribute.kind.component
        base = source.singular if component else source.plural
        first = (target, base) not in used
        used.add((target, base))
        local = names.pascal(attribute.ident.local) if forward is None else names.upper(forward.name)
        name = base if first else f"{base}By{local}"
        own = fields[target]
        if not names.is_spellable(name) or name in own or name in FIXED_FIELDS:
            reading.warn(
                "NAME_TAKEN",
                f"{by_namespace[target].name} has no field that leads back through {attribute.ident}: the name "
                f"{name} is given already",
            )
            continue
        own[name] = FieldModel(
            name, attribute.ident, attribute.kind, many=not component, reverse=True, target=source.name
        )


def _warn_of_places(reading: _Reading, types: Iterable[TypeModel]) -> None:
    for each in types:
        for name, place in _left_out(each):
            reading.warn(
                "NAME_TAKEN",
                f"{each.name}.{name} has no {place} of its own, as the name is given already; "
                f'choose another one: [:db/add {each.fields[name].attribute} :graphql/name "name"]',
            )


def _left_out(each: TypeModel) -> Iterator[tuple[str, str]]:
    members: dict[str, str] = {}
    for name, its in each.fields.items():
        if name in LOGIC:
            yield name, "condition"
        if name == COUNT and its.scalar is not None and not its.many:
            yield name, "aggregate"
        if its.refers and its.many and f"{name}Connection" in each.fields:
            yield name, "connection"
        if its.refers and not its.many and f"{name}IsNull" in each.fields:
            yield name, "condition on its absence"
        if not its.reverse and members.setdefault(names.capitals(name), name) != name:
            yield name, f"member of {each.name}Field"
