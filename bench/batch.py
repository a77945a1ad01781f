"""A transaction of 100,000 datoms: over HTTP and onto the disk, beside DataScript's within the Node process.

20,000 entities of five attributes in three shapes: maps with tempids that refer to each other, additions to
numbered entities, and maps each of which upserts. DataScript gets them as JavaScript values, made before.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any, Final

import numpy as np

from bench import folder, server
from bench.line import Line
from bench.peers.datascript import DataScript

_ENTITIES: Final = 20_000
_ROUNDS: Final = 3
_ENOUGH_BYTES: Final = str(256 << 20)

_SCHEMA: Final = """[
 {:db/ident :item/key :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :item/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
 {:db/ident :item/size :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :item/weight :db/valueType :db.type/double :db/cardinality :db.cardinality/one}
 {:db/ident :item/next :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}]"""
_THEIR_SCHEMA: Final = {
    "item/key": {":db/unique": ":db.unique/identity"},
    "item/next": {":db/valueType": ":db.type/ref"},
}
# In JavaScript attributes are strings. The sums differ when a value is lost or a reference goes astray.
_CHECKS: Final = (
    "[:find (sum ?s) . :with ?e :where [?e {size} ?s]]",
    "[:find (sum ?s) . :with ?e :where [?e {next} ?f] [?f {size} ?s]]",
    "[:find (count ?k) . :where [?e {key} ?k] [?e {name} _] [?e {weight} _]]",
)
_ATTRIBUTES: Final = ("key", "name", "size", "weight", "next")

Form = dict[str, Any] | list[Any]


@dataclass(frozen=True)
class _Run:
    """One transaction: its seconds on the clock and of CPU, and the sums after it."""

    seconds: float
    cpu: float
    sums: list[int]


def large(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Raises RuntimeError without Node.js, AssertionError where what is stored then differs."""
    count = _ENTITIES // 10 if quick else _ENTITIES
    datascript = DataScript()
    lines = []
    for shape, (before, forms) in _shapes(count).items():
        ours, theirs = [], []
        for number in range(_ROUNDS + 1):
            their = _theirs(datascript, before, forms)
            our = _ours(before, forms)
            assert our.sums == their.sums, f"{shape}: adalog holds {our.sums}, DataScript {their.sums}"
            if number:
                ours.append(our)
                theirs.append(their)
        mine, other = (statistics.median(each.seconds for each in runs) for runs in (ours, theirs))
        cpu = [statistics.median(each.cpu for each in runs) for runs in (ours, theirs)]
        note = f"of CPU {cpu[0]:.2f} s, theirs {cpu[1]:.2f} s"
        say(f"    {shape}: {mine:.3f} s; DataScript {other:.3f} s; {note}")
        datoms = count * (len(_ATTRIBUTES) - bool(before))
        title = f"a transaction of {datoms:,} datoms, durable, over HTTP: {shape}"
        lines.append(
            Line(
                "batch", title, "s", mine, "DataScript, in process", other, bar=1.0, note=note,
                answer=str(ours[0].sums),
            )
        )  # fmt: skip
    return lines


def _shapes(count: int) -> dict[str, tuple[list[Form], list[Form]]]:
    """By name: what is transacted before, and what is measured."""
    random = np.random.default_rng(3)
    sizes, nexts = random.integers(0, 1 << 30, count).tolist(), random.integers(0, count, count).tolist()
    values = [
        {"key": f"key {i}", "name": f"name {i % 1000}", "size": sizes[i], "weight": (i % 997) + 0.5}
        for i in range(count)
    ]
    tempids: list[Form] = [{"db/id": -1 - i, **each, "next": -1 - nexts[i]} for i, each in enumerate(values)]
    additions: list[Form] = [
        [1 + i, name, value]
        for i, each in enumerate(values)
        for name, value in {**each, "next": 1 + nexts[i]}.items()
    ]
    keys: list[Form] = [{"key": each["key"]} for each in values]
    upserts: list[Form] = [{**each, "next": ["key", f"key {nexts[i]}"]} for i, each in enumerate(values)]
    return {"maps with tempids": ([], tempids), "additions": ([], additions), "maps that upsert": (keys, upserts)}


def _ours(before: Sequence[Form], forms: Sequence[Form]) -> _Run:
    """On a new database each time."""
    port = server.free_port()
    limits = {"ADALOG_TRANSACTION_BYTES": _ENOUGH_BYTES, "ADALOG_REQUEST_BYTES": _ENOUGH_BYTES}
    with folder.empty() as data, server.adalog(data, port, ADALOG_SPARK="off", **limits) as process:
        server.first_answer(process, port, server.transact(_SCHEMA))
        connection = HTTPConnection("127.0.0.1", port, timeout=120)
        if before:
            server.answered(connection, server.transact(_edn(before)))
        body = server.transact(_edn(forms))
        used, start = server.cpu_seconds(process), time.perf_counter()
        server.answered(connection, body)
        seconds, used = time.perf_counter() - start, server.cpu_seconds(process) - used
        checks = [check.format(**{name: f":item/{name}" for name in _ATTRIBUTES}) for check in _CHECKS]
        sums = [server.answered(connection, server.q(check))["q"]["rows"][0][0] for check in checks]
        connection.close()
    return _Run(seconds, used, sums)


def _theirs(datascript: DataScript, before: Sequence[Form], forms: Sequence[Form]) -> _Run:
    checks = [check.format(**{name: f'"item/{name}"' for name in _ATTRIBUTES}) for check in _CHECKS]
    return _Run(*datascript.transact(_THEIR_SCHEMA, _javascript(before), _javascript(forms), checks))


def _edn(forms: Sequence[Form]) -> str:
    return f"[{' '.join(_edn_form(form) for form in forms)}]"


def _edn_form(form: Form) -> str:
    if isinstance(form, list):
        entity, name, value = form
        return f"[:db/add {entity} :item/{name} {json.dumps(value)}]"
    entries = " ".join(f"{_keyword(name)} {_edn_value(value)}" for name, value in form.items())
    return f"{{{entries}}}"


def _keyword(name: str) -> str:
    return ":db/id" if name == "db/id" else f":item/{name}"


def _edn_value(value: object) -> str:
    """A list is a lookup ref."""
    return f"[:item/{value[0]} {json.dumps(value[1])}]" if isinstance(value, list) else json.dumps(value)


def _javascript(forms: Sequence[Form]) -> list[Any]:
    def value(of: object) -> object:
        return [f"item/{of[0]}", of[1]] if isinstance(of, list) else of

    return [
        [":db/add", form[0], f"item/{form[1]}", form[2]]
        if isinstance(form, list)
        else {":db/id" if name == "db/id" else f"item/{name}": value(of) for name, of in form.items()}
        for form in forms
    ]
