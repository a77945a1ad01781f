"""Cuts what is typed, or a file, into statements: commands, which begin with a colon and end with their line, and
EDN forms. A line ends nothing while a bracket or a string is open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from adalog.datalog.edn.outline import OPENING, TOKEN, is_prefix

_CLOSING: Final = ("]", ")", "}")
_IN_MAP: Final = frozenset((":find", ":where"))


@dataclass(frozen=True, slots=True)
class Statement:
    """A command, or an EDN form. `text`: padded, so that its lines and columns are those of the whole text."""

    text: str

    @property
    def command(self) -> str | None:
        """The name of a command, with its colon; None for a form."""
        text = self.text.lstrip()
        return text.split(None, 1)[0] if text.startswith(":") else None

    @property
    def rest(self) -> str:
        """What follows a command's name, at its place."""
        start = len(self.text) - len(self.text.lstrip())
        end = start + len(self.command or "")
        return self.text[:start] + " " * (end - start) + self.text[end:]

    @property
    def is_query(self) -> bool:
        """Whether a form is a query, or something that is none: a vector of forms, and a map without :find, are
        transaction data."""
        words = (match[0] for match in TOKEN.finditer(self.text) if match[0][0] != ";")
        first, second = next(words, ""), next(words, "")
        if first == "[":
            return second not in ("[", "{", "(", "]")
        return first != "{" or second in _IN_MAP or not _IN_MAP.isdisjoint(words)


def is_whole(text: str) -> bool:
    """Whether no bracket and no string is open at the end, and no tag waits for its form."""
    depth, prefixed = 0, False
    for match in TOKEN.finditer(text):
        token = match[0]
        if token[0] == ";":
            continue
        if token == '"':
            return False
        depth += (token in OPENING) - (token in _CLOSING)
        prefixed = is_prefix(token)
    return depth <= 0 and not prefixed


def indentation(text: str) -> int:
    """The column at which a new line continues the innermost open bracket."""
    columns: list[int] = []
    for match in TOKEN.finditer(text):
        token = match[0]
        if token in OPENING:
            columns.append(match.end() - (text.rfind("\n", 0, match.start()) + 1))
        elif token in _CLOSING and columns:
            columns.pop()
    return columns[-1] if columns else 0


def forms(text: str) -> list[str]:
    """The EDN forms of a text, one after the other."""
    return [each.text.strip() for each in _cut(text, commands=False)]


def statements(text: str) -> list[Statement]:
    return list(_cut(text, commands=True))


def _cut(text: str, *, commands: bool) -> Iterator[Statement]:
    start: int | None = None
    depth, in_command, prefixed = 0, False, False
    end = 0
    for match in TOKEN.finditer(text):
        token = match[0]
        if in_command and depth <= 0 and start is not None and "\n" in text[end : match.start()]:
            yield _statement(text, start, end)
            start, in_command, depth = None, False, 0
        end = match.end()
        if token[0] == ";":
            continue
        if start is None:
            start, depth = match.start(), 0
            if token[0].isalpha():
                # No statement begins so; what it was meant for is told by all of it.
                break
            in_command = commands and token[0] == ":"
        depth += (token in OPENING) - (token in _CLOSING)
        prefixed = is_prefix(token)
        if not in_command and depth <= 0 and not prefixed:
            yield _statement(text, start, end)
            start = None
    if start is not None:
        yield _statement(text, start, len(text.rstrip()))


def _statement(text: str, start: int, end: int) -> Statement:
    line_start = text.rfind("\n", 0, start) + 1
    padding = "\n" * text.count("\n", 0, start) + " " * (start - line_start)
    return Statement(padding + text[start:end])
