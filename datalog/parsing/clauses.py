"""`:where`: data patterns, predicates, functions, `and or or-join not not-join`, rule calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Final

from adalog.datalog import ast
from adalog.datalog.aggregates import FIND_AGGREGATES
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.hints import nearest
from adalog.datalog.names import names_in
from adalog.datalog.parsing.calls import CallParser
from adalog.datalog.parsing.foreign_names import instead_of_builtin, instead_of_operator, instead_of_rule
from adalog.datalog.parsing.forms import (
    Form,
    arguments,
    constant,
    invalid,
    is_call,
    is_source,
    is_symbol,
    is_variable,
    shown,
    unknown,
    variable,
)
from adalog.datalog.parsing.inputs import parse_binding
from adalog.datalog.parsing.nested import NAMES, ParseInner, check_binding, nested_call, no_inner
from adalog.datalog.values import Keyword, Symbol, identity
from adalog.datalog.watched import look

CONNECTIVES = frozenset(("and", "or", "or-join", "not", "not-join"))
OPTIONAL = "optional"
"""A clause, too, where no rule has this name."""
# Of a pattern with sets in it.
_MOST_PATTERNS: Final = 100
_PLACES = "[entity attribute value tx added?]"


@dataclass(frozen=True)
class ClauseParser:
    """`sources`: the names that :in gives, `$` among them. `rules`: numbers of arguments by name; None while they
    are not known. `inner` reads a query within the query. `outer_rules`: those of the query around this one, which
    it cannot call; None while they are not known. `taken`: the names of rules that are variables here.
    `logs`: the variables that are sources. `default`: the source of clauses that name none.
    `own`: what `$` is called."""

    sources: frozenset[str]
    inner: ParseInner = no_inner
    rules: Mapping[str, int] | None = None
    outer_rules: frozenset[str] | None = frozenset()
    taken: frozenset[str] = frozenset()
    logs: frozenset[str] = frozenset()
    default: str = "$"
    own: str = "$"

    def clause(self, form: Form) -> ast.Clause:
        """One clause of a :where."""
        look()
        if form.kind == "vector":
            if not form.items:
                raise invalid(form, f"an empty clause; a data pattern is {_PLACES}")
            if form.items[0].kind == "list":
                return self._call(form)
            return self._any_of(form) if self._called(form) is None else self._vector_call(form)
        if form.kind == "list" and form.items:
            return self._compound(form)
        if form.kind == "map":
            raise invalid(form, "a map is no clause; a data pattern is a vector, such as [?e :person/name ?name]")
        if is_symbol(form) and form.value.name in ("and", "or", "not"):
            raise invalid(form, _infix(form.value.name))
        if form.value in (Keyword("-"), Symbol("->"), Symbol("<-")):
            raise invalid(form, f"the clauses of a rule follow its head, without {shown(form)} between them")
        if is_source(form):
            raise invalid(form, f"a source stands within its pattern: [{shown(form)} ?e :person/name]")
        raise invalid(
            form,
            f"a clause is a data pattern {_PLACES}, a call [(f ?x) ?y] or (or …), (not …), not {shown(form)}; "
            "each stands in brackets of its own",
        )

    # Patterns and calls

    def source(self, form: Form) -> ast.Source:
        if form.value.name not in self.sources:
            hint = nearest(form.value.name, self.sources)
            raise unknown(form, f"no source {form.value.name} is in :in{hint}; add it there")
        name = self.own if form.value.name == "$" else form.value.name
        return ast.Source(name, position=form.position)

    def _called(self, form: Form) -> str | None:
        """The name of the rule that a vector calls, `[parent ?a ?b]`; None for a data pattern."""
        if not is_called(form, self.rules):
            return None
        name: str = form.items[0].value.name
        if self.rules is None:
            # With rules that are not known yet it is a pattern as long as it can be one.
            return None if self._is_pattern(form) else name
        return None if name in self.taken else name

    def _is_pattern(self, form: Form) -> bool:
        try:
            self._pattern(form)
        except AdalogError:
            return False
        return True

    def _vector_call(self, form: Form) -> ast.RuleCall:
        head, *rest = form.items
        if self.rules is not None and isinstance(rest[0].value, Keyword):
            written, name = " ".join(map(shown, form.items)), shown(head)
            both = f"[{written}] may be a call of the rule {name} and a data pattern"
            raise invalid(form, f"{both}: write ({written}) for the call, or [?{written}] for the pattern")
        return self._rule_call(form, head, rest)

    def _any_of(self, form: Form) -> ast.Clause:
        """A data pattern, or several for a set in the place of an entity or a value, as XTDB has it."""
        sets = [place for place, each in enumerate(form.items[:3]) if place != 1 and each.kind == "set"]
        choices = [form.items[place].items for place in sets]
        if is_source(form.items[0]) or not 1 <= prod(map(len, choices)) * len(sets) <= _MOST_PATTERNS:
            return self._pattern(form)
        patterns = []
        for chosen in product(*choices):
            members = dict(zip(sets, chosen, strict=True))
            items = tuple(members.get(place, each) for place, each in enumerate(form.items))
            patterns.append(ast.And((self._pattern(form, items),), position=form.position))
        return ast.Or(tuple(patterns), position=form.position)

    def _pattern(self, form: Form, items: tuple[Form, ...] = ()) -> ast.Pattern:
        """`items`: other ones than the form's."""
        items = items or form.items
        source = ast.Source(self.default)
        if is_source(items[0]):
            source = self.source(items[0])
            items = items[1:]
            if not items:
                raise invalid(form, f"a data pattern has 1 to 5 places: {_PLACES}")
        if items[0].kind == "vector" and items[0].items and _is_question(items[0].items[0]):
            raise invalid(form, "the clauses of :where follow each other, without a further bracket around them")
        connectives = (*CONNECTIVES, OPTIONAL)
        if is_symbol(items[0]) and items[0].value.name in connectives and any(map(_is_clause, items[1:])):
            raise invalid(form, f"{items[0].value.name} stands in round brackets: ({items[0].value.name} …)")
        if len(items) > 5 and source.name == "$":
            raise invalid(form, f"a data pattern has at most 5 places: {_PLACES}{_instead(items)}")
        terms = tuple(self.term(item, place) for place, item in enumerate(items))
        if len(terms) > 3 and source.name == "$" and _is_no_transaction(terms[3]):
            written = [shown(each) for each in items[:4]]
            condition = instead_of_operator(*written) if is_symbol(items[2]) else ""
            if condition:
                raise invalid(items[2], f"{shown(items[2])} has no place in {_PLACES}; {condition}")
            raise invalid(
                items[3],
                f"the fourth place of a pattern is the transaction, a number or an entity id{_instead(items)}",
            )
        return ast.Pattern(source, terms, position=form.position)

    def term(self, form: Form, place: int | None = None) -> ast.Term:
        """`place`: where in a pattern; a vector in the places of entity and value may be a lookup ref."""
        if is_symbol(form):
            if form.value.name == "_":
                return ast.Blank(position=form.position)
            if is_variable(form):
                return variable(form)
            hint = "write a variable, a constant or _"
            if is_source(form):
                hint = f"names with $ are sources; write a variable, ?{form.value.name[1:] or 'x'}, or a constant"
            raise invalid(form, f"{shown(form)} cannot stand here; {hint}")
        if form.kind == "vector" and place in (0, 2) and self._is_lookup(form):
            attribute, value = form.items
            held = variable(value) if is_variable(value) else constant(value)
            return ast.LookupRef(constant(attribute), held, position=form.position)
        if is_call(form):
            raise invalid(form, f"a call cannot stand here; bind its value first: [{shown(form)} ?x]")
        return constant(form)

    @staticmethod
    def _is_lookup(form: Form) -> bool:
        return len(form.items) == 2 and form.items[0].kind == "atom" and isinstance(form.items[0].value, Keyword)

    def _call(self, form: Form) -> ast.Clause:
        """`[(name arg …)]` or `[(name arg …) binding]`."""
        call, *rest = form.items
        if not call.items or not is_symbol(call.items[0]):
            raise invalid(call, f"a call begins with the name of a built-in, e.g. (< ?x 3), not {shown(call)}")
        if len(rest) > 1 and call.items[0].value.name in BUILTINS:
            if is_symbol(rest[0]) and rest[0].value.name in ("and", "or"):
                raise invalid(rest[0], _joined(rest[0].value.name, (call, *rest[1:])))
            bound = next((each for each in rest if each.kind == "vector" or is_variable(each)), rest[0])
            raise invalid(rest[1], f"a call takes one binding: [{shown(call)} {shown(bound)}]")
        head, *arguments = call.items
        name = head.value.name if isinstance(head.value, Symbol) else str(head.value)
        if name in NAMES:
            return self._nested(form, call, rest)
        if name in CONNECTIVES and any(each.kind == "vector" and _is_clause(each) for each in arguments):
            raise invalid(call, f"({name} …) of clauses is a clause itself: leave out the brackets around it")
        if name in (self.rules or ()) and name not in BUILTINS:
            raise unknown(head, f"{name} is a rule, which is called without square brackets: {shown(call)}")
        read = CallParser(self.source, self.term, self.logs, self.default).call(call)
        if read.name == "missing?" and not rest and (path := _backwards(read.args)) is not None:
            return ast.Not((path,), position=form.position)
        parts: list[ast.Function] = []
        binding = parse_binding(rest[0], "a binding", parts) if rest else None
        if read.name == "get-attr" and (pattern := _values(read, binding, self.default)) is not None:
            return replace(pattern, position=form.position)
        if binding is None:
            return ast.Predicate(read.name, read.args, position=form.position)
        return _taken_apart(ast.Function(read.name, read.args, binding, position=form.position), parts)

    def _nested(self, form: Form, call: Form, rest: Sequence[Form]) -> ast.Clause:
        query, args = nested_call(call, self.inner, self.source, self.term, self.default)
        parts: list[ast.Function] = []
        if rest:
            binding: ast.Binding = parse_binding(rest[0], "a binding", parts)
            check_binding(query, binding, rest[0])
        elif query.find.shape == "relation":
            # It holds if there is a row.
            binding = ast.RelationBinding((ast.Blank(position=call.position),), position=call.position)
        else:
            raise invalid(form, f"a query within the query makes a value: bind it, e.g. [{shown(call)} ?result]")
        return _taken_apart(ast.Function("q", args, binding, query, position=form.position), parts)

    # Compound clauses

    def _compound(self, form: Form) -> ast.Clause:
        items = form.items
        if is_source(items[0]):
            return replace(self, default=self.source(items[0]).name)._compound_of(form, items[1:])
        return self._compound_of(form, items)

    def _compound_of(self, form: Form, items: Sequence[Form]) -> ast.Clause:
        """`items`: those of the form after its source."""
        if items and items[0].kind == "list":
            return self._call(form)
        if not items or not is_symbol(items[0]):
            known = "(or …), (not …), (and …), (optional …)"
            raise invalid(form, f"a clause in parentheses is {known}, not {shown(form)}")
        name, rest = items[0].value.name, items[1:]
        if name.startswith("?") and name not in (self.rules or ()) and rest and isinstance(rest[0].value, Keyword):
            # Datalevin takes a data pattern in parentheses.
            return self._pattern(form, tuple(items))
        if name not in CONNECTIVES and not self._is_optional(items):
            return self._rule_call(form, items[0], rest)
        if not rest:
            raise invalid(form, f"({name}) is empty; it needs at least one clause")
        match name:
            case "and":
                return ast.And(tuple(map(self.clause, rest)), position=form.position)
            case "or":
                return self._or(form, rest)
            case "optional":
                clauses = tuple(map(self.clause, rest))
                names = names_in(clauses, inside_not=True).items()
                variables = tuple(ast.Var(name, position=at) for name, at in names)
                return ast.Optional((), variables, (ast.And(clauses),), position=form.position)
            case "not":
                return ast.Not(tuple(map(self.clause, rest)), position=form.position)
            case "or-join":
                return self._or_join(form, rest)
            case _:
                return self._not_join(form, rest)

    def _is_optional(self, items: Sequence[Form]) -> bool:
        """Whether a form is `(optional clause …)`. A rule of that name wins; where rules are not known yet, clauses
        tell."""
        name, *rest = items
        if name.value.name != OPTIONAL:
            return False
        return name.value.name not in self.rules if self.rules is not None else all(map(_is_clause, rest))

    def _rule_call(self, form: Form, head: Form, rest: Sequence[Form]) -> ast.RuleCall:
        name = head.value.name
        if self.rules is not None and name not in self.rules:
            raise self._no_rule(form, head)
        if self.rules is not None and len(rest) != self.rules[name]:
            raise unknown(form, f"the rule {name} takes {arguments(self.rules[name])}, not {len(rest)}")
        args = tuple(self.term(each, 0) for each in rest)
        return ast.RuleCall(name, args, ast.Source(self.default), position=form.position)

    def _no_rule(self, form: Form, head: Form) -> AdalogError:
        """The refusal of a call of a rule that is not there."""
        name = head.value.name
        if name.startswith("?"):
            written = " ".join(map(shown, form.items))
            return unknown(form, f"a data pattern stands in square brackets: [{written}]")
        if name in FIND_AGGREGATES:
            call = f"; as a built-in it stands in brackets, [{shown(form)} ?x]" if name in BUILTINS else ""
            return unknown(form, f"{name} is an aggregate, which stands in :find: {shown(form)}{call}")
        if name in BUILTINS:
            return unknown(form, f"a call stands in brackets: [{shown(form)}]")
        known = (*(self.rules or ()), *CONNECTIVES, OPTIONAL)
        hint = nearest(name, known)
        if (self.outer_rules is None and not hint) or name in (self.outer_rules or ()):
            message = (
                f"the query within has no rule {name}: it takes those of the outer query if its :in has %, "
                "as in (q [:find ?x :in $ % :where …] $ %)"
            )
            return unknown(head, message)
        if not hint and any(map(_is_clause, form.items[1:])):
            hint = instead_of_builtin(name)
        hint = hint or instead_of_rule(name) or "; rules come in :rules, or in :in as %"
        return unknown(head, f"there is no rule or clause ({name} …){hint}")

    def _branch(self, form: Form) -> ast.And:
        clause = self.clause(form)
        return clause if isinstance(clause, ast.And) else ast.And((clause,), position=form.position)

    def _or(self, form: Form, rest: Sequence[Form]) -> ast.Or:
        branches = tuple(self._branch(each) for each in rest)
        # The variables of a not are free only where a data pattern shares them: the others are its own.
        binding = names_in(branches).keys()
        wanted = names_in(branches[:1], inside_not=True).keys() & binding
        for branch, place in zip(branches[1:], rest[1:], strict=True):
            mine = names_in((branch,), inside_not=True).keys() & binding
            if mine != wanted:
                odd = sorted(mine ^ wanted)
                for each in rest:
                    _refuse_infix(each)
                are = f"{', '.join(odd)} {'is' if len(odd) == 1 else 'are'} not in all"
                hint = "or-join says which variables to share"
                raise invalid(place, f"every branch of an or uses the same variables, but {are}; {hint}")
        return ast.Or(branches, position=form.position)

    def _or_join(self, form: Form, rest: Sequence[Form]) -> ast.OrJoin:
        head, *branches = rest
        if head.kind != "vector":
            raise invalid(head, f"or-join begins with its variables: (or-join [?x] …), not {shown(head)}")
        items = list(head.items)
        required: tuple[ast.Var, ...] = ()
        if items and items[0].kind in ("vector", "list"):
            required = tuple(self._variable(item) for item in items[0].items)
            items = items[1:]
        variables = tuple(self._variable(item) for item in items)
        if not required and not variables:
            raise invalid(head, "or-join needs at least one variable")
        if not branches:
            raise invalid(form, "or-join needs at least one branch")
        parsed = tuple(self._branch(each) for each in branches)
        self._check_listed((*required, *variables), parsed, "or-join")
        return ast.OrJoin(required, variables, parsed, position=form.position)

    def _not_join(self, form: Form, rest: Sequence[Form]) -> ast.NotJoin:
        head, *clauses = rest
        if head.kind != "vector" or not head.items:
            raise invalid(head, f"not-join begins with its variables: (not-join [?x] …), not {shown(head)}")
        if not clauses:
            raise invalid(form, "not-join needs at least one clause")
        variables = tuple(self._variable(item) for item in head.items)
        parsed = tuple(map(self.clause, clauses))
        self._check_listed(variables, parsed, "not-join")
        return ast.NotJoin(variables, parsed, position=form.position)

    @staticmethod
    def _check_listed(variables: Sequence[ast.Var], clauses: Sequence[ast.Clause], name: str) -> None:
        """A listed variable is listed once and used inside."""
        used = names_in(clauses, inside_not=True)
        listed: set[str] = set()
        for each in variables:
            if each.name in listed:
                raise AdalogError(Code.QUERY_INVALID, f"{name} lists {each.name} twice", each.position)
            if each.name not in used:
                message = f"{name} lists {each.name}, but no clause in it uses it"
                raise AdalogError(Code.QUERY_INVALID, message, each.position)
            listed.add(each.name)

    @staticmethod
    def _variable(form: Form) -> ast.Var:
        if not is_variable(form):
            raise invalid(form, f"a variable such as ?x is expected here, not {shown(form)}")
        return variable(form)


