"""An import from its mapping to its transaction: what is done by whom, in which order.

Reading chunks, then what they come to in the database as it is (`deciding`), and where others wrote meanwhile, what
that changes of it (`fitting`). What is here knows counts and names of files, never rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adalog.datalog import edn
from adalog.datalog.errors import AdalogError, Code
from adalog.pipeline.importing.decide.decision import Decider, Decision, ReadRows
from adalog.pipeline.importing.read.chunks import SourceJob
from adalog.pipeline.importing.read.datom_intake import DatomIntake
from adalog.pipeline.importing.read.edn_columns import LIMITS
from adalog.pipeline.importing.read.intake import ImportBasis, Intake
from adalog.pipeline.importing.read.mapping import ImportPlan
from adalog.pipeline.importing.read.row_intake import RowIntake, check_alone
from adalog.pipeline.importing.read.runner import ImportRunner
from adalog.pipeline.importing.write.fitting import fitted
from adalog.store.database import Database
from adalog.store.files.disk_errors import disk_told
from adalog.store.writer.exclusive import HOLD_SECONDS, ExclusiveWriter


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What an import did. t: its transaction; of one that changed nothing, or was not to, the newest one."""

    t: int
    rows: int
    entities: int
    datoms: int
    rejected: int
    seconds: float
    accepted: bool

    def told(self) -> dict[str, Any]:
        """What is said of it at its end."""
        return {name: getattr(self, name) for name in ("t", "rows", "entities", "datoms", "rejected", "seconds")}


def load(
    database: Database,
    runner: ImportRunner,
    plan: ImportPlan,
    *,
    max_errors: int = 0,
    quarantine: Path | None = None,
    dry_run: bool = False,
    hold_seconds: float = HOLD_SECONDS,
    key: str | None = None,
    leeway: int = 0,
) -> ImportOutcome:
    """Runs an import, while others may write: if they did, what depends on that is done again while their
    transactions wait, for `hold_seconds` at most. `key`: of its transaction; if it was used, nothing is done.
    `leeway`: about as many ids as others' new entities may need meanwhile.

    Raises ARG_INVALID for a mapping that does not fit the files or the schema, BASIS_CONFLICT where what the schema
    says of it was changed meanwhile, TIMEOUT where transactions would have to wait for longer. Where more rows are
    rejected than `max_errors` nothing is imported; nor where the disk takes no more, BACKEND_UNAVAILABLE.
    """
    began = time.monotonic()
    check_alone(plan)
    done = None if key is None else database.transaction_of(key)
    if done is not None:
        return ImportOutcome(done, 0, 0, 0, 0, round(time.monotonic() - began, 3), accepted=True)
    with disk_told(), database.unfinished() as folder:
        loading = _Import(database, runner, plan, folder.resolve(), dry_run, key, leeway=leeway)
        return loading.run(max_errors, quarantine, began, hold_seconds)


class _Import:
    def __init__(
        self,
        database: Database,
        runner: ImportRunner,
        plan: ImportPlan,
        folder: Path,
        dry: bool,
        key: str | None,
        *,
        leeway: int,
    ) -> None:
        self._database = database
        self._runner = runner
        self._plan = plan
        self._folder = str(folder)
        self._dry = dry
        self._key = key
        self._jobs: list[SourceJob] = []
        self._intake: Intake = RowIntake(database, runner, plan)
        if plan.datoms:
            self._intake = DatomIntake(database, runner, plan.datoms)
        self._deciding = Decider(runner, self._intake, self._folder, dry, database.fold_bytes, leeway)

    def run(self, max_errors: int, quarantine: Path | None, began: float, hold_seconds: float) -> ImportOutcome:
        self._intake.look()
        found = self._found()
        read = self._read(found)
        decision = self._deciding.decided(found, read, self._jobs, max_errors)
        t = None
        if isinstance(decision, Decision) and decision.datoms and not self._dry:
            try:
                t = self._database.adopt(decision.adoption(), idempotency_key=self._key).t
            except AdalogError as error:
                if error.code is not Code.BASIS_CONFLICT:
                    raise
                decision, t = self._decided_alone(decision, read, max_errors, hold_seconds)
            self._database.compact()
        left = decision.read if isinstance(decision, Decision) else decision
        if left.count and quarantine is not None:
            quarantine.mkdir(parents=True, exist_ok=True)
            self._intake.quarantine(found, left.chunks, left.rejected, quarantine)
        rows, seconds = sum(chunk.rows for chunk in read.chunks), round(time.monotonic() - began, 3)
        t = self._database.snapshot().t if t is None else t
        entities, datoms = (decision.entities, decision.datoms) if isinstance(decision, Decision) else (0, 0)
        return ImportOutcome(t, rows, entities, datoms, left.count, seconds, left.count <= max_errors)

    def _decided_alone(
        self, before: Decision, read: ReadRows, max_errors: int, seconds: float
    ) -> tuple[Decision | ReadRows, int | None]:
        """What comes of the rows in the newest state, which nobody changes meanwhile; and the transaction.

        What was decided before is made to fit, where what was written since leaves it as it is. Otherwise it is
        decided anew, and rows that were rejected are looked at again: what was wrong with them may be right now.
        """
        with self._database.held(seconds) as hold:
            found = self._found(hold)
            if not found.is_read_like(before.found):
                raise AdalogError(
                    Code.BASIS_CONFLICT,
                    "attributes that the mapping names were changed while the import ran, and nothing was "
                    "imported; try again",
                )
            decision = fitted(before, found, self._deciding, anew=before.read.count > read.count)
            made = decision or self._deciding.decided(found, read, self._jobs, max_errors)
            t = None
            if isinstance(made, Decision) and made.datoms:
                t = self._database.adopt(made.adoption(), hold, idempotency_key=self._key).t
        return made, t

    def _found(self, hold: ExclusiveWriter | None = None) -> ImportBasis:
        return self._intake.found(_schema_forms(self._plan), hold)

    def _read(self, found: ImportBasis) -> ReadRows:
        """The rows of all sources as chunks, which are the same in any state of the database."""
        self._jobs = self._intake.jobs(found, self._folder, self._deciding.shipped(found))
        chunks = self._intake.chunks(found, self._jobs)
        chunks.sort(key=lambda chunk: chunk.order)
        rejected = [[chunk.rejects_path] if chunk.rejected else [] for chunk in chunks]
        return ReadRows(chunks, rejected, sum(chunk.rejected for chunk in chunks))


def _schema_forms(plan: ImportPlan) -> list[Any]:
    text = plan.schema_text()
    if text is None:
        return []
    try:
        forms = edn.read(text, LIMITS if plan.sent is None else edn.DEFAULT)
    except AdalogError as error:
        raise AdalogError(error.code, f"in {plan.schema}: {error.message}", error.position) from None
    if type(forms) is not tuple:
        raise AdalogError(
            Code.ARG_INVALID, f"{plan.schema} does not hold transaction data, which is a vector of forms"
        )
    return list(forms)
