"""The shell on a terminal: several lines, colours, completion, a history that stays, pages for long answers."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.document import Document
from prompt_toolkit.filters import completion_is_selected, has_completions
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.shortcuts import CompleteStyle
from pygments.lexers.jvm import ClojureLexer

from adalog.gateway.cli.output.console import out
from adalog.gateway.cli.printing import say
from adalog.gateway.cli.shell.completion import EdnCompleter
from adalog.gateway.cli.shell.session import Leave, RefusedStatement, ShellSession
from adalog.gateway.cli.shell.statements import indentation, is_whole

# Lines of a terminal that an answer leaves to the prompt.
_LEFT: Final = 2


def converse(session: ShellSession, place: str, **terminal: Any) -> None:
    """Reads and runs statements until Ctrl-D or :quit. place: what the prompt names; terminal: the input and output
    of the prompt, where they are not the process's."""
    prompt: PromptSession[str] = PromptSession(
        history=history(),
        completer=EdnCompleter(session.attributes),
        lexer=PygmentsLexer(ClojureLexer),
        auto_suggest=AutoSuggestFromHistory(),
        key_bindings=keys(),
        multiline=True,
        complete_while_typing=False,
        complete_style=CompleteStyle.MULTI_COLUMN,
        prompt_continuation=lambda width, _line, _wraps: " " * width,
        **terminal,
    )
    while True:
        # Before the prompt, whose event loop leaves no room for requests.
        session.attributes()
        state = session.reading.shown
        try:
            text = prompt.prompt(f"{place} {state}> " if state else f"{place}> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        try:
            session.run(text)
        except RefusedStatement:
            continue
        except Leave:
            return
        except KeyboardInterrupt:
            say("cancelled")


def keys() -> KeyBindings:
    """Enter runs what is whole, and begins a line within an open bracket; after Escape it begins one anyway."""
    bindings = KeyBindings()

    @bindings.add("enter", filter=~(has_completions & completion_is_selected))
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_whole(buffer.text) and not buffer.document.text_after_cursor.strip():
            buffer.validate_and_handle()
        else:
            _new_line(event)

    @bindings.add("enter", filter=has_completions & completion_is_selected)
    def _chosen(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @bindings.add("escape", "enter")
    def _new_line(event: KeyPressEvent) -> None:
        document: Document = event.current_buffer.document
        event.current_buffer.insert_text("\n" + " " * indentation(document.text_before_cursor))

    return bindings


def history() -> History:
    """The history in the user's state folder, for the user alone; of this process where that cannot be written."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(state) / "adalog" / "history"
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        return FileHistory(path)
    return InMemoryHistory()


def page_by_page(printing: Callable[[], None]) -> None:
    """Prints, and through a pager what is higher than the terminal."""
    with out.capture() as capture:
        printing()
    text = capture.get()
    if text.count("\n") > out.size.height - _LEFT:
        os.environ.setdefault("LESS", "-FRSX")
        click.echo_via_pager(text, color=True)
    else:
        click.echo(text, nl=False, color=True)
