"""Random schemas, data, filters and orders for the typed surface."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from adalog.datalog import edn
from adalog.datalog.values import Keyword
from adalog.schema.typed.model import FieldModel, Model, TypeModel

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
    """Attributes: of each namespace an anchor, some scalars and some refs."""
    found = []
    for name in NAMESPACES:
        found.append({"name": f"{name}/id", "type": "long", "unique": True})
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
            if not each["name"].startswith(f"{namespace}/") or each.get("unique") or draw(st.integers(0, 3)) == 0:
                continue
            if "enum" in each:
                values = [f":state/{draw(st.sampled_from(_MEMBERS))}"]
            elif each["type"] == "ref":
                own = [other for other in entities if other.startswith(each["target"])]
                values = [f'"{other}"' for other in draw(st.lists(st.sampled_from(own), max_size=3, unique=True))]
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
