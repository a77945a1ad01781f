"""Random queries in pull patterns against one query for each entity, asked by itself."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.edn import read, write
from adalog.datalog.values import EdnMap, EdnSet, identity
from adalog.executor.cache.settings import CacheSettings
from adalog.executor.pool import Pool, PullRequest
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from tests.property.model import examples
from tests.property.test_pulls import ENTITIES, SCHEMA

ARGUMENTS = (":in $ ?least [?any ...]", (2, (1, 3, 5)))
BODIES = (
    "[?x :one ?e]",
    "[?e :many ?x]",
    "[?x :many ?e] [(not= ?x ?e)]",
    "[?e :one ?y] [?x :one ?y]",
    "(or [?e :many ?x] [?x :one ?e])",
    "[?x :part ?e] (not [?x :one ?e])",
    "[?x :n ?n] [?e :n ?n]",
    "(near ?e ?x)",
)
NUMBERS = ("[?x :n ?y]", "(optional [?x :n ?y])", "[?x :s ?y]", "[?x :many ?y]", "[(identity ?x) ?y]")
RULES = "[(near ?a ?b) [?a :one ?b]] [(near ?a ?b) [?a :one ?c] (near ?c ?b)]"


@dataclass(frozen=True)
class Asked:
    """A query in a pattern. pulled: of each element of :find what is pulled of it. takes: variables besides ?e."""

    shape: str
    elements: tuple[str, ...]
    pulled: tuple[Pattern | None, ...]
    takes: str
    rest: str
    is_ordered: bool

    def text(self, *, pulls: bool) -> str:
        shown = " ".join(
            f"(pull {name} {sub.text})" if sub is not None and pulls else name
            for name, sub in zip(self.elements, self.pulled, strict=True)
        )
        find = {"relation": shown, "collection": f"[{shown} ...]", "tuple": f"[{shown}]", "scalar": f"{shown} ."}
        rules = f" :rules [{RULES}]" if "near" in self.rest else ""
        return f"[:find {find[self.shape]} :in $ ?e {self.takes} {self.rest}{rules}]"


@dataclass(frozen=True)
class Pattern:
    """attributes: as they are written. maps: of refs. queries: by their keys."""

    attributes: tuple[str, ...]
    maps: tuple[tuple[str, Pattern], ...]
    queries: tuple[tuple[str, Asked], ...]

    @property
    def text(self) -> str:
        maps = (f"{{{name} {sub.text}}}" for name, sub in self.maps)
        queries = (f'(q "{key}" {asked.text(pulls=True)})' for key, asked in self.queries)
        return f"[{' '.join((':db/id', *self.attributes, *maps, *queries))}]"


def pattern(rng: Random, depth: int, takes: tuple[str, ...]) -> Pattern:
    refs = rng.sample((":one", ":many", ":_one", ":_many"), rng.randint(0, 2) if depth else 0)
    return Pattern(
        tuple(rng.sample((":n", ":s", ":part"), rng.randint(0, 2))),
        tuple((name, pattern(rng, depth - 1, takes)) for name in refs),
        tuple((key, asked(rng, depth, takes)) for key in ("a", "b")[: rng.randint(0, 2) if depth else 0]),
    )


def asked(rng: Random, depth: int, takes: tuple[str, ...]) -> Asked:
    takes = tuple(each for each in takes if rng.random() < 0.6)
    clauses = [rng.choice(BODIES), rng.choice(NUMBERS)]
    if "?least" in takes and rng.random() < 0.7:
        clauses.append("[?x :n ?m] [(<= ?least ?m)]")
    if "[?any ...]" in takes:
        clauses.append(rng.choice(("[?x :many ?any]", "[(not= ?any ?x)]")))
    shape = rng.choice(("relation", "collection", "tuple", "scalar"))
    rest = f":where {' '.join(clauses)}"
    if rng.random() < 0.25:
        elements: tuple[str, ...] = ("(count ?y)",)
        if shape in ("relation", "tuple"):
            elements = ("?x", "(max ?y)") if rng.random() < 0.5 else ("(count ?x)", "(min ?y)")
    else:
        elements = ("?x", "?y") if shape in ("relation", "tuple") else ("?x",)
    pulls = [depth > 0 and name == "?x" and rng.random() < 0.5 for name in elements]
    pulled = tuple(pattern(rng, depth - 1, takes) if each else None for each in pulls)
    is_ordered = rng.random() < 0.6
    if is_ordered:
        keys = [f"[{each} {rng.choice((':asc', ':desc'))}]" for each in elements]
        outside = ["[?y :desc]"] if elements == ("?x",) and rng.random() < 0.5 else []
        rest += f" :order-by [{' '.join((*outside, *keys))}]"
    if shape in ("relation", "collection") and rng.random() < 0.5:
        rest += f" :limit {rng.randint(0, 3)} :offset {rng.randint(0, 1)}"
    return Asked(shape, elements, pulled, " ".join(takes), rest, is_ordered)


def taken(asked: Asked) -> list[Any]:
    names = asked.takes.replace("[?any ...]", "?any").split()
    return [dict(zip(("?least", "?any"), ARGUMENTS[1], strict=True))[name] for name in names]


def naive(pool: Pool, shown: Pattern, entity: int) -> EdnMap:
    """What a pattern shows of an entity, by a request for each of its parts."""
    (found,), _ = pool.pull(PullRequest(f"[:db/id {' '.join(shown.attributes)}]", [entity]))
    assert found is not None
    made = dict(found.items())
    for name, sub in shown.maps:
        (refs,), _ = pool.pull(PullRequest(f"[{{{name} [:db/id]}}]", [entity]))
        for key, value in () if refs is None else refs.items():
            ids = [each[read(":db/id")] for each in (value if isinstance(value, tuple) else (value,))]
            maps = tuple(naive(pool, sub, each) for each in ids)
            made[key] = maps if isinstance(value, tuple) else maps[0]
    for key, asked in shown.queries:
        value = answered(pool, asked, entity)
        if value is not None:
            made[key] = value
    return EdnMap(made.items())


def answered(pool: Pool, asked: Asked, entity: int) -> Any:
    request = QueryRequest(asked.text(pulls=False), [entity, *taken(asked)], ordered=True)
    rows = [
        tuple(
            value if sub is None or value is None else naive(pool, sub, value)
            for value, sub in zip(row, asked.pulled, strict=True)
        )
        for row in pool.run(request).rows()
    ]
    match asked.shape:
        case "scalar":
            return rows[0][0] if rows else None
        case "tuple":
            return rows[0] if rows else None
        case "collection":
            return tuple(row[0] for row in rows)
    return tuple(rows) if asked.is_ordered else EdnSet(rows)


def data(rng: Random) -> str:
    forms: dict[str, str] = {}
    for _ in range(rng.randint(4, 24)):
        e, a = rng.choice(ENTITIES), rng.choice(("n", "s", "one", "many", "many", "part"))
        v = f'"v{rng.randint(1, 4)}"' if a == "s" else str(rng.randint(1, 6))
        forms[f"{e} {a} {v if a in ('s', 'many', 'part') else ''}"] = f"[:db/add {e} :{a} {v}]"
    return f"[{' '.join(forms.values())}]"


@settings(max_examples=examples(12))
@given(st.integers(0, 2**32))
def test_a_query_for_each_entity(seed: int) -> None:
    rng = Random(seed)
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        pool, cached = Pool(database), Pool(database, cache=CacheSettings())
        shown = [pattern(rng, 2, ("?least", "[?any ...]")) for _ in range(2)]
        for _ in range(2):
            database.transact(data(rng))
            for each in shown:
                query = f"[:find [(pull ?e {each.text}) ...] {ARGUMENTS[0]} :where [?e _ _] [(< ?e 7)]]"
                request = QueryRequest(query, list(ARGUMENTS[1]), ordered=True)
                found = pool.run(request).column(0)
                there = [i for i in ENTITIES if pool.run(QueryRequest(f"[:find ?a . :where [{i} ?a _]]")).rows()]
                expected = [naive(pool, each, entity) for entity in there]
                assert list(map(identity, found)) == list(map(identity, expected)), write(tuple(found))
                again = cached.run(request).column(0)
                assert list(map(identity, again)) == list(map(identity, expected)), query
        pool.close()
        cached.close()
