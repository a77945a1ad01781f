"""What a query may say and probably does not mean: misspelt names, values and joins that nothing can satisfy, parts
that do not hang together, symbols taken for variables.

Found in the outline and the schema, never in data: an answer that is empty because nothing is there yet is no
mistake. A view of the past from which retention may have taken something is warned of, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise
from math import isfinite
from typing import Final, TypeGuard

from adalog.datalog import ast
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.diagnostics import Diagnostic, Suspicion
from adalog.datalog.edn.writer import shown, write
from adalog.datalog.errors import AdalogError, Code, Position
from adalog.datalog.errors import shown as briefly
from adalog.datalog.names import names_in, targets
from adalog.datalog.pull import DB_ID, PullPattern
from adalog.datalog.values import NUMERIC, EdnSet, Keyword, type_name
from adalog.datalog.watched import look
from adalog.planner.model import logical
from adalog.planner.model.logical import COMPARISONS, MEMBERSHIPS, AndNode, Leaf, conjuncts, everything
from adalog.planner.model.lookups import LOOKUPS, Call, looked_up_attributes, source_of
from adalog.planner.model.nested import query_in
from adalog.planner.model.paths import PathName, path_in
from adalog.planner.model.places import PlaceKind, VariablePlace
from adalog.planner.scope.forgotten_past import ForgottenPast
from adalog.planner.scope.interpretation import Interpretation, PlaceContent, expected, holding, meant, type_of
from adalog.planner.scope.outline import Outline, outline_of
from adalog.planner.scope.pending_warnings import PendingWarning, UnknownName, diagnostics_of
from adalog.planner.scope.symbols import SymbolUse, is_plain, variable_uses
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.attribute import Attribute

_EQUALITIES: Final = frozenset(("=", "not=", "!="))
_NOTHING: Final = "nil is no value: an entity without one is found with [(missing? $ ?e :person/name)]"
_CONSTANTS: Final = {
    "true": "the constant is written true",
    "false": "the constant is written false",
    **dict.fromkeys(("null", "none", "undefined"), _NOTHING),
}


def suspicions(outline: Outline, databases: Mapping[str, Snapshot]) -> tuple[Diagnostic, ...]:
    """What is suspicious about a query and the queries within it, in the order of its text: the first `MOST`, and
    how many there are besides."""
    return diagnostics_of(sorted(_suspected(outline, databases), key=_place))


def in_queries(
    pattern: PullPattern,
    databases: Mapping[str, Snapshot],
    relations: frozenset[str] = frozenset(),
    origin: str = "",
) -> Iterator[PendingWarning]:
    """What is suspicious about the queries in a pattern that no query writes out. `databases`: `$` is the one that
    the pattern is pulled from. `origin`: the text that the pattern's positions are in."""
    for asked in pattern.all_queries():
        for each in _suspected(outline_of(query_in(asked), relations), databases):
            if each.position is None:
                yield each
            else:
                yield replace(each, position=replace(each.position, origin=origin))


def check_symbols(outline: Outline, databases: Mapping[str, Snapshot]) -> None:
    """Raises QUERY_INVALID for a plain symbol that is surely meant to be an attribute or a built-in."""
    if outline.has_plain_symbols:
        for message, position, is_sure in _Finder(outline, databases).symbols(outline.query):
            if is_sure:
                raise AdalogError(Code.QUERY_INVALID, message, position)
    for inner, theirs in outline.within(databases):
        check_symbols(inner, theirs)


def _suspected(outline: Outline, databases: Mapping[str, Snapshot]) -> dict[PendingWarning, None]:
    found = _Finder(outline, databases)
    found.all()
    for inner, theirs in outline.within(databases):
        found.suspected |= _suspected(inner, theirs)
    return found.suspected


def _place(diagnostic: PendingWarning) -> tuple[str, int, int]:
    at = diagnostic.position
    return ("", 0, 0) if at is None else (at.origin, at.line, at.column)


