"""Which variables a clause shows to the clauses around it."""

from __future__ import annotations

from adalog.datalog import ast


def variables_of(clause: ast.Clause, *, inside_not: bool = True) -> frozenset[str]:
    """The names of a clause's free variables: of an or-join and a not-join those they list.

    Without `inside_not` those that only a `not` mentions are left out.
    """
    match clause:
        case ast.Pattern():
            return _terms(clause.terms)
        case ast.Predicate() | ast.RuleCall():
            return _terms(clause.args)
        case ast.Function():
            return _terms(clause.args) | _bound(clause.binding)
        case ast.Not() | ast.NotJoin() if not inside_not:
            return frozenset()
        case ast.And() | ast.Not():
            return frozenset().union(*(variables_of(each, inside_not=inside_not) for each in clause.clauses))
        case ast.Or():
            return frozenset().union(*(variables_of(each, inside_not=inside_not) for each in clause.branches))
        case ast.OrJoin():
            return frozenset(v.name for v in (*clause.required, *clause.variables))
        case ast.NotJoin():
            return frozenset(v.name for v in clause.variables)


def occurring(query: ast.Query) -> frozenset[str]:
    """The names of the variables that :where or :in can bind."""
    inputs = (_bound(each.binding) for each in query.inputs if isinstance(each, ast.BindingInput))
    return frozenset().union(*inputs, *(variables_of(clause) for clause in query.where))


def _terms(terms: tuple[ast.Term | ast.Source, ...]) -> frozenset[str]:
    names: set[str] = set()
    for term in terms:
        if isinstance(term, ast.LookupRef):
            term = term.value
        if isinstance(term, ast.Var):
            names.add(term.name)
    return frozenset(names)


def _bound(binding: ast.Binding) -> frozenset[str]:
    if isinstance(binding, ast.ScalarBinding | ast.CollectionBinding):
        return _terms((binding.target,))
    return _terms(binding.targets)
