"""From transaction data to its effects on the newest state: the steps, in order. Changes nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Final, Protocol

from adalog.datalog import edn
from adalog.datalog.edn.writer import write
from adalog.datalog.errors import AdalogError, Code, Position, limit_exceeded
from adalog.datalog.values import EdnMap, EdnSet, Keyword, type_name
from adalog.store.files.packing import instant as instant_of
from adalog.store.files.packing import pack
from adalog.store.state.permission import GuardedState
from adalog.store.state.settings import Evaluation
from adalog.store.state.state import DatabaseState
from adalog.store.transact import policy_changes, predicates, schema_changes
from adalog.store.transact.column_assertions import LEAST, plain_adds
from adalog.store.transact.composites import Composites
from adalog.store.transact.declarations import Declarations
from adalog.store.transact.effects import Effects
from adalog.store.transact.excisions import limit_changes
from adalog.store.transact.excisions.forms import is_excision, scopes_of
from adalog.store.transact.expand import Expansion
from adalog.store.transact.functions import expanded
from adalog.store.transact.operations import PRODUCED, Operation, Path, Paths, RefusedTransaction, invalid
from adalog.store.transact.partitions import with_own_tempids
from adalog.store.transact.permission_check import check_named, shown_parts
from adalog.store.transact.predicates import UnsatisfiedPredicate
from adalog.store.transact.small_assertions import few_adds
from adalog.store.transact.suspicions import Suspicions
from adalog.store.transact.tempids import check_created, resolved
from adalog.store.values import bootstrap, layout
from adalog.store.values.attribute import TX_BASE
from adalog.store.values.changes import Effect, Resolved
from adalog.store.values.datom import nothing_to_tell
from adalog.store.values.schema_policy import SchemaPolicy

# Operations between two looks at whether to go on.
_CHECK_EVERY: Final = 256


@dataclass(frozen=True, slots=True)
class Transaction:
    """Transaction data as given: its forms, and the text they were read from where there was one.

    created: tempids that have to be new entities, each one of its own. places: what each form was made of, for
    messages, where a `TransactionFunction` made them."""

    forms: Sequence[Any]
    text: str | None = None
    created: Collection[str] = ()
    places: Sequence[str] = ()

    @staticmethod
    def of(data: str | Sequence[Any], limits: edn.Limits = edn.DEFAULT) -> Transaction:
        """From EDN text or a list of forms. EDN_SYNTAX for text that is none, TX_INVALID for what is no list."""
        text = data if isinstance(data, str) else None
        forms = _as_edn(data) if text is None else edn.read(text, limits)
        if not isinstance(forms, tuple):
            declared = isinstance(forms, EdnMap) and any(isinstance(each, EdnMap) for each in forms.values())
            hint = "an attribute is declared by [{:db/ident :person/name …}]" if declared else "put it in [ ]"
            raise AdalogError(
                Code.TX_INVALID,
                f"a transaction is a vector of forms, not a {type_name(forms)}; {hint}",
                Position(1, 1) if text is not None else None,
            )
        return Transaction(forms, text)

    def digest(self) -> str:
        return digest_of(self.forms if self.text is None else self.text)

    def position(self, path: Path, inside: Position | None = None) -> Position | None:
        """Where in the text a part stands, or a place inside the string that it is."""
        if self.text is None:
            return None
        path = _written(path)
        return edn.locate(self.text, path) if inside is None else edn.locate_inside(self.text, path, inside)

    def positions(self, paths: Sequence[Path]) -> Sequence[Position | None]:
        """Where in the text several parts stand."""
        if self.text is None:
            return [None] * len(paths)
        return edn.locate_all(self.text, list(map(_written, paths)))

    def refusal(self, refused: RefusedTransaction) -> AdalogError:
        """The error that says what was refused, and where."""
        message = refused.message
        if PRODUCED in refused.path:
            message += f" (in what {write(self.forms[refused.path[0]][0])} made)"
        if self.places and refused.path:
            message = f"{self.places[refused.path[0]]}: {message}"
        return AdalogError(refused.code, message, self.position(refused.path, refused.inside))


class TransactionFunction(Protocol):
    """Transaction data that depends on the state to which it is applied."""

    def transaction(self, state: DatabaseState, evaluation: Evaluation) -> Transaction:
        """Its forms for this state. Called on the writer's thread, where transactions are rehearsed, and once more
        where others were quicker. Raises AdalogError to refuse."""

    def digest(self) -> str:
        """As `digest_of`, of what it was made of."""

    def __len__(self) -> int:
        """About how many characters it would be as text."""


TransactionData = str | Sequence[Any] | TransactionFunction


def transaction_of(
    data: TransactionData, state: DatabaseState, evaluation: Evaluation, limits: edn.Limits
) -> Transaction:
    """Transaction data for one state. Raises what `Transaction.of` raises, and what a function refuses."""
    if isinstance(data, str | Sequence):
        return Transaction.of(data, limits)
    if len(data) > limits.size:
        message = f"the input is about {len(data):,} characters as a transaction, more than {limits.size:,}"
        raise limit_exceeded(f"{message}; send it in parts")
    return data.transaction(state, evaluation)


def _written(path: Path) -> Path:
    """The part that is in the text: of what a function made, its call."""
    return path[: path.index(PRODUCED)] if PRODUCED in path else path


def digest_of(data: TransactionData) -> str:
    """A short name of transaction data: other data, another name. Empty for what no transaction can hold."""
    if not isinstance(data, str | Sequence):
        return data.digest()
    try:
        content = data.encode() if isinstance(data, str) else pack(_as_edn(data))
    except (TypeError, ValueError, OverflowError, AdalogError):
        return ""
    return hashlib.sha256(content).hexdigest()[:32]


def _as_edn(data: Any) -> Any:
    """Python's own lists, dicts and sets as vectors, maps and sets."""
    if isinstance(data, list) or type(data) is tuple:
        return tuple(map(_as_edn, data))
    if isinstance(data, dict):
        return EdnMap((key, _as_edn(value)) for key, value in data.items())
    return EdnSet(map(_as_edn, data)) if isinstance(data, set | frozenset) else data


