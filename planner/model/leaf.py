"""What each kind of leaf of a query's tree says of itself, so that no pass enumerates the kinds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import ClassVar, Final, Self

from adalog.datalog.ast import Const, LookupRef, Source, Var
from adalog.datalog.edn import write
from adalog.planner.model.version import Version

Term = str | Const | LookupRef | None
"""A variable's unique name, a constant, a lookup ref by constants, or None for a blank."""

Change = Callable[[Term], Term]


def names_of(terms: Iterable[Term | Source]) -> tuple[str, ...]:
    return tuple(term for term in terms if isinstance(term, str))


def new_name(change: Change, variable: str) -> str:
    """A variable that a clause binds or shares can only become another one."""
    changed = change(variable)
    assert isinstance(changed, str)
    return changed


def new_args(change: Change, args: Iterable[Term | Source]) -> tuple[Term | Source, ...]:
    return tuple(each if isinstance(each, Source) else change(each) for each in args)


# How a plan shows them


def shown(terms: Iterable[Term | Source]) -> str:
    return " ".join(map(_show, terms))


def _show(term: Term | Source) -> str:
    match term:
        case None:
            return "_"
        case str():
            return term
        case Source():
            return term.name
        case LookupRef():
            value = term.value.name if isinstance(term.value, Var) else write(term.value.value)
            return f"[{write(term.attribute.value)} {value}]"
        case Const():
            return write(term.value)


def versioned_name(name: str, version: Version) -> str:
    return name if version is Version.ALL else f"{name} ({version})"


def is_known(terms: Iterable[Term], bound: frozenset[str]) -> bool:
    return any(isinstance(term, Const | LookupRef) or term in bound for term in terms)


NOTHING: Final = frozenset[str]()


class LeafNode:
    """`kind`: the name of its extender in plans. `fanout`: the number of values that it is taken to give for a
    prefix, where statistics do not tell."""

    __slots__ = ()
    kind: ClassVar[str]
    fanout: ClassVar[float] = 1.0

    @property
    @abstractmethod
    def mentions(self) -> tuple[str, ...]:
        """The variables that it constrains, in order, as often as they stand there; of a `not` the shared ones."""

    @property
    def selectivity(self) -> float:
        """The share of rows that it is taken to keep as a filter."""
        return 0.5

    @property
    def gives(self) -> tuple[str, ...]:
        """Those of which it gives values, once what it needs is bound. It filters the others."""
        return ()

    @property
    def needs(self) -> frozenset[str]:
        """The variables that must be bound before."""
        return frozenset(self.mentions).difference(self.gives)

    @property
    @abstractmethod
    def reads(self) -> frozenset[str]:
        """The databases that it reads itself. If one changes, only patterns say which rows came and went."""

    @property
    @abstractmethod
    def clause(self) -> str:
        """The clause that it stands for, as plans show it."""

    @abstractmethod
    def with_terms(self, change: Change) -> Self:
        """A copy with every term changed."""

    def is_anchored(self, bound: frozenset[str]) -> bool:
        """Whether constants, inputs or bound variables narrow what it gives. Its needs are bound."""
        return True


class TermsNode(LeafNode):
    """A leaf that gives values of every variable that it mentions, and needs none."""

    __slots__ = ()

    @property
    def gives(self) -> tuple[str, ...]:
        return self.mentions

    @property
    def needs(self) -> frozenset[str]:
        return NOTHING
