"""Random queries over random databases, on every kind of connection, beside the naive evaluator."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import adalog
from adalog.client.values import to_edn
from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError, Code
from adalog.executor.question.arguments import GivenArgument
from adalog.store.database import Database
from adalog.store.values.datom import Datom
from tests.clients.library.places import KINDS
from tests.oracle_rules import answer
from tests.property.generated import PAST, SCHEMA, Asked, transactions
from tests.property.model import (
    EARLY,
    REFUSED,
    Log,
    View,
    asked_of,
    compare,
    examples,
    filled,
    meant,
    outcome,
    parsed_of,
)


def _engine_datoms(datoms: Any) -> list[Datom]:
    return [Datom(each.e, to_edn(each.a), to_edn(each.v), each.t, each.added) for each in datoms]


def _answered(db: adalog.Database, past: adalog.Database, asked: Asked) -> Any:
    """Rows as the engine has them, or the code of the refusal; None where the oracle can do more."""
    given: list[Any] = [past if arg == PAST else adalog.edn.read(arg) for arg in asked.args]
    if asked.given:
        given.append(asked.rules_text)
    try:
        return [tuple(map(to_edn, row)) for row in db.q(asked.text, *given)]
    except adalog.Error as error:
        return None if "needs an argument that the recursion itself binds" in error.message else Code(error.code)


def _difference(
    db: adalog.Database, past: adalog.Database, twin: Database, facts: View, asked: Asked
) -> str | None:
    """What is wrong with the answer, or None. twin: has the same schema, for the meaning of arguments."""
    try:
        parsed = parsed_of(asked)
    except AdalogError:
        return None, 0
    args: list[Any] = [
        twin.at(as_of=EARLY) if arg == PAST else GivenArgument(read(arg), json=True) for arg in asked.args
    ]
    if asked.given:
        args.append(asked.rules_text)
    settled = [
        each.value if isinstance(each, GivenArgument) else each
        for each in meant(asked, args, twin.snapshot(), facts)
    ]
    expected = outcome(lambda: answer(parsed, facts, settled))
    got = _answered(db, past, asked)
    if expected is None or got is None:
        return None, 0
    refused = [each for each in (expected, got) if isinstance(each, str)]
    if (asked.partial and any(each in REFUSED for each in refused)) or Code.UNBOUND_VARIABLE in refused:
        # Which rows a function sees is not specified; the engine finds an order more often.
        return None, 0
    wrong = compare(parsed, expected, got)
    if wrong:
        return f"{wrong}\n{asked.text} {asked.args}\nexpected {expected}\ngot {got}", 0
    return None, 0 if refused else len(got)


# Random queries join what is never equal, too.
@pytest.mark.filterwarnings("ignore::adalog.QueryWarning")
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_random_queries(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    rng = Random(7)
    texts = transactions(rng, 6)
    with (
        KINDS[kind](tmp_path, lambda: request.getfixturevalue("postgres")) as db,
        Database.open(":memory:") as twin,
    ):
        filled(twin, texts)
        log = Log(_engine_datoms(db.datoms("eavt")))
        for text in (SCHEMA, *texts):
            log.datoms.extend(_engine_datoms(db.transact(text).datoms))
        newest, past = len(texts) + 1, db.as_of(EARLY)
        compared = 0
        for number in range(examples(200)):
            view: adalog.Database = db
            at: dict[str, Any] = {}
            if number % 2:
                at["as_of"] = rng.randint(1, newest)
                view = view.as_of(at["as_of"])
                if number % 4 == 1:
                    at["since"] = rng.randint(0, at["as_of"])
                    view = view.since(at["since"])
                if number % 8 == 3:
                    at["history"] = True
                    view = view.history()
            facts = log.facts(**at)
            asked = asked_of(facts, rng)
            wrong, rows = _difference(view, past, twin, facts, asked)
            assert wrong is None, f"{at}: {wrong}"
            compared += rows > 0
        assert compared > examples(200) // 8, compared
