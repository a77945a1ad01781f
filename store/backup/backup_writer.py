"""The files of one backup: what is new goes to the place, and nothing of it stays where that fails.

For taking a backup, and for writing one anew.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final
from uuid import uuid4

from adalog.datalog.errors import AdalogError, Code, unavailable
from adalog.store.backup.catalogue import Backup, Catalogue, KeptFile, publish
from adalog.store.backup.chunks import LogChunk, kept, packed
from adalog.store.backup.excised import ExcisedEntries
from adalog.store.backup.progress import BackupProgress
from adalog.store.checkpoint.checkpoint import Checkpoint
from adalog.store.checkpoint.files import segments_of, size_of
from adalog.store.files.formats import PAYLOAD
from adalog.store.files.place import FOLDERS, Place
from adalog.store.files.segment import MAGIC_BYTES, DamagedSegment, Segment, check_magic
from adalog.store.files.shared_files import pieces
from adalog.store.log.entry import CopiedEntry, chained
from adalog.store.sources import LogSource

_TRAILER: Final = 4


class BackupWriter:
    """One backup under way."""

    def __init__(
        self,
        source: LogSource,
        place: Place,
        found: Catalogue,
        watching: BackupProgress,
        entries: ExcisedEntries,
    ) -> None:
        self._log = source.log
        self._files = source.files
        self._at = source.at
        # What a backup has was durable.
        self._t = max(source.t, 0 if found.newest is None else found.newest.t)
        self._place = place
        self._found = found
        self._watching = watching
        self._present = _present(place)
        self._new: dict[str, int] = {}
        # That of older transactions is known of the newest backup.
        self._payloads = PAYLOAD.oldest if found.newest is None else found.newest.payloads
        self._entries = entries
        self._left_out: str | None = None

    def run(self) -> tuple[Backup, int, int, str | None]:
        """The backup, the bytes and files written for it, and why it has no checkpoint although there is one."""
        backup = self._added(self._new_backup)
        return backup, sum(self._new.values()), len(self._new), self._left_out

    def run_again(self, backup: Backup, *, keeps_checkpoint: bool) -> Backup:
        """The only backup of the catalogue with its entries as they are now."""
        return self._added(lambda: self._again(backup, keeps_checkpoint=keeps_checkpoint))

    def _added(self, made: Callable[[], Backup]) -> Backup:
        """A backup that is there; where that fails nothing of it stays."""
        try:
            backup = made()
            self._finish(backup)
        except BaseException:
            self._take_back()
            raise
        self._publish(backup)
        return backup

    def _new_backup(self) -> Backup:
        checkpoint, files, self._left_out = self._checkpoint()
        chunks, instant, checksum, imported = self._chunks()
        files += self._imported(imported)
        number = self._found.next_number
        return Backup(
            name=_name(number),
            number=number,
            made=self._at,
            identity=self._log.identity,
            t=self._t,
            instant=instant,
            log_checksum=checksum,
            chunks=chunks,
            checkpoint=None if checkpoint is None else checkpoint[0],
            checkpoint_t=0 if checkpoint is None else checkpoint[1].counters.t,
            files=files,
            payloads=self._payloads,
            cleaned=self._entries.newest,
        )

    def _again(self, backup: Backup, *, keeps_checkpoint: bool) -> Backup:
        chunks, _, _, imported = self._chunks()
        files = self._imported(imported)
        if keeps_checkpoint:
            files += [file for file in backup.files if file.folder == "segments"]
        return replace(
            backup,
            name=_name(backup.number),
            chunks=chunks,
            checkpoint=backup.checkpoint if keeps_checkpoint else None,
            checkpoint_t=backup.checkpoint_t if keeps_checkpoint else 0,
            files=files,
            payloads=self._payloads,
            cleaned=self._entries.newest,
        )

    def _finish(self, backup: Backup) -> None:
        """Raises BACKEND_UNAVAILABLE where the files are not those of the backup any more."""
        self._place.settle()
        self._check_present(backup)
        seen = self._entries.seen
        if any(is_excision for _, is_excision, _ in self._log.excised(seen, self._log.newest())):
            raise unavailable("something was excised while the backup was taken; nothing was added, try again")

    def _publish(self, backup: Backup) -> None:
        try:
            publish(self._place, backup)
        except BaseException:
            # It may be there all the same, and what it names has to stay then.
            with suppress(AdalogError):
                self._place.remove(backup.file)
                self._place.settle()
                if backup.name not in self._place.sizes("backups"):
                    self._take_back()
            raise

    def _take_back(self) -> None:
        for name in self._new:
            with suppress(AdalogError):
                self._place.remove(name)
            self._present.pop(name, None)
        self._new = {}

    def _checkpoint(self) -> tuple[tuple[str, Checkpoint] | None, list[KeptFile], str | None]:
        if self._files is None:
            return None, [], None
        try:
            found = self._files.checkpoint()
            if found is None:
                return None, [], None
            checkpoint = found[1]
            if self._log.checksum_at(checkpoint.counters.t) != checkpoint.log_checksum:
                raise DamagedSegment("the checkpoint", "it is not of this log")
            if checkpoint.counters.excised < self._entries.newest:
                # The next one does not: it is made in a moment.
                return None, [], "the checkpoint has still what was just excised"
            files = self._kept("segments", checkpoint.segments())
        except (DamagedSegment, OSError) as error:
            # The log has everything; only restoring takes longer.
            self._take_back()
            why = error.message if isinstance(error, AdalogError) else str(error)
            return None, [], why.partition(";")[0]
        # What a checkpoint has is durable.
        self._t = max(self._t, checkpoint.counters.t)
        return found, files, None

    def _imported(self, segments: Collection[Segment]) -> list[KeptFile]:
        try:
            return self._kept("imported", segments)
        except DamagedSegment as error:
            raise AdalogError(
                Code.INTERNAL,
                f"the log names {error.message.partition(';')[0]}, so that no backup can be taken. `adalog check` "
                "says more; restore the data folder from an earlier backup",
            ) from None

    def _kept(self, folder: str, segments: Collection[Segment]) -> list[KeptFile]:
        known = {
            (file.folder, file.name, file.checksum): file for backup in self._found.backups for file in backup.files
        }
        files, missing = [], []
        for segment in segments:
            file = known.get((folder, segment.file, segment.checksum))
            if file is not None and self._present.get(file.file) == file.size:
                files.append(file)
            else:
                missing.append(segment)
        if not missing:
            return files
        assert self._files is not None, "where there are segments"
        total = sum(self._files.size(segment) for segment in missing)
        self._watching.stage("copying files")
        done = 0
        for segment in missing:
            try:
                self._files.bring([segment])
            except AdalogError as error:
                if folder == "imported":
                    raise
                raise DamagedSegment(segment.file, error.message) from None
            try:
                file = self._copied(folder, segment, done, total)
            finally:
                self._files.drop(segment)
            done += file.size
            files.append(file)
        return files

    def _copied(self, folder: str, segment: Segment, done: int, total: int) -> KeptFile:
        digest, size = _digest(segment, lambda: self._watching.bytes(done, total))
        file = KeptFile(folder, segment.file, segment.checksum, digest, size)
        if self._present.get(file.file) != size:
            self._write(file.file, size, self._told(_pieces(segment), done, total))
        return file

    def _told(self, pieces: Iterator[bytes], done: int, total: int) -> Iterator[bytes]:
        for piece in pieces:
            self._watching.bytes(done, total)
            yield piece
            done += len(piece)

    def _write(self, name: str, size: int, pieces: Iterator[bytes]) -> None:
        # Before, so that it is removed when only a part of it was written.
        self._new[name] = size
        self._place.write(name, pieces)
        self._present[name] = size

    def _chunks(self) -> tuple[list[LogChunk], int, int, list[Segment]]:
        """The chunks, the last instant, the checksum at its end, and the files that its entries name."""
        newest = self._found.newest
        before: Sequence[LogChunk] = () if newest is None else newest.chunks
        last = before[-1].last if before else 0
        if last < self._t:
            before = kept(before, self._log.nbytes(last + 1, self._t + 1, self._t), self._t - last)
        self._watching.stage("copying the log")
        chunks: list[LogChunk] = []
        for chunk in before:
            # One that is missing is made again: of the same entries the same file, which older backups need too.
            chunks += (
                [chunk]
                if self._present.get(chunk.file) == chunk.size and not self._is_outdated(chunk)
                else self._packed(chunk.before, chunk.first - 1, chunk.last)
            )
        last, end = (chunks[-1].last, chunks[-1].checksum) if chunks else (0, 0)
        chunks += self._packed(end, last, self._t)
        checksum = self._log.checksum_at(self._t)
        assert checksum is not None
        return chunks, chunks[-1].instant if chunks else 0, checksum, self._named()

    def _is_outdated(self, chunk: LogChunk) -> bool:
        """Whether a chunk of the newest backup has what was excised since."""
        newest = self._found.newest
        return newest is not None and bool(self._entries.taken_from(chunk.first, chunk.last, newest.cleaned))

    def _packed(self, checksum: int, after: int, until: int) -> list[LogChunk]:
        """Writes the entries with after < t <= until; checksum: that of entry `after`."""
        total, done, chunks = self._log.nbytes(after + 1, until + 1, until), 0, []
        for each in packed(self._checked(checksum, after, until), checksum):
            self._watching.bytes(done, total)
            if self._present.get(each.chunk.file) != each.chunk.size:
                self._write(each.chunk.file, each.chunk.size, iter((each.content,)))
            chunks.append(each.chunk)
            done += each.chunk.plain
        return chunks

    def _checked(self, checksum: int, after: int, until: int) -> Iterator[CopiedEntry]:
        t = after
        for copy in self._log.copied(after, until):
            t, checksum = t + 1, chained(checksum, copy.entry)
            if (copy.entry.t, copy.checksum) != (t, checksum):
                raise _damaged(t)
            self._payloads = max(self._payloads, copy.entry.payload[0])
            yield copy
        if t != until:
            raise _damaged(t + 1)

    def _named(self) -> list[Segment]:
        """The files that the log names up to t."""
        names = self._log.files(self._t)
        if not names:
            return []
        if self._files is None:
            raise unavailable(
                f"the log names {min(names)}, which is where the gateways share files: say where that is, with "
                "--segments or ADALOG_SEGMENTS, or have one of them take the backup, with --url",
                retryable=False,
            )
        return segments_of(names, self._files.imported)

    def _check_present(self, backup: Backup) -> None:
        """Raises BACKEND_UNAVAILABLE if another process removed files meanwhile."""
        present = _present(self._place)
        for name, size in backup.parts().items():
            if present.get(name) != size:
                raise unavailable(
                    f"{name} went from {self._place.shown} while the backup was taken, which somebody else changes "
                    "too; nothing was added, try again"
                )


def _name(number: int) -> str:
    """That of a backup's file, which no other has."""
    return f"{number:06}-{uuid4().hex[:8]}.json"


