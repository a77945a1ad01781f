"""What a policy may be: its rules can be run, and what it names is there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adalog.datalog.edn.writer import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.hints import nearest
from adalog.datalog.parsing.policy_rules import read_policy_rules
from adalog.datalog.values import Keyword
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.state.settings import Evaluation
from adalog.store.state.speculation import applied
from adalog.store.state.state import DatabaseState
from adalog.store.transact.operations import Path, Paths, RefusedTransaction, invalid
from adalog.store.values import bootstrap
from adalog.store.values.changes import Effect
from adalog.store.values.schema import UNDECLARED

_ALL: Final = Keyword("*")
_OPS: Final = tuple(Keyword(name) for name in ("read", "create", "update", "delete"))
_EFFECTS: Final = (Keyword("grant"), Keyword("require"))


def check(effects: Sequence[Effect], paths: Paths, state: DatabaseState, evaluation: Evaluation) -> None:
    """Raises FORBIDDEN where somebody else than an admin changes policies, and what is wrong with those that are
    changed, or that name what is renamed."""
    changed = {effect.e for effect in effects if effect.a in bootstrap.POLICY_ATTRIBUTES}
    if changed and not evaluation.may_change_policies():
        first = next(effect for effect in effects if effect.a in bootstrap.POLICY_ATTRIBUTES)
        message = "admins alone change policies"
        raise RefusedTransaction(Code.FORBIDDEN, message, paths((first.a, first.e, first.v)))
    renamed = state.schema.get(bootstrap.POLICY_NAME) is not None and any(
        effect.a == bootstrap.IDENT and not effect.added and state.schema.get(effect.e) for effect in effects
    )
    if not changed and not renamed:
        return
    after = applied(state, effects)
    checking = _Policies(effects, paths, after, evaluation)
    for entity in sorted(changed):
        checking.policy(entity)
    if renamed:
        for entity in after.trie(bootstrap.POLICY_NAME, inverse=False).keys.tolist():
            checking.names(entity)


@dataclass(frozen=True)
class _Policies:
    """The policies after a transaction."""

    effects: Sequence[Effect]
    paths: Paths
    after: Snapshot
    evaluation: Evaluation

    def policy(self, entity: int) -> None:
        if self._values(entity, bootstrap.POLICY_ENFORCED) and (
            self.after.ident(entity) != bootstrap.POLICY_ENFORCEMENT
        ):
            advice = "write [:db/add :policy/enforcement :policy/enforced false]"
            message = f":policy/enforced is of the entity :policy/enforcement alone; {advice}"
            raise invalid(message, self._path(entity, bootstrap.POLICY_ENFORCED))
        own = (each for each in bootstrap.POLICY_ATTRIBUTES if each != bootstrap.POLICY_ENFORCED)
        said = [each for each in own if self._values(entity, each)]
        if said and bootstrap.POLICY_NAME not in said:
            raise invalid("a policy has a :policy/name; give it one", self._path(entity, said[0]))
        self._choice(entity, bootstrap.POLICY_OPS, _OPS)
        self._choice(entity, bootstrap.POLICY_EFFECT, _EFFECTS)
        self.names(entity)
        for text in self._values(entity, bootstrap.POLICY_RULES):
            self._rules(entity, text)

    def _choice(self, entity: int, attribute: int, choices: Sequence[Keyword]) -> None:
        for value in self._values(entity, attribute):
            if value not in choices:
                named = ", ".join(map(str, choices))
                described = self.after.attribute(attribute)
                assert described is not None
                what = f"{described.ident} {write(value)} is none of {named}"
                raise invalid(f"{self._name(entity)}: {what}", self._path(entity, attribute, value))

    def names(self, entity: int) -> None:
        """Whether what the policy is on is there."""
        known = {each.ident for each in (*self.after.schema.all(), *UNDECLARED.values())}
        spaces = {Keyword(each.namespace) for each in known if each.namespace is not None}
        for value in self._values(entity, bootstrap.POLICY_ON):
            if value == _ALL or value in known or value in spaces:
                continue
            hint = nearest(str(value), map(str, known | spaces))
            message = f":policy/on {value} is no attribute and no namespace of one{hint}"
            path = self._path(entity, bootstrap.POLICY_ON, value)
            raise RefusedTransaction(Code.UNKNOWN_ATTRIBUTE, f"{self._name(entity)}: {message}", path)

    def _rules(self, entity: int, text: str) -> None:
        try:
            self.evaluation.check_rules(read_policy_rules(text), self.after)
        except AdalogError as error:
            at, said = error.position, error.message
            if at is not None:
                said = said.removeprefix(f"in {at.origin}, line {at.line}, column {at.column}: ")
            place = "" if at is None else f" {at.line}:{at.column}"
            message = f"{self._name(entity)}: :policy/rules{place}: {said}"
            path = self._path(entity, bootstrap.POLICY_RULES, text)
            raise RefusedTransaction(error.code, message, path, at) from None

    def _name(self, entity: int) -> str:
        return f"policy {write(self._values(entity, bootstrap.POLICY_NAME)[0])}"

    def _values(self, entity: int, attribute: int) -> list[Any]:
        values: Iterable[Any] = self.after.codes.decode_many(self.after.trie(attribute, inverse=False).row(entity))
        return sorted(values, key=str)

    def _path(self, entity: int, attribute: int, value: Any = None) -> Path:
        """Where the transaction says it of the policy, or anything of it."""
        own = [each for each in self.effects if each.e == entity] or self.effects[:1]
        code = self.after.codes.lookup(value)
        said = [each for each in own if each.a == attribute and each.added] or own
        said = [each for each in said if each.v == code] or said
        return self.paths((said[0].a, said[0].e, said[0].v))
