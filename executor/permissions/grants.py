"""What policies grant an identity, by the policies and facts of now."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np

from adalog.datalog.values import Keyword
from adalog.executor.bounds.budget import Memory
from adalog.executor.bounds.client import Identity
from adalog.executor.bounds.lru_cache import LruCache
from adalog.executor.bounds.running import RUNNING, Flag
from adalog.executor.cache.reads import Reads, reads_of, token_of
from adalog.executor.join.batch import Column, Mask
from adalog.executor.permissions.claims import claim_rows
from adalog.executor.permissions.evaluation import GuardedWork, PolicyAnswers, RuleRunner
from adalog.executor.permissions.policies import Policies, Policy, durable
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.trie import Trie, distinct
from adalog.store.values.attribute import Attribute
from adalog.store.values.schema import Schema

# Of what is remembered of policies: which entities they allow.
_ANSWER_BYTES: Final = 64 << 20
_READS_BYTES: Final = 4 << 20
_SCHEMA_BYTES: Final = 16 << 20
_TRIE_BYTES: Final = 64 << 20


@dataclass(frozen=True)
class Viewer:
    """For whom a guard is made: all values of the roles claim, and all claims."""

    roles: frozenset[str]
    claims: Mapping[str, Any]

    @staticmethod
    def of(identity: Identity) -> Viewer:
        return Viewer(frozenset(identity.roles), identity.claims)


class PolicyMemory:
    """What policies allow, and how that is found, remembered. Thread-safe."""

    def __init__(self, memory: Memory) -> None:
        self.runner = RuleRunner(memory)
        self._answers: LruCache[Any, PolicyAnswers] = LruCache(_ANSWER_BYTES)
        self._reads: LruCache[str, Reads] = LruCache(_READS_BYTES)
        self.schemas: LruCache[Any, Schema] = LruCache(_SCHEMA_BYTES)
        self.tries: LruCache[Hashable, Trie] = LruCache(_TRIE_BYTES, _TRIE_BYTES // 2)
        self._touched = 0

    def allowed(self, policy: Policy, claims: Mapping[str, Any], state: Snapshot) -> PolicyAnswers:
        """What a policy allows at a state; its rules can be read."""
        rules = policy.rules
        assert rules is not None
        token = token_of(state, self.reads(policy))
        if token.newest > durable(state):
            return PolicyAnswers(policy.key, rules, claims, self.runner)
        given = repr([claim_rows(each, claims) for each in rules.claims])
        key = (policy.key, given, token.text)
        found = self._answers.get(key) or PolicyAnswers(policy.key, rules, claims, self.runner)
        # It may have grown since.
        self._answers.put(key, found, found.nbytes + len(given))
        return found

    def reads(self, policy: Policy) -> Reads:
        """What the rules of a policy read of the database."""
        assert policy.rules is not None
        found = self._reads.get(policy.key)
        if found is None:
            asked = self.runner.question(policy.key, policy.rules, None, subjects=True)
            found = reads_of(asked.query).sources.get("$", Reads())
            # Pulls of queries within rules.
            found.whole |= bool(found.pulls)
            self._reads.put(policy.key, found, 1_000)
        return found

    def reads_of(self, policies: Iterable[Policy]) -> Reads:
        """What the rules of some policies read together."""
        reads = Reads()
        for each in policies:
            if each.rules is not None:
                own = self.reads(each)
                reads.named |= own.named
                reads.unique |= own.unique
                reads.whole |= own.whole
        return reads

    def keep_trie(self, key: Hashable, trie: Trie, touched: int) -> None:
        """Keeps a trie of visible datoms. `touched`: the last transaction that changed policies; tries of those
        before are dropped."""
        if touched > self._touched:
            self._touched = touched
            self.tries.clear()
        base = trie.base
        # The index that it may get counts, too.
        self.tries.put(key, trie, base.nbytes() + 2 * base.keys.nbytes + len(repr(key)))


@dataclass(eq=False)
class Grants:
    """What a viewer may see and do. `now`: the raw snapshot whose policies and facts decide. `limit`: of all that
    is asked of it together, besides those of the work that asks. `ran_out`: something was denied for want of time
    or memory, so answers must not be kept."""

    memory: PolicyMemory
    viewer: Viewer
    now: Snapshot
    policies: Policies
    limit: Flag | None = None
    ran_out: bool = False
    _answers: dict[tuple[str, Snapshot], PolicyAnswers] = field(default_factory=dict)

    @cached_property
    def reading(self) -> tuple[Policy, ...]:
        """The policies that say what it sees."""
        return self.policies.of(self.viewer.roles)

    @cached_property
    def key(self) -> str:
        """Equal for guards whose policies are the same and read the same claims."""
        return hashlib.blake2b(self.said_by(self.reading).encode(), digest_size=16).hexdigest()

    def said_by(self, policies: Iterable[Policy]) -> str:
        """Equal for policies that are the same, and claims of viewers in which these read the same."""
        said = []
        for each in policies:
            sources = () if each.rules is None else each.rules.claims
            said.append((each.key, [claim_rows(source, self.viewer.claims) for source in sources]))
        return repr(sorted(said, key=repr))

    @cached_property
    def policies_key(self) -> str:
        """Equal for guards whose policies are the same, whatever claims they read."""
        return " ".join(sorted(each.key for each in self.reading))

    @cached_property
    def reads(self) -> Reads:
        """What its policies read of the database, besides the policies."""
        return self.memory.reads_of(self.reading)

    @property
    def touched(self) -> int:
        """The last transaction that changed policies."""
        return self.now.policies_touched

    def names(self, op: Keyword, attribute: Attribute) -> bool:
        """Whether a policy grants the operation on the attribute, for some entities at least."""
        return any(not each.required and each.names(attribute) for each in self.policies.of(self.viewer.roles, op))

    def allows(self, op: Keyword, attribute: Attribute, e: Column, v: Column, state: Snapshot) -> Mask:
        """bool[n]: which operations on datoms are granted at a raw plain state."""
        named = [each for each in self.policies.of(self.viewer.roles, op) if each.names(attribute)]
        granted = np.zeros(len(e), np.bool_)
        for each in named:
            if not each.required and not granted.all():
                granted = granted | self.allowed(each, attribute, e, v, state)
        for each in named:
            if each.required and granted.any():
                granted &= self.allowed(each, attribute, e, v, state)
        return granted

    def allowed(self, policy: Policy, attribute: Attribute, e: Column, v: Column, state: Snapshot) -> Mask:
        """bool[n]: of which datoms one policy holds at a raw plain state."""
        if policy.broken:
            return np.zeros(len(e), np.bool_)
        if policy.rules is None:
            return np.ones(len(e), np.bool_)
        answers = self._answers_of(policy, state)
        work = GuardedWork([each for each in (RUNNING.get(), self.limit) if each is not None])
        if policy.rules.places == 3:
            then = state.schema.get(attribute.id)
            allowed = answers.datoms(attribute.ident if then is None else then.ident, e, v, state, work)
        elif (e[1:] > e[:-1]).all():
            allowed = answers.entities(e, state, work)
        else:
            entities = distinct(e)
            allowed = answers.entities(entities, state, work)[entities.searchsorted(e)]
        self.ran_out |= work.ran_out
        return allowed

    def _answers_of(self, policy: Policy, state: Snapshot) -> PolicyAnswers:
        key = (policy.key, state)
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = self.memory.allowed(policy, self.viewer.claims, state)
        return found
