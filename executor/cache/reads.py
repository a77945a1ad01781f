"""What a query reads of each of its databases, and the moment up to which that was touched.

For the keys of cached answers: two snapshots in which nothing of it differs give one answer. Where the reads
of a query are not known, it counts as reading everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, assert_never
from weakref import WeakKeyDictionary

from adalog.datalog import ast
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.builtins.conditionals import CONDITIONALS
from adalog.datalog.pull import DB_ID, PullAttribute, PullPattern
from adalog.datalog.values import EdnSet, Keyword
from adalog.executor.pull.queries import bindings_taken, patterns_in
from adalog.planner.model.lookups import LOOKUPS, WITH_DEFAULT
from adalog.planner.model.nested import query_in
from adalog.planner.model.paths import PathName
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import bootstrap
from adalog.store.values.attribute import Attribute

_IDENT: Final = Keyword("db/ident")

AttributeName = Keyword | int
# A variable in an entity place, and the database that it is an entity of.
_Entities = frozenset[tuple[str, str]]


@dataclass
class Reads:
    """What is read of one database. `named`: attributes, by ident or entity. `unique`: all unique attributes, since
    a lookup ref may name any of them. `pulls`: pull patterns; the schema says which attributes they read. `whole`:
    everything."""

    named: set[AttributeName] = field(default_factory=set)
    unique: bool = False
    whole: bool = False
    pulls: list[PullPattern] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class QueryReads:
    """What a query reads by the names of its sources; `chance`: it does not always answer the same."""

    sources: Mapping[str, Reads]
    chance: bool


def reads_of(query: ast.Query) -> QueryReads:
    """What a query reads, without its own pulls, which have keys of their own."""
    collected = _Collector()
    collected.query(query, {})
    chance = any(reads_of_pull(pattern, source).chance for source, pattern in patterns_in(query))
    return replace(collected.reads(), chance=collected.chance or chance)


def reads_of_pull(pattern: PullPattern, source: str) -> QueryReads:
    """What a pull from a source reads; of others its queries may read something, too."""
    collected = _Collector()
    collected.pull(pattern, source, {})
    return collected.reads()


def lookups_in(value: Any) -> Iterator[Keyword]:
    """The attributes of the lookup refs in a value, or of vectors that look like lookup refs."""
    if isinstance(value, tuple | list) and len(value) == 2 and isinstance(value[0], Keyword):
        yield value[0]
    if isinstance(value, tuple | list | EdnSet):
        for item in value:
            if isinstance(item, tuple | list | EdnSet):
                yield from lookups_in(item)


@dataclass
class _Collector:
    found: dict[str, Reads] = field(default_factory=dict)
    constants: set[AttributeName] = field(default_factory=set)
    chance: bool = False

    def reads(self) -> QueryReads:
        for reads in self.found.values():
            # Constants may name entities of any of the databases.
            reads.named |= self.constants
        return QueryReads(self.found, self.chance)

    def pull(self, pattern: PullPattern, source: str, names: Mapping[str, str]) -> None:
        """`source`: what is pulled from. `names`: what the sources of the query around are called outside."""
        self.of(source).pulls.append(pattern)
        for asked in pattern.all_queries():
            inner = query_in(asked)
            named = [each.name for each in inner.inputs if isinstance(each, ast.SourceInput)]
            theirs = {name: source if name == "$" else names.get(name, name) for name in named}
            self.inner(inner, theirs)
            if bindings_taken(inner):
                # An argument may be a lookup ref.
                for database in theirs.values():
                    self.of(database).unique = True

    def inner(self, query: ast.Query, names: Mapping[str, str]) -> None:
        """A query within another, with what it pulls."""
        self.query(query, names)
        for name, pattern in patterns_in(query):
            source = names.get(name, name)
            self.pull(pattern, source, names)
            self.of(source).unique = True

    def query(self, query: ast.Query, names: Mapping[str, str]) -> None:
        """`names`: what the query's sources are called outside."""
        for each in query.inputs:
            if isinstance(each, ast.SourceInput):
                self.of(names.get(each.name, each.name))
        for element in query.find.columns:
            if isinstance(element, ast.FindAggregate) and element.known.by_chance:
                self.chance = True
        _Query(self, query, names).all(names.get("$", "$"))

    def of(self, source: str) -> Reads:
        return self.found.setdefault(source, Reads())