def _present(place: Place) -> dict[str, int]:
    return {f"{folder}/{name}": size for folder in FOLDERS[:2] for name, size in place.sizes(folder).items()}


def _damaged(t: int) -> AdalogError:
    return AdalogError(
        Code.INTERNAL,
        f"the log is damaged: transaction {t} is missing or not what was written, so that no backup can be taken. "
        "`adalog check` says more; restore the data folder from an earlier backup",
    )


def _pieces(segment: Segment) -> Iterator[bytes]:
    try:
        yield from pieces(Path(segment.path))
    except OSError as error:
        raise DamagedSegment(segment.file, f"it cannot be read ({error.strerror})") from None


def _digest(segment: Segment, look: Callable[[], None]) -> tuple[str, int]:
    """SHA-256 and the bytes of a segment's file. look: called now and then, may raise. Raises DamagedSegment where
    the file's own checksum is wrong, NewerFormat."""
    size = size_of(segment)
    digest, checksum, left, head = hashlib.sha256(), 0, size - _TRAILER, b""
    for piece in _pieces(segment):
        look()
        head = head or piece[:MAGIC_BYTES]
        digest.update(piece)
        # A slice of all of it is the piece itself, and no copy.
        checksum = zlib.crc32(piece[: max(left, 0)], checksum)
        left -= len(piece)
    if left != -_TRAILER or checksum != segment.checksum:
        raise DamagedSegment(segment.file, "its checksum is wrong")
    check_magic(segment.file, head)
    return digest.hexdigest(), size
