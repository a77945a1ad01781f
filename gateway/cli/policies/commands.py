"""`adalog policies` and `adalog policies try`."""

from __future__ import annotations

from typing import Any

import click

from adalog.gateway.cli import options
from adalog.gateway.cli.exits import CommandGroup, told
from adalog.gateway.cli.output.console import binary, out
from adalog.gateway.cli.output.texts import Text
from adalog.gateway.cli.printing import print_relation
from adalog.gateway.cli.target import Target, where_options


@click.group(cls=CommandGroup, invoke_without_command=True)
@where_options
@options.format_option("table", "expanded", "json", "edn", "csv")
@click.pass_context
def policies(ctx: click.Context, where: Target, form: str) -> None:
    """List the policies: who may do what, on which attributes.

    \b
        adalog policies --data tracker
        adalog policies try change.edn --as ada.json '[:find ?title :where [_ :issue/title ?title]]'
    """
    if ctx.invoked_subcommand is not None:
        return
    with told(), where.backend(reads=True) as backend:
        from adalog.gateway.cli.policies.trial import as_json, policies_of

        relation = policies_of(backend)
    if form == "json":
        _print_json(as_json(relation))
    else:
        print_relation(relation, form, None)


@policies.command("try", cls=options.ArgumentCommand)
@where_options
@options.argument_options
@options.option(
    "--as",
    "viewers",
    metavar="FILE",
    type=options.TEXT,
    multiple=True,
    required=True,
    help="Claims of an identity as JSON, roles among them, or a list of such; repeatable.",
)
@options.format_option("text", "json")
@click.argument("tx", type=options.TEXT)
@click.argument("query", type=options.TEXT)
def try_(tx: Text, query: Text, viewers: tuple[Text, ...], where: Target, form: str, **given: Any) -> None:
    """Show which rows of QUERY identities gain (+) and lose (-) if TX is applied, without committing it.

    \b
        adalog policies try change.edn --as ada.json --as bob.json '[:find ?title :where [_ :issue/title ?title]]'
    """
    asked = {"query": query.text, **options.argument_variables(given["args"], given["args_edn"])}
    with told(query), where.backend(reads=True) as backend:
        from adalog.gateway.cli.policies.trial import identities, tried

        found = [each for text in viewers for each in identities(text.text, text.name or "-")]
        changes = [tried(backend, asked, tx.text, each) for each in found]
    if form == "json":
        _print_json(
            [
                {"as": each.identity.name, "gained": each.gained, "lost": each.lost, "kept": each.kept}
                for each in changes
            ]
        )
        return
    for change in changes:
        for line in change.lines():
            out.out(line, highlight=False)


def _print_json(value: Any) -> None:
    import orjson

    with binary() as stream:
        stream.write(orjson.dumps(value, default=list) + b"\n")
