"""The cursors of one root field: all of one snapshot, which the root and everything below it is read from."""

from __future__ import annotations

from dataclasses import dataclass

from adalog.datalog.errors import invalid_argument
from adalog.schema.request.cursor import Cursor, Cursors, excised_since, outdated_cursor, question
from adalog.store.snapshot.snapshot import Snapshot


@dataclass(slots=True)
class PageCursors:
    """viewer: what tells apart who sees what, nothing for those that see everything. t: of the snapshot, once it is
    known; a cursor that is read decides it. excised: the last excision after t that its pages know of, 0 for
    none."""

    cursors: Cursors
    viewer: tuple[str, ...] = ()
    t: int | None = None
    excised: int = 0

    def place(self, text: str, asked: str, argument: str, *, owned: bool) -> tuple[int, str]:
        """The place that a cursor, given as an argument, names in the list `asked` is the name of, and the entity
        whose list it is where lists are `owned`. Raises ARG_INVALID."""
        cursor = self.cursors.read(text, self._named(asked), owned=owned, argument=argument)
        if self.t is not None and self.t != cursor.t:
            raise invalid_argument(
                f"one cursor is of transaction {self.t} and another of {cursor.t}; the cursors of one root field "
                "come from one response"
            )
        if self.t is not None and self.excised != cursor.excised:
            raise outdated_cursor(argument)
        self.t, self.excised = cursor.t, cursor.excised
        return cursor.offset, cursor.question.partition(".")[2]

    def read_from(self, snapshot: Snapshot) -> None:
        """Sets the snapshot, which is of the transaction of the cursors that were read. Raises ARG_INVALID where it
        may have other rows than they know of."""
        excised = excised_since(snapshot, snapshot.t)
        if self.t is not None and self.excised != excised:
            raise outdated_cursor("after")
        self.t, self.excised = snapshot.t, excised

    def write(self, asked: str, owner: str, place: int) -> str:
        """owner: the entity whose list it is, or nothing."""
        assert self.t is not None, "the snapshot is known before anything is written"
        asked = self._named(asked)
        return self.cursors.write(
            Cursor(f"{asked}.{owner}" if owner else asked, place, self.t, excised=self.excised)
        )

    def _named(self, asked: str) -> str:
        return question(asked, *self.viewer) if self.viewer else asked
