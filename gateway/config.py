"""Settings: every one has a name, a type that says which values are right, and a default.

Where their values come from is a matter of `gateway.sources`. Nothing here starts anything.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import SecretStr

from executor.live.settings import LiveSettings
from executor.spark.properties import parsed
from gateway.kinds import (
    Folder,
    LogLevel,
    NameList,
    NetworkList,
    OriginList,
    PlaceList,
    Port,
    Positive,
    QueryMemory,
    RedisAddress,
    Seconds,
    SigningSecret,
    SparkConf,
    SparkMaster,
    import_places,
    networks,
)
from gateway.setting import PREFIX, SettingError
from schema.limits import Limits
from store.compactor import FOLD_BYTES

__all__ = ["PREFIX", "SettingError", "Settings", "import_places", "is_loopback", "networks", "settings_from"]

_NOTHING = SecretStr("")


@dataclass(frozen=True, slots=True)
class Settings:
    """How one adalog process runs. A plain number is never negative; `gateway.kinds` has what else a type says."""

    config: str | None = None
    secrets_dir: str | None = None
    data: Folder = "data"
    host: str = "127.0.0.1"
    port: Port = 8080
    schema: Literal["open", "strict"] = "open"
    auth: str | None = None
    allowed_hosts: NameList = ""
    allowed_origins: OriginList = ""
    trusted_proxies: NetworkList = ""
    connections: Positive = 5_000
    connections_per_address: Positive = 1_250
    head_bytes: Positive = 64 * 1024
    head_seconds: Seconds = 10.0
    body_seconds: Seconds = 60.0
    bodies_bytes: Positive = 64 * 1024 * 1024
    idle_seconds: Seconds = 75.0
    send_seconds: Seconds = 60.0
    send_rate: Positive = 64 * 1024
    init_seconds: Seconds = 10.0
    ping_seconds: Seconds = 20.0
    operations_per_connection: Positive = 256
    request_bytes: int = 8 * 1024 * 1024
    request_values: int = 1_000_000
    transaction_bytes: int = 1024 * 1024
    spark: bool = True
    spark_master: SparkMaster = "local[*]"
    import_folders: PlaceList | None = None
    import_hold_seconds: Seconds = 60.0
    fold_bytes: Positive = FOLD_BYTES
    spark_conf: SparkConf = _NOTHING
    spark_segments: str | None = None
    threads: int = 2
    queries_at_once: int = 4
    heavy_queries_at_once: int = 2
    queries_waiting: int = 256
    transactions_waiting: int = 1024
    idempotency_seconds: Positive = 86_400
    idempotency_transactions: Positive = 1_000_000
    memory_bytes: QueryMemory = 1024 * 1024 * 1024
    responses_bytes: Positive = 256 * 1024 * 1024
    cache_bytes: int = 64 * 1024 * 1024
    cache_entry_bytes: int = 16 * 1024 * 1024
    plan_cache_bytes: int = 32 * 1024 * 1024
    redis_url: RedisAddress | None = None
    redis_prefix: str = "adalog:"
    redis_ttl: Positive = 86_400
    redis_entry_bytes: int = 8 * 1024 * 1024
    redis_secret: SigningSecret | None = None
    live_subscriptions: int = 50_000
    live_subscriptions_per_principal: int = 20_000
    live_mailbox_events: Positive = 256
    live_mailbox_bytes: Positive = 1024 * 1024
    live_mailboxes_bytes: Positive = 64 * 1024 * 1024
    live_replayed: int = 64
    live_chunk_rows: Positive = 1_000
    live_progress_seconds: Seconds = 15.0
    live_bytes: Positive = 256 * 1024 * 1024
    log_level: LogLevel = "info"
    limits: Limits = field(default_factory=Limits)

    @property
    def live(self) -> LiveSettings:
        """The bounds of subscriptions."""
        return LiveSettings(
            subscriptions=self.live_subscriptions,
            subscriptions_per_principal=self.live_subscriptions_per_principal,
            mailbox_events=self.live_mailbox_events,
            mailbox_bytes=self.live_mailbox_bytes,
            mailboxes_bytes=self.live_mailboxes_bytes,
            replayed=self.live_replayed,
            chunk_rows=self.live_chunk_rows,
            progress_seconds=self.live_progress_seconds,
            memory_bytes=self.live_bytes,
            timeout_ms=self.limits.timeout_ms,
        )

    @property
    def in_memory(self) -> bool:
        return self.data == ":memory:"

    @property
    def spark_properties(self) -> dict[str, str]:
        """Spark's properties."""
        return parsed(self.spark_conf.get_secret_value())

    @property
    def on_loopback(self) -> bool:
        return is_loopback(self.host)

    def checked(self) -> Settings:
        """These settings, when a server may start with them. Raises SettingError."""
        from gateway.sources import check

        check(self)
        if not self.on_loopback and not self.auth:
            raise SettingError(
                f"serving on {self.host} lets other machines in, and no authentication is set up. Set {PREFIX}AUTH "
                "to a file of bearer tokens (one `name:role:sha256hex` a line; the role is read, write or admin), "
                "or serve on 127.0.0.1"
            )
        if self.auth and not Path(self.auth).is_file():
            raise SettingError(f"{PREFIX}AUTH names {self.auth!r}, which is no file of bearer tokens")
        return self


def is_loopback(host: str) -> bool:
    """Whether `host` can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def settings_from(environ: Mapping[str, str], **given: Any) -> Settings:
    """Settings from ADALOG_* variables, and the files that they name; what is `given` and not None wins.

    Raises SettingError.
    """
    from gateway.sources import read

    return read(environ, given).settings
