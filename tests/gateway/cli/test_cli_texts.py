"""Where a command's EDN comes from: typed, a file, standard input; and errors that point into it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gateway.cli.command_line import adalog

NAME = "[:find ?n . :where [?p :person/born] [?p :person/name ?n]]"
BAD = "; a comment\n[:find ?n\n :where [?p :person/name ?n]\n        [(nope ?n)]]\n"


@pytest.mark.parametrize("text", [NAME, f"\n  {NAME}", f"; what for\n{NAME}", f"'{NAME}", f"#_[] {NAME}"])
def test_a_query_that_is_typed(folder: str, text: str) -> None:
    assert adalog("query", "--data", folder, "--format", "edn", text).stdout == '"Ada"\n'


def test_a_query_in_a_file_or_on_standard_input(folder: str, tmp_path: Path) -> None:
    file = tmp_path / "who.edn"
    file.write_bytes(b"\xef\xbb\xbf" + NAME.replace(" ", "\r\n").encode())
    assert adalog("query", "--data", folder, "--format", "edn", str(file)).stdout == '"Ada"\n'
    assert adalog("query", "--data", folder, "--format", "edn", "-", stdin=NAME).stdout == '"Ada"\n'
    assert "?n" in adalog("explain", "--data", folder, str(file)).stdout


def test_a_transaction_that_is_typed(folder: str) -> None:
    assert adalog("transact", "--data", folder, '[{:person/name "Zoë"}]').exit_code == 0
    assert "Zoë" in adalog("query", "--data", folder, "[:find ?n :where [_ :person/name ?n]]").stdout


def test_with_in_each_way(folder: str, tmp_path: Path) -> None:
    tx = '[{:person/name "Eve" :person/born 1816}]'
    file = tmp_path / "tx.edn"
    file.write_text(tx, "utf-8")
    query = "[:find ?n . :where [?p :person/born 1816] [?p :person/name ?n]]"
    say = ("query", "--data", folder, "--format", "edn", query)
    assert adalog(*say, "--with", tx).stdout == '"Eve"\n'
    assert adalog(*say, "--with", str(file)).stdout == '"Eve"\n'
    assert adalog(*say, "--with", "-", stdin=tx).stdout == '"Eve"\n'
    assert adalog(*say, ADALOG_WITH=tx).stdout == '"Eve"\n'
    assert adalog(*say).stdout == "nil\n"


def test_standard_input_is_read_once() -> None:
    result = adalog("query", "--data", ":memory:", "--with", "-", "-", stdin=NAME)
    assert result.exit_code == 2
    assert "only once" in result.stderr


@pytest.mark.parametrize("command", ["query", "explain", "transact"])
def test_a_file_that_is_not_there(command: str, tmp_path: Path) -> None:
    result = adalog(command, "--data", str(tmp_path / "none"), "who.edn")
    assert result.exit_code == 2
    assert "'who.edn' cannot be read as a file (No such file or directory)" in result.stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("text", ["", "  ", "-", "empty"])
def test_nothing(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").touch()
    result = adalog("query", "--data", ":memory:", text, stdin="")
    assert result.exit_code == 2
    assert "empty" in result.stderr


def test_a_folder_and_other_bytes(tmp_path: Path) -> None:
    result = adalog("query", "--data", ":memory:", str(tmp_path))
    assert (result.exit_code, "directory" in result.stderr) == (2, True)
    (tmp_path / "latin").write_bytes(b'[:find ?x\n "\xe9"]')
    result = adalog("query", "--data", ":memory:", str(tmp_path / "latin"))
    assert (result.exit_code, "is not UTF-8 (line 2)" in result.stderr) == (2, True)
    result = adalog("query", "--data", ":memory:", "-", stdin=b"\xff")
    assert (result.exit_code, "standard input is not UTF-8 (line 1)" in result.stderr) == (2, True)


def pointed(lines: list[str]) -> str:
    """What stands from the caret on."""
    return lines[-2][lines[-1].index("^") :]


def test_an_error_names_file_line_and_column(folder: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.edn"
    for end in ("\n", "\r\n"):
        file.write_bytes(BAD.replace("\n", end).encode())
        result = adalog("query", "--data", folder, str(file))
        assert result.exit_code == 1
        lines = result.stderr.splitlines()
        assert lines[0].startswith("QUERY_INVALID")
        assert lines[1] == f"  at {file}:4:11"
        assert pointed(lines) == "nope ?n)]]"
    result = adalog("query", "--data", folder, "-", stdin=BAD)
    assert "  at standard input:4:11" in result.stderr
    typed = adalog("query", "--data", folder, BAD)
    assert "  at " not in typed.stderr


def test_a_caret_below_wide_and_control_characters(folder: str) -> None:
    for before in ('"日本語"', '"\x0b\x0c"', '"\t"', '"' + "x" * 300 + '"'):
        result = adalog("query", "--data", folder, f"[:find ?n :where [?p :person/name {before}] [(nope ?n)]]")
        lines = result.stderr.splitlines()
        place = lines[-1].index("^") - (3 if "日" in before else 0)
        assert lines[-2][place:].startswith("nope"), before


def test_a_refused_transaction_names_its_file(folder: str, tmp_path: Path) -> None:
    file = tmp_path / "tx.edn"
    file.write_text("[[:db/add 1 :a 1]\n [:db/nope 1]]", "utf-8")
    result = adalog("transact", "--data", folder, str(file))
    assert result.exit_code == 1
    assert f"  at {file}:2:" in result.stderr


def test_an_error_in_rules_points_at_no_query(folder: str) -> None:
    result = adalog(
        "query", "--data", folder, "--arg-edn", "[[(r ?x) (nope ?x)]]", "[:find ?x :in $ % :where (r ?x)]"
    )
    assert result.exit_code == 1
    assert "^" not in result.stderr
    assert "%" in result.stderr
