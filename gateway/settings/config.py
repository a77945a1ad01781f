"""The settings: each is one field of `Settings`, and the field is its whole definition.

The name gives the environment variable (`ADALOG_IDLE_SECONDS`), the option (`--idle-seconds`) and the key of a file
(`idle_seconds`). The annotation is a type of `gateway.settings.value_types` that says which values are right; a
plain number is not negative. `setting` has the default and the meaning. From these are made the option and its
help, the checks of values, `adalog settings`, `docs/reference/settings.md`, and the names that the chart takes.

To add a setting:

1. add a field here, and read it where it counts: `settings.my_bytes`;
2. run `python -m adalog.gateway.settings.documents`, which writes the docs' table and the chart's list anew. Tests
   compare them with the fields;
3. name a number that bounds a cost in the table of limits of `SECURITY.md`. A test asks for all but the port.

A bound that no operator turns is a constant in the room that uses it, not a setting. The name of a setting that
goes moves to `gateway.settings.retired`.

The command line reads this module for its help, so it imports no pydantic, and types only for the type checker.
"""

from __future__ import annotations

import math
from dataclasses import Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Literal

from adalog.executor.bounds.budget import MEMORY_BYTES
from adalog.executor.cache.settings import CacheSettings, RedisSettings
from adalog.executor.live.settings import LiveSettings
from adalog.gateway.settings.setting import PREFIX, SettingError
from adalog.schema.request.limits import RequestLimits
from adalog.store.log.entry import KeyMemory
from adalog.store.values.schema_policy import ATTRIBUTES
from adalog.store.writer.exclusive import HOLD_SECONDS

if TYPE_CHECKING:
    from adalog.gateway.settings import value_types as types

__all__ = ["PREFIX", "SettingError", "Settings", "help_text", "names", "shown_default"]

_MIB: Final = 1024 * 1024
# Where a lower room has a default of its own, that is the setting's.
_LIMITS: Final = RequestLimits()
_LIVE: Final = LiveSettings()
# The part of all subscriptions that one principal may have: no client can take them all.
_ONE_PRINCIPAL: Final = 0.4
# How many of the largest requests, and of the largest responses, there is memory for.
_BODIES_AT_ONCE: Final = 8
_RESPONSES_AT_ONCE: Final = 4


def setting(
    default: Any,
    meaning: str,
    more: str = "",
    *,
    unset: str = "none",
    can_hold_keys: bool = False,
    is_divided: bool = False,
    area: str = "",
) -> Any:
    """The definition of a field. meaning: for the help and the docs. more: the page of the docs that says more.
    unset: what no value means. can_hold_keys: an address with a key in it may be given, so that `repr` leaves it
    out. is_divided: several workers have a share each. area: the heading of the docs' table that begins here."""
    metadata = {"meaning": meaning, "more": more, "unset": unset, "area": area, "is_divided": is_divided}
    return field(default=default, repr=not can_hold_keys, metadata=metadata)


