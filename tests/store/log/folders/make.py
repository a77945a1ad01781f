"""Makes a small data folder with an earlier version of adalog, and writes what that version reads of it.

    git worktree add --detach /tmp/earlier COMMIT
    PYTHONPATH=/tmp/earlier .venv/bin/python -P tests/store/log/folders/make.py COMMIT tests/store/log/folders

Works with each commit from a1cfffb on, so it uses what all of them have.
"""

from __future__ import annotations

import json
import os
import sys
import tarfile
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import adalog.store.checkpoint.compactor as compactor
from adalog.datalog.values import Keyword
from adalog.store.database import Database

SCHEMA = """[
 {:db/ident :person/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :person/age :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :person/score :db/valueType :db.type/double :db/cardinality :db.cardinality/one}
 {:db/ident :person/born :db/valueType :db.type/instant :db/cardinality :db.cardinality/one}
 {:db/ident :person/is-here :db/valueType :db.type/boolean :db/cardinality :db.cardinality/one}
 {:db/ident :person/tag :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}
 {:db/ident :person/knows :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :person/uuid :db/valueType :db.type/uuid :db/cardinality :db.cardinality/one}
 {:db/ident :person/wealth :db/valueType :db.type/bigdec :db/cardinality :db.cardinality/one}
 {:db/ident :person/stars :db/valueType :db.type/bigint :db/cardinality :db.cardinality/one}]"""
PEOPLE = """[
 {:db/id "ada" :person/name "Ada" :person/age 36 :person/score 1.5 :person/born #inst "1815-12-10"
  :person/is-here true :person/tag [:maths :poetry] :person/uuid #uuid "11111111-2222-3333-4444-555555555555"
  :person/wealth 12345678901234567890.25M :person/stars 123456789012345678901234567890N}
 {:db/id "bob" :person/name "Bob — naïve ✓" :person/age 41 :person/knows ["ada"] :person/is-here false}]"""
MAPPING = {
    "sources": {
        "people": {
            "path": "x.parquet",
            "entity": {"attribute": "person/name", "column": "name"},
            "attributes": {"person/age": "age"},
        }
    }
}
# Of these each is sent with the data that it was used for.
KEYS = {
    "early": '[{:person/name "Cy" :person/age 7}]',
    "late": '[[:db/add [:person/name "Cy"] :person/age 8]]',
    "last": '[[:db/add [:person/name "Cy"] :person/age 9]]',
}


def fill(folder: Path, scratch: Path) -> list[int]:
    """Fills a new folder, and leaves it as a process does that is killed; the transactions of the keys."""
    for name in ("_LEAST", "_LEAST_DELTA"):
        # Attributes with a few datoms have relations and runs in files, too.
        if hasattr(compactor, name):
            setattr(compactor, name, 4)
    database = Database.open(str(folder))
    database.transact(SCHEMA)
    database.transact(PEOPLE)
    used = [database.transact(KEYS["early"], idempotency_key="early").t]
    ids = np.arange(10_000, 10_040)
    database.bulk_load(
        "[{:db/ident :n/plain :db/valueType :db.type/long :db/cardinality :db.cardinality/one}"
        " {:db/ident :n/text :db/valueType :db.type/string :db/cardinality :db.cardinality/many}]",
        {
            Keyword("n/plain"): (ids, ids * 3),
            Keyword("n/text"): (ids, [f"number {n % 7}" for n in ids.tolist()]),
        },
    )
    database.compact()
    database.transact('[[:db/retract [:person/name "Ada"] :person/tag :poetry] [:db/add 10001 :n/plain 5]]')
    database.transact("[" + " ".join(f"[:db/add {n} :n/plain {n}]" for n in range(10_000, 10_020)) + "]")
    database.compact()
    used.append(database.transact(KEYS["late"], idempotency_key="late").t)
    _import(database, scratch)
    database.compact()
    database.transact('[[:db/retractEntity [:person/name "Bob — naïve ✓"]]]')
    used.append(database.transact(KEYS["last"], idempotency_key="last").t)
    return used


def _import(database: Database, scratch: Path) -> None:
    try:
        from tests.pipeline.pipeline_in_process import imported
    except ImportError:
        # There was no import yet.
        return
    import pyarrow as pa

    table = pa.table({"name": ["Dee", "Eve", "Ada"], "age": [20, 30, 37]})
    imported(database, scratch, MAPPING, {"people": table})


def told(database: Any) -> dict[str, Any]:
    """All that was ever said, as lines of text, and a digest of the same for each moment."""
    moments = [database.at(t=t) for t in range(1, database.snapshot().t + 1)]
    return {"history": lines(database.at(history=True)), "moments": [digest(lines(view)) for view in moments]}


def digest(said: list[str]) -> str:
    """A short name of lines."""
    return sha256("\n".join(said).encode()).hexdigest()[:16]


def lines(view: Any) -> list[str]:
    """The datoms of a view, but for those of the system's own attributes."""
    datoms = (datom for datom in view.datoms("EAVT") if not str(datom.a).startswith(":db"))
    return sorted(f"{each.e} {each.a} {each.v} {each.t} {each.added}" for each in datoms)


def main(commit: str, to: Path) -> None:
    """Writes COMMIT.tar.gz and COMMIT.json."""
    with tempfile.TemporaryDirectory() as made:
        folder, scratch = Path(made) / "data", Path(made) / "scratch"
        scratch.mkdir()
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, json.dumps(fill(folder, scratch)).encode())
            # What only SQLite's write-ahead log has stays there.
            os._exit(0)
        os.waitpid(child, 0)
        used = json.loads(os.read(reader, 1000))
        with tarfile.open(to / f"{commit}.tar.gz", "w:gz") as archive:
            for path in sorted(folder.rglob("*")):
                if not path.name.endswith("-shm"):
                    archive.add(path, path.relative_to(folder), recursive=False)
        with Database.open(str(folder)) as database:
            said = {"t": database.snapshot().t, "keys": dict(zip(KEYS, used, strict=True)), **told(database)}
        (to / f"{commit}.json").write_text(json.dumps(said, ensure_ascii=False, indent=0) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
