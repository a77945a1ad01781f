"""The built-ins that look into a database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

from adalog.datalog.builtins.builtin import Builtin, DatabaseAccess, refuse, refuse_type, shown, shown_call
from adalog.datalog.values import TX_BASE, Keyword, Value, sort_key

_IDENT = Keyword("db/ident")


def _attribute(name: str, args: tuple[Value, ...], index: int) -> Keyword:
    attribute = args[index]
    if not isinstance(attribute, Keyword):
        refuse_type(name, args, attribute, "an attribute's keyword there, such as :person/name")
    return attribute


def _one(name: str, database: DatabaseAccess, entity: Value, attribute: Keyword) -> Value:
    """The entity's one value of the attribute, None where there is none."""
    values = database.values(entity, attribute)
    if len(values) > 1:
        refuse(
            f"{name}: entity {shown(entity)} has {len(values)} values of {shown(attribute)}; "
            f"{name} takes attributes of cardinality one, a pattern takes the others"
        )
    return values[0] if values else None


def _get_else(database: DatabaseAccess, *args: Value) -> Value:
    """The entity's value of the attribute, else the default."""
    entity, _, default = args
    attribute = _attribute("get-else", args, 1)
    if default is None:
        refuse(f"{shown_call('get-else', args)}: the default is nil; missing? asks for entities without a value")
    value = _one("get-else", database, entity, attribute)
    return default if value is None else value


def _get_some(database: DatabaseAccess, *args: Value) -> Value:
    """[attribute value] of the first attribute that the entity has."""
    for index in range(1, len(args)):
        attribute = _attribute("get-some", args, index)
        value = _one("get-some", database, args[0], attribute)
        if value is not None:
            return (attribute, value)
    return None


def _get_attr(database: DatabaseAccess, *args: Value) -> Value:
    """All values of the attribute in order, else a vector of the default."""
    values = database.values(args[0], _attribute("get-attr", args, 1))
    return tuple(sorted(values, key=sort_key)) or (args[2:] or None)


def _missing(database: DatabaseAccess, *args: Value) -> bool:
    """Whether the entity has no value of the attribute."""
    return not database.values(args[0], _attribute("missing?", args, 1))


def _tx_ids(database: DatabaseAccess, start: Value, end: Value) -> Value:
    """The transactions from start on and before end; nil is no bound."""
    for bound in (start, end):
        if bound is not None and type(bound) is not int and not isinstance(bound, datetime):
            refuse_type("tx-ids", (start, end), bound, "transaction numbers, transaction ids, instants or nil")
    return tuple(database.tx_ids(start, end))


def _tx_data(database: DatabaseAccess, transaction: Value) -> Value:
    """The transaction's datoms as [e a v tx added]."""
    if type(transaction) is not int:
        refuse_type("tx-data", (transaction,), transaction, "a transaction number or a transaction's id")
    return tuple(map(tuple, database.tx_data(transaction)))


def _named(name: str, database: DatabaseAccess, entity: Value) -> int | None:
    """The id of the entity that an id, an ident or a lookup ref names; nil for nil."""
    if entity is None:
        return None
    is_lookup = type(entity) is tuple and len(entity) == 2 and isinstance(entity[0], Keyword)
    if type(entity) is not int and not isinstance(entity, Keyword) and not is_lookup:
        refuse_type(name, (entity,), entity, "an entity's id, an ident such as :person/name, or a lookup ref")
    return database.entid(entity)


def _ident(database: DatabaseAccess, entity: Value) -> Value:
    """The entity's :db/ident; nil if it has none."""
    found = _named("ident", database, entity)
    idents = () if found is None else database.values(found, _IDENT)
    return idents[0] if idents else None


def _transaction(name: str, to: Callable[[int], int]) -> Builtin:
    """`tx->t` or `t->tx`; either takes both, and gives nil for nil."""

    def call(value: Value) -> int | None:
        if value is None:
            return None
        if type(value) is not int or not 0 <= value < 2 * TX_BASE:
            refuse_type(name, (value,), value, "the number or the id of a transaction")
        return to(value % TX_BASE)

    return Builtin(name, 1, 1, call)


DATABASE = (
    Builtin("get-else", 3, 3, _get_else, needs_database=True),
    Builtin("get-some", 2, None, _get_some, needs_database=True),
    Builtin("get-attr", 2, 3, _get_attr, needs_database=True),
    Builtin("missing?", 2, 2, _missing, needs_database=True),
    Builtin("entid", 1, 1, partial(_named, "entid"), needs_database=True),
    Builtin("ident", 1, 1, _ident, needs_database=True),
    _transaction("tx->t", lambda t: t),
    _transaction("t->tx", lambda t: TX_BASE + t),
    Builtin("tx-ids", 2, 2, _tx_ids, needs_database=True),
    Builtin("tx-data", 1, 1, _tx_data, needs_database=True),
)
