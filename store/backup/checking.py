"""Reading everything of a data folder, beside whoever serves it, and saying what is damaged, where, and what to do.

The log first, which is the truth; then what is made from it: the checkpoint and its segments, which are also
compared with the log where that is asked for. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from datalog.errors import AdalogError, Code
from store import layout, leases
from store.attribute_data import AttributeData
from store.backup.soundness import block_faults, delta_faults, relation_faults, unknown_values
from store.backup.taking import UNWATCHED, Watching
from store.base import Base
from store.checkpoint import Checkpoint, restored
from store.codes import Codes
from store.columns import Columns, Int64s
from store.delta import Delta
from store.folder import Layout, is_address
from store.head import Head
from store.log import Copied, Log, chained
from store.payload import Logged
from store.reading import held_folder
from store.relation import Relation
from store.segment import Arrays, DamagedSegment, Segment, open_segment
from store.stored import block_of, load_base, load_deltas, load_run
from store.trie import distinct

_CURSOR_KEY_BYTES: Final = 32
_REBUILT: Final = "nothing is lost: it is made again from the log when the folder is opened next"
_WRONG: Final = (
    "nothing is lost, but answers may be wrong until you delete checkpoint.json while nobody has the folder: all "
    "segments are then made again from the log"
)
_LOST: Final = "restore the folder from a backup: `adalog restore OUT --data NEW`"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is damaged: where, what is wrong with it, what to do."""

    where: str
    what: str
    remedy: str


@dataclass
class Checked:
    """What was read, and what was found."""

    t: int = 0
    files: int = 0
    bytes: int = 0
    findings: list[Finding] = field(default_factory=list)


Tell = Callable[[Finding], None]


def check_folder(
    location: str, tell: Tell = lambda _: None, *, deep: bool = False, watching: Watching = UNWATCHED
) -> Checked:
    """Checks a data folder. tell: is given what is damaged as it is found. deep: the log is replayed too, and what
    comes of it compared with the segments; that takes as much memory as the database.

    Raises BACKEND_UNAVAILABLE where there is no database, or nobody may look.
    """
    if is_address(location):
        raise AdalogError(
            Code.ARG_INVALID,
            "a database on a server is not read by `adalog check`: gateways verify its log as they read it; back "
            "it up, and check the backup (--deep)",
        )
    folder = held_folder(location)
    with ExitStack() as holding:
        if folder.segments.is_dir():
            holding.enter_context(leases.all_held(folder.segments))
        check = _Check(folder, tell, watching)
        check.others()
        try:
            log = Log.reading(folder.log, folder.imported)
        except AdalogError as error:
            check.found(Layout.LOG, error.message.partition(". Nothing")[0], _LOST)
            return check.checked
        holding.callback(log.close)
        whole = check.log(log)
        checkpoint = check.checkpoint(log)
        if deep and whole and checkpoint is not None:
            check.deep(log, checkpoint)
        return check.checked


