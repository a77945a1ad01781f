"""An export from a view to its folder: the driver's part, which knows names and counts, never rows."""

from __future__ import annotations

import pickle
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final
from uuid import uuid4

from adalog.cluster.addresses import is_address
from adalog.cluster.shipping import ShippedSnapshot, shipped_in
from adalog.cluster.tasks import TaskRunner
from adalog.pipeline.exporting.folder import MANIFEST, SCHEMA, ExportedAttribute, File, Listing, folder_names
from adalog.pipeline.exporting.parts import ExportJob, ExportShare, decimals_of, write_shares
from adalog.pipeline.exporting.schema import idents_of, schema_text
from adalog.pipeline.exporting.target import ExportTarget, check_target, export_target
from adalog.pipeline.exporting.value_columns import tags_of
from adalog.store.files.permissions import FOLDER_MODE
from adalog.store.snapshot.manifest import Manifest
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import bootstrap
from adalog.store.values.attribute import Attribute
from adalog.store.values.decimals import DecimalDigits

ROWS: Final = 1 << 21
"""About how many datoms a file has."""
# Datoms that are exported without Spark.
_SMALL: Final = 1 << 20
_LEAST: Final = -(1 << 63)
_MOST: Final = (1 << 63) - 1
# No attribute's folder begins with a dot.
_DATABASE: Final = ".database"


@dataclass(frozen=True, slots=True)
class ExportOutcome:
    """What an export wrote. bytes: of the attributes' files."""

    t: int
    datoms: int
    attributes: int
    files: int
    bytes: int
    seconds: float


def is_small(snapshot: Snapshot) -> bool:
    """Whether one process can write a view soon."""
    return sum(_size(snapshot, each.id) for each in _exported(snapshot)) <= _SMALL


def export(snapshot: Snapshot, runner: TaskRunner, to: Path | str, form: str, rows: int = ROWS) -> ExportOutcome:
    """Writes a view, which may be a history, into a folder or to an address where nothing is yet. Raises
    ARG_INVALID for a folder with something in it."""
    began = time.monotonic()
    to = str(to)
    check_target(to)
    with export_target(to) as place, _database_folder(place) as database:
        attributes = _exported(snapshot)
        names = folder_names(each.ident for each in attributes)
        for name in names.values():
            place.make(name)
        job = ExportJob(place, form, snapshot.is_history)
        manifest = snapshot.manifest()
        shares = [
            share
            for each in attributes
            for share in _shares(snapshot, each, _shipped(manifest, each, database), names[each.ident], rows)
        ]
        if form == "parquet":
            shares = _with_decimals(shares, runner)
        files: dict[int, list[File]] = {each.id: [] for each in attributes}
        for written in runner.each("writing", partial(write_shares, job), _tasks(snapshot, shares, rows)):
            for attribute, file in written:
                files[attribute].append(file)
        exported = tuple(
            ExportedAttribute(
                str(each.ident),
                str(each.kind.value_type),
                names[each.ident],
                tuple(sorted(files[each.id], key=lambda file: file.name)),
            )
            for each in attributes
        )
        for each in exported:
            place.remove_strays(each.folder, {file.name for file in each.files})
        idents = idents_of(snapshot)
        with place.file(SCHEMA) as stream:
            stream.write(schema_text(snapshot, idents).encode())
        named = {str(ident): e for ident, e in idents.items()}
        with place.file(MANIFEST) as stream:
            stream.write(Listing(form, snapshot.t, snapshot.is_history, exported, named).written())
    every = [file for each in exported for file in each.files]
    return ExportOutcome(
        snapshot.t,
        sum(file.datoms for file in every),
        len(exported),
        len(every),
        sum(file.bytes for file in every),
        round(time.monotonic() - began, 3),
    )


def _exported(snapshot: Snapshot) -> list[Attribute]:
    """The attributes with a folder: all of a type; in a history also the transactions' instants and principals."""
    own = (bootstrap.TX_INSTANT, bootstrap.PRINCIPAL) if snapshot.is_history else ()
    return [
        each
        for each in snapshot.attributes()
        if each.kind.value_type is not None and (not bootstrap.is_built_in(each.id) or each.id in own)
    ]


@contextmanager
def _database_folder(place: ExportTarget) -> Iterator[Path | None]:
    """A folder of the target for tasks' parts of the database; None: those travel with the tasks."""
    if is_address(place.place):
        yield None
        return
    path = Path(place.place) / _DATABASE
    path.mkdir(FOLDER_MODE)
    yield path
    shutil.rmtree(path)


def _shipped(manifest: Manifest, attribute: Attribute, folder: Path | None) -> ShippedSnapshot:
    """The part of the database for an attribute's tasks, since a worker checks whatever it opens."""
    # Once it may have been of another type.
    tags = set(manifest.blocks) if manifest.history else tags_of(str(attribute.kind.value_type))
    own = replace(
        manifest,
        attributes=(attribute,),
        relations={id_: each for id_, each in manifest.relations.items() if id_ == attribute.id},
        events={id_: each for id_, each in manifest.events.items() if id_ == attribute.id},
        blocks={tag: each for tag, each in manifest.blocks.items() if tag in tags},
        young={tag: each for tag, each in manifest.young.items() if tag in tags},
    )
    if folder is None:
        return ShippedSnapshot(uuid4().hex, pickle.dumps(own.located(), protocol=5), None, afar=True)
    return shipped_in(folder / str(attribute.id), own)


def _shares(
    snapshot: Snapshot, attribute: Attribute, database: ShippedSnapshot, folder: str, rows: int
) -> Iterator[ExportShare]:
    bounds = [_LEAST, *snapshot.data_of(attribute.id).cuts(rows), _MOST]
    for number, (low, high) in enumerate(pairwise(bounds)):
        ident, value_type = str(attribute.ident), str(attribute.kind.value_type)
        yield ExportShare(database, attribute.id, ident, value_type, folder, number, low, high)


def _with_decimals(shares: Sequence[ExportShare], runner: TaskRunner) -> list[ExportShare]:
    """The shares, of which those of bigdecs know the digits of all their attribute's values."""
    own = [(share,) for share in shares if share.type == "bigdec"]
    digits: dict[int, DecimalDigits] = {}
    for found in runner.each("looking at decimals", decimals_of, own) if own else ():
        for attribute, each in found:
            digits[attribute] = digits.get(attribute, each).union(each)
    fitting = {attribute: each for attribute, each in digits.items() if each.type is not None}
    return [share._replace(decimals=fitting.get(share.attribute)) for share in shares]


def _tasks(snapshot: Snapshot, shares: Sequence[ExportShare], rows: int) -> list[tuple[ExportShare, ...]]:
    """The shares of each task: small ones together."""
    parts: dict[int, int] = {}
    for share in shares:
        parts[share.attribute] = parts.get(share.attribute, 0) + 1
    tasks: list[tuple[ExportShare, ...]] = []
    held: list[ExportShare] = []
    size = 0
    for share in shares:
        held.append(share)
        size += _size(snapshot, share.attribute) // parts[share.attribute]
        if size >= rows // 2:
            tasks.append(tuple(held))
            held, size = [], 0
    return [*tasks, tuple(held)] if held else tasks


def _size(snapshot: Snapshot, attribute: int) -> int:
    """About how many datoms an attribute has."""
    data = snapshot.data_of(attribute)
    return data.relation.count + len(data.delta)
