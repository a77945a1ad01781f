"""How far tables were read, as facts of the database: they come with the rows, in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

from adalog.datalog.values import EdnMap, Keyword
from adalog.pipeline.importing.sql.table import SqlTable
from adalog.store.snapshot.snapshot import Snapshot

SOURCE: Final = Keyword("adalog.source/name")
MARK: Final = Keyword("adalog.source/since")

_DIGITS: Final = 16


def last_read(snapshot: Snapshot, source: str, table: SqlTable) -> str | None:
    """The greatest value of `since` that an import has read of a table; None: all rows are new."""
    attribute = snapshot.attribute(MARK)
    if attribute is None or snapshot.attribute(SOURCE) is None:
        return None
    entity = snapshot.entid((SOURCE, _name(source, table)))
    found = () if entity is None else snapshot.datoms("EAVT", [entity, MARK])
    return next((str(datom.v) for datom in found), None)


def mark_forms(read: Sequence[tuple[str, SqlTable, str]]) -> list[Any]:
    """Forms that say how far tables were read: of each source its name, table and last value."""
    if not read:
        return []
    declared = [
        EdnMap(
            [
                (Keyword("db/ident"), ident),
                (Keyword("db/valueType"), Keyword("db.type/string")),
                (Keyword("db/cardinality"), Keyword("db.cardinality/one")),
                *unique,
            ]
        )
        for ident, unique in ((SOURCE, [(Keyword("db/unique"), Keyword("db.unique/identity"))]), (MARK, []))
    ]
    return [*declared, *(EdnMap([(SOURCE, _name(name, table)), (MARK, last)]) for name, table, last in read)]


def _name(source: str, table: SqlTable) -> str:
    """The same for the same rows of the same database: another table or query is read from its beginning."""
    rows = "\n".join((table.url, table.rows, table.since or ""))
    return f"{source} {sha256(rows.encode()).hexdigest()[:_DIGITS]}"
