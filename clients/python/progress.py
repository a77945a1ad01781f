"""How far an import or export is: a bar in a notebook, a line on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from time import monotonic
from typing import Any, Final, TextIO

Show = Callable[[str, int, int, int], None]
"""Is told the stage of a job, how many of its tasks are done, of how many (0: not known), and how many rows are
read."""

_WIDTH: Final = 24
_CLEAR: Final = "\r\x1b[K"


class StageProgress:
    """As of `cluster.tasks.JobProgress`. check: raises where the job is to end."""

    def __init__(self, show: Show, check: Callable[[], None] = lambda: None) -> None:
        self._show = show
        self._check = check
        self._stage = ""

    def stage(self, name: str) -> None:
        self._check()
        self._stage = name
        self._show(name, 0, 0, 0)

    def tasks(self, done: int, total: int, rows: int) -> None:
        self._check()
        self._show(self._stage, done, total, rows)

    def waits(self, running: str, ahead: int, seconds: float) -> None:
        """A server does other jobs first."""
        more = f", and {ahead - 1} more" if ahead > 1 else ""
        self._show(f"waiting for {running}, which has run for {seconds:,.0f} s{more}", 0, 0, 0)


@contextmanager
def told(progress: bool | Show) -> Iterator[Show]:
    """What shows the progress of a job while the block runs. progress: whether it is shown, or what shows it."""
    if callable(progress):
        yield progress
        return
    bar = _bar() if progress else None
    if bar is None:
        yield lambda *_: None
        return
    try:
        yield bar.show
    finally:
        bar.end()


def _bar() -> TerminalBar | NotebookBar | None:
    # A notebook has imported it.
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is not None:
        return NotebookBar(ipython.display)
    return TerminalBar(sys.stderr) if sys.stderr is not None and sys.stderr.isatty() else None


class _Pace:
    """Rows a second of a stage."""

    def __init__(self) -> None:
        self._stage: str | None = None
        self._began = 0.0

    def text(self, stage: str, rows: int) -> str:
        if stage != self._stage:
            self._stage, self._began = stage, monotonic()
        seconds = max(monotonic() - self._began, 0.001)
        return f"{rows / seconds:,.0f} rows/s" if rows else ""


class TerminalBar:
    """One line, written anew each time."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._pace = _Pace()

    def show(self, stage: str, done: int, total: int, rows: int) -> None:
        full = _WIDTH * done // total if total else 0
        bar = f" {'━' * full}{'─' * (_WIDTH - full)} {done:,}/{total:,}" if total else ""
        self._write(f"{_CLEAR}{stage}{bar} {self._pace.text(stage, rows)}".rstrip())

    def end(self) -> None:
        self._write(_CLEAR)

    def _write(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()


class NotebookBar:
    """An output of the cell, which goes at the end. display: IPython's module."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._shown: Any = None
        self._pace = _Pace()

    def show(self, stage: str, done: int, total: int, rows: int) -> None:
        part = f' value="{done}" max="{total}"' if total else ""
        count = f"{done:,}/{total:,}" if total else ""
        label = " ".join(filter(None, (escape(stage), count, self._pace.text(stage, rows))))
        self._update(f"<progress{part}></progress> {label}")

    def end(self) -> None:
        if self._shown is not None:
            self._update("")

    def _update(self, html: str) -> None:
        shown = self._display.HTML(html)
        if self._shown is None:
            self._shown = self._display.display(shown, display_id=True)
        else:
            self._shown.update(shown)
