"""docs/how-to/web.md: its client is run as it stands there, against a server, by Node.js."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.gateway.support import Gateway, served

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "web.md").read_text(encoding="utf-8")

SHOWN = """\
[ { title: '"Login" fails', issue: { id: '…21', due: '2024-05-01T00:00:00.000Z', price: '9.9' } } ]
[ { title: 'Pay', issue: { id: '…22' } } ]
[ { title: '"Login" fails', issue: { id: '…21', due: '2024-05-01T00:00:00.000Z', price: '9.9' } } ]
[ '"Login" fails' ]
CAS_FAILED
3
{ ':issue/title': '"Login" fails', ':issue/status': ':done' }
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js: sudo apt-get install nodejs")
def test_the_client_does_what_it_says(empty: Gateway, tmp_path: Path) -> None:
    script = tmp_path / "client.mjs"
    found = re.search(r"```js\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    script.write_text(found[1], encoding="utf-8")
    node = shutil.which("node")
    assert node is not None
    with served(empty.app) as url:
        done = subprocess.run(
            [node, str(script)],
            env=os.environ | {"GRAPHQL_URL": f"{url}/graphql", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    shown = done.stdout.replace("6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e", "…")
    assert shown.split() == SHOWN.split()


def test_what_it_says_of_lists_and_attributes_as_arguments(empty: Gateway) -> None:
    empty.data('mutation { transact(tx: "[{:db/id 1 :status :open}]") { t } }')
    assert empty.q("[:find ?i :in $ ?a ?v :where [?i ?a ?v]]", ":status", {"#kw": "open"}) == [[1]]
    for tx in (
        """[{:db/ident :owner :db/valueType :db.type/ref} {:db/ident :born :db/valueType :db.type/instant}
            {:db/id 2 :db/ident :who/ada}]""",
        '[{:db/id 1 :owner :who/ada} {:db/id 3 :born #inst "2020-02-29"}]',
    ):
        empty.data("mutation ($tx: EDN!) { transact(tx: $tx) { t } }", tx=tx)
    found = "[:find ?i :in $ {} :where [?i ?a ?v] :order-by [?i]]"
    both = [[":owner", ":who/ada"], [":born", "2020-02-29"], [":status", ":open"]]
    assert empty.q(found.format("?a ?v"), *both[0]) == [[1]]
    assert empty.q(found.format("[?a ?v]"), both[0]) == [[1]]
    assert empty.q(found.format("[?a ?v]"), both[1]) == [[3]]
    assert empty.q(found.format("?a [?v ...]"), ":owner", [":who/ada", ":who/nobody"]) == [[1]]
    assert empty.q(found.format("[[?a ?v]]"), both) == [[1], [3]]
    assert empty.q(found.format("[[?v ?a _]]"), [[each, name, 0] for name, each in both]) == [[1], [3]]
    asked = "[:find ?i :in $ ?l ?x :where [?i :status] [(contains? ?l ?x)]]"
    assert empty.q(asked, ["a", "b"], 1) == [[1]]
    assert empty.q(asked, ["a", "b"], "a") == []
