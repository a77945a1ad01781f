"""Gateways on a PostgreSQL log are killed while they excise: each excision is done whole, or not begun."""

from __future__ import annotations

import shutil
import threading
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa

from adalog.store.backup.check import check_data
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from tests.gateway.cli.command_line import adalog
from tests.pipeline.pipeline_in_process import imported
from tests.postgres_servers import PostgresServer
from tests.property.excised_model import shown
from tests.several.fleet import ask
from tests.several.gateway import Gateway
from tests.store.writer.test_excision import MAPPING, SCHEMA, SECRET, holding
from tests.waiting import until

_KILLS = 6
_LONGEST = 0.36
_TRANSACT = "mutation($tx: EDN!) { transact(tx: $tx) { t } }"


def excise(url: str, number: int) -> None:
    ask(url, _TRANSACT, tx=f'[{{:db/excise [:email "{number}@{SECRET}"]}}]')


def try_to_excise(url: str, number: int) -> None:
    with suppress(httpx.TransportError):
        excise(url, number)


def lacks(url: str, number: int) -> bool:
    query = f'[:find ?n . :where [?e :email "{number}@{SECRET}"] [?e :name ?n]]'
    return ask(url, "query($q: EDN!) { q(query: $q) { value } }", q=query)["q"]["value"] is None


def values(snapshot: Snapshot) -> set[Any]:
    """The datoms' attributes, values and signs: numbers of entities and transactions may differ."""
    return {(row[1], row[2], row[4]) for row in shown(snapshot)}


def test_what_is_not_excised_stays_and_what_is_goes(tmp_path: Path, postgres: PostgresServer) -> None:
    address, segments = postgres.new_database(), str(tmp_path / "shared")
    people: dict[str, list[str]] = {"email": [], "name": []}
    for number in range(0, _KILLS, 2):
        people["email"] += [f"{number}@{SECRET}", f"{number}@here"]
        people["name"] += [f"Imported {SECRET} {number}", f"Imported {number}"]
    others = pa.table({"email": ["eve"], "name": ["Eve"]})
    sources = tmp_path / "sources"
    sources.mkdir()
    with Database.open(address, segments=segments) as first:
        first.transact(SCHEMA)
        imported(first, sources, MAPPING, {"people": pa.table(people)})
        imported(first, sources, MAPPING, {"people": others})
        first.compact()
        for number in range(_KILLS):
            first.transact(f'[{{:email "{number}@{SECRET}" :name "{SECRET} {number}"}} {{:name "Plain {number}"}}]')
        expected = {row for row in values(first.snapshot()) if SECRET not in str(row)}
        past = {row for row in values(first.snapshot().history()) if SECRET not in str(row)}
    shutil.rmtree(sources)
    with ExitStack() as stack:
        gateways = []
        for name in ("one", "two"):
            own = {
                "ADALOG_DATA": address,
                "ADALOG_SEGMENTS": segments,
                "ADALOG_SEGMENTS_COPY": str(tmp_path / name),
            }
            gateways.append(Gateway(own))
            stack.callback(gateways[-1].kill)
        assert all(gateway.wait() for gateway in gateways)
        never = threading.Event()
        for number in range(_KILLS):
            killed, other = gateways[number % 2], gateways[1 - number % 2]
            asking = threading.Thread(target=try_to_excise, args=(killed.url, number))
            asking.start()
            never.wait(_LONGEST * number / _KILLS)
            killed.begin_again(never)
            asking.join()
            if not lacks(killed.url, number):
                excise(killed.url, number)
            until(partial(lacks, other.url, number))
        until(lambda: not holding(tmp_path))
    searched = adalog("check", "--data", address, "--segments", segments, "--search", SECRET)
    assert searched.exit_code == 0, searched.output
    checked = check_data(address, segments=segments, deep=True)
    assert (checked.findings, checked.unread) == ([], None)
    with Database.open(address, segments=segments) as last:
        assert values(last.snapshot()) == expected
        assert values(last.snapshot().history()) == past
        assert SECRET not in str(
            [list(report.datoms) for report in last.transactions(1, last.snapshot().t + 1, 1_000)]
        )
