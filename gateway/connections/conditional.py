"""Validators of answers to GET: a client that has the same answer already gets 304 instead.

https://www.rfc-editor.org/rfc/rfc9110#name-conditional-requests
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

_DIGEST_BYTES = 16


def validated(media: str, body: Iterable[bytes]) -> dict[str, str]:
    """The headers of an answer that may be kept by the client, and asked for again with its ETag. The validator is
    of the bytes before they are compressed: a weak one, as it is the same however they are sent. Answers depend on
    the client, so no cache between may keep them."""
    digest = hashlib.blake2b(key=media.encode(), digest_size=_DIGEST_BYTES)
    for chunk in body:
        digest.update(chunk)
    return validated_by(f'W/"{digest.hexdigest()}"')


def validated_by(etag: str) -> dict[str, str]:
    """The same with a validator that is known."""
    return {
        "ETag": etag,
        "Cache-Control": "private, no-cache",
        "Vary": "Accept, Authorization",
    }


def unchanged(if_none_match: bytes | None, etag: str) -> bool:
    """Whether an If-None-Match header names the validator, or anything at all."""
    if if_none_match is None:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in if_none_match.decode("latin-1").split(",")]
    return "*" in tags or etag.removeprefix("W/") in tags
