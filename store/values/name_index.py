"""Names by what they look like: finds the known name that a misspelt one probably meant, however many there are.

`difflib` compares two names in some ten microseconds, so it sees only those that have the most in common with the
misspelt one. Counts of letters and of pairs of letters, held as a matrix, choose these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.hints import LONGEST, edits, is_misspelt, most_alike
from adalog.datalog.values import Keyword
from adalog.datalog.watched import look

# Names that are compared in full.
_COMPARED: Final = 64
# Names that a caller's condition is tried on.
_TRIED: Final = 256
# Counters for letters, and as many for pairs of letters. Several letters may share one: the counts that two names
# have in common are then too large, never too small.
_COUNTERS: Final = 32
# No longer name is like one that is looked for, and counts fit into a byte.
_MOST_LETTERS: Final = 240

Counts = NDArray[np.uint8]


class NameIndex:
    """An immutable list of names, made once for a version of a schema. Thread-safe."""

    def __init__(self, names: Iterable[Keyword]) -> None:
        self.names = tuple(names)

    def hint(self, name: Keyword, *, cutoff: float = 0.6, where: Callable[[Keyword], bool] | None = None) -> str:
        """` (did you mean :person/name?)` for the known name most like this one, or nothing.

        Of other namespaces only the same name after the slash is proposed, or what is a misspelling as a whole. A
        name in `db` is proposed only where the namespace looks like it. cutoff: the least `ratio` of difflib.
        where: a condition on names, for those most alike.
        """
        look()
        text = str(name)
        if len(text) > LONGEST or not self.names:
            return ""
        own = not _is_like_db(name)
        alike = self._alike(text, cutoff, _TRIED if own or where is not None else _COMPARED)
        chosen = (
            each
            for each in alike
            if not (own and _is_in_db(each)) and (_is_related(name, each) if where is None else where(each))
        )
        return most_alike(text, map(str, islice(chosen, _COMPARED)), cutoff=cutoff)

    @cached_property
    def by_name(self) -> dict[str, Keyword]:
        """Each name as it is written without its colon."""
        return {each.name: each for each in reversed(self.names)}

    @cached_property
    def by_local(self) -> dict[str, Keyword]:
        """The first name with each part after its slash."""
        return {each.local: each for each in reversed(self.names)}

    def _alike(self, text: str, cutoff: float, most: int) -> list[Keyword]:
        """The names that may reach the cutoff, those with the most in common first, and no more than so many."""
        lengths, counts = self._counted
        common = np.minimum(counts, _counts_of([text])[0])
        letters = common[:, :_COUNTERS].sum(axis=1, dtype=np.int64)
        together = lengths + len(text)
        # A ratio is twice what two names have in common, by the letters of both.
        possible = np.flatnonzero((2 * letters >= cutoff * together) & (lengths <= _MOST_LETTERS))
        if len(possible) > _COMPARED:
            shared = common[possible].sum(axis=1, dtype=np.int64) / together[possible]
            possible = possible[np.argsort(-shared, kind="stable")[:most]]
        return [self.names[each] for each in possible.tolist()]

    @cached_property
    def _counted(self) -> tuple[NDArray[np.int64], Counts]:
        texts = [str(each) for each in self.names]
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        return lengths, _counts_of([text if len(text) <= _MOST_LETTERS else "" for text in texts])


def _is_in_db(name: Keyword) -> bool:
    return name.namespace is not None and name.namespace.partition(".")[0] == "db"


def _is_related(name: Keyword, known: Keyword) -> bool:
    """Whether a known name may be meant by this one; one without a namespace is compared with what follows it."""
    if name.namespace is None:
        return (
            name.local == known.local or is_misspelt(name.local, known.local) or is_misspelt(name.name, known.name)
        )
    return name.namespace == known.namespace or name.local == known.local or is_misspelt(name.name, known.name)


def _is_like_db(name: Keyword) -> bool:
    """Whether the namespace is `db`, or that with a letter more, less or otherwise; or there is none."""
    return name.namespace is None or edits(name.namespace.partition(".")[0], "db") <= 1


def _counts_of(texts: list[str]) -> Counts:
    """A row for each text: how often each letter, then each pair of letters, is in it."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    letters = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    rows = np.repeat(np.arange(len(texts), dtype=np.int64), lengths)
    size = len(texts) * 2 * _COUNTERS
    single = rows * 2 * _COUNTERS + letters % _COUNTERS
    pairs = rows[1:] * 2 * _COUNTERS + _COUNTERS + (letters[1:] + 7 * letters[:-1]) % _COUNTERS
    within = rows[1:] == rows[:-1]
    counts = np.bincount(single, minlength=size) + np.bincount(pairs[within], minlength=size)
    return counts.astype(np.uint8).reshape(len(texts), 2 * _COUNTERS)
