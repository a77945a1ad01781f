"""Random queries asked with many tuples of arguments at once: each has the answer that it has by itself."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError
from adalog.executor.answer.result import Result
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.follow.maintained_view import MaintainedView
from adalog.executor.follow.shared_answers import answers_together
from adalog.executor.follow.view_choice import view_of
from adalog.executor.pool import Pool
from adalog.executor.question.question import Question
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from tests.property.generated import PAST, SCHEMA, Asked, query, transaction
from tests.property.model import EARLY, examples
from tests.property.rule_programs import program
from tests.property.test_maintained import other_arguments


def questions(database: Database, pool: Pool, asked: Asked, rng: Random) -> list[Question]:
    """A query with several tuples of arguments; none where its answers are not made together."""
    if not re.findall(r"\?\w|_", asked.head.split(":in $")[1]):
        return []
    found = []
    for args in (list(asked.args), *(other_arguments(rng, asked) for _ in range(rng.randint(1, 5)))):
        given = [database.at(as_of=EARLY) if arg == PAST else read(arg) for arg in args]
        if asked.given:
            given.append(asked.rules_text)
        try:
            request = QueryRequest(asked.text, given, database.snapshot(), ordered=True)
            found.append(pool.question(request))
        except AdalogError:
            continue
    try:
        together = found and isinstance(view_of(found[0], pool.engine), MaintainedView)
    except AdalogError:
        return []
    return found if together else []


def alone(pool: Pool, question: Question) -> Result | None:
    try:
        return pool.run(question.request)
    except AdalogError:
        return None


def ask_together(pool: Pool, asked: list[Question]) -> list[Result | None]:
    cancel = Cancel()
    with pool.memory.lent(cancel):
        return answers_together(pool.engine, asked, cancel)


@settings(max_examples=examples(30))
@given(st.integers(0, 2**32))
def test_together_and_alone_are_the_same(seed: int) -> None:
    rng = Random(seed)
    with Database.open(":memory:") as database:
        for text in (SCHEMA, transaction(rng), transaction(rng), transaction(rng)):
            database.transact(text)
        pool = Pool(database)
        for _ in range(25):
            asked = program(rng) if rng.random() < 0.3 else query(rng)
            some = questions(database, pool, asked, rng)
            if not some:
                continue
            expected = [alone(pool, each) for each in some]
            try:
                got = ask_together(pool, some)
            except AdalogError:
                # Whose fault it is comes to light when they are asked one by one.
                assert asked.partial, asked.text
                continue
            for question, one, other in zip(some, expected, got, strict=True):
                where = (asked.text, question.request.args)
                if one is None:
                    assert asked.partial, where
                else:
                    assert other is not None, where
                    assert other.rows() == one.rows(), where
                    assert other.columns == one.columns, where
        pool.close()


def test_rows_are_bounded_for_each() -> None:
    with Database.open(":memory:") as database:
        database.transact(
            "[" + " ".join(f"[:db/add {e} :n {e // 4}]" for e in range(4, 24)) + "[:db/add 90 :n 90]]"
        )
        pool = Pool(database)

        def asked(most: int, *args: int) -> list[Question]:
            text = "[:find ?e :in $ ?n :where [?e :n ?n]]"
            return [pool.question(QueryRequest(text, [n], database.snapshot(), max_rows=most)) for n in args]

        found = ask_together(pool, asked(4, 1, 2, 99)[1:])
        assert [None if each is None else len(each) for each in found] == [4, 0]
        with pytest.raises(AdalogError, match="more than 4 rows"):
            ask_together(pool, asked(4, 1, 2))
        found = ask_together(pool, asked(5, 90, 1))
        assert [None if each is None else len(each) for each in found] == [1, 4]
        counts = "[:find ?e (count ?v) :in $ ?least :where [?e :n ?v] [(<= ?least ?v)]]"
        many = [pool.question(QueryRequest(counts, [n], database.snapshot(), max_rows=3)) for n in (1, 90)]
        found = ask_together(pool, many)
        assert [None if each is None else len(each) for each in found] == [None, 1]
        pool.close()