def is_called(form: Form, rules: Mapping[str, int] | None) -> bool:
    """Whether a vector may be a call of a rule: it has the rule's name and number of arguments."""
    head, *rest = form.items
    if not is_variable(head) or head.value.name.startswith("?") or not rest:
        return False
    return rules is None or rules.get(head.value.name) == len(rest)


def taken_names(forms: Iterable[Form], rules: Mapping[str, int]) -> frozenset[str]:
    """The names of rules that a scope uses as variables, too: a vector that begins with one is a data pattern."""
    found: set[str] = set()
    waiting = list(forms) if rules else []
    while waiting:
        form = waiting.pop()
        items = form.items
        if is_symbol(form):
            found.add(form.value.name)
        elif form.kind == "list" and items:
            # A query within the query is a scope of its own.
            within = is_symbol(items[0]) and items[0].value.name in NAMES
            waiting += items[2:] if within else items[1:]
        elif form.kind == "vector" and items and is_called(form, rules):
            waiting += items[1:]
        else:
            waiting += items
    return frozenset(found & rules.keys())


def _backwards(args: Sequence[ast.Argument]) -> ast.Pattern | None:
    """The pattern of refs to an entity that `(missing? $ ?e :person/_friend)` asks for."""
    match args:
        case (ast.Source() as source, ast.Var() as entity, ast.Const(value=Keyword() as name) as attribute):
            if name.local.startswith("_") and len(name.local) > 1:
                forward = Keyword(name.name.removesuffix(name.local) + name.local[1:])
                named = ast.Const(forward, identity(forward), position=attribute.position)
                return ast.Pattern(source, (ast.Blank(), named, entity), position=attribute.position)
    return None


