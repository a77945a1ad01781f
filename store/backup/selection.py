"""Which backup is restored, and up to which transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from adalog.datalog.errors import AdalogError, Code, invalid_argument
from adalog.store.backup.catalogue import Backup, Catalogue
from adalog.store.backup.chunks import LogChunk, read
from adalog.store.files.packing import instant, milliseconds
from adalog.store.files.place import Place


def chosen(found: Catalogue, place: Place, moment: int | datetime | None, number: int | None) -> Backup:
    """The backup of a number, or the newest one, or an older one that has the moment. Raises ARG_INVALID where
    there is none, INTERNAL where it cannot be read."""
    if number is not None:
        return found.one(number, place.shown)
    newest = found.newest
    if newest is not None and isinstance(moment, int):
        # The first one that has it: the fewer files are needed. What was excised comes back from no older one.
        fits = (each for each in found.backups if each.t >= moment and each.cleaned >= newest.cleaned)
        first = next(fits, None)
        if first is not None:
            return first
    # An older state is restored on request, and not for lack of a newer one.
    damaged = found.damaged_after(0 if newest is None else newest.number)
    if damaged is not None:
        instead = "" if newest is None else f"; --backup {newest.number} restores the newest that can be read"
        raise AdalogError(damaged.code, f"{damaged.message}{instead}. Nothing was restored")
    if newest is None:
        raise invalid_argument(f"there is no backup in {place.shown} yet: the first one did not end")
    return newest


def reached(place: Place, backup: Backup, moment: int | datetime | None) -> int:
    """The transaction to restore to. Raises BASIS_FUTURE for one that the backup does not have, or may not."""
    if moment is None:
        return backup.t
    if isinstance(moment, datetime):
        if milliseconds(moment) > backup.made:
            made = instant(backup.made).isoformat(timespec="milliseconds")
            raise AdalogError(
                Code.BASIS_FUTURE,
                f"{moment.isoformat()} is later than backup {backup.number}, which was made at {made} and does not "
                "know what came after; without --t all that it has is restored",
            )
        return _last_until(place, backup.chunks, milliseconds(moment))
    if moment < 0:
        raise invalid_argument(f"--t is {moment}; transactions are numbered from 1, and 0 is before the first")
    if moment > backup.t:
        raise AdalogError(
            Code.BASIS_FUTURE, f"t = {moment} is not in {place.shown}: backup {backup.number} is of t = {backup.t}"
        )
    return moment


def _last_until(place: Place, chunks: Sequence[LogChunk], instant: int) -> int:
    for chunk in chunks:
        if chunk.instant > instant:
            earlier = [copy.entry.t for copy in read(place, chunk) if copy.entry.instant <= instant]
            return earlier[-1] if earlier else chunk.first - 1
    return chunks[-1].last if chunks else 0
