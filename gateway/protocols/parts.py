"""Apollo's multipart subscriptions: each event is a part of one response.

https://www.apollographql.com/docs/graphos/routing/operations/subscriptions/multipart-protocol. A part that has only
`payload` is an execution result, one with `errors` beside it ends the subscription. The protocol has no tokens to
resume with, and a response without its final boundary was cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from adalog.executor.live.subscribers.event import Message
from adalog.gateway.protocols.events import StreamForm

_BOUNDARY: Final = b"\r\n--graphql"
# Clients take a part when they have the boundary after it: it belongs to the part.
_PART: Final = b"\r\nContent-Type: application/json\r\n\r\n%b" + _BOUNDARY
_END: Final = b"--\r\n"


class PartFrames:
    """The only operation of a response. JSON written by orjson has no line break, so no boundary either."""

    def event(self, message: Message) -> bytes:
        return _PART % (b'{"payload":%b}' % message.payload)

    def failure(self, errors: Sequence[Mapping[str, Any]]) -> bytes:
        return _PART % orjson.dumps({"payload": None, "errors": errors}) + _END

    def end(self) -> bytes:
        return _END


FORM: Final = StreamForm(
    b'multipart/mixed;boundary="graphql";subscriptionSpec="1.0"', _BOUNDARY, _PART % b"{}", PartFrames
)
