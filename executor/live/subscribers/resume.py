"""Where a stream begins: now, at a transaction of long ago, or after an event that was seen. That one a resume
token tells, signed, bound to what was asked and to the transactions up to there.

A token is opaque to clients: base64url of the name of the database, release and key that it belongs to, a
signature, and a JSON body.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final, NamedTuple

import orjson

from adalog.datalog.errors import AdalogError, Code, invalid_argument
from adalog.datalog.values import stable_text
from adalog.executor.live.subscribers.event import StreamPosition
from adalog.executor.live.subscribers.signed_text import SIGNATURE_BYTES, packed, sign, unpacked
from adalog.store.database import Database
from adalog.store.files.formats import RELEASE
from adalog.store.snapshot.transaction_ids import check_moment

_OWNER_BYTES: Final = 6
_MARK_BYTES: Final = 8
_MOST_CHARACTERS: Final = 500
_MARKS: Final = 256

TokenBody = tuple[str, int, int | None, str]
"""The name of a stream, its position, and the mark of the transactions up to there."""


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Where to go on, or, without a position, why that is not possible and the stream starts over."""

    position: StreamPosition | None
    reason: str | None = None


class StreamName(NamedTuple):
    """A short name of what is followed: equal parts, equal name, in every process. `meaning`: of how the schema
    reads it and policies show it, where that matters: a stream whose meaning is another one now starts over."""

    asked: str
    meaning: str = ""

    @staticmethod
    def of(*parts: Hashable, meaning: Hashable = None) -> StreamName:
        return StreamName(_digest(parts), "" if meaning is None else _digest(meaning))

    def of_viewer(self, key: str) -> StreamName:
        """The stream as one viewer sees it; key: equal for viewers who see the same."""
        return StreamName(self.asked, _digest((self.meaning, key)))

    @staticmethod
    def read(text: str) -> StreamName:
        asked, _, meaning = text.partition(" ")
        return StreamName(asked, meaning)

    def __str__(self) -> str:
        return f"{self.asked} {self.meaning}" if self.meaning else self.asked


def _digest(parts: Hashable) -> str:
    return hashlib.sha256(stable_text(parts).encode()).hexdigest()[:16]


@dataclass(slots=True, eq=False)
class ResumeToken:
    """A token that is signed when its text is first asked for: clients that select no `resume` never do.
    Thread-safe. `mark`: of the transactions up to the position, as it was when the event was written."""

    tokens: ResumeTokens
    name: StreamName
    position: StreamPosition
    mark: str
    _text: str | None = None

    def __str__(self) -> str:
        if self._text is None:
            self._text = self.tokens.text(self.name, self.position, self.mark)
        return self._text


