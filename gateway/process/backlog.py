"""Closes a port without resetting the connections that wait to be accepted.

On Linux a filter drops the first packet of each new connection. A client sends it again after a second, when the
port is closed, and is told so. Meanwhile the caller accepts what waits. Other systems let new connections in.
"""

from __future__ import annotations

import ctypes
import select
import socket
import struct
import sys
from contextlib import suppress
from typing import Final

SETTLE_SECONDS: Final = 0.05
"""For the last packets of connections that began before the filter."""
_SO_ATTACH_FILTER: Final = 26
# Classic BPF over a TCP header: load the flags, keep SYN and ACK, drop what has SYN alone, take all else.
_ONLY_ESTABLISHED: Final = (
    (0x30, 0, 0, 13),
    (0x54, 0, 0, 0x12),
    (0x15, 0, 1, 0x02),
    (0x06, 0, 0, 0),
    (0x06, 0, 0, 0xFFFFFFFF),
)


def refuse_new(listener: socket.socket) -> None:
    """Lets no new connection begin, where the system can do that. Those that wait can still be accepted."""
    if not sys.platform.startswith("linux"):
        return
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in _ONLY_ESTABLISHED))
    program = struct.pack("@HP", len(_ONLY_ESTABLISHED), ctypes.addressof(code))
    # A sandbox may know no filters.
    with suppress(OSError):
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)


def is_readable(descriptor: int) -> bool:
    """Whether something arrived that is not read: of a listening socket, a connection."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
