"""The query language as data: what the parser makes of a text and the planner reads.

Frozen dataclasses with positions. Every node compares and hashes without its position, so equal text in two places
is one node. Nothing here is checked beyond its grammar: scoping and safety are the planner's passes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from adalog.datalog.aggregates import AGGREGATES, GREATEST, LEAST, TALLY, Aggregate, Reduction
from adalog.datalog.errors import Position
from adalog.datalog.pull import PullPattern
from adalog.datalog.terms import Argument as Argument
from adalog.datalog.terms import Blank as Blank
from adalog.datalog.terms import Const as Const
from adalog.datalog.terms import Expression as Expression
from adalog.datalog.terms import LookupRef as LookupRef
from adalog.datalog.terms import Source as Source
from adalog.datalog.terms import Term as Term
from adalog.datalog.terms import Var as Var
from adalog.datalog.terms import position_field
from adalog.datalog.values import Value, identity

# Bindings: the shape that a function's result or an input is taken apart into.


@dataclass(frozen=True, slots=True)
class ScalarBinding:
    """`?x`"""

    target: Var | Blank


@dataclass(frozen=True, slots=True)
class TupleBinding:
    """`[?a _ ?b]`: one tuple."""

    targets: tuple[Var | Blank, ...]
    position: Position | None = position_field()


@dataclass(frozen=True, slots=True)
class CollectionBinding:
    """`[?x ...]`: one row for each element."""

    target: Var | Blank
    position: Position | None = position_field()


@dataclass(frozen=True, slots=True)
class RelationBinding:
    """`[[?a ?b]]`: one row for each tuple."""

    targets: tuple[Var | Blank, ...]
    position: Position | None = position_field()


Binding = ScalarBinding | TupleBinding | CollectionBinding | RelationBinding


# Clauses


@dataclass(frozen=True, slots=True)
class Pattern:
    """`[$src? e a v tx added?]` with 1 to 5 terms; missing ones are blanks and not in `terms`."""

    source: Source
    terms: tuple[Term, ...]
    position: Position | None = position_field()


@dataclass(frozen=True, slots=True)
class Predicate:
    """`[(name arg …)]`: keeps the rows for which the built-in is true."""

    name: str
    args: tuple[Argument, ...]
    position: Position | None = position_field()


@dataclass(frozen=True, slots=True)
class Function:
    """`[(name arg …) binding]`. `query`: what the name `q` calls, its arguments in the order of the query's inputs
    without `%`, `$` always among them. `keeps_nil`: a nil result is the value, and does not drop the row."""

    name: str
    args: tuple[Argument, ...]
    binding: Binding
    query: Query | None = None
    keeps_nil: bool = False
    position: Position | None = position_field()


@dataclass(frozen=True, slots=True)
class And:
    clauses: tuple[Clause, ...]
    position: Position | None = position_field()


@dataclass(frozen=True, slots=True)
class Or:
    """Branches with the same free variables; each branch is the list of clauses that must all hold."""

    branches: tuple[And, ...]
    position: Position | None = position_field()


@dataclass(frozen=True, slots=True)
class OrJoin:
    """`(or-join [[?required …] ?var …] branch …)`; variables not listed are local to their branch."""

    required: tuple[Var, ...]
    variables: tuple[Var, ...]
    branches: tuple[And, ...]
    position: Position | None = position_field()


@dataclass(frozen=True, slots=True)
class Optional(OrJoin):
    """`(optional clause …)`, as what it is short for: the first branch has its clauses, the second says that they
    do not hold, and gives nil to its variables. `required`: those that it shares with clauses around it."""

    @staticmethod
    def of(
        clauses: tuple[Clause, ...],
        shared: tuple[Var, ...],
        own: tuple[Var, ...],
        position: Position | None,
    ) -> Optional:
        nil = (Const(None, identity(None)),)
        nils = (Function("ground", nil, ScalarBinding(each), keeps_nil=True, position=position) for each in own)
        none = NotJoin(shared, clauses, position=position)
        branches = (And(clauses, position=position), And((none, *nils), position=position))
        return Optional(shared, own, branches, position=position)

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """As they are written."""
        return self.branches[0].clauses


@dataclass(frozen=True, slots=True)
class Not:
    clauses: tuple[Clause, ...]
    position: Position | None = position_field()


@dataclass(frozen=True, slots=True)
class NotJoin:
    """`(not-join [?var …] clause …)`; variables not listed are local."""

    variables: tuple[Var, ...]
    clauses: tuple[Clause, ...]
    position: Position | None = position_field()


@dataclass(frozen=True, slots=True)
class RuleCall:
    """`($src? name arg …)`"""

    name: str
    args: tuple[Term, ...]
    source: Source
    position: Position | None = position_field()


Clause = Pattern | Predicate | Function | And | Or | OrJoin | Not | NotJoin | RuleCall


# Find and in


@dataclass(frozen=True, slots=True)
class FindVar:
    var: Var

    @property
    def label(self) -> str:
        """As it is written."""
        return self.var.name


@dataclass(frozen=True, slots=True)
class FindAggregate:
    """`(sum ?x)`, `(min 3 ?x)`, `(min ?n ?x)`: `args` holds what stands before the variable, constants or variables
    to which `:in` gives one value.

    `may_be_nil`: values of the variable, which the aggregate skips. `written`: how it is written, where it has a
    number in place of a variable."""

    name: str
    args: tuple[Const | Var, ...]
    var: Var
    may_be_nil: bool = False
    written: str = ""
    position: Position | None = position_field()

    @property
    def label(self) -> str:
        """As it is written."""
        args = (each.name if isinstance(each, Var) else str(each.value) for each in self.args)
        return self.written or f"({' '.join([self.name, *args, self.var.name])})"

    @property
    def numbers(self) -> list[Value]:
        """The values of `args`, all of them constants."""
        return [each.value for each in self.args if isinstance(each, Const)]

    @property
    def known(self) -> Aggregate:
        """What holds of this aggregate."""
        return AGGREGATES[self.name]

    @property
    def reduction(self) -> Reduction | None:
        """What it is on columns of numbers, if that is a known reduction."""
        # How many values there are says nothing of those that are nil.
        unknown = self.args or (self.may_be_nil and self.known.reduction is Reduction.COUNT)
        return None if unknown else self.known.reduction


@dataclass(frozen=True, slots=True)
class FindPull:
    """`(pull $src? ?e [:person/name])`; `pattern` may be a variable of `:in`. `label`: as it is written."""

    var: Var
    source: Source
    pattern: PullPattern | Var
    label: str
    position: Position | None = position_field()


@dataclass(frozen=True, slots=True)
class FindExpression:
    """`(/ (sum ?a) (sum ?b))`: a call over the columns of groups, which are variables of it by their labels."""

    expression: Expression
    label: str
    position: Position | None = position_field()


FindColumn = FindVar | FindAggregate | FindPull
"""What the tuples of a query give by themselves."""
FindElement = FindColumn | FindExpression


@dataclass(frozen=True, slots=True)
class Rule:
    """`[(name [?required …] ?arg (min ?arg) …) clause …]`: one branch of the rule `name`.

    `required` must be bound at a call; they come first among a call's arguments. `with_`: what keeps rows apart for
    the aggregates of the head.
    """

    name: str
    required: tuple[Var, ...]
    args: tuple[Var | FindAggregate, ...]
    clauses: tuple[Clause, ...]
    with_: tuple[Var, ...] = ()
    position: Position | None = position_field()

    @property
    def places(self) -> tuple[Var | FindAggregate, ...]:
        """What a call has arguments for, the required ones first."""
        return (*self.required, *self.args)

    @property
    def head(self) -> tuple[Var | FindAggregate, ...]:
        """The places, and after them one that no call names for each variable that keeps rows apart."""
        aggregates = (each.known for each in self.args if isinstance(each, FindAggregate))
        if all(each.idempotent or each.of_pairs for each in aggregates):
            return self.places
        return (*self.places, *(FindAggregate(TALLY, (), each) for each in self.with_))

    @property
    def aggregates(self) -> tuple[str | None, ...]:
        """Of each place of the head its aggregate, or None."""
        return tuple(
            (each.known.of_pairs or each.name) if isinstance(each, FindAggregate) else None for each in self.head
        )


@dataclass(frozen=True, slots=True)
class Find:
    """`shape` is `relation`, `collection`, `tuple` or `scalar`; `keys` names map results (`:keys/:strs/:syms`).
    `hidden`: columns that are not shown, and that expressions, `:having` or `:order-by` are computed from.
    `takes_numbers`: `:in` gives how many values an aggregate finds, as in `(max ?n ?x)`. `columns`: what is
    computed from the tuples, elements that are no expressions over others, then what is hidden. These and
    `has_aggregates` are asked for several times in every run."""

    elements: tuple[FindElement, ...]
    shape: str = "relation"
    keys: tuple[Any, ...] | None = None
    hidden: tuple[FindColumn, ...] = ()
    takes_numbers: bool = False
    position: Position | None = position_field()
    columns: tuple[FindColumn, ...] = field(init=False, compare=False, repr=False)
    has_aggregates: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        columns = (*(each for each in self.elements if not isinstance(each, FindExpression)), *self.hidden)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "has_aggregates", any(isinstance(each, FindAggregate) for each in columns))

    @property
    def hides_keys(self) -> bool:
        """Whether groups may show equal rows, since some of their keys are hidden."""
        shown = {each.var for each in self.elements if isinstance(each, FindVar | FindPull)}
        return any(isinstance(each, FindVar) and each.var not in shown for each in self.hidden)

    @property
    def takes_one(self) -> bool:
        """Whether it shows one row where there may be several; aggregates without a variable beside them have one
        row."""
        groups = any(not isinstance(column, FindAggregate) for column in self.columns)
        return groups and self.shape in ("scalar", "tuple")


@dataclass(frozen=True, slots=True)
class SourceInput:
    """`$` or `$name` in `:in`. `of_guards`: a list that no client gives. `owner`: a variable of `:in` with which
    every pattern over a list of `width` columns begins, so that of each value of it a list of its own is read."""

    name: str
    of_guards: bool = False
    owner: Var | None = None
    width: int = 0
    position: Position | None = position_field()


@dataclass(frozen=True, slots=True)
class RulesInput:
    """`%` in `:in`."""

    position: Position | None = position_field()


@dataclass(frozen=True, slots=True)
class BindingInput:
    """A variable, collection, tuple or relation in `:in`."""

    binding: Binding
    position: Position | None = position_field()


Input = SourceInput | RulesInput | BindingInput


@dataclass(frozen=True, slots=True)
class OrderKey:
    """`var`: an element of `:find` by its label, or (`outside`) a variable that it does not show. `by`: a call over
    the columns of groups, which are variables of it by their labels, or one of them."""

    var: Var
    descending: bool = False
    outside: bool = False
    by: Var | Expression | None = None


RowNumber = int | Var
"""A whole number, or the variable of `:in` that has it."""


@dataclass(frozen=True, slots=True)
class Query:
    """One parsed query. `inputs` always begins with the default source `$` (added when `:in` leaves it out).
    `having`: conditions on the columns of groups, which are variables of them by their labels. `args`: the
    arguments of the last inputs, which are written in the text."""

    find: Find
    with_: tuple[Var, ...]
    inputs: tuple[Input, ...]
    where: tuple[Clause, ...]
    order_by: tuple[OrderKey, ...] = ()
    limit: RowNumber | None = None
    offset: RowNumber = 0
    timeout_ms: int | None = None
    rules: tuple[Rule, ...] = ()
    having: tuple[Expression, ...] = ()
    args: tuple[Value, ...] = ()
    text: str = field(default="", compare=False, repr=False)

    @property
    def computes_rows(self) -> bool:
        """Whether its rows are computed from, or chosen by, the columns of groups."""
        expressions = any(isinstance(each, FindExpression) for each in self.find.elements)
        return bool(self.having) or expressions or any(key.by is not None for key in self.order_by)

    @property
    def order_elements(self) -> tuple[FindAggregate, ...]:
        """What orders rows and is not shown: of a variable outside `:find` a row's least value, or its greatest."""
        outside = (key for key in self.order_by if key.outside)
        return tuple(FindAggregate(GREATEST if key.descending else LEAST, (), key.var) for key in outside)

    @property
    def hides_order(self) -> bool:
        """Whether rows are ordered by something that is not shown."""
        return any(key.outside or key.by is not None for key in self.order_by)

    @property
    def is_limited(self) -> bool:
        """Whether it shows some of its rows only."""
        return self.limit is not None or self.offset != 0 or self.find.takes_one

    @property
    def window(self) -> tuple[int, int | None]:
        """(the first row to show, the first one after it that is not shown), where both are numbers."""
        limit = 1 if self.limit is None and self.find.shape in ("scalar", "tuple") else self.limit
        assert isinstance(self.offset, int)
        assert limit is None or isinstance(limit, int)
        return self.offset, None if limit is None else self.offset + limit
