"""The tables of the log, in SQLite and in PostgreSQL, and how those of older versions are brought up to date."""

from __future__ import annotations

import secrets
from functools import cache
from typing import Final
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from adalog.store.files.formats import LOG, RELEASE, check_format

METADATA: Final = sa.MetaData()
TRANSACTIONS: Final = sa.Table(
    "transactions",
    METADATA,
    sa.Column("t", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("instant", sa.BigInteger, nullable=False),
    # Of versions that remembered keys for ever; later ones leave it empty.
    sa.Column("idempotency_key", sa.Text, unique=True, nullable=True),
    sa.Column("payload", sa.LargeBinary, nullable=False),
    sa.Column("checksum", sa.BigInteger, nullable=False),
    # A number for each append, by which a writer in doubt finds its own rows; NULL where an older version wrote.
    sa.Column("append", sa.BigInteger, nullable=True),
    # What the chain of checksums runs over (`store.log.entry`); NULL where an older version wrote.
    sa.Column("seal", sa.LargeBinary, nullable=True),
)
# at: when it was used, in milliseconds since 1970. digest: NULL where an older version used it.
KEYS: Final = sa.Table(
    "idempotency_keys",
    METADATA,
    sa.Column("t", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("key", sa.Text, unique=True, nullable=False),
    sa.Column("digest", sa.Text, nullable=True),
    sa.Column("at", sa.BigInteger, nullable=False, index=True),
)
# Files that entries name: part of the log, though they lie beside it.
FILES: Final = sa.Table(
    "files", METADATA, sa.Column("name", sa.Text, primary_key=True), sa.Column("t", sa.BigInteger, nullable=False)
)
# Which formats the log has been of, and the release of adalog that made it so; NULL where an older version did.
VERSIONS: Final = sa.Table(
    "schema_version",
    METADATA,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("adalog", sa.Text, nullable=True),
)
# In SQLite the name `identity` keeps older versions out.
_SERVER_IDENTITY: Final = sa.Table("identity", sa.MetaData(), sa.Column("id", sa.Text, primary_key=True))
_FILE_IDENTITY: Final = sa.Table("log_identity", sa.MetaData(), sa.Column("id", sa.Text, primary_key=True))
# What all processes that share a log know, and clients do not.
SECRETS: Final = sa.Table(
    "secrets",
    sa.MetaData(),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
)
# Which checkpoints gateways on a server share (`store.log.publication`).
_SHARED: Final = sa.MetaData()
LEASES: Final = sa.Table(
    "leases",
    _SHARED,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("token", sa.BigInteger, nullable=False),
    sa.Column("until", sa.DateTime(timezone=True), nullable=False),
)
CHECKPOINTS: Final = sa.Table(
    "checkpoints",
    _SHARED,
    sa.Column("t", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("token", sa.BigInteger, primary_key=True, autoincrement=False),
)
# Versions that know no formats read the identity of every log that they open, and say what SQLite says: that there
# is no table of this name. Without it those from before the table of idempotency keys would apply a key again.
_GUARD: Final = (
    f"this log is of format {LOG.newest}, which this version of adalog does not read: use adalog {RELEASE} or a "
    "later one, as docs/how-to/upgrading.md says"
)
# What reads of a log of format 1 find in the place of tables that it does not have.
_VIEWS: Final = {
    KEYS.name: "SELECT t, idempotency_key AS key, NULL AS digest, instant AS at FROM main.transactions "
    "WHERE idempotency_key IS NOT NULL",
    FILES.name: "SELECT NULL AS name, NULL AS t WHERE 0",
    _FILE_IDENTITY.name: "SELECT id FROM main.identity",
}
_UNSEALED: Final = (
    "CREATE TEMP VIEW transactions AS SELECT t, instant, idempotency_key, payload, checksum, NULL AS seal "
    "FROM main.transactions"
)
NEWEST_VERSION: Final = (
    "SELECT version, to_jsonb(v) ->> 'adalog' FROM schema_version v ORDER BY version DESC LIMIT 1"
)
"""The format of a log in PostgreSQL and the release that made it so, whether or not the table says the latter."""
_CLASS: Final = 0x0ADA106
TURN: Final = f"SELECT pg_advisory_xact_lock({_CLASS}, ('transactions'::regclass)::oid::bigint::bit(32)::int)"
"""Takes the turn of the table that the connection finds, whatever its database and schema."""
SCRUBBED: Final = 0x61646C67
"""`PRAGMA application_id` of a log in SQLite of which no free space has anything that was deleted or replaced."""
_SECRET_BYTES: Final = 32
# The name of the secret of dictionaries' hashes.
DICTIONARIES: Final = "dictionaries"


def prepare_file(connection: sa.Connection) -> None:
    """Makes the tables in SQLite, or brings those of an older format up to date, under a lock: all or
    nothing. Raises NewerFormat."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    found = check_file(connection)
    if found == LOG.newest:
        return
    tables = _tables_of(connection)
    if TRANSACTIONS.name in tables:
        columns = connection.exec_driver_sql("PRAGMA main.table_info(transactions)")
        known = {name for _, name, *_ in columns}
        for column, kind in ((TRANSACTIONS.c.append, "BIGINT"), (TRANSACTIONS.c.seal, "BLOB")):
            if column.name not in known:
                connection.exec_driver_sql(f"ALTER TABLE transactions ADD COLUMN {column.name} {kind}")
    if _SERVER_IDENTITY.name in tables:
        connection.exec_driver_sql(f"ALTER TABLE identity RENAME TO {_FILE_IDENTITY.name}")
    for statement in _statements():
        connection.exec_driver_sql(statement)
    if tables and KEYS.name not in tables:
        own = TRANSACTIONS.c
        old = sa.select(own.t, own.idempotency_key, sa.null(), own.instant).where(own.idempotency_key.is_not(None))
        connection.execute(KEYS.insert().from_select(list(KEYS.c), old))
    connection.exec_driver_sql("DROP VIEW IF EXISTS identity")
    connection.exec_driver_sql(f'CREATE VIEW identity AS SELECT id FROM "{_GUARD}"')  # noqa: S608 - ours
    connection.execute(VERSIONS.insert(), {"version": LOG.newest, "adalog": RELEASE})
    connection.exec_driver_sql(f"PRAGMA user_version = {LOG.newest}")
    if not tables:
        # Earlier versions left what they moved from one page to another in both.
        connection.exec_driver_sql(f"PRAGMA application_id = {SCRUBBED}")


@cache
def _statements() -> tuple[str, ...]:
    """What makes the tables in SQLite that are not there. SQLAlchemy would look for each and compile all anew."""
    tables = [table for of in (METADATA, _FILE_IDENTITY.metadata) for table in of.sorted_tables]
    indexes = [index for table in tables for index in sorted(table.indexes, key=lambda index: str(index.name))]
    made: list[CreateTable | CreateIndex] = [
        *(CreateTable(table, if_not_exists=True) for table in tables),
        *(CreateIndex(index, if_not_exists=True) for index in indexes),
    ]
    return tuple(str(each.compile(dialect=sqlite.dialect())) for each in made)


def begin_reading(connection: sa.Connection) -> None:
    """Begins to read a log in SQLite, which is not changed: until the end it looks as one of the newest format,
    even if another process upgrades it meanwhile. Raises NewerFormat."""
    connection.exec_driver_sql("BEGIN")
    if check_file(connection) < LOG.newest:
        tables = _tables_of(connection)
        for name, query in _VIEWS.items():
            if name not in tables:
                connection.exec_driver_sql(f"CREATE TEMP VIEW {name} AS {query}")
        connection.exec_driver_sql(_UNSEALED)


def check_file(connection: sa.Connection) -> int:
    """The format of a log in SQLite. Raises NewerFormat."""
    found, release = file_version(connection)
    check_format(LOG, found, "the log", release)
    return found


def file_version(connection: sa.Connection) -> tuple[int, str | None]:
    """The format of a log in SQLite, and if it is a later one the release that made it so."""
    # Those that do not say it are of the first.
    found = max(connection.exec_driver_sql("PRAGMA main.user_version").scalar_one(), LOG.oldest)
    if found <= LOG.newest:
        return found, None
    try:
        newest = sa.select(VERSIONS.c.adalog).where(VERSIONS.c.version == found)
        return found, connection.execute(newest).scalar()
    except sa.exc.DatabaseError:
        # It may be said elsewhere by then.
        return found, None


def _tables_of(connection: sa.Connection) -> set[str]:
    return set(connection.exec_driver_sql("SELECT name FROM main.sqlite_master WHERE type = 'table'").scalars())


def prepare_server(connection: sa.Connection) -> None:
    """Makes the tables and the identity in PostgreSQL, or brings those of an older format up to date, under a lock,
    while no process has the turn: all or nothing. Raises NewerFormat."""
    # Gateways that start together do this one after the other.
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtextextended('adalog ' || current_schema(), 0))")
    found = check_server(connection)
    if found != LOG.newest:
        _upgrade_server(connection, found)
    identity_in(connection)


def _upgrade_server(connection: sa.Connection, found: int | None) -> None:
    if found is not None:
        connection.exec_driver_sql(TURN)
    METADATA.create_all(connection)
    _SERVER_IDENTITY.metadata.create_all(connection)
    SECRETS.metadata.create_all(connection)
    _SHARED.create_all(connection)
    connection.exec_driver_sql("ALTER TABLE schema_version ADD COLUMN IF NOT EXISTS adalog TEXT")
    connection.exec_driver_sql("ALTER TABLE transactions ADD COLUMN IF NOT EXISTS seal BYTEA")
    connection.execute(VERSIONS.insert(), {"version": LOG.newest, "adalog": RELEASE})


def check_server(connection: sa.Connection) -> int | None:
    """The format of a log in PostgreSQL, None where there is none. Raises NewerFormat."""
    ask = "SELECT to_regclass('transactions') IS NOT NULL, to_regclass('schema_version') IS NOT NULL"
    is_there, has_version = connection.exec_driver_sql(ask).one()
    said = connection.exec_driver_sql(NEWEST_VERSION).first() if has_version else None
    if said is None:
        return LOG.oldest if is_there else None
    found, release = said
    check_format(LOG, found, "the log", release)
    return int(found)


def server_has_seals(connection: sa.Connection) -> bool:
    """Whether a log in PostgreSQL is of a format with seals."""
    ask = (
        "SELECT EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('transactions') "
        "AND attname = 'seal' AND NOT attisdropped)"
    )
    return bool(connection.exec_driver_sql(ask).scalar_one())


def identity_table(connection: sa.Connection) -> sa.Table:
    return _FILE_IDENTITY if connection.dialect.name == "sqlite" else _SERVER_IDENTITY


def identity_in(connection: sa.Connection) -> str:
    """The identity of the log, which tells databases apart that share a cache. It is made at the first look, under
    a lock, as two looks at once would make two."""
    own = identity_table(connection)
    found: str | None = connection.execute(sa.select(own.c.id).order_by(own.c.id).limit(1)).scalar()
    if found is None:
        found = uuid4().hex
        connection.execute(own.insert(), {"id": found})
    return found


def secret_in(connection: sa.Connection, name: str) -> bytes:
    """The secret of that name that the processes on one log share: made once."""
    values = {"name": name, "value": secrets.token_bytes(_SECRET_BYTES)}
    if connection.dialect.name == "sqlite":
        connection.execute(sqlite.insert(SECRETS).values(values).on_conflict_do_nothing())
    else:
        from sqlalchemy.dialects import postgresql

        connection.execute(postgresql.insert(SECRETS).values(values).on_conflict_do_nothing())
    return bytes(connection.execute(sa.select(SECRETS.c.value).where(SECRETS.c.name == name)).scalar_one())


def found_secret(connection: sa.Connection, name: str) -> bytes | None:
    """The same where nothing may be written; None where there is none yet."""
    found: bytes | None = connection.execute(sa.select(SECRETS.c.value).where(SECRETS.c.name == name)).scalar()
    return None if found is None else bytes(found)


# For SQLite's driver itself: values of small transactions that SQLAlchemy need not look at.
# Of a key, whether it was used too long ago.
FORGOTTEN: Final = sa.or_(KEYS.c.t <= sa.bindparam("last_t"), KEYS.c.at <= sa.bindparam("last_at"))
