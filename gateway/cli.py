"""The command line: `adalog serve query transact explain sample`. Every option can be set as ADALOG_<OPTION>.

Exit codes: 0 done, 1 the request was refused, 2 wrong usage, 3 no database or server could be reached.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import orjson
from click.core import ParameterSource
from rich.console import Console

from datalog.errors import AdalogError, Code
from gateway import output
from gateway.config import PREFIX, SettingError, Settings, settings_from

if TYPE_CHECKING:
    from gateway.backend import Backend

FORMATS = ("table", "json", "edn", "csv", "arrow")
_UNREACHABLE = 3

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def option(*names: str, **settings: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A click option that is also read from ADALOG_<OPTION>."""
    envvar = PREFIX + names[0].lstrip("-").replace("-", "_").upper()
    return click.option(*names, envvar=envvar, show_envvar=True, **settings)


data_option = option("--data", metavar="DIR", help="The database's folder, or :memory:.  [default: data]")
url_option = option("--url", metavar="URL", help="A served adalog, e.g. http://127.0.0.1:8080.")
token_option = option("--token", metavar="TOKEN", help="The bearer token for --url.")
as_of_option = option("--as-of", metavar="T", help="Read as of this transaction number or instant.")
with_option = click.option(
    "--with",
    "with_",
    metavar="FILE",
    type=click.File("r", encoding="utf-8"),
    help="Read as if the transaction data in FILE had been applied; nothing is committed.",
)
arg_option = option("--arg", "args", metavar="JSON", multiple=True, help="A value for :in after $; repeatable.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="adalog")
def main() -> None:
    """A GraphQL gateway over a Datalog database."""


@main.command()
@option("--host", metavar="H", help="The address to listen on.  [default: 127.0.0.1]")
@option("--port", type=click.IntRange(0, 65535), metavar="N", help="0 takes a free one.  [default: 8080]")
@data_option
def serve(host: str | None, port: int | None, data: str | None) -> None:
    """Serve the database over GraphQL, with the explorer."""
    with _told(None):
        from gateway.server import run

        run(settings_from(os.environ, host=host, port=port, data=data).checked(), out)


@main.command()
@data_option
@url_option
@token_option
@as_of_option
@arg_option
@with_option
@option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True, help="What to print.")
@option("--show", type=click.IntRange(0), default=500, show_default=True, help="Rows of a table; 0: all.")
@click.argument("query")
@click.pass_context
def query(
    ctx: click.Context,
    /,
    query: str,
    as_of: str | None,
    with_: Any,
    args: tuple[str, ...],
    form: str,
    show: int,
    **where: Any,
) -> None:
    """Run an EDN Datalog QUERY (`-` reads it from standard input)."""
    query = _text(query)
    if form == "arrow" and sys.stdout.isatty():
        raise click.UsageError("--format arrow writes binary data: send it to a file or a pipe")
    variables = {"query": query, "args": _arguments(args), "basis": _basis(as_of), "with": _read(with_)}
    with _told(query), _backend(ctx, **where) as backend, output.working("running the query", err):
        from gateway.commands import run_query

        relation = run_query(backend, variables, form)
    _print(relation, form, show)


def _print(relation: output.Relation, form: str, show: int) -> None:
    if form == "table":
        # A pipe has no width to fit.
        console = out if out.is_terminal else Console(width=100_000, highlight=False)
        output.print_table(relation, console, show)
    elif form == "arrow":
        output.write_arrow(relation, sys.stdout.buffer)
    else:
        write = {"json": output.json_text, "edn": output.edn_text, "csv": output.csv_text}[form]
        sys.stdout.buffer.write(write(relation))
    sys.stdout.flush()


@main.command()
@data_option
@url_option
@token_option
@click.argument("file", type=click.File("r", encoding="utf-8"))
@click.pass_context
def transact(ctx: click.Context, /, file: Any, **where: Any) -> None:
    """Apply the EDN transaction data in FILE (`-` reads standard input)."""
    text = file.read()
    with _told(text), _backend(ctx, **where) as backend, output.working("applying the transaction", err):
        from gateway.commands import run_transact

        report = run_transact(backend, text)
    click.echo(report)


@main.command()
@data_option
@url_option
@token_option
@as_of_option
@arg_option
@with_option
@option("--analyze", is_flag=True, help="Run the query too, and show what that did.")
@click.argument("query")
@click.pass_context
def explain(
    ctx: click.Context,
    /,
    query: str,
    as_of: str | None,
    with_: Any,
    args: tuple[str, ...],
    analyze: bool,
    **where: Any,
) -> None:
    """Show the plan of an EDN Datalog QUERY."""
    query = _text(query)
    variables = {
        "query": query,
        "args": _arguments(args),
        "basis": _basis(as_of),
        "with": _read(with_),
        "analyze": analyze,
    }
    with _told(query), _backend(ctx, **where) as backend, output.working("planning", err):
        from gateway.commands import run_explain

        text = run_explain(backend, variables)
    click.echo(text)


@main.command()
@data_option
@option("--if-empty", is_flag=True, help="Do nothing when the database holds data already.")
def sample(data: str | None, if_empty: bool) -> None:
    """Load the sample data: Debian's package graph."""
    with _told(None):
        from gateway.commands import load_sample

        load_sample(settings_from(os.environ, data=data), out, err, if_empty=if_empty)


@contextmanager
def _backend(ctx: click.Context, data: str | None, url: str | None, token: str | None) -> Iterator[Backend]:
    from gateway.backend import Remote, opened

    typed = {name for name in ("data", "url") if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    if typed == {"data", "url"}:
        raise click.UsageError("--data and --url are both given; name the folder or the server")
    if url and "data" not in typed:
        yield Remote(url, token)
        return
    settings: Settings = settings_from(os.environ, data=data)
    with opened(settings) as local:
        yield local


@contextmanager
def _told(text: str | None) -> Iterator[None]:
    """Errors as messages and exit codes; `text` is the EDN that positions point into."""
    try:
        yield
    except AdalogError as error:
        output.print_error(error, text, err)
        sys.exit(_UNREACHABLE if error.code is Code.BACKEND_UNAVAILABLE else 1)
    except SettingError as error:
        err.print(f"adalog: {error}", markup=False, soft_wrap=True)
        sys.exit(2)


def _text(query: str) -> str:
    return sys.stdin.read() if query == "-" else query


def _read(file: Any) -> str | None:
    return None if file is None else file.read()


def _arguments(texts: tuple[str, ...]) -> list[Any] | None:
    found = []
    for text in texts:
        try:
            found.append(orjson.loads(text))
        except orjson.JSONDecodeError as error:
            raise click.UsageError(
                f"--arg {text} is not JSON ({error.msg}); text needs quotes, as in --arg '\"Ada\"', and a "
                'keyword is --arg \'{"#kw": "ns/name"}\''
            ) from None
    return found or None


def _basis(as_of: str | None) -> dict[str, Any] | None:
    if as_of is None:
        return None
    return {"t": as_of} if as_of.strip().lstrip("-").isdigit() else {"asOf": as_of}
