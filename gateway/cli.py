"""The command line: `adalog serve query live pull attributes transact explain import stream export backup restore
check sample` and `adalog settings`.

Every option can be set as ADALOG_<OPTION>, or in a file. Exit codes: 0 done, 1 the request was refused, 2 wrong
usage, 3 no database or server could be reached; 130 interrupted, 141 the reader of a pipe went away.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson
from click.core import ParameterSource

from datalog.errors import AdalogError, Code
from gateway import output
from gateway.console import binary, err, out, tolerate
from gateway.options import (
    CONFIG,
    OPTION_KEYS,
    TEXT,
    Asking,
    SettingOptions,
    argument_options,
    argument_variables,
    basis_options,
    basis_variable,
    data_option,
    engine_option,
    format_option,
    option,
    segments_option,
    timeout_option,
    where_options,
)
from gateway.setting import SettingError
from gateway.texts import Text, shown_path

if TYPE_CHECKING:
    from gateway.backend import Backend, Remote
    from gateway.config import Settings
    from gateway.sources import Read

_UNREACHABLE, _INTERRUPTED, _PIPE_CLOSED = 3, 130, 141
# Variables of `make`.
_SET_UP = frozenset({"ADALOG_NO_SYSTEM_PACKAGES"})
# How wide a pulled entity is written where no terminal says.
_PAGE_WIDTH = 100

rows_format_option = format_option("table", "expanded", "json", "edn", "csv", "arrow")
show_option = option(
    "--show", type=click.IntRange(0), metavar="N", help="Rows of a table; 0: all.  [default: 500 on a terminal]"
)


class _Adalog(click.Group):
    """The commands, of which an interrupted one and one that nobody reads any more end without a word."""

    def invoke(self, ctx: click.Context) -> Any:
        tolerate()
        try:
            done = super().invoke(ctx)
            sys.stdout.flush()
            return done
        except KeyboardInterrupt:
            ctx.exit(_INTERRUPTED)
        except BrokenPipeError:
            # What is left in the buffer would fail once more when the process ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(_PIPE_CLOSED)


@click.group(cls=_Adalog, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="adalog")
def main() -> None:
    """A GraphQL gateway over a Datalog database.

    QUERY, PATTERN and TX are EDN text, the name of a file that holds it, or `-` for standard input.

    Exit codes: 0 done, 1 the request was refused, 2 wrong usage, 3 no database or server could be reached.
    """


@main.command(cls=SettingOptions)
@option("--host", metavar="H", help="The address to listen on.  [default: 127.0.0.1]")
@option("--port", metavar="N", help="0 takes a free one.  [default: 8080]")
@data_option
@option(
    "--workers",
    metavar="N",
    help="Processes behind the port, which share the bounds of memory and connections.  [default: 1]",
)
def serve(**_: Any) -> None:
    """Serve the database over GraphQL, with the explorer.

    Every other setting is an option, too: --query-depth 20 for ADALOG_QUERY_DEPTH. `adalog settings` lists them.

    \b
        adalog serve --data family --port 8081
        adalog serve --config /etc/adalog.toml --log-level debug
    """
    with _told(None):
        from gateway.server import run

        settings = _settings().checked()
        _say_if_new(settings)
        code = run(settings, out)
    sys.exit(code)


@main.command(cls=Asking)
@where_options
@basis_options
@argument_options
@engine_option
@timeout_option
@rows_format_option
@show_option
@option(
    "--output",
    "folder",
    metavar="DIR",
    type=click.Path(),
    help="Write the rows as Parquet into this folder, new or empty; with --engine spark its tasks do.",
)
@click.argument("query", type=TEXT)
@click.pass_context
def query(
    ctx: click.Context, /, query: Text, form: str, show: int | None, folder: str | None, **given: Any
) -> None:
    """Run an EDN Datalog QUERY: text, a file, or `-` for standard input.

    \b
        adalog query --arg '"git"' '[:find ?v . :in $ ?n :where [?p :package/name ?n] [?p :package/version ?v]]'
        adalog query --as-of 2024-05-01 --format csv sizes.edn
        adalog query --engine spark --output pairs '[:find ?p ?d :where [?p :package/depends ?d]]'
    """
    _check_binary(form)
    variables = _asked(ctx, query, **given)
    if folder is not None:
        with _told(query), _reading(ctx, **given) as backend, output.working("writing the rows", err):
            from gateway.commands import run_write

            said = run_write(backend, variables, folder)
        out.out(said, highlight=False)
        return
    with _told(query), _reading(ctx, **given) as backend, output.working("running the query", err):
        from gateway.commands import run_query

        relation = run_query(backend, variables, form)
    _print(relation, form, show)


@main.command(cls=Asking)
@where_options
@basis_options
@argument_options
@engine_option
@timeout_option
@option("--analyze", is_flag=True, help="Run the query too, and show what that did.")
@format_option("text", "json")
@click.argument("query", type=TEXT)
@click.pass_context
def explain(ctx: click.Context, /, query: Text, form: str, analyze: bool, **given: Any) -> None:
    """Show the plan of an EDN Datalog QUERY: text, a file, or `-` for standard input.

    \b
        adalog explain --analyze '[:find ?n :where [?p :package/depends ?d] [?d :package/name ?n]]'
    """
    variables = {**_asked(ctx, query, **given), "analyze": analyze}
    with _told(query), _reading(ctx, **given) as backend, output.working("planning", err):
        from gateway.commands import run_explain

        text, warnings = run_explain(backend, variables, form)
    out.out(text, highlight=False)
    output.print_warnings(warnings, err)


@main.command()
@where_options
@basis_options
@timeout_option
@format_option("text", "json", "edn", help="What to print; text is EDN over several lines.")
@click.argument("pattern", type=TEXT)
@click.argument("eids", metavar="EID...", nargs=-1, required=True)
@click.pass_context
def pull(ctx: click.Context, /, pattern: Text, eids: tuple[str, ...], form: str, **given: Any) -> None:
    """Show entities as nested maps: what the EDN PATTERN has of each EID.

    PATTERN is text, a file, or `-` for standard input. An EID is an entity's number, an ident, or a lookup ref. An
    entity that is not there, or has nothing of the pattern, is nil.

    \b
        adalog pull '[:package/name {:package/depends [:package/name]}]' '[:package/name "git"]'
        adalog pull '[*]' 65824 :package/name
    """
    variables = {
        "pattern": pattern.text,
        "eids": list(eids),
        "basis": basis_variable(given["as_of"], given["since"], given["history"]),
        "with": _content(given["with_"]),
        "timeoutMs": given["timeout"],
    }
    with _told(pattern), _reading(ctx, **given) as backend, output.working("pulling", err):
        from gateway.commands import run_pull

        found = run_pull(backend, variables, form)
    _print_pulled(found, form)
    missing = [eid for eid, each in zip(eids, found, strict=True) if each is None]
    if missing:
        err.print(f"nothing to show of {', '.join(missing)}", style="dim", markup=False, soft_wrap=True)


@main.command()
@where_options
@rows_format_option
@show_option
@option("--all", "own", is_flag=True, help="Those that adalog itself declares, too.")
@click.argument("prefix", default="")
@click.pass_context
def attributes(ctx: click.Context, /, prefix: str, form: str, show: int | None, own: bool, **given: Any) -> None:
    """List the attributes: type, cardinality, uniqueness, datoms; those that begin with PREFIX.

    \b
        adalog attributes package/
    """
    _check_binary(form)
    with _told(None), _reading(ctx, **given) as backend, output.working("reading the attributes", err):
        from gateway.commands import run_attributes

        relation = run_attributes(backend, prefix, form, own=own)
    _print(relation, form, show)


@main.command()
@where_options
@option(
    "--expected-basis-t", metavar="T", type=click.IntRange(0), help="Only if T is still the newest transaction."
)
@option("--idempotency-key", metavar="KEY", help="Apply what comes with the same key once.")
@format_option("text", "json")
@click.argument("tx", type=TEXT)
@click.pass_context
def transact(
    ctx: click.Context,
    /,
    tx: Text,
    expected_basis_t: int | None,
    idempotency_key: str | None,
    form: str,
    **where: Any,
) -> None:
    """Apply the EDN transaction data TX: a file, `-` for standard input, or text.

    \b
        adalog transact changes.edn
        adalog transact '[{:person/name "Ada" :person/born 1815}]'
    """
    variables = {"tx": tx.text, "expectedBasisT": expected_basis_t, "idempotencyKey": idempotency_key}
    with _told(tx), _backend(ctx, **where) as backend, output.working("applying the transaction", err):
        from gateway.commands import run_transact

        report, warnings = run_transact(backend, variables, form)
    out.out(report, highlight=False)
    output.print_warnings(warnings, err)


@main.command("import")
@option("--mapping", metavar="FILE", type=click.Path(), required=True, help="The mapping: YAML.")
@where_options
@option(
    "--max-errors",
    metavar="N",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Import nothing where more rows than this are rejected.",
)
@option(
    "--quarantine",
    metavar="DIR",
    type=click.Path(),
    default="quarantine",
    show_default=True,
    help="Where rejected rows are written.",
)
@option("--dry-run", is_flag=True, help="Do everything but the import itself.")
@click.argument("paths", metavar="[NAME=PATH]...", nargs=-1)
@click.pass_context
def import_(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    mapping: str,
    data: str | None,
    url: str | None,
    token: str | None,
    **given: Any,
) -> None:
    """Import rows of files through Spark, as one transaction.

    The mapping says what becomes of which columns; NAME=PATH is read instead of a source's path there. With --url
    the server reads the files, and writes nothing but the database. The last line printed is JSON:
    {"t", "rows", "entities", "datoms", "rejected", "seconds"}.

    \b
        adalog import --mapping people.yaml
        adalog import --mapping people.yaml --max-errors 10 people=s3a://bucket/people.parquet
        adalog import --url :8080 --mapping people.yaml
    """
    named = {}
    for text in paths:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise click.UsageError(f"{text!r} is no NAME=PATH")
        named[name] = path
    with _told(None):
        from executor.spark.pipeline.mapping import read_mapping
        from gateway.backend import Remote
        from gateway.importing import ask_for_import, run_import

        plan = read_mapping(Path(mapping), named)
        with _place(ctx, data, url, token, reads=False) as place:
            if isinstance(place, Remote):
                accepted = ask_for_import(place, Path(mapping), named, out, err, **given)
            else:
                accepted = run_import(place, plan, out, err, **given)
    if not accepted:
        sys.exit(1)


@main.command()
@option("--mapping", metavar="FILE", type=click.Path(), required=True, help="The mapping: YAML.")
@where_options
@option(
    "--checkpoint",
    metavar="DIR",
    type=click.Path(),
    default="checkpoint",
    show_default=True,
    help="Where it is kept what was taken; of one mapping and one database.",
)
@option(
    "--quarantine",
    metavar="DIR",
    type=click.Path(),
    default="quarantine",
    show_default=True,
    help="Where rejected rows are written, a folder for each batch.",
)
@option(
    "--max-errors",
    metavar="N",
    type=click.IntRange(0),
    help="Stop at a batch of which more rows than this are rejected.  [default: any number]",
)
@option("--once", is_flag=True, help="End when all that is there was taken.")
@click.pass_context
def stream(
    ctx: click.Context,
    /,
    mapping: str,
    data: str | None,
    url: str | None,
    token: str | None,
    checkpoint: str,
    quarantine: str,
    max_errors: int | None,
    once: bool,
) -> None:
    """Import files as they appear, or a topic of Kafka, each batch once, until it is interrupted.

    Batches are transactions; a line of JSON is printed for each. Started again with the same --checkpoint it goes
    on where it was.

    \b
        adalog stream --mapping people.yaml --url :8080
        adalog stream --mapping people.yaml --data family --once
    """
    with _told(None):
        from executor.spark.pipeline.mapping import read_mapping
        from gateway.streaming import ANY, Chosen, run_stream

        plan = read_mapping(Path(mapping), {})
        most = ANY if max_errors is None else max_errors
        chosen = Chosen(Path(mapping), Path(checkpoint), Path(quarantine), most, once)
        with _place(ctx, data, url, token, reads=False) as place:
            run_stream(place, _settings(), plan, chosen, out, err)


@main.command()
@data_option
@option("--as-of", metavar="T", help="Export what was known as of this transaction number or instant.")
@option("--history", is_flag=True, help="Export all that was ever asserted or retracted.")
@format_option("parquet", "edn", help="What to write: a folder of Parquet files, or of lines of EDN.")
@click.argument("folder", metavar="OUT", type=click.Path())
def export(folder: str, form: str, as_of: str | None, history: bool, **_: Any) -> None:
    """Export the datoms through Spark into the new folder OUT: a folder for each attribute, and schema.edn.

    OUT may be an address of an object store, as s3://bucket/backup.

    The database may be served meanwhile. `adalog import` reads it back (format: adalog). The last line printed is
    JSON: {"t", "datoms", "attributes", "files", "bytes", "seconds"}.

    \b
        adalog export --data family --as-of 2024-05-01 backup
        adalog export --format edn --history all
    """
    with _told(None):
        from gateway.exporting import run_export
        from gateway.opening import check_exists

        settings = _settings()
        check_exists(settings)
        run_export(settings, folder, out, err, as_of=as_of, form=form, history=history)


@main.command()
@where_options
@segments_option
@option(
    "--keep",
    metavar="N",
    type=click.IntRange(1),
    help="Then remove all but the newest N backups.  [default: all stay]",
)
@option("--list", "listed", is_flag=True, help="Take none; show those that there are.")
@click.argument("to", metavar="OUT")
@click.pass_context
def backup(
    ctx: click.Context,
    /,
    to: str,
    data: str | None,
    url: str | None,
    token: str | None,
    keep: int | None,
    listed: bool,
    **_: Any,
) -> None:
    """Back up the database to OUT: a folder, or an address such as s3://bucket/backups.

    The database may be served meanwhile, and written to. What OUT has already is not copied again. With --url the
    server writes, where its ADALOG_BACKUP_FOLDERS allows it. The last line printed is JSON: {"backup", "t",
    "bytes", "written", "files", "removed", "seconds"}.

    \b
        adalog backup --data family /mnt/backups/family --keep 30
        adalog backup --url :8080 s3://bucket/family
        adalog backup --list /mnt/backups/family
    """
    with _told(None):
        from gateway.backend import Remote
        from gateway.backing_up import ask_for_backup, run_backup, run_list

        if listed:
            if not run_list(to, out, err):
                sys.exit(1)
            return
        with _place(ctx, data, url, token, reads=True) as place:
            if isinstance(place, Remote):
                ask_for_backup(place, to, keep, out, err)
            else:
                run_backup(place, to, keep, out, err)


@main.command()
@option("--data", metavar="DIR", required=True, help="Where to: a new or empty folder, or database of a server.")
@segments_option
@option("--t", metavar="T", help="As of this transaction number or instant.  [default: the newest there is]")
@option("--backup", "number", metavar="N", type=click.IntRange(1), help="This backup.  [default: the newest]")
@click.argument("place", metavar="OUT")
def restore(place: str, data: str, t: str | None, number: int | None, **_: Any) -> None:
    """Restore a database from the backups in OUT into the folder DIR, as it was at any transaction.

    All that is read is verified. The last line printed is JSON: {"backup", "t", "datoms", "seconds"}.

    \b
        adalog restore /mnt/backups/family --data family
        adalog restore s3://bucket/family --data before-the-mistake --t 4711
    """
    with _told(None):
        from gateway.backing_up import run_restore
        from store.folder import check_is_folder, is_address

        if data == ":memory:":
            raise click.UsageError("a database in memory ends with the command; name a folder with --data")
        if not is_address(data):
            check_is_folder(data)
        run_restore(place, _settings(), t, number, out, err)


@main.command()
@data_option
@segments_option
@option("--deep", is_flag=True, help="Replay the log, too, and compare the segments with it.")
@click.argument("place", metavar="[OUT]", required=False)
@click.pass_context
def check(ctx: click.Context, /, place: str | None, deep: bool, **_: Any) -> None:
    """Read everything of a database, or of the backups in OUT, and say what is damaged and what to do.

    Nothing is changed, and the database may be served meanwhile. Exit code 1 where something is damaged. The last
    line printed is JSON: {"t", "files", "bytes", "damaged", "seconds"}.

    \b
        adalog check --data family --deep
        adalog check /mnt/backups/family
    """
    typed = ctx.get_parameter_source("data") is ParameterSource.COMMANDLINE
    if place is not None and typed:
        raise click.UsageError("--data and OUT are both given; name the folder or the backups")
    with _told(None):
        from gateway.backing_up import run_check
        from gateway.opening import check_exists

        settings = _settings()
        if place is None:
            check_exists(settings)
        sound = run_check(settings, place, out, err, deep=deep)
    if not sound:
        sys.exit(1)


@main.command()
@data_option
@option("--if-empty", is_flag=True, help="Do nothing when the database holds data already.")
def sample(if_empty: bool, **_: Any) -> None:
    """Load the sample data: Debian's package graph.

    \b
        adalog sample --data packages
    """
    with _told(None):
        from gateway.commands import load_sample

        load_sample(_settings(), out, err, if_empty=if_empty)


@main.command(cls=Asking)
@where_options
@argument_options
@option(
    "--from-t", metavar="T", type=click.IntRange(0), help="Begin after transaction T, and replay what came since."
)
@format_option("table", "json", "edn", "csv", help="What to print; but for a table, a line for each event or row.")
@show_option
@click.argument("query", type=TEXT)
@click.pass_context
def live(ctx: click.Context, /, query: Text, form: str, show: int | None, from_t: int | None, **given: Any) -> None:
    """Show the rows of QUERY, then those that enter (+) and leave (-), as transactions are made.

    With --url it goes on until it is interrupted, also when the server is started anew in between. A folder shows
    what there is: while it is open here nobody writes to it.

    \b
        adalog live --url :8080 '[:find ?n :where [?p :package/name ?n] [?p :package/vulnerable true]]'
        adalog live --data packages --from-t 0 --format csv changes.edn
    """
    from gateway.backend import Remote
    from gateway.live import Printer, followed, replayed

    def say(what: str) -> None:
        err.print(what, style="dim", markup=False, soft_wrap=True)

    printer = Printer(form, out, say, show)
    variables = {
        "query": query.text,
        **argument_variables(ctx, given["args"], given["args_edn"]),
        "fromT": from_t,
        "as": printer.encoding,
    }
    with _told(query), _place(ctx, given["data"], given["url"], given["token"], reads=True) as place:
        events = followed(place, variables, say) if isinstance(place, Remote) else replayed(place, variables)
        for event in events:
            printer.event(event)
            sys.stdout.flush()


@main.command(cls=SettingOptions)
@data_option
@format_option("table", "json", help="What to print.")
def settings(form: str, **_: Any) -> None:
    """Show every setting with its value, and where that comes from, as `adalog serve` would take them.

    Values of secrets are not shown. A wrong one is refused.

    \b
        adalog settings --config /etc/adalog.toml
    """
    with _told(None):
        from gateway.commands import settings_relation

        read = _read_settings()
        read.settings.checked()
        relation = settings_relation(read)
    _print(relation, form, 0)


def _settings() -> Settings:
    """The settings of the present command. Raises SettingError."""
    return _read_settings().settings


def _read_settings() -> Read:
    """The settings of the present command, where what was typed goes before all else. Raises SettingError."""
    from gateway.sources import names, nearest, read, variable

    ctx = click.get_current_context()
    typed = {
        name: value
        for name, value in ctx.params.items()
        if name in names() and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    if ctx.get_parameter_source("config") is ParameterSource.COMMANDLINE:
        typed["config"] = ctx.meta[CONFIG]
    found = read(os.environ, typed, OPTION_KEYS)
    for unknown in sorted(set(found.unknown) - _SET_UP):
        known = [variable(name) for name in (*names(), *OPTION_KEYS)]
        err.print(f"adalog: {unknown} is no setting{nearest(unknown, known)}", markup=False, soft_wrap=True)
    return found


@contextmanager
def _reading(ctx: click.Context, **given: Any) -> Iterator[Backend]:
    """The backend of a command that only reads, and makes no database."""
    spark = given.get("engine") == "spark"
    with _backend(ctx, given["data"], given["url"], given["token"], reads=True, spark=spark) as backend:
        yield backend


@contextmanager
def _backend(
    ctx: click.Context,
    data: str | None,
    url: str | None,
    token: str | None,
    *,
    reads: bool = False,
    spark: bool = False,
) -> Iterator[Backend]:
    from gateway.backend import Remote, opened

    with _place(ctx, data, url, token, reads=reads) as place:
        if isinstance(place, Remote):
            yield place
            return
        with opened(place, spark=spark) as local:
            yield local


@contextmanager
def _place(
    ctx: click.Context, data: str | None, url: str | None, token: str | None, *, reads: bool
) -> Iterator[Remote | Settings]:
    """The server that is asked, or the settings of the folder."""
    from gateway.backend import Remote

    typed = {name for name in ("data", "url") if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    if typed == {"data", "url"}:
        raise click.UsageError("--data and --url are both given; name the folder or the server")
    if url and "data" not in typed:
        yield Remote(url, token)
        return
    settings = _settings()
    if reads:
        from gateway.opening import check_exists

        check_exists(settings)
    else:
        _say_if_new(settings)
    yield settings


def _say_if_new(settings: Settings) -> None:
    from gateway.opening import is_new

    if is_new(settings):
        err.print(
            f"creating a new database in {shown_path(settings.data)}", style="dim", markup=False, soft_wrap=True
        )


@contextmanager
def _told(text: Text | None) -> Iterator[None]:
    """Errors as messages and exit codes; `text` is the EDN that positions point into."""
    try:
        yield
    except AdalogError as error:
        output.print_error(error, text, err)
        sys.exit(_UNREACHABLE if error.code is Code.BACKEND_UNAVAILABLE else 1)
    except SettingError as error:
        err.print(f"adalog: {error}", markup=False, soft_wrap=True)
        sys.exit(2)


def _asked(ctx: click.Context, query: Text, **given: Any) -> dict[str, Any]:
    """The variables that a query and its explanation have in common."""
    return {
        "query": query.text,
        **argument_variables(ctx, given["args"], given["args_edn"]),
        "basis": basis_variable(given["as_of"], given["since"], given["history"]),
        "with": _content(given["with_"]),
        "engine": given["engine"].upper(),
        "timeoutMs": given["timeout"],
    }


def _content(text: Text | None) -> str | None:
    return None if text is None else text.text


def _check_binary(form: str) -> None:
    if form == "arrow" and sys.stdout.isatty():
        raise click.UsageError("--format arrow writes binary data: send it to a file or a pipe")


def _print(relation: output.Relation, form: str, show: int | None) -> None:
    if form in ("table", "expanded"):
        output.print_table(relation, out, show, expanded=form == "expanded")
    elif form == "arrow":
        with binary() as stream:
            output.write_arrow(relation, stream)
    else:
        write = {"json": output.json_text, "edn": output.edn_text, "csv": output.csv_text}[form]
        with binary() as stream:
            stream.write(write(relation))
    sys.stdout.flush()
    output.print_warnings(relation.warnings, err)


def _print_pulled(found: list[Any], form: str) -> None:
    """Entities one after the other: a value each, or as JSON one value, a list where there are several."""
    if form == "json":
        with binary() as stream:
            stream.write(orjson.dumps(found[0] if len(found) == 1 else found) + b"\n")
        return
    from datalog import edn
    from gateway.pretty import pretty

    width = out.room or _PAGE_WIDTH
    texts = [pretty(each, width) if form == "text" else edn.write(each) for each in found]
    if form == "text":
        out.out("\n".join(texts), highlight=False)
    else:
        with binary() as stream:
            stream.write(("\n".join(texts) + "\n").encode())


if __name__ == "__main__":
    main(prog_name="adalog")
