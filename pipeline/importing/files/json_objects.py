"""Columns of objects of JSON: the values of names and of paths, and the structs in them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa

from adalog.pipeline.importing.files.rows import (
    ColumnPart,
    FileColumn,
    FileStructs,
    Int32s,
    NestedColumns,
    Survey,
)

# From here on whole numbers are doubles for the fast reader.
_ROUGH: Final = 2.0**63
_LONGS: Final = range(-(1 << 63), 1 << 63)
_NONE: Final = type(None)
_MISSING: Final = object()
# In place of a value where a path leads through what is no object: no attribute can hold it.
_NO_OBJECT: Final[Mapping[str, Any]] = {}


class Digits(str):
    """A number as it stands in the file."""

    __slots__ = ()


@dataclass(frozen=True)
class JsonObjects:
    """exactly: the object with a number, with numbers as they stand in the file."""

    objects: Sequence[Mapping[str, Any]]
    exactly: Callable[[int], Any]

    def column(self, name: str, exact: bool) -> FileColumn:
        """The values of a name or path. exact: a double might change its numbers."""
        values = self._values(name)
        kinds = set(map(type, values))
        if list in kinds or (float in kinds and (exact or _any_rough(values))):
            for place, value in enumerate(values):
                if _is_rough(value, exact):
                    values[place] = _at(self.exactly(place), name)
                    kinds.add(type(values[place]))
        if list not in kinds and len(kinds - {_NONE}) == 1:
            [kind] = kinds - {_NONE}
            if kind in _ARROW:
                return _whole(values, np.arange(len(values), dtype=np.int32), kind)
        rows: dict[type, list[int]] = {}
        found: dict[type, list[Any]] = {}
        bad = []
        lists = [place for place, value in enumerate(values) if type(value) is list]
        for place, value in enumerate(values):
            for each in value if type(value) is list else (value,):
                if each is None:
                    continue
                kind = type(each)
                if kind not in _ARROW:
                    bad.append(place)
                    break
                rows.setdefault(kind, []).append(place)
                found.setdefault(kind, []).append(each)
        parts = [
            part for kind, own in found.items() for part in _whole(own, np.array(rows[kind], np.int32), kind).parts
        ]
        return FileColumn(parts, np.unique(np.array(bad, np.int32)), np.array(lists, np.int32))

    def structs(self, wanted: NestedColumns) -> FileStructs:
        inner, owners, bad, lists = self._inner(wanted)
        return FileStructs(
            owners,
            {name: inner.column(name, name in wanted.exact) for name in wanted.names},
            bad,
            lists,
            {each.key: inner.structs(each) for each in wanted.nested},
        )

    def survey(
        self,
        found: Survey,
        wanted: Collection[str],
        nested: Sequence[NestedColumns],
        said: Callable[[str], str] = str,
    ) -> None:
        """Adds the columns to a survey, with the types of wanted ones. said: what the survey calls a name."""
        for name in dict.fromkeys(chain.from_iterable(self.objects)):
            found.add(said(name))
        if any("." in name for name in wanted):
            for row in self.objects:
                for name, value in row.items():
                    for inner in value if type(value) is dict else ():
                        found.add(said(f"{name}.{inner}"))
        for name in wanted:
            values = [_found_at(row, name) for row in self.objects]
            if all(value is _MISSING for value in values):
                continue
            found.add(said(name))
            if any(type(value) is list for value in values):
                found.many.add(said(name))
            for part in self.column(name, exact=False).parts:
                _survey_part(found, said(name), part)
        for each in nested:
            inner, _, _, lists = self._inner(each)
            if len(lists):
                found.many.add(said(each.column))
            if len(inner.objects):
                found.add(said(each.column))
            inner.survey(found, each.names, each.nested, lambda name, own=each: said(own.within(name)))  # type: ignore[misc]

    def _values(self, name: str) -> list[Any]:
        try:
            return list(map(itemgetter(name), self.objects))
        except KeyError:
            if "." not in name:
                return [row.get(name) for row in self.objects]
            return [_at(row, name) for row in self.objects]

    def _inner(self, wanted: NestedColumns) -> tuple[JsonObjects, Int32s, Int32s, Int32s]:
        """The objects within a column, the owner of each, owners with something else, and owners with a list."""
        objects: list[Mapping[str, Any]] = []
        owners: list[int] = []
        ordinals: list[int] = []
        bad, lists = [], []
        for place, value in enumerate(self._values(wanted.column)):
            own = _objects_in(value, wanted.entries)
            if own is None:
                bad.append(place)
                continue
            objects += own
            owners += [place] * len(own)
            ordinals += range(len(own))
            if type(value) is list or (wanted.entries and value is not None):
                lists.append(place)

        @lru_cache(1)
        def every(place: int) -> Sequence[Any]:
            return _objects_in(_at(self.exactly(place), wanted.column), wanted.entries) or ()

        def exactly(number: int) -> Any:
            return every(owners[number])[ordinals[number]]

        return (
            JsonObjects(objects, exactly),
            np.array(owners, np.int32),
            np.array(bad, np.int32),
            np.array(lists, np.int32),
        )


def _objects_in(value: Any, entries: bool) -> list[Mapping[str, Any]] | None:
    """The objects of a value, or the entries of the one that it is; None if it is something else."""
    if value is None:
        return []
    if entries:
        if type(value) is not dict:
            return None
        return [{"key": key, "value": own} for key, own in value.items()]
    if type(value) is dict:
        return None if value is _NO_OBJECT else [value]
    if type(value) is not list:
        return None
    own = [each for each in value if each is not None]
    return own if all(type(each) is dict for each in own) else None


def _at(value: Any, path: str) -> Any:
    """The value at a path, None if there is none; of a list those of its elements."""
    found = _found_at(value, path)
    return None if found is _MISSING else found


def _found_at(value: Any, path: str) -> Any:
    """The value at a path: of the longest name that the objects on the way have. _MISSING where there is none."""
    if type(value) is list:
        return [_at(each, path) for each in value]
    if value is None:
        return _MISSING
    if type(value) is not dict:
        return _NO_OBJECT
    if path in value:
        return value[path]
    at = path.rfind(".")
    while at > 0:
        if path[:at] in value:
            return _found_at(value[path[:at]], path[at + 1 :])
        at = path.rfind(".", 0, at)
    return _MISSING


def _any_rough(values: Sequence[Any]) -> bool:
    floats = [value for value in values if type(value) is float]
    return max(floats) >= _ROUGH or min(floats) <= -_ROUGH


def _is_rough(value: Any, exact: bool) -> bool:
    """Whether a value's text is to be read, since a double might differ from it."""
    if type(value) is float:
        return exact or abs(value) >= _ROUGH
    return type(value) is list and any(_is_rough(each, exact) for each in value)


def _whole(values: Sequence[Any], rows: Int32s, kind: type) -> FileColumn:
    """Values of one type, or None."""
    if kind is not int:
        return FileColumn([ColumnPart(rows, pa.array(values, _ARROW[kind]), kind is Digits)])
    try:
        return FileColumn([ColumnPart(rows, pa.array(values, pa.int64()))])
    except OverflowError:
        texts = [None if value is None else str(value) for value in values]
        return FileColumn([ColumnPart(rows, pa.array(texts, pa.string()), digits=True)])


_ARROW: Final[Mapping[type, pa.DataType]] = {
    str: pa.string(),
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    Digits: pa.string(),
}
_KINDS: Final[Mapping[pa.DataType, str]] = {
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.int64(): "long",
    pa.float64(): "double",
}


def _survey_part(found: Survey, name: str, part: ColumnPart) -> None:
    values = part.values.drop_null()
    if not len(values):
        return
    if not part.digits:
        found.add(name, _KINDS[part.values.type], orjson.dumps(values[0].as_py()).decode())
        return
    for text in values.to_pylist():
        is_whole = text.removeprefix("-").isdecimal()
        kind = ("long" if int(text) in _LONGS else "bigint") if is_whole else "bigdec"
        found.add(name, kind, text)
