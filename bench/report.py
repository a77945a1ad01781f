"""The table: on the terminal, as Markdown and JSON in bench/results, and as a plot. Losses as plain as wins."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from bench.arena import LIMIT_SECONDS
from bench.line import Line
from bench.work import THREADS

RESULTS: Final = Path(__file__).with_name("results")

_HEAD: Final = ("work", "adalog", "against", "theirs", "ratio", "bar", "verdict", "note")
_COLOURS: Final = {"met": "", "missed": "red bold", "report": "dim", "unmeasured": "yellow"}
_PEERS: Final = (
    "duckdb", "ladybug", "pyoxigraph", "cozo-embedded", "nemo-python", "scipy", "networkx", "strawberry-graphql",
    "uvicorn", "numba",
)  # fmt: skip


def show(lines: Sequence[Line], out: Console) -> None:
    """The table for a terminal, and the sum of it."""
    table = Table(*_HEAD)
    for line in lines:
        table.add_row(line.work, *_cells(line)[1:], style=_COLOURS[line.verdict])
    out.print(table)
    out.print(_summary(lines))


def write(lines: Sequence[Line], folder: Path) -> None:
    """results.md, results.json and results.svg in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    machine = describe_machine()
    rows = ["| " + " | ".join(_HEAD) + " |", "| " + " | ".join("---" for _ in _HEAD) + " |"]
    rows += ["| " + " | ".join(_bold(cell) for cell in _cells(line)) + " |" for line in lines]
    text = "\n".join(
        (
            "# Benchmarks",
            "",
            f"Written by `make bench` at {machine['commit']}, {machine['when']}.",
            f"{machine['cpu']}, {machine['cores']} cores, {machine['memory']}, {machine['system']},",
            f"Python {machine['python']}, {machine['versions']}.",
            "",
            f"{THREADS} threads each, medians; the machine's load at the end was {machine['load']}. Every answer",
            f"was compared with the others'. A peer stopped at {LIMIT_SECONDS:.0f} s counts as that, so that the",
            "true ratio is smaller. Where adalog has no figure, its bar is missed.",
            "",
            _summary(lines),
            "",
            *rows,
            "",
            "![ratios](results.svg)",
            "",
        )
    )
    (folder / "results.md").write_text(text, encoding="utf-8")
    figures = [asdict(line) | {"ratio": line.ratio, "verdict": line.verdict} for line in lines]
    (folder / "results.json").write_text(json.dumps({"machine": machine, "lines": figures}, indent=1) + "\n")
    plot(lines, folder / "results.svg")


def plot(lines: Sequence[Line], path: Path) -> None:
    """How much of its bar each figure takes up, on a logarithmic axis: left of the line is met."""
    barred = [(line, _share(line)) for line in lines if line.bar is not None]
    shown = [(line, share) for line, share in reversed(barred) if share is not None]
    if not shown:
        return
    figure = Figure(figsize=(10, 1 + 0.28 * len(shown)), layout="constrained")
    axes = figure.subplots()
    axes.barh(
        [f"{line.work} / {line.against}" if line.against else line.work for line, _ in shown],
        [share for _, share in shown],
        color=["tab:green" if line.verdict == "met" else "tab:red" for line, _ in shown],
    )
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlabel("share of what the bar allows (1: just met)")
    axes.tick_params(axis="y", labelsize=8)
    axes.margins(y=0.01)
    with mpl.rc_context({"svg.hashsalt": "adalog"}):
        figure.savefig(path, format="svg", metadata={"Date": None})


def describe_machine() -> dict[str, str]:
    """What the figures were measured on."""
    return {
        "load": f"{os.getloadavg()[0]:.1f}",
        "when": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": _commit(),
        "cpu": _first("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": _memory(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "versions": ", ".join(f"{name} {_version(name)}" for name in _PEERS),
    }


def _share(line: Line) -> float | None:
    measured = line.ratio if line.against else line.ours
    if measured is None or not line.bar or not measured:
        return None
    return line.bar / measured if line.more else measured / line.bar


def _cells(line: Line) -> tuple[str, ...]:
    bar = "" if line.bar is None else f"{'≥' if line.more else '≤'} {line.bar:g}{' ×' if line.against else ''}"
    return (
        line.title,
        _figure(line.ours, line.unit),
        line.against,
        _figure(line.theirs, line.unit) if line.against else "",
        "" if line.ratio is None else f"{line.ratio:.3g} ×",
        bar,
        line.verdict,
        line.note,
    )


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "—"
    if unit == "s" and value < 1:
        return f"{value * 1000:.3g} ms"
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def _bold(cell: str) -> str:
    return f"**{cell}**" if cell == "missed" else cell


def _summary(lines: Sequence[Line]) -> str:
    met = sum(line.verdict == "met" for line in lines)
    missed = sum(line.verdict == "missed" for line in lines)
    unmeasured = sum(line.verdict == "unmeasured" for line in lines)
    return f"{met} bars met, {missed} missed, {unmeasured} unmeasured."


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _memory() -> str:
    total = _first("/proc/meminfo", "MemTotal")
    return f"{int(total.split()[0]) / (1 << 20):.0f} GiB" if total else "memory unknown"


def _first(path: str, key: str) -> str:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), "")
