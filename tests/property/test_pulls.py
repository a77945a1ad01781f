"""Random pulls over random data against a pull of a few lines that looks at one entity after the other."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog.builtins import BUILTINS
from adalog.datalog.edn import read
from adalog.datalog.parsing.pull_text import read_pull
from adalog.datalog.pull import PullAttribute, PullPattern, Recursion
from adalog.datalog.values import EdnMap, Keyword, identity
from adalog.executor.pool import Pool, PullRequest
from adalog.store.database import Database

SCHEMA = """
[{:db/ident :n :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :s :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
 {:db/ident :one :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
 {:db/ident :many :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :part :db/valueType :db.type/ref :db/cardinality :db.cardinality/many :db/isComponent true}]
"""
MANY, REFS, COMPONENTS = {"s", "many", "part"}, {"one", "many", "part"}, {"part"}
ENTITIES = range(1, 7)
DB_ID = Keyword("db/id")

Facts = dict[tuple[int, str], list[Any]]

facts = st.dictionaries(
    st.tuples(st.sampled_from(ENTITIES), st.sampled_from(("n", "s", "one", "many", "part"))),
    st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True),
    max_size=14,
).map(
    lambda found: {
        (e, a): sorted(f"v{v}" if a == "s" else v for v in values)[: 3 if a in MANY else 1]
        for (e, a), values in found.items()
    }
)

options = st.lists(
    st.sampled_from((":as :x", ":as :n", ":limit 1", ":limit nil", ":default 0", ":xform str")),
    max_size=2,
    unique_by=lambda option: option.split()[0],
).map(" ".join)


def expression(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.tuples(st.sampled_from(names), options).map(
        lambda pair: f"[{pair[0]} {pair[1]}]" if pair[1] else pair[0]
    )


refs = expression((":one", ":many", ":part", ":_one", ":_many", ":_part"))
leaves = st.one_of(
    st.just("*"), expression((":n", ":s", ":gone", ":one", ":many", ":part", ":_one", ":_many", ":_part", ":db/id"))
)
patterns = st.recursive(
    st.lists(leaves, min_size=1, max_size=3).map(lambda specs: f"[{' '.join(specs)}]"),
    lambda inner: st.lists(
        leaves
        | st.tuples(refs, inner | st.sampled_from(("1", "2", "..."))).map(lambda pair: f"{{{pair[0]} {pair[1]}}}"),
        min_size=1,
        max_size=3,
    ).map(lambda specs: f"[{' '.join(specs)}]"),
    max_leaves=6,
)


def pulled(data: Facts, pattern: PullPattern, e: int, path: tuple[Any, ...] = (), used: Any = None) -> Any:
    """What a pattern shows of one entity. `path`: what its recursions have come through; `used`: each how often."""
    used = used or {}
    shown: dict[Any, tuple[Any, Any]] = {}

    def enter(key: Any, value: Any) -> None:
        if value is not None:
            shown[identity(key)] = (key, value)

    specs = list(pattern.attributes)
    whole = pattern.wildcard and not specs
    if pattern.wildcard:
        named = {spec.attribute.name for spec in specs if not spec.reverse}
        specs = [
            attribute(name) for name in ("db/id", "n", "s", "one", "many", "part") if name not in named
        ] + specs
    last = {(spec.key.key, spec.attribute, spec.reverse): number for number, spec in enumerate(specs)}
    specs = [specs[number] for number in sorted(last.values())]
    for number, spec in enumerate(specs):
        name = spec.attribute.name
        if name == "db/id":
            enter(spec.key.value, transformed(spec, e))
            continue
        found = values(data, spec, e)
        single = (name in COMPONENTS) if spec.reverse else (name not in MANY)
        if single:
            found = found[:1]
        elif spec.limit is not None:
            found = found[: spec.limit]
        if name in REFS:
            loop = isinstance(spec.sub, Recursion) or (whole and name in COMPONENTS)
            if loop:
                depth = spec.sub.depth if isinstance(spec.sub, Recursion) else None
                count = used.get(number, 0)
                here = (*path, e)
                found = [
                    EdnMap({DB_ID: v}) if v in here else pulled(data, pattern, v, here, {**used, number: count + 1})
                    for v in found
                    if depth is None or count < depth
                ]
            elif isinstance(spec.sub, PullPattern):
                found = [pulled(data, spec.sub, v) for v in found]
            elif name in COMPONENTS and not spec.reverse:
                whole_of = PullPattern(True, ())
                found = [EdnMap({DB_ID: v}) if v == e else pulled(data, whole_of, v, (e,)) for v in found]
            else:
                found = [EdnMap({DB_ID: v}) for v in found]
            found = [v for v in found if v is not None]
        if found:
            enter(spec.key.value, transformed(spec, found[0] if single else tuple(found)))
        elif spec.default is not None:
            enter(spec.key.value, spec.default.value)
    return EdnMap(shown.values()) if shown else None


def attribute(name: str) -> PullAttribute:
    return read_pull(f"[:{name}]").attributes[0]


def transformed(spec: PullAttribute, value: Any) -> Any:
    return value if spec.xform is None else BUILTINS[spec.xform.name].call(value)


def values(data: Facts, spec: PullAttribute, e: int) -> list[Any]:
    name = spec.attribute.name
    if not spec.reverse:
        return data.get((e, name), [])
    return sorted(subject for (subject, a), found in data.items() if a == name and e in found)


def unordered(value: Any) -> Any:
    """A value by identity; the text that `str` makes of a map has its entries in an order that means nothing."""
    if isinstance(value, EdnMap):
        return frozenset((identity(key), unordered(item)) for key, item in value.items())
    if isinstance(value, str) and "{" in value:
        return unordered(read(value))
    if isinstance(value, tuple):
        return tuple(map(unordered, value))
    return identity(value)


@given(facts, patterns, st.lists(st.sampled_from((*ENTITIES, 9)), max_size=5))
def test_pulls_equal_the_naive_ones(data: Facts, pattern: str, entities: list[int]) -> None:
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        rows = [
            f"[:db/add {e} :{a} {v if a != 's' else chr(34) + v + chr(34)}]"
            for (e, a), vs in data.items()
            for v in vs
        ]
        database.transact(f"[{' '.join(rows)}]")
        pool = Pool(database)
        try:
            maps, _ = pool.pull(PullRequest(pattern, entities))
        finally:
            pool.close()
    parsed = read_pull(pattern)
    assert [unordered(each) for each in maps] == [unordered(pulled(data, parsed, e)) for e in entities]