@dataclass
class _Finder:
    outline: Outline
    databases: Mapping[str, Snapshot]
    suspected: dict[PendingWarning, None] = field(default_factory=dict)
    misread: set[str] = field(default_factory=set)
    """Plain symbols that were probably not meant to be variables: no more is said about what they join."""

    pasts: dict[str, ForgottenPast | None] = field(default_factory=dict)
    """By source: what retention may have taken from it; None if nothing."""

    attributes: set[object] = field(default_factory=set)
    """What stands in the places of attributes, anywhere in the scope of a variable."""

    def all(self) -> None:
        tree, query = self.outline.tree, self.outline.query
        for message, position, _ in self.symbols(query):
            self.say(Suspicion.PLAIN_SYMBOL, message, position)
        for body in (tree.body, *(branch.body for each in tree.predicates for branch in each.branches)):
            for leaf in everything(body):
                self.leaf(leaf)
                if isinstance(leaf, logical.DatomAtom):
                    self.attributes.add(leaf.attribute)
            self.conjunction(body, {})
        for name, term in tree.constants.items():
            self.passed(term, self.outline.places.variables.get(name, ()), literal=False)
        for element in query.find.elements:
            if isinstance(element, ast.FindPull) and isinstance(element.pattern, PullPattern):
                self.pull(element.pattern, element.source.name)
        self.parts(query)

    def say(
        self, code: Suspicion, message: str, position: Position | None, unknown: UnknownName | None = None
    ) -> None:
        """`unknown`: what a known name is proposed for after the message."""
        self.suspected[PendingWarning(code, message, position, unknown)] = None

    def undeclared(self, name: Keyword, database: Snapshot, position: Position | None) -> None:
        path = PathName.of(name)
        step = None if path is None else database.attribute(path.step)
        message, unknown = f"no attribute {briefly(str(name))} is declared", UnknownName(name, database)
        if step is not None:
            message = f"{name} repeats an attribute of refs, and {step.ident} holds {step.kind.value_type}s"
        pending = PendingWarning(
            Suspicion.UNKNOWN_ATTRIBUTE, message, position, unknown if step is None else None, ", so nothing has it"
        )
        self.suspected[pending] = None

    # Names and literals

    def leaf(self, leaf: Leaf) -> None:
        if isinstance(leaf, logical.DatomAtom):
            self.pattern(leaf)
        elif isinstance(leaf, Call) and leaf.name in LOOKUPS:
            for term in looked_up_attributes(leaf):
                if isinstance(term, ast.Const):
                    self.attribute(term, source_of(leaf))

    def pattern(self, atom: logical.DatomAtom) -> None:
        if atom.source not in self.databases:
            return
        self.term(atom.entity, VariablePlace(PlaceKind.ENTITY, atom.source))
        if not isinstance(atom.attribute, ast.Const):
            self.forgotten(None, atom.source, atom.position)
            return
        self.attribute(atom.attribute, atom.source)
        if isinstance(atom.attribute.value, Keyword | int):
            self.term(atom.value, VariablePlace(PlaceKind.VALUE, atom.source, atom.attribute.value))

    def attribute(self, term: ast.Const, source: str) -> None:
        look()
        database = self.databases.get(source)
        name = term.value
        if database is None or not isinstance(name, Keyword | int) or path_in(database, name) is not None:
            return
        declared = database.attribute(name)
        if declared is not None:
            self.forgotten(declared, source, term.position)
            path = PathName.of(name)
            step = None if path is None else database.attribute(path.step)
            if path is not None and step is not None and step.is_ref:
                message = f"{name} is read as the attribute of that name, not as a path along {path.step}"
                self.say(Suspicion.AMBIGUOUS_ARGUMENT, message, term.position)
            return
        if isinstance(name, Keyword):
            self.undeclared(name, database, term.position)
            return
        message = (
            f"{name} is no attribute, so nothing has it; an attribute is a keyword such as :person/name, and "
            "a lookup ref stands in brackets of its own: [[:person/id 1] :person/name ?name]"
        )
        self.say(Suspicion.UNKNOWN_ATTRIBUTE, message, term.position)

    def forgotten(self, attribute: Attribute | None, source: str, position: Position | None) -> None:
        """Says once of each attribute what retention may have taken of it. attribute: None for all of them."""
        if source not in self.pasts:
            self.pasts[source] = ForgottenPast.of(self.databases[source])
        past = self.pasts[source]
        message = None if past is None else past.warning(attribute)
        if message is not None:
            self.say(Suspicion.PAST_FORGOTTEN, message, position)

    def term(self, term: object, place: VariablePlace) -> None:
        """Whether a literal can equal what stands in its place."""
        if isinstance(term, ast.LookupRef):
            self.lookup(term, place.source)
        elif isinstance(term, ast.Const):
            self.passed(term, (place,), literal=True)

    def lookup(self, term: ast.LookupRef, source: str) -> None:
        self.attribute(term.attribute, source)
        if isinstance(term.attribute.value, Keyword):
            self.term(term.value, VariablePlace(PlaceKind.VALUE, source, term.attribute.value))

    def passed(self, term: ast.Const | ast.LookupRef, places: Sequence[VariablePlace], *, literal: bool) -> None:
        """The same for a literal in several places. Not `literal`: it is passed to a rule, as the value it is."""
        if isinstance(term, ast.LookupRef):
            for source in dict.fromkeys(place.source for place in places):
                self.lookup(term, source)
            return
        reading = Interpretation.of(places, self.databases, json=False)
        if reading is None or reading.compared:
            return
        value, fault = reading(term.value)
        held = reading.held[0][0]
        if fault is not None and fault.unknown is not None:
            unknown = fault.unknown
            if unknown.ident:
                message = f"no entity has the ident {briefly(str(unknown.name))}"
                self.say(Suspicion.UNKNOWN_IDENT, message, term.position, unknown)
            else:
                self.undeclared(unknown.name, unknown.database, term.position)
        elif (fault is not None and not fault.ambiguous) or (not literal and value is not term.value):
            probably = next((each for kind, base in reading.held if (each := meant(kind, base, term.value))), None)
            hint = f"write {expected(held, json=False)}" if probably is None else f"did you mean {write(probably)}?"
            if term.value is None:
                hint = _NOTHING
            message = f"nothing can equal {shown(term.value)} here: {holding(held)}; {hint}"
            self.say(Suspicion.IMPOSSIBLE_VALUE, message, term.position)

    def pull(self, pattern: PullPattern, source: str) -> None:
        if pattern.wildcard and source in self.databases:
            self.forgotten(None, source, pattern.position)
        for asked in pattern.attributes:
            if asked.attribute != DB_ID:
                self.attribute(ast.Const(asked.attribute, None, position=asked.position), source)
            if isinstance(asked.sub, PullPattern):
                self.pull(asked.sub, source)

    # Joins and comparisons

    def conjunction(self, node: AndNode, outside: Mapping[str, PlaceContent]) -> None:
        """Whether the clauses that hold together ask for what can be. `outside`: what variables hold around it."""
        known = dict(outside)
        items = list(conjuncts(node.items))
        for item in items:
            look()
            if isinstance(item, logical.DatomAtom) and not self.is_misread(item):
                for name, held in self.held(item):
                    if held is PlaceKind.ENTITY and name == item.value and name in self.attributes:
                        continue  # as the value of a ref it stands for the attribute's entity
                    before = known.setdefault(name, held)
                    if type_of(before) != type_of(held):
                        self.unequal(name, before, held, "", item.position)
        for item in items:
            if isinstance(item, logical.RuleAtom):
                self.call(item, known)
        functions = (item for item in items if isinstance(item, logical.FunctionAtom))
        lists = {each.out: each for each in functions if each.name == "ground"}
        for item in items:
            match item:
                case logical.PredicateAtom() if item.name in COMPARISONS:
                    self.comparison(item, known)
                case logical.PredicateAtom() if item.name in MEMBERSHIPS:
                    self.membership(item, item.args[0], item.args[1], known)
                case logical.UnnestAtom() if item.collection in lists:
                    literal = lists[item.collection]
                    self.membership(literal, item.out, literal.args[0], known)
                case logical.OrNode():
                    for branch in item.branches:
                        self.conjunction(branch, known)
                case logical.NotNode():
                    self.conjunction(AndNode(item.items), known)
                case _:
                    pass

    def unequal(
        self, name: str, one: PlaceContent, other: PlaceContent, where: str, position: Position | None
    ) -> None:
        """Says that the values a variable stands for are never equal; `where`: the other ones are."""
        written = self.outline.tree.written(name)
        message = f"{written} stands for values that are never equal: {holding(one)}, {where}{holding(other)}"
        if {one, other} == {PlaceKind.ENTITY, PlaceKind.ATTRIBUTE}:
            message += (
                "; the variable of an attribute is its keyword already, so that no :db/ident is asked of it: "
                f"[?x :db/ident {written}] gives the entity ?x of the attribute"
            )
        self.say(Suspicion.IMPOSSIBLE_JOIN, message, position)

    def call(self, atom: logical.RuleAtom, known: Mapping[str, PlaceContent]) -> None:
        """Whether what is passed to a rule can be what each branch of it takes."""
        heads = [b.head for each in self.outline.tree.predicates if each.name == atom.rule for b in each.branches]
        for place, term in enumerate(atom.terms):
            before = known.get(term) if isinstance(term, str) else None
            if before is None or not isinstance(term, str):
                continue
            others = [self.other(head[place], type_of(before)) for head in heads]
            if others and None not in others and (other := others[0]) is not None:
                self.unequal(term, before, other, f"in the rule {atom.rule} ", atom.position)

    def other(self, name: str, kind: str | None) -> PlaceContent | None:
        """What a variable of a rule's head stands for, if that is of another class."""
        for place in self.outline.places.variables.get(name, ()):
            held = None if place.compared else place.kind_in(self.databases)
            if held is not None and type_of(held) != kind:
                return held
        return None

    def is_misread(self, atom: logical.DatomAtom) -> bool:
        terms = (atom.entity, atom.attribute, atom.value)
        return any(isinstance(term, str) and self.outline.tree.written(term) in self.misread for term in terms)

    def held(self, atom: logical.DatomAtom) -> Iterator[tuple[str, PlaceContent]]:
        kinds = (PlaceKind.ENTITY, PlaceKind.ATTRIBUTE, PlaceKind.TRANSACTION)
        for term, kind in zip((atom.entity, atom.attribute, atom.tx), kinds, strict=True):
            if isinstance(term, str):
                yield term, kind
        named = atom.attribute.value if isinstance(atom.attribute, ast.Const) else None
        if isinstance(atom.value, str) and isinstance(named, Keyword | int):
            held = VariablePlace(PlaceKind.VALUE, atom.source, named).kind_in(self.databases)
            if held is not None:
                yield atom.value, held

    def comparison(self, atom: logical.PredicateAtom, known: Mapping[str, PlaceContent]) -> None:
        sides: list[tuple[str, str]] = []
        decimals = any(_is_bigdec(arg, known) for arg in atom.args)
        for arg in atom.args:
            if decimals and isinstance(arg, ast.Const) and _is_rounded(arg.value):
                self.rounded(atom.name, arg.value, atom.position)
                return
            if isinstance(arg, str) and arg in known:
                sides.append((self.outline.tree.written(arg), str(type_of(known[arg]))))
            elif isinstance(arg, ast.Const) and arg.value is not None:
                sides.append((shown(arg.value), type_name(arg.value)))
        for (left, one), (right, other) in pairwise(sides):
            if one == other:
                continue
            hint = ""
            if one in NUMERIC and other in NUMERIC:
                if atom.name not in _EQUALITIES:
                    continue
                better = "==" if atom.name == "=" else "not and =="
                hint = f"; numbers of different types are compared with {better}"
            elif "keyword" in (one, other) and "long" in (one, other):
                hint = "; an entity is its number here: put the ident into a data pattern"
            elif {one, other} == {"string", "instant"}:
                hint = '; an instant is written #inst "2024-05-01"'
            outcome = "never equal" if atom.name in (*_EQUALITIES, "==") else "in no order"
            message = f"({atom.name} {left} {right}) compares {_a(one)} with {_a(other)}, which are {outcome}{hint}"
            self.say(Suspicion.IMPOSSIBLE_VALUE, message, atom.position)

    def membership(self, atom: Call, member: object, among: object, known: Mapping[str, PlaceContent]) -> None:
        """A literal list is a test of its members, or a `ground` of them that binds the variable."""
        if _is_bigdec(member, known) and isinstance(among, ast.Const) and isinstance(among.value, tuple | EdnSet):
            rounded = next(filter(_is_rounded, among.value), None)
            if rounded is not None:
                self.rounded("in" if atom.name == "ground" else atom.name, rounded, atom.position)

    def rounded(self, name: str, value: float, position: Position | None) -> None:
        message = (
            f"({name} …) compares a bigdec with the double {shown(value)}, whose exact value is another than "
            f"it is written; write {shown(value)}M"
        )
        self.say(Suspicion.IMPOSSIBLE_VALUE, message, position)

    # What hangs together

    def parts(self, query: ast.Query) -> None:
        """Parts of the query that share no variable: every row of the one meets every row of the other."""
        groups: list[_Group] = []
        given: set[str] = set()
        for each in query.inputs:
            if isinstance(each, ast.BindingInput):
                names = {target.name for target in targets(each.binding) if isinstance(target, ast.Var)}
                groups = _joined(groups, names, False, None)
                if isinstance(each.binding, ast.ScalarBinding | ast.TupleBinding):
                    given |= names
        for clause in query.where:
            look()
            names = set(names_in((clause,), inside_not=True))
            if names:
                asks = isinstance(clause, ast.Pattern | ast.RuleCall | ast.Or | ast.OrJoin | ast.And)
                groups = _joined(groups, names, asks, clause.position)
        asking = [(names, position) for names, asks, position in groups if asks and names - given]
        if len(asking) > 1:
            first, (other, position) = asking[0][0], asking[1]
            message = (
                f"this part ({_some(other)}) shares no variable with the part around {_some(first)}: "
                "every row of the one is combined with every row of the other"
            )
            self.say(Suspicion.CARTESIAN_PRODUCT, message, position)

    def symbols(self, query: ast.Query) -> Iterator[tuple[str, Position | None, bool]]:
        """(a message, its place, whether there is no doubt) for plain symbols, which are variables, where something
        else was probably meant."""
        whole = (query.find, query.with_, query.order_elements, query.inputs, query.where)
        for scope in (whole, *((rule.args, rule.clauses) for rule in query.rules)):
            uses: dict[str, list[SymbolUse]] = {}
            mixed = False
            for use in variable_uses(scope):
                mixed = mixed or use.variable.name.startswith("?")
                if is_plain(use.variable):
                    uses.setdefault(use.variable.name, []).append(use)
            for name, found in uses.items():
                look()
                meant = self.probably(found, mixed=mixed)
                if meant is not None:
                    self.misread.add(name)
                    yield f"{name} is a variable here{meant[0]}", found[0].variable.position, meant[1]

    def probably(self, uses: Sequence[SymbolUse], *, mixed: bool) -> tuple[str, bool] | None:
        """(what a plain symbol was probably meant to be, whether there is no doubt); None: a variable.

        `mixed`: beside variables that begin with a question mark.
        """
        name, places = uses[0].variable.name, [use.place for use in uses]
        alone, attribute = len(places) == 1, set(places) == {1}
        if name in {rule.name for rule in self.outline.query.rules} and (alone or set(places) == {0}):
            return f"; a call of the rule is written ({name} …), in round brackets", False
        known = [base.schema.names for base in self.databases.values()]
        named = [index.by_name.get(name) for index in known if alone or attribute]
        named += [index.by_name.get(name.replace(".", "/", 1)) for index in known if attribute]
        named += [index.by_local.get(name) for index in known if attribute]
        meant = next((each for each in named if each is not None), None)
        if meant is not None:
            return f"; the attribute is {meant}", True
        if attribute and "/" in name:
            hints = (index.hint(Keyword(name)) for index in known)
            return f"; an attribute is a keyword, as :{name}{next(filter(None, hints), '')}", True
        if name in BUILTINS and set(places) <= {0, 1}:
            call = uses[0].as_call()
            return f"; a call of the built-in is written {call}, in round brackets within square ones", True
        # No variable is named by signs alone, however often it is written.
        if set(places) == {2} and (alone or not any(map(str.isalnum, name))):
            condition = uses[0].as_condition()
            if condition:
                return f"; {condition}", True
        if name.lower() in _CONSTANTS and mixed and min(places) >= 0:
            return f"; {_CONSTANTS[name.lower()]}", False
        if alone and mixed and places[0] >= 0:
            return f' and stands nowhere else, so that it may be anything; write :{name}, "{name}" or _', False
        return None


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeio" else f"a {noun}"


def _some(names: Iterable[str]) -> str:
    ordered = sorted(names)
    return " ".join(ordered[:3]) + (" …" if len(ordered) > 3 else "")


_Group = tuple[set[str], bool, Position | None]


def _joined(groups: list[_Group], names: set[str], asks: bool, position: Position | None) -> list[_Group]:
    """The groups with one more clause: those that it shares a variable with become one."""
    apart, place = [], None
    for group in groups:
        if group[0].isdisjoint(names):
            apart.append(group)
            continue
        names = names | group[0]
        asks = asks or group[1]
        place = place or group[2]
    return [*apart, (names, asks, place or position)]


def _is_bigdec(term: object, known: Mapping[str, PlaceContent]) -> bool:
    return isinstance(term, str) and term in known and type_of(known[term]) == "bigdec"


def _is_rounded(value: object) -> TypeGuard[float]:
    """Whether a double is another number than its shortest decimal, as 0.1 is and 0.5 is not."""
    return isinstance(value, float) and isfinite(value) and Decimal(value) != Decimal(repr(float(value)))
