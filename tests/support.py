"""What the tests speak with: a database and its pool, asked in EDN and answering in EDN.

Expected answers are EDN text, compared by typed identity, so that `#{[1]}` and `#{[1.0]}` differ as they do in the
language. A `‸` in a refused text marks the place the error must point at.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from adalog.datalog.edn import read, write
from adalog.datalog.errors import AdalogError
from adalog.datalog.values import identity
from adalog.executor.answer.result import Result
from adalog.executor.pool import Pool, PoolSettings, PullRequest
from adalog.executor.question.request import QueryRequest
from adalog.executor.spark.engine import SparkEngine
from adalog.store.database import Database
from adalog.store.values.datom import TxReport

MARK = "‸"


# Java's second compiler takes longer than what tests would have of it.
QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}


@contextmanager
def pool_on(database: Database, spark: SparkEngine) -> Iterator[Pool]:
    """A pool with an engine that others use, too."""
    pool = Pool(database, PoolSettings(threads=2), spark=spark)
    try:
        yield pool
    finally:
        pool.spark = None
        pool.close()


class Answer:
    """A query's result in the shape of its find spec; equal to the EDN text that says the same."""

    def __init__(self, result: Result) -> None:
        self.result = result
        self.rows = result.rows()
        self.value = self._shaped()

    def _shaped(self) -> Any:
        if self.result.shape == "scalar":
            return self.rows[0][0] if self.rows else None
        if self.result.shape == "tuple":
            return self.rows[0] if self.rows else None
        if self.result.shape == "collection":
            return [row[0] for row in self.rows]
        if self.result.keys:
            return [read(_map_text(self.result.keys, row)) for row in self.rows]
        return [tuple(row) for row in self.rows]

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, str), "an answer is compared with EDN text"
        expected = read(other)
        if not isinstance(self.value, list):
            return identity(self.value) == identity(expected)
        mine = [identity(item) for item in self.value]
        if other.lstrip().startswith("#{"):
            assert len(mine) == len(set(mine)), f"an answer is a set, this one repeats itself: {self!r}"
            return set(mine) == {identity(item) for item in expected}
        return mine == [identity(item) for item in expected]

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        if isinstance(self.value, list):
            return "#{" + " ".join(sorted(write(item) for item in self.value)) + "}"
        return write(self.value)


class Value:
    """An EDN value; equal to the EDN text that says the same."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, str), "a value is compared with EDN text"
        return identity(self.value) == identity(read(other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return write(self.value)


def _map_text(keys: Any, row: Any) -> str:
    return "{" + " ".join(f"{write(key)} {write(value)}" for key, value in zip(keys, row, strict=True)) + "}"


class World:
    """A database, a pool over it, and the snapshot read (None: the latest)."""

    def __init__(self, database: Database, pool: Pool, snapshot: Any = None) -> None:
        self.database = database
        self.pool = pool
        self.snapshot = snapshot

    def tx(self, *texts: str) -> TxReport:
        """Apply each text as one transaction; the last one's report."""
        assert texts
        for text in texts:
            report = self.database.transact(text)
        return report

    def at(self, **basis: Any) -> World:
        """The same world at another basis: `t=`, `as_of=`, `since=`, `history=`."""
        return World(self.database, self.pool, self.database.at(**basis))

    def run(self, query: str, *args: Any, **options: Any) -> Result:
        """The result; an argument that is text is EDN, a `World` is its snapshot, anything else itself."""
        snapshot = self.snapshot if self.snapshot is not None else self.database.snapshot()
        values = tuple(self._argument(arg) for arg in args)
        return self.pool.run(QueryRequest(query=query, args=values, snapshot=snapshot, **options))

    def _argument(self, arg: Any) -> Any:
        if isinstance(arg, World):
            return arg.snapshot if arg.snapshot is not None else arg.database.snapshot()
        return read(arg) if isinstance(arg, str) else arg

    def q(self, query: str, *args: Any, **options: Any) -> Answer:
        return Answer(self.run(query, *args, **options))

    def warnings(self, marked: str, *args: Any) -> list[str]:
        """The codes of the query's warnings; where the text has marks, they are the places that these point at."""
        text = marked.replace(MARK, "")
        found = self._diagnostics(self.run(text, *args))
        if MARK in marked:
            assert [_place(each.position) for each in found] == _marks(marked), found
        return [each.code.value for each in found]

    def says(self, query: str, *args: Any) -> str:
        """The messages of the query's warnings, one a line."""
        return "\n".join(each.message for each in self._diagnostics(self.run(query, *args)))

    def _diagnostics(self, result: Result) -> list[Any]:
        question = result.question
        assert question is not None
        return [*self.pool.diagnostics(question), *self.pool.found_out(question, result.dropped)]

    def pull(self, pattern: str, *entities: Any, **options: Any) -> Value:
        """What the pattern shows of an entity, or of each of several; an entity that is text is EDN."""
        snapshot = self.snapshot if self.snapshot is not None else self.database.snapshot()
        named = [self._argument(entity) for entity in entities]
        maps, _ = self.pool.pull(PullRequest(pattern, named, snapshot=snapshot), **options)
        return Value(maps[0] if len(maps) == 1 else tuple(maps))

    def pull_refuses(self, code: str, marked: str, *entities: Any, says: str = "") -> AdalogError:
        """The pull is refused with this code, pointing at the mark, in a message that says this."""
        return refused(code, marked, says, lambda text: self.pull(text, *(entities or (1,))))

    def refuses(self, code: str, marked: str, *args: Any, says: str = "") -> AdalogError:
        """The query is refused with this code, pointing at the mark, in a message that says this."""
        return refused(code, marked, says, lambda text: self.q(text, *args))

    def tx_refuses(self, code: str, marked: str, *, says: str = "") -> AdalogError:
        """The transaction is refused likewise, and changes nothing."""
        before = self.database.snapshot().t
        error = refused(code, marked, says, self.tx)
        assert self.database.snapshot().t == before
        return error


def _place(position: Any) -> tuple[int, int]:
    assert position is not None
    return position.line, position.column


def _marks(marked: str) -> list[tuple[int, int]]:
    """The places that the marks of a text stand before, in order."""
    places, line, column = [], 1, 1
    for letter in marked:
        if letter == MARK:
            places.append((line, column))
        elif letter == "\n":
            line, column = line + 1, 1
        else:
            column += 1
    return places


def refused(code: str, marked: str, says: str, act: Any) -> AdalogError:
    """`act` on the text without its mark raises the error; without a mark the position is not looked at."""
    text = marked.replace(MARK, "")
    with pytest.raises(AdalogError) as caught:
        act(text)
    error = caught.value
    assert str(error.code) == code, str(error)
    assert says.lower() in error.message.lower(), str(error)
    if MARK in marked:
        before = marked[: marked.index(MARK)]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        place = error.position
        assert place is not None
        assert (place.line, place.column) == (line, column), f"should point at {line}:{column}: {error}"
    return error
