"""What a transaction may say and probably does not mean: collected while it is resolved, told if somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from datalog.diagnostics import MOST, Diagnostic, Suspicion
from datalog.errors import Position
from datalog.hints import nearest
from datalog.values import Keyword
from store.operations import Path
from store.schema import Schema

Placing = Callable[[Path], Position | None]


@dataclass
class Suspects:
    """`declared`: attributes that their use declared; `unknown`: those that something was retracted of and that
    nobody declared; `fruitless`: calls of functions that made nothing. Each with its place in the forms."""

    declared: list[tuple[Keyword, Path]] = field(default_factory=list)
    unknown: list[tuple[Keyword, Path]] = field(default_factory=list)
    fruitless: list[tuple[Keyword, Path]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.declared or self.unknown or self.fruitless)

    def diagnostics(self, before: Schema, place: Placing) -> tuple[Diagnostic, ...]:
        """The warnings; `before`: the schema that the transaction found, `place`: where in its text a part
        stands."""
        return tuple(islice(self._all(before, place), MOST))

    def _all(self, before: Schema, place: Placing) -> Iterator[Diagnostic]:
        for name, path in self.fruitless:
            message = f"{name} gave no rows, so this call changes nothing"
            yield Diagnostic(Suspicion.NO_ROWS, message, place(path))
        for name, path in self.unknown:
            hint = nearest(str(name), (str(each.ident) for each in before.all()))
            message = f"no attribute {name} is declared{hint}, so there is nothing to retract"
            yield Diagnostic(Suspicion.UNKNOWN_ATTRIBUTE, message, place(path))
        known = [each.ident for each in before.all()]
        for name, path in self.declared:
            hint = _meant(name, known)
            if hint:
                message = f"{name} was declared by this use{hint}"
                yield Diagnostic(Suspicion.NEW_ATTRIBUTE, message, place(path))


def _meant(name: Keyword, known: Iterable[Keyword]) -> str:
    """` (did you mean :person/name?)` for a known attribute of which this one is probably a misspelling."""
    alike = [
        str(each)
        for each in known
        if (each.namespace == name.namespace or each.local == name.local)
        and abs(len(each.name) - len(name.name)) <= 2
        and _letters(each) != _letters(name)
    ]
    return nearest(str(name), alike, cutoff=0.85)


def _letters(name: Keyword) -> Sequence[str]:
    """A name without its digits: :sensor/t1 and :sensor/t2 are two attributes on purpose."""
    return [letter for letter in name.name if not letter.isdigit()]
