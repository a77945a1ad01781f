"""`adalog repl`: statements in a pipe, and on a terminal its prompt."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from adalog.gateway.cli.output import console
from adalog.gateway.cli.shell.completion import EdnCompleter
from adalog.gateway.cli.shell.statements import forms, indentation, is_whole, statements
from tests.gateway.cli.command_line import adalog, command, environ

NAMES = "[:find ?n :where [_ :person/name ?n]]"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("  ; nothing\n", []),
        ("[:find ?x] [{:a 1}]", ["[:find ?x]", "[{:a 1}]"]),
        (":as-of 5\n[:find ?x]", [":as-of 5", "[:find ?x]"]),
        (":explain [:find ?x\n :where [?x]]\n:now", [":explain [:find ?x\n :where [?x]]", ":now"]),
        (':with [[:db/add 1 :a "x\n"]]', [':with [[:db/add 1 :a "x\n"]]']),
        ('#inst "2024" [1] ; after\n\'[:find ?x]', ['#inst "2024"', "[1]", "'[:find ?x]"]),
        (":source a b.edn\n", [":source a b.edn"]),
        ("] [1]", ["]", "[1]"]),
        ("[1] select * from [t];\n[2]", ["[1]", "select * from [t];\n[2]"]),
        ("[:find ?x", ["[:find ?x"]),
    ],
)
def test_statements(text: str, found: list[str]) -> None:
    cut = statements(text)
    assert [each.text.strip() for each in cut] == found
    for each in cut:
        # At its own line and column.
        before = each.text[: len(each.text) - len(each.text.lstrip())]
        start = sum(len(line) + 1 for line in text.split("\n")[: before.count("\n")])
        column = len(before) - before.rfind("\n") - 1
        assert text[start + column :].startswith(each.text.strip())


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", True),
        ("[:find ?x]", True),
        ("[:find ?x", False),
        ('[:find "]', False),
        ("[1] ; [", True),
        ("#inst", False),
        ("]]", True),
        (":explain [:find", False),
    ],
)
def test_what_is_whole(text: str, whole: bool) -> None:
    assert is_whole(text) is whole


def test_kinds_of_forms() -> None:
    queries = ("[:find ?x]", "{:find [?x]}", "{:in [$] :find [?x]}", "[find ?x]", "5", "; why\n[:find ?x]")
    for text in queries:
        assert statements(text)[0].is_query, text
    for text in ("[{:a 1}]", "[[:db/add 1 :a 2]]", "[(f 1)]", "[]", "{:a 1}"):
        assert not statements(text)[0].is_query, text


def test_a_line_within_a_bracket_begins_below_it() -> None:
    assert indentation("[:find ?x") == 1
    assert indentation("[:find ?x\n :where (or [?x :a]") == 9
    assert indentation("#{1") == 2
    assert indentation("[1]") == 0


def test_forms_of_a_text() -> None:
    assert forms(' [*] 17 [:user/email "a b"] :x ') == ["[*]", "17", '[:user/email "a b"]', ":x"]


def completed(
    text: str, attributes: tuple[str, ...] = (":person/name", ":person/born", ":movie/title")
) -> list[str]:
    completer = EdnCompleter(lambda: attributes)
    found = completer.get_completions(Document(text, len(text)), CompleteEvent(completion_requested=True))
    return [each.text for each in found]


def test_completion() -> None:
    assert completed("[:find ?n :where [?p :person/") == [":person/born", ":person/name"]
    assert completed(":ex") == [":expanded", ":explain"]
    assert ":where" in completed("[:find ?n :wh")
    assert completed("[:find ?name :where [?p :person/name ?n") == ["?name"]
    assert "starts-with?" in completed("[:find ?n :where [?p :a ?n] [(starts-")
    assert "count-distinct" in completed("[:find (count-")
    assert "older" in completed("[[(older ?a ?b) [?a :x ?b]] (old")
    assert completed(":describe mo") == ["movie/title"]
    assert completed("nothing") == []


def test_a_pipe(tmp_path: Path) -> None:
    saved = tmp_path / "saved.csv"
    other = tmp_path / "other.edn"
    other.write_text("[:find (count ?p) .\n :where [?p :person/name]]")
    text = f"""; comments are nothing
        [{{:db/ident :person/name :db/valueType :db.type/string :db/unique :db.unique/identity}}]
        [{{:person/name "Ada" :person/born 1815}} {{:person/name "Grace" :person/born 1906}}]
        :args 1900
        [:find ?n :in $ ?y :where [?p :person/name ?n] [?p :person/born ?b] [(> ?b ?y)]]
        :save {saved}
        :args none
        :with [{{:person/name "Alan"}}]
        :source {other}
        :now
        :as-of 1
        :pull [*] [:person/name "Ada"]
        :as-of none
        [:find (pull ?p [*]) :where [?p :person/born 1815]]
        :live {NAMES}
        :explain
        :why [[:person/name "Ada"]]
        :why [[:person/name "Grace"]]
        :why
        :quit
        [:never/run]"""
    done = adalog("repl", "--data", str(tmp_path / "data"), stdin=text)
    assert done.exit_code == 0, done.output
    assert saved.read_text() == "?n\nGrace\n"
    shown = done.stdout
    counted, pulled = shown.index("         3\n"), shown.index("nil\n")
    assert counted < pulled
    assert shown.count('{:db/id 2, :person/name "Ada", :person/born 1815}') + shown.count(":person/born 1815") >= 1
    assert "order  " in shown[pulled:]
    assert shown.count("the row is in the answer") == 2, shown
    assert "no row passes [?p :person/born 1815]" in shown
    assert "never" not in done.output


@pytest.mark.parametrize("word", ["none", "off"])
def test_settings_are_undone(tmp_path: Path, word: str) -> None:
    settings = [":as-of 0", ":since 1", ":history on", ':with [{:person/name "Alan"}]', ":args 5"]
    for setting in settings:
        text = f"""[{{:person/name "Ada"}}]
            {setting}
            {setting.split()[0]} {word}
            {NAMES}"""
        done = adalog("repl", "--data", str(tmp_path / setting.split()[0]), stdin=text)
        assert done.exit_code == 0, (setting, done.output)
        assert "Ada" in done.stdout, setting
        assert "Alan" not in done.stdout, setting


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[:find ?n\n :where [(nope ?n)]]", "there is no built-in nope"),
        ("[:find ?n", "is never closed"),
        (":as-of", ":as-of takes a transaction's number, an instant, or none"),
        (":as-of soon", ":as-of 'soon' is no instant"),
        (":since 2024-99-01", ":since '2024-99-01' is no instant"),
        (":live", ":live takes a query"),
        (":history maybe", ":history takes on or off"),
        (":nope", "there is no command :nope; :help lists them"),
        (":explain", ":explain explains the last query"),
        (":why [1]", ":why is about a row of the last query"),
        (f"{NAMES}\n:why 1", "a row is a vector of its values"),
        (f"{NAMES}\n:why [1", "is never closed"),
        (f"{NAMES}\n:why [1 2]", "row has 2 cells, but :find has 1 columns"),
        ("[:find ?n :where [_ :person/name ?n] [(= ?n 1)]]\n:why", "the last answer has no rows"),
        (":pull [*]", ":pull takes a pattern and entities"),
        (":args [1", "is never closed"),
        (":timeout long", "'long' is no span of time"),
        (":source", ":source takes the name of a file"),
        (":source /no/such/file.edn", "cannot be read: No such file"),
        (":save rows.xls", "that ends in .csv, .json, .edn, .arrow"),
        (":save rows.csv", "there is no answer to save yet"),
        ("[:person/name]", "a query has no section :person/name"),
        ("[:find ?n :in $ ?n :where [_ :person/name ?n]]", "0 were given; :args gives their values, in this order"),
        (f":args 1 2\n{NAMES}", "2 were given; add :in to the query; :args none drops those that were set"),
        (
            "select name from person where id = 1;",
            'a query is EDN Datalog: [:find ?name :where [?e :person/name ?name]]; "Coming from SQL"',
        ),
        ("with t as (\n  select 1)\nselect * from t", "this is SQL"),
        (":explain select name from person", '"Coming from SQL" in the docs'),
        ("insert into person values (1)", "this is SQL; data is added as EDN"),
    ],
)
def test_refusals_end_a_pipe(folder: str, text: str, said: str) -> None:
    done = adalog("repl", "--data", folder, stdin=f"{text}\n:help\n")
    assert done.exit_code in (1, 3), done.output
    assert said in " ".join(done.stderr.split()), done.stderr
    assert ":describe" not in done.stdout


def test_a_refusal_in_a_file_names_its_place(folder: str, tmp_path: Path) -> None:
    file = tmp_path / "queries.edn"
    file.write_text(f"{NAMES}\n:now\n  :explain [:find ?n\n   :where [(nope ?n)]]\n")
    done = adalog("repl", "--data", folder, stdin=f":source {file}")
    assert done.exit_code == 1
    assert f"at {file}:4:13" in "".join(done.stderr.split("\n"))
    assert "[(nope ?n)]]" in done.stderr


def test_files_that_name_each_other_end(folder: str, tmp_path: Path) -> None:
    file = tmp_path / "self.edn"
    file.write_text(f":source {file}\n")
    done = adalog("repl", "--data", folder, stdin=f":source {file}")
    assert done.exit_code == 1
    assert "files name each other" in " ".join(done.stderr.split())


@pytest.mark.parametrize("suffix", ["json", "edn", "arrow"])
def test_saved_answers(folder: str, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rows.{suffix}"
    done = adalog(
        "repl", "--data", folder, stdin=f"{NAMES.replace('?n', '?n ?b', 1)[:-1]} [_ :person/born ?b]]\n:save {path}"
    )
    assert done.exit_code == 0, done.output
    written = path.read_bytes()
    if suffix == "arrow":
        table = pa.ipc.open_stream(written).read_all()
        assert table.column_names == ["?n", "?b"]
        assert table.num_rows > 2
    else:
        assert b'"Ada Lovelace"' in written or b"Ada" in written


def test_a_server_is_asked_in_the_same_way(address: str) -> None:
    done = adalog("repl", "--url", address, stdin=f'[{{:person/name "Zoe"}}]\n{NAMES}\n:describe person/n')
    assert done.exit_code == 0, done.output
    assert "Zoe" in done.stdout
    assert ":person/name" in done.stdout


def test_hints_name_what_the_shell_has(folder: str) -> None:
    done = adalog("repl", "--data", folder, stdin=":describe\n")
    assert "not listed; :describe db lists them" in done.stdout + done.stderr
    assert ":db/ident" in adalog("repl", "--data", folder, stdin=":describe db\n").stdout


def test_help_keeps_its_columns_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setattr(console.Terminal, "room", 60)
    lines = adalog("repl", "--data", folder, stdin=":help\n").stdout.splitlines()
    start = lines[1].index("Shows")
    assert all(len(line) <= 60 for line in lines[1:])
    assert all(line[start - 1] == " " and line[start] != " " for line in lines[1:])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_of_other_shells(shell: str) -> None:
    done = adalog("completion", shell)
    assert done.exit_code == 0, done.output
    assert "_ADALOG_COMPLETE" in done.stdout


def test_bash_completes_commands_options_and_values(tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "adalog"
    if shutil.which("bash") is None or not program.exists():
        pytest.skip("no bash, or no adalog beside Python")
    script = tmp_path / "adalog.bash"
    script.write_text(adalog("completion", "bash").stdout)
    words = 'COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); $(complete -p adalog | sed "s/.*-F //; s/ .*//") adalog'
    ask = f"source {script}; ask() {{ COMPREPLY=(); {words}; echo ${{COMPREPLY[*]}}; }}"
    ask += '; ask adalog qu; ask adalog query --as; ask adalog completion ""'
    path = f"{program.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", ask], env=environ(PATH=path), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["query", "--as-of", "bash zsh fish"], done.stderr


def _on_own_terminal() -> None:
    """Makes the terminal the process's own, so that Ctrl-C is its signal, also where that was ignored so far."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A shell on a terminal of 100 columns."""

    def __init__(self, *arguments: str, state: Path) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.process = subprocess.Popen(
            command("repl", *arguments),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environ(TERM="xterm", XDG_STATE_HOME=str(state), NO_COLOR="1", PROMPT_TOOLKIT_NO_CPR="1"),
            start_new_session=True,
            preexec_fn=_on_own_terminal,
        )
        os.close(theirs)
        self._shown = ""

    def until(self, text: str) -> str:
        """What is shown up to a text, which is waited for."""
        limit = time.monotonic() + 60
        while text not in self._shown:
            assert time.monotonic() < limit, (text, self._shown)
            if select.select([self._ours], [], [], 1.0)[0]:
                part = os.read(self._ours, 65536).decode(errors="replace")
                self._shown += re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", part)
        before, _, self._shown = self._shown.partition(text)
        return before

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)


