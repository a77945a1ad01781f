"""Where settings come from: the command line, then the environment, a folder of secrets, a file, the default.

Errors say each wrong setting's name where it stands, its value unless that is secret, and what would be right.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
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
    PydanticBaseSettingsSource,
    SecretsSettingsSource,
    SettingsConfigDict,
)

from adalog.datalog.errors import quoted, shown
from adalog.datalog.values import LONG_MAX
from adalog.gateway.settings import value_types
from adalog.gateway.settings.config import Settings, names
from adalog.gateway.settings.retired import RETIRED
from adalog.gateway.settings.setting import PREFIX, SettingError, config_file, option_name, variable
from adalog.store.files.addresses import without_secrets

# Set by Kubernetes for a Service of the name adalog, one of them under the name of a setting.
_SERVICE_LINK = "://"
_SERVICE_LINKS = (f"{PREFIX}SERVICE_", f"{PREFIX}PORT_")
_MOST_SAID = 1_000


@dataclass(frozen=True, slots=True)
class SettingsRead:
    """`origins`: where each setting that has not its default came from. `retired`: settings of earlier versions
    that are still set, as each is called where it stands. `unknown`: variables that nothing reads."""

    settings: Settings
    origins: Mapping[str, str]
    retired: tuple[str, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Source:
    """Values by setting, and what a setting is called there."""

    values: Mapping[str, Any]
    label: Callable[[str], str]

    def only(self, names: Collection[str]) -> _Source:
        return _Source({name: value for name, value in self.values.items() if name in names}, self.label)

    def labels(self) -> dict[str, str]:
        return {name: self.label(name) for name in self.values}


def secret_names() -> frozenset[str]:
    """Settings of which no value is shown, nor taken from a command line, which others on the machine can see."""
    return frozenset(name for name, hint in _hints().items() if _is_secret(hint))


def read(environ: Mapping[str, str], given: Mapping[str, Any], options: Iterable[str] = ()) -> SettingsRead:
    """Settings from all sources. `given`: from the command line, where None is nothing; `options`: of commands,
    which a file may name beside settings. Raises SettingError."""
    typed = _Source({name: value for name, value in given.items() if value is not None}, option_name)
    variables = {
        _name(name): text.strip()
        for name, text in environ.items()
        if name.startswith(PREFIX) and name == name.upper() and text.strip()
    }
    environment = _Source(variables, variable)
    path = _first_value("config", typed, environment)
    file = _Source({} if path is None else config_file(path), lambda name: f"{name} in {path}")
    wrong = list(_wrong_keys(file, {*names(), *options}))
    folder = _first_value("secrets_dir", typed, environment, file)
    secrets = _Source(
        {} if folder is None else _secrets(folder),
        lambda name: f"the file {Path(str(folder)) / (PREFIX.lower() + name)}",
    )
    sources = [typed, environment, secrets, file]
    known = [typed.only(names()), environment.only(names()), secrets.only(names()), file.only(names())]
    unknown = {variable(name) for name in variables.keys() - names() - RETIRED - set(options)}
    return SettingsRead(
        Settings(**_validated(known, wrong)),
        {name: label for each in reversed(known) for name, label in each.labels().items()},
        tuple(sorted(label for each in sources for label in each.only(RETIRED).labels().values())),
        tuple(sorted(name for name in unknown if not name.startswith(_SERVICE_LINKS))),
    )


def check(settings: Settings) -> None:
    """Raises SettingError for a value that is not right, wherever it came from."""
    _validated([_Source({name: getattr(settings, name) for name in names()}, variable)])


def nearest(name: str, known: Iterable[str]) -> str:
    """A question after what was probably meant, or nothing."""
    close = get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


def _first_value(name: str, *sources: _Source) -> str | None:
    return next((str(source.values[name]) for source in sources if name in source.values), None)


def _wrong_keys(file: _Source, known: set[str]) -> Iterator[str]:
    """What is wrong with the names in a file."""
    for name in file.values:
        if name == "config":
            yield f"{file.label(name)}: a file of settings names no other"
        elif name not in known | RETIRED:
            yield f"{file.label(name)} is no setting{nearest(name.lower().removeprefix(PREFIX.lower()), known)}"


def _secrets(folder: str) -> dict[str, Any]:
    """What files of a folder say, each named as a variable of the environment, in letters of either case."""
    if not os.path.isdir(folder):
        raise SettingError(f"{variable('secrets_dir')} names {quoted(folder)}, which is no folder")
    try:
        with warnings.catch_warnings():
            # The library warns of what it leaves out, and the warning would be lost.
            warnings.simplefilter("error")
            texts = SecretsSettingsSource(_model(), folder)()
    except (OSError, UnicodeDecodeError, UserWarning) as error:
        raise SettingError(f"{variable('secrets_dir')} {folder!r} cannot be used: {error}") from None
    return {_name(key): value for key, value in texts.items() if value}


def _validated(sources: list[_Source], wrong: Sequence[str] = ()) -> dict[str, Any]:
    """All settings. The first source that has one counts. wrong: what is known to be wrong already. Raises
    SettingError with all that is wrong."""
    values = {variable(name): value for source in reversed(sources) for name, value in source.values.items()}
    try:
        settings = _model()(**values)
    except ValidationError as error:
        messages = dict.fromkeys([*wrong, *(_told(each, sources) for each in error.errors())])
        raise SettingError("\n".join(messages)) from None
    if wrong:
        raise SettingError("\n".join(wrong))
    return {name: getattr(settings, variable(name)) for name in names()}


def _name(variable: str) -> str:
    return variable.removeprefix(PREFIX).lower()


@cache
def _hints() -> dict[str, Any]:
    hints = get_type_hints(Settings, localns={"types": value_types}, include_extras=True)
    return {name: Annotated[int, Ge(0), Le(LONG_MAX)] if hint is int else hint for name, hint in hints.items()}


@cache
def _model() -> type[BaseSettings]:
    """The fields have the names of variables: a few settings are called like methods of the base class."""
    defaults = {each.name: each.default for each in fields(Settings)}
    model: dict[str, Any] = {variable(name): (hint, defaults[name]) for name, hint in _hints().items()}
    return create_model("Model", __base__=_Base, **model)


class _Base(BaseSettings):
    model_config = SettingsConfigDict(extra="forbid", allow_inf_nan=False)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        *_: PydanticBaseSettingsSource,
        **__: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what is given."""
        return (init_settings,)


def _is_secret(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        return _is_secret(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return any(_is_secret(each) for each in get_args(hint) if each is not NoneType)
    return hint is SecretStr


def _told(error: ErrorDetails, sources: list[_Source]) -> str:
    name = _name(str(error["loc"][0]))
    label = next(source.label(name) for source in sources if name in source.values)
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


_EXPECTED = {
    **dict.fromkeys(("int_parsing", "int_from_float", "int_type", "int_parsing_size"), "it must be a whole number"),
    **dict.fromkeys(("float_parsing", "float_type", "finite_number"), "it must be a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "it is on or off"),
    "string_type": "it must be text",
}


def _right(name: str, error: ErrorDetails) -> str:
    ctx = error.get("ctx", {})
    match error["type"]:
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
        case other:
            return _EXPECTED.get(other, error["msg"])


def settings_from(environ: Mapping[str, str], **given: Any) -> Settings:
    """Settings from ADALOG_* variables, and the files that they name; what is `given` and not None wins. Raises
    SettingError."""
    return read(environ, given).settings
