"""Random schemas, data, filters and orders for the typed surface."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from adalog.datalog import edn
from adalog.datalog.values import Keyword
from adalog.schema.typed.model import FieldModel, Model, TypeModel
from adalog.schema.typed.selection import Selected

NAMESPACES = ("alpha", "beta")
_TEXTS = st.sampled_from(["", "a", "A", "ab", "Ba", "é", "x y"])
_SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": _TEXTS,
    "long": st.sampled_from([-1, 0, 1, 2, 2**60]),
    "double": st.sampled_from([float("nan"), -1.5, 0.0, 2.0, float("inf")]),
    "boolean": st.booleans(),
    "keyword": st.sampled_from([Keyword("a"), Keyword("b/c")]),
}
_MEMBERS = ("on", "off")


@st.composite
def schemas(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Attributes: of each namespace one that is unique, mostly, some scalars and some refs. Without one that is
    unique, any of them makes an entity of the type."""
    found = []
    for name in NAMESPACES:
        found.append({"name": f"{name}/id", "type": "long", "unique": draw(st.integers(0, 3)) > 0})
        for number in range(draw(st.integers(1, 3))):
            kind = draw(st.sampled_from(list(_SCALARS)))
            found.append({"name": f"{name}/s{number}", "type": kind, "many": draw(st.booleans())})
        for number in range(draw(st.integers(1, 2))):
            target = draw(st.sampled_from(NAMESPACES))
            found.append(
                {"name": f"{name}/r{number}", "type": "ref", "target": target, "many": draw(st.booleans())}
            )
        if draw(st.booleans()):
            found.append({"name": f"{name}/state", "type": "ref", "enum": "state", "many": False})
    return found


def declared(schema: list[dict[str, Any]]) -> str:
    parts = [f"{{:db/ident :state/{each}}}" for each in _MEMBERS]
    for each in schema:
        many = "many" if each.get("many") else "one"
        text = f":db/ident :{each['name']} :db/valueType :db.type/{each['type']}"
        text += f" :db/cardinality :db.cardinality/{many}"
        text += " :db/unique :db.unique/identity" if each.get("unique") else ""
        text += f" :graphql/type :{each['target']}" if "target" in each else ""
        text += f" :graphql/enum :{each['enum']}" if "enum" in each else ""
        parts.append(f"{{{text}}}")
    return f"[{' '.join(parts)}]"


@st.composite
def data(draw: st.DrawFn, schema: list[dict[str, Any]]) -> str:
    """Some entities of each namespace, with gaps."""
    entities = [f"{name}{number}" for name in NAMESPACES for number in range(draw(st.integers(1, 4)))]
    parts = []
    for number, entity in enumerate(entities):
        namespace = entity.rstrip("0123456789")
        text = f':db/id "{entity}" :{namespace}/id {number}'
        for each in schema:
            if (
                not each["name"].startswith(f"{namespace}/")
                or each["name"].endswith("/id")
                or draw(st.integers(0, 3)) == 0
            ):
                continue
            if "enum" in each:
                values = [f":state/{draw(st.sampled_from(_MEMBERS))}"]
            elif each["type"] == "ref":
                others = [other for other in entities if other.startswith(each["target"])]
                values = [
                    f'"{other}"' for other in draw(st.lists(st.sampled_from(others), max_size=3, unique=True))
                ]
            else:
                values = [edn.write(v) for v in draw(st.lists(_SCALARS[each["type"]], max_size=3))]
            if each.get("many"):
                text += f" :{each['name']} [{' '.join(values)}]" if values else ""
            elif values:
                text += f" :{each['name']} {values[0]}"
        parts.append(f"{{{text}}}")
    return f"[{' '.join(parts)}]"


def filters(model: Model, kind: TypeModel, depth: int = 2) -> st.SearchStrategy[dict[str, Any]]:
    """Filters of a type, nested at most `depth` levels."""
    options: dict[str, st.SearchStrategy[Any]] = {}
    for name, shown in kind.fields.items():
        if not shown.refers:
            options[name] = _conditions(model, shown)
        elif depth:
            inner = st.deferred(lambda target=shown.target: filters(model, model.types[target or ""], depth - 1))
            if shown.many:
                ways = dict.fromkeys(("some", "every", "none"), inner)
                options[name] = st.fixed_dictionaries({}, optional=ways | {"count": _counts()})
            else:
                options[name] = inner
                options[f"{name}IsNull"] = st.booleans()
    if depth:
        own = st.deferred(lambda: filters(model, kind, depth - 1))
        options |= {"and": st.lists(own, max_size=2), "or": st.lists(own, max_size=2), "not": own}
    names = st.lists(st.sampled_from(sorted(options)), max_size=2, unique=True)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: options[name] for name in chosen}))


def _counts() -> st.SearchStrategy[dict[str, Any]]:
    number = st.integers(0, 2)
    names = st.sampled_from(["eq", "ne", "lt", "gte"])
    return st.dictionaries(names, number, max_size=2)


