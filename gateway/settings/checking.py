"""Whether a server may start with its settings: what they must be together."""

from __future__ import annotations

import os

from adalog.datalog.errors import quoted
from adalog.gateway.settings.config import Settings
from adalog.gateway.settings.setting import PREFIX, SettingError
from adalog.gateway.settings.sources import check
from adalog.gateway.settings.value_types import is_loopback, jwt_algorithms
from adalog.store.files.folder import is_address


def checked(settings: Settings) -> Settings:
    """The settings, when a server may start with them. Raises SettingError."""
    check(settings)
    if (settings.segments is not None or settings.segments_copy is not None) and not is_address(settings.data):
        raise SettingError(
            f"{PREFIX}SEGMENTS and {PREFIX}SEGMENTS_COPY are for gateways that share a log, and "
            f"{PREFIX}DATA is none: name a server, postgresql://USER:PASSWORD@HOST/DATABASE, or leave them out"
        )
    _check_tokens(settings)
    if not (is_loopback(settings.host) or settings.auth or settings.jwt_algorithms):
        raise SettingError(
            f"serving on {settings.host} lets other machines in, and no authentication is set up. Set {PREFIX}AUTH "
            "to a file of bearer tokens (one `name:role:sha256hex` a line; the role is read, write or admin), "
            f"or {PREFIX}JWT_ALGORITHMS and what verifies them, or serve on 127.0.0.1"
        )
    if settings.auth and not os.path.isfile(settings.auth):
        raise SettingError(f"{PREFIX}AUTH names {quoted(settings.auth)}, which is no file of bearer tokens")
    if settings.workers > 1 and settings.in_memory:
        raise SettingError(
            f"{PREFIX}WORKERS is {settings.workers}, and a database in memory belongs to one process; name "
            "a folder with --data, or serve with one worker"
        )
    return settings


def _check_tokens(settings: Settings) -> None:
    """Raises SettingError where it is not clear which JSON Web Tokens are good."""
    sources = ("jwt_secret", "jwt_key", "jwt_keys_url")
    given = [f"{PREFIX}{name.upper()}" for name in sources if getattr(settings, name)]
    algorithms = jwt_algorithms(settings.jwt_algorithms)
    if not algorithms and not given:
        return
    if not algorithms:
        raise SettingError(
            f"{given[0]} is set, and {PREFIX}JWT_ALGORITHMS lists no algorithm that tokens may be signed with, "
            "as RS256,ES256"
        )
    if len(given) != 1:
        names = ", ".join(f"{PREFIX}{name.upper()}" for name in sources)
        raise SettingError(f"{PREFIX}JWT_ALGORITHMS wants one of {names}; set are {', '.join(given) or 'none'}")
    shared = {name.startswith("HS") for name in algorithms}
    if shared != {settings.jwt_secret is not None}:
        raise SettingError(
            f"{PREFIX}JWT_ALGORITHMS is {settings.jwt_algorithms}: HS256, HS384 and HS512, and only these, go with "
            f"{PREFIX}JWT_SECRET, the others with public keys"
        )
    if settings.jwt_secret is None and not (settings.jwt_audience and settings.jwt_issuer):
        raise SettingError(
            f"{given[0]} needs {PREFIX}JWT_AUDIENCE and {PREFIX}JWT_ISSUER: the owner of the keys signs tokens for "
            "other services, too, which are not to be used here"
        )
