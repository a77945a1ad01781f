"""The command line, on a folder and on a served database."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.gateway.cli.command_line import adalog

NAMES = "[:find ?n ?b :where [?p :person/name ?n] [?p :person/born ?b]]"


def test_a_table(folder: str) -> None:
    result = adalog("query", "--data", folder, NAMES)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["?n", "?b"]
    assert lines[2].split() == ["Ada", "1815"]
    assert "1 row · t 2" in lines[-1]


@pytest.mark.parametrize(
    ("form", "text"),
    [("json", '[["Ada",1815]]\n'), ("edn", '[["Ada" 1815]]\n'), ("csv", "?n,?b\nAda,1815\n")],
)
def test_other_formats(folder: str, form: str, text: str) -> None:
    assert adalog("query", "--data", folder, "--format", form, NAMES).stdout == text
    assert adalog("query", NAMES, ADALOG_DATA=folder, ADALOG_FORMAT=form).stdout == text


def test_json_and_edn_have_the_shape_of_the_find_spec(folder: str) -> None:
    born = "[:find ?b . :where [_ :person/born ?b]]"
    assert adalog("query", "--data", folder, "--format", "json", born).stdout == "1815\n"
    assert adalog("query", "--data", folder, "--format", "edn", born).stdout == "1815\n"
    maps = "[:find ?n :keys name :where [?p :person/name ?n] [?p :person/born]]"
    assert adalog("query", "--data", folder, "--format", "json", maps).stdout == '[{"name":"Ada"}]\n'
    assert adalog("query", "--data", folder, "--format", "edn", maps).stdout == '[{:name "Ada"}]\n'


def test_arrow(folder: str) -> None:
    result = adalog("query", "--data", folder, "--format", "arrow", NAMES)
    table = pa.ipc.open_stream(io.BytesIO(result.stdout_bytes)).read_all()
    assert table.to_pydict() == {"?n": ["Ada"], "?b": [1815]}
    assert table.schema.field("?b").type == pa.int64()


def test_a_served_database_answers_the_same(address: str) -> None:
    port = address.rsplit(":", 1)[1]
    for url in (address, f"127.0.0.1:{port}", f":{port}"):
        assert adalog("query", "--url", url, "--format", "csv", NAMES).stdout == "?n,?b\nAda,1815\n"
    assert "?p" in adalog("explain", "--url", address, NAMES).stdout
    done = adalog("transact", "--url", address, "-", stdin='[[:db/add "x" :person/name "Eve"]]')
    assert done.stdout.startswith("t 3 · ")
    assert "x → " in done.stdout


def test_arguments_and_as_of(folder: str) -> None:
    query = "[:find ?b . :in $ ?n :where [?p :person/name ?n] [?p :person/born ?b]]"
    say = ("query", "--data", folder, "--format", "edn")
    assert adalog(*say, "--arg", '"Ada"', query).stdout == "1815\n"
    assert adalog(*say, "--arg", '"Ada"', "--as-of", "1", query).stdout == "nil\n"
    assert adalog(*say, "--arg", '"Ada"', "--as-of", "2999-01-01", query).stdout == "1815\n"
    wrong = adalog(*say, "--arg", "Ada", query)
    assert wrong.exit_code == 2
    assert "needs quotes" in wrong.stderr


def test_transact_from_a_file(folder: str, tmp_path: Path) -> None:
    file = tmp_path / "tx.edn"
    file.write_text('[[:db/add "x" :person/name "Eve"]]')
    assert adalog("transact", "--data", folder, str(file)).exit_code == 0
    count = "[:find (count ?p) . :where [?p :person/name]]"
    assert adalog("query", "--data", folder, "--format", "json", count).stdout == "5\n"


def test_a_refused_query_shows_the_line_and_a_caret(folder: str) -> None:
    result = adalog("query", "--data", folder, "[:find ?n\n :where [?p :person/name ?n]\n        [(nope ?n)]]")
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert lines[0].startswith("QUERY_INVALID")
    shown = next(number for number, line in enumerate(lines) if "[(nope ?n)]]" in line)
    caret = lines[shown + 1].index("^")
    assert lines[shown][caret:].startswith(("nope", "(nope", "[(nope"))


def test_a_transaction_is_undone(folder: str) -> None:
    adalog("transact", "--data", folder, '[[:db/add 900 :person/name "Eve"]]')
    tried = adalog("revert", "--data", folder, "--dry-run", "3")
    assert (tried.exit_code, tried.stdout) == (0, '- 900 :person/name "Eve"\n')
    done = adalog("revert", "--data", folder, "3")
    assert (done.exit_code, done.stdout.split(" · ")[0]) == (0, "t 4")
    again = adalog("revert", "--data", folder, "3")
    assert again.exit_code == 1
    assert '[900 :person/name "Eve"] is gone since transaction 4' in again.stderr


def test_a_refused_transaction_shows_its_line(folder: str) -> None:
    result = adalog("transact", "--data", folder, "-", stdin="[[:db/add 1 :a 1]\n [:db/nope 1]]")
    assert result.exit_code == 1
    assert "   2 │  [:db/nope 1]]" in result.stderr


def test_a_folder_that_is_open_elsewhere_names_url(folder: str) -> None:
    program = (
        "import sys\nfrom adalog.store.database import Database\n"
        "with Database.open(sys.argv[1]):\n    print('open', flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        result = adalog("query", "--data", folder, NAMES)
        holder.communicate()
    assert result.exit_code != 0
    assert "--url" in result.stderr


def test_no_server_there() -> None:
    result = adalog("query", "--url", "http://127.0.0.1:9", NAMES)
    assert result.exit_code == 3
    assert "adalog serve" in result.stderr


def test_data_and_url_together(folder: str) -> None:
    result = adalog("query", "--data", folder, "--url", "http://127.0.0.1:9", NAMES)
    assert result.exit_code == 2


def test_control_characters_do_not_reach_the_terminal(folder: str) -> None:
    adalog("transact", "--data", folder, "-", stdin='[[:db/add "x" :person/name "\\u001b[31mred"]]')
    result = adalog("query", "--data", folder, "[:find ?n :where [_ :person/name ?n]]")
    assert "\\x1b[31mred" in result.stdout
    assert "\x1b[31m" not in result.stdout


def test_serve_refuses_to_face_the_network_without_tokens() -> None:
    result = adalog("serve", "--host", "0.0.0.0", "--data", ":memory:")
    assert result.exit_code == 2
    assert "ADALOG_AUTH" in result.stderr


def test_serve_in_a_process_of_its_own(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ADALOG_")}
    command = [sys.executable, "-c", "from adalog.gateway.cli import main; main()", "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, "--data", str(tmp_path / "data")],
        env={**environ, "ADALOG_SPARK": "off"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1].removesuffix("/graphql")
            done = adalog("transact", "--url", url, "-", stdin='[[:db/add 1 :person/name "Ada"]]')
            assert done.exit_code == 0, done.output
            result = adalog("query", "--url", url, "--format", "json", "[:find ?n . :where [_ :person/name ?n]]")
            assert json.loads(result.stdout) == "Ada"
        finally:
            process.terminate()
        assert process.wait(30) == 0
