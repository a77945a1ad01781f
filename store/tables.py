"""The tables of the log, in SQLite and in PostgreSQL, and how those of older versions are brought up to date."""

from __future__ import annotations

import secrets
from typing import Final
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from datalog.errors import AdalogError, Code

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
    # A number for each append, by which whoever is in doubt tells its own rows; NULL where an older version wrote.
    sa.Column("append", sa.BigInteger, nullable=True),
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
    "files",
    METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("t", sa.BigInteger, nullable=False),
)
IDENTITY: Final = sa.Table("identity", METADATA, sa.Column("id", sa.Text, primary_key=True))
# What all processes that share a log know, and clients do not.
SECRETS: Final = sa.Table(
    "secrets",
    sa.MetaData(),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
)
# Which checkpoints gateways on a server share (`store.publication`).
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
_VERSIONS: Final = sa.Table(
    "schema_version", sa.MetaData(), sa.Column("version", sa.Integer, primary_key=True, autoincrement=False)
)
# Each version says how the one before it becomes it: number 1 was made at once.
_VERSION: Final = 1
_SECRET_BYTES: Final = 32
# The name of the secret of dictionaries' hashes.
DICTIONARIES: Final = "dictionaries"


def prepare_file(connection: sa.Connection) -> None:
    """Makes the tables in SQLite that are not there yet, while nobody else does."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    inspector = sa.inspect(connection)
    has_keys = inspector.has_table(KEYS.name)
    if inspector.has_table(TRANSACTIONS.name):
        names = {column["name"] for column in inspector.get_columns(TRANSACTIONS.name)}
        if TRANSACTIONS.c.append.name not in names:
            connection.exec_driver_sql("ALTER TABLE transactions ADD COLUMN append BIGINT")
    METADATA.create_all(connection)
    if not has_keys:
        own = TRANSACTIONS.c
        old = sa.select(own.t, own.idempotency_key, sa.null(), own.instant).where(own.idempotency_key.is_not(None))
        connection.execute(KEYS.insert().from_select(list(KEYS.c), old))


def prepare_server(connection: sa.Connection) -> None:
    """Makes the tables in PostgreSQL that are not there yet, while nobody else does.

    Raises INTERNAL where a later version of adalog has made them.
    """
    # Gateways that start together do this one after the other.
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtextextended('adalog ' || current_schema(), 0))")
    METADATA.create_all(connection)
    SECRETS.metadata.create_all(connection)
    _SHARED.create_all(connection)
    _VERSIONS.metadata.create_all(connection)
    identity_in(connection)
    found: int | None = connection.execute(sa.select(sa.func.max(_VERSIONS.c.version))).scalar()
    if found is None:
        connection.execute(_VERSIONS.insert(), {"version": _VERSION})
    elif found > _VERSION:
        raise AdalogError(
            Code.INTERNAL,
            f"the log's tables are of format {found}, made by a later version of adalog; this one knows {_VERSION}",
        )


def identity_in(connection: sa.Connection) -> str:
    """What the database is told from others by, where they share a cache: given to it once."""
    found: str | None = connection.execute(sa.select(IDENTITY.c.id).order_by(IDENTITY.c.id).limit(1)).scalar()
    if found is None:
        found = uuid4().hex
        connection.execute(IDENTITY.insert(), {"id": found})
    return found


def secret_in(connection: sa.Connection, name: str) -> bytes:
    """The secret of that name that all who share the log have: made once."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    fresh = insert(SECRETS).values(name=name, value=secrets.token_bytes(_SECRET_BYTES))
    connection.execute(fresh.on_conflict_do_nothing())
    found: bytes = connection.execute(sa.select(SECRETS.c.value).where(SECRETS.c.name == name)).scalar_one()
    return bytes(found)


def _insert_keys() -> sqlite.Insert:
    insert = sqlite.insert(KEYS)
    excluded = insert.excluded
    # A key that was forgotten may be used anew.
    return insert.on_conflict_do_update(
        index_elements=[KEYS.c.key], set_={"t": excluded.t, "digest": excluded.digest, "at": excluded.at}
    )


INSERT: Final = TRANSACTIONS.insert()
# The same for SQLite's driver itself, as small transactions are: values that SQLAlchemy need not look at.
INSERT_ROW: Final = "INSERT INTO transactions (t, instant, payload, checksum, append) VALUES (?, ?, ?, ?, ?)"
INSERT_KEYS: Final = _insert_keys()
# Of a key, whether it was used too long ago.
FORGOTTEN: Final = sa.or_(KEYS.c.t <= sa.bindparam("last_t"), KEYS.c.at <= sa.bindparam("last_at"))
# At most so many at once, which is more than an append adds: nobody waits long for it.
FORGET: Final = sa.delete(KEYS).where(KEYS.c.t.in_(sa.select(KEYS.c.t).where(FORGOTTEN).limit(1000)))
