"""File systems by address, for what is in no local folder: those of PyArrow (`s3://`, `gs://`, `hdfs://`, …)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from adalog.datalog.errors import invalid_argument, unavailable
from adalog.store.files.addresses import check_name, shown, without_secrets

if TYPE_CHECKING:
    # Settings name addresses, and no command waits for file systems that it does not use.
    from pyarrow import fs

_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")

SCHEMES: Final = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs", "file")
"""Of the file systems that PyArrow has."""


def is_address(text: str) -> bool:
    return _ADDRESS.match(text) is not None


def check_address(address: str) -> None:
    """Raises ValueError for what cannot be an address; opens no connection. The text may hold keys, and is not
    quoted."""
    scheme, separator, rest = address.partition("://")
    where = rest.partition("?")[0].rpartition("@")[2]
    if not separator or scheme.lower() not in SCHEMES or not where.strip("/"):
        begins = ", ".join(f"{each}://" for each in SCHEMES)
        raise ValueError(
            f"name an address that PyArrow reads and writes, as s3://bucket/adalog; it begins with one of {begins}"
        )


def file_system_at(address: str) -> tuple[fs.FileSystem, str]:
    """The file system of an address, and the path in it. Raises ARG_INVALID."""
    from pyarrow import fs

    check_name(address)
    try:
        system, path = fs.FileSystem.from_uri(address)
    except (ValueError, OSError, NotImplementedError) as error:
        raise invalid_argument(
            f"{shown(address)} is no address that PyArrow reads and writes: "
            f"{without_secrets(str(error).splitlines()[0].replace(address, shown(address)))}"
        ) from None
    if not path.strip("/"):
        raise invalid_argument(f"{shown(address)} names no place there; it is as s3://bucket/folder")
    return system, path.rstrip("/")


@contextmanager
def reporting_errors(address: str) -> Iterator[None]:
    """Raises errors of the file system as BACKEND_UNAVAILABLE, with the address."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error) or type(error).__name__).splitlines()[0]
        raise unavailable(f"{shown(address)} cannot be used: {without_secrets(reason)}", retryable=False) from None
