"""Settings of a test, and bounds that are no settings: constants that have another value until the test ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from adalog.gateway.settings.config import Settings

_TOKENS: Final = "adalog.gateway.identity"
_ELSEWHERE: Final = {
    "jwt_clock_skew_seconds": f"{_TOKENS}.jwt_tokens.CLOCK_SKEW_SECONDS",
    "jwt_keys_seconds": f"{_TOKENS}.jwt_keys.RENEW_SECONDS",
    "jwt_keys_pause_seconds": f"{_TOKENS}.jwt_keys.PAUSE_SECONDS",
    "jwt_keys_timeout_seconds": f"{_TOKENS}.jwt_keys.TIMEOUT_SECONDS",
    "bodies_bytes": "adalog.gateway.settings.config.Settings.bodies_bytes",
    **{
        name: f"adalog.gateway.connections.limits.{name.upper()}"
        for name in (
            *("head_bytes", "head_seconds", "body_seconds", "send_seconds", "send_rate", "init_seconds"),
            *("ping_seconds", "operations_per_connection", "request_values"),
        )
    },
}


def bounded(patch: pytest.MonkeyPatch, **values: Any) -> Settings:
    """Settings of a database in memory on any free port. A value that no setting has is a bound's."""
    for name in values.keys() & _ELSEWHERE.keys():
        patch.setattr(_ELSEWHERE[name], values.pop(name))
    if (burst := values.pop("rate_burst_units", None)) is not None:
        patch.setattr("adalog.gateway.app.BURST_SECONDS", burst / values["rate_units"])
    if (events := values.pop("live_mailbox_events", None)) is not None:
        live = Settings.live.fget  # type: ignore[attr-defined]
        patch.setattr(Settings, "live", property(lambda settings: replace(live(settings), mailbox_events=events)))
    return Settings(**{"data": ":memory:", "port": 0, **values})
