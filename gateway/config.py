"""Settings: every one has a default and an environment variable ADALOG_<NAME>. Nothing here starts anything."""

from __future__ import annotations

import dataclasses
import ipaddress
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from datalog.errors import AdalogError
from executor.live.settings import LiveSettings
from executor.spark.pipeline.places import Places
from executor.spark.properties import parsed
from gateway.origins import Origins
from schema.limits import Limits
from store.folder import check_is_folder

PREFIX = "ADALOG_"
_LEAST_MEMORY = 16 * 1024 * 1024
_REDIS_SCHEMES = ("redis://", "rediss://", "unix://")
_SECRET_LETTERS = 32
_MOST_WORKERS = 256
_SECONDS = (
    *("head_seconds", "body_seconds", "idle_seconds", "send_seconds", "init_seconds", "ping_seconds"),
    *("live_progress_seconds", "import_hold_seconds", "worker_seconds"),
)
_AT_LEAST_ONE = (
    *(
        "workers",
        "connections",
        "connections_per_address",
        "head_bytes",
        "bodies_bytes",
        "responses_bytes",
        "send_rate",
    ),
    *("idempotency_seconds", "idempotency_transactions", "operations_per_connection"),
    *("live_mailbox_events", "live_mailbox_bytes", "live_mailboxes_bytes", "live_chunk_rows", "live_bytes"),
)
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class SettingError(ValueError):
    """A setting that cannot be used; the message names its variable."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How one adalog process runs."""

    data: str = "data"
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    worker_seconds: float = 15.0
    schema: Literal["open", "strict"] = "open"
    auth: str | None = None
    allowed_hosts: str = ""
    allowed_origins: str = ""
    trusted_proxies: str = ""
    connections: int = 5_000
    connections_per_address: int = 1_250
    head_bytes: int = 64 * 1024
    head_seconds: float = 10.0
    body_seconds: float = 60.0
    bodies_bytes: int = 64 * 1024 * 1024
    idle_seconds: float = 75.0
    send_seconds: float = 60.0
    send_rate: int = 64 * 1024
    init_seconds: float = 10.0
    ping_seconds: float = 20.0
    operations_per_connection: int = 256
    request_bytes: int = 8 * 1024 * 1024
    request_values: int = 1_000_000
    transaction_bytes: int = 1024 * 1024
    spark: bool = True
    spark_master: str = "local[*]"
    import_folders: str | None = None
    import_hold_seconds: float = 60.0
    spark_conf: str = field(default="", repr=False)
    threads: int = 2
    queries_at_once: int = 4
    heavy_queries_at_once: int = 2
    queries_waiting: int = 256
    transactions_waiting: int = 1024
    idempotency_seconds: int = 86_400
    idempotency_transactions: int = 1_000_000
    memory_bytes: int = 1024 * 1024 * 1024
    responses_bytes: int = 256 * 1024 * 1024
    cache_bytes: int = 64 * 1024 * 1024
    cache_entry_bytes: int = 16 * 1024 * 1024
    plan_cache_bytes: int = 32 * 1024 * 1024
    redis_url: str | None = field(default=None, repr=False)
    redis_prefix: str = "adalog:"
    redis_ttl: int = 86_400
    redis_entry_bytes: int = 8 * 1024 * 1024
    redis_secret: str | None = field(default=None, repr=False)
    live_subscriptions: int = 50_000
    live_subscriptions_per_principal: int = 20_000
    live_mailbox_events: int = 256
    live_mailbox_bytes: int = 1024 * 1024
    live_mailboxes_bytes: int = 64 * 1024 * 1024
    live_replayed: int = 64
    live_chunk_rows: int = 1_000
    live_progress_seconds: float = 15.0
    live_bytes: int = 256 * 1024 * 1024
    log_level: str = "info"
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
        """Spark's properties. Raises SettingError for what is none, or is not the user's to set."""
        try:
            return parsed(self.spark_conf)
        except ValueError as error:
            raise SettingError(f"{PREFIX}SPARK_CONF: {error}") from None

    def check_spark(self) -> None:
        """Raises SettingError for a master or properties that cannot be used."""
        if self.spark_master.startswith("sc://"):
            raise SettingError(
                f"{PREFIX}SPARK_MASTER is {self.spark_master!r}: Spark Connect cannot be used; name the cluster"
            )
        _ = self.spark_properties

    @property
    def on_loopback(self) -> bool:
        return is_loopback(self.host)

    def checked(self) -> Settings:
        """These settings, when a server may start with them. Raises SettingError."""
        if self.schema not in ("open", "strict"):
            raise SettingError(f"{PREFIX}SCHEMA is {self.schema!r}; it is open or strict")
        if not self.on_loopback and not self.auth:
            raise SettingError(
                f"serving on {self.host} lets other machines in, and no authentication is set up. Set {PREFIX}AUTH "
                "to a file of bearer tokens (one `name:role:sha256hex` a line; the role is read, write or admin), "
                "or serve on 127.0.0.1"
            )
        if self.auth and not Path(self.auth).is_file():
            raise SettingError(f"{PREFIX}AUTH names {self.auth!r}, which is no file of bearer tokens")
        for name, parse in (
            ("allowed_origins", Origins.of),
            ("trusted_proxies", networks),
            ("import_folders", import_places),
        ):
            try:
                parse(getattr(self, name) or "")
            except ValueError as error:
                raise SettingError(f"{PREFIX}{name.upper()}: {error}") from None
        for name in _AT_LEAST_ONE:
            if getattr(self, name) < 1:
                raise SettingError(f"{PREFIX}{name.upper()} is {getattr(self, name)}; it is at least 1")
        for name in _SECONDS:
            if not getattr(self, name) > 0:
                raise SettingError(f"{PREFIX}{name.upper()} is {getattr(self, name):g}; it is more than 0 seconds")
        if self.workers > _MOST_WORKERS:
            raise SettingError(f"{PREFIX}WORKERS is {self.workers}; it is at most {_MOST_WORKERS}")
        if self.workers > 1 and self.in_memory:
            raise SettingError(
                f"{PREFIX}WORKERS is {self.workers}, and a database in memory belongs to one process; name "
                "a folder with --data, or serve with one worker"
            )
        if self.redis_url and not self.redis_url.startswith(_REDIS_SCHEMES):
            # What it is stays unsaid: there may be a password in it.
            raise SettingError(f"{PREFIX}REDIS_URL begins with one of {' '.join(_REDIS_SCHEMES)}")
        if self.memory_bytes < _LEAST_MEMORY:
            raise SettingError(
                f"{PREFIX}MEMORY_BYTES is {self.memory_bytes}; queries need {_LEAST_MEMORY:,} bytes at least"
            )
        if self.redis_ttl < 1:
            raise SettingError(f"{PREFIX}REDIS_TTL is {self.redis_ttl}; it is a number of seconds, at least 1")
        if self.redis_secret is not None and len(self.redis_secret) < _SECRET_LETTERS:
            raise SettingError(
                f"{PREFIX}REDIS_SECRET is shorter than {_SECRET_LETTERS} characters; make one with "
                "`openssl rand -hex 32`"
            )
        return self


