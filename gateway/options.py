"""The command line's options, each also read from ADALOG_<OPTION>, and what they become in a GraphQL request."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import click

from datalog.errors import AdalogError
from gateway.config import PREFIX
from gateway.texts import TextType

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FORMATS = frozenset({"table", "expanded", "text", "json", "edn", "csv", "arrow", "parquet"})
_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
# GraphQL's Int.
_LONGEST_MS = 2**31 - 1
_TYPED_ORDER = "adalog.arguments"


def option(*names: str, **settings: Any) -> Decorator:
    """A click option that is also read from ADALOG_<OPTION>."""
    envvar = PREFIX + names[0].lstrip("-").replace("-", "_").upper()
    return click.option(*names, envvar=envvar, show_envvar=True, **settings)


def options(*each: Decorator) -> Decorator:
    """Several options at once; help shows them in this order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for one in reversed(each):
            command = one(command)
        return command

    return decorate


class DurationType(click.ParamType[int]):
    """A span of time as `2s`, `500ms`, `1.5m`, `1h`, or a number of seconds; in milliseconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(ms|s|m|h)?\s*", value, re.ASCII)
        if match is None:
            self.fail(f"{value!r} is no span of time; write e.g. 2s, 500ms, 1.5m or 1h", param, ctx)
        span = float(match[1]) * _UNITS[match[2] or "s"]
        if not 1 <= span <= _LONGEST_MS:
            self.fail(f"{value!r} is not between 1ms and {_LONGEST_MS // _UNITS['h']}h", param, ctx)
        return round(span)


class _LinesType(click.ParamType[Any]):
    """What is one text on the command line, and one text a line in a variable of the environment."""

    def split_envvar_value(self, rv: str) -> Sequence[str]:
        return [line for line in rv.splitlines() if line.strip()]


class JsonType(_LinesType):
    """A JSON value."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return json.loads(value, parse_int=_integer, parse_float=_double, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise click.UsageError(
                f"--arg {value} is not JSON ({reason}); text needs quotes, as in --arg '\"Ada\"', and EDN such as "
                "a keyword is --arg-edn :ns/name",
                ctx,
            ) from None


class EdnType(_LinesType):
    """An EDN value, as text."""

    name = "edn"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from datalog import edn

        text = str(value)
        try:
            edn.read(text)
        except AdalogError as error:
            place = f"line {error.position.line}, column {error.position.column}: " if error.position else ""
            raise click.UsageError(f"--arg-edn {text} is not EDN ({place}{error.message})", ctx) from None
        return text


def _integer(text: str) -> Any:
    number = int(text)
    # JSON's integers are 64 bits wide on their way; this is what a wider one is called there.
    return number if -(2**63) <= number < 2**63 else {"#bigint": text}


def _double(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a double")
    return number


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no JSON value")


class Asking(click.Command):
    """A command with --arg and --arg-edn, which keep the order in which they were typed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        typed = list(args)
        rest = super().parse_args(ctx, args)
        _, _, order = self.make_parser(ctx).parse_args(args=typed)
        ctx.meta[_TYPED_ORDER] = [param.name for param in order if param.name in ("args", "args_edn")]
        return rest


class FormatOption(click.Option):
    """--format, whose variable may name a format that only other commands have."""

    def value_from_envvar(self, ctx: click.Context) -> Any:
        value = super().value_from_envvar(ctx)
        assert isinstance(self.type, click.Choice)
        return None if value in FORMATS and value not in self.type.choices else value


def format_option(*formats: str, help: str | None = None) -> Decorator:
    """--format with these formats, of which the first is the default."""
    return option(
        "--format",
        "form",
        cls=FormatOption,
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help=help or "What to print.",
    )


def argument_variables(ctx: click.Context, args: Sequence[Any], args_edn: Sequence[str]) -> dict[str, Any]:
    """The variables args and argsEdn, which exclude each other: EDN among JSON is wrapped."""
    if not args_edn:
        return {"args": list(args) or None, "argsEdn": None}
    if not args:
        return {"args": None, "argsEdn": list(args_edn)}
    waiting = {"args": iter(args), "args_edn": iter({"#edn": text} for text in args_edn)}
    ordered = [next(waiting[name]) for name in ctx.meta.get(_TYPED_ORDER, ())]
    # What the environment gives follows what was typed.
    return {"args": [*ordered, *waiting["args"], *waiting["args_edn"]], "argsEdn": None}


def basis_variable(as_of: str | None, since: int | None, history: bool) -> dict[str, Any] | None:
    """The BasisInput; None for the newest database."""
    basis: dict[str, Any] = {}
    if as_of is not None:
        basis["t" if as_of.strip().lstrip("-").isdigit() else "asOf"] = as_of.strip()
    if since is not None:
        basis["since"] = since
    if history:
        basis["history"] = True
    return basis or None


TEXT = TextType()

data_option = option("--data", metavar="DIR", help="The database's folder, or :memory:.  [default: data]")
where_options = options(
    data_option,
    option("--url", metavar="URL", help="A served adalog, e.g. http://127.0.0.1:8080."),
    option("--token", metavar="TOKEN", help="The bearer token for --url."),
)
basis_options = options(
    option("--as-of", metavar="T", help="Read as of this transaction number or instant."),
    option("--since", metavar="T", type=click.IntRange(0), help="Read only what was asserted after transaction T."),
    option("--history", is_flag=True, help="Read all that was ever asserted or retracted."),
    option(
        "--with",
        "with_",
        metavar="TX",
        type=TEXT,
        help="Read as if this transaction data (EDN, a file or -) had been applied; nothing is committed.",
    ),
)
argument_options = options(
    option(
        "--arg",
        "args",
        metavar="JSON",
        type=JsonType(),
        multiple=True,
        help="A value for :in after $; repeatable.",
    ),
    option(
        "--arg-edn",
        "args_edn",
        metavar="EDN",
        type=EdnType(),
        multiple=True,
        help="The same as EDN; may be mixed with --arg.",
    ),
)
engine_option = option(
    "--engine",
    type=click.Choice(("auto", "local", "spark"), case_sensitive=False),
    default="auto",
    show_default=True,
    help="Where the query runs.",
)
timeout_option = option(
    "--timeout", metavar="SPAN", type=DurationType(), help="Give up after this long: 2s, 500ms, 1m; 30 is 30 s."
)
