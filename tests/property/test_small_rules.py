"""Random rules that one call of a kernel evaluates, against the oracle: each question is asked until it is."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from adalog.executor.evaluation import small_rules
from adalog.executor.evaluation.small_rules import SmallRules
from adalog.executor.join.batch import Batch
from adalog.executor.join.small import running
from adalog.executor.kernels import small_join
from adalog.executor.kernels.loading import SMALL_JOIN
from adalog.executor.pool import Pool, PoolSettings
from adalog.planner.model.plan import Options
from adalog.store.database import Database
from tests.property.generated import Asked, transactions
from tests.property.model import asked_of, check, examples, filled
from tests.property.rule_programs import graph

SEEDS = st.integers(0, 2**48)
VARIABLES = ("?a", "?b", "?c")
# The first time a question is planned, the second time it is bound; then it may run in one call.
AGAIN = (Options(),) * 3
SWITCHES = (*AGAIN, *(Options(semi_naive=False),) * 3)


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each time that rules were handed to the kernel, whether it evaluated them."""
    SMALL_JOIN.load()
    calls: list[bool] = []
    derived = SmallRules.derived

    def noted(self: SmallRules, batch: Batch) -> Batch | None:
        rows = derived(self, batch)
        calls.append(rows is not None)
        return rows

    monkeypatch.setattr(SmallRules, "derived", noted)
    return calls


@pytest.fixture
def narrow(derived: list[bool], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Room for so few rows that some rules do not fit."""
    monkeypatch.setattr(running, "_MOST_PREFIXES", 4)
    wide = small_rules.BUFFERS.frames
    small_rules.BUFFERS.frames = np.empty((2, small_join.SLOTS, 4), np.int64)
    yield derived
    small_rules.BUFFERS.frames = wide


class Rules:
    """Writes rules that call each other, without functions, whose clauses follow each other from what is bound:
    most of them are known to the kernel."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.names = {f"r{number}": rng.choice((1, 2, 2, 2, 3)) for number in range(rng.randint(1, 3))}

    def rule(self, name: str, *, calls: int) -> tuple[str, ...]:
        rng = self.rng
        head = list(VARIABLES[: self.names[name]])
        known, free = head[:1], [*head[1:], "?d"]
        body = []
        for step in rng.sample(("edge", "edge", *("call",) * calls), 2 + calls) if calls else ("edge",):
            terms = [rng.choice(known)]
            arity = 2
            if step == "call":
                called = rng.choice(list(self.names))
                arity = self.names[called]
            for _ in range(arity - 1):
                term = free.pop(0) if free and rng.random() < 0.8 else rng.choice(known)
                # A term twice is a relation that the kernel does not know.
                terms.append(term if term not in terms or rng.random() < 0.1 else "_")
            if step == "call":
                body.append(f"({called} {' '.join(terms)})")
            else:
                body.append(f"[{terms[0]} {rng.choice((':to', ':to', ':r'))} {terms[1]}]")
            known += [term for term in terms if term not in (*known, "_")]
        body += [f"[{known[0]} :to {each}]" for each in head if each not in known]
        if rng.random() < 0.3:
            first, second = rng.choice(known), rng.choice(known)
            body.append(
                rng.choice(
                    (
                        f"(not [{first} :r {second}])",
                        f"(not [{first} :to ?o] [?o :r {second}])",
                        f"[{first} :ns {rng.choice('123')}]",
                        f"[(= {first} {second})]",
                    )
                )
            )
        rng.shuffle(body)
        return (f"({name} {' '.join(head)})", *body)

    def asked(self) -> Asked:
        rng = self.rng
        rules = [self.rule(name, calls=calls) for name in self.names for calls in (0, rng.choice((1, 1, 1, 2)))]
        if rng.random() < 0.3:
            rules.append(self.rule(rng.choice(list(self.names)), calls=1))
        name = rng.choice(list(self.names))
        # Mostly bound in front: then no rule begins with all keys of an attribute.
        terms = ["?x", *(rng.choice(("?x", "?y", "?z")) for _ in range(self.names[name] - 1))]
        if rng.random() < 0.3:
            rng.shuffle(terms)
        clauses, shown = ["[?x :ns ?n]", f"({name} {' '.join(terms)})"], sorted({*terms})
        if rng.random() < 0.15:
            clauses = ["[?x :ns ?n]", "[?x :to ?y]", f"(not ({name} {' '.join('?x' for _ in terms)}))"]
            shown = ["?x", "?y"]
        elif rng.random() < 0.2:
            return Asked(f"[:find {' '.join(shown)} :in $", tuple(clauses[1:]), "", (), False, tuple(rules))
        head = f"[:find {' '.join(shown)} :in $ ?n"
        return Asked(head, tuple(clauses), "", (rng.choice("123"),), False, tuple(rules))


def random_rules(rng: Random) -> Asked:
    return Rules(rng).asked()


def checked(seed: int, calls: list[bool], switches: tuple[Options, ...]) -> None:
    rng = Random(seed)
    calls.clear()
    with Database.open(":memory:") as database:
        log = filled(database, [*transactions(rng), graph(rng)])
        pool = Pool(database, PoolSettings(threads=1))
        for _ in range(2):
            asked = asked_of(log.facts(), rng, random_rules)
            check(pool, database.snapshot(), log.facts(), asked, switches)
            # What was bound reads the next moment.
            log.datoms.extend(database.transact(graph(rng)).datoms)
            check(pool, database.snapshot(), log.facts(), asked, AGAIN[:1])
        pool.close()
    event(f"in one call: {sum(calls) * 4 // max(len(calls), 1)} of 4 quarters")


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SEEDS)
def test_in_one_call(derived: list[bool], seed: int) -> None:
    checked(seed, derived, SWITCHES)


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SEEDS)
def test_in_little_room(narrow: list[bool], seed: int) -> None:
    checked(seed, narrow, AGAIN)
