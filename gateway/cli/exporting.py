"""`adalog export`: a view of a folder's database, a Spark session if it is large, and what is said of it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from datetime import datetime

from adalog.cluster.tasks import InProcessTasks, SparkTasks, TaskRunner
from adalog.datalog.diagnostics import Suspicion
from adalog.datalog.errors import AdalogError, Code
from adalog.gateway.cli.output.console import err, out
from adalog.gateway.cli.output.formats import ShownWarning, print_warnings
from adalog.gateway.cli.output.stages import progress_bar
from adalog.gateway.opening import started_session
from adalog.gateway.settings.config import Settings
from adalog.pipeline.exporting.export import export, is_small
from adalog.pipeline.exporting.target import check_target
from adalog.planner.scope.forgotten_past import ForgottenPast
from adalog.schema.arguments.basis import read_moment
from adalog.schema.arguments.moments import out_of_range
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.snapshot.transaction_ids import check_moment
from adalog.store.sources import read_folder

_SPARK_SECONDS = 240.0


def run_export(settings: Settings, to: str, *, as_of: str | None, form: str, history: bool) -> None:
    """Exports, and prints what was written. Raises AdalogError as `export` does."""
    moment = None if as_of is None else read_moment(as_of, "--as-of")
    check_target(to)
    # Without the folder's lock: its owner is not disturbed.
    newest = read_folder(settings.data)
    view = _view(newest, moment)
    view = view.history() if history else view
    told = [(each.code, each.message) for each in out_of_range(newest, "--as-of", moment)]
    past = ForgottenPast.of(view)
    if past is not None and (message := past.warning(None)) is not None:
        told.append((Suspicion.PAST_FORGOTTEN, message))
    print_warnings([ShownWarning(code, message, None, None) for code, message in told], err)
    with ExitStack() as opened:
        session = None if is_small(view) else opened.enter_context(started_session(settings))
        shown = opened.enter_context(progress_bar())
        runner: TaskRunner = InProcessTasks(shown)
        if session is not None:
            shown.stage("starting Spark")
            session.wait(_SPARK_SECONDS)
            runner = SparkTasks(session.live(), shown)
        outcome = export(view, runner, to, form)
    out.json(asdict(outcome))


def _view(newest: Snapshot, moment: int | datetime | None) -> Snapshot:
    if moment is None:
        return newest
    t = newest.as_of_instant(moment) if isinstance(moment, datetime) else moment
    check_moment("--as-of", t)
    if t > newest.t:
        raise AdalogError(Code.BASIS_FUTURE, f"t = {t} is not reached yet: the newest transaction is {newest.t}")
    return newest.as_of(t)
