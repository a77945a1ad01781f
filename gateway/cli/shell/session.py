"""The shell's statements and commands: what they ask of the database, and what they print."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import wrap
from typing import Any, Final, NamedTuple

import click

from adalog.datalog import edn
from adalog.datalog.errors import AdalogError, Code, invalid_argument, unavailable
from adalog.gateway.cli import options, requests
from adalog.gateway.cli.backend import Backend, RemoteBackend
from adalog.gateway.cli.exits import exit_code
from adalog.gateway.cli.live import Printer, followed, replayed
from adalog.gateway.cli.output import formats
from adalog.gateway.cli.output.console import err, out
from adalog.gateway.cli.output.formats import ResultTable, TableHints
from adalog.gateway.cli.output.texts import Text
from adalog.gateway.cli.printing import print_entities, print_relation, print_warnings, say
from adalog.gateway.cli.shell.statements import Statement, forms, is_whole, statements
from adalog.schema.arguments.basis import read_instant
from adalog.schema.writing.encoding import Encoding, encode

_NONE: Final = "none"
# What undoes a setting.
_OFF: Final = (_NONE, "off")
_SWITCH: Final = {"on": True, "off": False, _NONE: False}
# Files that may name each other by :source.
_DEEPEST: Final = 16
# Characters of a line of help, on a terminal however narrow.
_NARROWEST_HELP: Final = 24
_HINTS: Final = TableHints(":expanded on shows all", ":save FILE writes all", ":describe db lists them")
# By the beginnings of messages, which servers answer with, too.
_ARGS_HINTS: Final = (
    (re.compile(r"the query takes \d+ after \$ "), ':args gives their values, in this order, as in :args "Ada" 42'),
    (re.compile(r"the query has no :in after \$, but "), ":args none drops those that were set"),
)
# Seconds for which the server of a live query may be gone.
_AWAY: Final = 300.0


@dataclass(frozen=True, slots=True)
class Reading:
    """The database that queries read, as typed: `as_of`, `since`, `history`, `with_`; and their `args` and
    `timeout`, in milliseconds."""

    as_of: str | None = None
    since: str | None = None
    history: bool = False
    with_: str | None = None
    args: Sequence[str] = ()
    timeout: int | None = None

    @property
    def variables(self) -> dict[str, Any]:
        basis = options.basis_variable(self.as_of, self.since, self.history)
        return {"basis": basis, "with": self.with_, "timeoutMs": self.timeout}

    @property
    def shown(self) -> str:
        """The settings that are not those of the newest state, for the prompt."""
        parts = (
            f"@{self.as_of}" if self.as_of else "",
            f"since {self.since}" if self.since else "",
            "history" if self.history else "",
            "with" if self.with_ else "",
        )
        return " ".join(filter(None, parts))


class Leave(Exception):
    """Ends the shell."""


@dataclass
class ShellSession:
    """The shell over one database. show: prints what a function prints, page by page where that is possible."""

    backend: Backend
    reading: Reading = field(default_factory=Reading)
    show: Callable[[Callable[[], None]], None] = lambda printing: printing()
    expanded: bool = False
    timing: bool = False
    # The last query and its answer, for :explain and :save.
    _query: str | None = field(default=None, init=False)
    _answer: ResultTable | None = field(default=None, init=False)
    _sources: int = field(default=0, init=False)
    _attributes: list[str] | None = field(default=None, init=False)

    def run(self, text: str, name: str | None = None) -> None:
        """Runs the statements of a text; name: of its file. Raises Leave, and RefusedStatement once its message
        is printed."""
        for statement in statements(text):
            began = time.perf_counter()
            try:
                self._one(statement)
            except AdalogError as error:
                formats.print_error(_hinted(error), Text(text, name), err)
                raise RefusedStatement(exit_code(error)) from None
            if self.timing:
                say(f"{(time.perf_counter() - began) * 1000:,.1f} ms")

    def attributes(self) -> Sequence[str]:
        """The idents of all attributes; none where they cannot be had."""
        if self._attributes is None:
            try:
                rows = requests.run_attributes(self.backend, "", "edn", own=True).rows
            except AdalogError:
                return ()
            self._attributes = [edn.write(row[0]) for row in rows]
        return self._attributes

    def _one(self, statement: Statement) -> None:
        if not is_whole(statement.text):
            # The reader says what is missing, and where.
            edn.read(statement.rest if statement.command else statement.text)
        if statement.command is not None:
            self._command(statement)
        elif statement.is_query:
            self._ask(statement.text)
        else:
            self._transact(statement.text)

    # EDN

    def _ask(self, text: str) -> None:
        variables = {**self._asked(text), "engine": "AUTO"}
        with formats.working("running the query", err):
            answer = requests.run_query(self.backend, variables, "table")
        self._query, self._answer = text, answer
        self.show(lambda: self._print(answer))
        print_warnings(answer.warnings)

    def _asked(self, text: str) -> dict[str, Any]:
        return {"query": text, "args": None, "argsEdn": list(self.reading.args) or None, **self.reading.variables}

    def _print(self, answer: ResultTable) -> None:
        nested = len(answer.names) == 1 and any(isinstance(row[0], Mapping) for row in answer.rows)
        if nested and not self.expanded:
            print_entities([row[0] for row in answer.rows], "text")
            say(answer.summary)
        else:
            shown = replace(answer, warnings=(), hints=_HINTS)
            print_relation(shown, "expanded" if self.expanded else "table", None)

    def _transact(self, text: str) -> None:
        variables = {"tx": text, "expectedBasisT": None, "idempotencyKey": None}
        self._attributes = None
        with formats.working("applying the transaction", err):
            report, warnings = requests.run_transact(self.backend, variables, "text")
        out.out(report, highlight=False)
        print_warnings(warnings)

    # Commands

    def _command(self, statement: Statement) -> None:
        assert statement.command is not None, "a command"
        act = COMMANDS.get(statement.command)
        if act is None:
            raise invalid_argument(f"there is no command {statement.command}; :help lists them")
        act.run(self, statement.rest)

    def help(self, _: str) -> None:
        """Lists the commands."""
        width = max(len(f"{name} {each.wants}") for name, each in COMMANDS.items())
        out.tell("A query, or transaction data in [ ], runs when its brackets are closed. Commands:")
        room = None if out.room is None else max(out.room - width - 4, _NARROWEST_HELP)
        for name, each in COMMANDS.items():
            said = (each.run.__doc__ or "").split("\n")[0]
            first, *more = [said] if room is None else wrap(said, room)
            out.tell(f"  {f'{name} {each.wants}':<{width}}  {first}")
            for line in more:
                out.tell(f"{'':<{width + 4}}{line}")

    def explain(self, rest: str) -> None:
        """Shows the plan of a query, or of the last one; with `analyze` runs it too."""
        analyze = rest.split()[:1] == ["analyze"]
        if analyze:
            rest = rest.replace("analyze", " " * len("analyze"), 1)
        query = rest if rest.strip() else self._query
        if query is None:
            raise invalid_argument(":explain explains the last query, and there is none yet; give it one")
        variables = {**self._asked(query), "engine": "AUTO", "analyze": analyze}
        with formats.working("planning", err):
            text, warnings = requests.run_explain(self.backend, variables, "text")
        self.show(lambda: out.out(text, highlight=False))
        print_warnings(warnings)

    def why(self, rest: str) -> None:
        """Says why a row is in the answer of the last query, or why not; without one, its first row."""
        if self._query is None or self._answer is None:
            raise invalid_argument(":why is about a row of the last query, and there is none yet; ask something")
        row = rest
        if not row.strip():
            if not self._answer.rows:
                raise invalid_argument(":why: the last answer has no rows; give the values of one, as in :why [17]")
            row = edn.write(tuple(self._answer.rows[0]))
        with formats.working("looking for reasons", err):
            _, text = requests.run_why(self.backend, self._asked(self._query), row, "text")
        self.show(lambda: out.out(text, highlight=False))

    def pull(self, rest: str) -> None:
        """Shows entities as nested maps: a pattern, then numbers, idents or lookup refs."""
        pattern, *eids = forms(rest) or [""]
        if not eids:
            raise invalid_argument(':pull takes a pattern and entities, as in :pull [*] 17 [:user/email "a@b.org"]')
        variables = {"pattern": pattern, "eids": eids, **self.reading.variables}
        with formats.working("pulling", err):
            found, warnings = requests.run_pull(self.backend, variables, "text")
        self.show(lambda: print_entities(found, "text"))
        print_warnings(warnings)

    def describe(self, rest: str) -> None:
        """Lists the attributes, or those that begin with a prefix."""
        relation = requests.run_attributes(self.backend, rest.strip(), "table", own=False, hints=_HINTS)
        self.show(lambda: print_relation(relation, "expanded" if self.expanded else "table", None))

    def live(self, rest: str) -> None:
        """Shows the rows of a query and then each change, until Ctrl-C; of a folder what there is."""
        if not rest.strip():
            raise invalid_argument(":live takes a query")
        printer = Printer("table", out, say, None, print_warnings)
        args = list(self.reading.args) or None
        variables = {"query": rest, "args": None, "argsEdn": args, "fromT": None, "as": printer.encoding}
        if isinstance(self.backend, RemoteBackend):
            events = followed(self.backend, variables, say, _AWAY)
        else:
            events = replayed(self.backend, variables)
        for event in events:
            printer.event(event)

    def as_of(self, rest: str) -> None:
        """Reads as of a transaction's number or an instant from now on; none: the newest state."""
        self.reading = replace(self.reading, as_of=_moment(rest, ":as-of"))

    def since(self, rest: str) -> None:
        """Reads only what was asserted after a transaction or an instant; none: everything."""
        self.reading = replace(self.reading, since=_moment(rest, ":since"))

    def history(self, rest: str) -> None:
        """Reads all that was ever asserted or retracted: on or off."""
        self.reading = replace(self.reading, history=_switch(rest, ":history"))

    def with_(self, rest: str) -> None:
        """Reads as if transaction data had been applied; none: as it is. Nothing is committed."""
        given = _value(rest, ":with", "transaction data in [ ]")
        # At its place, for the positions of what is wrong with it.
        self.reading = replace(self.reading, with_=None if given is None else rest)

    def args(self, rest: str) -> None:
        """Values for the inputs after $ in :in, as EDN, for the queries that follow; none: no values."""
        given = [] if rest.strip() in _OFF else forms(rest)
        for each in given:
            edn.read(each)
        if not rest.strip():
            out.tell(" ".join(self.reading.args) or _NONE)
            return
        self.reading = replace(self.reading, args=tuple(given))

    def timeout(self, rest: str) -> None:
        """Ends queries after a time, 2s or 500ms; none: after the server's own limit."""
        text = _value(rest, ":timeout", "a time such as 2s or 500ms")
        try:
            span = None if text is None else options.DurationType().convert(text, None, None)
        except click.BadParameter as error:
            raise invalid_argument(error.message) from None
        self.reading = replace(self.reading, timeout=span)

    def now(self, _: str) -> None:
        """Reads the newest state again, without :as-of, :since, :history and :with."""
        self.reading = Reading(args=self.reading.args, timeout=self.reading.timeout)

    def expand(self, rest: str) -> None:
        """Prints a line for each value, whole, instead of tables: on or off."""
        self.expanded = _switch(rest, ":expanded")

    def time(self, rest: str) -> None:
        """Says how long each statement took: on or off."""
        self.timing = _switch(rest, ":timing")

    def source(self, rest: str) -> None:
        """Runs the statements of a file; the first that is refused ends it."""
        name = rest.strip()
        if not name:
            raise invalid_argument(":source takes the name of a file")
        if self._sources >= _DEEPEST:
            raise invalid_argument(f"{name}: more than {_DEEPEST} files name each other by :source")
        try:
            text = Path(name).expanduser().read_text(encoding="utf-8-sig")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise unavailable(f"{name} cannot be read: {reason}", retryable=False) from None
        self._sources += 1
        try:
            self.run(text, name)
        finally:
            self._sources -= 1

    def save(self, rest: str) -> None:
        """Writes the rows of the last answer into a file: .csv, .json, .edn or .arrow."""
        path = Path(rest.strip()).expanduser()
        write = _WRITERS.get(path.suffix.lower())
        if write is None:
            raise invalid_argument(f":save takes the name of a file that ends in {', '.join(_WRITERS)}")
        if self._answer is None:
            raise invalid_argument("there is no answer to save yet; ask something first")
        try:
            path.write_bytes(write(self._answer))
        except OSError as error:
            raise unavailable(f"{path} cannot be written: {error.strerror}", retryable=False) from None
        out.tell(f"{len(self._answer.rows):,} rows in {path}")

    def quit(self, _: str) -> None:
        """Leaves the shell, as Ctrl-D does."""
        raise Leave


