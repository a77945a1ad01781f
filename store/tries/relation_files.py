"""Relations, dictionary blocks and deltas as segment files, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from adalog.store.files.narrow import LEAST
from adalog.store.files.segment import (
    NARROW,
    PLAIN,
    SPARSE,
    Arrays,
    JoinedArray,
    Segment,
    open_segment,
    write_segment,
)
from adalog.store.tries.base import Base, ClosedDatoms
from adalog.store.tries.columns import Columns
from adalog.store.tries.delta import Delta
from adalog.store.tries.relation import Part, Relation
from adalog.store.tries.run import Run
from adalog.store.tries.signed import Signed
from adalog.store.tries.trie import Csr, CsrFigures, TrieSize
from adalog.store.tries.value_index import order_of_keys
from adalog.store.values.arrays import Int64s
from adalog.store.values.blocks.block import Block, BlockArrays
from adalog.store.values.blocks.sparse_block import Runs, SparseBlock, compacted
from adalog.store.values.codes import Codes

P = TypeVar("P", Base, Run)

BASE: Final = "attribute"
"""What the files of bases are called."""
_RUN: Final = "run"
CSR: Final = ("keys", "offsets", "values")
FIGURES: Final = "figures"
DENSE: Final = "dense"
_VE_OFFSETS: Final = "ve.offsets"
ORDER: Final = "ve.order"
"""The index of values, where an attribute has one."""
SINCE: Final = f"since.{LEAST}"
NO_INDEX: Final = -1
"""The first item of an index that does not fit its keys any more; of one that does it is 0."""
_LEVEL: Final = (*CSR, "added", "counts")
CLOSED: Final = ("e", "v", "added", "retracted")
_EVENTS: Final = ("e", "v", "t", "added")
_DICTIONARY: Final = "dictionary"
_DELTAS: Final = "young"
_ALONE: Final = "alone"
_LONG: Final = 4096
_NO_SECRET: Final = np.empty(0, np.uint8)


def save_relation(folder: Path, attribute: int, relation: Relation, codes: Codes) -> Relation:
    """Writes those parts of a relation that are in no file yet; the relation comes back, mapped from its files.
    codes: of its values."""
    base, runs = relation.base, relation.runs
    if base.segment is None:
        base = _save_base(folder, attribute, base, codes)
    runs = tuple(run if run.segment is not None else _save_run(folder, attribute, run) for run in runs)
    return Relation(base, runs)


def _save_base(folder: Path, attribute: int, base: Base, codes: Codes) -> Base:
    arrays: dict[str, NDArray[Any] | JoinedArray] = {
        **_arrays_of_rows("ev", base.ev),
        **_arrays_of_rows("ve", base.ve),
        **since_arrays([base.since]),
        **arrays_of_parts("closed", base.closed, CLOSED),
        "t": np.array([base.t, base.last], np.int64),
    }
    order = order_of_keys(base.ve.keys, codes)
    if order is not None:
        arrays[ORDER] = order
    share_offsets(arrays)
    return load_base(write_segment(folder, f"{BASE}-{attribute}-{base.t}", arrays, form_of(arrays)), trusted=True)


def since_arrays(parts: Sequence[Int64s]) -> dict[str, NDArray[Any] | JoinedArray]:
    """`Base.since`, of which the parts are given: one number where all are the same, as after an import."""
    length = sum(map(len, parts))
    bounds = [(int(part.min()), int(part.max())) for part in parts if len(part)]
    if length and min(low for low, _ in bounds) == max(high for _, high in bounds):
        return {SINCE: np.array([bounds[0][0], length], np.int64)}
    return {"since": JoinedArray(length, lambda: iter(parts))}


def share_offsets(arrays: dict[str, NDArray[Any] | JoinedArray]) -> None:
    """Leaves out the offsets of one direction where every key has one value in both: they are the other's."""
    if {len(arrays[f"{name}.keys"]) for name in ("ev", "ve")} == {len(arrays["ev.values"])}:
        del arrays[_VE_OFFSETS]


