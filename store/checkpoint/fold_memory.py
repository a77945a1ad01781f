"""What a fold takes of memory, and how much of it one process may take."""

from __future__ import annotations

from typing import Final

PAIR_BYTES: Final = 150
"""What one pair that is folded takes of memory."""

FOLD_BYTES: Final = 1 << 30
"""What a fold of one attribute may take of memory in one process."""


def pairs_in(most: int) -> int:
    """How many pairs are folded in so many bytes."""
    return max(most // PAIR_BYTES, 1)
