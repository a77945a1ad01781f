"""`adalog live`: the rows of a query, then those that enter and leave, from a server's event stream or a folder.

A stream that breaks off is asked for again, where it was; what a server refuses is not.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from adalog.client.http.protocol import data_of
from adalog.datalog import edn, values
from adalog.datalog.errors import AdalogError, Code, unavailable
from adalog.gateway.cli.backend import LocalBackend, RemoteBackend
from adalog.gateway.cli.output import formats as output
from adalog.gateway.cli.output import tables
from adalog.gateway.cli.output.console import Terminal, binary
from adalog.gateway.cli.requests import warned
from adalog.schema.writing.encoding import Encoding, decode, encode

_LIVE: Final = """subscription (
  $query: EDN!, $args: [JSON!], $argsEdn: [EDN!], $resume: String, $fromT: Long, $as: Encoding!
) {
  live(query: $query, args: $args, argsEdn: $argsEdn, resume: $resume, fromT: $fromT, encoding: $as) {
    kind basisT resume columns { name type } rows added retracted last reason warnings { code message line column }
  }
}"""
# What another attempt may find otherwise, and the seconds before it: each time twice as long.
_PASSING: Final = (Code.BACKEND_UNAVAILABLE, Code.RATE_LIMITED)
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 15.0
# A server says something more often than this, if only that it is there.
_SILENCE: Final = 90.0

Event = Mapping[str, Any]


def followed(
    remote: RemoteBackend,
    variables: Mapping[str, Any],
    say: Callable[[str], None],
    away: float,
    wait: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Event]:
    """The events of a served adalog, for ever. `say`: is told when the stream breaks off, and where it goes on.
    `away`: the seconds for which a server that was there may be gone. Raises what the server refuses, and
    BACKEND_UNAVAILABLE where it never answered, or was gone for so long."""
    asked, last = dict(variables), None
    patience, began, gone_on_after = _FIRST_WAIT, False, None
    lost_at: float | None = None
    while True:
        try:
            for answer in remote.events(_LIVE, asked, _SILENCE):
                event = data_of(answer)["live"]
                if gone_on_after is not None and event["kind"] != "RESET":
                    say(f"connected again, and going on after transaction {gone_on_after}")
                patience, began, gone_on_after, lost_at = _FIRST_WAIT, True, None, None
                asked = {**variables, "resume": event["resume"], "fromT": None}
                last = event["basisT"]
                yield event
            why = "the stream ended"
        except AdalogError as error:
            if not began or error.code not in _PASSING:
                raise
            why = error.message
        if began:
            gone_on_after = last
        lost_at = clock() if lost_at is None else lost_at
        left = lost_at + away - clock()
        if left <= 0:
            told = "" if last is None else f", and what is shown is of transaction {last}"
            raise unavailable(f"{why}. It has been so for {_span(away)}{told}; --away says how long to wait")
        say(f"{why}; trying again")
        wait(min(patience, left))
        patience = min(2 * patience, _LONGEST_WAIT)


def _span(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{seconds:g} s" if rest or not minutes else f"{minutes:g} min"


def replayed(local: LocalBackend, variables: Mapping[str, Any]) -> Iterator[Event]:
    """The events of a folder up to now: while it is open here it does not change."""
    now = local.basis_t
    for answer in local.events(_LIVE, variables):
        event = data_of(answer)["live"]
        if event["kind"] != "PROGRESS":
            yield event
        is_whole = event["kind"] != "RESET" and event["last"] is not False
        if is_whole and int(event["basisT"]) >= now:
            return


@dataclass
class Printer:
    """Prints events in one format. `form`: table, json, edn or csv. `warn`: prints warnings."""

    form: str
    out: Terminal
    say: Callable[[str], None]
    show: int | None = None
    warn: Callable[[Sequence[output.ShownWarning]], None] = lambda _: None

    def __post_init__(self) -> None:
        self._rows: list[Sequence[Any]] = []
        self._headed = False
        self._warned: list[output.ShownWarning] = []
        self._warnings: list[output.ShownWarning] = []

    @property
    def encoding(self) -> str:
        return "PLAIN" if self.form == "json" else "TAGGED"

    def event(self, event: Event) -> None:
        """Prints one, and below it the warnings; not again those of a stream that was connected again."""
        if event.get("warnings") is not None:
            self._warnings = warned(event["warnings"])
        self._print(event)
        if event["kind"] != "RESET" and event["last"] is not False and self._warnings != self._warned:
            self._warned = self._warnings
            self.warn(self._warned)

    def _print(self, event: Event) -> None:
        if event["kind"] == "PROGRESS":
            return
        if event["kind"] == "RESET":
            self.say(f"what was shown is no longer so: {event['reason']}")
            self._rows = []
        {"table": self._table, "json": self._json, "edn": self._edn, "csv": self._csv}[self.form](event)

    def _json(self, event: Event) -> None:
        told = {name: event[name] for name in _TOLD[event["kind"]]}
        self._write(orjson.dumps({"kind": event["kind"], "t": event["basisT"], **told}) + b"\n")

    def _edn(self, event: Event) -> None:
        told: dict[Any, Any] = {
            values.Keyword("kind"): values.Keyword(event["kind"].lower()),
            values.Keyword("t"): int(event["basisT"]),
        }
        for name in _TOLD[event["kind"]]:
            shown = event[name]
            told[values.Keyword(name)] = tuple(map(decode, shown)) if isinstance(shown, list) else shown
        self._write(edn.write(values.EdnMap(told)).encode() + b"\n")

    def _csv(self, event: Event) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if event["columns"] is not None and not self._headed:
            self._headed = True
            writer.writerow(["t", "change", *(column["name"] for column in event["columns"])])
        for mark, row in _changes(event):
            cells = (encode(value, Encoding.PLAIN) for value in decode(row))
            written = (edn.write(cell) if isinstance(cell, list | dict) else cell for cell in cells)
            writer.writerow([event["basisT"], mark, *written])
        if event["kind"] == "RESET":
            writer.writerow([event["basisT"], "reset"])
        self._write(text.getvalue().encode())

    def _table(self, event: Event) -> None:
        if event["kind"] == "SNAPSHOT":
            self._rows += (decode(row) for row in event["rows"])
            if event["last"]:
                self._snapshot(event)
                self._rows = []
            return
        for mark, row in _changes(event):
            cells = [output.cell(value) for value in (mark, *decode(row))]
            columns = [tables.TextColumn("", tables.CellKind.TEXT, [text]) for text in cells]
            line = tables.side_by_side(columns, self.out.room, self.out.mark)
            shown = " ".join(cells) if line is None else line.lines[0]
            self.out.out(shown, style="green" if mark == "+" else "red", highlight=False)

    def _snapshot(self, event: Event) -> None:
        columns = event["columns"]
        count = len(self._rows)
        relation = output.ResultTable(
            names=[column["name"] for column in columns],
            types=[column["type"] for column in columns],
            rows=self._rows,
            value=None,
            summary=f"{count:,} {'row' if count == 1 else 'rows'} · t {event['basisT']}",
        )
        output.print_table(relation, self.out, self.show)

    def _write(self, text: bytes) -> None:
        with binary() as stream:
            stream.write(text)


_TOLD: Final = {"SNAPSHOT": ("rows", "last"), "DELTA": ("added", "retracted"), "RESET": ("reason",)}


def _changes(event: Event) -> list[tuple[str, Any]]:
    entered = event["rows"] or event["added"] or ()
    return [*(("-", row) for row in event["retracted"] or ()), *(("+", row) for row in entered)]