def form_of(arrays: Mapping[str, object]) -> int:
    """The format of a base's file."""
    return PLAIN if SINCE not in arrays and _VE_OFFSETS in arrays else NARROW


def _since(arrays: Arrays) -> Int64s:
    if SINCE not in arrays:
        return arrays["since"]
    t, length = arrays[SINCE].tolist()
    # Kernels take no array that cannot be written to: only what is long is worth a copy where one is needed.
    return np.full(length, t) if length < _LONG else np.broadcast_to(np.int64(t), length)


def _arrays_of_rows(name: str, rows: Csr) -> dict[str, NDArray[Any]]:
    arrays = arrays_of_parts(name, rows, CSR) | {
        f"{name}.{FIGURES}": np.array([rows.longest, *rows.span], np.int64)
    }
    if rows.has_dense and rows.key_span > len(rows.keys):
        arrays[f"{name}.{DENSE}"] = rows.dense
    return arrays


def _rows_of(arrays: Arrays, name: str) -> Csr:
    """The rows of one direction, in files of older versions without figures."""
    keys, values = arrays[f"{name}.keys"], arrays[f"{name}.values"]
    offsets = arrays.get(f"{name}.offsets", arrays["ev.offsets"])
    if f"{name}.{FIGURES}" not in arrays:
        return Csr(keys, offsets, values)
    longest, least, greatest = arrays[f"{name}.{FIGURES}"].tolist()
    dense = arrays.get(f"{name}.{DENSE}")
    if dense is not None and dense[0] == NO_INDEX:
        dense = None
    return Csr(keys, offsets, values, CsrFigures(longest, (least, greatest), dense, arrays.get(f"{name}.order")))


def load_base(segment: Segment, *, trusted: bool = False) -> Base:
    """A relation's base from its file; `trusted` as in `open_segment`."""
    arrays = open_segment(segment, trusted=trusted)
    t, last = arrays["t"].tolist()
    return Base(
        ev=_rows_of(arrays, "ev"),
        ve=_rows_of(arrays, "ve"),
        since=_since(arrays),
        closed=ClosedDatoms(*(arrays[f"closed.{part}"] for part in CLOSED)),
        t=t,
        last=last,
        segment=segment,
    )


def _save_run(folder: Path, attribute: int, run: Run) -> Run:
    arrays = {
        **arrays_of_parts("ev", run.ev, _LEVEL),
        **arrays_of_parts("ve", run.ve, _LEVEL),
        "stamps": run.stamps,
        **arrays_of_parts("past", run.past, _EVENTS),
        "sizes": np.array([(size.pairs, size.rows, size.longest) for size in run.sizes], np.int64).ravel(),
        "t": np.array([run.t, run.last], np.int64),
    }
    return load_run(write_segment(folder, f"{_RUN}-{attribute}-{run.t}", arrays), trusted=True)


def load_run(segment: Segment, *, trusted: bool = False) -> Run:
    """A run from its file; `trusted` as in `open_segment`."""
    arrays = open_segment(segment, trusted=trusted)
    t, last = arrays["t"].tolist()
    sizes = arrays["sizes"].tolist()
    return Run(
        ev=Signed(*(arrays[f"ev.{part}"] for part in _LEVEL)),
        ve=Signed(*(arrays[f"ve.{part}"] for part in _LEVEL)),
        sizes=(TrieSize(*sizes[:3]), TrieSize(*sizes[3:])),
        stamps=arrays["stamps"],
        past=Columns(*(arrays[f"past.{part}"] for part in _EVENTS)),
        t=t,
        last=last,
        segment=segment,
    )