@contextmanager
def on_terminal(*arguments: str, state: Path) -> Iterator[Terminal]:
    terminal = Terminal(*arguments, state=state)
    try:
        terminal.until(">")
        yield terminal
    finally:
        terminal.close()


def test_a_terminal(folder: str, tmp_path: Path) -> None:
    state = tmp_path / "state"
    numbers = f"[{' '.join(map(str, range(700)))}]"
    arguments = tmp_path / "arguments.edn"
    arguments.write_text(f":args {numbers} {numbers} {numbers} {numbers}")
    with on_terminal("--data", folder, state=state) as shell:
        # Enter within a bracket begins a line.
        shell.type("[:find (count ?p) .\r:where [?p :person/name]]\r")
        shell.until(" row · t 2")
        shell.type(f":source {arguments}\r:timing on\r")
        shell.type("[:find (count ?a) . :in $ [?a ...] [?b ...] [?c ...] [?d ...] :with ?b ?c ?d\r")
        shell.type(":where [(+ ?a ?b ?c) ?s] [(< ?s ?d)]]\r")
        # Once a second has passed, the terminal says what is being done.
        shell.until("running the query")
        shell.type("\x03")
        shell.until("cancelled")
        shell.until(">")
        shell.type(":args none\r" + NAMES + "\r")
        shell.until(" rows · t 2")
        shell.until(">")
        shell.type("\x04")
        assert shell.process.wait(60) == 0
    history = state / "adalog" / "history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert ":args none" in history.read_text()


def test_a_live_query_ends_with_ctrl_c(address: str, tmp_path: Path) -> None:
    with on_terminal("--url", address, state=tmp_path) as shell:
        shell.type(f":live {NAMES}\r")
        shell.until(" rows · t 2")
        adalog("transact", "--url", address, '[{:person/name "Zoe"}]')
        shell.until("Zoe")
        shell.type("\x03")
        shell.until("cancelled")
        shell.until(">")
        shell.type(":quit\r")
        assert shell.process.wait(60) == 0
