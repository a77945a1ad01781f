"""The statements of a turn on PostgreSQL, and what the server answers to them.

A connection of turns prepares them once, and the server plans them once. They are run by EXECUTE in one message of
the simple protocol. The extended protocol would send several messages, and a gateway that stopped between these
would keep the turn: the server ends only sessions that wait for a command to begin.

Results are read as libpq gives them, in text: a cursor of the driver costs more than the server's work.
"""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import errors, generators, pq

from adalog.store.files.formats import check_not_outgrown
from adalog.store.log import tables
from adalog.store.log.entry import LogEntry, UsedKey
from adalog.store.log.reader import PAGE

# Plans that hold for all parameters, and go by the indexes: the server may have figures of tables that were empty,
# and would plan to read all of them.
_PLANS: Final = (
    b"SET plan_cache_mode = force_generic_plan",
    b"SET enable_seqscan = off",
    b"SET enable_sort = off",
    b"SET jit = off",
)
_READS: Final = (
    b"PREPARE adalog_version AS " + tables.NEWEST_VERSION.encode(),
    b"PREPARE adalog_known(bigint) AS SELECT checksum FROM transactions WHERE t = $1",
    b"""PREPARE adalog_missed(bigint) AS SELECT t, instant, idempotency_key, payload, checksum, seal
    FROM transactions WHERE t > $1 ORDER BY t LIMIT %d"""
    % PAGE,
)
_WRITES: Final = (
    b"PREPARE adalog_turn AS " + tables.TURN.encode(),
    b"""PREPARE adalog_uses(text[], bigint, bigint) AS SELECT t, key, digest FROM idempotency_keys
    WHERE key = ANY($1) AND t > $2 AND at > $3""",
    b"""PREPARE adalog_append(bigint[], bigint[], bytea[], bigint[], bytea[], bigint) AS
    INSERT INTO transactions (t, instant, payload, checksum, append, seal)
    SELECT t, instant, payload, checksum, $6, seal
    FROM unnest($1, $2, $3, $4, $5) AS r (t, instant, payload, checksum, seal)""",
    b"""PREPARE adalog_use(bigint[], text[], text[], bigint) AS INSERT INTO idempotency_keys (t, key, digest, at)
    SELECT t, key, digest, $4 FROM unnest($1, $2, $3) AS r (t, key, digest)
    ON CONFLICT (key) DO UPDATE SET t = excluded.t, digest = excluded.digest, at = excluded.at""",
    b"PREPARE adalog_notify(text) AS SELECT pg_notify('adalog_' || 'transactions'::regclass::oid, $1)",
)
TO_READ: Final = b"; ".join((*_PLANS, *_READS))
"""Prepares what `reading` needs."""
TO_WRITE: Final = b"; ".join((*_PLANS, *_READS, *_WRITES))
"""Prepares what a turn needs. The tables of a log of an older format may not have all that it names."""
BEGIN: Final = b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; EXECUTE adalog_turn"
# Of the payloads of one array: the server takes no literal of half a gigabyte.
_ARRAY_BYTES: Final = 64_000_000


class FoundLog(NamedTuple):
    """What `reading` found. known: the checksum of the last entry known here, None where the log does not have it.
    rows: of the entries after it, as `Log._verified` takes them."""

    known: int | None
    rows: Sequence[tuple[Any, ...]]


def results(connection: psycopg.Connection[Any], message: bytes) -> list[pq.abc.PGresult]:
    """The results of the statements of one message. Raises psycopg.Error for the first that failed."""
    with connection.lock:
        connection.pgconn.send_query(message)
        found: list[pq.abc.PGresult] = connection.wait(generators.execute(connection.pgconn))
    for each in found:
        if each.status not in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
            raise errors.error_from_result(each)
    if not found:
        raise psycopg.OperationalError("the server gave no result")
    return found


def reading(t: int) -> bytes:
    """Reads the log's format, the checksum of entry t, and the entries after it, for `found_log`."""
    return b"EXECUTE adalog_version; EXECUTE adalog_known(%d); EXECUTE adalog_missed(%d)" % (t, t)


def found_log(version: pq.abc.PGresult, known: pq.abc.PGresult, missed: pq.abc.PGresult) -> FoundLog:
    """Raises NewerFormat."""
    for number, release in _rows(version):
        check_not_outgrown(_integer(number), _text(release))
    rows = [
        (_integer(t), _integer(instant), _text(key), _bytes(payload), _integer(checksum), seal and _bytes(seal))
        for t, instant, key, payload, checksum, seal in _rows(missed)
    ]
    return FoundLog(_integer(known.get_value(0, 0)) if known.ntuples else None, rows)


