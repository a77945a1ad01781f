"""The command line: `adalog serve query live pull attributes schema policies repl transact revert explain why
import stream export backup restore check retain sample settings completion`.

Every option can be set as ADALOG_<OPTION>, or in a file. A command imports what it needs when it runs, so that help
and completion are quick.
"""

from __future__ import annotations

import click

from adalog.gateway.cli.backup_commands import backup, check, restore
from adalog.gateway.cli.exits import CommandGroup
from adalog.gateway.cli.import_commands import export, import_, stream
from adalog.gateway.cli.policies.commands import policies
from adalog.gateway.cli.read_commands import attributes, explain, live, pull, query, schema, why
from adalog.gateway.cli.serve_commands import serve, settings
from adalog.gateway.cli.shell.command import completion, repl
from adalog.gateway.cli.write_commands import retain, revert, sample, transact
from adalog.store.files.formats import RELEASE


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(RELEASE, prog_name="adalog")
def main() -> None:
    """A GraphQL gateway over a Datalog database.

    QUERY, PATTERN and TX are EDN text, the name of a file that holds it, or `-` for standard input.

    Exit codes: 0 done, 1 the request was refused, 2 wrong usage, 3 no database or server could be reached.
    """


for _command in (
    *(serve, settings),
    *(query, explain, why, pull, attributes, schema, live, policies, repl),
    *(transact, revert, sample),
    *(import_, stream, export),
    *(backup, restore, check, retain),
    completion,
):
    main.add_command(_command)
