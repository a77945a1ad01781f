"""The commands that keep a database safe: `adalog backup restore check`."""

from __future__ import annotations

from typing import Any, TextIO

import click

from adalog.gateway.cli.exits import end_unless, told
from adalog.gateway.cli.options import data_option, option, segments_option
from adalog.gateway.cli.target import Target, is_typed, present_settings, where_options


@click.command()
@where_options
@segments_option
@option(
    "--keep",
    metavar="N",
    type=click.IntRange(1),
    help="Then remove all but the newest N backups.  [default: all stay]",
)
@option("--list", "listed", is_flag=True, help="Take none; show those that there are.")
@option("--rewrite", is_flag=True, help="Take none; rewrite those that hold what was excised since.")
@click.argument("to", metavar="OUT")
def backup(to: str, where: Target, keep: int | None, listed: bool, rewrite: bool, **_: Any) -> None:
    """Back up the database to OUT: a folder, or an address such as s3://bucket/backups.

    The database may be served meanwhile, and written to. What OUT has already is not copied again. With --url the
    server writes, where its ADALOG_BACKUP_FOLDERS allows it. The last line printed is JSON: {"backup", "t",
    "bytes", "written", "files", "removed", "seconds"}.

    --list with --data says in "holds" which excisions took something that a backup still has, and --rewrite makes
    these backups without it.

    \b
        adalog backup --data family /mnt/backups/family --keep 30
        adalog backup --url :8080 s3://bucket/family
        adalog backup --list /mnt/backups/family
        adalog backup --rewrite --data family /mnt/backups/family
    """
    with told():
        from adalog.gateway.cli.backend import RemoteBackend
        from adalog.gateway.cli.backing_up import ask_for_backup, run_backup, run_list, run_rewrite

        if listed and rewrite:
            raise click.UsageError("--list and --rewrite are both given; list the backups, or rewrite them")
        if listed:
            end_unless(run_list(to, present_settings() if is_typed("data") else None))
            return
        if rewrite:
            if keep is not None:
                raise click.UsageError("--rewrite takes no backup; give --keep to the next one that is taken")
            with where.place(reads=True) as place:
                if isinstance(place, RemoteBackend):
                    raise click.UsageError(
                        "--rewrite reads the log itself; name the folder or server's log with --data"
                    )
                run_rewrite(place, to)
            return
        with where.place(reads=True) as place:
            if isinstance(place, RemoteBackend):
                ask_for_backup(place, to, keep)
            else:
                run_backup(place, to, keep)


@click.command()
@option("--data", metavar="DIR", required=True, help="Where to: a new or empty folder, or database of a server.")
@segments_option
@option("--t", metavar="T", help="As of this transaction number or instant.  [default: the newest there is]")
@option("--backup", "number", metavar="N", type=click.IntRange(1), help="This backup.  [default: the newest]")
@click.argument("place", metavar="OUT")
def restore(place: str, data: str, t: str | None, number: int | None, **_: Any) -> None:
    """Restore a database from the backups in OUT into the folder DIR, as it was at any transaction.

    All that is read is verified. The last line printed is JSON: {"backup", "t", "datoms", "seconds"}.

    \b
        adalog restore /mnt/backups/family --data family
        adalog restore s3://bucket/family --data before-the-mistake --t 4711
    """
    with told():
        from adalog.gateway.cli.backing_up import run_restore
        from adalog.store.files.folder import check_is_folder, is_address

        if data == ":memory:":
            raise click.UsageError("a database in memory ends with the command; name a folder with --data")
        if not is_address(data):
            check_is_folder(data)
        run_restore(place, present_settings(), t, number)


@click.command()
@data_option
@segments_option
@option("--deep", is_flag=True, help="Replay the log, too, and compare the segments with it.")
@option("--search", metavar="TEXT", multiple=True, help="Only search every file for a text, as it is and decoded.")
@option(
    "--search-file",
    metavar="FILE",
    type=click.File(encoding="utf-8"),
    help="The same for each line of a file, - is the standard input: no history of a shell has the text then.",
)
@click.argument("place", metavar="[OUT]", required=False)
def check(place: str | None, deep: bool, search: tuple[str, ...], search_file: TextIO | None, **_: Any) -> None:
    """Read everything of a database, or of the backups in OUT, and say what is damaged and what to do.

    Nothing is changed, and the database may be served meanwhile. Exit code 1 where something is damaged. The last
    line printed is JSON: {"t", "files", "bytes", "damaged", "unused", "seconds"}; "unused" are files that nothing
    names, which is no damage.

    A search reads the bytes of every file, and what is compressed in them, and says where a text is: exit code 1
    where it is anywhere. The last line is {"files", "bytes", "found", "seconds"}.

    \b
        adalog check --data family --deep
        adalog check --data family --search-file - < texts
        adalog check /mnt/backups/family
    """
    if place is not None and is_typed("data"):
        raise click.UsageError("--data and OUT are both given; name the folder or the backups")
    texts = [*search, *(line.rstrip("\r\n") for line in search_file or ())]
    searches = bool(search) or search_file is not None
    if searches and deep:
        raise click.UsageError("--deep and a search are both given; check first, then search")
    if searches and not any(texts):
        raise click.UsageError("there is no text to search for")
    with told():
        from adalog.gateway.cli.backing_up import run_check, run_search
        from adalog.gateway.cli.existence import check_exists

        settings = present_settings()
        if place is None:
            check_exists(settings)
        if searches:
            sound = run_search(settings, place, [text for text in texts if text])
        else:
            sound = run_check(settings, place, deep=deep)
    end_unless(sound)
