"""What the commands ask of a backend, and what they make of the answers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from adalog.client.reasons import reason_text
from adalog.cluster.addresses import is_address
from adalog.datalog import edn, values
from adalog.datalog.errors import AdalogError, invalid_argument, quoted, unavailable
from adalog.gateway.cli.backend import Backend, LocalBackend
from adalog.gateway.cli.output.console import err, out
from adalog.gateway.cli.output.formats import ResultTable, ShownWarning, TableHints, working
from adalog.gateway.settings.config import Settings, names
from adalog.gateway.settings.location import shown_data
from adalog.gateway.settings.sources import SettingsRead, secret_names
from adalog.schema.writing.encoding import decode
from adalog.store.files.addresses import without_secrets
from adalog.store.files.folder import FolderInUseError
from adalog.store.values.attribute import TX_BASE

_WARNINGS = "warnings { code message line column }"
_ASKED = """$query: EDN!, $args: [JSON!], $argsEdn: [EDN!], $basis: BasisInput, $with: EDN, $engine: Engine,
  $timeoutMs: Int"""
_ASKING = """query: $query, args: $args, argsEdn: $argsEdn, basis: $basis, with: $with, engine: $engine,
    timeoutMs: $timeoutMs"""
_QUERY = f"""query ({_ASKED}, $whole: Boolean!, $as: Encoding!) {{
  q({_ASKING}, encoding: $as) {{
    columns {{ name type }}
    rows @skip(if: $whole)
    value @include(if: $whole)
    basisT
    stats {{ engine elapsedMs rows }}
    {_WARNINGS}
  }}
}}"""
_EXPLAIN = f"""query ({_ASKED}, $analyze: Boolean!) {{
  explain({_ASKING}, analyze: $analyze) {{ text plan {_WARNINGS} }}
}}"""
_WHY = """query (
  $query: EDN!, $row: [JSON]!, $args: [JSON!], $argsEdn: [EDN!], $basis: BasisInput, $with: EDN, $timeoutMs: Int
) {
  why(query: $query, row: $row, args: $args, argsEdn: $argsEdn, basis: $basis, with: $with, timeoutMs: $timeoutMs)
}"""
_PULL = """query (
  $pattern: EDN!, $eids: [EDN!]!, $basis: BasisInput, $with: EDN, $timeoutMs: Int, $as: Encoding!
) {
  pullMany(pattern: $pattern, eids: $eids, basis: $basis, with: $with, timeoutMs: $timeoutMs, encoding: $as)
}"""
_ATTRIBUTES = """{
  attributes {
    ident valueType cardinality unique isComponent doc datomCount noHistory retainDays retainTransactions
  }
}"""
_REPORT = f"""t
    basisBefore
    txInstant
    tempids
    datoms {{ e @include(if: $whole) a @include(if: $whole) v @include(if: $whole) t @include(if: $whole) added }}
    {_WARNINGS}"""
_TRANSACT = f"""mutation ($tx: EDN!, $expectedBasisT: Long, $idempotencyKey: String, $whole: Boolean!) {{
  report: transact(tx: $tx, expectedBasisT: $expectedBasisT, idempotencyKey: $idempotencyKey) {{
    {_REPORT}
  }}
}}"""
_REVERT = f"""mutation ($revert: Long!, $whole: Boolean!) {{ report: revert(t: $revert) {{
    {_REPORT}
  }}
}}"""
_DRY_REVERT = f"""query ($revert: Long!, $whole: Boolean!) {{ report: dryRun(revert: $revert) {{
    {_REPORT}
  }}
}}"""

_HINTS = TableHints()
_ATTRIBUTE_COLUMNS = {
    "ident": "keyword",
    "type": "keyword",
    "cardinality": "keyword",
    "unique": "keyword",
    "component": "boolean",
    "count": "long",
    "past": "string",
    "doc": "string",
}


def settings_relation(read: SettingsRead) -> ResultTable:
    """Each setting with its value, and where that came from."""
    settings, secret = read.settings, secret_names()
    rows: list[tuple[Any, ...]] = []
    for name in sorted(names()):
        value = getattr(settings, name)
        shown = None if value is None else "**********" if name in secret and str(value) else value
        # It is a secret in part.
        shown = shown_data(str(shown)) if name == "data" else shown
        is_plain = isinstance(shown, int | float | None)
        rows.append((name, shown if is_plain else without_secrets(str(shown)), read.origins.get(name, "default")))
    value = [dict(zip(("name", "value", "from"), row, strict=True)) for row in rows]
    return ResultTable(
        ("name", "value", "from"), ("string", "string", "string"), rows, value, f"{len(rows)} settings"
    )


def run_query(backend: Backend, variables: Mapping[str, Any], form: str) -> ResultTable:
    """The answer to a query: its rows, or for `json` and `edn` its value in the find spec's shape."""
    whole, encoding = form in ("json", "edn"), "PLAIN" if form == "json" else "TAGGED"
    answer = backend.execute(_QUERY, {**variables, "whole": whole, "as": encoding})["data"]["q"]
    count, stats = answer["stats"]["rows"], answer["stats"]
    rows = "row" if count == 1 else "rows"
    summary = f"{count:,} {rows} · t {answer['basisT']} · {stats['elapsedMs']:,.1f} ms · {stats['engine']}"
    return ResultTable(
        names=[column["name"] for column in answer["columns"]],
        types=[column["type"] for column in answer["columns"]],
        rows=[decode(row) for row in answer.get("rows", ())],
        value=answer.get("value") if form == "json" else decode(answer.get("value")),
        summary=summary,
        warnings=warned(answer["warnings"]),
    )