def resolve(
    transaction: Transaction,
    state: DatabaseState,
    evaluation: Evaluation,
    policy: SchemaPolicy,
    now: int | None = None,
    principal: str | None = None,
    types: Collection[Keyword] = (),
) -> Resolved:
    """What the transaction does as the next one of the state that `Evaluation.guarded` gave. now: its instant, the
    clock's where it is None. principal: whose transaction it is, if that is known. types: built in later, and used
    by datoms that are not in its forms. Raises AdalogError with the place of the offending form."""
    now = evaluation.milliseconds() if now is None else now
    forms = transaction.forms
    try:
        plain = None
        if not types and not transaction.created and state.whole is state:
            plain = few_adds(forms, state) if len(forms) < LEAST else plain_adds(forms, state)
        if plain is None:
            return _resolved_at_length(transaction, state, evaluation, policy, now, principal, types)
        effects, instant = _at(max(now, state.instant), _signed(plain.effects, state, principal), state)
        return Resolved(effects, instant, plain.tempids, plain.new)
    except RefusedTransaction as refused:
        raise transaction.refusal(refused) from None


def _resolved_at_length(
    transaction: Transaction,
    state: DatabaseState,
    evaluation: Evaluation,
    policy: SchemaPolicy,
    now: int,
    principal: str | None,
    types: Collection[Keyword],
) -> Resolved:
    """The same for any transaction, which says what is wrong with one."""
    if any(map(is_excision, transaction.forms)):
        scopes = scopes_of(transaction.forms, state, evaluation)
        effects, instant = _at(max(now, state.instant), _signed([], state, principal), state)
        return Resolved(effects, instant, {}, state.free.next(0), scopes=scopes)
    t, whole = state.t + 1, state.whole
    suspects, before = Suspicions(), state.schema
    forms = with_own_tempids(expanded(transaction.forms, state, evaluation, suspects))
    declarations = Declarations(state, policy, suspects)
    declarations.scan(forms)
    expansion = Expansion(state, declarations, t)
    operations = list(_watched(expansion.operations(forms), evaluation))
    if isinstance(state, GuardedState):
        check_named(operations, state, declarations.ids.values())
    composites = Composites.of(declarations.composites(), declarations.attributes(), whole)
    own, new = resolved(operations, state, composites)
    check_created(transaction.created, operations, own, new, state)
    ids = {**declarations.ids, **own}
    collected = Effects(state, ids, composites, new, expansion.names)
    effects = collected.of(operations)
    suspects.absent = collected.fruitless
    paths = collected.paths
    schema_changes.check(effects, paths, whole, policy)
    policy_changes.check(effects, paths, whole, evaluation)
    limit_changes.check(effects, paths, whole)
    try:
        predicates.check(effects, collected.ensured, paths, whole, evaluation)
    except UnsatisfiedPredicate as failure:
        # It sees everything, and tells those that do not no more than its name.
        message = failure.message if state is whole else f"it does not satisfy {failure.name}"
        raise RefusedTransaction(failure.code, message, failure.path) from None
    _check_unsigned(effects, paths, whole)
    effects = [*_declared(declarations.built_in, whole), *_typed(effects, whole, types)]
    effects, instant = _with_instant(_signed(effects, whole, principal), paths, whole, now)
    named = {str(name): id_ for name, id_ in ids.items() if not name.startswith("\0")}
    shown = None
    if isinstance(state, GuardedState):
        assert collected.after is not None
        shown = shown_parts(effects, named, state, collected.after)
    telling = partial(suspects.diagnostics, before, transaction.positions) if suspects else nothing_to_tell
    return Resolved(effects, instant, named, new, telling, shown)


def _watched(operations: Iterator[Operation], evaluation: Evaluation) -> Iterator[Operation]:
    for number, operation in enumerate(operations):
        if number % _CHECK_EVERY == 0:
            evaluation.check()
        yield operation


