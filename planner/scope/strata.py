"""Strata: the strongly connected components of what depends on what, in the order in which they can be evaluated.

A dependency through `not`, or through an aggregate that must see everything, may not lie on a cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RuleDependency:
    """One relation reads another. `barrier`: why it must see all of it (`not`, `(count …)`), or empty."""

    reader: str
    read: str
    barrier: str = ""


def components(names: Iterable[str], dependencies: Iterable[RuleDependency]) -> list[tuple[str, ...]]:
    """The strongly connected components, each after those it reads (Tarjan's algorithm, without recursion)."""
    reads: dict[str, list[str]] = {name: [] for name in names}
    for each in dependencies:
        if each.reader in reads and each.read in reads:
            reads[each.reader].append(each.read)
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[tuple[str, ...]] = []
    for root in reads:
        if root in number:
            continue
        path = [(root, iter(reads[root]))]
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while path:
            name, rest = path[-1]
            following = next(rest, None)
            if following is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[name])
                if low[name] == number[name]:
                    at = len(stack) - 1
                    while stack[at] != name:
                        at -= 1
                    found.append(tuple(stack[at:]))
                    on_stack.difference_update(stack[at:])
                    del stack[at:]
            elif following not in number:
                number[following] = low[following] = len(number)
                stack.append(following)
                on_stack.add(following)
                path.append((following, iter(reads[following])))
            elif following in on_stack:
                low[name] = min(low[name], number[following])
    return found


def forbidden_cycle(
    found: Iterable[tuple[str, ...]], dependencies: Iterable[RuleDependency]
) -> tuple[RuleDependency, ...] | None:
    """A cycle through a barrier, beginning with the barrier; None where the program is stratified."""
    home = {name: i for i, each in enumerate(found) for name in each}
    inside = [each for each in dependencies if home.get(each.reader, -1) == home.get(each.read, -2)]
    following: dict[str, list[RuleDependency]] = {}
    for each in inside:
        following.setdefault(each.reader, []).append(each)
    barrier = next((each for each in inside if each.barrier), None)
    if barrier is None:
        return None
    return (barrier, *_path(barrier.read, barrier.reader, following))


def _path(start: str, end: str, following: Mapping[str, list[RuleDependency]]) -> tuple[RuleDependency, ...]:
    """A shortest path within a component."""
    came: dict[str, RuleDependency | None] = {start: None}
    waiting = [start]
    while end not in came:
        name = waiting.pop(0)
        for each in following.get(name, ()):
            if each.read not in came:
                came[each.read] = each
                waiting.append(each.read)
    path: list[RuleDependency] = []
    at = came[end]
    while at is not None:
        path.append(at)
        at = came[at.reader]
    return tuple(reversed(path))
