"""The cursors of one root field: all of one snapshot, which the root and everything below it is read from."""

from __future__ import annotations

from dataclasses import dataclass

from adalog.datalog.errors import invalid_argument
from adalog.schema.request.cursor import Cursor, Cursors, question


@dataclass(slots=True)
class PageCursors:
    """viewer: what tells apart who sees what, nothing for those that see everything. t: of the snapshot, once it is
    known; a cursor that is read decides it."""

    cursors: Cursors
    viewer: tuple[str, ...] = ()
    t: int | None = None

    def place(self, text: str, asked: str, argument: str, *, owned: bool) -> tuple[int, str]:
        """The place that a cursor, given as an argument, names in the list `asked` is the name of, and the entity
        whose list it is where lists are `owned`. Raises ARG_INVALID."""
        cursor = self.cursors.read(text, self._named(asked), owned=owned, argument=argument)
        if self.t is not None and self.t != cursor.t:
            raise invalid_argument(
                f"one cursor is of transaction {self.t} and another of {cursor.t}; the cursors of one root field "
                "come from one response"
            )
        self.t = cursor.t
        return cursor.offset, cursor.question.partition(".")[2]

    def write(self, asked: str, owner: str, place: int) -> str:
        """owner: the entity whose list it is, or nothing."""
        assert self.t is not None, "the snapshot is known before anything is written"
        asked = self._named(asked)
        return self.cursors.write(Cursor(f"{asked}.{owner}" if owner else asked, place, self.t))

    def _named(self, asked: str) -> str:
        return question(asked, *self.viewer) if self.viewer else asked
