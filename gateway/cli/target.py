"""Where a command finds its database: a folder with the settings of the command, or a server."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from adalog.gateway.cli.options import CONFIG, OPTION_KEYS, data_option, option, options
from adalog.gateway.cli.output.console import err
from adalog.gateway.settings.retired import RETIRED
from adalog.gateway.settings.setting import variable

if TYPE_CHECKING:
    from adalog.gateway.cli.backend import Backend, RemoteBackend
    from adalog.gateway.settings.config import Settings
    from adalog.gateway.settings.sources import SettingsRead

# Variables of `make`.
_SET_UP = frozenset({"ADALOG_NO_SYSTEM_PACKAGES"})


@dataclass(frozen=True, slots=True)
class Target:
    """What --url and --token of a command name, and --data among its settings."""

    url: str | None
    token: str | None

    @contextmanager
    def place(self, *, reads: bool) -> Iterator[RemoteBackend | Settings]:
        """The server that is asked, or the settings of the folder. reads: the command makes no database."""
        if is_typed("data") and is_typed("url"):
            raise click.UsageError("--data and --url are both given; name the folder or the server")
        if self.url and not is_typed("data"):
            from adalog.gateway.cli.backend import RemoteBackend

            yield RemoteBackend(self.url, self.token)
            return
        settings = present_settings()
        from adalog.gateway.cli.existence import check_exists, is_made

        if reads:
            check_exists(settings)
        elif is_made(settings):
            err.tell(made(settings), "dim")
        yield settings

    @contextmanager
    def backend(self, *, reads: bool, spark: bool = False) -> Iterator[Backend]:
        """The backend that answers GraphQL for the place. spark: a folder's is answered by the second engine."""
        from adalog.gateway.cli.backend import RemoteBackend, opened

        with self.place(reads=reads) as place:
            if isinstance(place, RemoteBackend):
                yield place
                return
            with opened(place, spark=spark) as local:
                yield local


_place_options = options(
    data_option,
    option("--url", metavar="URL", help="A served adalog, e.g. http://127.0.0.1:8080."),
    option("--token", metavar="TOKEN", help="The bearer token for --url."),
)


def where_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--data, --url and --token, which the command gets as one argument, `where`."""

    @functools.wraps(command)
    def given(*, data: str | None, url: str | None, token: str | None, **rest: Any) -> Any:
        return command(where=Target(url, token), **rest)

    return _place_options(given)


def is_typed(name: str) -> bool:
    """Whether an option of the present command stands on the command line."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def present_settings() -> Settings:
    """The settings of the present command. Raises SettingError."""
    return read_settings().settings


def read_settings() -> SettingsRead:
    """The settings of the present command, where what was typed goes before all else. Raises SettingError."""
    from adalog.gateway.settings.config import names
    from adalog.gateway.settings.sources import nearest, read

    ctx = click.get_current_context()
    typed = {name: value for name, value in ctx.params.items() if name in names() | RETIRED and is_typed(name)}
    if is_typed("config"):
        typed["config"] = ctx.meta[CONFIG]
    found = read(os.environ, typed, OPTION_KEYS)
    for unknown in sorted(set(found.unknown) - _SET_UP):
        known = [variable(name) for name in (*names(), *OPTION_KEYS)]
        _warn(found.settings, f"{unknown} is no setting{nearest(unknown, known)}")
    if found.retired:
        are = "is no longer a setting and has" if len(found.retired) == 1 else "are no longer settings and have"
        _warn(found.settings, f"{', '.join(found.retired)} {are} no effect")
    return found


def _warn(settings: Settings, text: str) -> None:
    if settings.log_format != "json":
        err.tell(f"adalog: {text}")
        return
    from adalog.gateway.observe.logs import json_line

    err.out(json_line(logging.WARNING, text), highlight=False)


def made(settings: Settings) -> str:
    from adalog.gateway.settings.location import shown_path

    return f"creating a new database in {shown_path(settings.data)}"
