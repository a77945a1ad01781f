"""POST /backup: one backup of the database to a place that the server may write to.

The body is JSON: `to`, an absolute path or an address, and `keep`, how many backups stay there, if not all. Events
are `progress` {stage, done, total, rows}, done and total in bytes, and at the end `done` with what was taken, or
`error` with GraphQL's `errors`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from starlette.types import Scope

from adalog.datalog.errors import invalid_argument
from adalog.gateway.identity.principal import Principal
from adalog.gateway.jobs.backups import Backups
from adalog.gateway.jobs.job_endpoint import JobKind, allowed, members
from adalog.gateway.jobs.outbox import Outbox
from adalog.gateway.settings.backup_places import BackupPlaces
from adalog.gateway.settings.config import Settings
from adalog.schema.request.background import elsewhere

_MEMBERS: Final[Mapping[str, tuple[type, str]]] = {
    "to": (str, "an absolute path or an address"),
    "keep": (int, "a whole number, at least 1"),
}


def backups_asked_for(backups: Backups, settings: Settings) -> JobKind:
    async def begin(text: bytes, principal: Principal, scope: Scope) -> Outbox:
        said = await elsewhere(lambda _: members(text, _MEMBERS, "a backup"))
        if not said["to"]:
            raise invalid_argument(f"`to` is {_MEMBERS['to'][1]}")
        if said.get("keep", 1) < 1:
            raise invalid_argument(f"`keep` is {_MEMBERS['keep'][1]}")
        places = partial(allowed, BackupPlaces, settings.backup_folders, principal, scope)
        to = await elsewhere(lambda _: places().checked(said["to"]))
        return backups.begin(to, said.get("keep"))

    return JobKind("backup", "no backup was taken", "a backup has the server write files", begin)
