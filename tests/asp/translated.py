"""A query, its rules and its data as an answer set program, solved by clingo.

A value is a term: a number as it is, anything else `c(number)`. A variable of Datalog is one of the program; `dom`,
the values there are, guards it, since clingo wants every variable bound in each rule. What nests becomes a
predicate over the variables it shares with the clauses around it, with one rule for each branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import clingo

from adalog.datalog import ast
from adalog.datalog.values import identity

Row = tuple[Any, ...]
COMPARISONS = {"<": "<", ">": ">", "<=": "<=", ">=": ">="}
EQUALITIES = {"=": "=", "not=": "!=", "!=": "!="}


class Untranslatable(Exception):
    """A part of the language that this page does not speak."""


def solved(query: ast.Query, datoms: Iterable[Row], args: Sequence[Any]) -> set[Row]:
    """The distinct tuples of the query's find and `:with` variables; `args` for its bindings."""
    program = Program()
    for entity, attribute, value in datoms:
        program.rules.append(f"d({program.term(entity)},{program.term(attribute)},{program.term(value)}).")
    for rule in query.rules:
        head = (*rule.required, *rule.args)
        names = [var.name for var in head]
        body = program.body(rule.clauses, set(names))
        program.rule(
            f"{predicate(rule.name)}({','.join(map(variable, names))})", {*names, *mentioned(rule.clauses)}, body
        )
    answer = list(dict.fromkeys([*(each.var.name for each in query.find.elements), *(v.name for v in query.with_)]))
    bindings = [each.binding for each in query.inputs if isinstance(each, ast.BindingInput)]
    if len(bindings) != len(args):
        raise Untranslatable(query.inputs)
    given = [program.given(*pair, number) for number, pair in enumerate(zip(bindings, args, strict=True))]
    inputs = {target.name for binding in bindings for target in targets(binding) if isinstance(target, ast.Var)}
    body = [*given, *program.body(query.where, inputs)]
    program.rule(f"answer({','.join(map(variable, answer))})", {*answer, *inputs, *mentioned(query.where)}, body)
    return program.solve()