# What `setting` returns is a field, of which the linter cannot know.
# ruff: noqa: RUF009
@dataclass(frozen=True, slots=True)
class Settings:
    """How one adalog process runs."""

    config: str | None = setting(
        None,
        "A settings file in TOML; options and variables have precedence.",
        "#a-settings-file",
        area="Where settings come from",
    )
    secrets_dir: str | None = setting(
        None, "A folder of files named after settings, as orchestrators mount secrets.", "#secrets"
    )

    data: types.DataPlace = setting(
        "data",
        "The database's folder, or :memory:, or postgresql://USER:PASSWORD@HOST/DATABASE, a log that several "
        "gateways share.",
        "../how-to/several-gateways.md",
        can_hold_keys=True,
        area="The database",
    )
    schema: Literal["open", "strict"] = setting("open", "`strict` refuses attributes that were not declared.")
    attributes: types.Positive = setting(
        ATTRIBUTES,
        "Attributes besides the built-in ones; a transaction that declares more is LIMIT_EXCEEDED.",
        "transactions.md",
    )
    idempotency_seconds: types.Positive = setting(
        KeyMemory().seconds, "Seconds that an `idempotencyKey` is remembered.", "transactions.md"
    )
    segments: types.SegmentsPlace | None = setting(
        None,
        "Where gateways on a server share segments and the files of imports: a folder, or an address as "
        "s3://bucket/adalog.",
        "../how-to/several-gateways.md",
    )
    segments_copy: str | None = setting(
        None, "The folder for this gateway's copy of shared segments.", unset="a folder that goes with the process"
    )

    host: str = setting("127.0.0.1", "The address to listen on.", area="The network")
    port: types.Port = setting(8080, "The port to listen on; 0 chooses a free one.")
    workers: types.Workers = setting(
        1,
        "The number of processes behind the port, which share the limits of memory, connections and work.",
        "../how-to/workers.md",
    )
    allowed_hosts: types.HostList = setting(
        "", "Further names that the Host header may have. On other interfaces than loopback it may be any address."
    )
    allowed_origins: types.OriginList = setting(
        "",
        "Origins whose pages may query and transact, as https://app.example.org,http://localhost:3000, or `*`.",
        "http.md",
    )
    trusted_proxies: types.NetworkList = setting(
        "", "Addresses and networks whose X-Forwarded-For is believed, as 10.0.0.0/8.", "../../SECURITY.md"
    )
    connections: types.Positive = setting(5_000, "Connections open at once.", is_divided=True)
    connections_per_address: types.Positive = setting(
        1_250, "Connections open at once from one address.", is_divided=True
    )
    idle_seconds: types.Seconds = setting(75.0, "Seconds until a connection without a request is closed.")
    drain_seconds: types.Span = setting(
        3.0,
        "Seconds after SIGTERM in which `/readyz` is 503, so that a balancer sends nothing more, and everything is "
        "still answered; 0: none.",
        "lifecycle.md",
    )
    request_bytes: int = setting(
        8 * _MIB, "Bytes of the largest request; all requests without an answer may have eight times as many."
    )

    auth: str | None = setting(
        None,
        "A file of bearer tokens, `name:role:sha256hex` a line. To listen beyond loopback, this or "
        "ADALOG_JWT_ALGORITHMS is needed.",
        "../how-to/authentication.md",
        unset="off",
        area="Authentication",
    )
    jwt_algorithms: types.AlgorithmList = setting(
        "",
        "Algorithms that may sign JSON Web Tokens, such as RS256,ES256; without it, such tokens are refused.",
        "../how-to/authentication.md",
    )
    jwt_secret: types.SigningSecret | None = setting(None, "The secret of HS256, HS384 and HS512.")
    jwt_key: str | None = setting(None, "A file of public keys, PEM or JWKS.")
    jwt_keys_url: types.KeysAddress | None = setting(None, "The address of a JWKS.", can_hold_keys=True)
    jwt_audience: types.NameList = setting("", "The required `aud`; needed with public keys.")
    jwt_issuer: str | None = setting(None, "The required `iss`; needed with public keys.")
    jwt_roles_claim: str = setting("roles", "The claim with the roles, such as `scope` or `realm_access.roles`.")
    jwt_roles: types.RoleList = setting(
        "read=read,write=write,admin=admin,adalog:read=read,adalog:write=write,adalog:admin=admin",
        "The role of adalog that each value of the claim stands for.",
    )

    timeout_ms: int = setting(_LIMITS.timeout_ms, "Milliseconds that a query may run.", area="Queries")
    rows: int = setting(_LIMITS.rows, "Rows of one field's answer.")
    result_bytes: int = setting(
        _LIMITS.result_bytes, "Bytes of a whole response; all that are not sent yet may hold four times as many."
    )
    transaction_bytes: int = setting(_MIB, "Characters of one transaction's text.")
    memory_bytes: types.QueryMemory = setting(
        MEMORY_BYTES,
        "Bytes that all queries may hold at once; one of them half of it, then LIMIT_EXCEEDED; where others hold "
        "it, RATE_LIMITED. An eighth is kept for the first MiB of each query.",
    )
    threads: types.Threads = setting(2, "Threads for one query.")
    queries_at_once: types.Positive = setting(
        4, "Light queries that run at once.", "../explanation/turns.md", is_divided=True
    )
    heavy_queries_at_once: types.Positive = setting(
        2, "Heavy queries that run at once, at most the cores.", "../explanation/turns.md", is_divided=True
    )
    rate_units: types.Units = setting(
        0.0,
        "What a principal's work may cost a second, in units of 0.1 µs of a thread; ten seconds' worth at once; "
        "beyond, RATE_LIMITED; 0: no limit.",
        "../explanation/turns.md",
    )

    live_subscriptions: int = setting(
        _LIVE.subscriptions,
        "Subscriptions of the process, and for one principal two fifths of them; beyond, RATE_LIMITED.",
        "live.md",
        is_divided=True,
        area="Live queries",
    )
    live_bytes: types.Positive = setting(
        _LIVE.memory_bytes,
        "Bytes that live queries and unread snapshots keep; one of them half of it, then LIMIT_EXCEEDED.",
        "live.md",
    )
    live_progress_seconds: types.Seconds = setting(
        _LIVE.progress_seconds, "Seconds without an event after which there is a PROGRESS."
    )

    cache_bytes: int = setting(
        CacheSettings().memory_bytes,
        "Bytes of answers kept in this process; 0 keeps none.",
        "../explanation/caching.md",
        is_divided=True,
        area="Caches",
    )
    redis_url: types.RedisAddress | None = setting(
        None, "A Redis through which gateways share answers; optional.", "../explanation/caching.md", unset="off"
    )
    redis_prefix: str = setting(RedisSettings("").prefix, "The prefix of its keys.")
    redis_secret: types.SigningSecret | None = setting(
        None, "Signs the answers in Redis, at least 32 characters; unsigned entries are ignored.", unset="off"
    )

    spark: bool = setting(
        True,
        "The second engine, started in the background.",
        "../how-to/spark.md",
        area="Spark, imports and backups",
    )
    spark_master: types.SparkMaster = setting(
        "local[*]", "The cluster's address.", "../how-to/spark.md", can_hold_keys=True
    )
    spark_conf: types.SparkConf | None = setting(
        None,
        "Spark's properties: spark.executor.memory=8g,spark.executor.cores=4, or a JSON object.",
        "../how-to/spark.md",
    )
    spark_segments: types.SparkSegmentsPlace | None = setting(
        None,
        "An address as s3://bucket/adalog: segments are put there for workers that do not see the data folder.",
        "../how-to/spark.md",
        unset="off",
    )
    import_folders: types.PlaceList | None = setting(
        None,
        "Where clients may have the server import from: folders and addresses, as /srv/in,s3a://bucket/in, "
        "or `off`.",
        "../how-to/importing-served.md",
        unset="the server's own user: anywhere; others: nowhere",
        can_hold_keys=True,
    )
    import_hold_seconds: types.Seconds = setting(
        HOLD_SECONDS, "Seconds for which an import may delay transactions; then it is refused."
    )
    backup_folders: types.BackupList | None = setting(
        None,
        "Where clients may have the server write backups: folders and addresses, as /srv/backups, "
        "s3://bucket/backups; or `off`.",
        "../how-to/backups.md",
        unset="the server's own user: anywhere; others: nowhere",
        can_hold_keys=True,
    )

    log_level: types.LogLevel = setting(
        "info",
        "The lowest level that is logged: debug, info, warning, error or critical.",
        "../how-to/logging.md",
        area="Logs",
    )
    log_format: Literal["text", "json"] = setting("text", "`json`: an object a line.")
    log_requests: bool = setting(False, "Log a line for each request, without its arguments.")
    slow_query_seconds: types.Span = setting(
        0.0, "Log queries that take this many seconds, with their plan; 0: none.", "../how-to/logging.md"
    )

    @property
    def limits(self) -> RequestLimits:
        return RequestLimits(rows=self.rows, result_bytes=self.result_bytes, timeout_ms=self.timeout_ms)

    @property
    def live(self) -> LiveSettings:
        return LiveSettings(
            subscriptions=self.live_subscriptions,
            subscriptions_per_principal=math.ceil(_ONE_PRINCIPAL * self.live_subscriptions),
            progress_seconds=self.live_progress_seconds,
            memory_bytes=self.live_bytes,
            timeout_ms=self.timeout_ms,
        )

    @property
    def bodies_bytes(self) -> int:
        """What all requests that are on their way or without an answer may have."""
        return _BODIES_AT_ONCE * self.request_bytes

    @property
    def responses_bytes(self) -> int:
        """What all large responses may have that are not sent yet."""
        return _RESPONSES_AT_ONCE * self.result_bytes

    @property
    def segments_place(self) -> str | None:
        """Where gateways on a server share files, with the keys of the address."""
        return None if self.segments is None else self.segments.get_secret_value()

    @property
    def spark_properties(self) -> dict[str, str]:
        from adalog.cluster.properties import parsed

        return {} if self.spark_conf is None else parsed(self.spark_conf.get_secret_value())

    @property
    def in_memory(self) -> bool:
        return self.data == ":memory:"

    @property
    def local_address(self) -> str:
        """Where clients of this machine reach the server."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def share_of(self, amount: int) -> int:
        """What one worker has of an amount that is counted in each process."""
        return -(-amount // self.workers)


def names() -> frozenset[str]:
    return frozenset(each.name for each in fields(Settings))


def shown_default(setting: Field[Any]) -> str:
    """A setting's default as an operator writes it, or what there is without one."""
    if setting.default in (None, ""):
        return str(setting.metadata["unset"])
    if isinstance(setting.default, bool):
        return "on" if setting.default else "off"
    return str(setting.default)


def help_text(name: str) -> str:
    (setting,) = (each for each in fields(Settings) if each.name == name)
    default = "" if setting.default is None else f"  [default: {shown_default(setting)}]"
    return f"{setting.metadata['meaning']}{default}"
