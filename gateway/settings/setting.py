"""What a setting is called in the environment, the file that it may stand in, and the error about a wrong one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from adalog.store.files.addresses import without_secrets

PREFIX: Final = "ADALOG_"


def variable(name: str) -> str:
    return PREFIX + name.upper()


def option_name(name: str) -> str:
    return "--" + name.replace("_", "-")


class SettingError(ValueError):
    """A setting that cannot be used; the message names it, and where its value came from, and has no secret."""

    def __init__(self, message: str) -> None:
        super().__init__(without_secrets(message))


def config_file(path: str) -> dict[str, Any]:
    """The keys of a file of settings. Raises SettingError."""
    import tomllib

    try:
        return tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise SettingError(f"the file of settings {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"the file of settings {path} is not TOML: {error}") from None