def import_places(text: str) -> Places:
    """Folders and addresses separated by commas, or `off`. Raises ValueError for anything else."""
    return Places() if text == "off" else Places.of(text)


def networks(text: str) -> list[Network]:
    """Addresses and networks separated by commas. Raises ValueError for anything else."""
    return [ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip()]


def is_loopback(host: str) -> bool:
    """Whether `host` can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def settings_from(environ: Mapping[str, str], **given: Any) -> Settings:
    """Settings from ADALOG_* variables; what is `given` and not None wins. Raises SettingError."""
    chosen = {**_read(Settings, environ), **{name: value for name, value in given.items() if value is not None}}
    settings = Settings(limits=Limits(**_read(Limits, environ)), **chosen)
    try:
        check_is_folder(settings.data)
    except AdalogError as error:
        raise SettingError(f"--data or {PREFIX}DATA: {error.message}") from None
    settings.check_spark()
    return settings


def _read(settings: type[Any], environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in dataclasses.fields(settings):
        text = environ.get(PREFIX + item.name.upper(), "").strip()
        if text and item.name != "limits":
            found[item.name] = _convert(item.name, str(item.type), text)
    return found


def _convert(name: str, kind: str, text: str) -> Any:
    if kind == "int":
        try:
            number = int(text.replace("_", ""))
        except ValueError:
            raise SettingError(f"{PREFIX}{name.upper()} is {text!r}; it must be a whole number") from None
        if number < 0:
            raise SettingError(f"{PREFIX}{name.upper()} is {text!r}; it must not be negative")
        return number
    if kind == "float":
        try:
            seconds = float(text)
        except ValueError:
            raise SettingError(f"{PREFIX}{name.upper()} is {text!r}; it must be a number") from None
        if not math.isfinite(seconds) or seconds < 0:
            raise SettingError(f"{PREFIX}{name.upper()} is {text!r}; it must be a number, and not negative")
        return seconds
    if kind == "bool":
        if text.lower() in ("1", "true", "yes", "on"):
            return True
        if text.lower() in ("0", "false", "no", "off"):
            return False
        raise SettingError(f"{PREFIX}{name.upper()} is {text!r}; it is on or off")
    return text
