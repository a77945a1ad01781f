"""Regular expressions by RE2, whose time is linear in the text and which lets other threads run meanwhile.

What a pattern's program and a text come to is known before the text is looked at, and bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NoReturn

# The binding's own layer below its Python classes: it gives spans, and makes no object for each match.
from re2 import _re2  # type: ignore[import-untyped]

from adalog.datalog.builtins.builtin import Builtin, long_of, refuse, refuse_type, shown, shown_call, text_of
from adalog.datalog.builtins.regex_syntax import MissingError, for_re2
from adalog.datalog.builtins.text import check_length
from adalog.datalog.errors import limit_exceeded
from adalog.datalog.values import EdnMap, Keyword, Value
from adalog.datalog.watched import look

MAX_PATTERN: Final = 1000
MAX_WORK: Final = 1 << 26
"""Instructions of the pattern by bytes of the text: less than a second where nothing of RE2's quick ways helps."""
MAX_MATCHES: Final = 1_000_000

# Patterns that are kept, and bytes that RE2 may use for each.
_KEPT: Final = 128
_MEMORY: Final = 1 << 19
# Work, and matches, between two looks at the deadline.
_LOOK: Final = 1 << 20
_LOOK_MATCHES: Final = 256
_NO_SPAN: Final = (-1, -1)
_ANYWHERE: Final = _re2.RE2.Anchor.UNANCHORED
_WHOLE: Final = _re2.RE2.Anchor.ANCHOR_BOTH

_OF_REPLACEMENT: Final = re.compile(r"([^$\\]+|\$(?![0-9]))|\$([0-9])|(\\.?)", re.DOTALL)
_ESCAPE: Final = Keyword("escape")
# What stands for something else, or may begin with such.
_SPECIAL: Final = frozenset(r"\^$.|?*+()[]{}")

Spans = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class RegexPattern:
    """A compiled pattern. size: of its program; groups: whether it captures any; longest: text that it is tried on,
    and unlooked: that is matched without a look at the deadline, in bytes."""

    source: str
    program: Any
    size: int
    groups: bool
    longest: int
    unlooked: int

    def match(self, anchor: Any, text: bytes, start: int = 0) -> Spans | None:
        """The spans of the whole and of each group, from `start` on, in bytes."""
        if len(text) - start > self.unlooked:
            look()
        spans: Spans = self.program.Match(anchor, text, start, len(text))
        return None if spans[0] == _NO_SPAN else spans

    def found(self, text: bytes, spans: Spans) -> Value:
        """The match, or a vector of it and its groups."""
        if not self.groups:
            start, stop = spans[0]
            return text[start:stop].decode()
        return tuple(None if span == _NO_SPAN else text[span[0] : span[1]].decode() for span in spans)


def _options() -> Any:
    options = _re2.RE2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    return options


