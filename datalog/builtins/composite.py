"""Collections, the connectives as functions, and what hands its argument on."""

from __future__ import annotations

from adalog.datalog.builtins.builtin import Builtin, refuse_type, total
from adalog.datalog.values import EdnMap, EdnSet, Value, sort_key, type_name

_COUNTED = frozenset({"string", "tuple", "list", "map", "set", "bytes"})


def _count(value: Value) -> int:
    if value is None:
        return 0
    if type_name(value) not in _COUNTED:
        refuse_type("count", (value,), value, "a string or a collection; entities are counted in :find, (count ?e)")
    return len(value)


def _is_empty(value: Value) -> bool:
    if value is not None and type_name(value) not in _COUNTED:
        refuse_type("empty?", (value,), value, "a string or a collection")
    return not value


def _untuple(value: Value) -> Value:
    if value is not None and type_name(value) not in ("tuple", "list"):
        refuse_type("untuple", (value,), value, "a tuple, such as [1 2]")
    return None if value is None else tuple(value)


def _truthy(value: Value) -> bool:
    return value is not None and value is not False


def _and(*values: Value) -> Value:
    """The first that is nil or false, else the last."""
    return next((value for value in values if not _truthy(value)), values[-1] if values else True)


def _or(*values: Value) -> Value:
    """The first that is neither nil nor false, else the last."""
    return next((value for value in values if _truthy(value)), values[-1] if values else None)


def _contains(collection: Value, key: Value) -> bool:
    """Of a map or set, the key; of a vector, the index: as in Clojure."""
    kind = type_name(collection)
    if kind == "tuple":
        return type(key) is int and 0 <= key < len(collection)
    if kind not in ("map", "set", "nil"):
        text = "; a part of a text is asked for with includes?" if kind == "string" else ""
        refuse_type("contains?", (collection, key), collection, f"a map, a set or a vector{text}")
    return collection is not None and key in collection


def _get(collection: Value, key: Value, default: Value = None) -> Value:
    """The map's value, the set's member or the vector's item; the default where there is none."""
    match type_name(collection):
        case "map":
            return collection.get(key, default)
        case "set":
            return key if key in collection else default
        case "tuple" | "string":
            return collection[key] if type(key) is int and 0 <= key < len(collection) else default
        case _:
            return default


def _set(value: Value) -> Value:
    if value is None:
        return EdnSet()
    if isinstance(value, EdnMap):
        return EdnSet(value.items())
    if type_name(value) not in ("tuple", "list", "set"):
        refuse_type("set", (value,), value, "a collection")
    return EdnSet(value)


def _get_in(collection: Value, keys: Value, default: Value = None) -> Value:
    """What `get` finds by the first key, in that by the next one, and so on."""
    if type_name(keys) not in ("tuple", "list", "nil"):
        refuse_type("get-in", (collection, keys), keys, "a vector of keys, as in (get-in ?x [:a :b])")
    absent = object()
    for key in keys or ():
        collection = _get(collection, key, absent)
        if collection is absent:
            return default
    return collection


def _map(name: str) -> Builtin:
    def call(*entries: Value) -> Value:
        if len(entries) % 2:
            refuse_type(name, entries, entries[-1], "pairs of a key and a value")
        return EdnMap(zip(entries[::2], entries[1::2], strict=True))

    return Builtin(name, 0, None, call)


COMPOSITES = (
    Builtin("count", 1, 1, _count),
    Builtin("empty?", 1, 1, _is_empty),
    Builtin("not-empty", 1, 1, lambda value: None if _is_empty(value) else value),
    *total(
        Builtin("identity", 1, 1, lambda value: value),
        Builtin("and", 0, None, _and),
        Builtin("or", 0, None, _or),
        Builtin("not", 1, 1, lambda value: not _truthy(value)),
        Builtin("vector", 0, None, lambda *values: values),
    ),
    Builtin("set", 1, 1, _set),
    Builtin("contains?", 2, 2, _contains),
    Builtin("get", 2, 3, _get),
    Builtin("get-in", 2, 3, _get_in),
    Builtin("hash-set", 0, None, lambda *values: EdnSet(values)),
    # Where it is written, as by str or join, it begins with the least.
    Builtin("sorted-set", 0, None, lambda *values: EdnSet(sorted(values, key=sort_key))),
    _map("hash-map"),
    _map("array-map"),
)

TUPLES = (
    *total(
        Builtin("ground", 1, 1, lambda value: value),
        Builtin("tuple", 1, None, lambda *values: values),
    ),
    Builtin("untuple", 1, 1, _untuple),
)
"""Datomic's own."""
