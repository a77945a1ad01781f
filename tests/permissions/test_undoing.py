"""`revert` under policies: an identity undoes what it sees of a transaction, if each change is granted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.support import Gateway
from tests.permissions.issues import code, data, issues

REVERT = "mutation($t: Long!, $as: AsInput) { revert(t: $t, as: $as) { t datoms { e a v added } } }"
TRANSACT = "mutation($tx: EDN!) { transact(tx: $tx) { t } }"
ANN = {"as": {"roles": ["member"], "claims": {"sub": "ann"}}}
NOBODY = {"as": {"roles": ["none"], "claims": {"sub": "nobody"}}}
UPDATES = """[{:policy/name "members change points" :policy/roles [:member] :policy/ops [:update]
  :policy/on [:issue/points]}]"""


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Gateway]:
    with issues(tmp_path, UPDATES) as found:
        yield found


def _points(opened: Gateway) -> Any:
    rows = data(
        opened, "root", '{ q(query: "[:find ?t ?p :where [?i :issue/title ?t] [?i :issue/points ?p]]") { rows } }'
    )
    return dict(rows["q"]["rows"])


def _changed(opened: Gateway) -> int:
    """The transaction that changed an issue that Ann sees, and one that she does not."""
    tx = '[[:db/add [:issue/title "one"] :issue/points 10] [:db/add [:issue/title "three"] :issue/points 40]]'
    t: int = data(opened, "root", TRANSACT, tx=tx)["transact"]["t"]
    return t


def test_what_is_visible_is_undone(opened: Gateway) -> None:
    t = _changed(opened)
    report = data(opened, "root", REVERT, t=t, **ANN)["revert"]
    assert [(each["v"], each["added"]) for each in report["datoms"] if each["a"] == ":issue/points"] == [
        (10, False), (1, True),
    ]  # fmt: skip
    assert _points(opened) == {"one": 1, "two": 2, "three": 40}


def test_hidden_changes_since_forbid_nothing(opened: Gateway) -> None:
    t = _changed(opened)
    data(opened, "root", TRANSACT, tx='[[:db/add [:issue/title "three"] :issue/points 50]]')
    assert code(opened, "root", REVERT, t=t) == "TX_CONFLICT"
    data(opened, "root", REVERT, t=t, **ANN)
    assert _points(opened) == {"one": 1, "two": 2, "three": 50}


def test_what_is_not_granted_is_refused(opened: Gateway) -> None:
    t = data(opened, "root", TRANSACT, tx='[[:db/add [:issue/title "one"] :issue/title "uno"]]')["transact"]["t"]
    assert code(opened, "root", REVERT, t=t, **ANN) == "FORBIDDEN"
    t = data(opened, "root", TRANSACT, tx='[[:db/add [:issue/title "three"] :issue/points 5]]')["transact"]["t"]
    assert code(opened, "root", REVERT, t=t, **ANN) == "TX_INVALID"
    assert code(opened, "root", REVERT, t=t, **NOBODY) == "TX_INVALID"
    assert _points(opened) == {"uno": 1, "two": 2, "three": 5}