def _check_unsigned(effects: Sequence[Effect], paths: Paths, state: DatabaseState) -> None:
    """Refuses a transaction that says itself whose it is, or another one was, or takes the ident of a type."""
    for effect in effects:
        forged = effect.a == bootstrap.PRINCIPAL or (
            effect.a == bootstrap.IDENT and state.codes.decode(effect.v) == bootstrap.PRINCIPAL_IDENT
        )
        if forged:
            message = f"{bootstrap.PRINCIPAL_IDENT} is built in: {bootstrap.WRITTEN_BY_SERVERS}"
            raise invalid(message, paths((effect.a, effect.e, effect.v)))
        if effect.a == bootstrap.IDENT and state.codes.decode(effect.v) in bootstrap.LATER_TYPES:
            message = f"{state.codes.decode(effect.v)} is built in, and the ident of a type"
            raise invalid(message, paths((effect.a, effect.e, effect.v)))
        if effect.a == bootstrap.IDENT and effect.added and effect.e not in bootstrap.LATER:
            ident = state.codes.decode(effect.v)
            if ident in bootstrap.DECLARED_BY_USE:
                message = f"{ident} is built in, and declared by its first use; leave its declaration out"
                raise invalid(message, paths((effect.a, effect.e, effect.v)))


def _signed(effects: list[Effect], state: DatabaseState, principal: str | None) -> list[Effect]:
    """The effects with the principal of the transaction."""
    if principal is None:
        return effects
    intern = state.codes.intern
    declared: list[Effect] = []
    if state.ident_holder(bootstrap.PRINCIPAL_IDENT) is None:
        declared = _declared([bootstrap.PRINCIPAL], state)
    elif state.schema.get(bootstrap.PRINCIPAL) is None:
        # In a database of an earlier version another entity may have the ident.
        return effects
    return [*declared, Effect(TX_BASE + state.t + 1, bootstrap.PRINCIPAL, intern(principal), True), *effects]


def _declared(attributes: Iterable[int], state: DatabaseState) -> list[Effect]:
    """What declares attributes that were built in later."""
    rows = chain.from_iterable(map(bootstrap.later_datoms, attributes))
    return [Effect(e, a, state.codes.intern(v), True) for e, a, v in rows]


def _typed(effects: list[Effect], state: DatabaseState, types: Collection[Keyword]) -> list[Effect]:
    """The effects with the idents of the types built in later that they are the first to use: of an attribute, of
    the items of its tuples, or within a value. By these, earlier versions refuse the database."""
    declared = []
    for ident, id_ in bootstrap.LATER_TYPES.items():
        if state.ident_holder(ident) is None and (
            ident in types or any(_uses(each, ident, id_, state) for each in effects)
        ):
            declared.append(Effect(id_, bootstrap.IDENT, state.codes.intern(ident), True))
    return [*declared, *effects]


def _uses(effect: Effect, ident: Keyword, id_: int, state: DatabaseState) -> bool:
    if effect.a == bootstrap.VALUE_TYPE:
        return effect.v == id_
    if effect.a != bootstrap.TUPLE_TYPE and layout.tag_of(effect.v) != layout.TAG_OTHER:
        return False
    return uses_type(state.codes.decode(effect.v), ident)


def uses_type(value: Any, ident: Keyword) -> bool:
    """Whether a value is the type's ident or one of the type, or has such a value in it."""
    match value:
        case Mapping():
            return any(uses_type(each, ident) for entry in value.items() for each in entry)
        case tuple() | Set():
            return any(uses_type(each, ident) for each in value)
    return value == ident or type_name(value) == ident.local


def _with_instant(effects: list[Effect], paths: Paths, state: DatabaseState, now: int) -> tuple[list[Effect], int]:
    """The effects begun by the transaction's instant: the given one, or now, but never before the last."""
    transaction = TX_BASE + state.t + 1
    for effect in effects:
        if effect.a != bootstrap.TX_INSTANT:
            continue
        given = (effect.v & layout.PAYLOAD_MASK) - layout.INSTANT_BIAS
        path = paths((effect.a, effect.e, effect.v))
        if effect.e != transaction or not effect.added:
            message = ':db/txInstant belongs to the current transaction alone, "datomic.tx"'
            raise invalid(message, path)
        if given < state.instant:
            last = instant_of(state.instant).isoformat()
            raise invalid(f":db/txInstant never goes back, and the last one is {last}", path)
        if given > now:
            raise invalid(f":db/txInstant {instant_of(given).isoformat()} is in the future", path)
        return [effect, *(other for other in effects if other is not effect)], given
    return _at(max(now, state.instant), effects, state)


def _at(instant: int, effects: list[Effect], state: DatabaseState) -> tuple[list[Effect], int]:
    """The effects begun by the instant, and it."""
    code = layout.code_of(layout.TAG_INSTANT, instant + layout.INSTANT_BIAS)
    return [Effect(TX_BASE + state.t + 1, bootstrap.TX_INSTANT, code, True), *effects], instant
