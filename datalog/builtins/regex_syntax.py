"""Patterns as Java and Python spell them, in RE2's spelling; and what RE2 has no counterpart of."""

from __future__ import annotations

import re
from typing import Final


class MissingError(Exception):
    """The pattern has what RE2 has not. `what` with its article; `instead`: what would be right."""

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(what)
        self.what = what
        self.instead = instead


_BACKREFERENCE = ("a reference back to a group", "match both with groups of their own, and compare these with =")
_LOOKAROUND = ("a condition on what stands around", "match that too, and take a group; or ask with a second clause")
_ATOMIC = ("an atomic group", "write (?:…): no pattern ever goes back")
_MISSING: Final = (
    ("(?=", _LOOKAROUND),
    ("(?!", _LOOKAROUND),
    ("(?<=", _LOOKAROUND),
    ("(?<!", _LOOKAROUND),
    ("(?>", _ATOMIC),
    ("(?P=", _BACKREFERENCE),
    ("(?(", ("a condition on a group", "write both cases with |")),
    ("(?#", ("a comment", "leave it out")),
)

# White space has a vertical tab, in Java and Python and not in RE2. All else, for a class that holds more.
_SPACE: Final = r"\t-\r "
_NO_SPACE: Final = r"\x{0}-\x08\x0e-\x1f!-\x{10ffff}"
_OUTSIDE: Final = {"s": f"[{_SPACE}]", "S": f"[^{_SPACE}]", "Z": r"\z"}
_WITHIN: Final = {"s": _SPACE, "S": _NO_SPACE, "b": r"\x08"}

_TOKEN = re.compile(r"\\Q.*?(?:\\E|$)|\\u[0-9A-Fa-f]{4}|\\k|\\.|\{,(?=\d+\})|\[\^?\]?|.", re.DOTALL)


def for_re2(source: str) -> str:
    """The pattern in RE2's spelling. Raises MissingError."""
    made: list[str] = []
    within = False
    at = 0
    while at < len(source):
        token = _POSIX.match(source, at) if within else None
        token = token or _TOKEN.match(source, at)
        assert token is not None, "any character is a token"
        text = token[0]
        if text[0] == "\\":
            text = _escape(text, within)
        elif within:
            if text[0] == "]":
                within = False
            elif text[0] == "[" and not text.startswith("[:"):
                # One of the set; what follows it is a token of its own.
                made.append(r"\[")
                at += 1
                continue
        elif text[0] == "[":
            within = True
        elif text == "{,":
            text = "{0,"
        elif text == "(":
            _check_group(source, at)
        made.append(text)
        at = token.end()
    return "".join(made)


_POSIX = re.compile(r"\[:\^?\w+:\]")


def _check_group(source: str, at: int) -> None:
    for opening, (what, instead) in _MISSING:
        if source.startswith(opening, at):
            raise MissingError(what, instead)


def _escape(text: str, within: bool) -> str:
    """An escape in RE2's spelling."""
    kind = text[1:2]
    if kind == "u" and len(text) == 6:
        return rf"\x{{{text[2:]}}}"
    if kind == "k" or (kind in "123456789" and kind and not within):
        raise MissingError(*_BACKREFERENCE)
    if kind == "_" or kind > "\x7f":
        return kind
    return (_WITHIN if within else _OUTSIDE).get(kind, text)
