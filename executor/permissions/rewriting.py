"""A question with its guards joined to its patterns, over the whole database in place of the visible part of it.

`[?i :issue/title ?t]` becomes `[?i :issue/title ?t] (guard ?i)`, where the rule `guard` is what the policies on the
attribute allow. So the planner orders guards among the other clauses, Spark's tasks run them, and live views
maintain them. What looks into the database in other ways than by patterns with constant attributes is left to
guarded snapshots, and so are guards that can fail: an error denies a row, and must not end the query.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from adalog.datalog import ast
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.names import names_in
from adalog.datalog.parsing.policy_rules import ALLOW, ClaimSource, with_calls
from adalog.datalog.values import Keyword, identity
from adalog.executor.permissions.claims import claim_rows
from adalog.executor.permissions.policies import Policy
from adalog.executor.permissions.visibility import VisibleDatoms
from adalog.executor.question.arguments import UNBOUND, GivenArgument, settled
from adalog.executor.question.question import Question
from adalog.planner.model.paths import path_in
from adalog.planner.scope.outline import outline_of
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.values import bootstrap
from adalog.store.values.attribute import Attribute

_NOTHING: Final = "$nothing of it"
_HIDDEN: Final = "$hidden idents"


class NotRewritableError(Exception):
    """The question is to be answered from a guarded snapshot."""


def rewritten(question: Question) -> Question | None:
    """The question over the raw snapshot, with its guards among its clauses; None where it has to be answered from
    the guarded one. Its rows are the same; entities that arguments name, and pulls, are still to be found in the
    guarded snapshot."""
    (name, database), *others = question.databases.items()
    if others or not isinstance(database, GuardedSnapshot) or not isinstance(database.visible, VisibleDatoms):
        return None
    visible = database.visible
    if visible.states != (database.raw,):
        return None
    writer = _Rewriter(name, database, visible)
    try:
        query = writer.query(question.query)
    except NotRewritableError:
        return None
    sources = writer.sources()
    inputs = (*query.inputs, *(ast.SourceInput(each) for each, _ in sources))
    # Arguments that are written in the text are the last ones no more.
    query = replace(query, inputs=inputs, args=())
    relations = question.relations.union(each for each, _ in sources)
    outline = outline_of(query, relations)
    unread = [UNBOUND] * len(question.args)
    pairs = list(zip(query.inputs, (None, *unread, *(rows for _, rows in sources)), strict=True))
    args = settled(outline, pairs, database.raw).args[len(question.args) :]
    text = f"{question.text}\n; as {visible.guard.key}"
    given = (*question.request.args, *question.query.args, *(rows for _, rows in sources))
    request = replace(question.request, query=text, args=given, snapshot=database.raw)
    return replace(
        question,
        request=request,
        outline=outline,
        args=(*question.args, *args),
        databases={name: database.raw},
        snapshot=database.raw,
        guarded=True,
    )


@dataclass
class _Rewriter:
    source: str
    database: GuardedSnapshot
    visible: VisibleDatoms
    _rules: dict[str, tuple[ast.Rule, ...]] = field(default_factory=dict)
    _claims: dict[str, GivenArgument] = field(default_factory=dict)
    _fresh: int = 0

    def sources(self) -> list[tuple[str, GivenArgument]]:
        """The relations that the guards read, with their rows."""
        hidden = tuple((e,) for e in self.visible.hidden_idents.tolist())
        own = [(_NOTHING, GivenArgument(())), (_HIDDEN, GivenArgument(hidden))]
        return [*own, *self._claims.items()]

    def query(self, query: ast.Query) -> ast.Query:
        where = self._clauses(query.where)
        rules = tuple(replace(rule, clauses=self._clauses(rule.clauses)) for rule in query.rules)
        guards = [each for rules in self._rules.values() for each in rules]
        return replace(query, where=where, rules=(*rules, *guards))

    def _clauses(self, clauses: Iterable[ast.Clause]) -> tuple[ast.Clause, ...]:
        return tuple(made for each in clauses for made in self._clause(each))

    def _clause(self, clause: ast.Clause) -> Sequence[ast.Clause]:
        match clause:
            case ast.Pattern():
                return self._pattern(clause)
            case ast.Predicate() | ast.Function():
                self._check_call(clause)
                return [clause]
            case ast.RuleCall():
                if any(isinstance(each, ast.LookupRef) for each in clause.args):
                    raise NotRewritableError
                for each in clause.args:
                    self._check_constant(each)
                return [clause]
            case ast.And() | ast.Not() | ast.NotJoin():
                clauses = self._clauses(clause.clauses)
                if isinstance(clause, ast.Not) and not names_in(clause.clauses, inside_not=True):
                    # It may mention variables of guards now, which are its own.
                    return [ast.NotJoin((), clauses, position=clause.position)]
                return [replace(clause, clauses=clauses)]
            case ast.Or() | ast.OrJoin():
                branches = tuple(replace(each, clauses=self._clauses(each.clauses)) for each in clause.branches)
                if isinstance(clause, ast.Or):
                    shared = tuple(map(ast.Var, names_in([clause])))
                    return [ast.OrJoin((), shared, branches, position=clause.position)]
                return [replace(clause, branches=branches)]

    def _check_call(self, call: ast.Predicate | ast.Function | ast.Expression) -> None:
        if isinstance(call, ast.Function) and call.query is not None:
            raise NotRewritableError
        for each in call.args:
            if isinstance(each, ast.Source):
                raise NotRewritableError
            if isinstance(each, ast.Expression):
                self._check_call(each)
        if call.name in BUILTINS and BUILTINS[call.name].needs_database:
            raise NotRewritableError

    def _check_constant(self, term: ast.Term) -> None:
        """An ident means the same entity in the whole database; a hidden one is refused as one that is unknown."""
        value = term.value if isinstance(term, ast.Const) else None
        if isinstance(value, Keyword):
            found = self.database.entid(value)
            if found is None or found != self.database.raw.entid(value):
                raise NotRewritableError
        if isinstance(value, tuple | list):
            raise NotRewritableError

    def _pattern(self, pattern: ast.Pattern) -> Sequence[ast.Clause]:
        if pattern.source.name not in ("$", self.source):
            return [pattern]
        entity, name, value, *moment = (*pattern.terms, *(ast.Blank(),) * 3)[: max(3, len(pattern.terms))]
        if not isinstance(name, ast.Const) or not isinstance(name.value, Keyword | int):
            raise NotRewritableError
        attribute = self.database.schema.get(name.value)
        if attribute is None:
            # A hidden one is as one that was never declared, also in what `explain` says of it.
            if path_in(self.database, name.value) is not None:
                raise NotRewritableError
            shown = tuple(each for each in (entity, value, *moment) if isinstance(each, ast.Var))
            return [ast.Pattern(ast.Source(_NOTHING), shown or (ast.Blank(),), position=pattern.position)]
        if any(isinstance(each, ast.LookupRef) for each in (entity, value)):
            raise NotRewritableError
        self._check_constant(entity)
        if attribute.kind.value_type in ("ref", None):
            self._check_constant(value)
        guards = self._guards(attribute, entity, value, pattern.source)
        if guards is None:
            return [pattern]
        entity, value, calls = guards
        return [replace(pattern, terms=(entity, name, value, *moment)[: max(len(pattern.terms), 3)]), *calls]

    def _guards(
        self, attribute: Attribute, entity: ast.Term, value: ast.Term, source: ast.Source
    ) -> tuple[ast.Term, ast.Term, list[ast.Clause]] | None:
        """(entity, value, what must hold of them); None where all datoms are visible."""
        if attribute.id == bootstrap.IDENT:
            if isinstance(entity, ast.Blank):
                entity = self._variable()
            if not isinstance(entity, ast.Var) or self.visible.access_of(attribute).grants:
                raise NotRewritableError
            return entity, value, [ast.Not((ast.Pattern(ast.Source(_HIDDEN), (entity,)),))]
        if bootstrap.is_built_in(attribute.id) or attribute.kind.tuple_attrs:
            raise NotRewritableError
        access = self.visible.access_of(attribute)
        if access.shows_all:
            return None
        if isinstance(entity, ast.Blank):
            entity = self._variable()
        by_value = not access.is_by_entity
        if by_value and isinstance(value, ast.Blank):
            value = self._variable()
        name = self._guard(attribute if by_value else None, access.grants, access.requires)
        args = (entity, value) if by_value else (entity,)
        return entity, value, [ast.RuleCall(name, args, source)]

    def _variable(self) -> ast.Var:
        self._fresh += 1
        return ast.Var(f"?guarded {self._fresh}")

    def _guard(self, attribute: Attribute | None, grants: Sequence[Policy], requires: Sequence[Policy]) -> str:
        """The name of the rule `(guard ?e)`, or `(guard ?e ?v)` of one attribute."""
        policies = (*grants, *requires)
        if any(each.broken and each.required for each in policies):
            raise NotRewritableError
        name = (
            f"guard {[each.key for each in grants]} {[each.key for each in requires]} {attribute and attribute.id}"
        )
        if name in self._rules:
            return name
        entity, value = ast.Var("?e"), ast.Var("?v")
        head = (entity,) if attribute is None else (entity, value)
        required = [call for each in requires if (call := self._allow(each, attribute)) is not None]
        bodies: list[tuple[ast.Clause, ...]] = []
        # Whether the rule says by itself which entities it allows.
        enumerable = attribute is None
        for each in grants:
            if not each.broken:
                call = self._allow(each, attribute)
                bodies.append((*([] if call is None else [call]), *required))
                enumerable &= any(_enumerates(one) for one in (each, *requires))
        nothing = ast.Pattern(ast.Source(_NOTHING), head[:1])
        required_places, places = ((), head) if enumerable else (head, ())
        rules = (ast.Rule(name, required_places, places, body) for body in bodies or [(nothing,)])
        self._rules[name] = tuple(rules)
        return name

    def _allow(self, policy: Policy, attribute: Attribute | None) -> ast.RuleCall | None:
        """The call of a policy's `allow`, whose rules it adds under names of their own; None without rules."""
        rules = policy.rules
        if rules is None:
            return None
        prefix = f"policy {policy.key}"
        if prefix not in self._rules:
            sources = {each.source: f"{each.source} {policy.key}" for each in rules.claims}
            for each in rules.claims:
                self._claims[sources[each.source]] = self._claim(each)
            self._rules[prefix] = tuple(_renamed(rule, prefix, sources) for rule in rules.rules)
        if rules.places == 1:
            return ast.RuleCall(f"{prefix} {ALLOW}", (ast.Var("?e"),), ast.Source())
        assert attribute is not None
        named = ast.Const(attribute.ident, identity(attribute.ident))
        return ast.RuleCall(f"{prefix} {ALLOW}", (ast.Var("?e"), named, ast.Var("?v")), ast.Source())

    def _claim(self, source: ClaimSource) -> GivenArgument:
        return GivenArgument(claim_rows(source, self.visible.guard.viewer.claims), json=True)


