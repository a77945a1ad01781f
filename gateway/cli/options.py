"""The command line's options, each also read from ADALOG_<OPTION>, and what they become in a GraphQL request."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import click

from adalog.datalog.errors import AdalogError
from adalog.gateway.cli.output.texts import TextType
from adalog.gateway.settings.retired import RETIRED
from adalog.gateway.settings.setting import PREFIX, SettingError, config_file, option_name

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FORMATS = frozenset({"table", "expanded", "text", "json", "edn", "csv", "arrow", "parquet"})
_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
# GraphQL's Int.
_LONGEST_MS = 2**31 - 1
_TYPED_ORDER = "adalog.arguments"
# What options are called in a file of settings.
OPTION_KEYS: set[str] = set()
CONFIG = "adalog.config"
"""Where a command's context has the path of its file of settings."""


def option(*names: str, **settings: Any) -> Decorator:
    """A click option that is also read from ADALOG_<OPTION>, and from a file of settings."""
    key = _key(names[0])
    OPTION_KEYS.add(key)
    settings.setdefault("show_default", "default" in settings)
    return click.option(*names, envvar=PREFIX + key.upper(), show_envvar=True, **settings)


def setting_option(name: str, metavar: str, **more: Any) -> Decorator:
    """The option of a setting, with the help of its definition."""
    return option(option_name(name), cls=_SettingOption, metavar=metavar, **more)


class _SettingOption(click.Option):
    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        # The definitions are slow to load, and the list of the commands needs none of them.
        from adalog.gateway.settings.config import help_text

        self.help = help_text(_key(self.opts[0]))
        return super().get_help_record(ctx)


def _key(option: str) -> str:
    return option.lstrip("-").replace("-", "_")


def _read_file(ctx: click.Context, param: click.Parameter, path: str | None) -> str | None:
    """Makes what a file of settings says of this command's options their default."""
    if path is None:
        return None
    try:
        found = config_file(path)
    except SettingError as error:
        raise click.UsageError(str(error), ctx) from None
    ctx.default_map = {
        str(each.name): _option_value(found[_key(each.opts[0])])
        for each in ctx.command.params
        if _key(each.opts[0]) in found
        and not (isinstance(each, FormatOption) and each.is_for_others(found[_key(each.opts[0])]))
    }
    ctx.meta[CONFIG] = path
    return path


def _option_value(value: Any) -> Any:
    """A value of a file as it would be typed."""
    if isinstance(value, list):
        return [_option_value(each) for each in value]
    return value if isinstance(value, bool) else str(value)


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
    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from adalog.gateway.identity.json_texts import unique

        try:
            return json.loads(
                value, parse_int=_integer, parse_float=_double, parse_constant=_no_number, object_pairs_hook=unique
            )
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise click.UsageError(
                f"--arg {value} is not JSON ({reason}); text needs quotes, as in --arg '\"Ada\"', and EDN such as "
                "a keyword is --arg-edn :ns/name",
                ctx,
            ) from None


class EdnType(_LinesType):
    name = "edn"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from adalog.datalog import edn

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


class ArgumentCommand(click.Command):
    """A command with --arg and --arg-edn, which keep the order in which they were typed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        typed = list(args)
        rest = super().parse_args(ctx, args)
        _, _, order = self.make_parser(ctx).parse_args(args=typed)
        ctx.meta[_TYPED_ORDER] = [param.name for param in order if param.name in ("args", "args_edn")]
        return rest


class SettingOptions(click.Command):
    """A command of which every setting is an option; help shows those alone that are declared."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        declared = {param.name for param in params} | {"config"}
        from adalog.gateway.settings.config import names
        from adalog.gateway.settings.sources import secret_names

        for name in sorted((names() | RETIRED) - declared):
            callback = _refuse_secret if name in secret_names() else None
            params.append(click.Option([option_name(name), name], hidden=True, callback=callback))
        return params


def _refuse_secret(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        name = f"{PREFIX}{str(param.name).upper()}"
        raise click.UsageError(
            f"{param.opts[0]}: other users of this machine can read a command line; set {name}, or put the value "
            f"into a file {name} in a folder that {PREFIX}SECRETS_DIR names",
            ctx,
        )


class FormatOption(click.Option):
    """--format, whose variable, or file, may name a format that only other commands have."""

    def value_from_envvar(self, ctx: click.Context) -> Any:
        value = super().value_from_envvar(ctx)
        return None if self.is_for_others(value) else value

    def is_for_others(self, value: Any) -> bool:
        assert isinstance(self.type, click.Choice)
        return value in FORMATS and value not in self.type.choices


def format_option(*formats: str, help: str | None = None) -> Decorator:
    """--format with these formats, of which the first is the default."""
    return option(
        "--format",
        "form",
        cls=FormatOption,
        type=click.Choice(formats),
        default=formats[0],
        help=help or "What to print.",
    )


def argument_variables(args: Sequence[Any], args_edn: Sequence[str]) -> dict[str, Any]:
    """The variables args and argsEdn, which exclude each other: EDN among JSON is wrapped."""
    if not args_edn:
        return {"args": list(args) or None, "argsEdn": None}
    if not args:
        return {"args": None, "argsEdn": list(args_edn)}
    waiting = {"args": iter(args), "args_edn": iter({"#edn": text} for text in args_edn)}
    ordered = [next(waiting[name]) for name in click.get_current_context().meta.get(_TYPED_ORDER, ())]
    # What the environment gives follows what was typed.
    return {"args": [*ordered, *waiting["args"], *waiting["args_edn"]], "argsEdn": None}


def basis_variable(as_of: str | None, since: str | None, history: bool) -> dict[str, Any] | None:
    """The BasisInput; None for the newest database."""
    basis: dict[str, Any] = {}
    for given, number, instant in ((as_of, "t", "asOf"), (since, "since", "sinceInstant")):
        if given is not None:
            basis[number if given.strip().lstrip("-").isdigit() else instant] = given.strip()
    if history:
        basis["history"] = True
    return basis or None


TEXT = TextType()

data_option = options(
    setting_option("data", "DIR"),
    setting_option("config", "FILE", is_eager=True, expose_value=False, callback=_read_file),
)
segments_option = setting_option("segments", "PLACE")
basis_options = options(
    option("--as-of", metavar="T", help="Read as of this transaction number or instant."),
    option("--since", metavar="T", help="Read only what was asserted after this transaction number or instant."),
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
        "--arg", "args", metavar="JSON", type=JsonType(), multiple=True, help="A value for :in after $; repeatable."
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
    help="Where the query runs.",
)
timeout_option = option(
    "--timeout", metavar="SPAN", type=DurationType(), help="Give up after this long: 2s, 500ms, 1m; 30 is 30 s."
)
