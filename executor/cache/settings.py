"""How answers are kept."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RedisSettings:
    """`url`: as redis-py takes it (rediss:// for TLS, credentials within). `ttl`: seconds that an entry is kept,
    give or take a tenth. `entry_bytes`: what one entry may come to. `secret`: signs entries; an entry
    without its signature is none."""

    url: str = field(repr=False)
    prefix: str = "adalog:"
    ttl: int = 86_400
    entry_bytes: int = 8 << 20
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """Limits in bytes. `memory_bytes`: of all entries in this process; with 0 none is kept. `entry_bytes`: of one
    entry. `shape_bytes`: of what is remembered about query texts."""

    memory_bytes: int = 64 << 20
    entry_bytes: int = 16 << 20
    redis: RedisSettings | None = None
    shape_bytes: int = 8 << 20
