"""`python -m bench [NAME]… [--quick]`: runs the benchmarks, prints the table, keeps it in bench/results."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import click
from rich.console import Console

from bench import (
    attacks,
    attributes,
    backup,
    batch,
    bystanders,
    cache,
    cost,
    first,
    forgetting,
    gateways,
    http,
    joins,
    light,
    live,
    lsqb,
    packages,
    permissions,
    pulls,
    python,
    reach,
    recursion,
    report,
    retention,
    scale,
    soak,
    storage,
    ticks,
    ties,
    typed,
    workers,
)
from bench.arena import compete
from bench.folder import WORK
from bench.line import Line, lines_of
from bench.work import Work

Say = Callable[[str], None]

# Of what is written to a file.
_WIDTH: Final = 140

# What each name measures that is not a join.
_OTHERS: Final[dict[str, Callable[[bool, Say], list[Line]]]] = {
    "http": http.queries,
    "light": light.requests,
    "transactions": http.transactions,
    "workers": workers.queries,
    "gateways": gateways.gateways,
    "transaction": cost.transaction,
    "memory": cost.memory,
    "attributes": attributes.attributes,
    "startup": cost.startup,
    "first": first.queries,
    "python": python.library,
    "needs": reach.needs,
    "broken": reach.broken,
    "pull": pulls.in_process,
    "pull-http": pulls.over_http,
    "batch": batch.large,
    "cache": cache.pages,
    "cache-hit-rate": cache.hit_rate,
    "cache-stopped": cache.stopped,
    "ties": ties.ties,
    "beside": bystanders.beside,
    "attacks": attacks.attacks,
    "soak": soak.soak,
    "storage": storage.storage,
    "scale": scale.scale,
    "backup": backup.backup,
    "forgetting": forgetting.forgetting,
    "retention": retention.retention,
    "live": live.live,
    "ticks": ticks.ticks,
    "permissions": permissions.permissions,
    "typed": typed.pages,
    "typed-live": typed.live,
}

# Too long to be among all of them.
_ASKED_FOR: Final = frozenset({"attacks", "scale", "soak"})


@click.command()
@click.argument("names", nargs=-1)
@click.option("--quick", is_flag=True, help="Small data, to see that everything runs; the figures mean little.")
@click.option("--without", multiple=True, help="Leave this contestant out; may be given several times.")
@click.option("--list", "listed", is_flag=True, help="Say which benchmarks there are.")
def main(names: tuple[str, ...], quick: bool, without: tuple[str, ...], listed: bool) -> None:
    """Runs the benchmarks that NAMES match (patterns such as 'paths-*'), or all."""
    out = Console()
    if not out.is_terminal:
        out = Console(width=_WIDTH)
    every = (*joins.work(quick), *packages.work(), *recursion.work(quick), *lsqb.work(quick))
    works = [_without(work, without) for work in every if _chosen(work.name, names)]
    others = [name for name in _OTHERS if _chosen(name, names) and (names or listed or name not in _ASKED_FOR)]
    if listed:
        for name in (*(work.name for work in works), *others):
            out.print(name)
        return
    if not works and not others:
        raise click.UsageError(f"no benchmark matches {' '.join(names)}; --list shows their names")
    lines = lines_of(compete(works, _plain(out)))
    for name in others:
        out.print(name)
        lines += _run(name, quick, _plain(out))
    report.show(lines, out)
    whole = not (names or quick or without)
    folder = report.RESULTS if whole else WORK / "results"
    report.write(lines, folder)
    out.print(f"written to {folder}")


def _run(name: str, quick: bool, say: Say) -> list[Line]:
    """A benchmark that cannot be run is a missed bar, not the end of the others."""
    try:
        return _OTHERS[name](quick, say)
    except (RuntimeError, AssertionError, OSError) as failure:
        say(f"    {failure}")
        return [Line(name, name, "", None, "", None, bar=0.0, note=str(failure)[:200])]


def _plain(out: Console) -> Say:
    return lambda text: out.print(text, markup=False, highlight=False)


def _chosen(name: str, names: tuple[str, ...]) -> bool:
    return not names or any(fnmatch.fnmatch(name, pattern) for pattern in names)


def _without(work: Work, contestants: tuple[str, ...]) -> Work:
    return replace(work, texts={name: text for name, text in work.texts.items() if name not in contestants})


if __name__ == "__main__":
    main()
