"""Live answers: what a subscriber has folded is what clingo answers over the datoms of each moment."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from adalog.datalog.edn import read, write
from adalog.datalog.parsing.parser import parse_query
from adalog.datalog.values import identity
from adalog.store.snapshot.snapshot import Snapshot
from tests.asp.compared import shown
from tests.asp.nests import ENTITIES, SCHEMA, VALUES, Asked, datoms, query
from tests.asp.translated import Untranslatable, solved
from tests.live.keeping import followed, transaction
from tests.property.model import examples


def theirs_of(asked: Asked, snapshot: Snapshot) -> tuple[list[Any], int] | None:
    """Clingo's rows, and how many of them the query shows; None where it cannot be asked."""
    facts = [(d.e, d.a, d.v) for d in snapshot.datoms("EAVT") if write(d.a) in VALUES]
    parsed = parse_query(asked.text, asked.rules)
    try:
        rows = shown(parsed, solved(parsed, facts, [read(arg) for arg in asked.args]))
    except Untranslatable:
        return None
    if rows is None:
        return None
    most = len(rows) if parsed.limit is None else parsed.limit
    return (rows[:most], most) if parsed.order_by else (rows, most)


def test_live_queries() -> None:
    told: Counter[str] = Counter()
    seeds = examples(15)
    for seed in range(seeds):
        rng = Random(seed)
        # Each change of the deepest nests is hundreds of joins to be planned.
        asked = [each for each in (query(rng) for _ in range(12)) if len(each.text + each.rules) < 450][:5]
        questions = [(each.text, (*map(read, each.args), each.rules)) for each in asked]
        begun = [SCHEMA, *(f"[{' '.join(datoms(rng))}]" for _ in range(4))]
        written = [transaction(rng, VALUES, (":e", ":f", ":m"), ENTITIES) for _ in range(7)]
        with followed(begun, questions, written, rng) as (database, keepers):
            for each, keeper in zip(asked, keepers, strict=True):
                if keeper is None:
                    continue
                for t, rows in keeper.states():
                    wanted = theirs_of(each, database.at(t=t))
                    if wanted is None:
                        continue
                    theirs, most = wanted
                    mine, other = ({tuple(map(identity, row)) for row in found} for found in (rows, theirs))
                    right = mine <= other and len(mine) == min(len(other), most)
                    assert right, (seed, t, each, "a subscriber has", rows, "clingo has", theirs)
                    told["a row or more" if rows else "no row"] += 1
    assert told["a row or more"] > seeds