@dataclass
class _Query:
    """One query's clauses. `called`: the rules that are or will be gone through, each with its default source."""

    to: _Collector
    query: ast.Query
    names: Mapping[str, str]
    called: dict[tuple[str, str], None] = field(default_factory=dict)

    def all(self, source: str) -> None:
        """Goes through the query's clauses, then through the rules they call, one after the other and without
        recursion: rules may call each other deeper than Python's stack goes."""
        self.clauses(self.query.where, source, frozenset())
        rules: dict[str, list[ast.Rule]] = {}
        for rule in self.query.rules:
            rules.setdefault(rule.name, []).append(rule)
        done = 0
        while done < len(self.called):
            waiting = list(self.called)[done:]
            done += len(waiting)
            for name, default in waiting:
                for rule in rules.get(name, ()):
                    self.rule(rule, default)

    def name(self, written: str, source: str) -> str:
        """What a source is called outside; `source`: what `$` is here, by that name."""
        return source if written == "$" else self.names.get(written, written)

    def clauses(self, clauses: Iterable[ast.Clause], source: str, entities: _Entities) -> None:
        clauses = tuple(clauses)
        entities |= {
            (each.terms[0].name, self.name(each.source.name, source))
            for each in clauses
            if isinstance(each, ast.Pattern) and isinstance(each.terms[0], ast.Var)
        }
        for each in clauses:
            self.clause(each, source, entities)

    def clause(self, clause: ast.Clause, source: str, entities: _Entities) -> None:
        match clause:
            case ast.Pattern():
                self.pattern(clause, self.name(clause.source.name, source))
            case ast.Predicate() | ast.Function():
                self.call(clause, source, entities)
            case ast.RuleCall():
                self.constant_terms(clause.args, source)
                self.called[clause.name, self.name(clause.source.name, source)] = None
            case ast.And():
                self.clauses(clause.clauses, source, entities)
            case ast.Or():
                for branch in clause.branches:
                    self.clauses(branch.clauses, source, entities)
            case ast.OrJoin():
                kept = _visible(entities, (*clause.required, *clause.variables))
                for branch in clause.branches:
                    self.clauses(branch.clauses, source, kept)
            case ast.Not():
                self.clauses(clause.clauses, source, entities)
            case ast.NotJoin():
                kept = _visible(entities, clause.variables)
                self.clauses(clause.clauses, source, kept)
            case _:
                assert_never(clause)

    def rule(self, rule: ast.Rule, source: str) -> None:
        for place in rule.head:
            if isinstance(place, ast.FindAggregate) and place.known.by_chance:
                self.to.chance = True
        self.clauses(rule.clauses, source, frozenset())

    def pattern(self, pattern: ast.Pattern, source: str) -> None:
        reads = self.to.of(source)
        entity, attribute, value, *moment = (*pattern.terms, *(ast.Blank(),) * 5)[:5]
        if isinstance(attribute, ast.Const) and isinstance(attribute.value, Keyword | int):
            reads.named.add(attribute.value)
            path = PathName.of(attribute.value)
            if path is not None:
                reads.named.add(path.step)
        else:
            reads.whole = True
            # The attribute may stand for its entity in another database.
            self.to.constants.add(_IDENT)
        if not all(isinstance(term, ast.Blank) for term in moment):
            reads.whole = True
        self.constant_terms((entity, value), source)

    def constant_terms(self, terms: Iterable[ast.Term | ast.Source], source: str) -> None:
        for term in terms:
            if isinstance(term, ast.LookupRef):
                self.to.constants.add(term.attribute.value)
                self.constant_terms((term.value,), source)
            elif isinstance(term, ast.Const):
                self.to.constants.update(lookups_in(term.value))

    def call(self, clause: ast.Predicate | ast.Function | ast.Expression, source: str, entities: _Entities) -> None:
        self.constant_terms((each for each in clause.args if not isinstance(each, ast.Expression)), source)
        for each in clause.args:
            if isinstance(each, ast.Expression):
                self.call(each, source, entities)
        if isinstance(clause, ast.Function) and clause.query is not None:
            self.within(clause, clause.query, source, entities)
            return
        built_in = BUILTINS.get(clause.name)
        if clause.name in CONDITIONALS or (built_in is not None and not built_in.needs_database):
            return
        given = [each.name for each in clause.args if isinstance(each, ast.Source)]
        database = self.name(given[0], source) if given else source
        reads = self.to.of(database)
        if clause.name not in LOOKUPS:
            reads.whole = True
            return
        entity, *attributes = (each for each in clause.args if not isinstance(each, ast.Source))
        for each in attributes[:1] if clause.name in WITH_DEFAULT else attributes:
            if isinstance(each, ast.Const) and isinstance(each.value, Keyword):
                reads.named.add(each.value)
            else:
                reads.whole = True
        named = isinstance(entity, ast.Var) and (entity.name, database) in entities
        if not named and isinstance(entity, ast.Var | ast.Expression):
            reads.unique = True

    def within(self, clause: ast.Function, inner: ast.Query, source: str, entities: _Entities) -> None:
        names: dict[str, str] = {}
        variables: set[str] = set()
        given = iter(clause.args)
        for each in inner.inputs:
            if isinstance(each, ast.RulesInput):
                continue
            argument = next(given)
            if isinstance(each, ast.SourceInput) and isinstance(argument, ast.Source):
                names[each.name] = self.name(argument.name, source)
            elif isinstance(argument, ast.Var):
                variables.add(argument.name)
        self.to.inner(inner, names)
        if variables - {name for name, _ in entities}:
            # A row may hold lookup refs for them.
            for database in names.values():
                self.to.of(database).unique = True