def run_write(backend: Backend, variables: Mapping[str, Any], folder: str) -> tuple[str, list[ShownWarning]]:
    """Writes the answer's rows as Parquet; what is said of it as JSON, and what is suspicious about the query."""
    if not folder or is_address(folder):
        raise invalid_argument(f"--output names a folder, and {quoted(folder)} is none")
    from adalog.gateway.cli.output.parquet import write_parquet

    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise invalid_argument(f"{folder} is not empty; --output wants a folder for itself")
        if isinstance(backend, LocalBackend):
            rows, files, found = backend.write(variables, str(path.absolute()))
            warnings = [ShownWarning(each.code, each.message, each.line, each.column) for each in found]
        else:
            relation = run_query(backend, variables, "table")
            rows, warnings = len(relation.rows), list(relation.warnings)
            files = write_parquet(relation, str(path.absolute()))
    except OSError as error:
        raise unavailable(f"{folder} cannot be written: {error.strerror}", retryable=False) from None
    return orjson.dumps({"rows": rows, "files": files}).decode(), warnings


def warned(warnings: Iterable[Mapping[str, Any]] | None) -> list[ShownWarning]:
    """Warnings as they are printed."""
    return [ShownWarning(each["code"], each["message"], each["line"], each["column"]) for each in warnings or ()]


def run_explain(backend: Backend, variables: Mapping[str, Any], form: str) -> tuple[str, list[ShownWarning]]:
    """The plan for people, or as JSON; what is suspicious about the query."""
    answer = backend.execute(_EXPLAIN, variables)["data"]["explain"]
    text: str = answer["text"] if form == "text" else _indented(answer["plan"])
    return text, warned(answer["warnings"])


def run_why(backend: Backend, variables: Mapping[str, Any], row: str, form: str) -> tuple[bool, str]:
    """(whether a row is in the answer of a query; why, for people or as JSON). row: an EDN vector."""
    try:
        cells = edn.read(row)
    except AdalogError as error:
        raise error.of_text("row") from None
    if type(cells) is not tuple:
        raise invalid_argument(f'a row is a vector of its values, as in ["Ada" 1815], not {quoted(row)}')
    given = {**variables, "row": [{"#edn": edn.write(cell)} for cell in cells]}
    reason = backend.execute(_WHY, given)["data"]["why"]
    return reason["holds"], reason_text(reason) if form == "text" else _indented(reason)


def run_pull(backend: Backend, variables: Mapping[str, Any], form: str) -> tuple[list[Any], list[ShownWarning]]:
    """What there is of each entity, EDN values, or for `json` plain JSON, None for nothing; and what is suspicious
    about the pull."""
    encoding = "PLAIN" if form == "json" else "TAGGED"
    answer = backend.execute(_PULL, {**variables, "as": encoding})
    found: list[Any] = answer["data"]["pullMany"]
    warnings = warned(answer.get("extensions", {}).get("warnings"))
    return found if form == "json" else [decode(each) for each in found], warnings


def run_attributes(
    backend: Backend, prefix: str, form: str, *, own: bool, hints: TableHints = _HINTS
) -> ResultTable:
    """The attributes whose ident begins with `prefix`. `own`: also those that adalog itself declares, unless the
    prefix asks for them."""
    prefix = prefix.removeprefix(":")
    found = [
        attribute
        for attribute in backend.execute(_ATTRIBUTES, {})["data"]["attributes"]
        if attribute["ident"].startswith(":" + prefix)
    ]
    shown = [each for each in found if own or prefix.startswith("db") or not _is_own(each["ident"])]
    hidden = len(found) - len(shown)
    rows = [_attribute_row(attribute) for attribute in shown]
    value: Any
    if form == "json":
        value = [{name: _plain(item) for name, item in zip(_ATTRIBUTE_COLUMNS, row, strict=True)} for row in rows]
    else:
        keys = [values.Keyword(name) for name in _ATTRIBUTE_COLUMNS]
        value = tuple(values.EdnMap(zip(keys, row, strict=True)) for row in rows)
    if form in ("table", "expanded"):
        # Most attributes are not unique and no components: what says nothing stays blank.
        rows = [["" if item is None or item is False else item for item in row] for row in rows]
    return ResultTable(
        names=list(_ATTRIBUTE_COLUMNS),
        types=list(_ATTRIBUTE_COLUMNS.values()),
        rows=rows,
        value=value,
        summary="1 attribute" if len(rows) == 1 else f"{len(rows):,} attributes",
        notes=[f"{hidden} of adalog's own, :db/…, are not listed; {hints.attributes}"] if hidden else [],
        hints=hints,
    )


