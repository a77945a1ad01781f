"""The console's policies of saved queries: owners see and change their own, shared ones are seen by all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.support import Gateway
from tests.permissions.issues import code, data, issues

_STORE = Path(__file__).parents[2] / "clients" / "console" / "src" / "ask" / "saved" / "store.ts"
_TEXTS = dict(re.findall(r"^const ([A-Z]+) = `(.*?)`;", _STORE.read_text("utf-8"), re.MULTILINE | re.DOTALL))
_ATTRIBUTES = _TEXTS["ATTRIBUTES"].replace("${BASIS}", _TEXTS["BASIS"])
TRANSACT = "mutation($tx: EDN!) { transact(tx: $tx) { t } }"
NAMES = '{ q(query: "[:find [?n ...] :where [_ :console/name ?n]]") { value } }'


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Gateway]:
    with issues(tmp_path, _ATTRIBUTES, _TEXTS["POLICIES"]) as found:
        data(found, "bob", TRANSACT, tx=_saved(1, "bob", "own", "false"))
        data(found, "bob", TRANSACT, tx=_saved(2, "bob", "shared", "true"))
        data(found, "root", TRANSACT, tx=_saved(3, "root", "of root", "true"))
        yield found


def _saved(number: int, owner: str, name: str, is_shared: str) -> str:
    id_ = f'#uuid "00000000-0000-0000-0000-00000000000{number}"'
    facts = f':console/name "{name}" :console/query "[]" :console/owner "{owner}" :console/shared {is_shared}'
    return f"[{{:console/id {id_} {facts}}}]"


def names(opened: Gateway, identity: str) -> Any:
    return sorted(data(opened, identity, NAMES)["q"]["value"])


def test_who_sees_which(opened: Gateway) -> None:
    assert names(opened, "bob") == ["of root", "own", "shared"]
    assert names(opened, "ann") == ["of root", "shared"]
    assert names(opened, "nobody") == ["of root", "shared"]


def test_only_its_owner_changes_a_saved_query(opened: Gateway) -> None:
    tx = '[[:db/retractEntity [:console/id #uuid "00000000-0000-0000-0000-00000000000{}"]]]'
    assert code(opened, "bob", TRANSACT, tx=tx.format(3)) == "FORBIDDEN"
    data(opened, "bob", TRANSACT, tx=tx.format(1))
    assert names(opened, "bob") == ["of root", "shared"]


def test_nothing_is_saved_in_the_name_of_another(opened: Gateway) -> None:
    assert code(opened, "bob", TRANSACT, tx=_saved(4, "ann", "not mine", "true")) == "FORBIDDEN"
