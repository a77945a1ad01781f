"""What a transaction may say and probably does not mean: collected while it is resolved, reported on request.

Telling it costs about the same for few suspects and for many: a few are described, the others are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from adalog.datalog.diagnostics import MOST, Diagnostic, Suspicion
from adalog.datalog.errors import Position, shown
from adalog.datalog.values import Keyword
from adalog.datalog.watched import look
from adalog.store.transact.operations import Path
from adalog.store.values.name_index import NameIndex
from adalog.store.values.schema import Schema

Placing = Callable[[Sequence[Path]], Sequence[Position | None]]
"""Where in the text of a transaction its parts stand."""

# New attributes that may be misspelt, of which so many are looked at.
_LOOKED_AT: Final = 200

_Found = tuple[Suspicion, str, Path]


@dataclass
class Suspicions:
    """`declared`: attributes that their use declared; `unknown`: those that something was retracted of and that
    are not declared; `fruitless`: calls of functions that made nothing. Each with its place in the forms."""

    declared: list[tuple[Keyword, Path]] = field(default_factory=list)
    unknown: list[tuple[Keyword, Path]] = field(default_factory=list)
    fruitless: list[tuple[Keyword, Path]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.declared or self.unknown or self.fruitless)

    def diagnostics(self, before: Schema, place: Placing) -> tuple[Diagnostic, ...]:
        """The warnings; `before`: the schema that the transaction found. What there is beyond `MOST` is one more,
        which says how many. `datalog.watched.look` is called now and then."""
        found = list(islice(self._all(before), MOST))
        places = place([path for _, _, path in found])
        told = [Diagnostic(code, text, at) for (code, text, _), at in zip(found, places, strict=True)]
        return (*told, *self._beyond(len(found)))

    def _all(self, before: Schema) -> Iterator[_Found]:
        for name, path in self.fruitless:
            yield Suspicion.NO_ROWS, f"{shown(str(name))} gave no rows, so this call changes nothing", path
        hints: dict[Keyword, str] = {}
        for name, path in self.unknown:
            if name not in hints:
                hints[name] = before.names.hint(name)
            message = f"no attribute {shown(str(name))} is declared{hints[name]}, so there is nothing to retract"
            yield Suspicion.UNKNOWN_ATTRIBUTE, message, path
        for name, path in self.declared[:_LOOKED_AT]:
            hint = _meant(name, before.names)
            if hint:
                yield Suspicion.NEW_ATTRIBUTE, f"{shown(str(name))} was declared by this use{hint}", path

    def _beyond(self, told: int) -> Iterator[Diagnostic]:
        """How many warnings of each kind there were left out."""
        calls = len(self.fruitless) - told
        if calls > 0:
            yield Diagnostic(Suspicion.NO_ROWS, f"{calls:,} more calls gave no rows")
        names = len(self.unknown) - max(0, told - len(self.fruitless))
        if told >= MOST and names > 0:
            message = f"{names:,} more retractions are of attributes that are not declared"
            yield Diagnostic(Suspicion.UNKNOWN_ATTRIBUTE, message)


def _meant(name: Keyword, known: NameIndex) -> str:
    """` (did you mean :person/name?)` for a known attribute of which this one is probably a misspelling."""
    look()
    namespace, local, letters = name.namespace, name.local, _letters(name)

    def is_close(each: Keyword) -> bool:
        return (
            (each.namespace == namespace or each.local == local)
            and abs(len(each.name) - len(name.name)) <= 2
            and _letters(each) != letters
        )

    return known.hint(name, cutoff=0.85, where=is_close)


def _letters(name: Keyword) -> Sequence[str]:
    """A name without its digits: :sensor/t1 and :sensor/t2 are two attributes on purpose."""
    return [letter for letter in name.name if not letter.isdigit()]
