"""The commands that ask: `adalog query explain why pull attributes schema live`. They make no database."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adalog.gateway.cli import options
from adalog.gateway.cli.exits import told
from adalog.gateway.cli.output.console import err, out
from adalog.gateway.cli.output.texts import Text
from adalog.gateway.cli.printing import check_binary, print_entities, print_relation, print_warnings, say
from adalog.gateway.cli.target import Target, is_typed, where_options

if TYPE_CHECKING:
    from adalog.gateway.cli.backend import Backend

_FILES = ("json", "edn", "csv", "arrow")
rows_format_option = options.format_option("table", "expanded", *_FILES)
show_option = options.option(
    "--show", type=click.IntRange(0), metavar="N", help="Rows of a table; 0: all.  [default: 500 on a terminal]"
)


@click.command(cls=options.ArgumentCommand)
@where_options
@options.basis_options
@options.argument_options
@options.engine_option
@options.timeout_option
@rows_format_option
@show_option
@options.option(
    "--output",
    "folder",
    metavar="DIR",
    type=click.Path(),
    help="Write the rows as Parquet into this folder, new or empty; with --engine spark its tasks do.",
)
@click.argument("query", type=options.TEXT)
def query(query: Text, where: Target, form: str, show: int | None, folder: str | None, **given: Any) -> None:
    """Run an EDN Datalog QUERY: text, a file, or `-` for standard input.

    \b
        adalog query --arg '"git"' '[:find ?v . :in $ ?n :where [?p :package/name ?n] [?p :package/version ?v]]'
        adalog query --as-of 2024-05-01 --format csv sizes.edn
        adalog query --engine spark --output pairs '[:find ?p ?d :where [?p :package/depends ?d]]'
    """
    check_binary(form)
    variables = _asked(query, **given)
    spark = given["engine"] == "spark"
    if folder is not None:
        _check_folder(folder, form)
        with _backend(query, where, "writing the rows", spark=spark) as backend:
            from adalog.gateway.cli.requests import run_write

            said, warnings = run_write(backend, variables, folder)
        out.out(said, highlight=False)
        print_warnings(warnings)
        return
    with _backend(query, where, "running the query", spark=spark) as backend:
        from adalog.gateway.cli.requests import run_query

        relation = run_query(backend, variables, form)
    print_relation(relation, form, show)


def _check_folder(folder: str, form: str) -> None:
    """Refuses --output where a file of another format is wanted."""
    wanted = form if is_typed("form") else Path(folder).suffix[1:].lower()
    if wanted in _FILES and not Path(folder).is_dir():
        file = folder if Path(folder).suffix else f"{folder}.{wanted}"
        raise click.UsageError(
            f"--output writes a folder of Parquet; for a file of {wanted} write --format {wanted} > {file}"
        )


@click.command(cls=options.ArgumentCommand)
@where_options
@options.basis_options
@options.argument_options
@options.engine_option
@options.timeout_option
@options.option("--analyze", is_flag=True, help="Run the query too, and show what that did.")
@options.format_option("text", "json")
@click.argument("query", type=options.TEXT)
def explain(query: Text, where: Target, form: str, analyze: bool, **given: Any) -> None:
    """Show the plan of an EDN Datalog QUERY: text, a file, or `-` for standard input.

    \b
        adalog explain --analyze '[:find ?n :where [?p :package/depends ?d] [?d :package/name ?n]]'
    """
    variables = {**_asked(query, **given), "analyze": analyze}
    with _backend(query, where, "planning", spark=given["engine"] == "spark") as backend:
        from adalog.gateway.cli.requests import run_explain

        text, warnings = run_explain(backend, variables, form)
    out.out(text, highlight=False)
    print_warnings(warnings)


@click.command(cls=options.ArgumentCommand)
@where_options
@options.basis_options
@options.argument_options
@options.timeout_option
@options.option(
    "--row", metavar="EDN", required=True, help='The row: a vector of its values, as in `["Ada" 1815]`.'
)
@options.format_option("text", "json")
@click.argument("query", type=options.TEXT)
def why(query: Text, row: str, where: Target, form: str, **given: Any) -> None:
    """Show why a row is in the answer of an EDN Datalog QUERY, or why it is not.

    For each clause there is a fact, for each call of a rule what it follows from; or the first clause that no row
    passes.

    \b
        adalog why --row '["git"]' '[:find ?n :where [?p :package/vulnerable true] [?p :package/name ?n]]'
    """
    variables = {"query": query.text, **options.argument_variables(given["args"], given["args_edn"])}
    with _backend(query, where, "looking for reasons") as backend:
        from adalog.gateway.cli.requests import run_why

        _, text = run_why(backend, {**variables, **_read_at(given)}, row, form)
    out.out(text, highlight=False)


@click.command()
@where_options
@options.basis_options
@options.timeout_option
@options.format_option("text", "json", "edn", help="What to print; text is EDN over several lines.")
@click.argument("pattern", type=options.TEXT)
@click.argument("eids", metavar="EID...", nargs=-1, required=True)
def pull(pattern: Text, eids: tuple[str, ...], where: Target, form: str, **given: Any) -> None:
    """Show entities as nested maps: what the EDN PATTERN has of each EID.

    PATTERN is text, a file, or `-` for standard input. An EID is an entity's number, an ident, or a lookup ref. An
    entity that is not there, or has nothing of the pattern, is nil.

    \b
        adalog pull '[:package/name {:package/depends [:package/name]}]' '[:package/name "git"]'
        adalog pull '[*]' 65824 :package/name
    """
    variables = {"pattern": pattern.text, "eids": list(eids), **_read_at(given)}
    with _backend(pattern, where, "pulling") as backend:
        from adalog.gateway.cli.requests import run_pull

        found, warnings = run_pull(backend, variables, form)
    print_entities(found, form)
    missing = [eid for eid, each in zip(eids, found, strict=True) if each is None]
    if missing:
        say(f"nothing to show of {', '.join(missing)}")
    print_warnings(warnings)


@click.command()
@where_options
@rows_format_option
@show_option
@options.option("--all", "own", is_flag=True, help="Those that adalog itself declares, too.")
@click.argument("prefix", default="")
def attributes(prefix: str, where: Target, form: str, show: int | None, own: bool) -> None:
    """List the attributes: type, cardinality, uniqueness, datoms, and how long their past is kept; those that begin
    with PREFIX.

    \b
        adalog attributes package/
    """
    check_binary(form)
    with _backend(None, where, "reading the attributes") as backend:
        from adalog.gateway.cli.requests import run_attributes

        relation = run_attributes(backend, prefix, form, own=own)
    print_relation(relation, form, show)


@click.command(cls=options.ArgumentCommand)
@where_options
@options.argument_options
@options.option(
    "--from-t", metavar="T", type=click.IntRange(0), help="Begin after transaction T, and replay what came since."
)
@options.option(
    "--away",
    metavar="SPAN",
    type=options.DurationType(),
    default="5m",
    help="How long the server may be gone: then the exit code is 3.",
)
@options.format_option(
    "table", "json", "edn", "csv", help="What to print; but for a table, a line for each event or row."
)
@show_option
@click.argument("query", type=options.TEXT)
def live(
    query: Text, where: Target, form: str, show: int | None, from_t: int | None, away: int, **given: Any
) -> None:
    """Show the rows of QUERY, then those that enter (+) and leave (-), as transactions are made.

    With --url it goes on until it is interrupted, also when the server is started anew in between. A folder shows
    what there is: while it is open here it does not change.

    \b
        adalog live --url :8080 '[:find ?n :where [?p :package/name ?n] [?p :package/vulnerable true]]'
        adalog live --data packages --from-t 0 --format csv changes.edn
    """
    from adalog.gateway.cli.backend import RemoteBackend
    from adalog.gateway.cli.live import Printer, followed, replayed

    printer = Printer(form, out, say, show, print_warnings)
    variables = {
        "query": query.text,
        **options.argument_variables(given["args"], given["args_edn"]),
        "fromT": from_t,
        "as": printer.encoding,
    }
    with told(query), where.backend(reads=True) as backend:
        if isinstance(backend, RemoteBackend):
            events = followed(backend, variables, say, away / 1000)
        else:
            events = replayed(backend, variables)
        for event in events:
            printer.event(event)
            sys.stdout.flush()


@contextmanager
def _backend(text: Text | None, where: Target, doing: str, *, spark: bool = False) -> Iterator[Backend]:
    """The backend, while the terminal says what is being done. text: what places in refusals are places of."""
    from adalog.gateway.cli.output.formats import working

    with told(text), where.backend(reads=True, spark=spark) as backend, working(doing, err):
        yield backend


def _asked(query: Text, **given: Any) -> dict[str, Any]:
    """The variables that a query and its explanation have in common."""
    return {
        "query": query.text,
        **options.argument_variables(given["args"], given["args_edn"]),
        **_read_at(given),
        "engine": given["engine"].upper(),
    }


def _read_at(given: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of a database value, and how long its reading may take."""
    basis = options.basis_variable(given["as_of"], given["since"], given["history"])
    with_ = None if given["with_"] is None else given["with_"].text
    return {"basis": basis, "with": with_, "timeoutMs": given["timeout"]}


@click.command()
@where_options
@options.option(
    "--propose",
    is_flag=True,
    help="Print a transaction with the declarations that the data of a folder suggest, for review.",
)
def schema(where: Target, propose: bool) -> None:
    """Print the GraphQL schema of the database, for code generators.

    \b
        adalog schema --data family > schema.graphql
        adalog schema --url http://127.0.0.1:8080 > schema.graphql
        adalog schema --data family --propose > declarations.edn
    """
    with told(), where.place(reads=True) as place:
        from adalog.gateway.cli.backend import RemoteBackend

        if isinstance(place, RemoteBackend):
            if propose:
                raise click.UsageError("--propose reads the data of a folder; name it with --data")
            text = place.schema()
        else:
            from adalog.store.sources import read_folder

            # Without the folder's lock: its owner is not disturbed.
            snapshot, strict = read_folder(place.data), place.schema == "strict"
            if propose:
                from adalog.schema.typed.proposal import proposal

                text = proposal(snapshot, strict=strict)
            else:
                from adalog.schema.surface import build_schema
                from adalog.schema.typed.surface import SurfaceFactory

                text = SurfaceFactory(build_schema()._schema, strict=strict).surface(snapshot).sdl
    out.out(text.rstrip("\n"), highlight=False)
