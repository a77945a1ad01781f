"""Who asks, and the moments of the database as that viewer sees them: for what is read again and again."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from adalog.executor.bounds.client import ASKING, Identity
from adalog.executor.cache.reads import touched_attributes
from adalog.executor.permissions.grants import Viewer
from adalog.executor.permissions.guards import ADMIN, Guard, Permissions
from adalog.store.snapshot.snapshot import Snapshot


def viewer_asking() -> Viewer | None:
    """The viewer whose request this task or thread answers; None without authentication, which is as an admin."""
    identity = ASKING.get().identity
    return None if identity is None else Viewer.of(identity)


def may_excise(viewer: Viewer | None) -> bool:
    """Whether a viewer may excise, as admins alone may."""
    return viewer is None or ADMIN in viewer.roles


@contextmanager
def asking_as(viewer: Viewer | None) -> Iterator[None]:
    """In the block the client asks for a viewer: policies are those for it, and costs are still the client's own.
    None: for itself."""
    client = ASKING.get()
    identity = client.identity
    if viewer is not None:
        name = "" if identity is None else identity.name
        identity = Identity(name, tuple(sorted(viewer.roles)), claims=viewer.claims)
    token = ASKING.set(replace(client, identity=identity))
    try:
        yield
    finally:
        ASKING.reset(token)


@dataclass(frozen=True, eq=False)
class VisibleMoments:
    """What a viewer saw, or sees, at each moment. `now`: the raw snapshot whose policies and facts decide; None:
    those of the moment itself."""

    permissions: Permissions
    viewer: Viewer
    now: Snapshot | None = None

    @staticmethod
    def asked(permissions: Permissions, now: Snapshot) -> VisibleMoments | None:
        """Those of the viewer who asks; None where it sees everything."""
        viewer = viewer_asking()
        if viewer is None or permissions.guard(viewer, now) is None:
            return None
        return VisibleMoments(permissions, viewer)

    @cached_property
    def key(self) -> Hashable:
        """Equal for viewers who see the same whatever policies there will be."""
        claims = json.dumps(self.viewer.claims, sort_keys=True, default=repr)
        return ("viewer", self.roles_key, claims)

    @property
    def roles_key(self) -> tuple[str, ...]:
        """Equal for viewers whom the same policies are for, whatever policies there will be."""
        return ("viewers", *sorted(self.viewer.roles))

    def decided_at(self, now: Snapshot) -> VisibleMoments:
        return replace(self, now=now)

    def guard(self, moment: Snapshot) -> Guard | None:
        return self.permissions.guard(self.viewer, self.now or moment)

    def of(self, moment: Snapshot) -> Snapshot:
        """What is visible of a raw snapshot."""
        guard = self.guard(moment)
        return moment if guard is None else guard.view(moment)

    def read(self, moment: Snapshot) -> set[int] | None:
        """The attributes by which it is decided what is visible, besides those of policies; None: any may be."""
        guard = self.guard(moment)
        return set() if guard is None else touched_attributes(moment, guard.reads, ())