def _visible(entities: _Entities, listed: Iterable[ast.Var]) -> _Entities:
    names = {each.name for each in listed}
    return frozenset(each for each in entities if each[0] in names)


# The moment


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a key. `text`: equal for two views if nothing that is read differs between them. `newest`: the last
    transaction that touched something of it."""

    text: str
    newest: int


def token_of(snapshot: Snapshot, reads: Reads, more: Iterable[AttributeName] = ()) -> Token:
    """`more`: attributes that arguments name."""
    if isinstance(snapshot, GuardedSnapshot):
        raw, visible = token_of(snapshot.raw, reads, more), snapshot.visible
        return Token(f"{raw.text} as {visible.key}", max(raw.newest, visible.newest))
    touched = _touched_of(snapshot)
    ids = None if reads.whole or snapshot.plain is not snapshot else touched.ids(snapshot, reads, more)
    excised = f"excised {snapshot.origin.excised} " if snapshot.origin.excised else ""
    # What keeps no history is shown as it is now even in the past.
    forgetful = snapshot.origin.forgetful if snapshot.is_past else frozenset[int]()
    if ids is None or not ids.isdisjoint(forgetful):
        view = (snapshot.t, snapshot.since_t, snapshot.is_history, snapshot.origin.t if forgetful else 0)
        return Token(f"{excised}whole {view}", max(snapshot.t, view[-1]))
    parts = [(each, touched.last(snapshot, each)) for each in sorted(ids)]
    return Token(f"{excised}{touched.schema} {parts}", max([touched.schema, *(t for _, t in parts)]))


def touched_attributes(snapshot: Snapshot, reads: Reads, more: Iterable[AttributeName] = ()) -> set[int] | None:
    """The attributes, by their entities, that a transaction has to touch in order to change what is read; None:
    any. Holds as long as the schema and the idents stay as they are. `more`: attributes that arguments name."""
    return None if reads.whole else _touched_of(snapshot).ids(snapshot, reads, more)


class _Touched:
    """Of one snapshot, remembered: when its attributes were last touched, and what patterns read."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._last: dict[int, int] = {}
        self._pulls: dict[PullPattern, frozenset[int] | None] = {}
        self.schema = max(self.last(snapshot, each) for each in bootstrap.SCHEMA_ATTRIBUTES)

    def last(self, snapshot: Snapshot, attribute: int) -> int:
        found = self._last.get(attribute)
        if found is None:
            found = self._last[attribute] = snapshot.data_of(attribute).last_touched(snapshot.t)
        return found

    def ids(self, snapshot: Snapshot, reads: Reads, more: Iterable[AttributeName]) -> set[int] | None:
        """The attributes' entities; None if any attribute may be among them."""
        # A name that is none yet becomes one by a change of the schema.
        ids = {each.id for name in (*reads.named, *more) if (each := snapshot.attribute(name)) is not None}
        if reads.unique:
            ids |= {each.id for each in snapshot.attributes() if each.kind.unique is not None}
        for pattern in reads.pulls:
            pulled = self._pulled(snapshot, pattern)
            if pulled is None:
                return None
            ids |= pulled
        return ids

    def _pulled(self, snapshot: Snapshot, pattern: PullPattern) -> frozenset[int] | None:
        if pattern not in self._pulls:
            self._pulls[pattern] = _attributes_of(pattern, snapshot)
        return self._pulls[pattern]


# Beside the snapshots, of which the store knows nothing but data; they go together.
_TOUCHED: Final[WeakKeyDictionary[Snapshot, _Touched]] = WeakKeyDictionary()


def _touched_of(snapshot: Snapshot) -> _Touched:
    found = _TOUCHED.get(snapshot)
    if found is None:
        found = _TOUCHED[snapshot] = _Touched(snapshot)
    return found


def _attributes_of(pattern: PullPattern, snapshot: Snapshot) -> frozenset[int] | None:
    """The attributes that a pattern reads; None if it may read any."""
    if pattern.wildcard:
        return None
    ids: set[int] = set()
    for asked in pattern.attributes:
        attribute = snapshot.attribute(asked.attribute)
        if asked.attribute == DB_ID or attribute is None:
            continue
        ids.add(attribute.id)
        if _shows_whole(asked, attribute):
            return None
        if isinstance(asked.sub, PullPattern):
            inner = _attributes_of(asked.sub, snapshot)
            if inner is None:
                return None
            ids |= inner
    return frozenset(ids)


def _shows_whole(asked: PullAttribute, attribute: Attribute) -> bool:
    """Whether the entity that the attribute refers to is shown in full: a component without its own pattern."""
    return attribute.kind.component and asked.sub is None and not asked.reverse
