"""How a command ends: what a refusal, an interruption and a closed pipe say, and the exit code of each."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from adalog.datalog.errors import AdalogError, Code
from adalog.gateway.cli.output.console import err, tolerate
from adalog.gateway.cli.output.texts import Text
from adalog.gateway.settings.setting import SettingError

_REFUSED, _USAGE, _UNREACHABLE, _INTERRUPTED, _PIPE_CLOSED = 1, 2, 3, 130, 141


_IN_QUERY: Final = "is a section of the query"
_OTHER_OPTIONS: Final = {
    "--limit": f"it {_IN_QUERY}: :limit 10",
    "--offset": f"it {_IN_QUERY}: :offset 20",
    "--order-by": f"it {_IN_QUERY}: :order-by [[?x :desc]]",
    **dict.fromkeys(("--db", "--database", "--folder", "--dir"), "the folder is --data DIR"),
    **dict.fromkeys(("--server", "--endpoint", "--host", "--port"), "a server is --url http://127.0.0.1:8080"),
    **dict.fromkeys(("--param", "--var", "--variable", "--variables"), "arguments are --arg JSON or --arg-edn EDN"),
    **dict.fromkeys(("--json", "--csv", "--edn", "--output-format"), "write --format json, csv or edn"),
    **dict.fromkeys(("--t", "--basis", "--at", "--asof"), "a past state is --as-of T"),
    **dict.fromkeys(("--file", "--query", "--query-file"), "the EDN, or its file, stands without option"),
}
"""Options of other programs, and what to write."""
_MISCOUNTED: Final = re.compile(r"the query takes \d+ after \$ ")


class CommandGroup(click.Group):
    """The commands, of which an interrupted one, and one whose reader is gone, end without a word."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name
            if any(name in each.opts for command in self.commands.values() for each in command.params):
                raise click.UsageError(f"{name} follows the command, as in adalog query {name} …", ctx) from None
            raise

    def invoke(self, ctx: click.Context) -> Any:
        tolerate()
        try:
            done = super().invoke(ctx)
            sys.stdout.flush()
            return done
        except click.NoSuchOption as error:
            advice = _OTHER_OPTIONS.get(error.option_name)
            if advice is None:
                raise
            raise click.UsageError(f"No such option '{error.option_name}': {advice}", error.ctx) from None
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
        if error.code is Code.ARG_INVALID and _MISCOUNTED.match(error.message):
            error.message += "; each is given by --arg JSON or --arg-edn EDN"
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