def _is_own(ident: str) -> bool:
    return ident.startswith((":db/", ":db."))


def _attribute_row(attribute: Mapping[str, Any]) -> list[Any]:
    named = (attribute["valueType"], attribute["cardinality"], attribute["unique"])
    return [
        decode({"#kw": attribute["ident"]}),
        *(None if name is None else values.Keyword(name) for name in named),
        attribute["isComponent"],
        int(attribute["datomCount"]),
        _past(attribute),
        attribute["doc"],
    ]


def _past(attribute: Mapping[str, Any]) -> str | None:
    """How long retracted values stay; None if nothing limits it."""
    if attribute["noHistory"]:
        return "none"
    for unit, field in (("day", "retainDays"), ("transaction", "retainTransactions")):
        if attribute[field] is not None:
            number = int(attribute[field])
            return f"{number:,} {unit}" if number == 1 else f"{number:,} {unit}s"
    return None


def _plain(value: Any) -> Any:
    return edn.write(value) if isinstance(value, values.Keyword) else value


def run_transact(backend: Backend, variables: Mapping[str, Any], form: str) -> tuple[str, list[ShownWarning]]:
    """Applies a transaction; what to say about it, and what is suspicious about it."""
    return _reported(backend, _TRANSACT, variables, form)


def run_revert(backend: Backend, t: int, form: str, *, dry_run: bool) -> tuple[str, list[ShownWarning]]:
    """The same of undoing transaction t. dry_run: nothing is applied, and the text says what would come and go."""
    document = _DRY_REVERT if dry_run else _REVERT
    if not dry_run or form == "json":
        return _reported(backend, document, {"revert": t}, form)
    report = backend.execute(document, {"revert": t, "whole": True})["data"]["report"]
    own = TX_BASE + report["t"]
    lines = [
        f"{'+' if datom['added'] else '-'} {datom['e']} {datom['a']} {orjson.dumps(datom['v']).decode()}"
        for datom in report["datoms"]
        if datom["e"] != own
    ]
    return "\n".join(lines), warned(report["warnings"])


def _reported(
    backend: Backend, document: str, variables: Mapping[str, Any], form: str
) -> tuple[str, list[ShownWarning]]:
    report = backend.execute(document, {**variables, "whole": form == "json"})["data"]["report"]
    if form == "json":
        return _indented(report), warned(report["warnings"])
    added = sum(datom["added"] for datom in report["datoms"])
    retracted = len(report["datoms"]) - added
    lines = [f"t {report['t']} · {report['txInstant']} · {added:,} added, {retracted:,} retracted"]
    lines += [f"  {name} → {entity}" for name, entity in report["tempids"].items()]
    return "\n".join(lines), warned(report["warnings"])


def _indented(value: Mapping[str, Any] | Sequence[Any]) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def run_retain(settings: Settings) -> None:
    """Removes the retracted values that are past their limits, and prints how many, once no file has them."""
    from adalog.gateway.opening import open_database
    from adalog.store.snapshot.past_limits import limits_of

    began = time.monotonic()
    try:
        with working("folding history away", err), open_database(settings) as database:
            limited = bool(limits_of(database.snapshot()))
            done = database.retain()
    except FolderInUseError as error:
        advice = "; a server folds history away by itself, and this command needs the folder for itself"
        raise FolderInUseError(error.path, advice) from None
    if not limited and not done.steps:
        err.tell("adalog: nothing limits the past; write [{:db/ident :db/retention :db/retainDays 30}] to do so")
    seconds = round(time.monotonic() - began, 2)
    out.json({"datoms": done.datoms, "steps": done.steps, "t": done.t, "seconds": seconds})


def load_sample(settings: Settings, *, if_empty: bool) -> None:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from adalog.examples.debian.load import load
    from adalog.gateway.opening import open_database

    with open_database(settings) as database:
        if database.snapshot().t > 0 and if_empty:
            out.tell(f"{shown_data(settings.data)} holds data already; nothing loaded")
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=err, transient=True) as bar:
            task = bar.add_task("loading the sample data", total=None)

            def progress(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total)

            load(database, progress)
        out.tell(
            f"{database.snapshot().datom_count:,} datoms of Debian's package graph in {shown_data(settings.data)}"
        )
