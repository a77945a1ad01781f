"""Where settings come from: the command line, then the environment, a folder of secrets, a file, the default.

Errors say each wrong setting's name where it stands, its value unless that is secret, and what would be right.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le
from pydantic import SecretStr, ValidationError, create_model
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SecretsSettingsSource,
    SettingsConfigDict,
)

from adalog.datalog.errors import quoted, shown
from adalog.gateway.settings.config import Settings
from adalog.gateway.settings.kinds import MOST
from adalog.gateway.settings.setting import PREFIX, SettingError, config_file
from adalog.schema.request.limits import RequestLimits
from adalog.store.files.addresses import without_secrets

# Set by Kubernetes for a Service of the name adalog, one of them under the name of a setting.
_SERVICE_LINK = "://"
_MOST_SAID = 1_000
_SERVICE_LINKS = (f"{PREFIX}SERVICE_", f"{PREFIX}PORT_")


@dataclass(frozen=True, slots=True)
class Read:
    """`origins`: where each setting that has not its default came from. `unknown`: variables that nothing reads."""

    settings: Settings
    origins: Mapping[str, str]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Origin:
    """A source, and what a setting is called there."""

    values: Mapping[str, Any]
    label: Callable[[str], str]


def variable(name: str) -> str:
    """A setting's name in the environment."""
    return PREFIX + name.upper()


def option_name(name: str) -> str:
    """A setting's name on the command line."""
    return "--" + name.replace("_", "-")


def names() -> frozenset[str]:
    """The settings there are, limits among them."""
    return frozenset(_hints())


def secret_names() -> frozenset[str]:
    """Settings of which no value is shown, nor taken from a command line, which others on the machine can see."""
    return frozenset(name for name, hint in _hints().items() if _is_secret(hint))


def read(environ: Mapping[str, str], given: Mapping[str, Any], options: Iterable[str] = ()) -> Read:
    """Settings from all sources. `given`: from the command line, where None is nothing; `options`: of commands,
    which a file may name beside settings. Raises SettingError."""
    typed = {name: value for name, value in given.items() if value is not None}
    variables = {
        _name(name): text.strip()
        for name, text in environ.items()
        if name.startswith(PREFIX) and name == name.upper() and text.strip()
    }
    file = _chosen("config", typed, variables)
    in_file = {} if file is None else config_file(file)
    wrong = list(_wrong_keys(file, in_file, {*names(), *options}))
    in_file = {name: value for name, value in in_file.items() if name in names()}
    folder = _chosen("secrets_dir", typed, variables, in_file)
    in_folder = {} if folder is None else _secrets(folder)
    origins = [
        _Origin(typed, option_name),
        _Origin({name: text for name, text in variables.items() if name in names()}, variable),
        _Origin(in_folder, lambda name: f"the file {Path(str(folder)) / (PREFIX.lower() + name)}"),
        _Origin(in_file, lambda name: f"{name} in {file}"),
    ]
    values = _validated(origins, wrong)
    named = {name: origin.label(name) for origin in reversed(origins) for name in origin.values}
    unknown = tuple(
        sorted(
            variable(name)
            for name in variables.keys() - names() - set(options)
            if not variable(name).startswith(_SERVICE_LINKS)
        )
    )
    return Read(_settings(values), named, unknown)


def check(settings: Settings) -> None:
    """Raises SettingError for a value that is not right, wherever it came from."""
    values = {f.name: getattr(settings, f.name) for f in dataclasses.fields(settings) if f.name != "limits"}
    _validated([_Origin(values | dataclasses.asdict(settings.limits), variable)])


def nearest(name: str, known: Iterable[str]) -> str:
    """A question after what was probably meant, or nothing."""
    close = get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


def _chosen(name: str, *sources: Mapping[str, Any]) -> str | None:
    found = next((source[name] for source in sources if name in source), None)
    return None if found is None else str(found)


def _wrong_keys(file: str | None, found: Mapping[str, Any], known: set[str]) -> Iterator[str]:
    """What is wrong with the names in a file."""
    for name in found:
        if name == "config":
            yield f"config in {file}: a file of settings names no other"
        elif name not in known:
            yield f"{name} in {file} is no setting{nearest(name.lower().removeprefix(PREFIX.lower()), known)}"


def _secrets(folder: str) -> dict[str, Any]:
    """What files of a folder say, each named as a variable of the environment, in letters of either case."""
    if not os.path.isdir(folder):
        raise SettingError(f"{variable('secrets_dir')} names {quoted(folder)}, which is no folder")
    try:
        with warnings.catch_warnings():
            # The library warns of what it leaves out, of which nobody would hear.
            warnings.simplefilter("error")
            found = SecretsSettingsSource(_model(), folder)()
    except (OSError, UnicodeDecodeError, UserWarning) as error:
        raise SettingError(f"{variable('secrets_dir')} {folder!r} cannot be used: {error}") from None
    return {_name(key): value for key, value in found.items() if value}


