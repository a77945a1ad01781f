"""What may be said of an address, which may hold a password or a key, and the path of one on this machine."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote, urlsplit

from adalog.datalog.errors import invalid_argument, quoted

_HIDDEN: Final = "***"
# An address up to a space, a quote, or the next one of a list.
_ADDRESS: Final = re.compile(r"""[A-Za-z][A-Za-z0-9+.-]{0,31}://(?:(?![,;][A-Za-z][A-Za-z0-9+.-]*://)[^\s'"<>])*""")
# User and password: up to the last @ of the host, or where a slash follows a colon that no port
# follows, as in keys of S3 that are not written as %2F, up to the last one at all.
_USER: Final = re.compile(r"(?<=://)(?:[^/]*@|[^/@:]*:(?!\d+(?:/|$)).*@)")
# The same of an address that was cut before its host: what follows the colon is no port.
_CUT_USER: Final = re.compile(r"(?<=://)[^/@:\[\]]*:(?!\d+\b|$)[^/?]*")
# A setting of a connection by name, as in `password='…'` and `spark.some.secret=…`.
_NAMED: Final = re.compile(
    r"(?i)([\w.-]*(?:password|passwd|passphrase|pwd|secret|token|credentials?|"
    r"(?:access|account|secret|api|signing)[._-]?key(?:[._-]?id)?)\s*=\s*)('[^']*'|\"[^\"]*\"|[^\s&;,'\"]+)"
)
_SPLIT: Final = re.compile(r"([&;])")
# Parameters that say where something is, and how it is reached; any other may be a key.
_OPEN: Final = frozenset(
    [
        *("region", "scheme", "endpoint_override", "allow_bucket_creation", "allow_bucket_deletion"),
        *("force_virtual_addressing", "request_timeout", "connect_timeout", "replication", "buffer_size"),
        *("default_block_size", "sslmode", "target_session_attrs", "application_name", "options", "db", "protocol"),
    ]
)


def without_secrets(text: str) -> str:
    """A text in which every address is without names, passwords and parameters that may be keys."""
    if "://" in text:
        text = _ADDRESS.sub(lambda found: _open(found[0]), text)
    return _NAMED.sub(lambda found: f"{found[1]}{_HIDDEN}", text) if "=" in text else text


def _open(address: str) -> str:
    address, known = _USER.subn(f"{_HIDDEN}@", address, count=1)
    if not known:
        address = _CUT_USER.sub(_HIDDEN, address, count=1)
    before, mark, parameters = address.partition("?")
    if not mark:
        return address
    return f"{before}?{''.join(map(_parameter, _SPLIT.split(parameters)))}"


def _parameter(text: str) -> str:
    name, equals, _ = text.partition("=")
    is_open = text in ("&", ";", "") or name.lower() in _OPEN
    return text if is_open else f"{name}={_HIDDEN}" if equals else _HIDDEN


def shown(address: str) -> str:
    """An address without names, passwords and parameters."""
    return _USER.sub("", address, count=1).partition("?")[0]


def local_path(address: str) -> str | None:
    """The path of a file's address; None where it names another machine. Raises ARG_INVALID for what is none."""
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise invalid_argument(f"{quoted(shown(address))} is no address: {error}") from None
    path = unquote(parts.path)
    check_name(path)
    return path if parts.netloc in ("", "localhost") else None


def check_name(name: str) -> None:
    """Raises ARG_INVALID for a path or address with a character that neither can have."""
    if "\0" in name:
        raise invalid_argument(f"{quoted(shown(name))} holds the character U+0000, which no path or address has")
    if not name.isascii() and any("\ud800" <= letter <= "\udfff" for letter in name):
        raise invalid_argument(f"{quoted(shown(name))} holds half a surrogate pair, which is no character")
