"""Reading a checkpoint and all its segments: whether they make sense, and whether they say what the log says."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from adalog.datalog.errors import AdalogError
from adalog.store.backup.check_log import read_segment
from adalog.store.backup.findings import Findings, said
from adalog.store.backup.integrity import block_faults, delta_faults, relation_faults, unknown_values
from adalog.store.backup.progress import BackupProgress
from adalog.store.checkpoint.checkpoint import Checkpoint, OutdatedCheckpoint, restored
from adalog.store.checkpoint.files import Files
from adalog.store.files.formats import NewerFormat
from adalog.store.files.segment import DamagedSegment, Segment, open_segment
from adalog.store.log.log import Log
from adalog.store.log.payload import Logged
from adalog.store.state.head import Head
from adalog.store.tries.attribute_data import NO_DATA
from adalog.store.tries.base import Base
from adalog.store.tries.columns import Columns
from adalog.store.tries.relation_files import block_of, load_deltas, load_relation
from adalog.store.tries.trie import distinct
from adalog.store.values import layout
from adalog.store.values.arrays import Int64s
from adalog.store.values.codes import Codes


class CheckpointCheck:
    """One check under way. log: the one that the checkpoint is of."""

    def __init__(self, log: Log, files: Files, findings: Findings, watching: BackupProgress) -> None:
        self._log = log
        self._files = files
        self._findings = findings
        self._watching = watching

    def run(self) -> Checkpoint | None:
        """The checkpoint, whose segments were looked at; None where there is none or something is wrong with it.
        Raises NewerFormat."""
        findings = self._findings
        before = len(findings.checked.findings)
        try:
            found = self._files.checkpoint()
        except NewerFormat:
            raise
        except OutdatedCheckpoint:
            # It is made again from the log when the folder is opened next.
            return None
        except AdalogError as error:
            what = error.message.partition(" is damaged: ")[2].partition(";")[0] or error.message
            findings.add(self._files.checkpoint_shown, what, findings.remedies.rebuilt)
            return None
        if found is None:
            return None
        text, checkpoint = found
        self._watching.stage("reading the segments")
        findings.read(len(text.encode()))
        t = checkpoint.counters.t
        # While this one is read, the log goes on.
        findings.checked.t = max(findings.checked.t, t)
        try:
            checksum = self._log.checksum_at(t)
        except AdalogError:
            # It was told before.
            checksum = checkpoint.log_checksum
        if checksum is None:
            findings.add_of_log(f"it lacks transaction {t}, which the checkpoint has seen")
        elif checksum != checkpoint.log_checksum:
            findings.add_of_log(f"its transaction {t} is not the one that the checkpoint has seen")
        # All of them are read, whatever is wrong with one.
        segments, whole = checkpoint.segments(), True
        for number, segment in enumerate(segments):
            self._watching.bytes(number, len(segments))
            whole &= read_segment(self._files, segment, findings, findings.remedies.rebuilt) is not None
        if whole:
            try:
                self._parts(checkpoint)
            except Exception as error:  # noqa: BLE001 - whatever wrong data make go wrong
                what = f"its segments do not fit together ({error!r})"
                findings.add(self._files.checkpoint_shown, what, findings.remedies.wrong)
        return checkpoint if len(findings.checked.findings) == before else None

    def _parts(self, checkpoint: Checkpoint) -> None:
        t, lengths = checkpoint.counters.t, self._dictionaries(checkpoint)
        for attribute, files in checkpoint.relations.items():
            self._watching.bytes(0, 0)
            relation = load_relation(files, trusts=lambda _: True)
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
        self._findings.add(self._files.shown(segment), fault, self._findings.remedies.wrong)

    def compare(self, checkpoint: Checkpoint) -> None:
        t, findings = checkpoint.counters.t, self._findings
        head = replayed(self._log, t, findings, self._watching)
        if head is None:
            return
        self._watching.stage("comparing the segments with the log")
        try:
            stored = restored(checkpoint, None)
        except DamagedSegment as error:
            findings.add(self._files.checkpoint_shown, said(error), findings.remedies.rebuilt)
            return
        # The log lacks what they took, so they are applied to the checkpoint, as when the database is opened.
        later = self._log.excisions(stored.excised)
        if any(stored.t < excision.known_until for excision in later):
            # The checkpoint is of no use: the next start rebuilds it from the log.
            return
        for excision in later:
            stored.excise(excision)
        if (stored.t, stored.instant) != (head.t, head.instant):
            what = f"it is of t = {stored.t} at {stored.instant}, in the log t = {head.t} is at {head.instant}"
            findings.add(self._files.checkpoint_shown, what, findings.remedies.wrong)
        for attribute in sorted(stored.data.keys() | head.data.keys()):
            self._watching.bytes(0, 0)
            fault = _difference(attribute, stored, head)
            if fault is not None:
                where = f"{self._files.segments.name}/attribute-{attribute}-…"
                findings.add(where, f"{head.name_of(attribute)}: {fault}", findings.remedies.wrong)


def replayed(log: Log, t: int, findings: Findings, watching: BackupProgress) -> Head | None:
    """What a log that was read and is whole comes to at transaction t; None where that cannot be made."""
    watching.stage("replaying the log")
    head = Head.empty()
    for copy in log.copied(0, t):
        watching.bytes(copy.entry.t, t)
        try:
            head.replay(copy.entry.t, copy.entry.instant, Logged.decoded(copy.entry.payload, log.files_folder))
        except Exception as error:  # noqa: BLE001 - whatever wrong entries make go wrong
            findings.add_of_log(f"transaction {copy.entry.t} cannot be replayed ({error!r})", copy.entry.t - 1)
            return None
    return head


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
    declared, data = head.schema.get(attribute), head.data.get(attribute, NO_DATA)
    if declared is not None and declared.kind.no_history:
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