def arrays_of_parts(name: str, owner: object, parts: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Columns of a level under the names that they have in a segment."""
    return {f"{name}.{part}": getattr(owner, part) for part in parts}


def load_relation(
    files: Sequence[Segment],
    known: Callable[[Segment], Part | None] = lambda _: None,
    keep: Callable[[Part], Part] = lambda part: part,
    *,
    trusts: Callable[[Segment], bool] = lambda _: False,
) -> Relation:
    """A relation from its files, that of its base first, then those of its runs. known: gives the part of a file
    that is open already. keep: is given each part that was opened; what it returns is used. trusts: whether a file
    is `trusted`, as in `open_segment`."""

    def opened(segment: Segment, load: Callable[..., P], kind: type[P]) -> P:
        part = known(segment)
        if part is None:
            part = keep(load(segment, trusted=trusts(segment)))
        assert isinstance(part, kind)
        return part

    base, *runs = files
    return Relation(opened(base, load_base, Base), tuple(opened(run, load_run, Run) for run in runs))


def save_blocks(folder: Path, t: int, blocks: Mapping[int, Iterable[Block]]) -> dict[int, tuple[Block, ...]]:
    """Write those blocks of each tag that are in no file yet, together; all come back, mapped."""
    new = {
        f"{tag}.{block.start}": compacted(tag, block)
        for tag, own in blocks.items()
        for block in own
        if block.segment is None
    }
    arrays = {f"{key}.{part}": array for key, block in new.items() for part, array in _parts_of(block).items()}
    if not arrays:
        return {tag: tuple(own) for tag, own in blocks.items()}
    form = SPARSE if any(isinstance(block, SparseBlock) for block in new.values()) else PLAIN
    segment = write_segment(folder, f"{_DICTIONARY}-{t}", arrays, form)
    mapped = open_segment(segment, trusted=True)
    return {
        tag: tuple(
            block if block.segment is not None else block_of(mapped, tag, block.start, segment) for block in own
        )
        for tag, own in blocks.items()
    }


def _parts_of(block: Block) -> dict[str, NDArray[Any]]:
    runs = block.runs._asdict() if isinstance(block, SparseBlock) else {}
    return {**block.arrays._asdict(), **runs}


def save_block(folder: Path, tag: int, block: Block) -> Segment:
    """Writes a block alone, into a file in which its first number does not stand: it may become another one."""
    arrays = {f"{tag}.{_ALONE}.{part}": array for part, array in block.arrays._asdict().items()}
    return write_segment(folder, f"{_DICTIONARY}-{tag}-{block.start}", arrays)


def block_of(arrays: Arrays, tag: int, start: int, segment: Segment) -> Block:
    """A block from the arrays of `save_blocks` or `save_block`, of older versions without a secret."""
    name = f"{tag}.{start}" if f"{tag}.{start}.order" in arrays else f"{tag}.{_ALONE}"
    parts = {part: arrays[f"{name}.{part}"] for part in BlockArrays._fields if part != "secret"}
    own = BlockArrays(**parts, secret=arrays.get(f"{name}.secret", _NO_SECRET))
    if f"{name}.{Runs._fields[0]}" not in arrays:
        return Block(start, own, segment)
    runs = Runs(*(arrays[f"{name}.{part}"] for part in Runs._fields))
    return SparseBlock(start, own, segment, runs=runs, tag=tag)


def save_deltas(folder: Path, t: int, deltas: Mapping[int, Columns]) -> Segment:
    """Write the events of many attributes, which t ends."""
    columns = list(deltas.values())
    arrays: dict[str, NDArray[Any]] = {
        "attributes": np.array(list(deltas), np.int64),
        "lengths": np.array([len(each) for each in columns], np.int64),
    }
    if columns:
        every = Columns.concat(columns)
        arrays |= {field: getattr(every, field) for field in _EVENTS}
    return write_segment(folder, f"{_DELTAS}-{t}", arrays)


def load_deltas(segment: Segment) -> dict[int, Delta]:
    arrays = open_segment(segment)
    deltas, at = {}, 0
    for attribute, length in zip(arrays["attributes"].tolist(), arrays["lengths"].tolist(), strict=True):
        part = slice(at, at + length)
        deltas[attribute] = Delta.of(*(arrays[field][part] for field in _EVENTS))
        at += length
    return deltas
