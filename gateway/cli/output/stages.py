"""How far a job is: a progress bar on a terminal, else a line a second, on standard error."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn

from adalog.gateway.cli.output.console import err
from adalog.store.backup.progress import BackupProgress

# Between lines where there is no terminal.
_LINE_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.2


@contextmanager
def progress_bar() -> Iterator[ProgressBar]:
    """What tells of a job while its block runs."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[pace]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        shown = ProgressBar(bar)
        ended = threading.Event()

        def tell() -> None:
            while not ended.wait(_LOOK_SECONDS):
                shown.tell_withheld()

        if bar.disable:
            threading.Thread(target=tell, name="adalog-progress", daemon=True).start()
        try:
            yield shown
        finally:
            ended.set()


class ProgressBar(BackupProgress):
    """Stages of a job as a progress bar: tasks done, rows a second, time left."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task: TaskID | None = None
        self._name = ""
        self._began = 0.0
        self._told = time.monotonic()
        self._withheld = ""
        self._telling = threading.Lock()

    def waits(self, running: str, ahead: int, seconds: float) -> None:
        """Other jobs run first: this one has run for so many seconds. Told where there is no bar, too, but once."""
        more = f", and {ahead - 1} more" if ahead > 1 else ""
        text = f"waiting for {running}, which has run for {seconds:,.0f} s{more}"
        if self._bar.disable and self._name != running:
            self._name = running
            err.tell(f"adalog: {text}")
        if not self._bar.disable:
            self.stage(text)

    def stage(self, name: str) -> None:
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._name, self._began = name, time.monotonic()
        self._task = self._bar.add_task(name, total=None, pace="")
        self._tell(name)

    def tasks(self, done: int, total: int, rows: int) -> None:
        """So many of the stage's tasks are done; while files are read, about so many rows."""
        if self._task is None or not total:
            return
        seconds = max(time.monotonic() - self._began, 0.001)
        pace = f"{rows / seconds:,.0f} rows/s" if rows else ""
        self._bar.update(self._task, completed=done, total=total, pace=pace)
        self._tell(f"{self._name}: {done:,} of {total:,}{', ' if pace else ''}{pace}")

    def _tell(self, line: str) -> None:
        if self._bar.disable:
            with self._telling:
                self._withheld = line
            self.tell_withheld()

    def tell_withheld(self) -> None:
        """Tells the last line, if it was too early before: what it says may take long."""
        with self._telling:
            if self._withheld and time.monotonic() - self._told >= _LINE_SECONDS:
                self._told = time.monotonic()
                err.tell(self._withheld)
                self._withheld = ""

    def bytes(self, done: int, total: int) -> None:
        self.tasks(done, total, 0)
