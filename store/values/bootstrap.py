"""What every database knows before its first transaction: the idents that describe a schema, at t = 0."""

from __future__ import annotations

from typing import Final

from adalog.datalog.values import Keyword
from adalog.store.values.attribute import SCHEMA_BASE, AttributeKind, Uniqueness

# The place in this list is the entity id for ever: new ones go to the end.
_IDENTS: Final = (
    *("db/ident", "db/valueType", "db/cardinality", "db/unique", "db/isComponent", "db/doc", "db/index"),
    *("db/noHistory", "db/tupleAttrs", "db/tupleTypes", "db/tupleType", "db.attr/preds", "db/ensure"),
    *("db/txInstant", "db.cardinality/one", "db.cardinality/many", "db.unique/value", "db.unique/identity"),
    *("db.type/long", "db.type/bigint", "db.type/double", "db.type/float", "db.type/bigdec", "db.type/string"),
    *("db.type/keyword", "db.type/symbol", "db.type/boolean", "db.type/instant", "db.type/uuid", "db.type/uri"),
    *("db.type/bytes", "db.type/ref", "db.type/tuple", "db/fn", "db.entity/attrs", "db.entity/preds"),
)
# What was built in later: its datoms are part of the first transaction that needs them. At t = 0 they would shift
# the codes of all values in checkpoints of earlier versions.
_LATER: Final = (
    *("db/principal", "db.type/duration", "graphql/namespace", "graphql/type", "graphql/enum", "graphql/name"),
    *("graphql/plural", "graphql/anchor", "graphql/hidden"),
    *("policy/name", "policy/roles", "policy/ops", "policy/on", "policy/rules", "policy/effect", "policy/enforced"),
    *("db/retainDays", "db/retainTransactions", "db/retainAll"),
)
_IDS: Final = {name: SCHEMA_BASE + 1 + place for place, name in enumerate((*_IDENTS, *_LATER))}

IDENT: Final = _IDS["db/ident"]
VALUE_TYPE: Final = _IDS["db/valueType"]
CARDINALITY: Final = _IDS["db/cardinality"]
UNIQUE: Final = _IDS["db/unique"]
IS_COMPONENT: Final = _IDS["db/isComponent"]
DOC: Final = _IDS["db/doc"]
INDEX: Final = _IDS["db/index"]
NO_HISTORY: Final = _IDS["db/noHistory"]
TUPLE_ATTRS: Final = _IDS["db/tupleAttrs"]
TUPLE_TYPES: Final = _IDS["db/tupleTypes"]
TUPLE_TYPE: Final = _IDS["db/tupleType"]
ATTR_PREDS: Final = _IDS["db.attr/preds"]
ENSURE: Final = _IDS["db/ensure"]
TX_INSTANT: Final = _IDS["db/txInstant"]
FN: Final = _IDS["db/fn"]
ENTITY_ATTRS: Final = _IDS["db.entity/attrs"]
ENTITY_PREDS: Final = _IDS["db.entity/preds"]
PRINCIPAL: Final = _IDS["db/principal"]
OF_TRANSACTIONS: Final = (TX_INSTANT, PRINCIPAL)
"""What every transaction says of itself."""
PRINCIPAL_IDENT: Final = Keyword("db/principal")
DURATION: Final = _IDS["db.type/duration"]
DURATION_IDENT: Final = Keyword("db.type/duration")
LATER_TYPES: Final = {DURATION_IDENT: DURATION}
"""Types that were built in later, by ident."""
GRAPHQL_NAMESPACE: Final = _IDS["graphql/namespace"]
GRAPHQL_TYPE: Final = _IDS["graphql/type"]
GRAPHQL_ENUM: Final = _IDS["graphql/enum"]
GRAPHQL_NAME: Final = _IDS["graphql/name"]
GRAPHQL_PLURAL: Final = _IDS["graphql/plural"]
GRAPHQL_ANCHOR: Final = _IDS["graphql/anchor"]
GRAPHQL_HIDDEN: Final = _IDS["graphql/hidden"]
POLICY_NAME: Final = _IDS["policy/name"]
POLICY_ROLES: Final = _IDS["policy/roles"]
POLICY_OPS: Final = _IDS["policy/ops"]
POLICY_ON: Final = _IDS["policy/on"]
POLICY_RULES: Final = _IDS["policy/rules"]
POLICY_EFFECT: Final = _IDS["policy/effect"]
POLICY_ENFORCED: Final = _IDS["policy/enforced"]
POLICY_ENFORCEMENT: Final = Keyword("policy/enforcement")
"""The ident of the entity that has :policy/enforced."""
RETAIN_DAYS: Final = _IDS["db/retainDays"]
RETAIN_TRANSACTIONS: Final = _IDS["db/retainTransactions"]
RETAIN_ALL: Final = _IDS["db/retainAll"]
RETAINING: Final = {
    RETAIN_DAYS: ":db/retainDays",
    RETAIN_TRANSACTIONS: ":db/retainTransactions",
    RETAIN_ALL: ":db/retainAll",
}
"""Attributes that say how long the past of others is kept, with their names."""
ENDING: Final = (RETAIN_DAYS, RETAIN_TRANSACTIONS, NO_HISTORY)
"""Attributes by which others lose some of their past."""
RETENTION: Final = Keyword("db/retention")
"""The ident of the entity that has the limits of all attributes without limits of their own."""
MADE_BY_USE: Final = frozenset((POLICY_ENFORCEMENT, RETENTION))
"""Entities that the first transaction makes that names them."""
BARRING: Final = frozenset((*LATER_TYPES.values(), POLICY_NAME))
"""What earlier versions must not go on with: types that they cannot read, policies that they would not enforce."""
LATER: Final = frozenset(_IDS[name] for name in _LATER)
"""The entities that were built in later."""
WRITTEN_BY_SERVERS: Final = "a server that authenticates its clients writes it"

