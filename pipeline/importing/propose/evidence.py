"""What the values of a column say of its type, and whether they could be a key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from adalog.pipeline.importing.files.durations import is_duration
from adalog.pipeline.importing.files.notation import NUMBERS, PLAIN, Notation
from adalog.pipeline.importing.files.rows import FileColumn
from adalog.pipeline.importing.read.typed_columns import typed

MOST_KEYS: Final = 1 << 22
"""Rows of which values are compared to see whether they are a key: 8 bytes for each in memory."""
_EXACT: Final = 1 << 53
_LONGS: Final = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True)
class Guess:
    """A type that texts may have. pattern: what they look like, as other texts would be read, too. rounded: to
    milliseconds, which some of them are finer than."""

    type: str
    pattern: str
    notation: Notation = PLAIN
    note: str = ""
    rounded: bool = False


_NUMBER: Final = r"-?(0|[1-9][0-9]*)"
_DATES: Final = ("dd/MM/yyyy", "MM/dd/yyyy", "dd.MM.yyyy", "dd-MM-yyyy", "MM-dd-yyyy", "yyyy/MM/dd", "dd MMM yyyy")
_TIMES: Final = ("", " HH:mm", " HH:mm:ss")
_ISO: Final = (
    ("instant", r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?"),
    ("duration", "[-+]?P[-+0-9YMWDTHS.,]+"),
)
_TIMED: Final = (
    *(Guess(name, pattern, rounded=rounded) for name, pattern in _ISO for rounded in (False, True)),
    *(
        Guess("instant", ".*[/. -].*", Notation(f"{day}{time}"), f"dates as {day}{time}")
        for day in _DATES
        for time in _TIMES
    ),
)
_UUID: Final = Guess("uuid", r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# Of cells of CSV, which say nothing of their types, the first that all have.
_CELLS: Final = (
    Guess("boolean", "true|false|True|False|TRUE|FALSE"),
    Guess("long", _NUMBER),
    Guess("bigint", _NUMBER),
    Guess("double", _NUMBER + r"(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?"),
    Guess("double", r"-?[0-9]{1,12},[0-9]{1,6}", Notation(decimal=","), "decimal commas"),
    Guess("long", r"0|-?[1-9][0-9]{0,2}(,[0-9]{3})*", Notation(grouping=","), "commas between thousands"),
    Guess("bigdec", _NUMBER + r"(\.[0-9]+)?"),
)
_TEXTS: Final = (_UUID, *_TIMED)


# Texts that are looked at before all are.
_HEAD: Final = 100
# One in so many may not fit, if so many fit.
_NEARLY: Final = 100
_LEAST_FITTING: Final = 100
# A guess that more texts do not fit is given up: some, and one in so many.
_SOME: Final = 20
_TOO_MANY: Final = 50
_SHOWN: Final = 3
# Zeros before other digits are of codes, such as 007, and not of numbers.
_CODE: Final = "^[-+]?0[0-9]"


@dataclass
class Misfits:
    """Texts that do not fit a guess. samples: the first distinct ones."""

    count: int = 0
    samples: list[str] = field(default_factory=list)

    def add(self, texts: pa.Array) -> None:
        self.count += len(texts)
        if len(texts) and len(self.samples) < _SHOWN:
            self.samples = list(dict.fromkeys([*self.samples, *texts.to_pylist()]))[:_SHOWN]


@dataclass
class Evidence:
    """cells: texts may be numbers. is_exact: doubles would change some numbers. values: how many there are. texts:
    how many of them are texts that are not blank. misfits: by guess, the texts that do not fit it."""

    cells: bool = False
    is_exact: bool = False
    values: int = 0
    texts: int = 0
    kinds: dict[str, str] = field(default_factory=dict)
    misfits: dict[Guess, Misfits] = field(default_factory=dict)
    lowest: int = 0
    highest: int = 0
    fine: bool = False
    bad: bool = False

    def __post_init__(self) -> None:
        self.misfits = {guess: Misfits() for guess in (*(_CELLS if self.cells else ()), *_TEXTS)}

    @property
    def guesses(self) -> list[Guess]:
        """Those that all texts fit."""
        return [guess for guess, known in self.misfits.items() if not known.count]

    def add(self, column: FileColumn) -> None:
        self.bad |= len(column.bad) > 0
        for part in column.parts:
            values = part.values.drop_null()
            if not len(values):
                continue
            self.values += len(values)
            kind = values.type
            if part.digits:
                self._digits(values)
            elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
                self._texts(values)
            elif pa.types.is_integer(kind):
                self._whole(int(pc.min(values).as_py()), int(pc.max(values).as_py()))
            else:
                self._others(values, FileColumn.of(values))

    def found(self) -> Guess | str:
        """The type that all values have, or why there is none."""
        if self.bad:
            return "some values are objects or lists of lists"
        if not self.kinds:
            return "no values"
        if self.kinds.keys() == {"text"}:
            return next(iter(self.guesses), Guess("string", ""))
        if self.kinds.keys() <= {"whole", "double", "decimal"}:
            return Guess(self._number(), "")
        if len(self.kinds) == 1:
            [kind] = self.kinds
            return Guess(kind, "", rounded=self.fine) if kind in _PLAIN else f"{kind} has no type here"
        return "values of several types: " + ", ".join(
            f"{kind} ({each})" for kind, each in sorted(self.kinds.items())
        )

    def ambiguous(self) -> str:
        """Another notation that all values have, too."""
        guesses = self.guesses
        return guesses[1].note if len(guesses) > 1 and guesses[0].note else ""

    def nearly(self) -> Guess | None:
        """The type that nearly all of many texts have, if there is none that all have."""
        if self.bad or self.kinds.keys() != {"text"} or self.guesses or not self.misfits:
            return None
        guess = min(self.misfits, key=lambda each: self.misfits[each].count)
        count = self.misfits[guess].count
        return guess if count * _NEARLY <= self.texts and self.texts - count >= _LEAST_FITTING else None

    def _number(self) -> str:
        if self.kinds.keys() == {"whole"}:
            return "long" if self.lowest in _LONGS and self.highest in _LONGS else "bigint"
        is_exact = self.is_exact or self.lowest <= -_EXACT or self.highest >= _EXACT
        return "bigdec" if "decimal" in self.kinds or is_exact else "double"

    def _texts(self, values: pa.Array) -> None:
        if "text" not in self.kinds:
            self.kinds["text"] = str(values[0].as_py())[:40]
        said = values.filter(pc.not_equal(pc.utf8_trim_whitespace(values), ""))
        if len(said) < len(values) and not self.cells:
            # The empty text is a value of strings alone.
            self.misfits = {}
        if not len(said) or not self.misfits:
            return
        self.texts += len(said)
        head = said.slice(0, _HEAD)
        for guess, known in list(self.misfits.items()):
            most = _SOME + self.texts // _TOO_MANY - known.count
            found = _misfits(guess, head, min(most, _SOME))
            if found is not None and len(said) > _HEAD:
                found = _misfits(guess, said, most)
            if found is None:
                del self.misfits[guess]
            else:
                known.add(found)

    def _whole(self, lowest: int, highest: int) -> None:
        self.lowest = min(self.lowest, lowest) if "whole" in self.kinds else lowest
        self.highest = max(self.highest, highest) if "whole" in self.kinds else highest
        self.kinds.setdefault("whole", str(lowest))

    def _digits(self, values: pa.Array) -> None:
        for text in values.to_pylist():
            if text.removeprefix("-").isdecimal():
                self._whole(int(text), int(text))
            else:
                # Numbers with many digits are exact, those with an exponent are not meant to be.
                is_double = "e" in text.lower() and isfinite(float(text))
                self.kinds.setdefault("double" if is_double else "decimal", text)

    def _others(self, values: pa.Array, column: FileColumn) -> None:
        kind = _kind(values.type)
        self.kinds.setdefault(kind, str(values[0])[:40])
        if kind in ("instant", "duration"):
            bad, coarse = (len(typed(column, kind, kind, rounded=rounded).bad) for rounded in (False, True))
            self.fine |= bad > coarse


_PLAIN: Final = frozenset({"boolean", "instant", "duration", "bytes"})


def _kind(kind: pa.DataType) -> str:
    types = pa.types
    if types.is_floating(kind):
        return "double"
    if types.is_decimal(kind):
        return "decimal"
    if types.is_boolean(kind):
        return "boolean"
    if types.is_timestamp(kind) or types.is_date(kind):
        return "instant"
    if is_duration(kind):
        return "duration"
    return "bytes" if types.is_binary(kind) or types.is_large_binary(kind) else str(kind)


def _misfits(guess: Guess, values: pa.Array, most: int) -> pa.Array | None:
    """The texts that a guess does not fit; None if these are more than `most`, or say that it is wrong."""
    fitting = pc.match_substring_regex(values, f"^({guess.pattern})$")
    wrong = values.filter(pc.invert(fitting))
    if len(wrong) > most or (guess.type in NUMBERS and pc.any(pc.match_substring_regex(wrong, _CODE)).as_py()):
        return None
    values = values.filter(fitting)
    column = FileColumn.of(values)
    bad = typed(column, guess.type, guess.type, rounded=guess.rounded, notation=guess.notation).bad
    is_bad = np.zeros(len(values), np.bool_)
    is_bad[bad] = True
    if guess.type == "double":
        is_bad |= ~_are_doubles(pc.replace_substring(values, ",", "."))
    found = pa.concat_arrays([wrong, values.filter(pa.array(is_bad))])
    return None if len(found) > most else found


def _are_doubles(values: pa.Array) -> NDArray[np.bool_]:
    """Of which numbers doubles keep the digits, as they do where programs wrote doubles."""
    digits = pc.utf8_length(pc.replace_substring_regex(values, "[eE].*|[-.]", ""))
    kept = np.ones(len(values), np.bool_)
    # Fifteen digits always fit.
    for at in np.flatnonzero(pc.greater(digits, 15).to_numpy(zero_copy_only=False)).tolist():
        kept[at] = keeps_digits(values[at].as_py())
    return kept


def keeps_digits(text: str) -> bool:
    """Whether a double keeps the digits of a number, or is what a program wrote so."""
    number = float(text)
    return isfinite(number) and Decimal(text) in (Decimal(repr(number)), Decimal(f"{number:.17g}"))


@dataclass
class KeyEvidence:
    """Whether texts are all distinct. rows: how many were looked at; at most `MOST_KEYS`, then `sampled`. complete:
    each row has one."""

    unique: bool = True
    complete: bool = True
    rows: int = 0
    sampled: bool = False
    _hashes: list[NDArray[np.int64]] = field(default_factory=list)
    _pending: int = 0

    def add(self, texts: pa.Array | None, rows: int) -> None:
        """texts: one for each row; None where that is not so."""
        if texts is None or len(texts) < rows:
            self.complete = False
        if not self.complete:
            self.unique, self._hashes = False, []
        if not self.unique or self.sampled or texts is None:
            return
        self.rows += rows
        hashes = np.fromiter(map(hash, texts.to_pylist()), np.int64, len(texts))
        self._hashes.append(np.unique(hashes))
        self._pending += len(hashes)
        if len(self._hashes[-1]) < len(hashes):
            self.unique, self._hashes = False, []
        elif self._pending * 2 >= self.rows:
            self.hashes()
        if self.unique and self.rows >= MOST_KEYS:
            self.sampled = True

    def hashes(self) -> NDArray[np.int64]:
        """The hashes of all, in order."""
        if self.unique and len(self._hashes) > 1:
            every = np.sort(np.concatenate(self._hashes))
            self.unique = bool((every[1:] != every[:-1]).all())
            self._hashes, self._pending = [every] if self.unique else [], 0
        return self._hashes[0] if self._hashes else np.empty(0, np.int64)


def key_texts(column: FileColumn) -> pa.Array | None:
    """The texts of a column that might be part of a key, in the order of rows; None if it is none."""
    if len(column.parts) != 1 or len(column.bad) or len(column.lists):
        return None
    [part] = column.parts
    kind = part.values.type
    if part.digits or not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)):
        return None
    texts = part.values.drop_null().cast(pa.string())
    return texts.filter(pc.not_equal(pc.utf8_trim_whitespace(texts), ""))


def joined_texts(first: pa.Array | None, second: pa.Array | None) -> pa.Array | None:
    """The texts of pairs; None where one is missing."""
    if first is None or second is None or len(first) != len(second):
        return None
    return pc.binary_join_element_wise(first, second, "\0")


def distinct_hashes(texts: pa.Array) -> NDArray[np.int64]:
    values = texts.unique().to_pylist()
    return np.fromiter(map(hash, values), np.int64, len(values))


def pairs_of(names: list[str]) -> Iterator[tuple[str, str]]:
    for at, first in enumerate(names):
        for second in names[at + 1 :]:
            yield first, second
