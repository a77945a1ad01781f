"""`adalog serve`, and `adalog settings`, which shows what it would take."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

import click

from adalog.datalog.errors import AdalogError
from adalog.gateway.cli.exits import exit_code, told
from adalog.gateway.cli.options import SettingOptions, data_option, format_option, setting_option
from adalog.gateway.cli.output.console import err, out
from adalog.gateway.cli.printing import print_relation
from adalog.gateway.cli.target import made, present_settings, read_settings
from adalog.gateway.settings.setting import SettingError, variable
from adalog.store.files.gc_pause import uncollected


@click.command(cls=SettingOptions)
@setting_option("host", "H")
@setting_option("port", "N")
@data_option
@setting_option("workers", "N")
def serve(**given: Any) -> None:
    """Serve the database over GraphQL, with the explorer.

    Every other setting is an option, too: --timeout-ms 9000 for ADALOG_TIMEOUT_MS. `adalog settings` lists them.

    \b
        adalog serve --data family --port 8081
        adalog serve --config /etc/adalog.toml --log-level debug
    """
    with told():
        with uncollected():
            from adalog.gateway.cli.existence import is_made
            from adalog.gateway.observe.logs import json_line
            from adalog.gateway.server import run
        from adalog.gateway.settings.checking import checked
        from adalog.store.files.folder import is_address

        try:
            settings = checked(present_settings())
        except SettingError as error:
            if "json" not in (given.get("log_format"), os.environ.get(variable("log_format"))):
                raise
            err.out(json_line(logging.CRITICAL, str(error)), highlight=False)
            sys.exit(2)
        log = logging.getLogger("adalog.server")

        def begins() -> None:
            # A server may be away, and is waited for with the port open.
            if not is_address(settings.data) and is_made(settings):
                log.info("%s", made(settings))

        try:
            code = run(settings, out, begins)
        except AdalogError as error:
            if settings.log_format != "json":
                raise
            # A reader of the log needs this, too.
            log.critical("%s", error.message, extra={"code": error.code.value})
            code = exit_code(error)
    sys.exit(code)


@click.command(cls=SettingOptions)
@data_option
@format_option("table", "json", help="What to print.")
def settings(form: str, **_: Any) -> None:
    """Show every setting with its value, and where that comes from, as `adalog serve` would take them.

    Values of secrets are not shown. A wrong one is refused.

    \b
        adalog settings --config /etc/adalog.toml
    """
    with told():
        from adalog.gateway.cli.requests import settings_relation
        from adalog.gateway.settings.checking import checked

        read = read_settings()
        checked(read.settings)
        relation = settings_relation(read)
    print_relation(relation, form, 0)
