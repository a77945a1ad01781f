"""`dryRun`: the report of a transaction that is not committed; `schemaProposal`: declarations for review."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.support import Gateway, gateway, place_of
from tests.permissions.issues import code, data, issues

DOCUMENT = """query($tx: EDN!, $args: JSON, $as: AsInput) {
  dryRun(tx: $tx, args: $args, as: $as) { t basisBefore tempids datoms { e a v t added } warnings { code } }
}"""
GRANT = """[{:policy/name "create" :policy/roles [:member] :policy/ops [:create] :policy/on [:issue/points]}]"""
ANN = {"roles": ["member"], "claims": {"sub": "ann"}}


@pytest.fixture
def numbers() -> Iterator[Gateway]:
    with gateway(None, "[[:db/add 1 :n/value 10]]") as opened:
        yield opened


@pytest.fixture
def tracker(tmp_path: Path) -> Iterator[Gateway]:
    with issues(tmp_path) as opened:
        yield opened


def _changes(report: Any) -> list[tuple[Any, ...]]:
    return [(each["a"], each["v"], each["added"]) for each in report["datoms"] if each["a"] != ":db/txInstant"]


def test_the_report_is_that_of_the_transaction_and_nothing_is_kept(numbers: Gateway) -> None:
    tx = '[[:db/add 1 :n/value ?new] {:db/id "x" :n/value 3}]'
    tried = numbers.data(DOCUMENT, tx=tx, args={"new": 20})["dryRun"]
    assert _changes(tried) == [(":n/value", 10, False), (":n/value", 20, True), (":n/value", 3, True)]
    assert tried["t"] == 2
    assert numbers.database.snapshot().t == 1
    applied = "mutation" + DOCUMENT[5:].replace("dryRun(", "transact(")
    done = numbers.data(applied, tx=tx, args={"new": 20})["transact"]
    assert _changes(done) == _changes(tried)
    assert done["tempids"] == tried["tempids"]
    assert (done["t"], done["basisBefore"]) == (tried["t"], tried["basisBefore"])


def test_undoing_can_be_tried(numbers: Gateway) -> None:
    numbers.database.transact("[[:db/add 1 :n/value 20]]")
    document = "query($tx: EDN, $t: Long) { dryRun(tx: $tx, revert: $t) { t datoms { a v added } } }"
    tried = numbers.data(document, t=2)["dryRun"]
    assert _changes(tried) == [(":n/value", 20, False), (":n/value", 10, True)]
    assert numbers.database.snapshot().t == 2
    done = numbers.data("mutation($t: Long!) { revert(t: $t) { t datoms { a v added } } }", t=2)["revert"]
    assert (done["t"], _changes(done)) == (3, _changes(tried))
    assert numbers.error(document, t=2)["extensions"]["code"] == "TX_CONFLICT"
    for arguments in ({}, {"tx": "[]", "t": 2}):
        error = numbers.error(document, **arguments)
        assert (error["extensions"]["code"], error["message"]) == (
            "ARG_INVALID", "give tx or revert, and not both",
        )  # fmt: skip


def test_refusals_say_where(numbers: Gateway) -> None:
    error = numbers.error(DOCUMENT, tx="[[:db/add 1 :n/value 1]\n [:db/add 1 :n/value :x]]")
    assert error["extensions"]["code"] == "TX_INVALID"
    assert place_of(error)[1:] == (2, 22)
    assert numbers.error(DOCUMENT, tx="[[:db/add 1 :n/value ?x]]", args=1)["extensions"]["code"] == "ARG_INVALID"


def test_policies_refuse_and_hide_as_they_would(tracker: Gateway) -> None:
    tx = "[{:issue/points 9}]"
    assert code(tracker, "ann", DOCUMENT, tx=tx) == "FORBIDDEN"
    assert code(tracker, "root", DOCUMENT, tx=tx, **{"as": ANN}) == "FORBIDDEN"
    assert len(data(tracker, "root", DOCUMENT, tx=tx)["dryRun"]["datoms"]) == 2
    tracker.database.transact(GRANT)
    for name, viewer in (("ann", None), ("root", ANN)):
        # Ann may write it, and sees points of issues of her projects alone.
        assert data(tracker, name, DOCUMENT, tx=tx, **{"as": viewer})["dryRun"]["datoms"] == []
    assert code(tracker, "ann", DOCUMENT, tx=tx, **{"as": ANN}) == "FORBIDDEN"


def test_a_proposal_is_for_admins(tracker: Gateway) -> None:
    document = "{ schemaProposal }"
    assert ":graphql/type" in data(tracker, "root", document)["schemaProposal"]
    assert code(tracker, "ann", document) == "FORBIDDEN"
    before = tracker.database.snapshot().t
    assert data(tracker, "root", DOCUMENT, tx=data(tracker, "root", document)["schemaProposal"])["dryRun"]["datoms"]
    assert tracker.database.snapshot().t == before
