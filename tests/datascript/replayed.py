"""The same transactions on both sides: what each retracted and asserted, and what holds after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from adalog.datalog.edn import read, write
from adalog.datalog.errors import AdalogError
from adalog.store.database import Database
from adalog.store.values.attribute import SCHEMA_BASE
from adalog.store.values.datom import TxReport
from tests.datascript.node import DataScript, as_json
from tests.datascript.transactions import ATTRIBUTES, FIRST, SCHEMA, THEIR_SCHEMA, Transaction

REFS = {a for a, (kind, _) in ATTRIBUTES.items() if kind == "e"}
Fact = tuple[Any, ...]


class Replay:
    """Transactions that adalog has applied, each made from the state before it, and what became of them."""

    def __init__(self, rng: Random, length: int) -> None:
        self.database = Database.open(":memory:")
        self.database.transact(SCHEMA)
        self.texts: list[str] = []
        self.outcomes: list[TxReport | AdalogError] = []
        self.states: list[list[Fact]] = []
        self._apply(FIRST)
        for _ in range(length):
            state = self.states[-1]
            labelled = {v: e for e, a, v in state if a == ":g/label"}
            held = {e: str(v) for e, a, v in state if a == ":g/n"}
            owner = {write(v): e for e, a, v in state if a == ":g/u"}
            self._apply(Transaction(rng, labelled, held, owner).text())

    def _apply(self, text: str) -> None:
        self.texts.append(text)
        try:
            self.outcomes.append(self.database.transact(text))
        except AdalogError as error:
            self.outcomes.append(error)
        self.states.append(facts(self.database.snapshot().datoms("EAVT")))

    def close(self) -> None:
        self.database.close()

    def check(self, datascript: DataScript) -> Counter[str]:
        """The same datoms after each transaction, or both refuse it; how many of either there were."""
        told: Counter[str] = Counter()
        forms = [as_json(read(text)) for text in self.texts]
        answers = datascript.ask({"schema": THEIR_SCHEMA, "transactions": forms})
        ours: list[Fact] = []
        theirs: list[Fact] = []
        for at, (outcome, answer) in enumerate(zip(self.outcomes, answers, strict=True)):
            if "error" in answer or isinstance(outcome, AdalogError):
                says = f"{answer}\nadalog says {outcome}\n{self.story(at)}"
                assert "error" in answer, f"adalog alone refuses: DataScript says {says}"
                assert isinstance(outcome, AdalogError), f"DataScript alone refuses: {says}"
                told["refused"] += 1
                continue
            value = answer["value"]
            after, before, their_before = self.states[at], ours, theirs
            their_after = [tuple(each) for each in value["after"]]
            mine = (
                named(after, after),
                named([*facts(d for d in outcome.datoms if d.added)], [*before, *after]),
                named([*facts(d for d in outcome.datoms if not d.added)], [*before, *after]),
            )
            other = (
                named(their_after, their_after),
                named([tuple(each) for each in value["added"]], [*their_before, *their_after]),
                named([tuple(each) for each in value["retracted"]], [*their_before, *their_after]),
            )
            for what, one, two in zip(("state", "assertions", "retractions"), mine, other, strict=True):
                assert len(one) == len(set(one)), f"{what} repeat themselves: {one}\n{self.story(at)}"
                # DataScript retracts twice what is an entity's own and refers to what goes too.
                assert set(one) == set(two), (
                    f"other {what}: only adalog has {set(one) - set(two)}, only DataScript {set(two) - set(one)}\n"
                    f"{self.story(at)}"
                )
            same = tempids(outcome.tempids, after), tempids(value["tempids"], their_after)
            assert same[0] == same[1], f"other tempids: {same}\n{self.story(at)}"
            ours, theirs = after, their_after
            told["applied"] += 1
        return told

    def story(self, at: int) -> str:
        return "\n".join(self.texts[: at + 1])


def facts(datoms: Iterable[Any]) -> list[Fact]:
    """What the transactions of the test say, as JSON has it; not the schema, nor the transactions' instants."""
    return [(d.e, as_json(d.a), as_json(d.v)) for d in datoms if d.e < SCHEMA_BASE]


def named(these: list[Fact], state: list[Fact]) -> list[Fact]:
    """Facts with labels for entities; an entity without one has the id that the transaction gave it."""
    labels = {e: f"label {v}" for e, a, v in state if a == ":g/label"}
    return [(labels.get(e, e), a, labels.get(v, v) if a in REFS else (type(v).__name__, v)) for e, a, v in these]


def tempids(given: Mapping[str, int], state: list[Fact]) -> dict[str, Any]:
    labels = {e: f"label {v}" for e, a, v in state if a == ":g/label"}
    return {name: labels.get(e, e) for name, e in given.items() if name != ":db/current-tx"}
