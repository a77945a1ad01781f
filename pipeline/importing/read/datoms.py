"""Datoms as values by attribute: from lines of EDN, or from the columns of an export.

For tasks. Entities are resolved later (`ids`, `keys`); here their numbers are keys like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from adalog.cluster.shipping import ShippedSnapshot
from adalog.datalog import edn
from adalog.datalog.edn.writer import write
from adalog.datalog.errors import AdalogError
from adalog.datalog.values import LONG_MAX, LONG_MIN, Keyword
from adalog.pipeline.importing.files.edn_lines import LINE
from adalog.pipeline.importing.files.rows import FileColumn, Int32s, Int64s, RowBatch
from adalog.pipeline.importing.read.chunks import ColumnPlan, Reason, RowValues, rejects_for, rejects_of
from adalog.pipeline.importing.read.edn_columns import LIMITS, TupleShape, bigdec, bigint, spelt_of, values_of
from adalog.pipeline.importing.read.ids import NO_ENTITY, Ids
from adalog.pipeline.importing.read.typed_columns import (
    TypedColumn,
    ValuePart,
    of_codes,
    one_by_one,
    typed,
)
from adalog.store.transact.declarations import implied_type
from adalog.store.values.attribute import FIRST_OWN_IDENT, SCHEMA_BASE

IGNORED: Final = frozenset({":db/txInstant", ":db/principal"})
"""An import has an instant and a principal of its own."""

# [e a v] or [e a v t added] in the usual form; any other line is read by the EDN reader.
_DATOM: Final = (
    r'^\s*\[\s*(?P<e>-?[0-9]{1,18}|:[^\s,"\[\]{}();]+)[\s,]+(?P<a>:[^\s,"\[\]{}();]+)[\s,]+(?P<v>.*?)'
    r"(?:[\s,]+(?P<t>[0-9]{1,18})[\s,]+(?P<added>true|false))?[\s,]*\]\s*$"
)
_NUMBER: Final = r"^-?[0-9]{1,18}$"
_NO_T: Final = 0


class DatomTexts(NamedTuple):
    """The rows of lines that are datoms, and the texts of their places; t and added are None if no line has them.
    bad: the rows of other lines."""

    rows: Int32s
    e: pa.Array
    a: pa.Array
    v: pa.Array
    t: Int64s | None
    added: NDArray[np.bool_] | None
    bad: Int32s


def cut(lines: pa.Array) -> DatomTexts:
    """The datoms of lines, one each."""
    lines = lines.cast(pa.large_string())
    found = pc.extract_regex(lines, _DATOM)
    missing = np.flatnonzero(found.is_null().to_numpy(zero_copy_only=False))
    columns = {name: found.field(name) for name in ("e", "a", "v", "t", "added")}
    rows = np.arange(len(lines), dtype=np.int32)
    bad = missing.astype(np.int32)
    if len(missing):
        given = np.delete(rows, missing)
        columns = {name: column.take(pa.array(given)) for name, column in columns.items()}
        read = [(int(row), _form(lines[int(row)].as_py())) for row in missing]
        others = [(row, form) for row, form in read if form is not None]
        bad = np.array([row for row, form in read if form is None], np.int32)
        rows = np.concatenate((given, np.array([row for row, _ in others], np.int32)))
        for place, name in enumerate(columns):
            texts = pa.array([form[place] for _, form in others], columns[name].type)
            columns[name] = pa.concat_arrays([columns[name], texts])
    timed = pc.not_equal(columns["t"], "")
    if not pc.any(timed).as_py():
        return DatomTexts(rows, columns["e"], columns["a"], columns["v"], None, None, bad)
    t = pc.if_else(timed, columns["t"], str(_NO_T)).cast(pa.int64()).to_numpy()
    added = pc.not_equal(columns["added"], "false").to_numpy(zero_copy_only=False)
    return DatomTexts(rows, columns["e"], columns["a"], columns["v"], t, added, bad)


def _form(line: str) -> tuple[str, str, str, str, str] | None:
    """The places of a line in another form; None if it is no datom."""
    try:
        form = edn.read(line, LIMITS)
    except AdalogError:
        return None
    if type(form) is not tuple or len(form) not in (3, 5):
        return None
    e, a, v, t, added = (*form, 0, True) if len(form) == 3 else form
    if not (type(e) in (int, Keyword) and type(a) is Keyword and type(t) is int and type(added) is bool):
        return None
    if not (0 <= t < 10**18 and (type(e) is Keyword or -(10**18) < e < 10**18)):
        return None
    try:
        times = ("", "") if len(form) == 3 else (str(t), write(added))
        return (str(e), str(a), write(v), *times)
    except (TypeError, UnicodeEncodeError):
        return None


def named(batches: Iterable[pa.Array]) -> dict[str, set[str]]:
    """The attributes that lines name, with the types of their written values."""
    found: dict[str, set[str]] = {}
    for lines in batches:
        datoms = cut(lines)
        kinds = _kinds(datoms.v)
        pairs = pa.table({"a": datoms.a, "kind": kinds}).group_by(["a", "kind"]).aggregate([])
        for name, kind in zip(pairs.column("a").to_pylist(), pairs.column("kind").to_pylist(), strict=True):
            found.setdefault(name, set()).add(kind)
    return found


def _kinds(texts: pa.Array) -> pa.Array:
    """The type of each text; "" for what no attribute can hold."""
    kinds = pa.nulls(len(texts), pa.string())
    for kind, pattern in (
        ("string", r'^"[^"\\]*"$'),
        ("long", r"^-?[0-9]{1,18}$"),
        ("double", r"^-?[0-9]+\.[0-9]+$"),
        ("boolean", r"^(true|false)$"),
        ("instant", r'^#inst "[^"]*"$'),
        ("uuid", r'^#uuid "[^"]*"$'),
        ("duration", r'^#duration "[^"]*"$'),
    ):
        left = kinds.is_null()
        if not pc.any(left).as_py():
            return kinds
        kinds = pc.if_else(pc.and_(left, pc.match_substring_regex(texts, pattern)), kind, kinds)
    places = np.flatnonzero(kinds.is_null().to_numpy(zero_copy_only=False))
    encoded = texts.take(pa.array(places)).dictionary_encode()
    types = pa.array([_kind(text) for text in encoded.dictionary.to_pylist()], pa.string())
    return pc.replace_with_mask(kinds, kinds.is_null(), types.take(encoded.indices))


def _kind(text: str) -> str:
    try:
        return implied_type(edn.read(text, LIMITS)) or ""
    except (AdalogError, TypeError):
        return ""


class DatomColumn(NamedTuple):
    """An attribute's column: its number, and how its values are read. type: "ref" of entities."""

    number: int
    type: str
    shape: TupleShape


