"""What a supervisor and a worker say to each other, over a private pair of sockets.

The supervisor hands over descriptors, each with a byte that says what it is and the number of the call that it
answers, 0 where it answers none. The worker says lines of text. A count is said whole, and a call has a number, so
that whatever is lost does no harm.
"""

from __future__ import annotations

import socket
import struct
from typing import Final

CLIENT: Final = b"c"
"""A client's connection, to be served."""
CALLED: Final = b"p"
"""Another worker's call, to be answered."""
CALLING: Final = b"q"
"""The line to the worker that was to be called."""
NOBODY: Final = b"n"
"""There is no such worker now; without a descriptor."""
DRAIN: Final = b"d"
"""The server stops soon; without a descriptor."""

OPENED: Final = "opened"
"""The database is open, and all that stands on it."""
UP: Final = "up"
"""Connections are taken."""
DOWN: Final = "down"
"""No more connections are taken."""
READY: Final = "ready"
"""The first query costs what any other does."""
BEAT: Final = "beat"
"""The worker's event loop turns."""
COUNT: Final = "count"
"""`count OPEN TAKEN`: connections that are open, and that were taken in all."""
CALL: Final = "call"
"""`call I N`: a line to worker N is wanted, as an answer to call I."""
FAILED: Final = "failed"
"""`failed JSON`: the worker cannot start, and another could not either."""

_SAID: Final = struct.Struct("=cI")


def pair() -> tuple[socket.socket, socket.socket]:
    """The supervisor's end and the worker's."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    ours.setblocking(False)
    theirs.setblocking(False)
    return ours, theirs


def give(channel: socket.socket, what: bytes, descriptor: int | None, call: int = 0) -> bool:
    """Hands something over; whether there was room for it. The descriptor stays the caller's."""
    said = _SAID.pack(what, call)
    try:
        if descriptor is None:
            return channel.send(said) == len(said)
        return socket.send_fds(channel, [said], [descriptor]) == len(said)
    except OSError:
        return False


def take(channel: socket.socket) -> tuple[bytes, int, int | None] | None:
    """What was handed over next: its byte, the call that it answers, and the descriptor. None where nothing waits;
    an empty byte at the end."""
    try:
        said, descriptors, _, _ = socket.recv_fds(channel, _SAID.size, 1)
    except BlockingIOError:
        return None
    except OSError:
        said, descriptors = b"", []
    if len(said) < _SAID.size:
        return b"", 0, None
    what, call = _SAID.unpack(said)
    return what, call, descriptors[0] if descriptors else None
