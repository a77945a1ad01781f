"""Live answers: what a subscriber has folded is what DataScript answers over the datoms of each moment."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from adalog.datalog.edn import read
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.attribute import TX_BASE
from tests.datascript import queries, rules
from tests.datascript.compared import GIVEN_UP, Both
from tests.datascript.generated import KINDS, LITERALS, MANY, SCHEMA, THEIR_SCHEMA, Asked, transactions
from tests.datascript.node import DataScript, as_json, rows_of
from tests.live.keeping import followed, transaction
from tests.property.model import examples


class Moment(Both):
    """One moment of a database."""

    def __init__(self, datascript: DataScript, snapshot: Snapshot) -> None:
        self.datascript = datascript
        self.their_schema = THEIR_SCHEMA
        self.datoms = [
            [as_json(datom.e), as_json(datom.a), as_json(datom.v), as_json(TX_BASE + datom.t)]
            for datom in snapshot.datoms("EAVT")
        ]


def written(rng: Random) -> list[str]:
    """Transactions. "a" and "b" always name entities, now these and now those."""
    values = {a: LITERALS[kind] for a, kind in KINDS.items() if a != ":g/u"}
    named = {'"a"': "1", '"b"': "2"}
    texts = []
    for _ in range(7):
        others = [e for e in LITERALS["e"] if e not in named.values()]
        if rng.random() < 0.15:
            name, to = rng.choice(list(named)), rng.choice(others)
            texts.append(f"[[:db/retract {named[name]} :g/u {name}] [:db/add {to} :g/u {name}]]")
            named[name] = to
        else:
            texts.append(transaction(rng, values, MANY, others if rng.random() < 0.2 else LITERALS["e"]))
            if "Entity" in texts[-1]:
                texts[-1] = f"[[:db/retractEntity {rng.choice(others)}]]"
    return texts


def agrees(asked: Asked, rows: list[tuple[Any, ...]], theirs: Any) -> bool:
    if asked.theirs.startswith("[:find [") and not asked.one_of:
        theirs = [[each] for each in theirs]
    mine, other = rows_of(as_json(rows)), rows_of(theirs)
    if asked.one_of:
        return len(mine) == 1 and mine[0] in other if other else not mine
    return set(mine) >= set(other) if asked.at_least else set(mine) == set(other)


def test_live_queries(datascript: DataScript) -> None:
    told: Counter[str] = Counter()
    for seed in range(examples(10)):
        rng = Random(seed)
        begun = [SCHEMA, *transactions(rng)]
        asked = [rng.choice((queries.query, queries.query, rules.query))(rng) for _ in range(8)]
        questions = [
            (each.ours, tuple(read(text) for text in (*each.arguments, each.our_rules) if text)) for each in asked
        ]
        with followed(begun, questions, written(rng)[::-1], rng) as (database, keepers):
            held = [{} if keeper is None else dict(keeper.states()) for keeper in keepers]
            for t in range(len(begun), database.snapshot().t + 1):
                moment = Moment(datascript, database.at(t=t))
                for each, states, answer in zip(asked, held, moment.ask(asked, 100), strict=True):
                    rows = states.get(t)
                    if rows is None:
                        continue
                    if "error" in answer:
                        assert answer["error"].startswith(GIVEN_UP), (answer, each)
                        told["refused"] += 1
                        continue
                    theirs = answer["value"]
                    assert agrees(each, rows, theirs), f"{seed}, {t}: {rows}\n{moment.report(each, theirs)}"
                    told["a row or more" if rows else "no row"] += 1
    assert told["a row or more"] > 0.2 * told["no row"]
    assert told["refused"] < 0.2 * told["a row or more"]
