"""How a command ends: what a refusal, an interruption and a closed pipe say, and the exit code of each."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from adalog.datalog.errors import AdalogError, Code
from adalog.gateway.cli.output.console import err, tolerate
from adalog.gateway.cli.output.texts import Text
from adalog.gateway.settings.setting import SettingError

_REFUSED, _USAGE, _UNREACHABLE, _INTERRUPTED, _PIPE_CLOSED = 1, 2, 3, 130, 141


class CommandGroup(click.Group):
    """The commands, of which an interrupted one, and one whose reader is gone, end without a word."""

    def invoke(self, ctx: click.Context) -> Any:
        tolerate()
        try:
            done = super().invoke(ctx)
            sys.stdout.flush()
            return done
        except KeyboardInterrupt:
            ctx.exit(_INTERRUPTED)
        except BrokenPipeError:
            _drop_output()
            ctx.exit(_PIPE_CLOSED)
        except OSError as error:
            # The commands know what files they read and write: this is standard output.
            _drop_output()
            err.tell(f"adalog: the output cannot be written: {error.strerror or error}")
            ctx.exit(_REFUSED)


def _drop_output() -> None:
    """What is left in the buffer would fail once more when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def told(text: Text | None = None) -> Iterator[None]:
    """Refusals as messages and exit codes; `text` is the EDN that positions point into."""
    try:
        yield
    except AdalogError as error:
        from adalog.gateway.cli.output.formats import print_error

        print_error(error, text, err)
        sys.exit(exit_code(error))
    except SettingError as error:
        err.tell(f"adalog: {error}")
        sys.exit(_USAGE)


def exit_code(error: AdalogError) -> int:
    """What a command ends with that was refused."""
    return _UNREACHABLE if error.code is Code.BACKEND_UNAVAILABLE else _REFUSED


def end_unless(done: bool) -> None:
    """Ends the command as one that was refused, where what it had to say is said already."""
    if not done:
        sys.exit(_REFUSED)
