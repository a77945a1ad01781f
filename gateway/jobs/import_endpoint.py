"""POST /import: one import on the server's Spark session.

The body is JSON: `mapping`, the text of a mapping, and what may go with it (`_MEMBERS`). Events are `waiting`
{running, ahead, seconds, waited} while others run, `progress` {stage, done, total, rows}, `rejected` {file, text}
with rows as JSON lines, and at the end `done` with what came of it, or `error` with GraphQL's `errors`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from starlette.types import Scope

from adalog.datalog.errors import invalid_argument
from adalog.executor.bounds.client import ASKING
from adalog.gateway.identity.principal import Principal
from adalog.gateway.jobs.imports import ImportRequest, Imports
from adalog.gateway.jobs.job_endpoint import JobKind, allowed, members
from adalog.gateway.jobs.outbox import Outbox
from adalog.gateway.settings.config import Settings
from adalog.pipeline.importing.read.import_folders import ImportFolders
from adalog.schema.request.background import elsewhere

# `file`: the mapping's absolute path where the client is, to which its paths are relative. `schema`: the
# transaction data of the file that the mapping names. `paths`: of sources by name, instead of the mapping's.
# `files`: likewise lists of paths, and other sources are left out. `passwords`: of SQL databases, by the names that
# the mapping has for environment variables. `idempotencyKey`: what comes with the same one is done once.
_MEMBERS: Final[Mapping[str, tuple[type, str]]] = {
    "mapping": (str, "the text of a mapping"),
    "file": (str, "text"),
    "schema": (str, "text"),
    "paths": (dict, "an object"),
    "files": (dict, "an object"),
    "passwords": (dict, "an object"),
    "idempotencyKey": (str, "text"),
    "maxErrors": (int, "a whole number"),
    "dryRun": (bool, "true or false"),
}


def imports_asked_for(imports: Imports, settings: Settings) -> JobKind:
    async def begin(text: bytes, principal: Principal, scope: Scope) -> Outbox:
        places = partial(allowed, ImportFolders, settings.import_folders, principal, scope)
        author = ASKING.get().author
        return await imports.abegin(await elsewhere(lambda _: _wish(text, places(), author)))

    return JobKind("import", "nothing was imported", "an import has the server read files", begin)


def _wish(text: bytes, places: ImportFolders, principal: str | None) -> ImportRequest:
    """The import that a request asks for. Raises what is wrong with it. Not on the event loop: it lists files."""
    from adalog.pipeline.importing.read.mapping_reader import mapping_of
    from adalog.pipeline.importing.read.runner import is_small

    said = _members(text)
    file, passwords = Path(said.get("file", "/mapping.yaml")), said.get("passwords", {})
    plan = mapping_of(said["mapping"], file, said.get("paths", {}), passwords)
    sent = said.get("schema")
    if plan.schema is not None and sent is None:
        raise invalid_argument(f"the mapping names {plan.schema}: send its text as `schema`")
    plan = replace(plan, sent=sent)
    if "files" in said:
        plan = plan.of_files(said["files"])
    plan = places.checked(plan)
    key = said.get("idempotencyKey")
    return ImportRequest(plan, is_small(plan), said.get("maxErrors", 0), said.get("dryRun", False), key, principal)


def _members(text: bytes) -> dict[str, Any]:
    given = members(text, _MEMBERS, "an import")
    texts = [*given.get("paths", {}).values(), *given.get("passwords", {}).values()]
    if given.get("maxErrors", 0) < 0 or not all(isinstance(each, str) for each in texts):
        raise invalid_argument("`maxErrors` is 0 or more, and each of `paths` and `passwords` is text")
    for listed in given.get("files", {}).values():
        if not isinstance(listed, list) or not listed or not all(isinstance(each, str) for each in listed):
            raise invalid_argument("each of `files` is a list of texts")
    return given
