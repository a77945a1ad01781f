"""Which address a client is counted by, and which user of this machine it is, where the system tells (Linux)."""

from __future__ import annotations

import ipaddress
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from starlette.types import Scope

Address = tuple[str, int]

_TABLES: Final = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
_LOCAL, _REMOTE, _USER = 1, 2, 7
# What proxies say of those they ask for.
_FORWARDED: Final = (b"forwarded", b"via", b"x-forwarded-for", b"x-real-ip")


def is_own_user(scope: Scope) -> bool:
    """Whether a request comes from a process of the user that this one runs as, and not through a proxy that says
    so. False where it is not known."""
    client, server = scope.get("client"), scope.get("server")
    if any(name in _FORWARDED for name, _ in scope["headers"]):
        return False
    if not client or not server or server[1] is None:
        return False
    return user_of((client[0], client[1]), (server[0], server[1])) == os.geteuid()


@lru_cache(4096)
def counted_address(text: str) -> str:
    """What the connections and requests of one customer are counted by: an IPv4 address, or the network of an IPv6
    one; empty where it is none."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    if address.version == 4 or address.is_loopback:
        return str(address)
    mapped = address.ipv4_mapped
    return str(ipaddress.ip_network((address, 64), strict=False)) if mapped is None else str(mapped)


def user_of(client: Address, server: Address) -> int | None:
    """The user whose socket `client` is, of a connection from there to `server`; None where that is not known."""
    try:
        ends = _spelt(client), _spelt(server)
    except ValueError:
        return None
    for fields in _rows():
        if (fields[_LOCAL], fields[_REMOTE]) in zip(*ends, strict=True):
            return int(fields[_USER])
    return None


def _rows() -> Iterator[list[str]]:
    for table in _TABLES:
        with suppress(OSError), table.open() as lines:
            next(lines, None)
            yield from (line.split() for line in lines)


def _spelt(address: Address) -> tuple[str, str]:
    """An address as both tables have it: as IPv4 and as IPv6. Raises ValueError."""
    host, port = ipaddress.ip_address(address[0].partition("%")[0]), address[1]
    if host.version == 6 and host.ipv4_mapped is not None:
        host = host.ipv4_mapped
    wide = ipaddress.IPv6Address(f"::ffff:{host}") if host.version == 4 else host
    return f"{_words(host.packed)}:{port:04X}", f"{_words(wide.packed)}:{port:04X}"


def _words(packed: bytes) -> str:
    """Four bytes at a time, in the byte order of the machine."""
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
