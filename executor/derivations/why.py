"""Why a row is in the answer of a query, or why it is not."""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Final

import numpy as np

from adalog.datalog import ast
from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError, invalid_argument
from adalog.datalog.names import bound_by, names_in, targets
from adalog.datalog.parsing.parser import RULES
from adalog.datalog.values import Keyword
from adalog.executor.answer.result import sorted_rows
from adalog.executor.bounds.run import QueryRun
from adalog.executor.derivations.bodies import Bodies, PlanPart
from adalog.executor.derivations.derivation import Derivations, Reason
from adalog.executor.derivations.heights import measured, transitive
from adalog.executor.derivations.tabled import table_of
from adalog.executor.derivations.texts import Texts
from adalog.executor.evaluation.caution import cautiously
from adalog.executor.evaluation.fixpoint import Fixpoint
from adalog.executor.evaluation.local import join_over, run_join, shape_result
from adalog.executor.facts.facts import FactRows, Relations, whole
from adalog.executor.join.batch import Batch, Column
from adalog.executor.question.arguments import UNBOUND, GivenArgument, settled
from adalog.executor.question.inputs import Inputs, bind_inputs, numbered, sizes_of
from adalog.executor.question.question import Question
from adalog.planner.model.plan import Options, Plan
from adalog.planner.order.statistics import Statistics
from adalog.planner.scope.attribute_entities import with_attribute_entities
from adalog.store.values.layout import NIL
from adalog.store.values.scalars import keyword


def why(
    question: Question, plan: Plan, cells: Sequence[GivenArgument], run: QueryRun, plan_part: PlanPart
) -> Reason:
    """A derivation of a row; if there is none, the first clause that no row passes. `plan`: of the question.
    `cells`: what is given for the elements of `:find`. Raises ARG_INVALID for another number of them."""
    elements = question.query.find.elements
    if len(cells) != len(elements):
        raise invalid_argument(f"row has {len(cells)} cells, but :find has {len(elements)} columns")
    asking = _Asking(_with_tied_attributes(question), plan, cells, run, plan_part)
    return cautiously(Options(), asking.reason, run.cancel)


Candidates = Mapping[str, Sequence[int]]
"""The codes that what is given for a variable may mean, the likeliest first."""

_MOST_READINGS: Final = 64


