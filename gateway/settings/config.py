"""Settings: every one has a name, a type that says which values are right, and a default.

Where their values come from is a matter of `gateway.settings.sources`. Nothing here starts anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import SecretStr

from adalog.cluster.properties import parsed
from adalog.executor.live.settings import LiveSettings
from adalog.gateway.settings.kinds import (
    AlgorithmList,
    BackupList,
    DataPlace,
    HostList,
    KeysAddress,
    LogLevel,
    NameList,
    NetworkList,
    OriginList,
    PlaceList,
    Port,
    Positive,
    QueryMemory,
    RedisAddress,
    RoleList,
    Seconds,
    SegmentsPlace,
    SigningSecret,
    Span,
    SparkConf,
    SparkMaster,
    SparkSegmentsPlace,
    Threads,
    Units,
    Workers,
    import_places,
    is_loopback,
    networks,
)
from adalog.gateway.settings.setting import PREFIX, SettingError
from adalog.schema.request.limits import RequestLimits
from adalog.store.checkpoint.fold_memory import FOLD_BYTES
from adalog.store.values.schema_policy import ATTRIBUTES

__all__ = ["PREFIX", "SettingError", "Settings", "import_places", "is_loopback", "networks"]

_NOTHING = SecretStr("")


@dataclass(frozen=True, slots=True)
class Settings:
    """How one adalog process runs. A plain number is never negative; `gateway.settings.kinds` has what else a type
    says."""

    config: str | None = None
    secrets_dir: str | None = None
    data: DataPlace = field(default="data", repr=False)
    host: str = "127.0.0.1"
    port: Port = 8080
    workers: Workers = 1
    worker_seconds: Seconds = 15.0
    schema: Literal["open", "strict"] = "open"
    auth: str | None = None
    jwt_algorithms: AlgorithmList = ""
    jwt_secret: SigningSecret | None = None
    jwt_key: str | None = None
    jwt_keys_url: KeysAddress | None = field(default=None, repr=False)
    jwt_audience: NameList = ""
    jwt_issuer: str | None = None
    jwt_clock_skew_seconds: Span = 30.0
    jwt_roles_claim: str = "roles"
    jwt_roles: RoleList = "read=read,write=write,admin=admin,adalog:read=read,adalog:write=write,adalog:admin=admin"
    jwt_keys_seconds: Seconds = 300.0
    jwt_keys_pause_seconds: Seconds = 10.0
    jwt_keys_timeout_seconds: Seconds = 5.0
    allowed_hosts: HostList = ""
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
    spark_master: SparkMaster = field(default="local[*]", repr=False)
    import_folders: PlaceList | None = field(default=None, repr=False)
    import_hold_seconds: Seconds = 60.0
    fold_bytes: Positive = FOLD_BYTES
    backup_folders: BackupList | None = field(default=None, repr=False)
    spark_conf: SparkConf = _NOTHING
    spark_segments: SparkSegmentsPlace | None = None
    threads: Threads = 2
    queries_at_once: Positive = 4
    heavy_queries_at_once: Positive = 2
    queries_waiting: int = 256
    transactions_waiting: int = 1024
    attributes: Positive = ATTRIBUTES
    rate_units: Units = 0.0
    rate_burst_units: Units = 0.0
    idempotency_seconds: Positive = 86_400
    idempotency_transactions: Positive = 1_000_000
    follow_seconds: Seconds = 1.0
    memory_bytes: QueryMemory = 1024 * 1024 * 1024
    responses_bytes: Positive = 256 * 1024 * 1024
    cache_bytes: int = 64 * 1024 * 1024
    cache_entry_bytes: int = 16 * 1024 * 1024
    plan_cache_bytes: int = 32 * 1024 * 1024
    segments: SegmentsPlace | None = None
    segments_copy: str | None = None
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
    log_format: Literal["text", "json"] = "text"
    log_requests: bool = False
    slow_query_seconds: Span = 0.0
    limits: RequestLimits = field(default_factory=RequestLimits)

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

    @property
    def takes_jwt(self) -> bool:
        """Whether JSON Web Tokens say who asks."""
        return bool(self.jwt_algorithms)
