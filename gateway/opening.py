"""Opens what the settings describe: the database, and the engines over it."""

from __future__ import annotations

from datalog import edn
from executor.cache_settings import CacheSettings, RedisSettings
from executor.pool import Pool, PoolSettings
from gateway.config import Settings
from store.database import Database


def open_database(settings: Settings) -> Database:
    """The settings' database. Raises BACKEND_UNAVAILABLE when another process has its folder."""
    limits = edn.Limits(size=settings.transaction_bytes)
    return Database.open(settings.data, schema=settings.schema, limits=limits)


def start_pool(database: Database, settings: Settings, *, spark: bool) -> Pool:
    """The engines; with `spark` the second one too, which starts in the background while nothing waits for it."""
    sizes = PoolSettings(
        threads=settings.threads, running=settings.queries_at_once, waiting=settings.queries_waiting
    )
    cache = cache_settings(settings)
    if not spark:
        return Pool(database, sizes, cache=cache)
    from executor.spark.engine import SparkEngine

    return Pool(database, sizes, SparkEngine(settings.spark_master), cache)


def cache_settings(settings: Settings) -> CacheSettings | None:
    """What is kept of answers, and where; None: nothing, nowhere."""
    redis = None
    if settings.redis_url:
        redis = RedisSettings(
            settings.redis_url, settings.redis_prefix, settings.redis_ttl, settings.redis_entry_bytes
        )
    if redis is None and not settings.cache_bytes:
        return None
    return CacheSettings(settings.cache_bytes, settings.cache_entry_bytes, redis)