@dataclass
class _Asking:
    question: Question
    plan: Plan
    cells: Sequence[GivenArgument]
    run: QueryRun
    plan_part: PlanPart

    def reason(self, options: Options) -> Reason:
        query = self.question.query
        recursive = measured(query)
        row = self._row()
        own = _given_by(query.inputs)
        known = {
            name: codes
            for name, codes in row.items()
            if codes[0] != NIL and (name in own or any(name in bound_by(clause) for clause in query.where))
        }
        given = {name: codes for name, codes in known.items() if name not in own}
        differs = self._aggregates(known, given, options) if query.find.has_aggregates else None
        names = dict.fromkeys((*row, *names_in(query.where)))
        plan, inputs = self._planned(_all_rows(query, tuple(names)), given, replace(options, turn=False))
        relations: Relations = inputs.relations
        tables: dict[str, FactRows] = {}
        if plan.program.strata and inputs.start is not None:
            fixpoint = Fixpoint(plan, inputs, inputs.start, self.run, numbered=True)
            relations = fixpoint.relations_read()
            tables = _tables(fixpoint, recursive)
        rows = join_over(plan, inputs, relations, self.run, most=None, whole=True).rows
        rows = _equal(rows, {name: codes for name, codes in row.items() if name not in given})
        bodies = self._bodies(inputs)
        if not rows.size:
            columns = {} if inputs.start is None else dict(inputs.start.columns)
            first = {name: int(codes[0]) for name, codes in columns.items() if name in names}
            first |= {name: codes[0] for name, codes in known.items()}
            failed = Derivations(bodies, self._texts).failing((*self._lists(), *query.where), first)
            apart = {"why": "each column is there, but no row has all of them"}
            return {"holds": False, **(failed or apart)}
        if differs is not None:
            return {"holds": False, "why": differs}
        derivations = Derivations(bodies, self._texts, recursive, tables, transitive(query))
        witness = self._first(rows)
        steps = derivations.steps(query.where, witness)
        return {"holds": True, "rows": rows.size, "with": derivations.shown(witness), "steps": steps}

    def _row(self) -> dict[str, list[int]]:
        """The codes that what is given for variables of `:find` may mean: what it is as an argument, and what it is
        by itself."""
        elements = self.question.query.find.elements
        given: dict[str, GivenArgument] = {}
        for element, cell in zip(elements, self.cells, strict=True):
            if isinstance(element, ast.FindVar):
                given.setdefault(element.var.name, cell)
            elif isinstance(element, ast.FindPull) and (entity := _entity_of(cell)) is not None:
                given.setdefault(element.var.name, entity)
        query = self.question.query
        wanted = _scalars(given)
        pairs = [(query.inputs[0], None), *zip(wanted, given.values(), strict=True)]
        values = settled(self.question.outline, pairs, self.question.snapshot).args
        asked = replace(query, inputs=(query.inputs[0], *wanted), args=())
        bound = bind_inputs(
            replace(self.plan, query=asked, constants=()), values, self.question.snapshot, self.run.values
        )
        assert bound.start is not None
        codes = {name: int(column[0]) for name, column in bound.start.columns.items()}
        return {name: list(dict.fromkeys((codes[name], *self._by_itself(cell)))) for name, cell in given.items()}

    def _by_itself(self, cell: GivenArgument) -> Iterator[int]:
        value = cell.value
        yield self.run.values.intern(value)
        if cell.json and isinstance(value, str) and value.startswith(":"):
            with suppress(AdalogError):
                yield self.run.values.intern(keyword(value))

    def _aggregates(self, known: Candidates, given: Candidates, options: Options) -> str | None:
        """How the row of a group differs from what is known of it, if there is one that differs."""
        query = numbered(self.question.query, self.question.args)
        plan, inputs = self._planned(replace(query, order_by=(), limit=None, offset=0), given, options)
        rows = run_join(plan, inputs, self.run, most=None, whole=True).rows
        rows = _equal(rows, {name: codes for name, codes in known.items() if name in rows.columns})
        result = shape_result(
            plan, rows, self.run.values, self.run.cancel, t=0, engine="", started=0.0, ordered=False
        )
        if not len(result):
            return "the group is left out by :having" if query.having else None
        columns = zip(query.find.elements, self.cells, result.codes, strict=True)
        shown = [
            f"{element.label} is {write(value)}"
            for element, cell, codes in columns
            if isinstance(element, ast.FindAggregate | ast.FindExpression)
            and not _same(value := self.run.values.decode(int(codes[0])), cell.value)
        ]
        return f"of this group {' and '.join(shown)}" if shown else None

    def _planned(self, query: ast.Query, given: Candidates, options: Options) -> tuple[Plan, Inputs]:
        """The plan of a query that is also given some variables, and what it reads."""
        question = self.question
        args = (*question.args, *[UNBOUND] * len(given))
        query = replace(query, inputs=(*query.inputs, *_scalars(given)), args=())
        sizes = sizes_of(query, args)
        plan = self.plan_part(query, dict.fromkeys(sorted(question.relations), 1) | sizes, options)
        inputs = bind_inputs(plan, args, question.snapshot, self.run.values, self.run.cancel.check)
        inputs.databases = {**inputs.databases, **question.databases}
        if given and inputs.start is not None:
            readings = np.array(_combined(given.values()), np.int64)
            columns = {name: np.repeat(column, len(readings)) for name, column in inputs.start.columns.items()}
            inputs.start = Batch(len(readings), columns | dict(zip(given, readings.T.copy(), strict=True)))
        return plan, inputs

    def _bodies(self, inputs: Inputs) -> Bodies:
        rules, ordered = self.question.query.rules, self.question.is_guarded
        return Bodies(rules, inputs.databases, dict(inputs.relations), self.run, self.plan_part, ordered)

    def _lists(self) -> list[ast.Clause]:
        """What collections and relations of `:in` say, as clauses."""
        found: list[ast.Clause] = []
        for place, each in enumerate(self.question.query.inputs):
            match each.binding if isinstance(each, ast.BindingInput) else None:
                case ast.CollectionBinding() as binding:
                    terms: tuple[ast.Term, ...] = (binding.target,)
                case ast.RelationBinding() as binding:
                    terms = binding.targets
                case _:
                    continue
            found.append(ast.Pattern(ast.Source(f"in {place}"), terms, position=binding.position))
        return found

    def _first(self, rows: Batch) -> dict[str, int]:
        columns = list(rows.columns.values())
        if not columns:
            return {}
        place = int(sorted_rows(columns, self.run.values, (), 1, self.run.cancel)[0])
        return {name: int(column[place]) for name, column in rows.columns.items()}

    @cached_property
    def _texts(self) -> Texts:
        rules = self.question.rules
        return Texts({"": self.question.text} | ({} if rules is None else {RULES: rules}))


