"""The commands that move files: `adalog import stream export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from adalog.gateway.cli.exits import end_unless, told
from adalog.gateway.cli.options import Decorator, data_option, format_option, option
from adalog.gateway.cli.target import Target, is_typed, present_settings, where_options
from adalog.store.files.gc_pause import uncollected

mapping_option = option("--mapping", metavar="FILE", type=click.Path(), required=True, help="The mapping: YAML.")


def quarantine_option(help: str) -> Decorator:
    return option("--quarantine", metavar="DIR", type=click.Path(), default="quarantine", help=help)


@click.command("import")
@option("--mapping", metavar="FILE", type=click.Path(), help="The mapping: YAML.")
@where_options
@option(
    "--max-errors",
    metavar="N",
    type=click.IntRange(0),
    default=0,
    help="Import nothing where more rows than this are rejected.",
)
@quarantine_option("Where rejected rows are written.")
@option("--dry-run", is_flag=True, help="Do everything but the import itself.")
@option("--propose", is_flag=True, help="Write a mapping with a schema for files or folders; import nothing.")
@option(
    "--output", metavar="FILE", type=click.Path(), help="Where --propose writes to.  [default: standard output]"
)
@click.argument("paths", metavar="[NAME=PATH | FILE]...", nargs=-1)
def import_(
    paths: tuple[str, ...], mapping: str | None, where: Target, propose: bool, output: str | None, **given: Any
) -> None:
    """Import rows of files as one transaction, large ones through Spark.

    The mapping says what becomes of which columns; NAME=PATH is read instead of a source's path there. With --url
    the server reads the files, and writes nothing but the database. The last line printed is JSON:
    {"t", "rows", "entities", "datoms", "rejected", "seconds"}.

    \b
        adalog import --mapping people.yaml
        adalog import --mapping people.yaml --max-errors 10 people=s3a://bucket/people.parquet
        adalog import --url :8080 --mapping people.yaml
        adalog import --propose people.csv places.jsonl --output family.yaml
    """
    if propose:
        if is_typed("mapping") or not paths:
            raise click.UsageError("--propose writes a mapping for files: name these, and leave out --mapping")
        with told():
            from adalog.gateway.cli.proposing import write_proposal

            write_proposal(paths, output)
        return
    if mapping is None:
        raise click.UsageError("Missing option '--mapping'; `--propose FILE` writes one.")
    if is_typed("output"):
        raise click.UsageError("--output goes with --propose")
    named = {}
    for text in paths:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise click.UsageError(f"{text!r} is no NAME=PATH")
        named[name] = path
    with told():
        # Of the second that a small import takes, a fifth would be the cycle collector among the modules.
        with uncollected():
            from adalog.gateway.cli.backend import RemoteBackend
            from adalog.gateway.cli.importing import ask_for_import, run_import
            from adalog.pipeline.importing.read.mapping_reader import read_mapping

        plan = read_mapping(Path(mapping), named)
        with where.place(reads=False) as place:
            if isinstance(place, RemoteBackend):
                accepted = ask_for_import(place, Path(mapping), named, **given)
            else:
                accepted = run_import(place, plan, **given)
    end_unless(accepted)


@click.command()
@mapping_option
@where_options
@option(
    "--checkpoint",
    metavar="DIR",
    type=click.Path(),
    default="checkpoint",
    help="Where it is kept what was taken; of one mapping and one database.",
)
@quarantine_option("Where rejected rows are written, a folder for each batch.")
@option(
    "--max-errors",
    metavar="N",
    type=click.IntRange(0),
    help="Stop at a batch of which more rows than this are rejected.  [default: any number]",
)
@option("--once", is_flag=True, help="End when all that is there was taken.")
def stream(
    mapping: str, where: Target, checkpoint: str, quarantine: str, max_errors: int | None, once: bool
) -> None:
    """Import files as they appear, or a topic of Kafka, each batch once, until it is interrupted.

    Batches are transactions; a line of JSON is printed for each. Started again with the same --checkpoint it goes
    on where it was.

    \b
        adalog stream --mapping people.yaml --url :8080
        adalog stream --mapping people.yaml --data family --once
    """
    with told():
        from adalog.gateway.cli.streaming import ANY, StreamOptions, run_stream
        from adalog.pipeline.importing.read.mapping_reader import read_mapping

        plan = read_mapping(Path(mapping), {})
        most = ANY if max_errors is None else max_errors
        chosen = StreamOptions(Path(mapping), Path(checkpoint), Path(quarantine), most, once)
        with where.place(reads=False) as place:
            run_stream(place, present_settings(), plan, chosen)


@click.command()
@data_option
@option("--as-of", metavar="T", help="Export what was known as of this transaction number or instant.")
@option("--history", is_flag=True, help="Export all that was ever asserted or retracted.")
@format_option("parquet", "edn", help="What to write: a folder of Parquet files, or of lines of EDN.")
@click.argument("folder", metavar="OUT", type=click.Path())
def export(folder: str, form: str, as_of: str | None, history: bool, **_: Any) -> None:
    """Export the datoms into the new folder OUT: a folder for each attribute, and schema.edn.

    OUT may be an address of an object store, as s3://bucket/backup.

    The database may be served meanwhile. `adalog import` reads it back (format: adalog). The last line printed is
    JSON: {"t", "datoms", "attributes", "files", "bytes", "seconds"}.

    \b
        adalog export --data family --as-of 2024-05-01 backup
        adalog export --format edn --history all
    """
    with told():
        from adalog.gateway.cli.existence import check_exists
        from adalog.gateway.cli.exporting import run_export

        settings = present_settings()
        check_exists(settings)
        run_export(settings, folder, as_of=as_of, form=form, history=history)
