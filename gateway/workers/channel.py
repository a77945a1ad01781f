"""What a supervisor and a worker say to each other, over a pair of sockets that nobody else has.

The supervisor hands over descriptors, each with a byte that says what it is. The worker says lines of text; a count
is said whole, so that one that is lost does no harm.
"""

from __future__ import annotations

import socket
from typing import Final

CLIENT: Final = b"c"
"""A client's connection, to be served."""
CALLED: Final = b"p"
"""Another worker's call, to be answered."""
CALLING: Final = b"q"
"""The line to the worker that was to be called."""
NOBODY: Final = b"n"
"""There is no such worker now; a byte without a descriptor."""

OPENED: Final = "opened"
"""The database is open, and all that stands on it."""
UP: Final = "up"
"""Connections are taken."""
READY: Final = "ready"
"""The first query costs what any other does."""
BEAT: Final = "beat"
"""The worker's event loop turns."""
COUNT: Final = "count"
"""`count OPEN TAKEN`: connections that are open, and that were taken in all."""
CALL: Final = "call"
"""`call N`: a line to worker N is wanted."""
FAILED: Final = "failed"
"""`failed JSON`: the worker cannot start, and another could not either."""


def pair() -> tuple[socket.socket, socket.socket]:
    """The supervisor's end and the worker's."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    ours.setblocking(False)
    theirs.setblocking(False)
    return ours, theirs


def give(channel: socket.socket, what: bytes, descriptor: int | None) -> bool:
    """Hands something over; whether there was room for it. The descriptor stays the caller's."""
    try:
        if descriptor is None:
            return channel.send(what) == 1
        return socket.send_fds(channel, [what], [descriptor]) == 1
    except OSError:
        return False


def take(channel: socket.socket) -> tuple[bytes, int | None] | None:
    """What was handed over next: its byte and descriptor. None where nothing waits; an empty byte at the end."""
    try:
        what, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    except BlockingIOError:
        return None
    except OSError:
        return b"", None
    return what, descriptors[0] if descriptors else None