def _validated(origins: list[_Origin], wrong: Sequence[str] = ()) -> dict[str, Any]:
    """All settings. The first origin that has one counts. wrong: what is known to be wrong already.

    Raises SettingError with all that is wrong.
    """
    given, environment, *files = origins if len(origins) > 1 else [*origins, _Origin({}, variable)]

    class Environment(EnvSettingsSource):
        def _load_env_vars(self) -> Mapping[str, str | None]:
            return {variable(name).lower(): text for name, text in environment.values.items()}

    class Sources(_model()):  # type: ignore[misc]
        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], *_: PydanticBaseSettingsSource, **__: PydanticBaseSettingsSource
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return (
                InitSettingsSource(settings_cls, _variables(given)),
                Environment(settings_cls),
                *(InitSettingsSource(settings_cls, _variables(each)) for each in files),
            )

    try:
        read = Sources()
    except ValidationError as error:
        messages = dict.fromkeys([*wrong, *(_told(each, origins) for each in error.errors())])
        raise SettingError("\n".join(messages)) from None
    if wrong:
        raise SettingError("\n".join(wrong))
    return {name: getattr(read, variable(name)) for name in names()}


def _variables(origin: _Origin) -> dict[str, Any]:
    return {variable(name): value for name, value in origin.values.items()}


def _name(variable: str) -> str:
    return variable.removeprefix(PREFIX).lower()


def _settings(values: Mapping[str, Any]) -> Settings:
    limits = RequestLimits(**{f.name: values[f.name] for f in dataclasses.fields(RequestLimits)})
    own = {f.name: values[f.name] for f in dataclasses.fields(Settings) if f.name != "limits"}
    return Settings(**own, limits=limits)


@cache
def _hints() -> dict[str, Any]:
    hints = get_type_hints(Settings, include_extras=True) | get_type_hints(RequestLimits, include_extras=True)
    del hints["limits"]
    return {name: Annotated[int, Ge(0), Le(MOST)] if hint is int else hint for name, hint in hints.items()}


@cache
def _model() -> type[BaseSettings]:
    """The fields have the names of variables: a few settings are called like methods of the base class."""
    defaults = {
        f.name: f.default
        for each in (Settings, RequestLimits)
        for f in dataclasses.fields(each)
        if f.name != "limits"
    }
    fields: dict[str, Any] = {variable(name): (hint, defaults[name]) for name, hint in _hints().items()}
    return create_model("Model", __base__=_Base, **fields)


class _Base(BaseSettings):
    model_config = SettingsConfigDict(extra="forbid", allow_inf_nan=False)


def _is_secret(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        return _is_secret(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return any(_is_secret(each) for each in get_args(hint) if each is not NoneType)
    return hint is SecretStr


def _told(error: ErrorDetails, origins: list[_Origin]) -> str:
    """What is wrong with one setting."""
    name = _name(str(error["loc"][0]))
    label = next(origin.label(name) for origin in origins if name in origin.values)
    if error["type"] == "value_error":
        return f"{label}: {shown(without_secrets(str(error['ctx']['error'])), _MOST_SAID)}"
    value = "not right" if name in secret_names() else _shown(error)
    said = f"{label} is {value}; {_right(name, error)}"
    if name == "port" and _SERVICE_LINK in str(error["input"]):
        said += (
            ". Kubernetes sets it for a Service named adalog: `enableServiceLinks: false` in the pod keeps it out"
        )
    return said


def _shown(error: ErrorDetails) -> str:
    """The value; a number that is out of bounds, without quotes."""
    out_of_bounds = error["type"] in ("greater_than_equal", "less_than_equal", "greater_than")
    given = error["input"]
    # What is cut is not known for an address any more.
    given = without_secrets(given) if isinstance(given, str) else given
    return str(given) if out_of_bounds and error["ctx"].get("ge") != 0 else quoted(given)


def _right(name: str, error: ErrorDetails) -> str:
    ctx = error.get("ctx", {})
    match error["type"]:
        case "int_parsing" | "int_from_float" | "int_type" | "int_parsing_size":
            return "it must be a whole number"
        case "float_parsing" | "float_type" | "finite_number":
            return "it must be a number"
        case "bool_parsing" | "bool_type":
            return "it is on or off"
        case "string_type":
            return "it must be text"
        case "greater_than_equal" if ctx["ge"] == 0:
            return "it must not be negative"
        case "greater_than_equal":
            return f"it is at least {ctx['ge']:,}"
        case "less_than_equal":
            return f"it is at most {int(ctx['le']):,}{' seconds' if name.endswith('seconds') else ''}"
        case "greater_than":
            return f"it is more than {ctx['gt']:g}{' seconds' if name.endswith('seconds') else ''}"
        case "literal_error":
            return f"it is {ctx['expected'].replace(chr(39), '')}"
        case _:
            return error["msg"]


def settings_from(environ: Mapping[str, str], **given: Any) -> Settings:
    """Settings from ADALOG_* variables, and the files that they name; what is `given` and not None wins.

    Raises SettingError.
    """
    return read(environ, given).settings