@dataclass(frozen=True)
class DatomReader:
    """Reads the rows of a source. places: by attribute, with its colon. own: the attribute of all rows, if they do
    not name one. database: for idents."""

    places: Mapping[str, DatomColumn]
    ids: Ids
    database: ShippedSnapshot | None = None
    own: str | None = None

    def read(self, rows: RowBatch, columns: Sequence[ColumnPlan]) -> RowValues:
        if self.own is not None:
            return self._columns(rows, self.places[self.own])
        datoms = cut(rows.columns[LINE].values)
        rejected = [rejects_for(datoms.bad, 0, Reason.NO_DATOM)]
        parts: list[tuple[int, ValuePart]] = []
        keys, known = self._entities(datoms.e)
        rejected.append(rejects_for(datoms.rows[~known], 0, Reason.NO_ENTITY))
        encoded = datoms.a.dictionary_encode()
        which = encoded.indices.to_numpy()
        about = known.copy()
        for code, name in enumerate(encoded.dictionary.to_pylist()):
            own = np.flatnonzero((which == code) & known)
            place = self.places.get(name)
            if place is None:
                about[own] = False
                if name not in IGNORED:
                    rejected.append(rejects_for(datoms.rows[own], 0, Reason.OWN_ATTRIBUTE))
                continue
            if not len(own):
                continue
            found = self._texts(datoms.v.take(pa.array(own)), datoms.rows[own], place)
            parts += [(place.number, part) for part in found.parts]
            rejected.append(rejects_for(found.bad, place.number, Reason.UNREADABLE))
        parts.append((0, of_codes(datoms.rows[about], keys[about])))
        more: dict[str, NDArray[Any]] = {}
        if datoms.t is not None:
            assert datoms.added is not None
            more = {"t": np.zeros(rows.size, np.int64), "added": np.ones(rows.size, np.bool_)}
            more["t"][datoms.rows], more["added"][datoms.rows] = datoms.t, datoms.added
        return RowValues(parts, rejects_of(rejected), more)

    def _texts(self, texts: pa.Array, rows: Int32s, place: DatomColumn) -> TypedColumn:
        if place.type != "ref":
            return values_of(texts, rows, place.type, place.shape, self._entity)
        keys, known = self._entities(texts, value=True)
        return TypedColumn([of_codes(rows[known], keys[known])], rows[~known])

    def _entities(self, texts: pa.Array, *, value: bool = False) -> tuple[Int64s, NDArray[np.bool_]]:
        """The keys of the entities that texts name, and which texts name one."""
        plain = pc.match_substring_regex(texts, _NUMBER)
        if pc.all(plain).as_py():
            return self._known(texts.cast(pa.int64()).to_numpy(), value=value)
        numbers = pc.if_else(plain, texts, "0").cast(pa.int64()).to_numpy()
        keys, known = self._known(numbers, value=value)
        others = np.flatnonzero(~plain.to_numpy(zero_copy_only=False))
        encoded = texts.take(pa.array(others)).dictionary_encode()
        found = [self._named(text, value=value) for text in encoded.dictionary.to_pylist()]
        which = encoded.indices.to_numpy()
        keys, known = keys.copy(), known.copy()
        keys[others] = np.array([0 if each is None else each for each in found], np.int64)[which]
        known[others] = np.array([each is not None for each in found], np.bool_)[which]
        return keys, known

    def _known(self, numbers: Int64s, *, value: bool) -> tuple[Int64s, NDArray[np.bool_]]:
        keys = self.ids.read(numbers)
        known = keys != NO_ENTITY if self.ids.keep else np.ones(len(keys), np.bool_)
        if self.ids.keep and not value:
            # Built-in entities get no datoms.
            known &= ~((keys > SCHEMA_BASE) & (keys < FIRST_OWN_IDENT))
        return keys, known

    def _named(self, text: str, *, value: bool) -> int | None:
        """The key of an entity named by an ident, or by a number in another notation."""
        try:
            said = edn.read(text, LIMITS)
        except AdalogError:
            return None
        if isinstance(said, Keyword):
            entity = self._snapshot.entid(said) if self.database is not None else None
            if entity is None or (not value and SCHEMA_BASE < entity < FIRST_OWN_IDENT):
                return None
            return self.ids.here(entity)
        return self._entity(said) if type(said) is int else None

    @cached_property
    def _snapshot(self) -> Any:
        assert self.database is not None
        return self.database.open()

    def _entity(self, number: int) -> int | None:
        if not self.ids.keep or not LONG_MIN < number < LONG_MAX:
            return None
        key = int(self.ids.read(np.array([number], np.int64))[0])
        return None if key == NO_ENTITY else key

    def _columns(self, rows: RowBatch, place: DatomColumn) -> RowValues:
        every = np.arange(rows.size, dtype=np.int32)
        keys, known = self._known(rows.columns["e"].values.to_numpy(), value=False)
        found = self._values(rows.columns["v"].values, every, place)
        parts = [(0, of_codes(every[known], keys[known])), *((place.number, part) for part in found.parts)]
        more: dict[str, NDArray[Any]] = {}
        if "added" in rows.columns:
            more = {
                "t": np.array(rows.columns["t"].values.to_numpy()),
                "added": np.array(rows.columns["added"].values.to_numpy(zero_copy_only=False)),
            }
        rejects = [
            rejects_for(every[~known], 0, Reason.NO_ENTITY),
            rejects_for(found.bad, place.number, Reason.UNREADABLE),
        ]
        return RowValues(parts, rejects_of(rejects), more)

    def _values(self, values: pa.Array, rows: Int32s, place: DatomColumn) -> TypedColumn:
        if place.type == "ref":
            keys, known = self._known(values.to_numpy(), value=True)
            return TypedColumn([of_codes(rows[known], keys[known])], rows[~known])
        if place.type == "tuple":
            return values_of(values, rows, place.type, place.shape, self._entity)
        number = _NUMBERS.get(place.type)
        if number is not None and not pa.types.is_decimal(values.type):
            return one_by_one(
                values, rows, lambda text: spelt_of(number(text), place.type, place.shape, self._entity)
            )
        return typed(FileColumn.of(values), place.type, place.type)


_NUMBERS: Final = {"bigint": bigint, "bigdec": bigdec}
