"""Queries within a query: each has a plan of its own inside the outer plan, made once.

The inner query becomes one whose inputs are all scalars: what takes an argument apart is a clause of its body. So
any number of argument tuples can be its first batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from adalog.datalog import ast
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.names import targets
from adalog.datalog.pull import PullPattern, PullQuery
from adalog.planner.model.logical import PulledQuery, Subquery
from adalog.planner.model.plan import Plan

PlanInner = Callable[[ast.Query, tuple[tuple[str, str], ...]], Plan]


def subquery_of(
    query: ast.Query, arguments: Sequence[ast.Argument], source: str, plan: PlanInner
) -> tuple[Subquery, tuple[ast.Term, ...]]:
    """(the query that is called, its arguments that are values). `arguments`: of its first inputs. `source`: what
    `$` is at the call."""
    sources: list[tuple[str, str]] = []
    values: list[ast.Term] = []
    inputs = [each for each in query.inputs if not isinstance(each, ast.RulesInput)]
    for each, argument in zip(inputs, arguments, strict=False):
        if isinstance(each, ast.SourceInput):
            assert isinstance(argument, ast.Source)
            sources.append((each.name, source if argument.name == "$" else argument.name))
        else:
            assert not isinstance(argument, ast.Source | ast.Expression)
            values.append(argument)
    return _subquery(query, tuple(sources), plan), tuple(values)


def pulled_queries(query: ast.Query, plan: PlanInner) -> Iterator[PulledQuery]:
    """The queries in the pull patterns that a query writes out, each with its plan."""
    for element in query.find.elements:
        if isinstance(element, ast.FindPull) and isinstance(element.pattern, PullPattern):
            yield from queries_of(element.pattern, element.source.name, plan)


def queries_of(pattern: PullPattern, source: str, plan: PlanInner) -> Iterator[PulledQuery]:
    """The queries in a pattern that is pulled from a source."""
    for asked in pattern.all_queries():
        inner = query_in(asked)
        named = (each.name for each in inner.inputs if isinstance(each, ast.SourceInput))
        sources = tuple((name, source if name == "$" else name) for name in named)
        yield PulledQuery(source, asked, _subquery(inner, sources, plan))


def query_in(asked: PullQuery) -> ast.Query:
    """The query, of which the pattern around it knows as little as it can."""
    assert isinstance(asked.query, ast.Query)
    return asked.query


def _subquery(query: ast.Query, sources: tuple[tuple[str, str], ...], plan: PlanInner) -> Subquery:
    flat = with_scalar_inputs(query)
    bound = (targets(each.binding) for each in flat.inputs if isinstance(each, ast.BindingInput))
    names = tuple(target.name for each in bound for target in each if isinstance(target, ast.Var))
    return Subquery(query, sources, names, plan(flat, sources))


def planned_within(plan: Callable[[], Plan]) -> Plan:
    """The inner plan. What nothing binds there may well be bound outside, which the refusal says does not count."""
    try:
        return plan()
    except AdalogError as error:
        if error.code is not Code.UNBOUND_VARIABLE:
            raise
        message = f"{error.message}; a query within the query sees of the outer one what its own :in takes"
        raise AdalogError(error.code, message, error.position) from error


def with_scalar_inputs(query: ast.Query) -> ast.Query:
    """The query with a variable for each input: `[(identity input) binding]` takes apart what is none.

    >>> from adalog.datalog.parsing.parser import parse_query
    >>> flat = with_scalar_inputs(parse_query("[:find ?x :in $ [?x ...] :where [(pos? ?x)]]"))
    >>> [each.binding.target.name for each in flat.inputs[1:]], flat.where[0].name
    (['in 1'], 'identity')
    """
    inputs: list[ast.Input] = []
    clauses: list[ast.Clause] = []
    for place, each in enumerate(query.inputs):
        if isinstance(each, ast.BindingInput):
            binding = each.binding
            if not (isinstance(binding, ast.ScalarBinding) and isinstance(binding.target, ast.Var)):
                # No symbol has a space in it, so that no variable of the query is meant.
                whole = ast.Var(f"in {place}", position=each.position)
                clauses.append(ast.Function("identity", (whole,), binding, position=each.position))
                each = ast.BindingInput(ast.ScalarBinding(whole), position=each.position)
        inputs.append(each)
    return replace(query, inputs=tuple(inputs), where=(*clauses, *query.where))
