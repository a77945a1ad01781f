"""The columns of files with those of structs, as their names and types say, before any value is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from adalog.pipeline.importing.files.arrow_paths import is_list, is_map, is_struct, plain_type, struct_type
from adalog.pipeline.importing.files.json_objects import Digits
from adalog.pipeline.importing.files.rows import NestedColumns
from adalog.pipeline.importing.propose.evidence import keeps_digits

# Objects with more keys are maps.
_MOST_KEYS: Final = 40


@dataclass
class FileNode:
    """A column. values: it has some that are neither structs nor lists. many: it has lists. inner: the columns of
    its structs. entries: it is a map. fault: why it cannot be mapped. is_exact: it has numbers of JSON that doubles
    would change."""

    name: str
    values: bool = False
    many: bool = False
    inner: dict[str, FileNode] = field(default_factory=dict)
    entries: bool = False
    fault: str = ""
    is_exact: bool = False

    def add(self, value: Any) -> None:
        """Learns from a value of JSON."""
        for each in value if type(value) is list else (value,):
            if type(each) is dict:
                for name, own in each.items():
                    self._inner(name).add(own)
            elif type(each) is list:
                self.fault = "lists of lists"
            elif each is not None:
                self.values = True
                self.is_exact |= type(each) is Digits and not keeps_digits(each)
        self.many |= type(value) is list

    def merge(self, other: FileNode) -> None:
        self.values |= other.values
        self.is_exact |= other.is_exact
        self.many |= other.many
        self.entries |= other.entries
        self.fault = self.fault or other.fault
        for name, each in other.inner.items():
            self._inner(name).merge(each)

    def settle(self) -> None:
        """Decides what objects of JSON are."""
        for each in self.inner.values():
            each.settle()
        if self.inner and self.values:
            self.fault = self.fault or "objects as well as other values"
        elif not (self.inner or self.values or self.fault):
            self.fault = "no values"
        if not self.entries and len(self.inner) > _MOST_KEYS and not self.many and not self.fault:
            value = FileNode("value")
            for each in self.inner.values():
                value.merge(each)
            self.inner, self.entries = {"key": FileNode("key", values=True), "value": value}, True
            value.settle()
        if self.inner and all(each.fault for each in self.inner.values()):
            self.fault = self.fault or "structs without columns to map"

    def _inner(self, name: str) -> FileNode:
        return self.inner.setdefault(name, FileNode(name))


def of_arrow(name: str, kind: pa.DataType) -> FileNode:
    kind = plain_type(kind)
    if is_map(kind):
        inner = struct_type(kind, entries=True)
        assert inner is not None
        return FileNode(name, entries=True, inner={each.name: of_arrow(each.name, each.type) for each in inner})
    many = is_list(kind)
    kind = plain_type(kind.value_type) if many else kind
    if is_struct(kind):
        return FileNode(name, many=many, inner={each.name: of_arrow(each.name, each.type) for each in kind})
    fault = "lists of lists or maps" if pa.types.is_nested(kind) else ""
    return FileNode(name, values=True, many=many, fault=fault)


def wanted_of(nodes: Sequence[FileNode], prefix: str = "") -> tuple[list[str], list[NestedColumns]]:
    """The columns to read."""
    plain = [each.name for each in nodes if not each.inner and not each.fault]
    nested = []
    for each in nodes:
        if each.inner and not each.fault:
            key = f"{prefix}{each.name}\0"
            names, inner = wanted_of(list(each.inner.values()), key)
            columns = {f"{key}{name}": name for name in names}
            nested.append(NestedColumns(key, each.name, columns, entries=each.entries, nested=tuple(inner)))
    return plain, nested


def walk(nodes: Sequence[FileNode], prefix: str = "") -> Iterator[tuple[str, FileNode]]:
    """The columns with values, by their names in batches."""
    for each in nodes:
        if each.fault:
            continue
        if each.inner:
            yield from walk(list(each.inner.values()), f"{prefix}{each.name}\0")
        else:
            yield f"{prefix}{each.name}", each
