"""What may be an idempotency key."""

from __future__ import annotations

import hashlib
from typing import Final

from adalog.datalog.errors import invalid_argument

_KEY_CHARACTERS: Final = 256


def owned_key(idempotency_key: str, principal: str) -> str:
    """What the log calls a key that is one principal's: no other learns whether it was used."""
    name = hashlib.sha256(f"{principal}\0{idempotency_key}".encode()).hexdigest()
    return f"of a principal {name}"


def check_key(idempotency_key: str) -> None:
    """Raises ARG_INVALID for what is none."""
    if not idempotency_key.strip():
        # An empty form field is no key: the second transaction sent with it would be lost.
        raise invalid_argument(
            "the idempotency key is empty; give each transaction one of its own, such as a uuid, or none"
        )
    if len(idempotency_key) > _KEY_CHARACTERS:
        raise invalid_argument(
            f"the idempotency key has {len(idempotency_key):,} characters; it has at most {_KEY_CHARACTERS}, such "
            "as the 36 of a uuid"
        )
    if "\0" in idempotency_key:
        raise invalid_argument("the idempotency key holds the character U+0000, which keys do not have")
    if not idempotency_key.isascii() and any("\ud800" <= letter <= "\udfff" for letter in idempotency_key):
        raise invalid_argument("the idempotency key holds half a surrogate pair, which is no character")
