"""Where a bracket is probably missing: the reader only knows which one is open when the text ends.

The indentation and the shape of patterns tell which one the author forgot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adalog.datalog.edn.outline import OPENING, TOKEN, is_prefix
from adalog.datalog.watched import look

_SECTIONS: Final = frozenset(
    (":find", ":where", ":in", ":with", ":rules", ":order-by", ":limit", ":offset", ":keys", ":strs", ":syms")
)
# Tokens between two looks at whether to go on.
_LOOK: Final = 1024


@dataclass(slots=True)
class _Open:
    """A bracket that is open: where it stands, and the first token in it."""

    token: str
    offset: int
    line: int
    column: int
    first: str = ""


def forgotten(text: str) -> tuple[int, int] | None:
    """(the offset of a bracket that is probably open too long, that of what should come after its end), in a text
    where one is missing; None where nothing tells, or several are missing."""
    stack: list[_Open] = []
    found: tuple[int, int] | None = None
    line, start, end = 0, 0, 0
    for index, match in enumerate(TOKEN.finditer(text)):
        if not index % _LOOK:
            look()
        token, offset = match[0], match.start()
        if token[0] == ";" or is_prefix(token):
            continue
        lines = text.count("\n", end, offset)
        line, end = line + lines, offset
        if lines:
            start = text.rfind("\n", 0, offset) + 1
        if token in ("]", ")", "}"):
            if stack:
                stack.pop()
            continue
        if stack:
            top = stack[-1]
            is_left = lines > 0 and line > top.line and offset - start <= top.column
            if found is None and (is_left or _is_apart(stack, token)):
                found = top.offset, offset
            if not top.first:
                top.first = token
                if found is None and len(stack) > 1 and _is_pattern(top) and _is_pattern(stack[-2]):
                    found = stack[-2].offset, top.offset
        if token in OPENING:
            stack.append(_Open(token, offset, line, offset - start))
    return found if len(stack) == 1 else None


def _is_pattern(bracket: _Open) -> bool:
    return bracket.token == "[" and bracket.first.startswith("?")


def _is_apart(stack: list[_Open], token: str) -> bool:
    """Whether a section of the query begins within one of its parts."""
    return (
        len(stack) > 1
        and token in _SECTIONS
        and stack[-1].token in "[("
        and stack[-1].first not in ("", *_SECTIONS)
    )
