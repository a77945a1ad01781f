"""How transactions may change the schema. Imports nothing, so that settings can name its default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

SchemaMode = Literal["open", "strict"]

ATTRIBUTES: Final = 20_000
# Attributes that one transaction may declare. The schema of a large application has a few thousand; resolving so
# many takes about a second, for which other writers wait.
_AT_ONCE: Final = 5_000


@dataclass(frozen=True, slots=True)
class SchemaPolicy:
    """attributes: the most there may be besides the built-in ones. at_once: the most that one transaction may
    declare, None for no limit of its own."""

    mode: SchemaMode = "open"
    attributes: int = ATTRIBUTES
    at_once: int | None = _AT_ONCE
