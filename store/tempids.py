"""Which entity each tempid of a transaction is: one that a unique identity names, or a new one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from datalog.errors import Code
from store.attribute import SCHEMA_BASE
from store.head import Head
from store.operations import Add, Cas, Operation, Refused, Retract, Tempid, Term


def resolved(operations: Sequence[Operation], head: Head) -> dict[Tempid, int]:
    """The ids of all tempids.

    Tempids that give one unique identity the same value are one entity, whichever form says so. Raises
    UNIQUE_CONFLICT where that would make two entities one, TX_INVALID for a tempid that nothing is said about.
    """
    union = _Union(head)
    for operation in operations:
        if isinstance(operation.e, Tempid):
            union.meet(operation.e)
    union.unify([op for op in operations if isinstance(op, Add) and op.a.unique == "identity"])
    for operation in operations:
        for term in _referred(operation):
            if isinstance(term, Tempid) and not union.has_met(term):
                raise Refused(
                    Code.TX_INVALID,
                    f'the tempid "{term}" is only a value here; nothing is said about it as an entity',
                    operation.path,
                )
        if not isinstance(operation, Add) and isinstance(operation.e, Tempid) and not union.is_known(operation.e):
            raise Refused(
                Code.TX_INVALID,
                f'the tempid "{operation.e}" is a new entity, of which nothing holds yet',
                operation.path,
            )
    return union.allocated(max(head.next_entity, _largest_own(operations) + 1))


def _largest_own(operations: Iterable[Operation]) -> int:
    """The largest id of a user's entity that the operations name themselves."""
    largest = 0
    for operation in operations:
        terms: tuple[Term | None, ...] = (operation.e,)
        if isinstance(operation, Add) and operation.a.is_ref:
            terms = (operation.e, operation.v)
        for term in terms:
            if isinstance(term, int) and largest < term < SCHEMA_BASE:
                largest = term
    return largest


def _referred(operation: Operation) -> Iterable[Term | None]:
    if isinstance(operation, Add | Retract):
        return (operation.v,)
    return (operation.new,) if isinstance(operation, Cas) else ()


class _Union:
    """Disjoint sets of tempids, each with an entity id once one is known."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._parents: dict[Tempid, Term] = {}

    def meet(self, tempid: Tempid) -> None:
        self._parents.setdefault(tempid, tempid)

    def has_met(self, tempid: Tempid) -> bool:
        return tempid in self._parents

    def is_known(self, tempid: Tempid) -> bool:
        return not isinstance(self.find(tempid), Tempid)

    def find(self, term: Term) -> Term:
        passed = []
        while isinstance(term, Tempid):
            parent = self._parents.get(term, term)
            if parent is term:
                break
            passed.append(term)
            term = parent
        for tempid in passed:
            self._parents[tempid] = term
        return term

    def unify(self, adds: Sequence[Add]) -> None:
        """Until nothing changes: a ref's identity may become known only when the entity it refers to is."""
        changed = True
        while changed:
            changed = False
            first: dict[tuple[int, Term], Term] = {}
            for add in adds:
                value = self.find(add.v) if isinstance(add.v, Tempid) else add.v
                holder = None if isinstance(value, Tempid) else self._head.holder(add.a.id, value)
                if holder is not None and isinstance(add.e, Tempid):
                    changed |= self._join(add.e, holder, add)
                elif holder is None:
                    changed |= self._join(first.setdefault((add.a.id, value), add.e), add.e, add)

    def _join(self, left: Term, right: Term, add: Add) -> bool:
        left, right = self.find(left), self.find(right)
        if left == right and isinstance(left, Tempid) == isinstance(right, Tempid):
            return False
        if isinstance(right, Tempid):
            self._parents[right] = left
        elif isinstance(left, Tempid):
            self._parents[left] = right
        else:
            raise Refused(
                Code.UNIQUE_CONFLICT,
                f"{add.a.ident} would make entities {left} and {right} one: two unique identities of one form "
                "belong to different entities",
                add.path,
            )
        return True

    def allocated(self, next_entity: int) -> dict[Tempid, int]:
        """The id of each tempid, new ones in the order in which they were met."""
        ids: dict[Tempid, int] = {}
        for tempid in self._parents:
            id_ = self.find(tempid)
            if isinstance(id_, Tempid):
                self._parents[id_] = next_entity
                id_ = next_entity
                next_entity += 1
            ids[tempid] = id_
        return ids
