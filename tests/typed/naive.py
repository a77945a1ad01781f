"""The typed surface over datoms in plain Python: what filters, orders and selections mean, one entity at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key
from typing import Any

from adalog.datalog.values import Keyword, identity, sort_key
from adalog.schema.typed.model import FieldModel, Model, TypeModel
from adalog.schema.typed.selection import Selected
from adalog.store.snapshot.snapshot import Snapshot

IDENT = Keyword("db/ident")


@dataclass
class Walk:
    """All datoms of a snapshot, by entity and attribute, and by value of refs."""

    model: Model
    forward: dict[int, dict[Keyword, list[Any]]] = field(default_factory=dict)
    back: dict[tuple[Keyword, int], list[int]] = field(default_factory=dict)

    @staticmethod
    def of(snapshot: Snapshot, model: Model) -> Walk:
        walk = Walk(model)
        refs = {each.ident for each in snapshot.attributes() if each.is_ref}
        for datom in snapshot.datoms("EAVT"):
            walk.forward.setdefault(datom.e, {}).setdefault(datom.a, []).append(datom.v)
            if datom.a in refs:
                walk.back.setdefault((datom.a, datom.v), []).append(datom.e)
        return walk

    def members(self, kind: TypeModel) -> list[int]:
        return sorted(e for e, own in self.forward.items() if any(anchor in own for anchor in kind.anchors))

    def values(self, entity: int, shown: FieldModel) -> list[Any]:
        if shown.reverse:
            return sorted(self.back.get((shown.attribute, entity), ()))
        return self.forward.get(entity, {}).get(shown.attribute, [])

    def ident(self, entity: int) -> Keyword | None:
        return next(iter(self.forward.get(entity, {}).get(IDENT, ())), None)

    # Filters

    def matches(self, kind: TypeModel, entity: int, where: Mapping[str, Any] | None) -> bool:
        return all(self._holds(kind, entity, name, given) for name, given in (where or {}).items())

    def _holds(self, kind: TypeModel, entity: int, name: str, given: Any) -> bool:
        if name == "and":
            return all(self.matches(kind, entity, each) for each in given)
        if name == "or":
            return any(self.matches(kind, entity, each) for each in given)
        if name == "not":
            return not self.matches(kind, entity, given)
        if name == "id":
            return _satisfied([str(entity)], given)
        shown = kind.fields.get(name)
        if shown is None:
            return (not self.values(entity, kind.fields[name.removesuffix("IsNull")])) == given
        values = self.values(entity, shown)
        if not shown.refers:
            return _satisfied([self._shown(shown, each) for each in values], given)
        target = self.model.types[shown.target or ""]
        if not shown.many:
            return any(self.matches(target, each, given) for each in values)
        fulfilled = {
            "some": lambda inner: any(self.matches(target, each, inner) for each in values),
            "every": lambda inner: all(self.matches(target, each, inner) for each in values),
            "none": lambda inner: not any(self.matches(target, each, inner) for each in values),
            "count": lambda inner: _satisfied([len(values)], inner),
        }
        return all(fulfilled[way](inner) for way, inner in given.items())

    def _shown(self, shown: FieldModel, value: Any) -> Any:
        if shown.enum is None or value is None:
            return value
        ident = self.ident(value)
        members = self.model.enums[shown.enum].members
        return next((name for name, member in members.items() if member == ident), None)

    # Orders

    def ordered(self, kind: TypeModel, entities: Sequence[int], order: Sequence[Mapping[str, Any]]) -> list[int]:
        def compared(one: int, other: int) -> int:
            for each in order:
                way, a, b = *_direction(each), self._key(kind, one, each), self._key(kind, other, each)
                if (a is None) != (b is None):
                    return 1 if a is None else -1
                if a != b:
                    return (1 if a > b else -1) * way
            return one - other

        return sorted(entities, key=cmp_to_key(compared))

    def _key(self, kind: TypeModel, entity: int, order: Mapping[str, Any]) -> Any:
        ((name, inner),) = order.items()
        if name == "id":
            return entity
        values = self.values(entity, kind.fields[name])
        if not values:
            return None
        if isinstance(inner, Mapping):
            return self._key(self.model.types[kind.fields[name].target or ""], values[0], inner)
        return sort_key(values[0])

    # Selections

    def shown(self, kind: TypeModel, entity: int, chosen: Sequence[Selected]) -> dict[str, Any]:
        """The JSON of an entity."""
        return {each.key: self._field(kind, entity, each) for each in chosen}

    def _field(self, kind: TypeModel, entity: int, chosen: Selected) -> Any:
        if chosen.field == "id":
            return str(entity)
        if chosen.field == "__typename":
            return kind.name
        shown = kind.fields.get(chosen.field) or kind.fields[chosen.field.removesuffix("Connection")]
        values = self.values(entity, shown)
        if not shown.refers:
            found = [_json(self._shown(shown, each)) for each in sorted(values, key=sort_key)]
            return found if shown.many else next(iter(found), None)
        target = self.model.types[shown.target or ""]
        if not shown.many:
            return self.shown(target, values[0], chosen.of(target.name)) if values else None
        found = self.listed(target, values, chosen.arguments)
        if shown.name != chosen.field:
            return self.connection(target, found, chosen)
        start, size = chosen.arguments.get("offset", 0), chosen.arguments.get("first", 100)
        return [self.shown(target, each, chosen.of(target.name)) for each in found[start : start + size]]

    def listed(self, kind: TypeModel, entities: Sequence[int], given: Mapping[str, Any]) -> list[int]:
        """The entities that a filter selects, in order."""
        kept = [each for each in entities if self.matches(kind, each, given.get("where"))]
        return self.ordered(kind, kept, given.get("orderBy") or ())

    def connection(self, kind: TypeModel, entities: Sequence[int], chosen: Selected) -> dict[str, Any]:
        first, last = chosen.arguments.get("first"), chosen.arguments.get("last")
        count = len(entities)
        page = entities[max(0, count - last) :] if last is not None else entities[: 100 if first is None else first]
        made: dict[str, Any] = {}
        for each in chosen.of(chosen.type_name):
            match each.field:
                case "totalCount":
                    made[each.key] = count
                case "nodes":
                    made[each.key] = [self.shown(kind, entity, each.of(kind.name)) for entity in page]
                case "pageInfo":
                    more = len(page) < count
                    shown = {"hasNextPage": more and last is None, "hasPreviousPage": more and last is not None}
                    made[each.key] = {one.key: shown[one.field] for one in each.of("PageInfo")}
                case "aggregate":
                    made[each.key] = self._aggregate(kind, entities, each)
                case "groupBy":
                    made[each.key] = self._groups(kind, entities, each)
        return made

    def _aggregate(self, kind: TypeModel, entities: Sequence[int], chosen: Selected) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for each in chosen.of(chosen.type_name):
            if each.field == "count":
                made[each.key] = len(entities)
                continue
            values = [value for entity in entities for value in self.values(entity, kind.fields[each.field])]
            values.sort(key=sort_key)
            every = {"count": len(values), "min": None, "max": None, "sum": None}
            if values:
                every |= {"min": _json(values[0]), "max": _json(values[-1])}
                if type(values[0]) is int:
                    every["sum"] = _json(sum(values))
            made[each.key] = {one.key: every[one.field] for one in each.of(each.type_name)}
        return made

    def _groups(self, kind: TypeModel, entities: Sequence[int], chosen: Selected) -> list[dict[str, Any]]:
        """With keys of one field."""
        (name,) = chosen.arguments["by"]
        shown = kind.fields[name]
        groups: dict[Any, tuple[Any, list[int]]] = {}
        for entity in entities:
            for value in self.values(entity, shown) or [None]:
                groups.setdefault(identity(value), (value, []))[1].append(entity)
        made = []
        for value, members in groups.values():
            key = str(value) if shown.refers and value is not None else _json(self._shown(shown, value))
            shapes = {"key": {name: key}}
            for each in chosen.of(chosen.type_name):
                if each.field == "aggregate":
                    shapes["aggregate"] = self._aggregate(kind, members, each)
            made.append({each.key: shapes[each.field] for each in chosen.of(chosen.type_name)})
        return made


def _json(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if type(value) is int:
        return value if abs(value) < 2**53 else str(value)
    return f":{value.name}" if isinstance(value, Keyword) else value


def _direction(order: Mapping[str, Any]) -> tuple[int]:
    inner = order
    while isinstance(inner, Mapping):
        ((_, inner),) = inner.items()
    return (-1 if inner == "DESC" else 1,)


def _satisfied(values: Sequence[Any], given: Mapping[str, Any]) -> bool:
    """Whether one value satisfies all that affirms, and none what is denied."""
    folds = bool(given.get("ignoreCase"))
    denied = {"ne": lambda value, other: _same(value, other, folds), "notIn": lambda v, o: _among(v, o, folds)}
    for name, other in given.items():
        if name in denied and any(denied[name](value, other) for value in values):
            return False
        if name == "isNull" and (not values) != other:
            return False
    affirmed = {name: other for name, other in given.items() if name not in ("ne", "notIn", "isNull", "ignoreCase")}
    return not affirmed or any(all(_OPERATORS[n](v, o, folds) for n, o in affirmed.items()) for v in values)


def _fold(value: Any, folds: bool) -> Any:
    return value.lower() if folds and isinstance(value, str) else value


def _same(value: Any, other: Any, folds: bool) -> bool:
    return identity(_fold(value, folds)) == identity(_fold(other, folds))


def _among(value: Any, others: Sequence[Any], folds: bool) -> bool:
    return any(_same(value, each, folds) for each in others)


def _before(value: Any, other: Any, folds: bool) -> bool:
    value, other = _fold(value, folds), _fold(other, folds)
    if isinstance(value, float) and (math.isnan(value) or math.isnan(other)):
        return False
    return bool(value < other)


_OPERATORS = {
    "eq": _same,
    "in": _among,
    "lt": _before,
    "lte": lambda v, o, folds: _before(v, o, folds) or _same(v, o, folds),
    "gt": lambda v, o, folds: _before(o, v, folds),
    "gte": lambda v, o, folds: _before(o, v, folds) or _same(v, o, folds),
    "contains": lambda v, o, folds: _fold(o, folds) in _fold(v, folds),
    "startsWith": lambda v, o, folds: _fold(v, folds).startswith(_fold(o, folds)),
    "endsWith": lambda v, o, folds: _fold(v, folds).endswith(_fold(o, folds)),
    "matches": lambda v, o, folds: re.fullmatch(o, v, re.IGNORECASE if folds else 0) is not None,
}
