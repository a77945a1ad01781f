"""Runs conjunctions of clauses for given values of some of their variables, over what a query reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from adalog.datalog import ast
from adalog.datalog.errors import Position
from adalog.datalog.names import names_in
from adalog.executor.answer.result import sorted_rows
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.caution import cautiously
from adalog.executor.evaluation.local import run_join
from adalog.executor.facts.facts import DerivedRelation
from adalog.executor.join.batch import Batch, Column
from adalog.executor.question.inputs import bind_inputs, constant_codes
from adalog.planner.model.plan import Options, Plan
from adalog.store.snapshot.snapshot import Snapshot

GIVEN: Final = "$given"
"""The list of one row in which some variables have values."""

Row = Mapping[str, int]
"""The codes of variables."""


PlanPart = Callable[[ast.Query, Mapping[str, int], Options], Plan]
"""Plans a query over lists of these sizes."""


@dataclass
class Bodies:
    """`databases` and `relations`: by the names of their sources; the relations are codes. `rules`: those that
    clauses may call. `ordered`: which rows come first depends on their values alone, not on plans."""

    rules: tuple[ast.Rule, ...]
    databases: Mapping[str, Snapshot]
    relations: dict[str, Sequence[Column] | DerivedRelation]
    run: QueryRun
    plan: PlanPart
    ordered: bool = False
    plans: dict[Hashable, Plan] = field(default_factory=dict)

    def rows(
        self, clauses: Sequence[ast.Clause], given: Row, most: int | None = None, heights: Collection[str] = ()
    ) -> list[dict[str, int]]:
        """Rows of the variables for which clauses hold; `most`: no more than so many of them. `heights`: of
        variables that are heights, so that the highest is as low as it can be."""
        found = self._found(clauses, given, None if heights else most)
        if heights and found.size > 1:
            highest = np.max([found.columns[name] for name in heights], axis=0)
            found = found.keep(highest == highest.min())
        columns = found.columns
        if self.ordered and most is not None and found.size > 1:
            order = sorted_rows(list(columns.values()), self.run.values, (), most, self.run.cancel)[:most]
            columns = {name: column[order] for name, column in columns.items()}
        lists = [column[:most].tolist() for column in columns.values()]
        return (
            [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
            if lists
            else [{}] * found.size
        )

    def columns(self, clauses: Sequence[ast.Clause], given: Row) -> Mapping[str, Column]:
        """All rows of the variables for which clauses hold, as columns."""
        return self._found(clauses, given, None).columns

    def constants(self, call: ast.RuleCall) -> dict[Position | None, int]:
        """The codes of the constants of a call, by where they stand; in places of entities those of entities."""
        terms = [each for each in call.args if isinstance(each, ast.Const | ast.LookupRef)]
        if not terms:
            return {}
        plan = self._plan((call,), (), None, Options())
        codes = constant_codes(plan, self._default, self.run.values)
        return {term.position: codes[name] for name, term in plan.constants}

    @property
    def _default(self) -> Snapshot | None:
        return self.databases.get("$")

    def _found(self, clauses: Sequence[ast.Clause], given: Row, most: int | None) -> Batch:
        def ran(options: Options) -> Batch:
            return self._ran(tuple(clauses), given, most, options)

        return cautiously(Options(), ran, self.run.cancel)

    def _ran(self, clauses: tuple[ast.Clause, ...], given: Row, most: int | None, options: Options) -> Batch:
        plan = self._plan(clauses, tuple(given), most, options)
        snapshot = self._default or next(iter(self.databases.values()))
        inputs = bind_inputs(plan, self._arguments(plan.query), snapshot, self.run.values, self.run.cancel.check)
        inputs.databases.update(self.databases)
        inputs.relations |= self.relations  # type: ignore[arg-type]
        inputs.relations[GIVEN] = [np.array([code], np.int64) for code in given.values()]
        return run_join(plan, inputs, self.run.on_one_thread, most=None, whole=self.ordered or most is None).rows

    def _arguments(self, query: ast.Query) -> list[object]:
        names = [each.name for each in query.inputs[1:] if isinstance(each, ast.SourceInput)]
        return [self.databases.get(name, ()) for name in names]

    def _plan(
        self, clauses: tuple[ast.Clause, ...], given: tuple[str, ...], most: int | None, options: Options
    ) -> Plan:
        key = clauses, given, most, options.cautious
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = self._planned(clauses, given, most, options)
        return plan

    def _planned(
        self, clauses: tuple[ast.Clause, ...], given: tuple[str, ...], most: int | None, options: Options
    ) -> Plan:
        names = dict.fromkeys((*given, *names_in(clauses)))
        first = (ast.Pattern(ast.Source(GIVEN), tuple(map(ast.Var, given))),) if given else ()
        lists = [*self.relations, *((GIVEN,) if given else ())]
        sources = dict.fromkeys(("$", *self.databases, *lists))
        query = ast.Query(
            find=ast.Find(tuple(ast.FindVar(ast.Var(name)) for name in names)),
            with_=(),
            inputs=tuple(map(ast.SourceInput, sources)),
            where=(*first, *clauses),
            rules=self.rules,
            limit=most,
        )
        sizes = {name: _size(held) for name, held in self.relations.items()} | {GIVEN: 1}
        return self.plan(query, {name: sizes[name] for name in lists}, options)


def _size(held: Sequence[Column] | DerivedRelation) -> int:
    return len(held) if isinstance(held, DerivedRelation) else len(held[0]) if held else 0
