"""Opaque texts for clients, base64url of signed bytes: page cursors and resume tokens."""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import Final

SIGNATURE_BYTES: Final = 12


def sign(key: bytes, body: bytes) -> bytes:
    """The shortened HMAC-SHA256 of a body."""
    return hmac.digest(key, body, "sha256")[:SIGNATURE_BYTES]


def packed(*parts: bytes) -> str:
    return base64.urlsafe_b64encode(b"".join(parts)).decode("ascii").rstrip("=")


def unpacked(text: str, most: int) -> bytes | None:
    """The bytes of a text; None if it is no such text, or has more than `most` characters."""
    if len(text) > most:
        return None
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
