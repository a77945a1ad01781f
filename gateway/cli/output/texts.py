"""EDN given to a command: typed, in a file, or on standard input. Each text knows its name for messages.

EDN begins with a bracket, a quote, a comment or `#`. `-` is standard input, and anything else is a file's name.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

_OPENING = ("[", "{", "(", "'", '"', ";", "#")
_STDIN_READ = "adalog.stdin"


@dataclass(frozen=True, slots=True)
class Text:
    """An EDN text. `name`: of its file; None where it was typed."""

    text: str
    name: str | None = None


class TextType(click.ParamType[Text]):
    """EDN text, a file that holds it, or `-`."""

    name = "edn"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Text:
        if isinstance(value, Text):
            return value
        if value == "-":
            text = Text(self._decoded(_standard_input(ctx), "standard input", param, ctx), "standard input")
        elif value.lstrip().startswith(_OPENING):
            text = Text(value)
        else:
            text = Text(self._file(value, param, ctx), value)
        if not text.text.strip():
            self.fail(f"{text.name or 'the text'} is empty.", param, ctx)
        return text

    def _file(self, name: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not name.strip():
            self.fail("the text is empty.", param, ctx)
        try:
            content = Path(name).read_bytes()
        except (OSError, ValueError) as error:
            from adalog.datalog.edn.languages import other_language

            language = other_language(name)
            if language:
                self.fail(language, param, ctx)
            reason = getattr(error, "strerror", None) or str(error)
            self.fail(
                f"{name!r} cannot be read as a file ({reason}), and EDN begins with one of {' '.join(_OPENING)}",
                param,
                ctx,
            )
        return self._decoded(content, name, param, ctx)

    def _decoded(self, content: bytes, name: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            self.fail(f"{name} is not UTF-8 (line {line}).", param, ctx)


def _standard_input(ctx: click.Context | None) -> bytes:
    if ctx is not None:
        if _STDIN_READ in ctx.meta:
            raise click.UsageError("standard input can be read only once; `-` is given twice", ctx)
        ctx.meta[_STDIN_READ] = True
    content: bytes = sys.stdin.buffer.read()
    return content