MANY: Final = _IDS["db.cardinality/many"]
ONE: Final = _IDS["db.cardinality/one"]
UNIQUENESS: Final[dict[int, Uniqueness]] = {
    _IDS["db.unique/value"]: "value",
    _IDS["db.unique/identity"]: "identity",
}
TYPES: Final = {id_: name.removeprefix("db.type/") for name, id_ in _IDS.items() if name.startswith("db.type/")}
TYPE_IDS: Final = {name: id_ for id_, name in TYPES.items()}

LATER_ATTRIBUTES: Final[dict[int, AttributeKind]] = {
    PRINCIPAL: AttributeKind(value_type="string"),
    GRAPHQL_NAMESPACE: AttributeKind(value_type="keyword", unique="identity"),
    **dict.fromkeys((GRAPHQL_TYPE, GRAPHQL_ENUM, GRAPHQL_ANCHOR), AttributeKind(value_type="keyword")),
    **dict.fromkeys((GRAPHQL_NAME, GRAPHQL_PLURAL), AttributeKind(value_type="string")),
    GRAPHQL_HIDDEN: AttributeKind(value_type="boolean"),
    POLICY_NAME: AttributeKind(value_type="string", unique="identity"),
    **dict.fromkeys((POLICY_ROLES, POLICY_OPS, POLICY_ON), AttributeKind(value_type="keyword", cardinality="many")),
    POLICY_RULES: AttributeKind(value_type="string"),
    POLICY_EFFECT: AttributeKind(value_type="keyword"),
    POLICY_ENFORCED: AttributeKind(value_type="boolean"),
    **dict.fromkeys((RETAIN_DAYS, RETAIN_TRANSACTIONS), AttributeKind(value_type="long")),
    RETAIN_ALL: AttributeKind(value_type="boolean"),
}
"""Attributes that were built in later. All but the principal are declared by their first use."""
DECLARED_BY_USE: Final = {
    Keyword(name): id_ for name, id_ in _IDS.items() if id_ in LATER_ATTRIBUTES and id_ != PRINCIPAL
}

DECLARING_GRAPHQL: Final = range(GRAPHQL_NAMESPACE, GRAPHQL_HIDDEN + 1)
"""Attributes that say how GraphQL shows others."""
POLICY_ATTRIBUTES: Final = range(POLICY_NAME, POLICY_ENFORCED + 1)
"""Attributes that make policies."""

# Attributes whose datoms make a schema: a transaction that touches one of them makes a new one.
SCHEMA_ATTRIBUTES: Final = frozenset((*range(IDENT, TX_INSTANT), *DECLARING_GRAPHQL))

DECLARING: Final = SCHEMA_ATTRIBUTES.union(RETAINING)
"""The same, with those that limit the past, which makes no new schema."""

_VALUE_TYPES: Final = {
    **dict.fromkeys((VALUE_TYPE, CARDINALITY, UNIQUE, ENSURE), "ref"),
    **dict.fromkeys((IDENT, TUPLE_TYPE, ENTITY_ATTRS), "keyword"),
    **dict.fromkeys((IS_COMPONENT, INDEX, NO_HISTORY), "boolean"),
    **dict.fromkeys((DOC, FN), "string"),
    **dict.fromkeys((TUPLE_ATTRS, TUPLE_TYPES), "tuple"),
    **dict.fromkeys((ATTR_PREDS, ENTITY_PREDS), "symbol"),
    TX_INSTANT: "instant",
}
_MANY: Final = frozenset({ATTR_PREDS, ENSURE, ENTITY_ATTRS, ENTITY_PREDS})


def is_built_in(e: int) -> bool:
    return SCHEMA_BASE < e <= SCHEMA_BASE + len(_IDS)


def is_of_server(e: int, a: int) -> bool:
    """Whether a server adds the datom to a transaction: its instant, its principal, what was built in later."""
    return a in (TX_INSTANT, PRINCIPAL) or e in LATER


def later_datoms(id_: int) -> list[tuple[int, int, Keyword | int]]:
    """Those that declare an attribute of LATER_ATTRIBUTES."""
    kind = LATER_ATTRIBUTES[id_]
    rows: list[tuple[int, int, Keyword | int]] = [
        (id_, IDENT, Keyword(_LATER[id_ - _IDS[_LATER[0]]])),
        (id_, VALUE_TYPE, TYPE_IDS[str(kind.value_type)]),
        (id_, CARDINALITY, MANY if kind.cardinality == "many" else ONE),
    ]
    if kind.unique is not None:
        rows.append((id_, UNIQUE, next(each for each, name in UNIQUENESS.items() if name == kind.unique)))
    return rows


def datoms() -> list[tuple[int, int, Keyword | int]]:
    """(entity, attribute, value) of every datom at t = 0; refs are entity ids."""
    rows: list[tuple[int, int, Keyword | int]] = [(_IDS[name], IDENT, Keyword(name)) for name in _IDENTS]
    for attribute, value_type in sorted(_VALUE_TYPES.items()):
        rows.append((attribute, VALUE_TYPE, TYPE_IDS[value_type]))
        rows.append((attribute, CARDINALITY, MANY if attribute in _MANY else ONE))
    rows.append((IDENT, UNIQUE, _IDS["db.unique/identity"]))
    return rows
