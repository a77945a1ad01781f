"""Page cursors, bound to the snapshot and the question they were made for, and signed.

A cursor is opaque to clients: base64url of a JSON body and an HMAC. One from another question, another server's key
or another release of adalog, or a changed one, is ARG_INVALID. The key lives in the data folder, so that cursors
outlive a restart.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from adalog.datalog.errors import AdalogError, invalid_argument
from adalog.executor.live.subscribers.resume import ResumeTokens
from adalog.executor.live.subscribers.signed_text import SIGNATURE_BYTES, packed, sign, unpacked
from adalog.store.files.formats import RELEASE
from adalog.store.snapshot.snapshot import Snapshot, SpeculationStart

if TYPE_CHECKING:
    from adalog.store.database import Database

_MOST_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page ended: `offset` rows of the answer to `question` on the view (t, since, history). start: where
    the transaction that `with` applied to it began. excised: the last excision after t that the rows know of, 0 for
    none: another one may have taken rows before the offset."""

    question: str
    offset: int
    t: int
    since: int | None = None
    history: bool = False
    start: SpeculationStart | None = None
    excised: int = 0

    def check(self, snapshot: Snapshot, argument: str = "after") -> None:
        """Raises ARG_INVALID if a snapshot of its moment may have other rows by now. argument: that it came as."""
        if self.excised != excised_since(snapshot, self.t):
            raise outdated_cursor(argument)


class Cursors:
    """Writes and reads cursors with one secret key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def tokens(self, database: Database) -> ResumeTokens:
        """The resume tokens of live queries, under the same key."""
        return ResumeTokens(database, self._key)

    def write(self, cursor: Cursor) -> str:
        view = (cursor.t, cursor.since, cursor.history)
        start = cursor.start and [*cursor.start]
        body = orjson.dumps([cursor.question, cursor.offset, *view, start, cursor.excised])
        return packed(self._sign(body), body)

    def read(self, text: str, question: str, *, owned: bool = False, argument: str = "after") -> Cursor:
        """The cursor in `text`, which is an argument. Raises ARG_INVALID unless it was made here for the same
        question; owned: one that is asked of many entities, after which the question of a cursor names one:
        `question.entity`."""
        raw = unpacked(text, _MOST_CHARACTERS)
        if raw is None:
            raise _refused(argument, "is not a cursor")
        signature, body = raw[:SIGNATURE_BYTES], raw[SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, self._sign(body)):
            why = "was not made by this database and this release of adalog, or was changed on the way"
            raise _refused(argument, why)
        asked, offset, t, since, history, start, excised = orjson.loads(body)
        start = None if start is None else SpeculationStart(*start)
        cursor = Cursor(asked, offset, t, since, history, start, excised)
        asked = cursor.question.partition(".")[0] if owned else cursor.question
        if asked != question:
            raise _refused(argument, "belongs to another query, other arguments another basis or other permissions")
        return cursor

    def _sign(self, body: bytes) -> bytes:
        # Rows may come in another order from another release.
        return sign(self._key, f"{RELEASE} ".encode() + body)


def question(*parts: object) -> str:
    """A short name of what was asked: equal parts, equal name."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def excised_since(snapshot: Snapshot, t: int) -> int:
    """The last excision after a transaction that a snapshot knows of, 0 for none."""
    excised = snapshot.origin.excised
    return excised if excised > t else 0


def outdated_cursor(argument: str) -> AdalogError:
    """The error for a cursor from before an excision. argument: that it came as."""
    return invalid_argument(
        f"`{argument}` was issued before an excision, which may have removed rows of the earlier pages; begin with "
        "the first page"
    )


def _refused(argument: str, why: str) -> AdalogError:
    edge = "startCursor" if argument.endswith("before") else "endCursor"
    return invalid_argument(f"`{argument}` {why}; hand back pageInfo.{edge} with the same query and arguments")
