"""From the parsed query to the logical tree: scopes resolved, bindings taken apart, variables renamed apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from adalog.datalog import ast
from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError, Code, Position
from adalog.datalog.names import names_in, targets
from adalog.datalog.values import Keyword
from adalog.datalog.watched import look
from adalog.planner.model import logical
from adalog.planner.model.logical import COMPARISONS, AndNode, Node, Term, everything, variables
from adalog.planner.model.names import unique_name
from adalog.planner.model.nested import PlanInner, subquery_of
from adalog.planner.model.program import Branch, RulePredicate
from adalog.planner.scope.calls import CallScoping
from adalog.planner.scope.outer_conditions import Surroundings, narrowed
from adalog.planner.scope.resolve import plain_value
from adalog.planner.scope.rulebook import RuleBook

Scope = dict[str, str]
"""The unique name of each variable that is visible by its written name."""


@dataclass
class Scoping:
    """Builds the tree. `relations` are the sources given as lists of tuples; every other source is a database.

    `called`: the rules that became relations, each with its default source, by the name of their relation.
    `constants`: the variables that stand for the constants of rule calls, which are values like arguments.
    `callers`: the first rule call that a variable is passed to. `written`: what the variables that it named are
    called in the text.
    `linear`: a closure defined by joining it with itself is walked step by step.
    `given`: the variables that have one value, if queries within are told what is asked of their columns.
    """

    rules: RuleBook
    plan_inner: PlanInner
    relations: frozenset[str] = frozenset()
    linear: bool = True
    given: frozenset[str] | None = None
    called: dict[str, tuple[str, str]] = field(default_factory=dict, init=False)
    constants: dict[str, ast.Const | ast.LookupRef] = field(default_factory=dict, init=False)
    callers: dict[str, tuple[str, Position | None]] = field(default_factory=dict, init=False)
    places: dict[str, Position | None] = field(default_factory=dict, init=False)
    written: dict[str, str] = field(default_factory=dict, init=False)
    _fresh: int = field(default=0, init=False)
    _around: tuple[Surroundings, ...] = field(default=(), init=False)

    def fresh(self, name: str) -> str:
        self._fresh += 1
        unique = unique_name(name, self._fresh)
        self.written[unique] = self.written.get(name, name)
        return unique

    def rename(self, clauses: Iterable[ast.Clause], scope: Scope) -> None:
        """Gives the variables of a local scope that are not in it yet names of their own."""
        for name, position in names_in(clauses, inside_not=True).items():
            if name not in scope:
                scope[name] = unique = self.fresh(name)
                self.places[unique] = position

    def conjunction(
        self, clauses: Iterable[ast.Clause], scope: Scope, outside: frozenset[str], source: str = "$"
    ) -> AndNode:
        """`outside`: the written names that clauses around this conjunction mention."""
        clauses = tuple(clauses)
        visible = outside.union(names_in(clauses))
        around = self._around
        self._around = (*around, Surroundings(clauses, scope))
        items = tuple(_once(item for each in clauses for item in self.clause(each, scope, visible, source)))
        self._around = around
        return AndNode(items)

    def clause(self, clause: ast.Clause, scope: Scope, visible: frozenset[str], source: str) -> Iterable[Node]:
        look()
        match clause:
            case ast.Pattern():
                return self.pattern(clause, scope, source)
            case ast.Predicate():
                return self.predicate(clause, scope, source)
            case ast.Function():
                return self.function(clause, scope, source)
            case ast.And():
                return self.conjunction(clause.clauses, scope, visible, source).items
            case ast.Or():
                branches = tuple(self.conjunction(b.clauses, scope, visible, source) for b in clause.branches)
                return [self.disjunction(branches, frozenset(), scope, clause.position)]
            case ast.OrJoin():
                return [self.or_join(clause, scope, source)]
            case ast.Not():
                mentioned = names_in(clause.clauses, inside_not=True)
                shared = mentioned.keys() & visible
                if mentioned and not shared:
                    name, position = next(iter(mentioned.items()))
                    message = (
                        "this not shares no variable with the clauses around it, so it says nothing about them: "
                        f"bind {name} (or another of its variables) outside the not"
                    )
                    raise AdalogError(Code.UNBOUND_VARIABLE, message, clause.position or position)
                return [self.negation(clause, scope, shared, source)]
            case ast.NotJoin():
                for variable in clause.variables:
                    if variable.name not in visible:
                        message = f"not-join joins on {variable.name}, which no clause around it binds"
                        at = variable.position or clause.position
                        raise AdalogError(Code.UNBOUND_VARIABLE, message, at)
                return [self.negation(clause, scope, (each.name for each in clause.variables), source)]
            case ast.RuleCall():
                return self.rule_call(clause, scope, source)

    def term(self, term: ast.Term, scope: Scope, source: str, extra: list[Node]) -> Term:
        match term:
            case ast.Var():
                return scope[term.name]
            case ast.Blank():
                return None
            case ast.LookupRef(value=ast.Var() as variable):
                entity = self.fresh("entity")
                value = scope[variable.name]
                extra.append(logical.DatomAtom(source, entity, term.attribute, value, position=term.position))
                return entity
            case _:
                return term

    def argument(
        self, argument: ast.Term | ast.Source, scope: Scope, source: str, extra: list[Node]
    ) -> Term | ast.Source:
        if isinstance(argument, ast.Source):
            return argument if argument.name != "$" else ast.Source(source, position=argument.position)
        if isinstance(argument, ast.Blank):
            raise AdalogError(Code.QUERY_INVALID, "an argument cannot be _: name a variable", argument.position)
        return self.term(argument, scope, source, extra)

    def calls(self, scope: Scope, source: str, extra: list[Node]) -> CallScoping:
        return CallScoping(lambda each: self.argument(each, scope, source, extra), self.fresh, extra)

    def predicate(self, clause: ast.Predicate, scope: Scope, source: str) -> list[Node]:
        extra: list[Node] = []
        calls = self.calls(scope, source, extra)
        if clause.name in COMPARISONS:
            # What compares variables finds their values.
            args, tree = calls.flat(clause.args), None
        else:
            args, tree = calls.arguments(clause)
        name = clause.name if tree is None else logical.TREE
        return [*extra, logical.PredicateAtom(name, args, clause.position, tree=tree)]

    def pattern(self, clause: ast.Pattern, scope: Scope, source: str) -> list[Node]:
        name = source if clause.source.name == "$" else clause.source.name
        extra: list[Node] = []
        terms = [self.term(term, scope, name, extra) for term in clause.terms]
        if name in self.relations:
            return [logical.RelationAtom(name, tuple(terms), clause.position, given=True)]
        entity, attribute, value, tx, added = terms + [None] * (5 - len(terms))
        return [*extra, logical.DatomAtom(name, entity, attribute, value, tx, added, position=clause.position)]

    def function(self, clause: ast.Function, scope: Scope, source: str) -> list[Node]:
        nodes: list[Node] = []
        binding = clause.binding
        subquery, given = None, clause.args
        narrow: tuple[str, ...] = ()
        if clause.query is not None:
            query = clause.query
            if self.given is not None:
                # What the conjunction does not mention is unbound in it where it is a negation's.
                mentioned = frozenset(scope[name] for name in names_in(self._around[-1].clauses))
                given_here = self.given & mentioned
                query, narrow = narrowed(query, binding, scope, self._around, given_here, self.constants)
            subquery, given = subquery_of(query, clause.args, source, self.plan_inner)
        args, tree = self.calls(scope, source, nodes).arguments(replace(clause, args=given))
        args = (*args, *narrow)
        name = clause.name if tree is None else logical.TREE
        if subquery is not None and subquery.is_relation(binding) and not any(isinstance(a, str) for a in args):
            outs = tuple(scope[target.name] if isinstance(target, ast.Var) else None for target in targets(binding))
            called = replace(subquery, given=args)
            return [*nodes, logical.RelationAtom(self.fresh("q"), outs, clause.position, subquery=called)]
        if isinstance(binding, ast.ScalarBinding) and isinstance(binding.target, ast.Var):
            out = scope[binding.target.name]
            atom = logical.FunctionAtom(
                name, args, out, clause.position, subquery, tree=tree, keeps_nil=clause.keeps_nil
            )
            return [*nodes, atom]
        result = self.fresh(clause.name)
        nodes.append(logical.FunctionAtom(name, args, result, clause.position, subquery, tree=tree))
        if isinstance(binding, ast.CollectionBinding):
            target = binding.target
            out = scope[target.name] if isinstance(target, ast.Var) else self.fresh("_")
            nodes.append(logical.UnnestAtom(result, out, clause.position))
        elif isinstance(binding, ast.TupleBinding | ast.RelationBinding):
            row = result
            if isinstance(binding, ast.RelationBinding):
                row = self.fresh("row")
                nodes.append(logical.UnnestAtom(result, row, clause.position))
            for i, target in enumerate(binding.targets):
                if isinstance(target, ast.Var):
                    args = (row, ast.Const(i, ("long", i)))
                    nodes.append(logical.FunctionAtom("%nth", args, scope[target.name], clause.position))
        return nodes

    def disjunction(
        self, branches: tuple[AndNode, ...], required: frozenset[str], scope: Scope, position: Position | None
    ) -> logical.OrNode:
        """Finds out which variables only one branch knows: they are levels of that branch alone."""
        known = {*scope.values(), *self.constants}
        local = {name: i for i, branch in enumerate(branches) for name in variables(branch) if name not in known}
        return logical.OrNode(branches, required, tuple(sorted(local.items())), position=position)

    def or_join(self, clause: ast.OrJoin, scope: Scope, source: str) -> logical.OrNode:
        listed: Scope = {v.name: scope[v.name] for v in (*clause.required, *clause.variables)}
        branches = []
        around = self._around
        if isinstance(clause, ast.Optional):
            # What is asked of an optional value is asked of nil where there is none.
            self._around = ()
        for branch in clause.branches:
            mine = dict(listed)
            self.rename(branch.clauses, mine)
            branches.append(self.conjunction(branch.clauses, mine, frozenset(listed), source))
        self._around = around
        required = frozenset(scope[v.name] for v in clause.required)
        made = self.disjunction(tuple(branches), required, scope, clause.position)
        return replace(made, optional=True) if isinstance(clause, ast.Optional) else made

    def negation(
        self, clause: ast.Not | ast.NotJoin, scope: Scope, shared: Iterable[str], source: str
    ) -> logical.NotNode:
        mine: Scope = {name: scope[name] for name in shared}
        outer = set(mine.values())
        shared = frozenset(mine)
        self.rename(clause.clauses, mine)
        inner = self.conjunction(clause.clauses, mine, shared, source)
        return logical.NotNode(
            inner.items, tuple(sorted(outer | self.constants_in(inner))), position=clause.position
        )

    # Rules

    def rule_call(self, clause: ast.RuleCall, scope: Scope, source: str) -> list[Node]:
        """The rule's branches in the place of the call, or an atom where the rule is a relation of its own."""
        default = source if clause.source.name == "$" else clause.source.name
        nodes: list[Node] = []
        terms = tuple(self.passed(each, scope, default, nodes) for each in clause.args)
        for term in filter(None, terms):
            self.callers.setdefault(term, (clause.name, clause.position))
        if clause.name not in self.rules.inlined:
            terms = tuple(self.aggregated(clause, terms, nodes))
            name = clause.name if default == "$" else f"{clause.name}@{default}"
            self.called[name] = (clause.name, default)
            return [*nodes, logical.RuleAtom(name, terms, position=clause.position)]
        branches = self.rules.branches[clause.name]
        required = frozenset(term for term in terms[: len(branches[0].required)] if term is not None)
        bodies = tuple(self.inlined(rule, terms, default, clause) for rule in branches)
        # A constant that no body reads has no variable.
        read = frozenset[str]().union(*map(self.constants_in, bodies))
        required = frozenset(each for each in required if each in read or each not in self.constants)
        if len(bodies) == 1 and not required:
            return [*nodes, *bodies[0].items]
        known = {term: term for term in terms if term is not None}
        return [*nodes, replace(self.disjunction(bodies, required, known, clause.position), rule=clause.name)]

    def aggregated(
        self, clause: ast.RuleCall, terms: Sequence[str | None], nodes: list[Node]
    ) -> Iterator[str | None]:
        """The arguments for all places of a rule's head. What an aggregate of two variables gives is part of a
        pair."""
        for place, term in zip_longest(self.rules.branches[clause.name][0].head, terms):
            if term is None or isinstance(place, ast.Var) or not place.known.of_pairs:
                yield term
                continue
            pair = self.fresh(place.name)
            nodes.append(logical.FunctionAtom("%nth", (pair, ast.Const(1, ("long", 1))), term, clause.position))
            yield pair

    def passed(self, argument: ast.Term, scope: Scope, source: str, nodes: list[Node]) -> str | None:
        """An argument of a rule call: a variable's name, of a constant that of the variable it is the value of.

        Equal constants share a variable, idents and lookup refs excepted: their place says if they are entities.
        """
        term = self.term(argument, scope, source, nodes)
        if term is None or isinstance(term, str):
            return term
        if not (isinstance(term, ast.LookupRef) or isinstance(plain_value(term), Keyword)):
            for name, known in self.constants.items():
                if known == term:
                    return name
        name = self.fresh(write(plain_value(term)))
        self.constants[name] = term
        self.places[name] = term.position
        return name

    def constants_in(self, body: AndNode) -> frozenset[str]:
        if not self.constants:
            return frozenset()
        return frozenset(name for leaf in everything(body) for name in variables(leaf) if name in self.constants)

    def inlined(self, rule: ast.Rule, terms: Sequence[str | None], source: str, call: ast.RuleCall) -> AndNode:
        """A rule's body with the call's terms for the variables of its head."""
        mine: Scope = {}
        equal: list[Node] = []
        for i, (place, term) in enumerate(zip(rule.head, terms, strict=True)):
            assert isinstance(place, ast.Var), "a rule with aggregates is a relation"
            known = mine.setdefault(place.name, self.fresh(place.name) if term is None else term)
            if term is None:
                self.callers[known] = (rule.name, call.position)
                if i < len(rule.required):
                    what = f"the rule {rule.name} requires {place.name} to be bound at the call"
                    raise AdalogError(Code.UNBOUND_VARIABLE, f"{what}, and _ binds nothing", call.position)
            elif known != term:
                equal.append(logical.FunctionAtom("identity", (known,), term, rule.position))
        names = frozenset(mine)
        self.rename(rule.clauses, mine)
        return AndNode((*self.conjunction(rule.clauses, mine, names, source).items, *equal))

    def predicates(self) -> tuple[RulePredicate, ...]:
        """The rules that became relations, in the order in which they were first called."""
        found: dict[str, RulePredicate] = {}
        while waiting := [name for name in self.called if name not in found]:
            for name in waiting:
                rule, source = self.called[name]
                rules = self.rules.branches[rule]
                first, branches = rules[0], tuple(self.branches(rules, source))
                required = frozenset(range(len(first.required)))
                found[name] = RulePredicate(name, len(first.head), first.aggregates, branches, required)
        return tuple(found.values())

    def branches(self, rules: Sequence[ast.Rule], source: str) -> Iterator[Branch]:
        """The rules of one relation; `(p ?x ?z) (p ?z ?y)` becomes one more step of what else derives p."""
        squares = self.rules.squares(rules[0].name) if self.linear else ()
        others = [rule for rule in rules if rule not in squares]
        for rule in rules:
            branch = self.branch(rule, source)
            if rule in others:
                yield branch
                continue
            before, after = branch.body.items
            call = rule.clauses[1]
            assert isinstance(after, logical.RuleAtom)
            assert isinstance(call, ast.RuleCall)
            terms = [term for term in after.terms if isinstance(term, str)]
            for other in others:
                body = AndNode((before, *self.inlined(other, terms, source, call).items))
                yield Branch(branch.head, body, tuple(sorted(self.constants_in(body))))

    def branch(self, rule: ast.Rule, source: str) -> Branch:
        places = [place.var if isinstance(place, ast.FindAggregate) else place for place in rule.head]
        scope: Scope = {}
        for place in places:
            if place.name not in scope:
                scope[place.name] = unique = self.fresh(place.name)
                self.places[unique] = place.position or rule.position
        names = frozenset(scope)
        self.rename(rule.clauses, scope)
        body = self.conjunction(rule.clauses, scope, names, source)
        return Branch(tuple(scope[place.name] for place in places), body, tuple(sorted(self.constants_in(body))))


def _once(items: Iterable[Node]) -> Iterator[Node]:
    """Each data pattern and predicate once: to say it again adds nothing."""
    seen: set[Node] = set()
    for item in items:
        if isinstance(item, logical.DatomAtom | logical.PredicateAtom):
            if item in seen:
                continue
            seen.add(item)
        yield item
