"""The canonical form of a query: one text for all that differ in the names of variables and the order of clauses.

For the keys of cached answers. Equal forms mean equal answers; a form that is not found to be equal only costs a
place in the cache. Nothing here looks at data or arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from adalog.datalog import ast
from adalog.datalog.pull import PullAttribute, PullPattern, PullQuery
from adalog.datalog.watched import look
from adalog.executor.answer.columns import order_keys
from adalog.executor.pull.queries import bindings_taken, patterns_in
from adalog.planner.model.nested import query_in
from adalog.store.files.packing import pack_as_written

# A leaf is text; a variable is ("?", name); else (head, part …), parts in any order where the head begins with "*".
Part = Any

# Renderings that one query may take, and orders that are tried where variables look alike.
_MOST_WORK: Final = 40_000
_MOST_TRIES: Final = 24

Scope = Mapping[str, str]


def form_of(query: ast.Query) -> str:
    """The canonical form. Pulls count as the variable that they pull; `:timeout` does not count."""
    return _canonical(_Former().query(query))


@dataclass
class _Former:
    """Makes the parts of one query; queries and rules within it are forms of their own."""

    _locals: int = field(default=0, init=False)

    def query(self, query: ast.Query) -> Part:
        find = query.find
        return (
            "query",
            ("find", find.shape, value(find.keys), *(self.shown(each, find) for each in find.elements)),
            ("*with", *(("?", each.name) for each in query.with_)),
            ("in", *map(self.input, query.inputs)),
            ("pulled", *self.pulled(query)),
            ("*where", *(self.clause(each, {}) for each in query.where)),
            ("hidden", *map(self.element, find.hidden)),
            ("*having", *(self.grouped(each, find) for each in query.having)),
            ("order", str(order_keys(query)), *(self.order(key, find) for key in query.order_by)),
            ("limits", *map(self.row_number, (query.limit, query.offset))),
            ("*rules", *sorted(_canonical(_Former().rule(each)) for each in query.rules)),
        )

    def pulled(self, query: ast.Query) -> Iterable[Part]:
        """The inputs that queries in pull patterns take: they may be no clauses."""
        for _, pattern in patterns_in(query):
            for asked in pattern.all_queries():
                yield from (self.binding(each, {}) for each in bindings_taken(query_in(asked)))

    def order(self, key: ast.OrderKey, find: ast.Find) -> Part:
        if key.by is not None:
            return self.grouped(key.by, find)
        return ("?", key.var.name) if key.outside else ""

    def grouped(self, term: ast.Argument, find: ast.Find) -> Part:
        """A call over the columns of groups, which are known by their places."""
        if isinstance(term, ast.Var):
            return str([column.label for column in find.columns].index(term.name))
        if isinstance(term, ast.Expression):
            return ("over", repr(term.name), *(self.grouped(each, find) for each in term.args))
        return self.term(term, {})

    @staticmethod
    def row_number(number: ast.RowNumber | None) -> Part:
        return ("?", number.name) if isinstance(number, ast.Var) else str(number)

    @staticmethod
    def number(number: ast.Const | ast.Var) -> Part:
        return ("?", number.name) if isinstance(number, ast.Var) else value(number.value)

    def rule(self, rule: ast.Rule) -> Part:
        head = (self.element(each) for each in rule.head)
        body = (self.clause(each, {}) for each in rule.clauses)
        return ("rule", f"{rule.name!r} {len(rule.required)}", ("head", *head), ("*where", *body))

    def shown(self, element: ast.FindElement, find: ast.Find) -> Part:
        if isinstance(element, ast.FindExpression):
            return self.grouped(element.expression, find)
        return self.element(element)

    def element(self, element: ast.FindColumn | ast.Var) -> Part:
        match element:
            case ast.Var():
                return ("?", element.name)
            case ast.FindAggregate():
                return (
                    "aggregate",
                    f"{element.name!r} {element.may_be_nil}",
                    *(self.number(each) for each in element.args),
                    _var(element),
                )
            case _:
                return _var(element)

    def input(self, each: ast.Input) -> Part:
        match each:
            case ast.SourceInput():
                return repr(each.name)
            case ast.RulesInput():
                return "%"
            case ast.BindingInput():
                return self.binding(each.binding, {})

    def binding(self, binding: ast.Binding, scope: Scope) -> Part:
        match binding:
            case ast.ScalarBinding() | ast.CollectionBinding():
                return (type(binding).__name__, self.term(binding.target, scope))
            case _:
                return (type(binding).__name__, *(self.term(each, scope) for each in binding.targets))

    def term(self, term: ast.Argument, scope: Scope) -> Part:
        match term:
            case ast.Var():
                return ("?", scope.get(term.name, term.name))
            case ast.Blank():
                return "_"
            case ast.Const():
                return value(term.value)
            case ast.LookupRef():
                return ("ref", self.term(term.attribute, scope), self.term(term.value, scope))
            case ast.Source():
                return repr(term.name)
            case ast.Expression():
                return ("call", repr(term.name), *(self.term(each, scope) for each in term.args))

    def clause(self, clause: ast.Clause, scope: Scope) -> Part:
        look()
        match clause:
            case ast.Pattern():
                return ("datom", repr(clause.source.name), *(self.term(each, scope) for each in clause.terms))
            case ast.Predicate():
                return ("test", repr(clause.name), *(self.term(each, scope) for each in clause.args))
            case ast.Function():
                inner = "" if clause.query is None else self.within(clause.query)
                args = (self.term(each, scope) for each in clause.args)
                said = f"{clause.name!r} {clause.keeps_nil}"
                return ("call", said, inner, ("args", *args), self.binding(clause.binding, scope))
            case ast.RuleCall():
                args = (self.term(each, scope) for each in clause.args)
                return ("rule", repr(clause.source.name), repr(clause.name), *args)
            case ast.And():
                return ("*and", *self.clauses(clause.clauses, scope))
            case ast.Or():
                return ("or", ("*", *(self.clause(each, scope) for each in clause.branches)))
            case ast.Not():
                return ("not", ("*", *self.clauses(clause.clauses, scope)))
            case ast.OrJoin():
                listed = (*clause.required, *clause.variables)
                outside = ("*", *(self.term(each, scope) for each in clause.variables))
                required = ("*", *(self.term(each, scope) for each in clause.required))
                branches = [self.clause(each, self.local(scope, listed)) for each in clause.branches]
                return ("or-join", required, outside, ("*", *branches))
            case ast.NotJoin():
                outside = ("*", *(self.term(each, scope) for each in clause.variables))
                body = self.clauses(clause.clauses, self.local(scope, clause.variables))
                return ("not-join", outside, ("*", *body))

    def clauses(self, clauses: Iterable[ast.Clause], scope: Scope) -> list[Part]:
        return [self.clause(each, scope) for each in clauses]

    def within(self, query: ast.Query) -> str:
        """The form of a query within, its pulls as they are written: their maps are values there."""
        pulls = [(source, pattern_text(pattern, query)) for source, pattern in patterns_in(query)]
        return f"[{form_of(query)} {pulls!r}]"

    def local(self, scope: Scope, listed: Iterable[ast.Var]) -> Scope:
        """What is visible inside a join: the listed variables; every other name means one of its own."""
        self._locals += 1
        return _Local({each.name: scope.get(each.name, each.name) for each in listed}, f"·{self._locals}")


class _Local(dict[str, str]):
    """The names of a local scope; those it does not know are made its own."""

    def __init__(self, names: Mapping[str, str], suffix: str) -> None:
        super().__init__(names)
        self._suffix = suffix

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key, key + self._suffix)


def value(given: Any) -> str:
    """A constant as it is: what differs in any way has another text."""
    return "c" + pack_as_written(given).hex()


def pattern_text(pattern: PullPattern, around: ast.Query) -> str:
    """A pull pattern as it is: attributes in order with all that is said of each, then its queries. `around`:
    the query that it stands in, whose inputs these take by their places."""
    attributes = (_attribute_text(each, around) for each in pattern.attributes)
    queries = (_query_text(each, around) for each in pattern.queries)
    return f"[{' '.join(('*' if pattern.wildcard else '', *attributes, *queries))}]"


def _query_text(asked: PullQuery, around: ast.Query) -> str:
    inner = query_in(asked)
    bindings = [each.binding for each in around.inputs if isinstance(each, ast.BindingInput)]
    taken = [bindings.index(each) for each in bindings_taken(inner)]
    return f"(q {value(asked.key.value)} {_Former().within(inner)} {taken})"


def _attribute_text(asked: PullAttribute, around: ast.Query) -> str:
    default = "" if asked.default is None else value(asked.default.value)
    xform = "" if asked.xform is None else asked.xform.name
    sub = pattern_text(asked.sub, around) if isinstance(asked.sub, PullPattern) else repr(asked.sub)
    said = (asked.attribute.name, asked.reverse, value(asked.key.value), asked.limit, default, xform)
    return f"{said!r}{sub}"


def _var(element: ast.FindColumn) -> Part:
    return ("?", element.var.name)


# Labelling: colour refinement, then trying which of the variables that look alike comes first.


def _canonical(part: Part) -> str:
    names = list(dict.fromkeys(_variables(part)))
    if len(names) * _size(part) > _MOST_WORK:
        return _spelt(part, {name: f"?{i}" for i, name in enumerate(names)})
    return _Labelling(part, names).best(dict.fromkeys(names, 0))


@dataclass
class _Labelling:
    """`names` in the order in which they are written: what decides where nothing better is found in time."""

    part: Part
    names: list[str]
    _tries: int = field(default=_MOST_TRIES, init=False)

    def best(self, colours: Mapping[str, int]) -> str:
        """The least text among those of all labellings that respect the colours."""
        colours = self.refined(colours)
        groups: dict[int, list[str]] = {}
        for name in self.names:
            groups.setdefault(colours[name], []).append(name)
        alike = min((colour for colour, group in groups.items() if len(group) > 1), default=None)
        if alike is None:
            self._tries -= 1
            return _spelt(self.part, {name: f"?{colours[name]}" for name in self.names})
        found: list[str] = []
        for name in groups[alike]:
            if found and self._tries <= 0:
                break
            found.append(self.best({each: 2 * colours[each] + (each != name) for each in self.names}))
        return min(found)

    def refined(self, colours: Mapping[str, int]) -> Mapping[str, int]:
        """Colours told apart by where else in the query the variables are, until that tells no more apart."""
        while True:
            texts = {name: f"?{colour}" for name, colour in colours.items()}
            seen = {
                name: (
                    colours[name],
                    "" if len(set(colours.values())) == len(colours) else self._around(name, texts),
                )
                for name in self.names
            }
            ranks = {each: rank for rank, each in enumerate(sorted(set(seen.values())))}
            finer = {name: ranks[seen[name]] for name in self.names}
            if len(ranks) == len(set(colours.values())):
                return finer
            colours = finer

    def _around(self, name: str, texts: Mapping[str, str]) -> str:
        look()
        return _spelt(self.part, {**texts, name: "?this"})


def _spelt(part: Part, names: Mapping[str, str]) -> str:
    if isinstance(part, str):
        return part
    head, *rest = part
    if head == "?":
        return names[rest[0]]
    texts = [_spelt(each, names) for each in rest]
    return f"{head}({','.join(sorted(texts) if head[0] == '*' else texts)})"


def _variables(part: Part) -> Iterable[str]:
    if isinstance(part, str):
        return
    if part[0] == "?":
        yield part[1]
        return
    for each in part[1:]:
        yield from _variables(each)


def _size(part: Part) -> int:
    return 1 if isinstance(part, str) else 1 + sum(map(_size, part[1:]))