def finding(connection: psycopg.Connection[Any], keys: Iterable[str], oldest: Mapping[str, int]) -> bytes:
    """Reads the uses of idempotency keys, for `found_uses`. oldest: `last_t` and `last_at`, as of `FORGOTTEN`."""
    given = _texts(connection, keys), oldest["last_t"], oldest["last_at"]
    return b"EXECUTE adalog_uses(%s, %d, %d)" % given


def found_uses(result: pq.abc.PGresult) -> dict[str, tuple[int, UsedKey]]:
    uses = ((_integer(t), UsedKey(str(_text(key)), _text(digest))) for t, key, digest in _rows(result))
    return {used.key: (t, used) for t, used in uses}


def appending(
    entries: Sequence[LogEntry], seals: Sequence[bytes], checksums: Sequence[int], number: int
) -> Iterator[bytes]:
    """Inserts entries. number: of the append."""
    start, size = 0, 0
    for end, entry in enumerate(entries):
        size += len(entry.payload)
        if size > _ARRAY_BYTES and end > start:
            yield _insert(entries[start:end], seals[start:end], checksums[start:end], number)
            start, size = end, len(entry.payload)
    yield _insert(entries[start:], seals[start:], checksums[start:], number)


def _insert(entries: Sequence[LogEntry], seals: Sequence[bytes], checksums: Sequence[int], number: int) -> bytes:
    return b"EXECUTE adalog_append(%s, %s, %s, %s, %s, %d)" % (
        _integers(entry.t for entry in entries),
        _integers(entry.instant for entry in entries),
        _binaries(entry.payload for entry in entries),
        _integers(checksums),
        _binaries(seals),
        number,
    )


def replacing(entries: Sequence[LogEntry]) -> Iterator[bytes]:
    """Puts other payloads in the place of those of entries that are there. By a digest of what was sent with an
    idempotency key guesses of what is gone could be tested. It is rare, and planned for its values."""
    start, size = 0, 0
    for end, entry in enumerate(entries):
        size += len(entry.payload)
        if size > _ARRAY_BYTES and end > start:
            yield _replace(entries[start:end])
            start, size = end, len(entry.payload)
    yield _replace(entries[start:])
    yield b"UPDATE idempotency_keys SET digest = NULL WHERE t = ANY (%s::bigint[])" % _integers(
        entry.t for entry in entries
    )


def _replace(entries: Sequence[LogEntry]) -> bytes:
    return (
        b"UPDATE transactions AS old SET payload = new.payload, seal = new.seal FROM "
        b"unnest(%s::bigint[], %s::bytea[], %s::bytea[]) AS new (t, payload, seal) WHERE old.t = new.t"
        % (
            _integers(entry.t for entry in entries),
            _binaries(entry.payload for entry in entries),
            _binaries(entry.seal or b"" for entry in entries),
        )
    )


def forgetting(oldest: Mapping[str, int]) -> bytes:
    """Deletes idempotency keys that were used too long ago. It is rare, and planned for its values."""
    return (
        b"DELETE FROM idempotency_keys WHERE t IN (SELECT t FROM idempotency_keys WHERE t <= %d "
        b"OR at <= %d LIMIT 1000)" % (oldest["last_t"], oldest["last_at"])
    )


def using(connection: psycopg.Connection[Any], used: Sequence[tuple[int, UsedKey]], at: int) -> bytes:
    """Remembers idempotency keys. used: with the transactions that used them."""
    return b"EXECUTE adalog_use(%s, %s, %s, %d)" % (
        _integers(t for t, _ in used),
        _texts(connection, (key for _, (key, _) in used)),
        _texts(connection, (digest for _, (_, digest) in used)),
        at,
    )


def notifying(own: str) -> bytes:
    """Tells those who LISTEN. own: by which the process knows its own appends, of letters and digits."""
    return b"EXECUTE adalog_notify('%s')" % own.encode()


def _integers(values: Iterable[int]) -> bytes:
    return b"'{%s}'" % b",".join(b"%d" % value for value in values)


def _binaries(values: Iterable[bytes]) -> bytes:
    # An array's element in quotes has its backslash twice.
    return b"'{%s}'" % b",".join(b'"\\\\x%s"' % value.hex().encode() for value in values)


def _texts(connection: psycopg.Connection[Any], values: Iterable[str | None]) -> bytes:
    quote = pq.Escaping(connection.pgconn).escape_literal
    return b"ARRAY[%s]" % b",".join(b"NULL" if each is None else bytes(quote(each.encode())) for each in values)


def _rows(result: pq.abc.PGresult) -> Iterator[tuple[bytes | None, ...]]:
    value, columns = result.get_value, range(result.nfields)
    for row in range(result.ntuples):
        yield tuple(value(row, column) for column in columns)


def _integer(value: bytes | None) -> int:
    assert value is not None, "a column that is never NULL"
    return int(value)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _bytes(value: bytes | None) -> bytes:
    assert value is not None, "a column that is never NULL"
    return unhexlify(memoryview(value)[2:])