def _conditions(model: Model, shown: FieldModel) -> st.SearchStrategy[dict[str, Any]]:
    if shown.enum is not None:
        values: st.SearchStrategy[Any] = st.sampled_from(sorted(model.enums[shown.enum].members))
    else:
        values = _SCALARS[str(shown.kind.value_type)]
    options = {
        "eq": values,
        "ne": values,
        "in": st.lists(values, max_size=2),
        "notIn": st.lists(values, max_size=2),
    }
    options["isNull"] = st.booleans()
    if shown.scalar in ("String", "Long", "Float"):
        options |= dict.fromkeys(("lt", "lte", "gt", "gte"), values)
    if shown.scalar == "String":
        options |= dict.fromkeys(("contains", "startsWith", "endsWith"), values)
        options |= {"matches": st.sampled_from([".*a.*", "[aA]?", ""]), "ignoreCase": st.booleans()}
    names = st.lists(st.sampled_from(sorted(options)), max_size=2, unique=True)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: options[name] for name in chosen}))


def orders(model: Model, kind: TypeModel, depth: int = 1) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(_order(model, kind, depth), max_size=2)


def _order(model: Model, kind: TypeModel, depth: int) -> st.SearchStrategy[dict[str, Any]]:
    ways: st.SearchStrategy[Any] = st.sampled_from(["ASC", "DESC"])
    options = []
    for name, shown in kind.fields.items():
        if not shown.many and not shown.refers:
            options.append(st.fixed_dictionaries({name: ways}))
        elif not shown.many and depth:
            inner = st.deferred(lambda target=shown.target: _order(model, model.types[target or ""], depth - 1))
            options.append(st.fixed_dictionaries({name: inner}))
    return st.one_of(options)


_NUMBERED = st.sampled_from([0, 1, 2, 100])


@st.composite
def selections(draw: st.DrawFn, model: Model, kind: TypeModel, depth: int = 2) -> tuple[Selected, ...]:
    """What is selected of entities of a type: `id`, and some fields under their names or aliases."""
    chosen = [Selected("id", "id")]
    options = [each for each in kind.fields.values() if depth or not each.refers]
    for number, shown in enumerate(draw(st.lists(st.sampled_from(options), max_size=3)) if options else ()):
        key = draw(st.sampled_from([f"k{number}", f"{shown.name}_{number}"]))
        if not shown.refers:
            chosen.append(Selected(key, shown.name))
            continue
        target = model.types[shown.target or ""]
        given: dict[str, Any] = {}
        if shown.many:
            if draw(st.booleans()):
                given["where"] = draw(filters(model, target, 1))
            if draw(st.booleans()):
                given["orderBy"] = draw(orders(model, target))
            if draw(st.booleans()):
                chosen.append(draw(connections(model, target, key, f"{shown.name}Connection", given, depth - 1)))
                continue
            given["first"] = draw(_NUMBERED)
            if draw(st.booleans()):
                given["offset"] = draw(st.integers(0, 2))
        inner = draw(selections(model, target, depth - 1))
        chosen.append(Selected(key, shown.name, given, target.name, {target.name: inner}))
    return tuple(chosen)


@st.composite
def connections(
    draw: st.DrawFn, model: Model, kind: TypeModel, key: str, name: str, given: dict[str, Any], depth: int
) -> Selected:
    """A connection with some of its fields."""
    way = draw(st.sampled_from(["first", "last", ""]))
    if way:
        given[way] = draw(_NUMBERED)
    inner = draw(selections(model, kind, depth))
    infos = tuple(Selected(each, each) for each in ("hasNextPage", "hasPreviousPage"))
    options = [
        Selected("totalCount", "totalCount"),
        Selected("nodes", "nodes", {}, kind.name, {kind.name: inner}),
        Selected("pageInfo", "pageInfo", {}, "PageInfo", {"PageInfo": infos}),
        draw(_aggregates(kind, "all")),
    ]
    valued = [each.name for each in kind.fields.values() if not each.reverse]
    grouped = (Selected("key", "key"), draw(_aggregates(kind, "a")))
    group = f"{kind.name}Group"
    options.append(Selected("g", "groupBy", {"by": [draw(st.sampled_from(valued))]}, group, {group: grouped}))
    fields = draw(st.lists(st.sampled_from(options), min_size=1, unique_by=lambda each: each.key))
    return Selected(key, name, given, f"{kind.name}Connection", {f"{kind.name}Connection": tuple(fields)})


@st.composite
def _aggregates(draw: st.DrawFn, kind: TypeModel, key: str) -> Selected:
    options = [each for each in kind.fields.values() if each.scalar is not None]
    fields = [Selected("count", "count")]
    for shown in draw(st.lists(st.sampled_from(options), max_size=2, unique_by=lambda each: each.name)):
        of = f"{shown.scalar}Aggregate"
        names = ["count", *(["min", "max"] if shown.scalar != "Boolean" else [])]
        fields.append(Selected(shown.name, shown.name, {}, of, {of: tuple(Selected(n, n) for n in names)}))
    name = f"{kind.name}Aggregate"
    return Selected(key, "aggregate", {}, name, {name: tuple(fields)})