class ResumeTokens:
    """Writes and reads the tokens of one database with one secret key. Thread-safe."""

    def __init__(self, database: Database, key: bytes) -> None:
        self._database = database
        self._key = key
        # What another release has told of an answer may not be what this one would have.
        self._owner = hmac.digest(key, f"{RELEASE} {database.log.identity}".encode(), "sha256")[:_OWNER_BYTES]
        # By transaction, and the last excision after it.
        self._marks: dict[tuple[int, int], str] = {}

    def write(self, name: StreamName, position: StreamPosition) -> ResumeToken:
        return ResumeToken(self, name, position, self._mark(position.t, position.excised))

    def text(self, name: StreamName, position: StreamPosition, mark: str) -> str:
        """The token of a position, with the mark of the transactions up to there."""
        body = orjson.dumps([str(name), position.t, position.rows, mark])
        return packed(self._owner, sign(self._key, body), body)

    def read(self, text: str, name: StreamName) -> ResumePoint:
        """Where the named stream goes on. Raises ARG_INVALID for what is no token of this stream."""
        body = self._signed(text)
        if body is None:
            return ResumePoint(
                None, "the token was made by another database or release of adalog, or before its key was made anew"
            )
        written, t, rows, mark = body
        told = StreamName.read(written)
        if told.asked != name.asked:
            raise _refused("belongs to another query or to other arguments")
        if told.meaning != name.meaning:
            return ResumePoint(
                None, "the schema or the permissions have changed since, and with them what it shows"
            )
        now = self._database.snapshot()
        excised = now.origin.excised
        if t > now.t:
            return ResumePoint(None, f"the token is of transaction {t}, which this database has not reached")
        if mark != self._mark(t, excised):
            why = "are not those that the token was made after"
            if excised > t:
                why += "; an excision may have taken something of them since"
            return ResumePoint(None, f"the transactions up to {t} {why}")
        # An excision from here on has the stream start over.
        return ResumePoint(StreamPosition(t, rows, excised))

    def t_of(self, text: str) -> int | None:
        """The transaction that a token is of; None where it is none of ours."""
        try:
            body = self._signed(text)
        except AdalogError:
            return None
        return None if body is None else body[1]

    def is_recent(self, text: str) -> bool:
        """Whether `read` needs no disk to tell what the token is worth."""
        t = self.t_of(text)
        if t is None:
            return True
        return (
            t > self._database.snapshot().t
            or (t, self._database.excised_after(t)) in self._marks
            or self._database.log.recent_checksum(t) is not None
        )

    def _signed(self, text: str) -> TokenBody | None:
        """What a token says; None where it is another database's. Raises ARG_INVALID for what is no token."""
        raw = unpacked(text, _MOST_CHARACTERS)
        if raw is None:
            raise _refused("is not a token")
        owner, signed = raw[:_OWNER_BYTES], raw[_OWNER_BYTES:]
        signature, body = signed[:SIGNATURE_BYTES], signed[SIGNATURE_BYTES:]
        if not hmac.compare_digest(owner, self._owner):
            if not _is_body(body):
                raise _refused("is not a token")
            return None
        if not hmac.compare_digest(signature, sign(self._key, body)):
            raise _refused("was changed on the way")
        said: TokenBody = orjson.loads(body)
        return said

    def _mark(self, t: int, excised: int) -> str:
        """excised: the last excision of which nothing is left in what was told. What was made from a state before
        the newest excision may be written after it."""
        key = (t, excised if excised > t else 0)
        mark = self._marks.get(key)
        if mark is None:
            mark = hashlib.sha256(self._database.history_mark(t, excised).encode()).hexdigest()[: 2 * _MARK_BYTES]
            if len(self._marks) >= _MARKS:
                self._marks.clear()
            self._marks[key] = mark
        return mark


@dataclass(frozen=True, slots=True)
class StreamStart:
    """After a position, None for a snapshot of now. `each`: every transaction since is to be told by itself.
    `reset`: why the stream starts over instead of going on."""

    position: StreamPosition | None = None
    each: bool = False
    reset: str | None = None


def began(
    database: Database, tokens: ResumeTokens, name: StreamName, resume: str | None, from_t: int | None
) -> StreamStart:
    """Where the stream of that name begins. Raises ARG_INVALID and BASIS_FUTURE."""
    if resume is not None and from_t is not None:
        raise invalid_argument("both resume and fromT are given; give at most one of them")
    if resume is not None:
        found = tokens.read(resume, name)
        return StreamStart(found.position, reset=found.reason)
    if from_t is not None:
        check_moment("fromT", from_t)
        now = database.snapshot().t
        if from_t > now:
            message = f"fromT = {from_t} is not reached yet: the newest transaction is {now}"
            raise AdalogError(Code.BASIS_FUTURE, message)
        return StreamStart(StreamPosition(from_t, 0), each=True)
    return StreamStart()


def _is_body(body: bytes) -> bool:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    return isinstance(found, list) and len(found) == 4


def _refused(why: str) -> AdalogError:
    message = f"`resume` {why}; hand back an event's resume with the same query and arguments"
    return invalid_argument(message)
