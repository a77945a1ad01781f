"""Opens what the settings describe: the database, and the engines over it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from adalog.datalog import edn
from adalog.executor.cache.settings import CacheSettings, RedisSettings
from adalog.gateway.settings.config import Settings
from adalog.store.database import Database
from adalog.store.files.progress import Progress
from adalog.store.log.entry import KeyMemory
from adalog.store.state.settings import WAITING
from adalog.store.storage import ProcessGroup

if TYPE_CHECKING:
    from adalog.cluster.session import Session
    from adalog.executor.pool import Pool
    from adalog.gateway.workers.workers import Workers


# Queries that wait for a slot: a client that is told to retry is better off than one whose turn comes too late.
_QUERIES_WAITING: Final = 256
# Of queries remembered with their plans, which take some 10 KiB each.
_PLAN_BYTES: Final = 32 << 20


def open_database(
    settings: Settings,
    siblings: ProcessGroup | None = None,
    progress: Progress | None = None,
    address: str | None = None,
) -> Database:
    """The settings' database. siblings: the other processes of this server. progress, address: as in
    `Database.open`. Raises BACKEND_UNAVAILABLE when another process has its folder, or its server cannot be
    reached."""
    limits = edn.Limits(size=settings.transaction_bytes)
    return Database.open(
        settings.data,
        schema=settings.schema,
        limits=limits,
        waiting=WAITING if siblings is None else settings.share_of(WAITING),
        attributes=settings.attributes,
        keys=KeyMemory(seconds=settings.idempotency_seconds),
        siblings=siblings,
        segments=settings.segments_place,
        copy=settings.segments_copy,
        progress=progress,
        address=address,
    )


def start_pool(database: Database, settings: Settings, *, spark: bool, workers: Workers | None = None) -> Pool:
    """The engines; with `spark` the second one too, which starts in the background while nothing waits for it.
    workers: those of which this is one, and one of which has the second engine for all."""
    # Commands that only write need no engine.
    from adalog.executor.pool import Pool, PoolSettings

    sizes = PoolSettings(
        threads=settings.threads,
        running=settings.queries_at_once,
        heavy=settings.heavy_queries_at_once,
        waiting=_QUERIES_WAITING if workers is None else settings.share_of(_QUERIES_WAITING),
        memory_bytes=settings.memory_bytes,
        plan_bytes=_PLAN_BYTES if workers is None else settings.share_of(_PLAN_BYTES),
        slow_seconds=settings.slow_query_seconds,
    )
    cache = cache_settings(settings)
    if not spark:
        return Pool(database, sizes, cache=cache)
    if workers is not None and not workers.has_spark:
        return Pool(database, sizes, workers.spark(), cache)
    from adalog.executor.spark.engine import SparkEngine
    from adalog.pipeline.folding import folding_on

    place = settings.spark_segments
    engine = SparkEngine(
        settings.spark_master,
        properties=settings.spark_properties,
        segments=None if place is None else place.get_secret_value(),
    )
    database.compactor.have_folded(folding_on(engine.session))
    pool = Pool(database, sizes, engine, cache)
    if workers is not None:
        workers.share_spark(engine, pool.memory)
    return pool


@contextmanager
def started_session(settings: Settings) -> Iterator[Session]:
    """A Spark session for the time of the block, which begins to start."""
    from adalog.cluster.session import Session
    from adalog.executor.kernels.loading import compiled_kernels

    session = Session(settings.spark_master, settings.spark_properties, compiled_kernels)
    session.start()
    try:
        yield session
    finally:
        session.close()


def cache_settings(settings: Settings) -> CacheSettings | None:
    """What is kept of answers, and where; None: nothing, nowhere."""
    redis = None
    if settings.redis_url:
        redis = RedisSettings(
            settings.redis_url.get_secret_value(),
            settings.redis_prefix,
            secret=settings.redis_secret.get_secret_value() if settings.redis_secret else None,
        )
    if redis is None and not settings.cache_bytes:
        return None
    return CacheSettings(settings.cache_bytes, redis=redis)
