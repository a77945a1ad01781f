"""Bounds of one connection, whatever it speaks. No operator turns them, so they are no settings.

They are read as `limits.NAME` while a server runs, so that a test can set another value before.
"""

from __future__ import annotations

from typing import Final

HEAD_BYTES: Final = 64 * 1024
"""Of a request's first line and headers: four times what proxies pass on by default."""
HEAD_SECONDS: Final = 10.0
"""Until a request's headers are here: enough for a mobile network, too short to hold many connections."""
FIRST_REQUEST_SECONDS: Final = 1.0
"""Until the first bytes of a new connection, for which a server that stops waits."""
BODY_SECONDS: Final = 60.0
"""Until a body is here: the largest request at 140 KiB a second."""
SEND_SECONDS: Final = 60.0
"""Over which time a client has to take its answer at `SEND_RATE`, or is cut."""
SEND_RATE: Final = 64 * 1024
"""Bytes a second at least: a slower client would hold the largest answer for more than a quarter of an hour."""
INIT_SECONDS: Final = 10.0
"""Until a WebSocket is initialised, as `HEAD_SECONDS`."""
PING_SECONDS: Final = 20.0
"""After so much silence a WebSocket is pinged, and a stream of events sends a comment: below the 30 seconds after
which the most impatient proxies and address translations forget a connection."""
LINGER_SECONDS: Final = 1.0
"""For which a refused client may go on sending, unread."""
OPERATIONS_PER_CONNECTION: Final = 256
"""Subscriptions, queries and mutations at once on one WebSocket: more than a page shows, and a client may open more
connections."""
REQUEST_VALUES: Final = 1_000_000
"""The cost of a request's JSON, some 100 ms: a number counts one, a list or an object two, a string eight."""


def is_in_crumbs(pieces: int, nbytes: int) -> bool:
    """Whether a body or message came in too many chunks or frames: 1,024, and one more for each 64 bytes."""
    return pieces > 1024 + nbytes // 64
