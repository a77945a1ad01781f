"""What each built-in means, in a few lines; those of numbers and dates are in `expression_arithmetic`,
those of texts in `expression_texts`.

A built-in that is not here fails `test_every_built_in_has_a_meaning`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Any

from adalog.datalog.values import TX_BASE, EdnMap, EdnSet, Keyword, type_name
from tests.property.expression_arithmetic import DATES, NUMERIC
from tests.property.expression_meaning import NUMBERS, Meaning, equal, holds, is_member, known, order, same
from tests.property.expression_numbers import Refused, Unknown
from tests.property.expression_texts import TEXTS

# Comparisons


def _ordered(*orders: int) -> Meaning:
    return Meaning("boolean", "any any*", lambda *values: all(order(a, b) in orders for a, b in pairwise(values)))


def _compare(a: Any, b: Any) -> int:
    if a is None or b is None:
        return int(a is not None) - int(b is not None)
    return known(order(a, b))


def _in(value: Any, values: Any) -> bool:
    if type_name(values) not in ("tuple", "list", "set"):
        raise Refused
    return any(equal(value, each) for each in values)


def _equality(compare: Callable[[Any, Any], bool], wanted: bool) -> Meaning:
    def compared(first: Any, *others: Any) -> bool:
        if others and None in (first, *others):
            return False
        return all(compare(first, each) for each in others) == wanted

    return Meaning("boolean", "any any*", compared)


_COMPARISONS = {
    "=": _equality(same, True),
    "==": _equality(equal, True),
    "not=": _equality(same, False),
    "!=": _equality(same, False),
    "<": _ordered(-1),
    ">": _ordered(1),
    "<=": _ordered(-1, 0),
    ">=": _ordered(0, 1),
    "compare": Meaning("number", "any any", _compare),
    "in": Meaning("boolean", "any collection", lambda a, b: _in(a, b) and a is not None),
    "not-in": Meaning("boolean", "any collection", lambda a, b: not _in(a, b) and a is not None),
    "between": Meaning("boolean", "any any any", lambda x, a, b: {order(a, x), order(x, b)} <= {-1, 0}),
}


# Collections, types, entities


def _counted(value: Any) -> int:
    if value is None:
        return 0
    return len(value) if type_name(value) in {"string", "tuple", "list", "map", "set", "bytes"} else known(None)


def _get(values: Any, key: Any, default: Any = None) -> Any:
    if isinstance(values, EdnMap):
        return values.get(key, default)
    if isinstance(values, EdnSet):
        return key if is_member(key, values) else default
    if type_name(values) in ("tuple", "string") and type(key) is int and 0 <= key < len(values):
        return values[key]
    return default


def _contains(values: Any, key: Any) -> bool:
    if type_name(values) not in ("tuple", "map", "set", "nil"):
        raise Refused
    if isinstance(values, tuple):
        return type(key) is int and 0 <= key < len(values)
    return values is not None and is_member(key, values)


def _set(values: Any = None) -> EdnSet:
    return EdnSet(values.items() if isinstance(values, EdnMap) else values or ())


def _and(*values: Any) -> Any:
    return next((each for each in values if not holds(each)), values[-1] if values else True)


def _or(*values: Any) -> Any:
    return next((each for each in values if holds(each)), values[-1] if values else None)


_COLLECTIONS = {
    "count": Meaning("number", "collection", _counted, takes_any=True),
    "empty?": Meaning("boolean", "collection", lambda values: _counted(values) == 0, takes_any=True),
    "not-empty": Meaning("collection", "collection", lambda x: x if _counted(x) else None, takes_any=True),
    "vector": Meaning("collection", "any*", lambda *values: values),
    "tuple": Meaning("collection", "any any*", lambda *values: values),
    "untuple": Meaning(
        "collection",
        "collection",
        lambda x: None if x is None else tuple(x) if isinstance(x, tuple) else known(None),
        takes_any=True,
    ),
    "set": Meaning(
        "collection",
        "collection",
        lambda x: _set(x) if type_name(x) in ("nil", "map", "tuple", "list", "set") else known(None),
        takes_any=True,
    ),
    "contains?": Meaning("boolean", "collection any", _contains, takes_any=True),
    "get": Meaning("any", "collection any any?", _get, takes_any=True),
    "identity": Meaning("any", "any", lambda x: x),
    "ground": Meaning("any", "any", lambda x: x),
    "and": Meaning("any", "any*", _and),
    "or": Meaning("any", "any*", _or),
    "not": Meaning("boolean", "any", lambda x: not holds(x)),
    "boolean": Meaning("boolean", "any", holds),
    "any?": Meaning("boolean", "any", lambda x: True),
    "some?": Meaning("boolean", "any", lambda x: x is not None),
    "true?": Meaning("boolean", "any", lambda x: x is True),
    "false?": Meaning("boolean", "any", lambda x: x is False),
}


def _of_types(*types: str) -> Meaning:
    return Meaning("boolean", "any", lambda value: type_name(value) in types)


_TYPES = {
    **{
        f"{name}?": _of_types(name)
        for name in (
            *("string", "bigint", "double", "keyword", "symbol", "boolean", "char", "uuid", "uri", "bytes"),
            *("duration", "nil", "list", "map", "set"),
        )
    },
    "number?": _of_types(*NUMBERS),
    "integer?": _of_types("long", "bigint"),
    "int?": _of_types("long"),
    "float?": _of_types("double", "float"),
    "decimal?": _of_types("bigdec"),
    "rational?": _of_types("long", "bigint", "bigdec"),
    "ident?": _of_types("keyword", "symbol"),
    "inst?": _of_types("instant"),
    "vector?": _of_types("tuple"),
    "sequential?": _of_types("tuple", "list"),
    "coll?": _of_types("tuple", "list", "map", "set"),
}

_VALUES = {(1, "fact/name"): "Ada", (1, "fact/size"): 3, (2, "fact/size"): 4, (3, "fact/name"): "Cy"}


def _fact(entity: Any, attribute: Any) -> Any:
    if entity is None and isinstance(attribute, Keyword):
        return None
    if type(entity) not in (int, Keyword) or not isinstance(attribute, Keyword):
        raise Refused
    return _VALUES.get((entity, attribute.name))


def _entid(entity: Any) -> Any:
    if isinstance(entity, Keyword | tuple):
        raise Unknown
    if entity is not None and type(entity) is not int:
        raise Refused
    return entity


def _ident(entity: Any) -> None:
    """No entity of the examples has one."""
    _entid(entity)


def _get_else(entity: Any, attribute: Any, default: Any) -> Any:
    found = _fact(entity, attribute)
    return known(default) if found is None or default is None else found


def _listed(value: Any) -> Any:
    return None if value is None else (value,)


def _get_some(entity: Any, *attributes: Any) -> Any:
    found = ((each, _fact(entity, each)) for each in attributes)
    return next((each for each in found if each[1] is not None), None)


def _t(transaction: Any, missing: int) -> int:
    if transaction is None:
        return missing
    if type(transaction) is not int:
        raise Unknown if isinstance(transaction, datetime) else Refused
    return transaction - TX_BASE if transaction >= TX_BASE else transaction


def _of_transaction(base: int) -> Meaning:
    return Meaning(
        "number",
        "transaction",
        lambda t: base + t % TX_BASE if type(t) is int and 0 <= t < 2 * TX_BASE else known(None),
    )


_DATABASE = {
    "get-else": Meaning("any", "entity attribute default", _get_else, takes_any=True),
    "get-attr": Meaning("collection", "entity attribute", lambda e, a: _listed(_fact(e, a)), takes_any=True),
    "get-some": Meaning("collection", "entity attribute attribute*", _get_some, takes_any=True),
    "missing?": Meaning("boolean", "entity attribute", lambda e, a: _fact(e, a) is None, takes_any=True),
    "entid": Meaning("number", "entity", _entid, takes_any=True),
    "ident": Meaning("keyword", "entity", _ident, takes_any=True),
    "tx->t": _of_transaction(0),
    "t->tx": _of_transaction(TX_BASE),
    "tx-ids": Meaning(
        "collection",
        "transaction transaction",
        lambda a, b: tuple(TX_BASE + t for t in (1, 2) if _t(a, 0) <= t < _t(b, 3)),
        takes_any=True,
    ),
}

FUNCTIONS = NUMERIC | DATES | _COMPARISONS | TEXTS | _COLLECTIONS | _TYPES | _DATABASE
OF_DATABASES = frozenset(_DATABASE) - {"tx->t", "t->tx"}

ELSEWHERE = {
    "tx-data": "tests/language/test_datoms_of_a_transaction.py",
    **dict.fromkeys(
        ("apply", "get-in", "hash-map", "array-map", "hash-set", "sorted-set"),
        "tests/language/test_outside_texts.py",
    ),
}
"""Built-ins without a meaning here, and their tests."""

SIGNATURES = [
    *((each.gives, name, each.takes) for name, each in FUNCTIONS.items()),
    *(("moment", name, "moment duration*") for name in "+-"),
    *(("duration", name, "duration duration*") for name in "+-"),
    ("number", "-", "moment moment"),
    ("duration", "*", "duration long"),
    *((kind, name, f"{kind} {kind}*") for name in ("min", "max") for kind in ("moment", "text", "duration")),
    ("any", "min", "any any"),
    ("number", "count", "text"),
    *(
        ("boolean", name, f"{kind} {kind}")
        for name in ("<", ">=", "=", "==")
        for kind in ("number", "text", "moment")
    ),
]
"""What a call gives, its name, and what it takes. Of one name there may be several."""