class _Check:
    """One check under way."""

    def __init__(self, folder: Layout, tell: Tell, watching: Watching) -> None:
        self._folder = folder
        self._tell = tell
        self._watching = watching
        self.checked = Checked()

    def found(self, where: str, what: str, remedy: str) -> None:
        """Something is damaged."""
        finding = Finding(where, what, remedy)
        self.checked.findings.append(finding)
        self._tell(finding)

    def _count(self, path: Path) -> None:
        self.checked.files += 1
        self.checked.bytes += path.stat().st_size

    def others(self) -> None:
        """What belongs to no transaction."""
        key = self._folder.path / "cursor.key"
        if key.exists():
            try:
                size = len(key.read_bytes())
            except OSError as error:
                self.found(key.name, f"it cannot be read ({error.strerror})", "let its owner read it")
                return
            if size != _CURSOR_KEY_BYTES:
                what = f"it has {size} bytes, not {_CURSOR_KEY_BYTES}"
                self.found(
                    key.name, what, "delete it to have another one made; pages under way are then begun anew"
                )

    # The log

    def log(self, log: Log) -> bool:
        """Every page, entry and file of the log; whether all is right."""
        before = len(self.checked.findings)
        self._watching.stage("reading the log")
        for fault in log.faults():
            self.found(Layout.LOG, f"SQLite says: {fault}", _LOST)
        self._count(self._folder.log)
        try:
            last = self.checked.t = log.newest()
            total = log.nbytes(1, last + 1, last)
            named = self._entries(log.copied(0, last), last, total)
            listed = log.files(last)
        except AdalogError as error:
            self.found(Layout.LOG, error.message.partition(". Nothing")[0], _LOST)
            return False
        for name in sorted(listed ^ named):
            self.found(Layout.LOG, f"its list of files and its entries differ in {name}", _LOST)
        return len(self.checked.findings) == before

    def _entries(self, copies: Iterator[Copied], last: int, total: int) -> set[str]:
        """Reads all entries; the files that they name."""
        named: set[str] = set()
        expected, checksum, instant, done = 1, 0, 0, 0
        for copy in copies:
            entry, t = copy.entry, copy.entry.t
            done += len(entry.payload)
            self._watching.bytes(done, total)
            if t != expected:
                missing = (
                    f"transactions {expected} to {t - 1} are" if t > expected + 1 else f"transaction {expected} is"
                )
                self.found(Layout.LOG, f"{missing} missing", _until(expected - 1))
            elif chained(checksum, entry) != copy.checksum:
                self.found(Layout.LOG, f"transaction {t} is not what was written", _until(t - 1))
            else:
                named |= self._payload(copy, instant)
            expected, checksum, instant = t + 1, copy.checksum, entry.instant
        if expected != last + 1:
            self.found(Layout.LOG, f"transactions {expected} to {last} are missing", _until(expected - 1))
        return named

    def _payload(self, copy: Copied, instant: int) -> set[str]:
        entry = copy.entry
        if entry.instant < instant:
            self.found(Layout.LOG, f"transaction {entry.t} is older than the one before it", _until(entry.t - 1))
        try:
            logged = Logged.decoded(entry.payload, self._folder.imported)
        except Exception as error:  # noqa: BLE001 - whatever its bytes make go wrong
            self.found(Layout.LOG, f"transaction {entry.t} cannot be read ({error!r})", _until(entry.t - 1))
            return set()
        named = set()
        for column in logged.columns:
            segment = getattr(column, "segment", None)
            if segment is None:
                continue
            named.add(segment.file)
            arrays = self._arrays("imported", segment, _until(entry.t - 1))
            if arrays is not None and not len(arrays["e"]) == len(arrays["v"]) == len(column):
                what = f"it does not hold the {len(column):,} datoms that transaction {entry.t} says"
                self.found(f"imported/{segment.file}", what, _until(entry.t - 1))
        return named

    def _arrays(self, folder: str, segment: Segment, remedy: str) -> Arrays | None:
        try:
            arrays = open_segment(segment)
            self._count(Path(segment.path))
        except DamagedSegment as error:
            self.found(f"{folder}/{segment.file}", _why(error, segment.file), remedy)
            return None
        return arrays

    # The checkpoint

    def checkpoint(self, log: Log) -> Checkpoint | None:
        """The checkpoint, whose segments are looked at; None where there is none or something is wrong with it."""
        before = len(self.checked.findings)
        file = self._folder.checkpoint
        try:
            checkpoint = Checkpoint.load(self._folder)
        except DamagedSegment as error:
            self.found(file.name, _why(error, file.name), _REBUILT)
            return None
        except AdalogError as error:
            self.found(file.name, error.message, "use the version of adalog that wrote it")
            return None
        if checkpoint is None:
            return None
        self._watching.stage("reading the segments")
        self._count(file)
        t = checkpoint.counters.t
        # While this one is read, the log goes on.
        self.checked.t = max(self.checked.t, t)
        try:
            checksum = log.checksum_at(t)
        except AdalogError:
            # It was told before.
            checksum = checkpoint.log_checksum
        if checksum is None:
            self.found(Layout.LOG, f"it lacks transaction {t}, which the checkpoint has seen", _LOST)
        elif checksum != checkpoint.log_checksum:
            self.found(Layout.LOG, f"its transaction {t} is not the one that the checkpoint has seen", _LOST)
        # All of them are read, whatever is wrong with one.
        whole = [self._arrays("segments", each, _REBUILT) is not None for each in self._in_turn(checkpoint)]
        if all(whole):
            try:
                self._parts(checkpoint)
            except Exception as error:  # noqa: BLE001 - whatever wrong data make go wrong
                self.found(file.name, f"its segments do not fit together ({error!r})", _WRONG)
        return checkpoint if len(self.checked.findings) == before else None

    def _in_turn(self, checkpoint: Checkpoint) -> Iterator[Segment]:
        segments = checkpoint.segments()
        for number, segment in enumerate(segments):
            self._watching.bytes(number, len(segments))
            yield segment

    def _parts(self, checkpoint: Checkpoint) -> None:
        t, lengths = checkpoint.counters.t, self._dictionaries(checkpoint)
        for attribute, (base, *runs) in checkpoint.relations.items():
            self._watching.bytes(0, 0)
            relation = Relation(load_base(base, trusted=True), tuple(load_run(run, trusted=True) for run in runs))
            for part, fault in relation_faults(relation):
                self._unsound(part.segment, f"attribute {attribute}: {fault}")
            for part in relation.parts:
                ended = part.closed.v if isinstance(part, Base) else part.past.v
                self._known(part.segment, np.concatenate((part.ve.keys, distinct(ended))), lengths)
                if part.t > t:
                    self._unsound(part.segment, f"it is of t = {part.t}, later than the checkpoint's {t}")
        deltas = load_deltas(checkpoint.young)
        for fault in delta_faults(deltas, t):
            self._unsound(checkpoint.young, fault)
        for delta in deltas.values():
            self._known(checkpoint.young, delta.events(0, len(delta)).v, lengths)

    def _dictionaries(self, checkpoint: Checkpoint) -> dict[int, int]:
        """The dictionaries' lengths by tag."""
        lengths: dict[int, int] = {}
        for tag, blocks in checkpoint.blocks.items():
            for start, segment in blocks:
                block = block_of(open_segment(segment, trusted=True), tag, start, segment)
                if start != lengths.get(tag, 0):
                    self._unsound(segment, f"a block begins with number {start}, not {lengths.get(tag, 0)}")
                for fault in block_faults(block):
                    self._unsound(segment, fault)
                lengths[tag] = block.stop
        return lengths

    def _known(self, segment: Segment | None, codes: Int64s, lengths: Mapping[int, int]) -> None:
        unknown = unknown_values(codes, lengths)
        if unknown:
            self._unsound(segment, f"{unknown:,} of its values are in no dictionary")

    def _unsound(self, segment: Segment | None, fault: str) -> None:
        assert segment is not None
        self.found(f"segments/{segment.file}", fault, _WRONG)

    def deep(self, log: Log, checkpoint: Checkpoint) -> None:
        """Compares what the segments hold with what the log says."""
        t = checkpoint.counters.t
        self._watching.stage("replaying the log")
        head = Head.empty()
        for copy in log.copied(0, t):
            self._watching.bytes(copy.entry.t, t)
            logged = Logged.decoded(copy.entry.payload, self._folder.imported)
            head.replay(copy.entry.t, copy.entry.instant, logged)
        self._watching.stage("comparing the segments with the log")
        stored = restored(checkpoint, None)
        if (stored.t, stored.instant) != (head.t, head.instant):
            what = f"it is of t = {stored.t} at {stored.instant}, in the log t = {head.t} is at {head.instant}"
            self.found(self._folder.checkpoint.name, what, _WRONG)
        for attribute in sorted(stored.data.keys() | head.data.keys()):
            self._watching.bytes(0, 0)
            fault = _difference(attribute, stored, head)
            if fault is not None:
                self.found(f"segments/attribute-{attribute}-…", f"{head.name_of(attribute)}: {fault}", _WRONG)


