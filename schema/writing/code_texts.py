"""The JSON of values under PLAIN, by their codes: what was written once is not decoded and escaped again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson

from adalog.datalog.values import Value
from adalog.schema.writing.encoding import Encoding, encode, plain_key
from adalog.schema.writing.longs import SAFE
from adalog.store.database import Database
from adalog.store.values.codes import Codes
from adalog.store.values.layout import TAG_OTHER, tag_of

# Bytes of a text that is kept, and texts that are.
_LONG: Final = 500
_MOST: Final = 1 << 15


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

    def short(self, code: int) -> bytes | None:
        """The text of a value, if it is written in no time; None for collections and what is long."""
        known = self._known.get(code)
        if known is not None:
            return known
        if -SAFE < code < SAFE:
            return b"%d" % code
        if tag_of(code) == TAG_OTHER:
            return None
        value = self.codes.decode(code)
        if isinstance(value, str | bytes) and len(value) > _LONG:
            return None
        return self.of(code)

    def rows(self, columns: Sequence[Sequence[int]]) -> bytes | None:
        """The text of rows, by column; None as of `short`."""
        known, written = self._known, list[list[Any]]()
        for codes in columns:
            column = list(map(known.get, codes))
            if None in column:
                column = list(map(self.short, codes))
                if None in column:
                    return None
            written.append(column)
        if not written[0]:
            return b"[]"
        return b"[[" + b"],[".join(map(b",".join, zip(*written, strict=True))) + b"]]"

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

    @property
    def texts(self) -> CodeTexts:
        return self._texts

    def _begin(self) -> None:
        self._texts = CodeTexts(self._database.snapshot().codes)
