"""What a transaction may say and probably does not mean: collected while it is resolved, reported on request.

Telling it costs about the same for few suspects and for many: a few are described, the others are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from adalog.datalog.diagnostics import MOST, Diagnostic, Suspicion, bounded
from adalog.datalog.edn import write
from adalog.datalog.errors import Position, shown
from adalog.datalog.hints import is_misspelt
from adalog.datalog.values import Keyword, Value
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
    are not declared; `fruitless`: calls of functions that made nothing. Each with its place in the forms. `absent`:
    retractions of what is not there by their places, with the entity, and the attribute's id where one is named.
    `lookup_refs`: values that declared an attribute of tuples and could name an entity."""

    declared: list[tuple[Keyword, Path]] = field(default_factory=list)
    unknown: list[tuple[Keyword, Path]] = field(default_factory=list)
    fruitless: list[tuple[Keyword, Path]] = field(default_factory=list)
    absent: Mapping[Path, tuple[int, int | None]] = field(default_factory=dict)
    lookup_refs: list[tuple[Keyword, Value, Path]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.lookup_refs or self.declared or self.unknown or self.fruitless or self.absent)

    def diagnostics(self, before: Schema, place: Placing) -> tuple[Diagnostic, ...]:
        """The warnings, as `bounded` has them; `before`: the schema that the transaction found.
        `datalog.watched.look` is called now and then."""
        misspelt = [(name, path, misspelling(name, before.names)) for name, path in self.declared[:_LOOKED_AT]]
        misspelt = [each for each in misspelt if each[2]]
        found = list(islice(self._all(before, misspelt), MOST))
        places = place([path for _, _, path in found])
        told = [Diagnostic(code, text, at) for (code, text, _), at in zip(found, places, strict=True)]
        others = Counter(
            {
                Suspicion.NO_ROWS: len(self.fruitless),
                Suspicion.UNKNOWN_ATTRIBUTE: len(self.unknown),
                Suspicion.NEW_ATTRIBUTE: len(misspelt) + len(self.lookup_refs),
                Suspicion.NOTHING_RETRACTED: len(self.absent),
            }
        )
        return bounded(told, others - Counter(code for code, _, _ in found))

    def _all(self, before: Schema, misspelt: Sequence[tuple[Keyword, Path, str]]) -> Iterator[_Found]:
        for name, path in self.fruitless:
            yield Suspicion.NO_ROWS, f"{shown(str(name))} gave no rows, so this call changes nothing", path
        hints: dict[Keyword, str] = {}
        for name, path in self.unknown:
            if name not in hints:
                hints[name] = before.names.hint(name)
            message = f"no attribute {shown(str(name))} is declared{hints[name]}, so there is nothing to retract"
            yield Suspicion.UNKNOWN_ATTRIBUTE, message, path
        for path, (entity, id_) in self.absent.items():
            attribute = None if id_ is None else before.get(id_)
            what = "nothing" if attribute is None else f"no such {attribute.ident}"
            yield Suspicion.NOTHING_RETRACTED, f"nothing was retracted here: entity {entity} has {what}", path
        for name, value, path in self.lookup_refs:
            reason = f"{shown(str(name))} was declared by this use, and holds tuples"
            ref = f"to name the entity {shown(write(value))}, declare it before with :db/valueType :db.type/ref"
            yield Suspicion.NEW_ATTRIBUTE, f"{reason}; {ref}", path
        for name, path, hint in misspelt:
            yield Suspicion.NEW_ATTRIBUTE, f"{shown(str(name))} was declared by this use{hint}", path


def misspelling(name: Keyword, known: NameIndex) -> str:
    """` (did you mean :person/name?)` for a known attribute of which this one is probably a misspelling."""
    look()
    namespace, local, letters = name.namespace, name.local, _letters(name)

    def is_close(each: Keyword) -> bool:
        return (
            (
                (each.namespace == namespace and is_misspelt(local, each.local))
                or (each.local == local and is_misspelt(namespace or "", each.namespace or ""))
                or each.name.replace("/", ".") == name.name
            )
            and abs(len(each.name) - len(name.name)) <= 2
            and _letters(each) != letters
        )

    return known.hint(name, cutoff=0.85, where=is_close)


def _letters(name: Keyword) -> Sequence[str]:
    """A name without its digits: :sensor/t1 and :sensor/t2 are two attributes on purpose."""
    return [letter for letter in name.name if not letter.isdigit()]
