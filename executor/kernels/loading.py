"""Compiles the kernels, or loads them from disk, where they are kept, so that no first query waits."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from adalog.executor.kernels import (
    decimal_kernels,
    dense_rows,
    disk,
    group_kernels,
    kept_kernels,
    range_kernels,
    row_kernels,
    small_join,
    small_rules,
    walk_kernels,
)
from adalog.executor.kernels.compiling import PythonIfFew, all_are_kept, note_all_kept
from adalog.executor.kernels.distinct_rows import first_rows, rows_apart, rows_differ
from adalog.executor.kernels.memory import MEMORY
from adalog.executor.kernels.range_kernels import Index, Ints
from adalog.executor.kernels.readiness import Readiness
from adalog.executor.kernels.seed import SEED
from adalog.executor.kernels.sum_kernels import exact_sums
from adalog.executor.kernels.text_kernels import search_texts


def compiled_kernels() -> list[Path]:
    """The files of all kernels on disk, of which none is missing if any can be kept."""
    ensure_kernels()
    return disk.files()


def ensure_kernels() -> None:
    """Compiles every kernel unless all are on disk, where a first call finds its kernel in some 3 ms."""
    PythonIfFew.calls_left = 0
    if not all_are_kept():
        load_kernels()
    elif not SMALL_JOIN.is_ready:
        SMALL_JOIN.load()


def load_kernels() -> None:
    """Calls every kernel once, with the types it is called with."""
    PythonIfFew.calls_left = 0
    few, dense = np.arange(4, dtype=np.int64), np.empty(0, np.int32)
    pairs = np.stack((few, few))
    _load_ranges(few, dense)
    _load_groups(few, pairs)
    _load_rows(few, dense, pairs)
    _load_texts()
    _load_kept(few, dense)
    SMALL_JOIN.load()
    note_all_kept()


def _load_ranges(few: Ints, dense: Index) -> None:
    """The kernels over sorted ranges."""
    ends, none, src = few + 1, np.empty(0, np.int64), np.zeros(4, np.uint8)
    range_kernels.lookup(few, dense, np.arange(5), none, np.zeros(1, np.int64), few)
    range_kernels.contains_key(few, dense, few)
    range_kernels.row_lengths(few, dense, np.arange(5), few)
    range_kernels.holds_pairs(few, dense, np.arange(5), few, few, few)
    filter_, marks = np.zeros(2, np.uint64), np.zeros(4, np.bool_)
    range_kernels.mark_touched(few, filter_, few, marks)
    range_kernels.decide(few, filter_, np.arange(5), few, marks, few, few, marks)
    range_kernels.decide_keys(few, filter_, few, few, marks)
    range_kernels.find_in(few, few, ends, few)
    range_kernels.contains(few, none, src, few, ends, few)
    range_kernels.expand(few, none, src, few, ends, 4)
    range_kernels.scatter(few, few, ends, few, np.zeros(4, np.int64), 0)
    for k in (2, 3, 4, 5):
        range_kernels.intersect(
            (few, none) * k,
            np.stack([src] * k),
            np.stack([few] * k),
            np.stack([ends] * k),
            np.zeros(0, np.uint64),
            0,
            True,
            np.empty(5, np.int64),
            np.empty(5, np.int64),
        )


def _load_groups(few: Ints, pairs: Ints) -> None:
    """The kernels that group rows and aggregate groups."""
    group_kernels.is_sorted(pairs)
    group_kernels.group_rows(pairs)
    group_kernels.sum_by_group(few, few, 4)
    group_kernels.best_by_group(few, few, 4, 1)
    exact_sums(few.astype(np.float64), few, few + 1, 4, True)
    digits = np.zeros(4, np.int8)
    decimal_kernels.gather_parts(few, 3, few, digits, few.copy(), digits.copy())
    decimal_kernels.to_scale(few.copy(), digits, 0, few)
    first_rows(pairs)
    rows_differ([np.arange(1 << 12)])
    # What is large is gone through in pieces: rows that are in order, that are not, and numbers far apart.
    for rows in (pairs, pairs[:, ::-1].copy(), np.stack((few[::-1] << 57, few)), np.stack((few[::-1] << 40, few))):
        group_kernels.group_rows(rows, _unwatched, 2)
        first_rows(rows, _unwatched, 2)


def _load_rows(few: Ints, dense: Index, pairs: Ints) -> None:
    """The kernels over tables of facts."""
    none = np.empty(0, np.int64)
    table, store = np.zeros(16, np.int64), np.zeros((3, 16), np.int64)
    row_kernels.insert(table, store[:2].copy(), 0, pairs, SEED)
    row_kernels.rehash(table, store, 2, 0, 0, SEED)
    row_kernels.improve(table, store, np.zeros(16, np.bool_), 0, np.stack((few, few, few)), 2, 0, 0, 1, SEED)
    row_kernels.walk(
        few,
        dense,
        np.arange(5),
        few,
        none,
        np.zeros(1, np.int64),
        none,
        1,
        table,
        store[:2].copy(),
        0,
        0,
        0,
        0,
        1,
        SEED,
    )
    row_kernels.reach(np.arange(5), few, none, np.zeros(1, np.int64), 0, 0, few.copy(), few.copy(), 1)
    bits, sizes = np.zeros(1, np.uint64), np.full(2, 4, np.int64)
    dense_rows.mark(bits, np.zeros(2, np.int64), sizes, pairs, 0)
    dense_rows.insert(bits, np.zeros(2, np.int64), sizes, store[:2].copy(), 0, pairs)


def _load_kept(few: Ints, dense: Index) -> None:
    """The kernels over facts that are kept."""
    table, rows, chain, marks = (
        np.zeros(16, np.int64),
        np.zeros((2, 8), np.int64),
        few.copy(),
        np.zeros(8, np.uint8),
    )
    keys, places, found = np.stack((few, few)), np.arange(2), np.zeros(4, np.int64)
    kept_kernels.find(table, rows, places, keys, SEED)
    kept_kernels.marked(table, rows, places, marks, 1, keys, SEED)
    kept_kernels.enter(table, rows, 0, keys, found, SEED)
    kept_kernels.put(table, rows, places, found, SEED)
    facts = rows, chain, marks, table, 0
    side = few, dense, np.arange(5), few
    none = np.empty(0, np.int64)
    overlay = rows, marks, table, np.zeros((2, 16), np.int64), np.zeros((2, 8), np.int64), 0
    walk_kernels.put(*overlay, few, few, 0, SEED)
    walk_kernels.link(table, few, chain, 0, 0, SEED)
    walk_kernels.met(rows, marks, table, 0, table, chain, none, none, True, SEED)
    walk_kernels.change(facts, table, chain, side, side, overlay, (none, none), (none, none), none, 0, SEED)
    walk_kernels.gain(facts, table, chain, side, overlay, none, 0, 0, 0, 0, 1, SEED)


def _load_texts() -> None:
    """The search of texts, whose arrays it does not write are read-only."""
    texts, cuts, found = np.zeros(2, np.uint8), np.array([0, 1, 1]), np.zeros(1, np.uint8)
    places = np.array([0, 1])
    for array in (texts, cuts, places):
        array.flags.writeable = False
    search_texts(places[:1], 0, places, texts, texts, cuts, places, found.copy(), found, 0, 1, 1)


def _load_small_join() -> None:
    frames = np.zeros((2, 1, 1), np.int64)
    none, state = np.zeros(2, np.int64), np.zeros(small_join.STATE, np.int64)
    small_join.extend(MEMORY, none, 0, frames, 0, none, 0, state, none, SEED)
    # A program without rules, whose join has no levels.
    arena, words = np.zeros(8, np.int64), np.zeros(small_rules.HEAD + small_rules.RULE, np.int64)
    words[2] = small_rules.HEAD
    words[words[2] + 1] = small_rules.HEAD
    rows_apart(none.reshape(1, 2), none.reshape(1, 2), False, SEED)
    small_rules.derive(MEMORY, words, words.copy(), none, frames, none, 0, state, none, arena, 0, 1, SEED)


SMALL_JOIN: Final = Readiness(_load_small_join)
"""Whether small joins may take `kernels.small_join`, and with rules `kernels.small_rules`."""


def _unwatched() -> None:
    """A check that never cancels."""
