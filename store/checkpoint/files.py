"""The files beside a log, for readers beside the serving process: backups and checks.

They lie in a folder, or where the gateways on a server share them. Either way they have paths here, at which they
are once they were brought.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from adalog.datalog.errors import AdalogError, unavailable
from adalog.store.checkpoint.checkpoint import Checkpoint
from adalog.store.files import leases
from adalog.store.files.folder import FolderLayout
from adalog.store.files.permissions import FOLDER_MODE
from adalog.store.files.place import Place
from adalog.store.files.private_folder import PrivateFolder
from adalog.store.files.segment import DamagedSegment, Segment
from adalog.store.files.shared_files import CHECKPOINTS, FILES, IMPORTED, fetch
from adalog.store.log.publication import Published

_PREFIX: Final = "adalog-read-"


class Files(ABC):
    """`segments`, `imported`: folders here. `path`: the data folder, None where they do not lie in one. `place`:
    what their names stand in, for people. `checkpoint_shown`: where the checkpoint is, likewise."""

    path: Path | None = None
    place = ""
    checkpoint_shown: str
    segments: Path
    imported: Path

    def held(self) -> AbstractContextManager[None]:
        """No segment goes until the end, where that can be had."""
        return nullcontext()

    @abstractmethod
    def checkpoint(self) -> tuple[str, Checkpoint] | None:
        """The text of the newest checkpoint and what it says, whose segments need not be here; None without one.
        Raises DamagedSegment, or AdalogError for one that cannot be read."""

    @abstractmethod
    def bring(self, segments: Sequence[Segment]) -> None:
        """Has files be at their paths, as far as these are others' to fill. Raises DamagedSegment."""

    @abstractmethod
    def drop(self, segment: Segment) -> None:
        """A file that was brought is not needed any more."""

    @abstractmethod
    def size(self, segment: Segment) -> int:
        """The bytes of a file, which need not be here, more or less. Raises DamagedSegment."""

    def shown(self, segment: Segment) -> str:
        """Where a file is, for people."""
        return f"{self.place}{Path(segment.path).parent.name}/{segment.file}"


class FolderFiles(Files):
    """Those of a data folder, or of a gateway's copy. bring: has files of imports be there, where it does not have
    them all."""

    def __init__(self, folder: FolderLayout, bring: Callable[[Sequence[Segment]], None] | None = None) -> None:
        self.path = folder.path
        self.checkpoint_shown = folder.checkpoint.name
        self.segments, self.imported = folder.segments, folder.imported
        self._folder = folder
        self._bring = bring

    def held(self) -> AbstractContextManager[None]:
        return leases.all_held(self.segments) if self.segments.is_dir() else nullcontext()

    def checkpoint(self) -> tuple[str, Checkpoint] | None:
        return Checkpoint.load_with_text(self._folder)

    def bring(self, segments: Sequence[Segment]) -> None:
        if self._bring is not None:
            self._bring([each for each in segments if Path(each.path).parent == self.imported])

    def drop(self, segment: Segment) -> None:
        """It is not ours to remove."""

    def size(self, segment: Segment) -> int:
        return 0 if self._bring is not None else size_of(segment)


class SharedFiles(Files):
    """Those that gateways share in a place: read where they are, if that is a folder of this machine, or else
    fetched into one of our own. None is held: files stay for a while after they were named last."""

    def __init__(self, place: Place, published: Callable[[], list[Published]], own: Path) -> None:
        self.place = f"{place.shown}/"
        self.checkpoint_shown = f"{place.shown}/{CHECKPOINTS}"
        self._place = place
        self._published = published
        self._is_own = place.local(FILES) is None
        self._sizes: dict[str, dict[str, int]] = {}
        self.segments = place.local(FILES) or own / FILES
        self.imported = place.local(IMPORTED) or own / IMPORTED
        if self._is_own:
            for folder in (self.segments, self.imported):
                folder.mkdir(FOLDER_MODE)

    def checkpoint(self) -> tuple[str, Checkpoint] | None:
        try:
            known = self._published()
        except sa.exc.SQLAlchemyError as error:
            raise unavailable(f"shared checkpoints cannot be looked for: {error.__cause__ or error}") from None
        if not known:
            return None
        name = known[0].file
        try:
            text = self._place.read(f"{CHECKPOINTS}/{name}").decode()
        except (AdalogError, UnicodeDecodeError) as error:
            raise DamagedSegment(name, error.message if isinstance(error, AdalogError) else str(error)) from None
        return text, Checkpoint.parsed(text, self.segments, name)

    def bring(self, segments: Sequence[Segment]) -> None:
        if self._is_own:
            for folder, name in ((self.segments, FILES), (self.imported, IMPORTED)):
                fetch(self._place, name, [each for each in segments if Path(each.path).parent == folder])

    def drop(self, segment: Segment) -> None:
        if self._is_own:
            Path(segment.path).unlink(missing_ok=True)

    def size(self, segment: Segment) -> int:
        if not self._is_own:
            return size_of(segment)
        folder = Path(segment.path).parent.name
        if folder not in self._sizes:
            self._sizes[folder] = self._place.sizes(folder)
        return self._sizes[folder].get(segment.file, 0)


@contextmanager
def shared_files(place: Place, published: Callable[[], list[Published]]) -> Iterator[SharedFiles]:
    """What gateways share in a place, until the end. published: as in `store.log.publication`."""
    own = PrivateFolder(_PREFIX)
    try:
        yield SharedFiles(place, published, own.path)
    finally:
        own.remove()


def size_of(segment: Segment) -> int:
    """The bytes of a file that is here. Raises DamagedSegment."""
    try:
        return Path(segment.path).stat().st_size
    except OSError as error:
        raise DamagedSegment(segment.file, f"it cannot be read ({error.strerror})") from None


def segments_of(names: Collection[str], folder: Path) -> list[Segment]:
    """The files of a folder by their names, which end with their checksums."""
    return [
        Segment(str(folder / name), int(name.removesuffix(".seg").rpartition("-")[2], 16)) for name in sorted(names)
    ]
