"""`why` against the answer itself: each of its rows has a derivation that holds up, and no other row has one."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError
from adalog.datalog.values import identity
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.derivations.derivation import Reason
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.arguments import GivenArgument
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from tests.derivation_checker import DerivationChecker, WrongDerivationError
from tests.property.generated import PAST, Asked, query, transactions
from tests.property.model import EARLY, asked_of, examples, filled, parsed_of
from tests.property.rule_programs import graph, program

SEEDS = st.integers(0, 2**48)


@settings(max_examples=examples(40))
@given(SEEDS)
def test_rows_have_derivations_and_other_rows_have_none(seed):
    rng = Random(seed)
    with Database.open(":memory:") as database:
        facts = filled(database, [*transactions(rng), graph(rng)]).facts()
        pool = Pool(database, PoolSettings(threads=1))
        for _ in range(4):
            check(pool, asked_of(facts, rng, rng.choice((program, program, query))), rng)
        pool.close()


def check(pool: Pool, asked: Asked, rng: Random) -> None:
    early, now = pool.database.at(as_of=EARLY), pool.database.snapshot()
    args = [early if arg == PAST else read(arg) for arg in asked.args]
    databases = {"$": now, **({"$old": early} if PAST in asked.args else {})}
    if asked.given:
        args.append(asked.rules_text)
    request = QueryRequest(asked.text, args)
    try:
        rows = [list(row) for row in pool.run(request).rows()]
        parsed_of(asked)
    except AdalogError:
        return
    known = {key(row) for row in rows}
    for row in rng.sample(rows, min(3, len(rows))):
        reason = why(pool, request, row)
        if reason is not None:
            checker = DerivationChecker(pool, asked.text, databases, asked.rules_text if asked.given else None)
            try:
                checker.check(reason)
            except WrongDerivationError as wrong:
                raise AssertionError((asked.text, asked.rules_text, args, row, reason)) from wrong
    # Rows beyond a window are rows, too.
    whole = ":limit" not in asked.text and ":offset" not in asked.text
    for _ in range(2 if whole and len(rows) > 1 else 0):
        row = [rng.choice(rows)[place] for place in range(len(rows[0]))]
        # Of an aggregate 2 is as good as 2.0.
        if key(row) not in known and row not in rows:
            reason = why(pool, request, row)
            assert reason is None or not reason["holds"], (asked.text, args, row, reason)


def why(pool: Pool, request: QueryRequest, row: list[Any]) -> Reason | None:
    """None where a clause refuses values that the answer had no need of."""
    try:
        question = pool.question(request)
        return pool.engine.why(question, [GivenArgument(value) for value in row], Cancel())
    except AdalogError:
        return None


def key(row: list[Any]) -> tuple[Any, ...]:
    return tuple(map(identity, row))