def _with_tied_attributes(question: Question) -> Question:
    """The question with the entities of attributes tied to them. Its scopes say which variables these are, and
    clauses are looked at without the scope around them."""
    is_ref = Statistics(question.databases, {}).is_ref
    query = with_attribute_entities(question.query, question.relations, is_ref)
    return replace(question, outline=replace(question.outline, query=query))


def _scalars(names: Iterable[str]) -> tuple[ast.BindingInput, ...]:
    return tuple(ast.BindingInput(ast.ScalarBinding(ast.Var(name))) for name in names)


def _all_rows(query: ast.Query, names: Sequence[str]) -> ast.Query:
    """The query for all rows of its clauses."""
    find = ast.Find(tuple(ast.FindVar(ast.Var(name)) for name in names))
    return replace(query, find=find, with_=(), order_by=(), having=(), limit=None, offset=0)


def _tables(fixpoint: Fixpoint, recursive: Container[str]) -> dict[str, FactRows]:
    """The facts that a plan's recursive rules derived, each with its height."""
    found: dict[str, list[list[Column]]] = {}
    for each in fixpoint.plan.program.relations:
        name, _, source = each.rule.partition("@")
        if name in recursive and not each.magic:
            columns = whole(fixpoint.relations[each.name]) or [np.empty(0, np.int64)] * each.arity
            columns = [*columns, fixpoint.round_of[each.name]]
            found.setdefault(table_of(name, source or "$"), []).append(columns)
    return {
        name: FactRows([np.concatenate(column) for column in zip(*parts, strict=True)])
        for name, parts in found.items()
    }


def _combined(candidates: Collection[Sequence[int]]) -> list[tuple[int, ...]]:
    """All ways to read a row, or the first one of each cell if there are too many."""
    if math.prod(map(len, candidates)) > _MOST_READINGS:
        return [tuple(codes[0] for codes in candidates)]
    return list(product(*candidates))


def _equal(rows: Batch, given: Candidates) -> Batch:
    """The rows in which each variable has one of its codes."""
    for name, codes in given.items():
        rows = rows.keep(np.isin(rows.columns[name], codes))
    return rows


def _given_by(inputs: Iterable[ast.Input]) -> frozenset[str]:
    bindings = (each.binding for each in inputs if isinstance(each, ast.BindingInput))
    return frozenset(each.name for binding in bindings for each in targets(binding) if isinstance(each, ast.Var))


def _entity_of(cell: GivenArgument) -> GivenArgument | None:
    """The entity that a cell of a pull names, or shows; None for what was pulled without its number."""
    if cell.value is None:
        return None
    get = getattr(cell.value, "get", None)
    if get is None:
        return cell
    value = get("db/id", get(":db/id", get(Keyword("db/id"))))
    return None if value is None else GivenArgument(value, json=cell.json)


def _same(value: Any, cell: Any) -> bool:
    return bool(value == cell) or str(value) == str(cell) or write(value) == str(cell)