@lru_cache(maxsize=_KEPT)
def _compiled(source: str) -> RegexPattern:
    if len(source) > MAX_PATTERN:
        refuse(f"the pattern {shown(source)} has {len(source):,} characters; at most {MAX_PATTERN:,} are taken")
    try:
        program = _re2.RE2(for_re2(source).encode(), _options())
    except MissingError as missing:
        none = f"{missing.what}, and RE2, which runs it, has none"
        refuse(f"the pattern {shown(source)} has {none}; {missing.instead}")
    if not program.ok():
        _refuse_pattern(source, program.error().decode())
    size = program.ProgramSize()
    groups = program.NumberOfCapturingGroups() > 0
    return RegexPattern(source, program, size, groups, MAX_WORK // size, _LOOK // size)


def _refuse_pattern(source: str, why: str) -> NoReturn:
    if "repetition operator" in why:
        why += " (there are no possessive repetitions: none ever goes back)"
    elif "too large" in why or "repetition size" in why:
        why += "; what is repeated comes to at most 1,000 copies"
    refuse(f"{shown(source)} is not a regular expression of RE2's: {why}")


def _prepared(name: str, args: tuple[Value, ...]) -> tuple[RegexPattern, bytes]:
    pattern = _compiled(text_of(name, args, 0))
    text = text_of(name, args, 1).encode()
    if len(text) > pattern.longest:
        refuse(
            f"the text {shown(args[1])} has {len(text):,} bytes; to bound its time the pattern {shown(args[0])} is "
            f"tried on at most {pattern.longest:,}, and on more with fewer or shorter repetitions"
        )
    return pattern, text


def _one_match(name: str, anchor: Any) -> Builtin:
    def call(*args: Value) -> Value:
        pattern, text = _prepared(name, args)
        spans = pattern.match(anchor, text)
        return None if spans is None else pattern.found(text, spans)

    return Builtin(name, 2, 2, call)


def _re_seq(*args: Value) -> Value:
    pattern, text = _prepared("re-seq", args)
    return tuple(pattern.found(text, spans) for spans in _matches(pattern, text)) or None


def _matches(pattern: RegexPattern, text: bytes) -> Iterator[Spans]:
    """The spans of one match after the other; after an empty one from the next character on, as in Java."""
    at = number = 0
    while at <= len(text):
        spans = pattern.match(_ANYWHERE, text, at)
        if spans is None:
            return
        number += 1
        if number % _LOOK_MATCHES == 0:
            look()
        if number > MAX_MATCHES:
            times = f"more than {MAX_MATCHES:,} times in {shown(text.decode())}"
            raise limit_exceeded(f"{shown(pattern.source)} matches {times}")
        yield spans
        start, at = spans[0]
        if start == at:
            at += 1
            while at < len(text) and text[at] & 0xC0 == 0x80:
                at += 1


def _re_pattern(source: Value) -> Value:
    _compiled(text_of("re-pattern", (source,), 0))
    return source


def _split(*args: Value) -> Value:
    """The parts of a text between the matches of a pattern, as in Java: without empty ones at the end, unless a
    limit is given."""
    pattern, text = _prepared("split", (args[1], args[0]))
    limit = long_of("split", args, 2) if len(args) > 2 else 0
    parts: list[str] = []
    at = 0
    for (start, stop), *_ in _matches(pattern, text):
        if 0 < limit <= len(parts) + 1:
            break
        if stop > 0:
            parts.append(text[at:start].decode())
            at = stop
    parts.append(text[at:].decode())
    while limit == 0 and at > 0 and parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def _re_replace(name: str, most: int | None) -> Builtin:
    """Replaces matches of a pattern; `$1` in the replacement is the first group, and a backslash takes the meaning
    from what follows."""

    def call(*args: Value) -> str:
        pattern, text = _prepared(name, (args[1], args[0]))
        parts = _replacement(name, args)
        made: list[bytes] = []
        size = at = 0
        for spans in islice(_matches(pattern, text), most):
            piece = [text[at : spans[0][0]]]
            for part in parts:
                if isinstance(part, bytes):
                    piece.append(part)
                elif part < len(spans):
                    start, stop = spans[part]
                    piece.append(text[start:stop] if start >= 0 else b"")
                else:
                    refuse(f"{shown_call(name, args)}: the pattern has no group {part}")
            at = spans[0][1]
            made += piece
            size += sum(map(len, piece))
            check_length(name, args, size // 4)
        result = b"".join([*made, text[at:]]).decode()
        check_length(name, args, len(result))
        return result

    return Builtin(name, 3, 3, call)


def _replacement(name: str, args: tuple[Value, ...]) -> list[bytes | int]:
    """The parts of a replacement: texts, and numbers of groups."""
    parts: list[bytes | int] = []
    for plain, group, escaped in _OF_REPLACEMENT.findall(text_of(name, args, 2)):
        parts.append(int(group) if group else (plain or escaped[1:]).encode())
    return parts


def _like(name: str, wanted: bool) -> Builtin:
    """`options`: what takes the meaning from the character after it, `{:escape "!"}`."""

    def call(value: Value, pattern: Value, options: Value = None) -> bool:
        args = (value, pattern) if options is None else (value, pattern, options)
        if value is None:
            return False
        escape = "\\" if options is None else _escape(name, args)
        compiled, text = _prepared(name, (_of_like(text_of(name, args, 1), escape), text_of(name, args, 0)))
        return (compiled.match(_WHOLE, text) is not None) is wanted

    return Builtin(name, 2, 3, call)


def _escape(name: str, args: tuple[Value, ...]) -> str:
    options = args[2]
    escape = options.get(_ESCAPE) if isinstance(options, EdnMap) and len(options) == 1 else None
    if not isinstance(escape, str) or len(escape) != 1:
        refuse_type(name, args, options, 'one character that escapes the next, as in {:escape "!"}')
    return str(escape)


@lru_cache(maxsize=_KEPT)
def _of_like(pattern: str, escape: str) -> str:
    """A pattern of SQL's as a regular expression."""
    meant = {"%": ".*", "_": "."}
    found = re.findall(f"([^{re.escape(escape)}])|{re.escape(escape)}(.?)", pattern, re.DOTALL)
    parts = [meant[plain] if plain in meant else re.escape(escaped or plain) for plain, escaped in found]
    return f"(?s){''.join(parts)}"


def literal_regex(pattern: str) -> RegexPattern | None:
    """A pattern without special characters, which matches itself alone; None for others and for refused ones."""
    return _compiled(pattern) if len(pattern) <= MAX_PATTERN and not _SPECIAL & set(pattern) else None


def like_regex(pattern: str) -> RegexPattern:
    """What `like` tries on a whole text, without options."""
    return _compiled(_of_like(pattern, "\\"))


REGEXES = (
    _one_match("re-find", _ANYWHERE),
    _one_match("re-matches", _WHOLE),
    Builtin("re-seq", 2, 2, _re_seq),
    Builtin("re-pattern", 1, 1, _re_pattern),
    _re_replace("re-replace", None),
    _re_replace("re-replace-first", 1),
)

LIKES = (
    _like("like", True),
    _like("not-like", False),
)
"""SQL's: % is any text, _ any character; a backslash, or another `:escape`, takes the meaning from what follows."""

SPLIT = Builtin("split", 2, 3, _split)
"""Of the namespace clojure.string."""
