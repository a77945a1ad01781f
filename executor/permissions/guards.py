"""Guards: the database as one identity may see it."""

from __future__ import annotations

from typing import Final

from adalog.executor.bounds.budget import Memory
from adalog.executor.bounds.client import Identity
from adalog.executor.bounds.running import Flag
from adalog.executor.cache.reads import touched_attributes
from adalog.executor.permissions.grants import Grants, PolicyMemory, Viewer
from adalog.executor.permissions.policies import Policy, policies_of
from adalog.executor.permissions.visibility import VisibleDatoms
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.snapshot import Snapshot

ADMIN: Final = "admin"
_OF_A_TOKEN: Final = frozenset({"exp", "iat", "nbf", "jti"})


class Guard(Grants):
    """Shows snapshots as its viewer may see them."""

    def view(self, snapshot: Snapshot) -> GuardedSnapshot:
        if isinstance(snapshot, GuardedSnapshot):
            snapshot = snapshot.raw
        return GuardedSnapshot(snapshot, VisibleDatoms(self, snapshot))


class Permissions:
    """Makes guards. Thread-safe."""

    def __init__(self, memory: Memory) -> None:
        self._memory = PolicyMemory(memory)

    def enforced(self, snapshot: Snapshot) -> bool:
        """Whether only what policies grant is visible, to all but admins."""
        return policies_of(snapshot).enforced

    def read(self, policy: Policy, moment: Snapshot) -> set[int] | None:
        """The attributes that the rules of a policy read; None: any may be one."""
        return touched_attributes(moment, self._memory.reads(policy), ())

    def sees_alike(self, one: Identity, other: Identity, now: Snapshot) -> bool:
        """Whether two tokens of one client let it see the same, also by later policies: they differ in their own
        times and ids at most."""
        viewers = Viewer.of(one), Viewer.of(other)
        admins = [ADMIN in each.roles for each in viewers]
        if admins[0] != admins[1]:
            return False
        if admins[0] or not policies_of(now).were_there:
            return True
        # Streams that began under policies go by them again when they are enforced again.
        guards = [self.guard(each, now) for each in viewers]
        if len({each and each.key for each in guards}) > 1:
            return False
        said = [
            (each.roles, {name: each.claims[name] for name in each.claims.keys() - _OF_A_TOKEN}) for each in viewers
        ]
        return said[0] == said[1]

    def guard(self, viewer: Viewer | None, now: Snapshot, limit: Flag | None = None) -> Guard | None:
        """The guard of a viewer by the policies and facts of a raw snapshot; None for one that sees everything.
        `limit`: as in `Grants`."""
        if viewer is None or ADMIN in viewer.roles:
            return None
        policies = policies_of(now)
        return Guard(self._memory, viewer, now, policies, limit) if policies.enforced else None
