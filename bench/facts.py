"""What the recursion benchmarks derive from: tables of numbers, from fixed seeds, for every contestant alike."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, TypeAlias

import numpy as np

from bench.graphs import Ids
from bench.work import graph, is_graph

# By column.
Table: TypeAlias = Mapping[str, Ids]

_SEED: Final = 7
_KINDS: Final = ("family-", "pointers-", "weighted-")


def is_facts(data: str) -> bool:
    return is_graph(data) or data.startswith(_KINDS)


@cache
def tables(data: str) -> Mapping[str, Table]:
    """The tables that are named: a graph's `edge`, or `family-3000`, `pointers-100000`, `weighted-14`.

    Rows are distinct. All but `weighted` (a, b, w) have the columns a and b.
    """
    if is_graph(data):
        edges = graph(data)
        return {"edge": {"a": edges.source, "b": edges.target}}
    kind, number = data.split("-")
    if kind == "family":
        return {"parent": _family(int(number))}
    if kind == "pointers":
        return _pointers(int(number))
    return {"weighted": _weighted(int(number))}


def _family(people: int) -> Table:
    """Thirteen generations; everybody after the first has two parents in the one before."""
    generation = people // 13
    random = np.random.default_rng(_SEED)
    children = np.repeat(np.arange(generation, 13 * generation), 2)
    before = children // generation - 1
    return _distinct(children, before * generation + random.integers(0, generation, len(children)))


def _pointers(statements: int) -> Mapping[str, Table]:
    """A program's statements: `alloc` v = &o, `assign` v = w, `load` v = *w, `store` *v = w.

    Functions have 40 variables and as many objects each. An assignment in twenty goes from one function to another.
    So many variables to a statement that what each may point to neither stays small nor becomes everything.
    """
    random = np.random.default_rng(_SEED)
    variables = round(statements * 0.6)
    shares = {"alloc": 0.25, "assign": 0.45, "load": 0.15, "store": 0.15}
    found = {}
    for name, share in shares.items():
        count = round(statements * share)
        left = random.integers(0, variables, count)
        near = left // 40 * 40 + random.integers(0, 40, count)
        far = random.random(count) < 0.05
        right = np.where(far, random.integers(0, variables, count), near) if name == "assign" else near
        # Objects are numbered after the variables, forty to a function as well.
        found[name] = _distinct(left, right + variables if name == "alloc" else right)
    return found


def _weighted(scale: int) -> Table:
    """The edges of the R-MAT graph of that scale, each with a length of 1 to 100."""
    edges = graph(f"rmat{scale}")
    return {
        "a": edges.source,
        "b": edges.target,
        "w": np.random.default_rng(_SEED).integers(1, 101, len(edges)),
    }


def _distinct(a: Ids, b: Ids) -> Table:
    pairs = np.unique(np.stack([a, b], axis=1), axis=0)
    return {"a": np.ascontiguousarray(pairs[:, 0]), "b": np.ascontiguousarray(pairs[:, 1])}
