"""Values as int64 codes and back: equal codes are equal values (dialect, 7).

`Codes` is the database's shared dictionary; `Scratch` adds to it the values that one query makes up and forgets.
The layout of a code is in `store.values.layout`, how a value is spelt as a dictionary key in `store.values.keys`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from operator import itemgetter
from sys import getsizeof
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from adalog.datalog.errors import limit_exceeded
from adalog.datalog.values import type_name
from adalog.store.values import layout
from adalog.store.values.arrays import Int64s
from adalog.store.values.blocks.block import Block, file_has
from adalog.store.values.dictionary import Dictionary, KeyColumn
from adalog.store.values.excised.placeholders import NumberRun, placeholder
from adalog.store.values.keys import TEXT_TAGS, Spelling, inline_value, spell, value_of_key, values_of_keys
from adalog.store.values.made_values import MadeValues
from adalog.store.values.short_decimals import DecimalParts, ShortDecimals, decimal_of, parts_of, word_of

# Codes that are decoded sooner one by one than by the column.
_FEW: Final = 16
# Those whose keys are fetched sooner one by one than as a column of Arrow's.
_PAGE: Final = 256
_SCRATCH_LIMIT: Final = 20_000_000
_SCRATCH_CHARACTERS: Final = 1 << 28
# Bytes of an entry besides its key, and of a collection's objects for each byte of its key.
_ENTRY: Final = 300
_OF_COLLECTION: Final = 8
# Of strings that were decoded for short answers, those that are kept: so many, of so many characters, and the
# strings of such an answer.
_KEPT: Final = 1 << 15
_KEPT_LENGTH: Final = 200
_KEPT_AT_ONCE: Final = 1 << 11
# Values that are looked up at once.
_AT_ONCE: Final = 4096
# Bytes that are taken at once.
_PIECE: Final = 1 << 16
_PAYLOAD: Final = np.int64(layout.PAYLOAD_MASK)
_BIGDEC: Final = np.int64(layout.code_of(layout.TAG_BIGDEC, 0))
# The code of the first millisecond of 1970.
_EPOCH: Final = np.int64(layout.code_of(layout.TAG_INSTANT, layout.INSTANT_BIAS))


def _listed(array: NDArray[Any]) -> list[Any]:
    values: list[Any] = array.tolist()
    return values


class Coder(Protocol):
    """What the engine needs of codes, whether the database's or a query's own."""

    def intern(self, value: Any) -> int: ...
    def lookup(self, value: Any) -> int | None: ...
    def decode(self, code: int) -> Any: ...
    def decode_many(self, codes: Int64s) -> list[Any]: ...
    def doubles(self, codes: Int64s) -> NDArray[np.float64]: ...
    def to_arrow(self, codes: Int64s) -> pa.Array: ...


class Codes:
    """The database's dictionaries: append-only, one thread interns, any number read."""

    def __init__(self, dictionaries: Mapping[int, Dictionary] | None = None, secret: bytes | None = None) -> None:
        """secret: of the dictionaries that are not given, as there."""
        given = dictionaries or {}
        self._dictionaries = {
            tag: given[tag] if tag in given else Dictionary(secret=secret) for tag in layout.DICTIONARY_TAGS
        }
        self._short_decimals = ShortDecimals(self._dictionaries[layout.TAG_BIGDEC])
        # Strings by their codes, which never mean others. Threads may decode one twice, which comes to the same.
        self._strings: dict[int, str] = {}

    def intern(self, value: Any) -> int:
        """The value's code, made if need be. For one thread at a time."""
        tag, key = spell(value)
        return key if isinstance(key, int) else layout.code_of(tag, self._dictionaries[tag].add(key))

    def intern_arrow(self, values: pa.Array) -> Int64s:
        """Codes of an Arrow column: int64[n]. For one thread at a time; ValueError for a column with nulls."""
        if values.null_count:
            raise ValueError(f"{values.null_count} nulls")
        kind = values.type
        if pa.types.is_dictionary(kind):
            codes: Int64s = self.intern_arrow(values.dictionary)[values.indices.to_numpy(zero_copy_only=False)]
            return codes
        if pa.types.is_integer(kind) and kind != pa.uint64():
            numbers: Int64s = values.cast(pa.int64()).to_numpy()
            if not len(numbers) or (numbers.min() >= layout.LONG_MIN and numbers.max() <= layout.LONG_MAX):
                return numbers
        distinct = values.dictionary_encode()
        found = np.array([self.intern(value) for value in distinct.dictionary.to_pylist()], np.int64)
        return np.asarray(found[distinct.indices.to_numpy(zero_copy_only=False)])

    def lookup(self, value: Any) -> int | None:
        """The value's code, or None where it was never interned."""
        tag, key = spell(value)
        return key if isinstance(key, int) else self.lookup_key(tag, key)

    def lookup_keys(self, tag: int, keys: Sequence[bytes]) -> list[int | None]:
        """The codes of the values that are spelt so, None where one was never interned."""
        base = layout.code_of(tag, 0)
        return [None if number is None else base + number for number in self._dictionaries[tag].find_many(keys)]

    def lookup_key(self, tag: int, key: bytes) -> int | None:
        """The code of the value that is spelt so, or None where it was never interned."""
        number = self._dictionaries[tag].find(key)
        return None if number is None else layout.code_of(tag, number)

    def decode(self, code: int) -> Any:
        tag = layout.tag_of(code)
        if tag == 0:
            return code
        payload = code & layout.PAYLOAD_MASK
        if tag in self._dictionaries:
            return value_of_key(tag, self._dictionaries[tag].key(payload))
        return inline_value(tag, payload)

    def decode_many(self, codes: Int64s) -> list[Any]:
        """The values of many codes; of very many each distinct one is made once."""
        if len(codes) <= _FEW:
            return [self.decode(code) for code in codes.tolist()]
        one = layout.one_tag(codes)
        if one is not None:
            return self._decode_tag(one, codes)
        tags = layout.tags_of(codes)
        present = np.flatnonzero(np.bincount(tags, minlength=16)).tolist()
        if len(present) == 1:
            return self._decode_tag(present[0], codes)
        values = np.empty(len(codes), object)
        for tag in present:
            at = np.flatnonzero(tags == tag)
            own = np.empty(len(at), object)
            own[:] = self._decode_tag(tag, codes[at])
            values[at] = own
        return _listed(values)

    def _decode_tag(self, tag: int, codes: Int64s) -> list[Any]:
        if tag == 0:
            return _listed(codes)
        if tag == layout.TAG_STRING and len(codes) <= _KEPT_AT_ONCE:
            return self._short_answer(codes.tolist())
        return self._decode_dictionary(tag, codes)

    def _short_answer(self, codes: list[int]) -> list[str]:
        """The strings of codes, most of which were decoded before."""
        try:
            # The first code again, since one alone gives no tuple.
            return list(itemgetter(*codes, codes[0])(self._strings)[:-1])
        except KeyError:
            strings = list(map(self._strings.get, codes))
        new = list(dict.fromkeys(code for code, text in zip(codes, strings, strict=True) if text is None))
        made = dict(zip(new, self._decode_dictionary(layout.TAG_STRING, np.array(new, np.int64)), strict=True))
        if len(self._strings) + len(made) > _KEPT:
            self._strings = {}
        self._strings.update((code, text) for code, text in made.items() if len(text) <= _KEPT_LENGTH)
        return [made[code] if text is None else text for code, text in zip(codes, strings, strict=True)]

    def _decode_dictionary(self, tag: int, codes: Int64s) -> list[Any]:
        if tag == layout.TAG_DOUBLE:
            return _listed(self.doubles(codes))
        if len(codes) <= _PAGE and tag in self._dictionaries:
            return values_of_keys(tag, self._dictionaries[tag].some(codes & _PAYLOAD))
        distinct, where = np.unique(codes & _PAYLOAD, return_inverse=True)
        values = np.empty(len(distinct), object)
        # Not `values[:] = list`: numpy would read a list of tuples as a matrix.
        for i, value in enumerate(self._distinct_values(tag, distinct)):
            values[i] = value
        return _listed(values[where])

    def _distinct_values(self, tag: int, payloads: Int64s) -> list[Any]:
        if tag not in self._dictionaries:
            return [inline_value(tag, payload) for payload in payloads.tolist()]
        keys = self._dictionaries[tag].gather(payloads)
        if tag == layout.TAG_STRING:
            return list(keys.cast(pa.large_string()).to_pylist())
        return [value_of_key(tag, key) for key in keys.to_pylist()]

    def doubles(self, codes: Int64s) -> NDArray[np.float64]:
        """float64[n]: the numbers of codes that are all doubles."""
        return self._dictionaries[layout.TAG_DOUBLE].gather_words(codes & _PAYLOAD).view("<f8")

    def texts(self, codes: Int64s) -> pa.LargeStringArray:
        """The strings of codes that are all strings."""
        return self.encoded(codes).view(pa.large_string())

    def encoded(self, codes: Int64s) -> pa.LargeBinaryArray:
        """The same in UTF-8."""
        return self._dictionaries[layout.TAG_STRING].gather(codes & _PAYLOAD)

    @property
    def text_count(self) -> int:
        """The number of strings; they have the numbers below it."""
        return len(self._dictionaries[layout.TAG_STRING])

    def text_columns(self) -> list[KeyColumn]:
        """Strings in UTF-8, by number. Those that came last are in none of the columns."""
        return self._dictionaries[layout.TAG_STRING].key_columns()

    def decimal_parts(self, codes: Int64s) -> DecimalParts:
        """The parts of codes that are all bigdecs."""
        return self._short_decimals.parts(codes & _PAYLOAD)

    def decimal_table(self, codes: Int64s) -> DecimalParts | None:
        """As of `ShortDecimals.table`, of codes that are all bigdecs."""
        return self._short_decimals.table(codes)

    def decimal_codes(self, parts: DecimalParts) -> Int64s | None:
        """int64[n]: the codes of short bigdecs, 0 for those that it does not know; None where it is as cheap to
        look up their texts."""
        numbers = self._short_decimals.find(parts)
        if numbers is None:
            return None
        return np.where(numbers < 0, 0, numbers | _BIGDEC)

    def to_arrow(self, codes: Int64s) -> pa.Array:
        """The values as an Arrow column; ValueError where they are not all of one type that Arrow has."""
        tag = layout.one_tag(codes) if len(codes) else 0
        if tag in (None, layout.TAG_BOOLEAN) and (codes == layout.NIL).any():
            return _with_nulls(codes, self.to_arrow)
        if tag is None:
            raise ValueError("values of more than one type")
        match tag:
            case 0:
                return pa.array(codes)
            case layout.TAG_DOUBLE:
                return pa.array(self.doubles(codes))
            case layout.TAG_BOOLEAN:
                return pa.array(codes == layout.TRUE)
            case layout.TAG_INSTANT:
                return pa.array(codes - _EPOCH).view(pa.timestamp("ms", "UTC"))
            case layout.TAG_BYTES:
                return self._dictionaries[tag].gather(codes & _PAYLOAD)
            case _ if tag in TEXT_TAGS:
                texts = self._dictionaries[tag].gather(codes & _PAYLOAD).cast(pa.large_string())
                if tag == layout.TAG_KEYWORD:
                    import pyarrow.compute as pc

                    # The first scalar has PyArrow import pandas, where there is one.
                    colon, nothing = (pa.scalar(text, pa.large_string()) for text in (":", ""))
                    texts = pc.binary_join_element_wise(colon, texts, nothing)
                return texts.cast(pa.string()) if texts.nbytes < 1 << 31 else texts
        raise ValueError(f"no Arrow type for values with tag {tag}")

    def dictionaries(self) -> Mapping[int, Dictionary]:
        """The dictionary of each tag that has one, for storing and shipping."""
        return self._dictionaries

    def adopt(self, blocks: Mapping[int, tuple[Block, ...]]) -> None:
        """Take folded blocks as the old parts. Not while another thread interns."""
        for tag, own in blocks.items():
            self._dictionaries[tag].adopt(own)

    def take_over(self, blocks: Mapping[int, tuple[Block, ...]]) -> None:
        """Take another process's blocks as the old parts, where they can be. Not while another thread interns."""
        for tag, own in blocks.items():
            self._dictionaries[tag].take_over(own)

    def renamed(self, runs: Iterable[NumberRun], seed: int) -> Codes:
        """Codes that continue these, with placeholders by the seed for some numbers, which no value has. Numbers
        that are not given yet are left out. Snapshots that have these codes keep what they have."""
        by_tag: dict[int, dict[int, bytes]] = {}
        for run in runs:
            tag, known = run.tag, len(self._dictionaries[run.tag])
            numbers = range(run.first, min(run.stop, known))
            if numbers:
                own = by_tag.setdefault(tag, {})
                own.update((number, placeholder(tag, seed, number)) for number in numbers)
        # Dictionaries that were folded together share a file, also one that some of them need no more.
        blocks = [block for own in self._dictionaries.values() for block in own.parts()[0]]
        segments = {each.segment for each in blocks if each.segment is not None and file_has(each, by_tag)}
        return Codes(
            {
                tag: own.renamed(by_tag.get(tag, {}), segments) if tag in by_tag or own.is_in(segments) else own
                for tag, own in self._dictionaries.items()
            }
        )

    @property
    def durable(self) -> Codes:
        """Those that are the database's."""
        return self

    def fork(self) -> Codes:
        """Codes that go on from here by themselves: what they intern is not shared."""
        return Codes({tag: dictionary.fork() for tag, dictionary in self._dictionaries.items()})

    def nbytes(self) -> int:
        strings = self._strings.copy()
        kept = getsizeof(strings) + sum(map(getsizeof, strings.values()))
        return sum(each.nbytes() for each in self._dictionaries.values()) + self._short_decimals.nbytes() + kept


