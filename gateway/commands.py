"""What the commands ask of a backend, and what they make of the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from gateway.backend import Backend
from gateway.config import Settings
from gateway.output import Relation
from schema.encoding import decode

_QUERY = """query (
  $query: EDN!, $args: [JSON!], $basis: BasisInput, $with: EDN, $whole: Boolean!, $as: Encoding!
) {
  q(query: $query, args: $args, basis: $basis, with: $with, encoding: $as) {
    columns { name type }
    rows @skip(if: $whole)
    value @include(if: $whole)
    basisT
    stats { engine elapsedMs rows }
  }
}"""
_EXPLAIN = """query ($query: EDN!, $args: [JSON!], $basis: BasisInput, $with: EDN, $analyze: Boolean!) {
  explain(query: $query, args: $args, basis: $basis, with: $with, analyze: $analyze) { text }
}"""
_TRANSACT = """mutation ($tx: EDN!) {
  transact(tx: $tx) { t txInstant tempids datoms { added } }
}"""


def run_query(backend: Backend, variables: Mapping[str, Any], form: str) -> Relation:
    """The answer to a query: its rows, or for `json` and `edn` its value in the find spec's shape."""
    whole, encoding = form in ("json", "edn"), "PLAIN" if form == "json" else "TAGGED"
    answer = backend.execute(_QUERY, {**variables, "whole": whole, "as": encoding})["q"]
    count, stats = answer["stats"]["rows"], answer["stats"]
    rows = "row" if count == 1 else "rows"
    summary = f"{count:,} {rows} · t {answer['basisT']} · {stats['elapsedMs']:,.1f} ms · {stats['engine']}"
    return Relation(
        names=[column["name"] for column in answer["columns"]],
        types=[column["type"] for column in answer["columns"]],
        rows=[decode(row) for row in answer.get("rows", ())],
        value=answer.get("value") if form == "json" else decode(answer.get("value")),
        summary=summary,
    )


def run_explain(backend: Backend, variables: Mapping[str, Any]) -> str:
    text: str = backend.execute(_EXPLAIN, variables)["explain"]["text"]
    return text


def run_transact(backend: Backend, text: str) -> str:
    """Applies a transaction; what to say about it."""
    report = backend.execute(_TRANSACT, {"tx": text})["transact"]
    added = sum(datom["added"] for datom in report["datoms"])
    retracted = len(report["datoms"]) - added
    lines = [f"t {report['t']} · {report['txInstant']} · {added:,} added, {retracted:,} retracted"]
    lines += [f"  {name} → {entity}" for name, entity in report["tempids"].items()]
    return "\n".join(lines)


def load_sample(settings: Settings, out: Console, err: Console, *, if_empty: bool) -> None:
    """Loads the Debian package graph into the settings' folder."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from examples.debian.load import load
    from gateway.opening import open_database

    with open_database(settings) as database:
        if database.snapshot().t > 0 and if_empty:
            out.print(f"{settings.data} holds data already; nothing loaded", markup=False, soft_wrap=True)
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=err, transient=True) as bar:
            task = bar.add_task("loading the sample data", total=None)

            def progress(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total)

            load(database, progress)
        out.print(
            f"{database.datom_count:,} datoms of Debian's package graph in {settings.data}",
            markup=False,
            soft_wrap=True,
        )
