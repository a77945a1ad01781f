"""The idents of a database, for proposals in messages."""

from __future__ import annotations

from typing import Final

from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.bootstrap import IDENT
from adalog.store.values.name_index import NameIndex

# Idents that a proposal is looked for among: a database may have any number.
_IDENTS: Final = 100_000


def ident_names(database: Snapshot) -> NameIndex:
    """The names of the idents that hold, or of the first 100,000 of them."""
    plain = database.plain
    codes = plain.trie(IDENT, inverse=True).keys[:_IDENTS]
    return NameIndex(plain.codes.decode_many(codes))