def _difference(attribute: int, stored: Head, replayed: Head) -> str | None:
    """How the datoms of an attribute differ, if they do."""
    one = _datoms(attribute, stored)
    other = _datoms(attribute, replayed)
    v = _translated(other.v, replayed.codes.durable, stored.codes.durable)
    other = Columns(other.e, v, other.t, other.added).sorted()
    if len(one) != len(other):
        return f"the segments hold {len(one):,} datoms of it, and the log {len(other):,}"
    differ = (one.e != other.e) | (one.v != other.v) | (one.t != other.t) | (one.added != other.added)
    if not differ.any():
        return None
    first = int(np.flatnonzero(differ)[0])
    return f"{int(differ.sum()):,} of its datoms are not what the log says, first one of entity {int(one.e[first])}"


def _datoms(attribute: int, head: Head) -> Columns:
    """The attribute's history, or what holds where none is kept; sorted."""
    declared, data = head.schema.get(attribute), head.data.get(attribute, AttributeData(Relation(), Delta()))
    if declared is not None and declared.no_history:
        return data.columns(head.t)
    return data.events(-1, head.t)


def _translated(codes: Int64s, known: Codes, to: Codes) -> Int64s:
    """The codes that another database has for the same values; -1 where it has none."""
    tags = layout.tags_of(codes)
    made = codes.copy()
    for tag in distinct(tags.astype(np.int64)).tolist():
        if tag not in layout.DICTIONARY_TAGS:
            continue
        where = np.flatnonzero(tags == tag)
        numbers = codes[where] & layout.PAYLOAD_MASK
        every = distinct(numbers)
        keys = known.dictionaries()[tag].gather(every).to_pylist()
        found = to.dictionaries()[tag].find_many(keys)
        base = layout.code_of(tag, 0)
        theirs = np.array([-1 if number is None else base + number for number in found], np.int64)
        made[where] = theirs[every.searchsorted(numbers)]
    return made


def _until(t: int) -> str:
    """What to do about a log that is right up to transaction t."""
    return f"{_LOST}, all of it or what comes before this, with --t {t}"


def _why(error: AdalogError, file: str) -> str:
    return error.message.removeprefix(f"{file} is damaged: ").partition(";")[0]