class Program:
    """The rules so far, and the values that have a term."""

    def __init__(self) -> None:
        self.rules: list[str] = []
        self.values: dict[Any, Any] = {}
        self.fresh = 0

    def term(self, value: Any) -> str:
        key = identity(value)
        self.values.setdefault(key, value)
        return str(value) if type(value) is int else f"c({list(self.values).index(key)})"

    def rule(self, head: str, names: Iterable[str], body: Iterable[str]) -> None:
        guards = [f"dom({variable(name)})" for name in sorted(names)]
        self.rules.append(f"{head} :- {', '.join([*guards, *body, 'dom(_)'])}.")

    def solve(self) -> set[Row]:
        terms = {self.term(value): value for value in list(self.values.values())}
        facts = [f"dom({term})." for term in terms]
        facts += [f"int({term})." for term, value in terms.items() if type(value) is int]
        control = clingo.Control(["--warn=none"])
        control.add("base", [], "\n".join([*facts, *self.rules, "#show answer/0."]))
        control.ground([("base", [])])
        found: list[set[Row]] = []
        control.solve(
            on_model=lambda model: found.append(
                {
                    tuple(terms[str(argument)] for argument in atom.arguments)
                    for atom in model.symbols(atoms=True)
                    if atom.name == "answer"
                }
            )
        )
        (rows,) = found
        return rows

    def given(self, binding: Any, value: Any, number: int) -> str:
        """An input as a predicate over its places, a fact for each row."""
        several = isinstance(binding, ast.CollectionBinding | ast.RelationBinding)
        for row in value if several else [value]:
            places = row if isinstance(binding, ast.TupleBinding | ast.RelationBinding) else [row]
            self.rules.append(f"in{number}({','.join(map(self.term, places))}).")
        return f"in{number}({','.join(map(self.place, targets(binding)))})"

    def place(self, term: Any) -> str:
        match term:
            case ast.Var():
                return variable(term.name)
            case ast.Blank():
                return "_"
            case ast.Const():
                return self.term(term.value)
        raise Untranslatable(term)

    def body(self, clauses: Sequence[Any], outside: set[str]) -> list[str]:
        """Literals that say what the clauses say. `outside`: the variables of the clauses around them."""
        visible = outside | mentioned(clauses)
        return [literal for clause in clauses for literal in self.literals(clause, visible)]

    def literals(self, clause: Any, visible: set[str]) -> Iterator[str]:
        match clause:
            case ast.Pattern(terms=(_, ast.Const(), *_)):
                terms = [*clause.terms, *[ast.Blank()] * 3][:3]
                yield f"d({','.join(map(self.place, terms))})"
            case ast.Predicate(name=name) if name in COMPARISONS:
                first, second = map(self.place, clause.args)
                yield from (f"int({first})", f"int({second})", f"{first} {COMPARISONS[name]} {second}")
            case ast.Predicate():
                yield f" {EQUALITIES[clause.name]} ".join(map(self.place, clause.args))
            case ast.Function(name="identity"):
                yield f"{self.place(clause.binding.target)} = {self.place(clause.args[0])}"
            case ast.Function(name="ground", binding=ast.CollectionBinding()):
                found = ";".join(map(self.term, clause.args[0].value))
                yield f"{self.place(clause.binding.target)} = ({found})"
            case ast.RuleCall():
                yield f"{predicate(clause.name)}({','.join(map(self.place, clause.args))})"
            case ast.And():
                yield from self.body(clause.clauses, visible)
            case ast.Or():
                shared = mentioned([clause], denied=True) & visible
                yield self.apart([branch.clauses for branch in clause.branches], shared, visible)
            case ast.OrJoin():
                shared = {each.name for each in (*clause.required, *clause.variables)}
                yield self.apart([branch.clauses for branch in clause.branches], shared, shared)
            case ast.Not():
                shared = mentioned([clause], denied=True) & visible
                yield f"not {self.apart([clause.clauses], shared, shared)}"
            case ast.NotJoin():
                shared = {each.name for each in clause.variables}
                if not shared <= visible:
                    raise Untranslatable(clause)
                yield f"not {self.apart([clause.clauses], shared, shared)}"
            case _:
                raise Untranslatable(clause)

    def apart(self, branches: Sequence[Sequence[Any]], shared: set[str], visible: set[str]) -> str:
        """A predicate over the shared variables that holds where one of the branches does."""
        self.fresh += 1
        head = f"n{self.fresh}({','.join(map(variable, sorted(shared)))})"
        for branch in branches:
            self.rule(head, {*shared, *mentioned(branch)}, self.body(branch, visible))
        return head


def variable(name: str) -> str:
    return "V" + written(name)


def predicate(name: str) -> str:
    return "r" + written(name)


def written(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name)


def targets(binding: Any) -> Sequence[Any]:
    return binding.targets if hasattr(binding, "targets") else (binding.target,)


def mentioned(clauses: Iterable[Any], *, denied: bool = False) -> set[str]:
    """The variables of clauses that those around them see too; with `denied` also those within a `not`."""
    found: set[str] = set()
    for clause in clauses:
        match clause:
            case ast.Pattern():
                found |= names(clause.terms)
            case ast.Predicate() | ast.RuleCall():
                found |= names(clause.args)
            case ast.Function():
                found |= names([*clause.args, *targets(clause.binding)])
            case ast.And():
                found |= mentioned(clause.clauses, denied=denied)
            case ast.Or():
                found |= mentioned(clause.branches, denied=denied)
            case ast.OrJoin():
                found |= names([*clause.required, *clause.variables])
            case ast.Not() if denied:
                found |= mentioned(clause.clauses, denied=True)
            case ast.NotJoin() if denied:
                found |= names(clause.variables)
    return found


def names(terms: Iterable[Any]) -> set[str]:
    return {term.name for term in terms if isinstance(term, ast.Var)}
