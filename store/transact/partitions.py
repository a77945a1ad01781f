"""What Datomic's transactions say of partitions: `#db/id [:db.part/user]`, attributes that are installed in one.

There is one partition here. A tag without a number is a new entity, `:db.part/tx` the transaction; to install or to
alter is to say nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from adalog.datalog.edn.scalars import DB_ID
from adalog.datalog.values import EdnList, EdnMap, EdnSet, Keyword
from adalog.store.transact.operations import CURRENT_TX, Path, Tempid

_PARTITION: Final = Keyword("db.part/db")
_TRANSACTIONS: Final = Keyword("db.part/tx")
_INSTALLED: Final = ("attribute", "partition", "valueType", "function")
_INSTALLING: Final = frozenset(
    Keyword(f"db.{verb}/{direction}{what}")
    for verb in ("install", "alter")
    for direction in ("", "_")
    for what in _INSTALLED
)
_COLLECTIONS: Final = frozenset({tuple, EdnMap, EdnSet, EdnList})


def with_own_tempids(forms: Iterable[tuple[Any, Path]]) -> list[tuple[Any, Path]]:
    """The forms with a tempid of its own for each tag without a number."""
    return [(_named(form, path) if type(form) in _COLLECTIONS else form, path) for form, path in forms]


def _named(value: Any, path: Path) -> Any:
    kind = type(value)
    if kind is EdnMap:
        entries = list(enumerate(value.items()))
        if not any(type(each) in _COLLECTIONS for each in value.values()):
            return value
        return EdnMap((key, _named(each, (*path, 2 * place + 1))) for place, (key, each) in entries)
    if kind is EdnList and len(value) == 2 and value[0] == DB_ID:
        return CURRENT_TX if value[1] == _TRANSACTIONS else Tempid(f"\0\0{'.'.join(map(str, path))}")
    if kind in _COLLECTIONS and any(type(each) in _COLLECTIONS for each in value):
        return kind(_named(each, (*path, place)) for place, each in enumerate(value))
    return value


def is_installation(key: Any, value: Any) -> bool:
    """`:db.install/_attribute :db.part/db`: an attribute is installed where it is declared."""
    return value == _PARTITION and isinstance(key, Keyword) and key in _INSTALLING
