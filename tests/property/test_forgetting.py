"""Random transactions, folds, restarts, backups and excisions: no file has what went, and all else is as it was."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from adalog.store.backup.catalogue import catalogue
from adalog.store.backup.check import check_data
from adalog.store.backup.check_backups import check_backups
from adalog.store.backup.creation import take
from adalog.store.backup.progress import NO_PROGRESS
from adalog.store.backup.restoration import restore
from adalog.store.backup.rewriting import outdated_backups, rewrite
from adalog.store.backup.search import TextSearch, search_backups, search_data
from adalog.store.database import Database
from adalog.store.files.place import LocalPlace
from tests.property.excised_model import shown

SCHEMA = """[{:db/ident :name :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
             {:db/ident :note :db/valueType :db.type/string :db/noHistory true}
             {:db/ident :knows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""
STEPS = 40
ENTITIES = 6


class _Run:
    """One run: the texts that each entity was ever given, and those that went."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.data, self.place = folder / "data", LocalPlace(folder / "backups")
        self.database = Database.open(str(self.data))
        self.database.transact(SCHEMA)
        self.texts: dict[int, list[str]] = {entity: [] for entity in range(1, ENTITIES + 1)}
        self.gone: list[str] = []

    def add(self) -> None:
        forms = []
        # Two notes of one entity would contradict each other.
        for entity in self.dice.sample(range(1, ENTITIES + 1), self.dice.randint(1, 4)):
            text = f"text-{self.dice.getrandbits(60):015x}-{'x' * self.dice.choice([0, 0, 30, 5000])}"
            self.texts[entity].append(text)
            forms.append(f'[:db/add {entity} {self.dice.choice([":name", ":note"])} "{text}"]')
            forms.append(f"[:db/add {entity} :knows {self.dice.randint(1, ENTITIES)}]")
        key = self.dice.choice([None, f"key {self.dice.getrandbits(40)}"])
        self.database.transact(f"[{' '.join(forms)}]", idempotency_key=key)

    def retract(self) -> None:
        self.database.transact(f"[[:db/retractEntity {self.dice.randint(1, ENTITIES)}]]")

    def fold(self) -> None:
        self.database.compact()

    def restart(self) -> None:
        self.database.close()
        self.database = Database.open(str(self.data))

    def back_up(self) -> None:
        take(self.database.source(), self.place)

    def excise(self) -> None:
        entity = self.dice.randint(1, ENTITIES)
        before = shown(self.database.snapshot())
        kept = {row for row in before if row[0] != entity and (row[1], row[2]) != (":knows", str(entity))}
        self.database.transact(f"[{{:db/excise {entity}}}]")
        self.gone += self.texts[entity]
        self.texts[entity] = []
        assert shown(self.database.snapshot()) == kept


@pytest.mark.parametrize("seed", [*range(4), 112, 145])
def test_no_file_has_what_went(tmp_path: Path, seed: int) -> None:
    run = _Run(tmp_path, seed)
    for _ in range(STEPS):
        steps = [run.add, run.retract, run.fold, run.restart, run.back_up, run.excise]
        run.dice.choices(steps, [8, 1, 3, 1, 2, 2])[0]()
    run.back_up()
    run.excise()
    run.restart()
    source = run.database.source()
    rewrite(source, run.place)
    assert set(map(tuple, outdated_backups(source, catalogue(run.place)).values())) == {()}
    found: list[tuple[str, int]] = []
    search = TextSearch([text.rstrip("x-") for text in run.gone], lambda *told: found.append(told))
    search_data(str(run.data), search, NO_PROGRESS)
    search_backups(run.place, search, NO_PROGRESS)
    assert found == []
    assert check_data(str(run.data), deep=True).findings == []
    assert check_backups(run.place, deep=True).findings == []
    for backup in catalogue(run.place).backups:
        path = tmp_path / f"restored {backup.number}"
        restore(run.place, path, number=backup.number)
        with Database.open(str(path)) as restored:
            rows = {row for row in shown(restored.snapshot()) if row[1] != ":note"}
        past = run.database.at(t=backup.t)
        assert rows == {row for row in shown(past) if row[1] != ":note"}, backup.number
    # All that was not excised and not retracted is found.
    kept = [row[2].strip("'") for row in shown(run.database.snapshot()) if row[1] == ":name"]
    if kept:
        again: list[tuple[str, int]] = []
        search_data(str(run.data), TextSearch(kept, lambda *told: again.append(told)), NO_PROGRESS)
        assert {number for _, number in again} == set(range(1, len(kept) + 1))
    run.database.close()
