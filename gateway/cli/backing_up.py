"""`adalog backup`, `restore` and `check`: what they do with a folder or ask a server for, and what they print."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from adalog.client.imports import job_outcome
from adalog.gateway.cli.backend import RemoteBackend
from adalog.gateway.cli.output.console import err, out
from adalog.gateway.cli.output.stages import progress_bar
from adalog.gateway.jobs.backups import told
from adalog.gateway.settings.config import Settings
from adalog.schema.arguments.basis import read_moment
from adalog.store.backup.catalogue import catalogue, check_owner
from adalog.store.backup.check import check_data
from adalog.store.backup.check_backups import check_backups
from adalog.store.backup.creation import take
from adalog.store.backup.findings import CheckReport, Finding
from adalog.store.backup.restoration import restore, restore_to_server
from adalog.store.backup.rewriting import outdated_backups, rewrite
from adalog.store.backup.search import TextSearch, search_backups, search_data
from adalog.store.files.folder import is_address
from adalog.store.files.place import place_of
from adalog.store.sources import source_of


def run_backup(settings: Settings, to: str, keep: int | None) -> None:
    """Backs up a folder, also one that is served, and prints what was taken."""
    began = time.monotonic()
    place = place_of(to)
    with source_of(settings.data, settings.segments_place) as source, progress_bar() as bar:
        taken = take(source, place, keep, bar)
    _print(told(taken, time.monotonic() - began))


def ask_for_backup(server: RemoteBackend, to: str, keep: int | None) -> None:
    """The same by a server, to a place of its own."""
    wish = {"to": to if "://" in to else str(Path(to).absolute()), "keep": keep}
    with progress_bar() as shown:
        done = job_outcome(server.job("backup", wish), shown)
    _print(done)


def _print(said: dict[str, object]) -> None:
    left_out = said.get("leftOut")
    if left_out is not None:
        err.tell(f"adalog: {left_out}; it is not in the backup, whose log will be replayed when it is restored")
    out.json(said)


def run_rewrite(settings: Settings, to: str) -> None:
    """Writes the backups of a place anew that hold what was excised, and prints which."""
    began = time.monotonic()
    with source_of(settings.data, settings.segments_place) as source, progress_bar() as bar:
        done = rewrite(source, place_of(to), bar)
    if done.without_checkpoint:
        numbers = ", ".join(map(str, done.without_checkpoint))
        err.tell(f"adalog: of backup {numbers} the log is replayed when it is restored: the segments had what went")
    seconds = round(time.monotonic() - began, 2)
    out.json({"rewritten": done.rewritten, "removedFiles": done.removed, "seconds": seconds})


def run_list(to: str, settings: Settings | None = None) -> bool:
    """Prints a line of JSON for each backup of a place, the oldest first; whether all can be read. settings: of the
    database, to say which excisions took something that a backup has."""
    place = place_of(to)
    found = catalogue(place)
    holds: Mapping[str, list[int]] = {}
    if settings is not None:
        with source_of(settings.data, settings.segments_place) as source:
            check_owner(place, source.log.identity)
            holds = outdated_backups(source, found)
    for backup in found.backups:
        said: dict[str, object] = {
            "backup": backup.number,
            "made": _instant(backup.made),
            "t": backup.t,
            "txInstant": _instant(backup.instant) if backup.t else None,
            "bytes": sum(backup.parts().values()),
        }
        if backup.name in holds:
            said["holds"] = holds[backup.name]
        out.json(said)
    for error in found.damaged.values():
        err.tell(f"adalog: {error.message}")
    return not found.damaged


def _instant(milliseconds: int) -> str:
    text = datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def run_restore(place: str, settings: Settings, moment: str | None, number: int | None) -> None:
    """Restores into the settings' folder or server, and prints what is in it."""
    began = time.monotonic()
    when = None if moment is None else read_moment(moment, "--t")
    backups = place_of(place)
    with progress_bar() as bars:
        if is_address(settings.data):
            segments = settings.segments_place
            restored = restore_to_server(
                backups, settings.data, moment=when, number=number, segments=segments, watching=bars
            )
        else:
            restored = restore(backups, Path(settings.data), moment=when, number=number, watching=bars)
    if restored.replayed is not None:
        err.tell(f"adalog: {restored.replayed}. It was made again from the log, and nothing is lost")
    seconds = round(time.monotonic() - began, 2)
    said = {"backup": restored.number, "t": restored.t, "datoms": restored.datoms, "seconds": seconds}
    out.json(said)


def run_search(settings: Settings, place: str | None, texts: Sequence[str]) -> bool:
    """Searches all of the settings' database, or of a place of backups, and prints where a text is; whether none is
    anywhere."""
    began = time.monotonic()

    def tell(where: str, number: int) -> None:
        # The text itself is not to be in a terminal's history or a file of logs.
        which = "the text" if len(texts) == 1 else f"text {number}"
        out.out(f"{where}: {which} is there", highlight=False)

    search = TextSearch(texts, tell)
    with progress_bar() as watching:
        if place is not None:
            search_backups(place_of(place), search, watching)
        else:
            search_data(settings.data, search, watching, segments=settings.segments_place)
    seconds = round(time.monotonic() - began, 2)
    out.json({"files": search.files, "bytes": search.bytes, "found": search.found, "seconds": seconds})
    return not search.found


def run_check(settings: Settings, place: str | None, *, deep: bool) -> bool:
    """Checks the settings' database, or a place of backups, and prints what is damaged; whether nothing is."""
    began = time.monotonic()

    def tell(finding: Finding) -> None:
        out.out(f"{finding.where}: {finding.what}\n  → {finding.remedy}", highlight=False)

    with progress_bar() as watching:
        checked: CheckReport
        if place is not None:
            checked = check_backups(place_of(place), tell, deep=deep, watching=watching)
        else:
            segments = settings.segments_place
            checked = check_data(settings.data, tell, segments=segments, deep=deep, watching=watching)
    if checked.unread is not None:
        err.tell(f"adalog: {checked.unread}")
    said = {
        "t": checked.t,
        "files": checked.files,
        "bytes": checked.bytes,
        "damaged": len(checked.findings),
        "unused": checked.unused,
        "seconds": round(time.monotonic() - began, 2),
    }
    out.json(said)
    return not checked.findings
