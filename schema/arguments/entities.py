"""The texts that name entities: as arguments of `pull`, `pullMany` and `whyVisible`, and of the Python library.

Nothing of GraphQL is imported: the library runs without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adalog.datalog import edn
from adalog.datalog.errors import AdalogError, Position
from adalog.datalog.values import Keyword
from adalog.planner.scope.interpretation import entity_named

if TYPE_CHECKING:
    from adalog.store.snapshot.snapshot import Snapshot

_AN_ENTITY = 'an entity is a number, an ident or a lookup ref such as [:user/email "ada@example.org"]'
# Of an entity's number.
_DIGITS = 19


def entity_of(text: str, place: str, snapshot: Snapshot) -> Any:
    """What a text names: a number, an ident or a lookup ref. `place`: what messages call the text."""
    plain = len(text) <= _DIGITS and text.isascii() and text.isdigit()
    return int(text) if plain else _entity(text, place, snapshot)


def _entity(text: str, place: str, snapshot: Snapshot) -> Any:
    try:
        value = edn.read(text)
    except AdalogError as error:
        raise error.of_text(place, f"; {_AN_ENTITY}") from None
    try:
        entity = entity_named(snapshot, value)
        if not isinstance(entity, int | Keyword | tuple):
            # It raises: here, where the text has a name.
            snapshot.entid(entity)
    except AdalogError as error:
        # The whole text is at fault.
        raise AdalogError(error.code, f"{place}: {error.message}", Position(1, 1, place)) from None
    return entity
