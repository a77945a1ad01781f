"""A data folder as a data source reads it: as of one transaction, in every process."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from adalog.datalog.errors import AdalogError, Code, invalid_argument
from adalog.store.files.folder import check_is_folder
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.snapshot.transaction_ids import is_future
from adalog.store.sources import read_folder
from adalog.store.values.scalars import iso_instant

_LOGGER: Final = logging.getLogger("adalog.source")


@dataclass(frozen=True, slots=True)
class DataFolder:
    """A folder as of a transaction; t: None for the newest at each look."""

    data: str
    t: int | None = None
    history: bool = False

    def open(self) -> Snapshot:
        """The database, kept open for later tasks of the worker."""
        snapshot = _newest(self.data, self.t)
        if self.t is not None:
            snapshot = snapshot.as_of(self.t)
        return snapshot.history() if self.history else snapshot


# By folder, the newest state that was read here.
_opened: Final[dict[str, Snapshot]] = {}


def _newest(data: str, t: int | None) -> Snapshot:
    check_is_folder(data)
    found = _opened.get(data)
    if found is None or t is None or found.t < t:
        # Others are closed first: open files stay on disk.
        _opened.clear()
        found = _opened[data] = read_folder(data)
    if t is not None and t > found.t:
        raise AdalogError(Code.BASIS_FUTURE, f"t = {t} is not reached yet: the newest transaction is {found.t}")
    return found


def moment(data: str, as_of: str | None) -> int:
    """The transaction that `asOf` means, a number or an instant; without it the newest. Raises ARG_INVALID."""
    newest = _newest(data, None)
    if as_of is None:
        return newest.t
    if as_of.strip().isdecimal():
        return int(as_of)
    instant = iso_instant(as_of)
    if instant is None:
        raise invalid_argument(
            f"asOf is {as_of!r}; it is a transaction's number, or an instant as 2024-05-01T12:00:00Z"
        )
    if is_future(newest, instant):
        _LOGGER.warning("asOf is %s, in the future: the newest state is read, t = %d", as_of, newest.t)
    return newest.as_of_instant(instant)