def _values(call: ast.Expression, binding: ast.Binding | None, default: str) -> ast.Pattern | None:
    """The pattern that `[(get-attr ?e :person/tags) [?tag ...]]` and `[(get-attr ?e :person/tags)]` stand for."""
    source = next((each for each in call.args if isinstance(each, ast.Source)), ast.Source(default))
    match [each for each in call.args if not isinstance(each, ast.Source)], binding:
        case [ast.Var() as entity, ast.Const(value=Keyword()) as attribute], None:
            return ast.Pattern(source, (entity, attribute))
        case [ast.Var() as entity, ast.Const(value=Keyword()) as attribute], ast.CollectionBinding(target=target):
            return ast.Pattern(source, (entity, attribute, target))
    return None


def _taken_apart(call: ast.Function, parts: Sequence[ast.Function]) -> ast.Clause:
    """A call with what takes bindings within its binding apart, whose variables stay within it."""
    if not parts:
        return call
    clauses = (call, *parts)
    inner = {each.args[0] for each in parts}
    listed = tuple(
        ast.Var(name, position=at) for name, at in names_in(clauses).items() if ast.Var(name) not in inner
    )
    whole = ast.And(clauses, position=call.position)
    return ast.OrJoin((), listed, (whole,), position=call.position) if listed else whole


