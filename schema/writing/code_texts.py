"""The JSON of values under PLAIN, by their codes: what was written once is not decoded and escaped again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Final, cast

import numpy as np
import orjson

from adalog.datalog.values import Value
from adalog.schema.writing.encoding import Encoding, encode, plain_key
from adalog.schema.writing.longs import SAFE
from adalog.store.database import Database
from adalog.store.values.arrays import Int64s
from adalog.store.values.codes import Codes
from adalog.store.values.layout import TAG_OTHER, tag_of, tags_of

# Bytes of a text that is kept, and texts that are.
_LONG: Final = 500
_MOST: Final = 1 << 15
# Values that are decoded at once, and for one answer: some half a microsecond each.
_PART: Final = 256
_MOST_NEW: Final = 1_000


class CodeTexts:
    """Texts of the values of some codes. A code's value never changes, so neither does its text. Thread-safe:
    threads may write a text twice, which comes to the same."""

    def __init__(self, codes: Codes) -> None:
        self.codes = codes
        self._known: dict[int, bytes] = {}

    def of(self, code: int) -> bytes:
        """The text of a value."""
        known = self._known.get(code)
        if known is None:
            known = self.value(self.codes.decode(code))
            if tag_of(code) and len(known) <= _LONG:
                if len(self._known) >= _MOST:
                    self._known = {}
                self._known[code] = known
        return known

    def rows(self, columns: Sequence[Int64s]) -> bytes | None:
        """The text of rows, by column of codes; None for collections, and where a text takes long to write."""
        written = []
        for codes in columns:
            if not len(codes):
                return b"[]"
            column = self._column(codes.tolist())
            if column is None:
                return None
            written.append(column)
        rows = written[0] if len(written) == 1 else map(b",".join, zip(*written, strict=True))
        return b"[[" + b"],[".join(rows) + b"]]"

    def _column(self, codes: Sequence[int]) -> Sequence[bytes] | None:
        """The texts of values; None likewise."""
        if -SAFE < codes[0] < SAFE and min(codes) > -SAFE and max(codes) < SAFE:
            return orjson.dumps(codes)[1:-1].split(b",")
        try:
            # In one call, as most values were written before. The first code again, since one alone gives no tuple.
            return cast(tuple[bytes, ...], itemgetter(*codes, codes[0])(self._known)[:-1])
        except KeyError:
            column = list(map(self._known.get, codes))
        new = self._new(list({code: None for code, text in zip(codes, column, strict=True) if text is None}))
        if new is None:
            return None
        return [new[code] if text is None else text for code, text in zip(codes, column, strict=True)]

    def _new(self, codes: list[int]) -> Mapping[int, bytes] | None:
        """The texts of values that are not known; None likewise, and for very many, of which it learns some."""
        texts: dict[int, bytes] = {}
        for start in range(0, len(codes), _PART):
            part = np.array(codes[start : start + _PART], np.int64)
            tags = tags_of(part)
            if (tags == TAG_OTHER).any():
                return None
            values = self.codes.decode_many(part)
            is_text = set(map(type, values)) == {str}
            if max((len(each) for each in values if isinstance(each, str | bytes)), default=0) > _LONG:
                return None
            written = dict(zip(part.tolist(), map(orjson.dumps if is_text else self.value, values), strict=True))
            texts |= written
            if not tags.all() or max(map(len, written.values())) > _LONG:
                written = {code: text for code, text in written.items() if tag_of(code) and len(text) <= _LONG}
            if len(self._known) >= _MOST:
                self._known = {}
            self._known.update(written)
            if len(codes) > _MOST_NEW:
                return None
        return texts

    def key(self, key: Value) -> bytes:
        """The text of a map's key."""
        return orjson.dumps(plain_key(key))

    def value(self, value: Value) -> bytes:
        """The text of any value."""
        return orjson.dumps(encode(value, Encoding.PLAIN))


class NewestTexts:
    """The texts of a database's newest codes. An excision makes new codes: the texts of the old ones go with them,
    what it took among them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._texts = CodeTexts(database.snapshot().codes)
        database.on_excision(self._begin)

    def texts(self) -> CodeTexts:
        return self._texts

    def _begin(self) -> None:
        self._texts = CodeTexts(self._database.snapshot().codes)
