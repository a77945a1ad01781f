"""Which entity each tempid of a transaction is: one that a unique identity names, or a new one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from adalog.datalog.edn.writer import write
from adalog.datalog.errors import AdalogError, Code
from adalog.store.snapshot.free_ids import Interval, referred
from adalog.store.snapshot.ident_names import ident_names
from adalog.store.state.state import DatabaseState
from adalog.store.transact import operations as ops
from adalog.store.transact.composites import Composite, Composites, tuple_code
from adalog.store.transact.operations import Operation, Path, RefusedTransaction, Tempid, Term, invalid

# Operations that mean nothing for an entity of which nothing holds.
_OF_KNOWN = (ops.Retract, ops.RetractEntity, ops.Cas)


def resolved(
    operations: Sequence[Operation], state: DatabaseState, composites: Composites
) -> tuple[dict[Tempid, int], Interval]:
    """The ids of all tempids, and an interval without ids that anything had before, which the new ones begin.

    Tempids that give one unique identity the same value are one entity, whichever form says so. Raises
    UNIQUE_CONFLICT where that would make two entities one, TX_INVALID for a tempid that nothing is said about,
    LIMIT_EXCEEDED where no ids are left, or chosen ones would leave too few.
    """
    union = _Union(state, [operation.e for operation in operations if isinstance(operation.e, Tempid)])
    union.unify(operations, [each for each in composites.all if each.attribute.kind.unique == "identity"])
    for operation in operations:
        for term in _referred(operation):
            if isinstance(term, Tempid) and term not in union.parents:
                raise invalid(_only_a_value(term, state), operation.path)
        if isinstance(operation, _OF_KNOWN) and isinstance(union.find(operation.e), Tempid):
            raise invalid(f'the tempid "{operation.e}" is a new entity, of which nothing holds yet', operation.path)
    new = state.free.without(_chosen(operations, state)).next(
        len({each for each in map(union.find, union.parents) if isinstance(each, Tempid)})
    )
    return union.allocated(new.start), new


def check_created(
    created: Collection[str],
    operations: Sequence[Operation],
    ids: Mapping[Tempid, int],
    new: Interval,
    state: DatabaseState,
) -> None:
    """Raises UNIQUE_CONFLICT where a tempid that has to be new is an entity that is there, or two are the same."""
    owners: dict[int, str] = {}
    taken = [name for name in created if not new.has(e := ids[Tempid(name)]) or owners.setdefault(e, name) != name]
    if not taken:
        return
    e = ids[Tempid(taken[0])]
    other = owners.get(e)
    whose = f"entity {e}, which is there already" if other is None else f"{other}, which is created, too"
    adds = [each for each in operations if isinstance(each, ops.Add)]
    others = {(add.a.id, add.v) for add in adds if add.e == other}
    own = [add for add in adds if add.e == taken[0]]
    what, path = "what is unique of it", own[0].path
    for add in own:
        if add.a.kind.unique != "identity" or add.a.is_ref or isinstance(add.v, Tempid):
            continue
        if (add.a.id, add.v) in others or (other is None and state.holder(add.a.id, add.v) == e):
            what, path = f"{add.a.ident} {write(state.codes.decode(add.v))}", add.path
            break
    raise RefusedTransaction(Code.UNIQUE_CONFLICT, f"{what} belongs to {whose}", path)


def _only_a_value(tempid: Tempid, state: DatabaseState) -> str:
    """The refusal of a tempid that stands for no entity of the transaction: often it is an ident in quotes."""
    if tempid.startswith("\0"):
        return "this map says nothing of its entity: add an attribute, or give it a :db/id that is there"
    names = ident_names(state.snapshot())
    ident = names.by_name.get(tempid.removeprefix(":")) or names.by_local.get(tempid)
    if ident is not None:
        hint = f"did you mean the ident {ident}, without quotes?"
        return f'the text "{tempid}" is a tempid, and nothing is said about it as an entity; {hint}'
    if tempid.startswith(":"):
        return f'the text "{tempid}" is a tempid, and nothing is said about it as an entity; an ident has no quotes'
    return (
        f'the tempid "{tempid}" is only a value here; nothing is said about it as an entity. One that is there is '
        'named by a number, an ident or a lookup ref such as [:user/email "ada@example.org"]'
    )


def _chosen(operations: Iterable[Operation], state: DatabaseState) -> list[int]:
    """The free ids that the operations name themselves."""
    paths: dict[int, Path] = {}
    for operation in operations:
        if not isinstance(operation.e, Tempid):
            paths.setdefault(operation.e, operation.path)
        for id_ in _named(operation, state):
            paths.setdefault(id_, operation.path)
    chosen = state.free.among(paths)
    if chosen:
        try:
            state.free.check_chosen(chosen)
        except AdalogError as error:
            raise RefusedTransaction(error.code, error.message, paths[chosen[0]]) from None
    return chosen


def _named(operation: Operation, state: DatabaseState) -> Iterable[int]:
    """The entities that an operation's values name."""
    if isinstance(operation, ops.RetractEntity):
        return ()
    if isinstance(operation, ops.Ensure):
        return (operation.spec,)
    if not operation.a.refers:
        return ()
    values = (operation.old, operation.new) if isinstance(operation, ops.Cas) else _referred(operation)
    codes = [value for value in values if value is not None and not isinstance(value, Tempid)]
    return [id_ for code in codes for id_ in referred(operation.a, code, state.codes)]


