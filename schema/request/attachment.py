"""What a response carries besides its JSON, for clients that ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class RowFile(Protocol):
    """The rows of a page, written in a format of files."""

    @property
    def nbytes(self) -> int:
        """About its size."""

    def whole(self) -> Sequence[bytes | memoryview]:
        """The file by itself."""

    def with_answer(self, answer: Sequence[bytes]) -> list[bytes | memoryview]:
        """The body of a response that has the file and the JSON."""


@dataclass(slots=True)
class Attachment:
    """The file that one field of a response may write. `field`: the fields of this name may; `file`: None until it
    is written."""

    field: str
    file: RowFile | None = None
    _is_claimed: bool = False

    def claim(self, field: str) -> bool:
        """Whether the caller is the first field of that name, whose file the response will have."""
        if field != self.field:
            return False
        was, self._is_claimed = self._is_claimed, True
        return not was
