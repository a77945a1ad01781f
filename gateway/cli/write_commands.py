"""The commands that write: `adalog transact revert retain sample`."""

from __future__ import annotations

from typing import Any

import click

from adalog.gateway.cli.exits import told
from adalog.gateway.cli.options import TEXT, data_option, format_option, option, segments_option
from adalog.gateway.cli.output.console import err, out
from adalog.gateway.cli.output.texts import Text
from adalog.gateway.cli.target import Target, present_settings, where_options


@click.command()
@where_options
@option(
    "--expected-basis-t", metavar="T", type=click.IntRange(0), help="Only if T is still the newest transaction."
)
@option("--idempotency-key", metavar="KEY", help="Apply what comes with the same key once.")
@format_option("text", "json")
@click.argument("tx", type=TEXT)
def transact(tx: Text, where: Target, expected_basis_t: int | None, idempotency_key: str | None, form: str) -> None:
    """Apply the EDN transaction data TX: a file, `-` for standard input, or text.

    \b
        adalog transact changes.edn
        adalog transact '[{:person/name "Ada" :person/born 1815}]'
    """
    from adalog.gateway.cli.output import formats as output

    variables = {"tx": tx.text, "expectedBasisT": expected_basis_t, "idempotencyKey": idempotency_key}
    with told(tx), where.backend(reads=False) as backend, output.working("applying the transaction", err):
        from adalog.gateway.cli.requests import run_transact

        report, warnings = run_transact(backend, variables, form)
    out.out(report, highlight=False)
    output.print_warnings(warnings, err)


@click.command()
@where_options
@option("--dry-run", is_flag=True, help="Say what would come and go, and change nothing.")
@format_option("text", "json")
@click.argument("t", type=click.IntRange(1))
def revert(t: int, where: Target, dry_run: bool, form: str) -> None:
    """Undo transaction T by a new one.

    What T asserted goes, what it retracted comes back. It is refused if something that came since forbids it.

    \b
        adalog revert --dry-run 17
    """
    from adalog.gateway.cli.output import formats as output

    with told(), where.backend(reads=dry_run) as backend, output.working("undoing the transaction", err):
        from adalog.gateway.cli.requests import run_revert

        report, warnings = run_revert(backend, t, form, dry_run=dry_run)
    out.out(report, highlight=False)
    output.print_warnings(warnings, err)


@click.command()
@data_option
@segments_option
def retain(**_: Any) -> None:
    """Remove now the retracted values that are past a limit: :db/retainDays, :db/retainTransactions, :db/noHistory.

    A server does so by itself. The values leave the log, segments and answers about the past; current values stay.
    The line printed is JSON: {"datoms", "steps", "t", "seconds"}.

    \b
        adalog transact --data plant '[{:db/ident :sensor/value :db/retainDays 30}]'
        adalog retain --data plant
    """
    with told():
        from adalog.gateway.cli.existence import check_exists
        from adalog.gateway.cli.requests import run_retain

        settings = present_settings()
        check_exists(settings)
        run_retain(settings)


@click.command()
@data_option
@option("--if-empty", is_flag=True, help="Do nothing when the database holds data already.")
def sample(if_empty: bool, **_: Any) -> None:
    """Load the sample data: Debian's package graph.

    \b
        adalog sample --data packages
    """
    with told():
        from adalog.gateway.cli.requests import load_sample

        load_sample(present_settings(), if_empty=if_empty)