def _referred(operation: Operation) -> Iterable[Term | None]:
    if isinstance(operation, ops.Add | ops.Retract):
        return (operation.v,)
    if isinstance(operation, ops.Update):
        return (operation.operand,)
    return (operation.new,) if isinstance(operation, ops.Cas) else ()


class _Union:
    """Disjoint sets of tempids, each with an entity id once one is known."""

    def __init__(self, state: DatabaseState, tempids: Iterable[Tempid]) -> None:
        self._state = state
        self.parents: dict[Tempid, Term] = {tempid: tempid for tempid in tempids}

    def find(self, term: Term) -> Term:
        passed = []
        while isinstance(term, Tempid):
            parent = self.parents.get(term, term)
            if parent is term:
                break
            passed.append(term)
            term = parent
        for tempid in passed:
            self.parents[tempid] = term
        return term

    def unify(self, operations: Sequence[Operation], composites: Sequence[Composite]) -> None:
        """Until nothing changes: a ref's identity may become known only when the entity it refers to is.
        composites: the unique ones."""
        components = {component.id for each in composites for component in each.components}
        plain = [op for op in operations if isinstance(op, ops.Add)]
        adds = [add for add in plain if add.a.kind.unique == "identity"]
        parts = [add for add in plain if add.a.id in components and isinstance(add.e, Tempid)]
        changed = True
        while changed:
            changed = self._unify_tuples(parts, composites) if parts else False
            first: dict[tuple[int, Term], Term] = {}
            for add in adds:
                value = self.find(add.v) if isinstance(add.v, Tempid) else add.v
                holder = None if isinstance(value, Tempid) else self._state.holder(add.a.id, value)
                if holder is not None and isinstance(add.e, Tempid):
                    changed |= self._join(add.e, holder, add)
                elif holder is None:
                    changed |= self._join(first.setdefault((add.a.id, value), add.e), add.e, add)

    def _unify_tuples(self, adds: Sequence[ops.Add], composites: Sequence[Composite]) -> bool:
        """The same for composites: an entity is known by one when all its components are given."""
        given: dict[Term, dict[int, ops.Add]] = {}
        for add in adds:
            given.setdefault(self.find(add.e), {})[add.a.id] = add
        changed = False
        first: dict[tuple[int, tuple[Term, ...]], Term] = {}
        for e, by_attribute in given.items():
            for composite in composites:
                own = [by_attribute.get(component.id) for component in composite.components]
                found = [add for add in own if add is not None]
                values = tuple(self.find(add.v) if isinstance(add.v, Tempid) else add.v for add in found)
                codes = [value for value in values if not isinstance(value, Tempid)]
                if len(found) < len(own) or not isinstance(self.find(e), Tempid):
                    continue
                last = found[-1]._replace(a=composite.attribute)
                code = tuple_code(codes, self._state) if len(codes) == len(own) else None
                holder = None if code is None else self._state.holder(composite.attribute.id, code)
                other = first.setdefault((composite.attribute.id, values), e) if holder is None else holder
                changed |= self._join(e, other, last)
        return changed

    def _join(self, left: Term, right: Term, add: ops.Add) -> bool:
        left, right = self.find(left), self.find(right)
        if left == right and isinstance(left, Tempid) == isinstance(right, Tempid):
            return False
        if isinstance(right, Tempid):
            self.parents[right] = left
        elif isinstance(left, Tempid):
            self.parents[left] = right
        else:
            raise RefusedTransaction(
                Code.UNIQUE_CONFLICT,
                f"{add.a.ident} would make entities {left} and {right} one: two unique identities of one form "
                "belong to different entities",
                add.path,
            )
        return True

    def allocated(self, next_entity: int) -> dict[Tempid, int]:
        """The id of each tempid, new ones in the order in which they were met."""
        ids: dict[Tempid, int] = {}
        for tempid in self.parents:
            id_ = self.find(tempid)
            if isinstance(id_, Tempid):
                self.parents[id_] = next_entity
                id_ = next_entity
                next_entity += 1
            ids[tempid] = id_
        return ids