class RefusedStatement(Exception):
    """A statement that was refused, and what a command ends with that is refused so."""

    def __init__(self, exit_code: int) -> None:
        super().__init__()
        self.exit_code = exit_code


def _hinted(error: AdalogError) -> AdalogError:
    """The error with how the shell gives arguments, if it is about their number."""
    hint = next((hint for pattern, hint in _ARGS_HINTS if pattern.match(error.message)), None)
    if error.code is not Code.ARG_INVALID or hint is None:
        return error
    message = f"{error.message}; {hint}"
    return AdalogError(
        error.code, message, error.position, retryable=error.retryable, retry_after=error.retry_after
    )


def _value(rest: str, command: str, what: str) -> str | None:
    text = rest.strip()
    if not text:
        raise invalid_argument(f"{command} takes {what}, or {_NONE}")
    return None if text in _OFF else text


def _moment(rest: str, command: str) -> str | None:
    text = _value(rest, command, "a transaction's number, an instant")
    if text is not None and not text.lstrip("-").isdigit():
        read_instant(text, command)
    return text


def _switch(rest: str, command: str) -> bool:
    found = _SWITCH.get(rest.strip())
    if found is None:
        raise invalid_argument(f"{command} takes on or off")
    return found


def _json(answer: ResultTable) -> bytes:
    rows = [[encode(value, Encoding.PLAIN) for value in row] for row in answer.rows]
    return formats.json_text(replace(answer, value=rows))