def _is_question(form: Form) -> bool:
    """`?x`, and no plain symbol."""
    return is_symbol(form) and form.value.name.startswith("?")


def _instead(items: Sequence[Form]) -> str:
    """What to write for a pattern with something else than a transaction in its fourth place."""
    if type(items[3].value) is bool:
        return "; whether it was added is the fifth: [?e :person/name ?name _ true]"
    if any(isinstance(each.value, Keyword) for each in items[3:]):
        return "; each attribute has a pattern of its own: [?e :person/name ?name] [?e :person/age 36]"
    return ""


def _is_no_transaction(term: ast.Term) -> bool:
    return isinstance(term, ast.LookupRef) or (isinstance(term, ast.Const) and type(term.value) is not int)


def _infix(name: str) -> str:
    """The refusal of a connective between clauses."""
    if name == "and":
        return "clauses that follow each other hold together: leave out the and between them"
    return f"{name} comes first, in round brackets: ({name} [?e :person/name ?name]{' …' if name == 'or' else ''})"


def _refuse_infix(form: Form) -> None:
    """Refuses `[?x > 3]`, which is a data pattern to the parser, where it cannot be one."""
    items = form.items
    if form.kind == "vector" and len(items) == 3 and is_symbol(items[1]) and items[1].value.name in BUILTINS:
        left, name, right = map(shown, items)
        raise invalid(items[1], f"a call stands in round brackets within square ones: [({name} {left} {right})]")


def _joined(name: str, calls: Sequence[Form]) -> str:
    """The refusal of conditions that `and` or `or` joins as in other languages."""
    written = " ".join(f"[{shown(each)}]" for each in calls)
    return f"conditions are clauses: {written if name == 'and' else f'(or {written})'}"


def _is_clause(form: Form) -> bool:
    """Whether a form in the place of a term looks like a data pattern or a call."""
    return form.kind == "list" or (form.kind == "vector" and bool(form.items) and is_variable(form.items[0]))