def _enumerates(policy: Policy) -> bool:
    return policy.rules is not None and policy.rules.enumerable and policy.rules.places == 1


def _renamed(rule: ast.Rule, prefix: str, sources: dict[str, str]) -> ast.Rule:
    """A policy's rule under a name of its own, calling the others by theirs."""

    def called(call: ast.RuleCall) -> ast.Clause:
        return replace(call, name=f"{prefix} {call.name}")

    clauses = tuple(_with_sources(with_calls(each, called), sources) for each in rule.clauses)
    return replace(rule, name=f"{prefix} {rule.name}", clauses=clauses)


def _with_sources(clause: ast.Clause, sources: dict[str, str]) -> ast.Clause:
    match clause:
        case ast.Pattern(source=source):
            found = sources.get(source.name)
            return clause if found is None else replace(clause, source=ast.Source(found))
        case ast.Predicate() | ast.Function():
            if _can_fail(clause):
                raise NotRewritableError
            return clause
        case ast.And() | ast.Not() | ast.NotJoin():
            return replace(clause, clauses=tuple(_with_sources(each, sources) for each in clause.clauses))
        case ast.Or() | ast.OrJoin():
            branches = tuple(
                replace(branch, clauses=tuple(_with_sources(each, sources) for each in branch.clauses))
                for branch in clause.branches
            )
            return replace(clause, branches=branches)
        case ast.RuleCall():
            return clause


def _can_fail(call: ast.Predicate | ast.Function | ast.Expression) -> bool:
    """Whether an error of a call could end the query."""
    known = BUILTINS.get(call.name)
    if known is None or not known.is_total or known.needs_database:
        return True
    return any(_can_fail(each) for each in call.args if isinstance(each, ast.Expression))
