"""What rules derive, kept from moment to moment, against a fixpoint from nothing: random programs, transactions,
arguments and folds, over cyclic data above all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from random import Random
from unittest.mock import patch

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from adalog.datalog.edn import read, write
from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.compile import Compiler
from adalog.executor.evaluation.fixpoint import Fixpoint
from adalog.executor.extenders.changes import Moments
from adalog.executor.facts.facts import whole
from adalog.executor.follow.program import MaintainedProgram, UnmaintainableError
from adalog.executor.join.batch import Batch
from adalog.executor.question.inputs import Inputs, bind_inputs
from adalog.executor.question.question import Questions
from adalog.executor.question.request import QueryRequest
from adalog.planner.model.plan import Options
from adalog.planner.model.version import Version
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.codes import Scratch
from tests.property.generated import PAST, SCHEMA, Asked, transaction
from tests.property.model import EARLY, examples
from tests.property.rule_programs import graph, program

SWITCHES = (Options(), Options(magic=False), Options(reorder=False), Options(project=False), Options(budget=1))
SEEDS = st.integers(0, 2**48)
NODES = tuple(map(str, range(1, 8)))

Rows = frozenset[tuple[int, ...]]
Texts = frozenset[tuple[str, ...]]


def rows_of(columns: Sequence[np.ndarray]) -> Rows:
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert len(set(rows)) == len(rows), "a row twice"
    return frozenset(rows)


class Kept:
    """A program that is kept, and the same derived from nothing at each moment."""

    def __init__(self, database: Database, request: QueryRequest) -> None:
        self.database = database
        self.question = Questions().of(request, request.snapshot, Cancel())
        self.plan = Compiler().compile(self.question)
        self.at = database.snapshot()
        inputs, run = self.inputs(self.at)
        moving = {name: len(columns) for name, columns in inputs.relations.items() if name.startswith("in ")}
        self.program = MaintainedProgram(self.plan, inputs=moving)
        self.arguments = {name: texts_of(inputs.relations[name], run.values) for name in moving}
        self.program.begin(inputs.databases, inputs.relations, run, self.constants(inputs))
        self.check({}, inputs, run)

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.plan.program.relations]

    def inputs(self, snapshot: Snapshot) -> tuple[Inputs, QueryRun]:
        values = Scratch(snapshot.codes)
        inputs = bind_inputs(self.plan, self.question.args, snapshot, values)
        if inputs.start is None:
            raise UnmaintainableError("contradicting arguments")
        for name, columns in inputs.relations.items():
            if name.startswith("in "):
                distinct = Batch(len(columns[0]), {str(i): c for i, c in enumerate(columns)}).distinct()
                inputs.relations[name] = list(distinct.columns.values())
        return inputs, QueryRun(values)

    def constants(self, inputs: Inputs) -> Mapping[str, int]:
        assert inputs.start is not None
        return {name: int(column[0]) for name, column in inputs.start.columns.items()}

    def fresh(self, inputs: Inputs, run: QueryRun) -> dict[str, Rows]:
        assert inputs.start is not None
        read = Fixpoint(self.plan, inputs, inputs.start, run).relations_read()
        return {
            name: rows_of(whole(read[name])) if len(read[name]) else frozenset()  # type: ignore[arg-type]
            for name in self.names
        }

    def step(self, arguments: Mapping[str, Texts]) -> None:
        """Goes to the newest moment, with other arguments."""
        before = {name: rows_of(self.program.columns(name)) for name in self.names}
        old, self.at = self.at, self.database.snapshot()
        inputs, run = self.inputs(self.at)
        moments = {name: Moments(each, each) for name, each in inputs.databases.items()} | {
            "$": Moments(old, self.at)
        }
        width = {name: len(inputs.relations[name]) for name in arguments}
        came, went = (
            {name: columns_of(rows[name] - other[name], width[name], run.values) for name in arguments}
            for rows, other in ((arguments, self.arguments), (self.arguments, arguments))
        )
        self.arguments = dict(arguments)
        for name, rows in arguments.items():
            inputs.relations[name] = columns_of(rows, width[name], run.values)
        made = bool(self.program._values and self.program._values.made())
        self.program.step(moments, run, self.constants(inputs), came, went)
        self.check({} if made else before, inputs, run)

    def check(self, before: Mapping[str, Rows], inputs: Inputs, run: QueryRun) -> None:
        expected = self.fresh(inputs, run)
        for name in self.names:
            now = rows_of(self.program.columns(name))
            assert now == expected[name], f"{name}: too many {now - expected[name]}, missing {expected[name] - now}"
            then = rows_of(self.program.columns(name, Version.OLD))
            assert before.get(name, then) == then
            assert rows_of(self.program.came(name)) == now - then
            assert rows_of(self.program.went(name)) == then - now


def texts_of(columns: Sequence[np.ndarray], values: Scratch) -> Texts:
    """Rows as texts: a value has another code once the database knows it."""
    return frozenset(tuple(write(values.decode(code)) for code in row) for row in rows_of(columns))


def columns_of(rows: Texts, width: int, values: Scratch) -> list[np.ndarray]:
    codes = [[values.intern(read(text)) for text in row] for row in sorted(rows)]
    return list(np.array(codes, np.int64).reshape(len(rows), width).T.copy())


def change(rng: Random, snapshot: Snapshot) -> str:
    """A small transaction: edges and numbers that come and go, an entity that goes whole."""
    if rng.random() < 0.15:
        return transaction(rng)
    if rng.random() < 0.08:
        return f"[[:db/retractEntity {rng.choice(NODES)}]]"
    held = [datom for datom in snapshot.datoms("EAVT") if str(datom.e) in NODES]
    forms = {}
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        if held and rng.random() < 0.45:
            gone = rng.choice(held)
            key = (str(gone.e), write(gone.a), write(gone.v))
            forms[key] = f"[:db/retract {' '.join(key)}]"
            continue
        e, a = rng.choice(NODES), rng.choice((":to", ":to", ":to", ":r", ":ns", ":n", ":xs"))
        value = rng.choice(NODES) if a in (":to", ":r") else str(rng.randint(1, 4))
        value = f"{value}.5" if a == ":xs" else value
        forms[e, a, value if a in (":to", ":ns", ":xs") else ""] = f"[:db/add {e} {a} {value}]"
    return f"[{' '.join(forms.values())}]"


def transacted(database: Database, rng: Random) -> None:
    with suppress(AdalogError):
        database.transact(change(rng, database.snapshot()))
    if rng.random() < 0.15:
        database.compact()


def request_of(asked: Asked, database: Database, options: Options) -> QueryRequest:
    args = [database.at(as_of=EARLY) if arg == PAST else read(arg) for arg in asked.args]
    if asked.given:
        args.append(asked.rules_text)
    return QueryRequest(asked.text, args, database.snapshot(), options=options)


def followed(rng: Random, database: Database, asked: Asked, options: Options) -> str:
    """What became of it."""
    try:
        kept = Kept(database, request_of(asked, database, options))
    except AdalogError as error:
        return f"refused: {error.code}"
    except UnmaintainableError as error:
        return str(error)
    if not kept.names:
        return "no relations"
    given = dict(kept.arguments)
    for _ in range(8):
        for _ in range(rng.choice((0, 1, 1, 1, 3))):
            transacted(database, rng)
        arguments = {
            name: frozenset(row for row in rows if rng.random() < 0.7) if rng.random() < 0.4 else rows
            for name, rows in given.items()
        }
        try:
            kept.step(arguments)
        except AdalogError as error:
            return f"an error later: {error.code}"
    return "maintained"


@settings(max_examples=examples(25))
@given(SEEDS)
def test_kept_relations_are_those_of_a_fixpoint_from_nothing(seed):
    rng = Random(seed)
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        for text in (transaction(rng), graph(rng)):
            database.transact(text)
        for _ in range(4):
            asked = program(rng)
            # How much may go before all is derived afresh, and how little of what went is worth clearing away.
            with (
                patch("adalog.executor.follow.stratum._FEW", rng.choice((1_000, 1_000, 0, 2))),
                patch("adalog.executor.facts.maintained._FEW", rng.choice((1_000, 2))),
                patch("adalog.store.checkpoint.compactor._LEAST", 1),
            ):
                event(followed(rng, database, asked, rng.choice(SWITCHES)))
