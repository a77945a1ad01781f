"""A question with its guards joined to its patterns, over the whole database in place of the visible part of it.

`[?i :issue/title ?t]` becomes `[?i :issue/title ?t] (guard ?i)`, where the rule `guard` is what the policies on the
attribute allow. So the planner orders guards among the other clauses, Spark's tasks run them, and live views
maintain them. What looks into the database in other ways than by patterns with constant attributes is left to
guarded snapshots, and so are guards that can fail: an error denies a row, and must not end the query.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from adalog.datalog import ast
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.names import names_in
from adalog.datalog.parsing.policy_rules import ALLOW, ClaimSource
from adalog.datalog.pull import PullPattern, PullQuery
from adalog.datalog.values import Keyword, identity
from adalog.executor.permissions.claims import claim_rows
from adalog.executor.permissions.policies import Policy
from adalog.executor.permissions.viewer_rules import VIEWER, NotRewritableError, joined_by_viewer, of_viewers
from adalog.executor.permissions.visibility import VisibleDatoms
from adalog.executor.question.arguments import UNBOUND, GivenArgument, settled
from adalog.executor.question.question import Question
from adalog.planner.model.nested import query_in
from adalog.planner.model.paths import path_in
from adalog.planner.scope.outline import outline_of
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import bootstrap
from adalog.store.values.attribute import TX_BASE, Attribute

_NOTHING: Final = "$nothing of it"
_HIDDEN: Final = "$hidden idents"
_ENTITY: Final = ast.Var("?e")
_VALUE: Final = ast.Var("?v")


def rewritten(question: Question, viewer: int | None = None) -> Question | None:
    """The question over the raw snapshot, with its guards among its clauses; None where it has to be answered from
    the guarded one. Its rows are the same; entities that arguments name, and pulls, are still to be found in the
    guarded snapshot.

    `viewer`: a number for the claims. With it the text says nothing of them: viewers for whom the same policies
    hold have the same query, whose last arguments are the number and their claims. Queries in its pull patterns
    have guards, too, so that what they read can be followed."""
    (name, database), *others = question.databases.items()
    if others or not isinstance(database, GuardedSnapshot) or not isinstance(database.visible, VisibleDatoms):
        return None
    visible = database.visible
    if visible.states != (database.raw,):
        return None
    writer = _Rewriter(name, database, visible, shared=viewer is not None)
    try:
        query = writer.query(question.query)
    except NotRewritableError:
        return None
    inputs, given = writer.inputs(viewer)
    # Arguments that are written in the text are the last ones no more.
    query = replace(query, inputs=(*query.inputs, *inputs), args=())
    outline = outline_of(query, question.relations.union(_names(inputs)))
    unread = [UNBOUND] * len(question.args)
    pairs = list(zip(query.inputs, (None, *unread, *given), strict=True))
    args = settled(outline, pairs, database.raw).args[len(question.args) :]
    key = visible.guard.key if viewer is None else f"all by {visible.guard.policies_key}"
    request = replace(
        question.request,
        query=f"{question.text}\n; as {key}",
        args=(*question.request.args, *question.query.args, *given),
        snapshot=database.raw,
    )
    return replace(
        question,
        request=request,
        outline=outline,
        args=(*question.args, *args),
        databases={name: database.raw},
        snapshot=database.raw,
        guarded=True,
    )


def says_of_transactions(snapshot: Snapshot, attribute: int) -> bool:
    """Whether an attribute says something of a transaction itself, or once did."""
    trie = snapshot.plain.trie(attribute, inverse=False)
    keys = (trie.base.keys, *(each.keys for each in trie.levels))
    return any(len(each) > 0 and each[-1] >= TX_BASE for each in keys)


def allowed_by(policy: Policy, view: GuardedSnapshot, viewer: int) -> tuple[ast.Query, list[Any], frozenset[str]]:
    """(a query for the entities that a policy allows, its arguments, the lists among them), for rules that say so
    by themselves; `viewer` as above. Raises NotRewritableError."""
    assert isinstance(view.visible, VisibleDatoms)
    writer = _Rewriter("$", view, view.visible, shared=True)
    call = writer.allow(policy, None)
    assert call is not None
    inputs, given = writer.inputs(viewer)
    query = ast.Query(
        find=ast.Find((ast.FindVar(_ENTITY),)),
        with_=(),
        inputs=(ast.SourceInput("$"), *inputs),
        where=(call,),
        rules=writer.rules,
    )
    return query, given, _names(inputs)


def _names(inputs: Iterable[ast.Input]) -> frozenset[str]:
    return frozenset(each.name for each in inputs if isinstance(each, ast.SourceInput))


@dataclass
class _Rewriter:
    """`shared`: for all viewers whom the same policies are for."""

    source: str
    database: GuardedSnapshot
    visible: VisibleDatoms
    shared: bool
    _rules: dict[str, tuple[ast.Rule, ...]] = field(default_factory=dict)
    _claims: dict[str, ClaimSource] = field(default_factory=dict)
    # Whether the rules of the query itself take the viewer.
    _passes_viewer: bool = False
    _fresh: int = 0

    @property
    def rules(self) -> tuple[ast.Rule, ...]:
        return tuple(each for rules in self._rules.values() for each in rules)

    def inputs(self, viewer: int | None) -> tuple[list[ast.Input], list[Any]]:
        """What the guards read besides the database, and its values."""
        inputs: list[ast.Input] = [ast.SourceInput(name, of_guards=True) for name in (_NOTHING, _HIDDEN)]
        given: list[Any] = [(), tuple((e,) for e in self.visible.hidden_idents.tolist())]
        if self.shared and self._claims:
            inputs.append(ast.BindingInput(ast.ScalarBinding(VIEWER)))
            given.append(viewer)
        claims, own = self.visible.guard.viewer.claims, (viewer,) if self.shared else ()
        for name, source in self._claims.items():
            rows = tuple((*own, *row) for row in claim_rows(source, claims))
            width = len(own) + (2 if source.claim is None else 1)
            owner = VIEWER if self.shared else None
            inputs.append(ast.SourceInput(name, of_guards=True, owner=owner, width=width))
            given.append(GivenArgument(rows, json=True))
        return inputs, given

    def query(self, query: ast.Query) -> ast.Query:
        where, rules = self._clauses(query.where), self._own_rules(query.rules)
        if self.shared and any(VIEWER.name in names_in(each.clauses, inside_not=True) for each in rules):
            self._passes_viewer = True
            where, rules = self._clauses(query.where), self._own_rules(query.rules)
            rules = tuple(replace(each, required=(VIEWER, *each.required)) for each in rules)
        find = query.find
        if self.shared:
            find = replace(find, elements=tuple(map(self._element, find.elements)))
        return replace(query, find=find, where=where, rules=(*rules, *self.rules))

    def _own_rules(self, rules: Iterable[ast.Rule]) -> tuple[ast.Rule, ...]:
        return tuple(replace(rule, clauses=self._clauses(rule.clauses)) for rule in rules)

    # Queries in patterns

    def _element(self, element: ast.FindElement) -> ast.FindElement:
        if not isinstance(element, ast.FindPull) or not isinstance(element.pattern, PullPattern):
            return element
        if not any(element.pattern.all_queries()):
            return element
        if element.source.name not in ("$", self.source):
            raise NotRewritableError
        return replace(element, pattern=self._with_guards(element.pattern))

    def _with_guards(self, pattern: PullPattern) -> PullPattern:
        attributes = tuple(
            replace(each, sub=self._with_guards(each.sub)) if isinstance(each.sub, PullPattern) else each
            for each in pattern.attributes
        )
        queries = tuple(replace(each, query=self._within(each)) for each in pattern.queries)
        return replace(pattern, attributes=attributes, queries=queries)

    def _within(self, asked: PullQuery) -> ast.Query:
        """A query in a pattern with its guards, which takes what they read from the query around it."""
        writer = _Rewriter("$", self.database, self.visible, shared=True)
        inner = writer.query(query_in(asked))
        self._claims |= writer._claims
        # Of the values none is a matter of this query.
        inputs, _ = writer.inputs(None)
        return replace(inner, inputs=(*inner.inputs, *inputs))

    # Clauses

    def _clauses(self, clauses: Iterable[ast.Clause]) -> tuple[ast.Clause, ...]:
        found: list[ast.Clause] = []
        for made in (made for each in clauses for made in self._clause(each)):
            # Patterns of one entity have a guard in common.
            if not isinstance(made, ast.RuleCall) or made not in found:
                found.append(made)
        return tuple(found)

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
                return [replace(clause, args=(VIEWER, *clause.args)) if self._passes_viewer else clause]
            case ast.And():
                return [replace(clause, clauses=self._clauses(clause.clauses))]
            case ast.Not() | ast.NotJoin():
                clauses = self._clauses(clause.clauses)
                if isinstance(clause, ast.NotJoin):
                    return [joined_by_viewer(replace(clause, clauses=clauses))]
                if not names_in(clause.clauses, inside_not=True):
                    # It may mention variables of guards now, which are its own.
                    return [joined_by_viewer(ast.NotJoin((), clauses, position=clause.position))]
                return [replace(clause, clauses=clauses)]
            case ast.Or() | ast.OrJoin():
                branches = tuple(replace(each, clauses=self._clauses(each.clauses)) for each in clause.branches)
                if isinstance(clause, ast.Or):
                    shared = tuple(map(ast.Var, names_in([clause])))
                    return [joined_by_viewer(ast.OrJoin((), shared, branches, position=clause.position))]
                return [joined_by_viewer(replace(clause, branches=branches))]

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
        if says_of_transactions(self.database.raw, attribute.id):
            # Of a transaction it is visible with any other part of it.
            raise NotRewritableError
        if isinstance(entity, ast.Blank):
            entity = self._variable()
        by_value = not access.is_by_entity
        if by_value and isinstance(value, ast.Blank):
            value = self._variable()
        name = self._guard(attribute if by_value else None, access.grants, access.requires)
        args = (entity, value) if by_value else (entity,)
        return (
            entity,
            value,
            [ast.RuleCall(name, (*self._viewer_of(access.grants, access.requires), *args), source)],
        )

    def _variable(self) -> ast.Var:
        self._fresh += 1
        return ast.Var(f"?guarded {self._fresh}")

    def _viewer_of(self, *policies: Sequence[Policy]) -> tuple[ast.Var, ...]:
        """The first argument of rules that read claims."""
        reads = any(each.rules is not None and each.rules.claims for some in policies for each in some)
        return (VIEWER,) if self.shared and reads else ()

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
        own = self._viewer_of(grants, requires)
        head = (_ENTITY,) if attribute is None else (_ENTITY, _VALUE)
        required = [call for each in requires if (call := self.allow(each, attribute)) is not None]
        bodies: list[tuple[ast.Clause, ...]] = []
        # Whether the rule says by itself which entities it allows.
        enumerable = attribute is None
        for each in grants:
            if not each.broken:
                call = self.allow(each, attribute)
                bodies.append((*([] if call is None else [call]), *required))
                enumerable &= any(_enumerates(one) for one in (each, *requires))
        nothing = ast.Pattern(ast.Source(_NOTHING), head[:1])
        required_places, places = ((), head) if enumerable else (head, ())
        rules = (ast.Rule(name, (*own, *required_places), places, body) for body in bodies or [(nothing,)])
        self._rules[name] = tuple(rules)
        return name

    def allow(self, policy: Policy, attribute: Attribute | None) -> ast.RuleCall | None:
        """The call of a policy's `allow`, whose rules it adds under names of their own; None without rules."""
        rules = policy.rules
        if rules is None:
            return None
        prefix, own = f"policy {policy.key}", self._viewer_of((policy,))
        if prefix not in self._rules:
            sources = {each.source: f"{each.source} {policy.key}" for each in rules.claims}
            self._claims |= {sources[each.source]: each for each in rules.claims}
            self._rules[prefix] = of_viewers(rules.rules, prefix, sources, own)
        args: tuple[ast.Term, ...] = (_ENTITY,)
        if rules.places == 3:
            assert attribute is not None
            args = (_ENTITY, ast.Const(attribute.ident, identity(attribute.ident)), _VALUE)
        return ast.RuleCall(f"{prefix} {ALLOW}", (*own, *args), ast.Source())


def _enumerates(policy: Policy) -> bool:
    return policy.rules is not None and policy.rules.enumerable and policy.rules.places == 1
