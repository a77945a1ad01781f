"""Strata: components against reachability on random graphs, and the cycle that a refusal shows."""

from __future__ import annotations

import itertools
import random

import pytest

from adalog.planner.scope.strata import RuleDependency, components, forbidden_cycle


def _reaches(names: list[str], dependencies: list[RuleDependency]) -> dict[str, set[str]]:
    """What each name reads, directly or not, itself included."""
    found = {name: {name} for name in names}
    for _ in names:
        for each in dependencies:
            found[each.reader] |= found[each.read]
    return found


@pytest.mark.parametrize("seed", range(40))
def test_components_of_random_graphs(seed: int) -> None:
    rng = random.Random(seed)
    names = [f"r{i}" for i in range(rng.randint(1, 9))]
    edges = [(rng.choice(names), rng.choice(names)) for _ in range(rng.randint(0, 14))]
    dependencies = [RuleDependency(a, b, rng.choice(("", "", "", "not"))) for a, b in edges]
    found = components(names, dependencies)
    reaches = _reaches(names, dependencies)
    assert sorted(name for each in found for name in each) == sorted(names)
    place = {name: i for i, each in enumerate(found) for name in each}
    for a in names:
        for b in names:
            together = b in reaches[a] and a in reaches[b]
            assert (place[a] == place[b]) == together
            if b in reaches[a] and not together:
                assert place[b] < place[a], "what is read comes first"
    cycle = forbidden_cycle(found, dependencies)
    assert (cycle is not None) == any(each.barrier and each.reader in reaches[each.read] for each in dependencies)
    if cycle is not None:
        assert cycle[0].barrier
        assert set(cycle) <= set(dependencies)
        assert all(a.read == b.reader for a, b in zip(cycle, (*cycle[1:], cycle[0]), strict=True))


def test_the_cycle_shown_is_a_shortest_one() -> None:
    dependencies = [RuleDependency(*each) for each in (
        ("a", "b", "not"), ("b", "c"), ("c", "d"), ("d", "a"), ("b", "d"), ("a", "a"),
    )]  # fmt: skip
    cycle = forbidden_cycle(components("abcd", dependencies), dependencies)
    assert cycle is not None
    assert [each.read for each in cycle] == ["b", "d", "a"]


def test_names_that_nobody_asked_for_are_left_out() -> None:
    assert components(["a"], [RuleDependency("a", "x"), RuleDependency("x", "a")]) == [("a",)]


def test_a_long_chain_needs_no_stack() -> None:
    names = [str(i) for i in range(20_000)]
    dependencies = [RuleDependency(a, b) for a, b in itertools.pairwise(names)]
    assert components(names, dependencies)[0] == (names[-1],)
    assert len(components(names, [*dependencies, RuleDependency(names[-1], names[0])])) == 1