def _edn(answer: ResultTable) -> bytes:
    return formats.edn_text(replace(answer, value=tuple(map(tuple, answer.rows))))


def _arrow(answer: ResultTable) -> bytes:
    written = io.BytesIO()
    formats.write_arrow(answer, written)
    return written.getvalue()


_WRITERS: Final[Mapping[str, Callable[[ResultTable], bytes]]] = {
    ".csv": formats.csv_text,
    ".json": _json,
    ".edn": _edn,
    ".arrow": _arrow,
}


class Command(NamedTuple):
    """A command of the shell. wants: its arguments, as help shows them; run: is given the text after its name."""

    wants: str
    run: Callable[[ShellSession, str], None]


COMMANDS: Final[Mapping[str, Command]] = {
    ":explain": Command("[analyze] [QUERY]", ShellSession.explain),
    ":why": Command("[ROW]", ShellSession.why),
    ":live": Command("QUERY", ShellSession.live),
    ":pull": Command("PATTERN EID…", ShellSession.pull),
    ":describe": Command("[PREFIX]", ShellSession.describe),
    ":as-of": Command("T", ShellSession.as_of),
    ":since": Command("T", ShellSession.since),
    ":history": Command("on|off", ShellSession.history),
    ":with": Command("TX", ShellSession.with_),
    ":now": Command("", ShellSession.now),
    ":args": Command("[EDN…]", ShellSession.args),
    ":timeout": Command("SPAN", ShellSession.timeout),
    ":expanded": Command("on|off", ShellSession.expand),
    ":timing": Command("on|off", ShellSession.time),
    ":source": Command("FILE", ShellSession.source),
    ":save": Command("FILE", ShellSession.save),
    ":help": Command("", ShellSession.help),
    ":quit": Command("", ShellSession.quit),
}
