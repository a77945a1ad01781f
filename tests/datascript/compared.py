"""One database on both sides, asked the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError
from adalog.executor.pool import Pool, PoolSettings, PullRequest
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from adalog.store.values.attribute import TX_BASE
from tests.datascript.generated import SCHEMA, THEIR_SCHEMA, Asked
from tests.datascript.node import DataScript, as_datascript, as_json, rows_of, typed

# What DataScript cannot do, and says so; the generators write little of it. Bodies that bind what they use in their
# order are bound for us too, so these are compared with the oracle of `tests/property` alone.
GIVEN_UP = (
    "Script execution timed out",
    # A recursive call with the variables of the one around it in other places.
    "Insufficient bindings",
    # A constant of a rule's call in the place where a function binds its result.
    "Cannot parse binding",
    # A string where an entity should be, an attribute's name beside a number.
    "Expected number or lookup ref",
    "Cannot compare",
)


class Both:
    """The database of these transactions in adalog, and every datom of it, the schema's too, in DataScript."""

    def __init__(
        self,
        datascript: DataScript,
        transactions: Sequence[str],
        schema: str = SCHEMA,
        their_schema: Mapping[str, Any] = THEIR_SCHEMA,
    ) -> None:
        self.datascript = datascript
        self.their_schema = their_schema
        self.database = Database.open(":memory:")
        for text in (schema, *transactions):
            self.database.transact(text)
        self.snapshot = self.database.snapshot()
        self.pool = Pool(self.database, PoolSettings(threads=1))
        self.datoms = [
            [as_json(datom.e), as_json(datom.a), as_json(datom.v), as_json(TX_BASE + datom.t)]
            for datom in self.snapshot.datoms("EAVT")
        ]

    def close(self) -> None:
        self.pool.close()
        self.database.close()

    def ask(self, queries: Sequence[Asked], milliseconds: int = 20_000) -> list[dict[str, Any]]:
        """What DataScript says to each."""
        texts = [
            {
                "text": as_datascript(asked.theirs),
                "inputs": [
                    *(as_json(read(argument)) for argument in asked.arguments),
                    *([as_datascript(asked.their_rules)] if asked.their_rules else []),
                ],
            }
            for asked in queries
        ]
        request = {"schema": self.their_schema, "datoms": self.datoms, "queries": texts}
        answer = self.datascript.ask(request, milliseconds)
        found: list[dict[str, Any]] = answer["queries"]
        return found

    def check(self, queries: Sequence[Asked], most: int, milliseconds: int = 20_000) -> Counter[str]:
        """Equal rows to as many of the queries as asked for, first to those that have any."""
        told: Counter[str] = Counter()
        answered = []
        for asked, answer in zip(queries, self.ask(queries, milliseconds), strict=True):
            if "error" in answer:
                assert answer["error"].startswith(GIVEN_UP), f"{answer['error']}\n{self.report(asked, None)}"
                told["refused"] += 1
            else:
                answered.append((asked, answer["value"]))
        answered.sort(key=lambda each: each[1] in ([], None))
        for asked, theirs in answered[:most]:
            wrong = self.difference(asked, theirs)
            assert not wrong, wrong
            told["a row or more" if theirs else "no row"] += 1
        return told

    def difference(self, asked: Asked, theirs: Any) -> str:
        """What differs, or nothing."""
        arguments = tuple(read(each) for each in (*asked.arguments, asked.our_rules) if each)
        try:
            result = self.pool.run(QueryRequest(query=asked.ours, args=arguments, snapshot=self.snapshot))
        except AdalogError as error:
            return f"refused: {error}\n{self.report(asked, theirs)}"
        mine = rows_of(as_json(result.rows()))
        if asked.theirs.startswith("[:find [") and not asked.one_of:
            theirs = [[each] for each in theirs]
        other = rows_of(theirs)
        if asked.one_of:
            right = len(mine) == 1 and mine[0] in other if other else not mine
        else:
            equal = set(mine) >= set(other) if asked.at_least else set(mine) == set(other)
            right = equal and len(mine) == len(set(mine))
        return "" if right else f"adalog says {as_json(result.rows())}\n{self.report(asked, theirs)}"

    def check_pulls(self, patterns: Sequence[str], entities: Sequence[int]) -> None:
        """Equal maps for every pattern and entity."""
        pulls = [[as_datascript(pattern), e] for pattern in patterns for e in entities]
        answer = self.datascript.ask({"schema": self.their_schema, "datoms": self.datoms, "pulls": pulls})
        theirs = iter(answer["pulls"])
        for pattern in patterns:
            maps, _ = self.pool.pull(PullRequest(pattern, entities, snapshot=self.snapshot))
            for e, mine in zip(entities, maps, strict=True):
                other = next(theirs)
                assert "value" in other, f"{other} of {pattern}"
                assert typed(as_json(mine)) == typed(other["value"]), (
                    f"{pattern} of {e}\nadalog says     {as_json(mine)}\nDataScript says {other['value']}\n"
                    f"{[datom[:3] for datom in self.datoms if ':g/' in datom[1]]}"
                )

    def report(self, asked: Asked, theirs: Any) -> str:
        return "\n".join(
            [
                f"DataScript says {theirs}",
                f"adalog:     {asked.ours}",
                f"DataScript: {as_datascript(asked.theirs)}",
                f"arguments:  {' '.join([*asked.arguments, asked.our_rules])}",
                f"datoms:     {[datom[:3] for datom in self.datoms if ':g/' in datom[1]]}",
            ]
        )
