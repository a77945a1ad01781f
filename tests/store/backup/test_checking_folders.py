"""`adalog check` of a data folder: each damaged file and each wrong content is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from adalog.datalog.errors import Code
from adalog.store.backup import integrity
from adalog.store.backup.catalogue import catalogue
from adalog.store.backup.check import check_data
from adalog.store.backup.check_backups import check_backups
from adalog.store.backup.findings import CheckReport
from adalog.store.backup.restoration import restore
from adalog.store.checkpoint.checkpoint import Checkpoint
from adalog.store.database import Database
from adalog.store.files.folder import FolderLayout
from adalog.store.files.place import LocalPlace
from adalog.store.tries.base import Base
from adalog.store.tries.relation import Relation
from adalog.store.tries.relation_files import load_base, save_relation
from adalog.store.tries.run import Run
from adalog.store.tries.trie import Csr
from adalog.store.values.codes import Codes
from tests.store.backup.support import FAULTS, back_up, flipped, held, refused, unreadable


def one_file(data: Path, pattern: str) -> Path:
    return next(iter(sorted(data.glob(pattern))))


def findings(data: Path, *, deep: bool = False) -> list[tuple[str, str]]:
    checked: CheckReport = check_data(str(data), deep=deep)
    assert all(each.remedy for each in checked.findings)
    return [(each.where, each.what) for each in checked.findings]


def test_a_sound_folder(data: Path) -> None:
    before = sorted(path.name for path in data.rglob("*") if not path.name.endswith(("-wal", "-shm")))
    checked = check_data(str(data), deep=True)
    assert (checked.t, checked.findings) == (11, [])
    assert checked.files == len(list(data.glob("segments/*"))) + len(list(data.glob("imported/*"))) + 2
    assert before == sorted(path.name for path in data.rglob("*") if not path.name.endswith(("-wal", "-shm")))


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    ("pattern", "is_lost"),
    [
        ("segments/attribute-*", False),
        ("segments/dictionary-*", False),
        ("segments/young-*", False),
        ("imported/*", True),
    ],
)
def test_damaged_files_are_told(data: Path, pattern: str, is_lost: bool, fault: Callable[[Path], None]) -> None:
    path = one_file(data, pattern)
    fault(path)
    [(where, _)] = findings(data)
    assert where == str(path.relative_to(data))
    if is_lost:
        refused(lambda: back_up(data, LocalPlace(data.parent / "out")), Code.INTERNAL, path.name)
        return
    taken = back_up(data, LocalPlace(data.parent / "out"))
    assert taken.left_out is not None
    assert path.name in taken.left_out
    # Opening it is the remedy, and so is restoring.
    restore(LocalPlace(data.parent / "out"), data.parent / "restored")
    if fault is not unreadable:
        with Database.open(str(data)) as database:
            database.compact()
        assert findings(data, deep=True) == []
        assert held(data) == held(data.parent / "restored")


def test_a_damaged_checkpoint(data: Path) -> None:
    flipped(data / "checkpoint.json")
    assert [where for where, _ in findings(data)] == ["checkpoint.json"]


def changed(data: Path, *statements: str) -> None:
    engine = sa.create_engine(f"sqlite:///{data / 'log.sqlite'}")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))
        connection.commit()
    engine.dispose()


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("DELETE FROM transactions WHERE t = 4", "transaction 4 is missing"),
        ("DELETE FROM transactions WHERE t IN (9, 10)", "transactions 9 to 10 are missing"),
        ("DELETE FROM transactions WHERE t > 5", "it lacks transaction 7, which the checkpoint has seen"),
        ("UPDATE transactions SET instant = instant + 1 WHERE t = 5", "transaction 5 is not what was written"),
        ("UPDATE transactions SET payload = x'00ff' WHERE t = 9", "transaction 9 is not what was written"),
        ("DELETE FROM files", "its list of files and its entries differ in imported-"),
    ],
)
def test_a_damaged_log(data: Path, statement: str, what: str) -> None:
    changed(data, statement)
    found = findings(data)
    assert any(where == "log.sqlite" and what in said for where, said in found), found
    if "transactions" in statement and "> 5" not in statement:
        refused(lambda: back_up(data, LocalPlace(data.parent / "out")), Code.INTERNAL, "no backup can be taken")
        assert [*catalogue(LocalPlace(data.parent / "out")).backups] == []


def test_a_log_whose_pages_are_damaged(data: Path) -> None:
    path = data / "log.sqlite"
    content = bytearray(path.read_bytes())
    content[5000:9000] = bytes(4000)
    path.write_bytes(content)
    assert {where for where, _ in findings(data)} == {"log.sqlite"}
    path.write_bytes(b"no database at all" * 100)
    assert {where for where, _ in findings(data)} == {"log.sqlite"}


def test_files_that_nothing_names_are_no_damage(data: Path, place: LocalPlace) -> None:
    for folder in (data / "segments", data / "imported"):
        (folder / "left-12345678.seg").write_bytes(b"of a fold or an import that was killed")
    checked = check_data(str(data))
    assert (checked.findings, checked.unused) == ([], 2)
    with Database.open(str(data)):
        pass
    assert check_data(str(data)).unused == 0
    back_up(data, place)
    (place.path / "files" / "left").write_bytes(b"of a backup that was killed")
    checked = check_backups(place)
    assert (checked.findings, checked.unused) == ([], 1)
    back_up(data, place, keep=1)
    assert check_backups(place).unused == 0


def test_a_cursor_key_of_another_length(data: Path) -> None:
    (data / "cursor.key").write_bytes(b"short")
    assert findings(data) == [("cursor.key", "it has 5 bytes, not 32")]


def rewritten(data: Path, change: Callable[[Base], Base]) -> None:
    """Makes the checkpoint one with the changed base of an attribute, every checksum right."""
    folder = FolderLayout(data)
    checkpoint = Checkpoint.load(folder)
    assert checkpoint is not None
    with Database.open(":memory:") as database:
        del database
    attribute = max(checkpoint.relations, key=lambda each: load_base(checkpoint.relations[each][0]).count)
    base, *runs = checkpoint.relations[attribute]
    made = save_relation(folder.segments, attribute, Relation(change(load_base(base))), Codes())
    assert made.base.segment is not None
    relations = {**checkpoint.relations, attribute: [made.base.segment, *runs]}
    Checkpoint(checkpoint.counters, checkpoint.log_checksum, relations, checkpoint.blocks, checkpoint.young).save(
        folder
    )


def _base(base: Base, **more: Any) -> Base:
    return Base(**{**{name: getattr(base, name) for name in ("ev", "ve", "since", "closed", "t", "last")}, **more})


def test_wrong_content_of_whole_files_is_told(data: Path) -> None:
    def other_direction(base: Base) -> Base:
        values = base.ve.values.copy()
        values[0] += 1
        return _base(base, ve=Csr(base.ve.keys, base.ve.offsets, values))

    rewritten(data, other_direction)
    [(where, what)] = findings(data)
    assert where.startswith("segments/attribute-")
    assert "its two directions differ" in what


def test_wrong_figures_are_told(tmp_path: Path) -> None:
    e, v = _ids(1, 2, 4), _ids(9, 7, 7)
    base = Base(ev=Csr.from_sorted(e, v), ve=Csr.from_pairs(v, e), since=_ids(1, 1, 1), t=1, last=1)
    saved = save_relation(tmp_path, 5, Relation(base), Codes()).base
    assert list(integrity.relation_faults(Relation(saved))) == []
    assert saved.ev.figures is not None
    for name, figures, what in (
        ("ve", saved.ev.figures._replace(longest=9), "from values to entities its figures are wrong"),
        ("ev", saved.ev.figures._replace(span=(7, 8)), "from entities to values its figures are wrong"),
        ("ev", saved.ev.figures._replace(dense=np.array([0, 1, 1, 2], np.int32)), "its index is wrong"),
    ):
        wrong = _base(saved, **{name: replace(getattr(saved, name), figures=figures)})
        [(_, said)] = integrity.relation_faults(Relation(wrong))
        assert what in said


def test_what_the_log_does_not_say_is_told_when_it_is_replayed(data: Path) -> None:
    def without_one(base: Base) -> Base:
        e, v = base.ev.pairs()
        return _base(
            base,
            ev=Csr.from_sorted(e[1:], v[1:]),
            ve=Csr.from_pairs(v[1:], e[1:]),
            since=base.since[1:],
        )

    rewritten(data, without_one)
    assert findings(data) == []
    [(where, what)] = findings(data, deep=True)
    assert where.startswith("segments/attribute-")
    assert "and the log" in what


def test_runs_are_differences() -> None:
    below = Relation(
        Base(
            ev=Csr.from_sorted(_ids(1, 2), _ids(5, 6)),
            ve=Csr.from_sorted(_ids(5, 6), _ids(1, 2)),
            since=_ids(1, 1),
            t=1,
            last=1,
        )
    )
    from adalog.store.tries.columns import Columns

    events = Columns(_ids(1, 3), _ids(5, 7), _ids(2, 2), np.array([False, True]))
    run = Run.of(events, 2, (below.ev, below.ve))
    assert list(integrity.relation_faults(Relation(below.base, (run,)))) == []
    other = Relation(Base())
    faults = [fault for _, fault in integrity.relation_faults(Relation(other.base, (run,)))]
    assert any("retracts what did not" in fault for fault in faults), faults


def _ids(*numbers: int) -> Any:
    return np.array(numbers, np.int64)
