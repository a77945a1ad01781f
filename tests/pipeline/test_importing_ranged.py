"""Imports of attributes too large for one task: the same database, and the same rows rejected, as of one task."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from adalog.datalog.values import Keyword
from adalog.pipeline.folding import fold
from adalog.pipeline.importing.decide import decision as deciding
from adalog.store.checkpoint.fold_memory import PAIR_BYTES
from adalog.store.database import Database
from tests.pipeline.exports_in_process import said
from tests.pipeline.pipeline_in_process import InProcess, imported
from tests.pipeline.test_importing import SCHEMA, mapping

ATTRIBUTES = {
    "person/name": "name",
    "person/email": "email",
    "person/age": "age",
    "person/tag": {"column": "tags", "split": " "},
    "person/knows": {"column": "knows", "split": " ", "ref": "person/id", "create": True},
    "person/boss": {"column": "boss", "ref": "person/id"},
}


def table(rng: Random, people: int = 40, rows: int = 60) -> pa.Table:
    """People, some of them twice, with addresses that others have, bosses who are nobody, and a hub."""

    def one(row: int) -> dict[str, str]:
        who = min(rng.randrange(people), rng.randrange(people))
        return {
            "id": f"p{who}",
            "name": f"n{who if rng.random() < 0.95 else row}",
            "email": f"e{who if rng.random() < 0.9 else rng.randrange(people)}",
            "age": rng.choice(["", "7", "7", str(who)]),
            "tags": " ".join(f"t{rng.randrange(4)}" for _ in range(rng.randrange(4))),
            "knows": " ".join(
                f"p{min(rng.randrange(people + 5), rng.randrange(4))}" for _ in range(rng.randrange(6))
            ),
            "boss": rng.choice(["", "p0", "p0", "p1", "nobody" if rng.random() < 0.1 else "p2"]),
        }

    return pa.Table.from_pylist([one(row) for row in range(rows)])


def named(database: Database) -> set[tuple[Any, ...]]:
    """What was ever so, of people by their ids: which entities these are is a matter of hashes."""
    history = database.snapshot().history()
    names = {datom.e: datom.v for datom in history.datoms("AEVT", [Keyword("person/id")])}
    refs = {":person/knows", ":person/boss"}
    return {
        (names[e], a, names[v] if a in refs else v, t, added) for e, a, v, t, added in said(history) if e in names
    }


@pytest.fixture(autouse=True)
def nothing_to_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Very many small files: what they hold matters here, not that it lasts."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.mark.parametrize(("seed", "pairs"), [(1, 20), (2, 60)])
def test_ranges_make_no_difference(tmp_path: Path, seed: int, pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ranged: list[int] = []

    def seen(*args: Any) -> Any:
        ranged.append(args[2])
        return write_in_ranges(*args)

    write_in_ranges = deciding.write_in_ranges
    monkeypatch.setattr(deciding, "write_in_ranges", seen)
    rng, ended = Random(seed), set()
    with Database.open(str(tmp_path / "one")) as one, Database.open(str(tmp_path / "many")) as many:
        many.compactor.have_folded(lambda job: fold(InProcess(), job), pairs * PAIR_BYTES)
        for database in (one, many):
            database.transact(SCHEMA)
        for _ in range(2):
            rows, buckets = {"people": table(rng)}, rng.randrange(1, 4)
            found = []
            for database in (one, many):
                outcome, rejected = imported(
                    database, tmp_path, mapping(ATTRIBUTES), rows, max_errors=1000, buckets=buckets, rows=7
                )
                found.append((outcome.t, outcome.entities, outcome.datoms, rejected))
            assert found[0] == found[1]
            assert named(many) == named(one)
            text = '[[:db/add [:person/id "p0"] :person/age 90] [:db/retractEntity [:person/id "p1"]]]'
            for database in (one, many):
                database.transact(text)
        assert ranged
        snapshot = many.snapshot()
        for attribute in snapshot.attributes():
            # Both directions say the same.
            forward, backward = (snapshot.trie(attribute.id, inverse=each).merged.pairs() for each in (False, True))
            e, v = (column.tolist() for column in forward)
            assert sorted(zip(v, e, strict=True)) == list(
                zip(*(column.tolist() for column in backward), strict=True)
            )
        ended = named(many)
    # The log alone, too: it names a file for each range.
    (tmp_path / "many" / "checkpoint.json").unlink()
    with Database.open(str(tmp_path / "many")) as again:
        assert named(again) == ended
