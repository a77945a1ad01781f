"""Libraries that only an extra of the distribution brings: what to install where one is missing."""

from __future__ import annotations

from importlib.util import find_spec

from adalog.datalog.errors import unavailable


def require(library: str, extra: str, feature: str) -> None:
    """Raises BACKEND_UNAVAILABLE, with the command that installs it, if the library of a feature is missing."""
    if find_spec(library) is None:
        raise unavailable(f"{feature} needs more libraries: pip install 'adalog[{extra}]'", retryable=False)
