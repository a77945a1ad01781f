"""An import from its mapping to its transaction.

Reads chunks, decides what they change in the database as it is (`decision`), and fits that to what others wrote
meanwhile (`fitting`). Knows counts and names of files, never rows.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adalog.datalog import edn
from adalog.datalog.errors import AdalogError, Code, invalid_argument
from adalog.pipeline.importing.decide.decision import Decider, Decision, ReadRows
from adalog.pipeline.importing.read.chunks import PRESENT, SourceJob
from adalog.pipeline.importing.read.datom_intake import DatomIntake
from adalog.pipeline.importing.read.edn_columns import LIMITS
from adalog.pipeline.importing.read.intake import ImportBasis, Intake
from adalog.pipeline.importing.read.mapping import ImportPlan
from adalog.pipeline.importing.read.row_intake import RowIntake, check_alone
from adalog.pipeline.importing.read.runner import ImportRunner
from adalog.pipeline.importing.write.fitting import fitted
from adalog.pipeline.importing.write.reports import reported
from adalog.store.database import Database
from adalog.store.files.disk_errors import disk_told
from adalog.store.writer.exclusive import HOLD_SECONDS, ExclusiveWriter


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What an import did. t: its transaction; if it changed nothing, the newest one. warnings: of what was probably
    not meant. report: of a dry run, by attribute; going: of a dry run, the entities that would go."""

    t: int
    rows: int
    entities: int
    datoms: int
    rejected: int
    seconds: float
    accepted: bool
    warnings: Sequence[str] = ()
    # Samples of the data have no place in a log.
    report: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    going: int = 0

    def told(self) -> dict[str, Any]:
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
    principal: str | None = None,
) -> ImportOutcome:
    """Runs an import while others may write; what depends on their writes is repeated while transactions wait, for
    `hold_seconds` at most. key: of its transaction; a used one does nothing. leeway: the number of ids for others'
    new entities meanwhile. principal: whose transaction it is. With more rejected rows than `max_errors` nothing
    is imported. Raises ARG_INVALID if the mapping does not fit the files or the schema, BASIS_CONFLICT if the
    schema changed meanwhile, TIMEOUT if transactions would wait for longer, BACKEND_UNAVAILABLE if the disk is
    full."""
    began = time.monotonic()
    check_alone(plan)
    done = None if key is None else database.transaction_of(key)
    if done is not None:
        return ImportOutcome(done, 0, 0, 0, 0, round(time.monotonic() - began, 3), accepted=True)
    with disk_told(), database.unfinished() as folder:
        rows = RowIntake(database, runner, plan.sources, folder, principal)
        intake = DatomIntake(database, runner, plan.datoms, folder, principal) if plan.datoms else rows
        decider = Decider(runner, intake, str(folder.resolve()), dry_run, database.compactor.fold_bytes, leeway)
        return _Import(database, plan, key, intake, decider).run(max_errors, quarantine, began, hold_seconds)


