"""Shares: together they are the join, none is much larger than the others, and a hub is cut in pieces."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from adalog.cluster.java import java_home
from adalog.cluster.refusals import TaskRefusal, refusal_in
from adalog.datalog.errors import AdalogError, Code, Position
from adalog.datalog.values import Keyword
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.bind import Binding
from adalog.executor.evaluation.compile import Compiler
from adalog.executor.evaluation.fixpoint import derived
from adalog.executor.join.batch import Batch, concatenate
from adalog.executor.join.driver import Driver
from adalog.executor.join.generic_join import GenericJoin
from adalog.executor.question.inputs import bind_inputs
from adalog.executor.question.question import Questions
from adalog.executor.question.request import QueryRequest
from adalog.executor.spark.shares import Share, cut, dealt, divided, split
from adalog.executor.spark.wire import column_of, from_bytes, to_bytes
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.codes import Scratch

SCHEMA = "[{:db/ident :g/to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"

QUERIES = [
    "[:find ?a ?b ?c :where [?a :g/to ?b] [?b :g/to ?c] [?a :g/to ?c]]",
    "[:find ?a ?c :where [?a :g/to ?b] [?b :g/to ?c]]",
    "[:find ?a (count ?c) :with ?b :where [?a :g/to ?b] [?b :g/to ?c]]",
    "[:find ?b ?c ?d :where [1 :g/to ?b] [?b :g/to ?c] [?c :g/to ?d]]",
    "[:find ?a ?b :where [?a :g/to ?b] (or [?b :g/to 1] [?b :g/to 7])]",
    "[:find ?a :where [?a :g/to 1]]",
    "[:find ?a ?b :where [?a :g/to ?b] [(> ?a 1000000)]]",
]


@pytest.fixture(scope="module")
def graph() -> Iterator[Snapshot]:
    """300 vertices, a few edges each, and a hub: vertex 1 to and from all."""
    random = np.random.default_rng(7)
    source, target = random.integers(1, 301, 1500), random.integers(1, 301, 1500)
    others = np.arange(2, 301)
    ones = np.ones(len(others), np.int64)
    edges = np.unique(np.stack([np.r_[source, ones, others], np.r_[target, others, ones]]), axis=1)
    with Database.open(":memory:") as database:
        database.bulk_load(SCHEMA, {Keyword("g/to"): (edges[0], edges[1])})
        yield database.snapshot()


def bound(snapshot: Snapshot, query: str) -> tuple[GenericJoin, Batch]:
    plan = Compiler().compile(Questions().of(QueryRequest(query), snapshot, Cancel()))
    values = Scratch(snapshot.codes)
    inputs = bind_inputs(plan, (), snapshot, values)
    join = Binding(plan, inputs.databases, inputs.relations, QueryRun(values), derive=derived).join()
    assert join is not None
    assert inputs.start is not None
    return join, inputs.start


def rows(join: GenericJoin, shares: list[Share]) -> dict[tuple[int, ...], int]:
    """The distinct rows that the shares come to, with the sums of their weights."""
    found: list[Batch] = []
    for share in shares:
        Driver(join, lambda batch: not found.append(batch), Cancel()).run(share.prefixes, share.depth)
    if not found:
        return {}
    whole = concatenate(found).distinct()
    names = sorted(whole.columns)
    weights = whole.weights().tolist()
    keys = zip(*(whole.columns[name].tolist() for name in names), strict=True)
    return dict(zip(keys, weights, strict=True))


@pytest.mark.parametrize("wanted", [1, 3, 12, 200])
@pytest.mark.parametrize("query", QUERIES)
def test_the_shares_together_are_the_join(graph: Snapshot, query: str, wanted: int) -> None:
    join, start = bound(graph, query)
    whole = rows(join, [Share(0, start, 1.0)])
    assert rows(join, split(join, start, wanted, Cancel())) == whole


def test_a_hub_is_cut_in_pieces(graph: Snapshot) -> None:
    join, start = bound(graph, QUERIES[0])
    shares = split(join, start, 20, Cancel())
    assert {share.depth for share in shares} == {1, 2}
    assert [share.work for share in shares] == sorted((share.work for share in shares), reverse=True)
    assert max(share.work for share in shares) < sum(share.work for share in shares) / 8


def test_pieces_are_of_about_equal_work() -> None:
    work = np.array([1.0, 1, 1, 7, 1, 1, 1, 1, 1, 1])
    pieces = cut(Batch(10, {"?a": np.arange(10)}), 1, work, 4.0)
    assert sum(piece.prefixes.size for piece in pieces) == 10
    assert sum(piece.work for piece in pieces) == work.sum()
    assert max(piece.work for piece in pieces) <= 10


def test_each_share_has_prefixes_from_everywhere_in_order() -> None:
    pieces = cut(Batch(10_000, {"?a": np.arange(10_000)}), 1, np.ones(10_000), 1_000.0)
    assert len(pieces) == 10
    for piece in pieces:
        (column,) = piece.prefixes.columns.values()
        assert (np.diff(column) > 0).all()
        assert column[0] < 2_500
        assert column[-1] > 7_500
    together = np.concatenate([piece.prefixes.columns["?a"] for piece in pieces])
    assert (np.sort(together) == np.arange(10_000)).all()


def test_values_are_dealt_out_by_their_work() -> None:
    values, work = np.arange(1000), np.ones(1000)
    work[[3, 4, 5]] = 500, 400, 120
    shares = dealt("?a", values, work, 4)
    assert sorted(np.concatenate([share.prefixes.columns["?a"] for share in shares]).tolist()) == values.tolist()
    assert [share.work for share in shares] == [work[share.prefixes.columns["?a"]].sum() for share in shares]
    assert max(share.work for share in shares) < 1.05 * work.sum() / 4
    assert shares[0].work == max(share.work for share in shares)
    assert [len(dealt("?a", values[:few], work[:few], 4)) for few in (0, 1, 3, 4, 5)] == [0, 1, 3, 4, 4]


REACH = "[:find ?a ?b :in $ % :where (reach ?a ?b)]"
STEPS = "[[(reach ?x ?y) [?x :g/to ?y]] [(reach ?x ?y) (reach ?x ?z) [?z :g/to ?y]]]"


def test_a_value_of_a_rule_is_as_much_work_as_the_pairs_that_it_begins(graph: Snapshot) -> None:
    question = Questions().of(QueryRequest(REACH, (STEPS,)), graph, Cancel())
    plan = Compiler().compile(question, share=True)
    assert plan.sharing is not None
    values = Scratch(graph.codes)
    inputs = bind_inputs(plan, question.args, graph, values)
    assert inputs.start is not None
    shares = divided(plan, inputs, inputs.start, QueryRun(values), 6).shares
    hub = next(share for share in shares if 1 in share.prefixes.columns[plan.sharing.variable])
    assert hub.prefixes.size < min(share.prefixes.size for share in shares if share is not hub) / 2


def test_batches_survive_the_way() -> None:
    sent = Batch(3, {"?a": np.array([1, -2, 3])}, np.array([1, 1, 5]))
    said = {"depth": 2, "made": ["a", 1.5, Keyword("k"), (1, "x")]}
    batch, heard = from_bytes(column_of([to_bytes(sent, said)])[0].as_buffer())
    assert batch.size == 3
    assert {name: column.tolist() for name, column in batch.columns.items()} == {"?a": [1, -2, 3]}
    assert batch.weights().tolist() == [1, 1, 5]
    assert all(column.flags.writeable for column in batch.columns.values())
    assert heard["depth"] == 2
    assert list(heard["made"]) == said["made"]
    empty, _ = from_bytes(to_bytes(Batch(1, {}), {}))
    assert empty.size == 1
    assert column_of([to_bytes(sent, {}), to_bytes(sent, {})]).type == pa.binary()


@pytest.mark.parametrize("position", [None, Position(3, 14)])
def test_an_error_comes_back_out_of_a_stack_trace(position: Position | None) -> None:
    error = AdalogError(Code.QUERY_INVALID, 'no "such" thing\n  at > all', position)
    told = refusal_in(
        f"org.apache.spark.SparkException: Task failed\n\tat x.y(Z.scala:1)\n{TaskRefusal(error)}\n\tat a.b"
    )
    assert told is not None
    assert (told.code, told.message, told.position, told.retryable) == (
        error.code,
        error.message,
        position,
        error.retryable,
    )
    assert refusal_in("java.lang.OutOfMemoryError") is None


def test_java_is_found_and_an_old_one_passed_over(tmp_path: Path) -> None:
    def fake(name: str, version: str) -> str:
        java = tmp_path / name / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        java.chmod(0o755)
        return str(java.parent.parent)

    old, new = fake("old", "11.0.2"), fake("new", "21.0.1")
    path = os.pathsep.join([os.path.join(new, "bin"), "/usr/bin", "/bin"])
    assert java_home({"JAVA_HOME": old, "PATH": path}) == new
    assert java_home({"JAVA_HOME": new, "PATH": path}) == new
