"""What comes before the JSON of a response, for clients that ask for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Attachment:
    """Bytes that one field of a response may put before the JSON. `chunks`: none until they are made."""

    chunks: tuple[bytes | memoryview, ...] = ()
    _is_claimed: bool = False

    def claim(self) -> bool:
        """Whether the caller is the first, whose bytes it will have."""
        was, self._is_claimed = self._is_claimed, True
        return not was
