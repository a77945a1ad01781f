"""Standard output and standard error, in whatever encoding they have, and whether they are terminals."""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, NoReturn

import orjson
from rich.console import Console

_PLAIN: Mapping[str, str] = {"…": "...", "─": "-", "│": "|", "·": "-", "→": "->", "’": "'", "–": "-", "—": "-"}
_ERRORS = "adalog"


class Terminal(Console):
    """rich's console, which leaves a reader that went away to its caller."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError

    def tell(self, text: str, style: str | None = None) -> None:
        """Prints a text as it is, whatever its length."""
        self.print(text, style=style, markup=False, soft_wrap=True)

    def json(self, said: Mapping[str, Any]) -> None:
        """Prints what came of a command as a line of JSON."""
        self.out(orjson.dumps(said).decode(), highlight=False)

    @property
    def room(self) -> int | None:
        """The columns there are to fit; None where a pipe or a file takes any line."""
        return self.width if self.file.isatty() else None

    @property
    def mark(self) -> str:
        """What ends a text that was cut: one column wide, in the stream's encoding."""
        try:
            "…".encode(self.encoding)
        except (UnicodeEncodeError, LookupError):
            return "~"
        return "…"


out = Terminal(highlight=False)
err = Terminal(stderr=True, highlight=False)


def tolerate() -> None:
    """Opens streams in place of those that are closed, and lets them write what their encoding lacks: our own marks
    in ASCII, all else as \\u escapes."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Held to the end: the next file that is opened, the database's say, would get the number otherwise.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ERRORS)


@contextmanager
def binary() -> Iterator[BinaryIO]:
    """Standard output for bytes, of which none is lost without an error."""
    stream = sys.stdout.buffer
    if not isinstance(stream, io.RawIOBase):
        yield stream
        stream.flush()
        return
    # PYTHONUNBUFFERED: such a stream writes a part and says how much, which few callers look at.
    buffered = io.BufferedWriter(stream)
    try:
        yield buffered
        buffered.flush()
    finally:
        with suppress(OSError):
            buffered.detach()


def _substitute(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    escaped = (
        _PLAIN.get(character) or character.encode("ascii", "backslashreplace").decode("ascii") for character in text
    )
    return "".join(escaped), error.end


codecs.register_error(_ERRORS, _substitute)