def _with_nulls(codes: Int64s, to_arrow: Callable[[Int64s], pa.Array]) -> pa.Array:
    """An Arrow column with null for nil."""
    there = codes != layout.NIL
    if not there.any():
        return pa.nulls(len(codes))
    return to_arrow(codes[there]).take(pa.array(np.cumsum(there) - 1, mask=~there))


class Scratch:
    """One query's codes: the database's, and its own for values that the database does not hold.

    Own codes have payloads from 2^40 up, so they meet no code of the database; a value gets an own code only while
    the database does not know it, and keeps it for the query's life.
    """

    def __init__(
        self,
        base: Codes,
        limit: int = _SCRATCH_LIMIT,
        characters: int = _SCRATCH_CHARACTERS,
        take: Callable[[int], None] | None = None,
    ) -> None:
        """`take` is called with the bytes that a value is about to take, and may refuse them."""
        self._base = base
        self._limit = limit
        self._room = characters
        self._take = take
        self._taken = 0
        # By tag and key, but those of short bigdecs by their words.
        self._codes: dict[Hashable, int] = {}
        self._values = MadeValues()
        self._lock = threading.Lock()

    def is_of(self, codes: Codes) -> bool:
        """Whether all of its codes are these: it made none of its own."""
        return self._base is codes and not self._values

    def intern(self, value: Any) -> int:
        """The value's code, made if need be; safe from several threads. LIMIT_EXCEEDED past the bound."""
        tag, key = spell(value)
        if isinstance(key, int):
            return key
        own = self._codes.get(_own_key(tag, key))
        if own is not None:
            return own
        with self._lock:
            return self._code_of(tag, key, value)

    def intern_many(self, values: Iterable[Any]) -> Int64s:
        """The codes of many values: int64[n]. As `intern`, in pieces that are looked up together."""
        codes: list[int] = []
        values = iter(values)
        while piece := list(islice(values, _AT_ONCE)):
            spelt = [spell(value) for value in piece]
            plain = [key for _, key in spelt if isinstance(key, int)]
            if len(plain) == len(piece):
                codes += plain
                continue
            with self._lock:
                known = self._known(spelt)
                for (tag, key), value in zip(spelt, piece, strict=True):
                    codes.append(key if isinstance(key, int) else self._code_of(tag, key, value, known))
        return np.array(codes, np.int64)

    def _known(self, spelt: Iterable[Spelling]) -> Mapping[tuple[int, bytes], int | None]:
        """What the database has of the values that are not known here."""
        wanted: dict[int, dict[bytes, None]] = {}
        for tag, key in spelt:
            if not isinstance(key, int) and _own_key(tag, key) not in self._codes:
                wanted.setdefault(tag, {})[key] = None
        found: dict[tuple[int, bytes], int | None] = {}
        for tag, keys in wanted.items():
            listed = list(keys)
            codes = self._base.lookup_keys(tag, listed)
            found.update(((tag, key), code) for key, code in zip(listed, codes, strict=True))
        return found

    def _code_of(
        self, tag: int, key: bytes, value: Any, found: Mapping[tuple[int, bytes], int | None] | None = None
    ) -> int:
        """`found`: what looking it up came to, where that is done."""
        own_key = _own_key(tag, key)
        known = self._codes.get(own_key)
        if known is not None:
            return known
        code = self._base.lookup_key(tag, key) if found is None else found[tag, key]
        self._spend(_ENTRY + len(key) * (_OF_COLLECTION if tag == layout.TAG_OTHER else 2))
        if code is None:
            code = self._new_code(tag, value, own_key)
        self._codes[own_key] = code
        return code

    def intern_decimals(self, numbers: Int64s, scale: int) -> Int64s:
        """The codes of distinct bigdecs: int64[n]. They are the `numbers`, divided by 10 to the power of `scale`,
        which is 0 to 18."""
        parts = parts_of(numbers, scale)
        if not parts.fit().all():
            return self.intern_many(Decimal(number).scaleb(-scale) for number in numbers.tolist())
        words = parts.packed()
        codes = self._base.decimal_codes(parts)
        if codes is None:
            keys = [str(decimal_of(word)).encode() for word in words.tolist()]
            known = self._base.lookup_keys(layout.TAG_BIGDEC, keys)
            codes = np.array([code or 0 for code in known], np.int64)
        with self._lock:
            if self._codes:
                own = self._codes
                codes = np.array(
                    [own.get(word, code) for word, code in zip(words.tolist(), codes.tolist(), strict=True)],
                    np.int64,
                )
            new = np.flatnonzero(codes == 0)
            self._spend(_ENTRY * len(new))
            self._check_room(len(new))
            first = layout.code_of(layout.TAG_BIGDEC, layout.SCRATCH_BASE + len(self._values))
            codes[new] = first + np.arange(len(new))
            self._values.extend(words[new])
            self._codes.update(zip(words[new].tolist(), codes[new].tolist(), strict=True))
        return codes

    def _spend(self, nbytes: int) -> None:
        self._taken += nbytes
        if self._taken > _PIECE and self._take is not None:
            self._take(self._taken)
            self._taken = 0

    def _check_room(self, more: int) -> None:
        if len(self._values) + more > self._limit:
            raise limit_exceeded(
                f"the query made more than {self._limit:,} values that the database does not hold; "
                "bind fewer rows before calling functions"
            )

    def _new_code(self, tag: int, value: Any, own_key: Hashable) -> int:
        self._check_room(1)
        if isinstance(value, (str, bytes)):
            self._room -= len(value)
            if self._room < 0:
                raise limit_exceeded(
                    "the query made strings that are too long together; bind fewer rows before calling functions"
                )
        code = layout.code_of(tag, layout.SCRATCH_BASE + len(self._values))
        self._values.append(value, own_key if isinstance(own_key, int) else None)
        return code

    def made(self, start: int = 0) -> list[Any]:
        """The values that it made codes for, in the order of their codes, from number `start`."""
        return self._values.listed(start)

    @staticmethod
    def made_numbers(codes: Int64s) -> Int64s:
        """int64[n]: where in `made()` the value of each code is, -1 for a code of the database or an inline one."""
        tags = layout.tags_of(codes)
        stored = (tags != 0) & (tags != layout.TAG_INSTANT) & (tags != layout.TAG_BOOLEAN)
        numbers = (codes & _PAYLOAD) - layout.SCRATCH_BASE
        return np.where(stored & (numbers >= 0), numbers, -1)

    @staticmethod
    def is_made(code: int) -> bool:
        """Whether it is a code that a Scratch made, and the database has no such value."""
        inline = layout.tag_of(code) in (0, layout.TAG_INSTANT, layout.TAG_BOOLEAN)
        return not inline and code & layout.PAYLOAD_MASK >= layout.SCRATCH_BASE

    def adopt(self, made: Iterable[Any]) -> None:
        """Give the values that another query's Scratch made the codes that they have there; for one still empty."""
        with self._lock:
            for value in made:
                tag, key = spell(value)
                own_key = _own_key(tag, key)
                self._codes[own_key] = self._new_code(tag, value, own_key)

    def learn(self, learned: Mapping[int, int]) -> None:
        """Gives values that it made codes for those of the database, which has them by now."""
        with self._lock:
            for spelling, code in self._codes.items():
                self._codes[spelling] = learned.get(code, code)

    def fork(self, take: Callable[[int], None] | None = None) -> Scratch:
        """One that begins with the same codes and goes on by itself."""
        made = Scratch(self._base, self._limit, take=take)
        if self._values:
            with self._lock:
                made._codes, made._values, made._room = dict(self._codes), self._values.fork(), self._room
        return made

    def lookup(self, value: Any) -> int | None:
        """The value's code where the query or the database has one."""
        tag, key = spell(value)
        if isinstance(key, int):
            return key
        own = self._codes.get(_own_key(tag, key))
        return self._base.lookup(value) if own is None else own

    def decode(self, code: int) -> Any:
        if not self.is_made(code):
            return self._base.decode(code)
        return self._values[(code & layout.PAYLOAD_MASK) - layout.SCRATCH_BASE]

    def decode_many(self, codes: Int64s) -> list[Any]:
        if not self._values:
            return self._base.decode_many(codes)
        own = self._own_mask(codes)
        if not own.any():
            return self._base.decode_many(codes)
        values = np.empty(len(codes), object)
        at = np.flatnonzero(~own)
        for place, value in zip(at.tolist(), self._base.decode_many(codes[at]), strict=True):
            values[place] = value
        for place in np.flatnonzero(own).tolist():
            values[place] = self.decode(int(codes[place]))
        return _listed(values)

    def to_arrow(self, codes: Int64s) -> pa.Array:
        """The values as an Arrow column; ValueError where they are not all of one type that Arrow has."""
        if not self._own_mask(codes).any():
            return self._base.to_arrow(codes)
        if (codes == layout.NIL).any():
            return _with_nulls(codes, self.to_arrow)
        values = self.decode_many(codes)
        if len({type_name(value) for value in values}) != 1:
            raise ValueError("values of more than one type")
        return _arrow_of_values(layout.tags_of(codes)[0], values)

    def doubles(self, codes: Int64s) -> NDArray[np.float64]:
        """float64[n]: the numbers of codes that are all doubles."""
        if not self._own_mask(codes).any():
            return self._base.doubles(codes)
        return np.array(self.decode_many(codes), np.float64)

    def texts(self, codes: Int64s) -> pa.LargeStringArray:
        """The strings of codes that are all strings."""
        if not self._own_mask(codes).any():
            return self._base.texts(codes)
        return pa.array(self.decode_many(codes), pa.large_string())

    @property
    def text_count(self) -> int:
        """As of the database's codes."""
        return self._base.text_count

    def text_columns(self) -> list[KeyColumn]:
        """As of the database's codes."""
        return self._base.text_columns()

    def decimal_parts(self, codes: Int64s) -> DecimalParts:
        """The parts of codes that are all bigdecs."""
        own = self.made_numbers(codes) if self._values else np.empty(0, np.int64)
        if not len(own) or own.max() < 0:
            return self._base.decimal_parts(codes)
        if own.min() >= 0:
            return self._values.decimal_parts(own)
        parts = DecimalParts(np.empty(len(codes), np.int64), np.empty(len(codes), np.int8))
        for mask, some in (
            (own < 0, self._base.decimal_parts(codes[own < 0])),
            (own >= 0, self._values.decimal_parts(own[own >= 0])),
        ):
            parts.numbers[mask], parts.places[mask] = some
        return parts

    def decimal_table(self, codes: Int64s) -> DecimalParts | None:
        """As of the database's codes; None where some are of this query."""
        if self._values and self._own_mask(codes).any():
            return None
        return self._base.decimal_table(codes)

    def _own_mask(self, codes: Int64s) -> NDArray[np.bool_]:
        return np.asarray(self.made_numbers(codes) >= 0) if self._values else np.zeros(len(codes), np.bool_)


def _own_key(tag: int, key: bytes | int) -> Hashable:
    """What a Scratch knows a value by."""
    word = word_of(key) if tag == layout.TAG_BIGDEC and isinstance(key, bytes) else None
    return (tag, key) if word is None else word


_ARROW_TYPES: Final = {
    layout.TAG_STRING: pa.string(),
    layout.TAG_URI: pa.string(),
    layout.TAG_DOUBLE: pa.float64(),
    layout.TAG_BYTES: pa.large_binary(),
}


def _arrow_of_values(tag: int, values: Sequence[Any]) -> pa.Array:
    if tag in (layout.TAG_KEYWORD, layout.TAG_SYMBOL, layout.TAG_DURATION):
        return pa.array([str(value) for value in values], pa.string())
    if tag not in _ARROW_TYPES:
        raise ValueError(f"no Arrow type for values with tag {tag}")
    return pa.array([None if value is None else value for value in values], _ARROW_TYPES[tag])