@dataclass
class _Import:
    database: Database
    plan: ImportPlan
    key: str | None
    intake: Intake[Any]
    decider: Decider
    jobs: Sequence[SourceJob] = ()

    def run(self, max_errors: int, quarantine: Path | None, began: float, hold_seconds: float) -> ImportOutcome:
        self.intake.look()
        found = self._found()
        # The rows of all sources, which do not depend on the state of the database.
        self.jobs = self.intake.jobs(found, self.decider.folder, self.decider.shipped(found))
        chunks = sorted(self.intake.chunks(self.jobs), key=lambda chunk: chunk.order)
        rejected = [[chunk.rejects_path] if chunk.rejected else [] for chunk in chunks]
        read = ReadRows(chunks, rejected, sum(chunk.rejected for chunk in chunks))
        self.intake.types = frozenset(ident for chunk in chunks for ident in chunk.types)
        if self.intake.types:
            found = self._found_again(found)
        self._check_tables(found, read, quarantine)
        decision = self.decider.decided(found, read, self.jobs, max_errors)
        t = None
        if isinstance(decision, Decision) and decision.datoms and not self.decider.dry:
            try:
                t = self.database.adopt(decision.adoption(), idempotency_key=self.key).t
            except AdalogError as error:
                if error.code is not Code.BASIS_CONFLICT:
                    raise
                decision, t = self._decided_alone(decision, read, max_errors, hold_seconds)
            self.database.compact()
        left = decision.read if isinstance(decision, Decision) else decision
        self._write_rejected(found, left, quarantine)
        rows, seconds = sum(chunk.rows for chunk in read.chunks), round(time.monotonic() - began, 3)
        t = self.database.snapshot().t if t is None else t
        entities, datoms = (decision.entities, decision.datoms) if isinstance(decision, Decision) else (0, 0)
        outcome = ImportOutcome(
            t, rows, entities, datoms, left.count, seconds, left.count <= max_errors, self.intake.warnings
        )
        if not self.decider.dry:
            return outcome
        going = decision.job.removed[1] if isinstance(decision, Decision) else 0
        return replace(
            outcome, report=reported(self.decider.runner, self.intake, found, decision, left), going=going
        )

    def _write_rejected(self, found: ImportBasis, read: ReadRows, quarantine: Path | None) -> None:
        if read.count and quarantine is not None:
            quarantine.mkdir(parents=True, exist_ok=True)
            self.intake.quarantine(found, read.chunks, read.rejected, quarantine)

    def _check_tables(self, found: ImportBasis, read: ReadRows, quarantine: Path | None) -> None:
        """Raises ARG_INVALID if rows of a whole table do not tell whose they are: their entities must not go."""
        for number, columns in enumerate(found.columns):
            present = [at for at, column in enumerate(columns) if column.removal == PRESENT]
            unknown = sum(
                chunk.rows - chunk.values[at] for chunk in read.chunks if chunk.order[0] == number for at in present
            )
            if unknown:
                self._write_rejected(found, read, quarantine)
                where = "" if quarantine is None else f"; {quarantine} has them, with reasons"
                raise invalid_argument(
                    f"source {self.plan.sources[number].name} has `sync`, and {unknown:,} of its rows do not name "
                    f"their entities, so it is not known which ones are missing. Nothing was imported{where}"
                )

    def _decided_alone(
        self, before: Decision, read: ReadRows, max_errors: int, seconds: float
    ) -> tuple[Decision | ReadRows, int | None]:
        """The decision in the newest state, while transactions wait; and the import's transaction. The decision
        from before is fitted if what was written since allows it. Otherwise all is decided again, and rejected rows
        get another chance."""
        with self.database.held(seconds) as hold:
            found = self._found_again(before.found, hold)
            decision = fitted(before, found, self.decider, anew=before.read.count > read.count)
            made = decision or self.decider.decided(found, read, self.jobs, max_errors)
            t = None
            if isinstance(made, Decision) and made.datoms:
                t = self.database.adopt(made.adoption(), hold, idempotency_key=self.key).t
        return made, t

    def _found_again(self, before: ImportBasis, hold: ExclusiveWriter | None = None) -> ImportBasis:
        found = self._found(hold)
        if found.reading != before.reading:
            raise AdalogError(
                Code.BASIS_CONFLICT,
                "attributes that the mapping names were changed while the import ran, and nothing was "
                "imported; try again",
            )
        return found

    def _found(self, hold: ExclusiveWriter | None = None) -> ImportBasis:
        return self.intake.found([*_schema_forms(self.plan), *self.intake.forms()], hold)


def _schema_forms(plan: ImportPlan) -> list[Any]:
    text = plan.schema_text()
    if text is None:
        return []
    try:
        forms = edn.read(text, LIMITS if plan.sent is None else edn.DEFAULT)
    except AdalogError as error:
        where = plan.schema or "the mapping's `schema`"
        raise AdalogError(error.code, f"in {where}: {error.message}", error.position) from None
    if type(forms) is not tuple:
        raise invalid_argument(f"{plan.schema} does not hold transaction data, which is a vector of forms")
    return list(forms)
