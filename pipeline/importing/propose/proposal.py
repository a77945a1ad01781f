"""A proposed mapping with its schema as text: YAML with a comment for each guess."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from adalog.pipeline.importing.propose.evidence import Evidence, Guess
from adalog.pipeline.importing.propose.structure import FileNode
from adalog.pipeline.importing.propose.tables import Table, plain_name, tables_of
from adalog.pipeline.importing.read.mapping_reader import format_of

_PLAIN: Final = re.compile(r"[A-Za-z_./][A-Za-z0-9_./*-]*")
_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


def proposed_mapping(paths: Sequence[str], beside: Path) -> str:
    """A mapping that imports files as they stand. beside: the folder of the mapping. Raises ARG_INVALID for files
    that cannot be read."""
    tables = tables_of(paths)
    written = [_Writer(table, tables, beside) for table in tables]
    lines = ["# Proposed from the files' values; each comment has the evidence."]
    forms = [form for each in written for form in each.forms]
    if forms:
        lines += ["schema: |", *(f"  {'[' if not at else ' '}{form}" for at, form in enumerate(forms))]
        lines[-1] += "]"
    lines += ["sources:", *(line for each in written for line in each.lines)]
    return "\n".join(lines) + "\n"


class _Writer:
    """The lines of a table's source, and the forms that declare its attributes."""

    def __init__(self, table: Table, tables: Sequence[Table], beside: Path) -> None:
        self._table = table
        self._taken: set[str] = set()
        self.forms: list[str] = []
        entity = self._entity()
        columns = list(self._columns(table.nodes, "", table.name, "      "))
        source = table.source
        self.lines = [f"  {_text(table.name)}:", f"    path: {_text(_path(table.path, beside))}"]
        if format_of(table.path) != source.format:
            self.lines.append(f"    format: {source.format}")
        if source.options:
            given = ", ".join(f"{name}: {_option(value)}" for name, value in source.options.items())
            self.lines.append(f"    options: {{{given}}}")
        if source.format == "csv" and "header" not in source.options:
            self.lines.append("    # the first row is one of values: some are numbers, or the same")
        if table.malformed:
            self.lines.append(f"    # {table.malformed:,} lines are no rows, and would be rejected")
        self.lines.append(entity)
        if any(not line.lstrip().startswith("#") for line in columns):
            self.lines.append("    attributes:")
        self.lines += columns

    def _entity(self) -> str:
        table = self._table
        if not table.key:
            return "    entity: new  # no column, and no pair of columns, has a value of its own in every row"
        key = table.unique["\0".join(table.key)]
        rows = f"the first {key.rows:,} rows" if key.sampled and key.rows < table.rows else f"{table.rows:,} rows"
        attribute = key_attribute(table)
        self._taken.add(attribute)
        if len(table.key) == 1:
            guess = table.guess(table.key[0])
            assert isinstance(guess, Guess)
            self._declare(attribute, guess.type, unique=True)
            others = [name for name, own in table.unique.items() if own.unique and name != table.key[0]]
            more = (
                f"; so {'is' if len(others) == 1 else 'are'} {', '.join(map(_text, others[:3]))}" if others else ""
            )
            entity = f"{{attribute: {attribute}, column: {_text(table.key[0])}}}"
            return f"    entity: {entity}  # unique in {rows}{_said(more)}"
        self._declare(attribute, "string", unique=True)
        columns = ", ".join(map(_text, table.key))
        return f"    entity: {{attribute: {attribute}, columns: [{columns}]}}  # unique together in {rows}"

    def _columns(self, nodes: Sequence[FileNode], prefix: str, space: str, indent: str) -> Iterator[str]:
        for node in nodes:
            name = f"{prefix}{node.name}"
            if (name,) == self._table.key:
                continue
            if node.fault:
                yield f"{indent}# {_said(node.name)} is left out: {node.fault}"
            elif node.inner:
                yield from self._structs(node, name, space, indent)
            else:
                yield self._value(node, name, space, indent)

    def _structs(self, node: FileNode, name: str, space: str, indent: str) -> Iterator[str]:
        own = plain_name(f"{space}.{node.name}")
        inner = list(self._columns(list(node.inner.values()), f"{name}\0", own, f"{indent}    "))
        if all(line.lstrip().startswith("#") for line in inner):
            yield f"{indent}# {_said(node.name)} is left out: its structs have no columns to map"
            return
        attribute = self._named(space, node.name)
        many = node.many or node.entries
        self._declare(attribute, "ref", many=many, component=True)
        what = "maps" if node.entries else "lists of structs" if node.many else "structs"
        yield f"{indent}{attribute}:  # {what}, as components"
        yield f"{indent}  column: {_text(node.name)}"
        if node.entries:
            yield f"{indent}  entries: true"
        yield f"{indent}  attributes:"
        yield from inner

    def _value(self, node: FileNode, name: str, space: str, indent: str) -> str:
        table, evidence = self._table, self._table.columns[name]
        guess = evidence.found()
        if not isinstance(guess, Guess):
            return f"{indent}# {_said(node.name)} is left out: {_said(guess)}"
        attribute = self._named(space, node.name)
        target = table.refs.get(name)
        column, values = _text(node.name), f"{evidence.values:,} {'values' if evidence.values > 1 else 'value'}"
        if target is not None:
            self._declare(attribute, "ref", many=node.many)
            key = key_attribute(target)
            return f"{indent}{attribute}: {{column: {column}, ref: {key}}}  # of {values} each is in {key}"
        nearly = evidence.nearly()
        guess = nearly or guess
        self._declare(attribute, guess.type, many=node.many)
        note = f"{guess.note or guess.type} in {'all ' * (evidence.values > 1)}{values}"
        if nearly is not None:
            note = _nearly(guess, evidence)
        other = evidence.ambiguous()
        note += f"; they could be {other}, too" if other else ""
        note += "; lists" if node.many else ""
        entries = []
        if guess.notation.pattern is not None:
            entries.append(f"format: {_text(guess.notation.pattern)}")
        if guess.notation.decimal != ".":
            entries.append(f'decimal: "{guess.notation.decimal}"')
        if guess.notation.grouping:
            entries.append(f'grouping: "{guess.notation.grouping}"')
        if guess.rounded:
            entries.append("round: milliseconds")
            note += "; some have more than milliseconds"
        given = f"{{{', '.join([f'column: {column}', *entries])}}}" if entries else column
        return f"{indent}{attribute}: {given}  # {note}"

    def _named(self, space: str, column: str) -> str:
        name = base = f"{space}/{plain_name(column)}"
        number = 2
        while name in self._taken:
            name, number = f"{base}-{number}", number + 1
        self._taken.add(name)
        return name

    def _declare(
        self, attribute: str, kind: str, *, many: bool = False, unique: bool = False, component: bool = False
    ) -> None:
        more = " :db/unique :db.unique/identity" if unique else ""
        more += " :db/cardinality :db.cardinality/many" if many else ""
        more += " :db/isComponent true" if component else ""
        self.forms.append(f"{{:db/ident :{attribute} :db/valueType :db.type/{kind}{more}}}")


def key_attribute(table: Table) -> str:
    """The attribute that names a table's entities."""
    if len(table.key) == 1:
        return f"{table.name}/{plain_name(table.key[0])}"
    return f"{table.name}/key"


def _nearly(guess: Guess, evidence: Evidence) -> str:
    """The evidence of a guess that some texts do not fit."""
    misfits = evidence.misfits[guess]
    samples = ", ".join(json.dumps(each[:40], ensure_ascii=False) for each in misfits.samples)
    fitting = evidence.texts - misfits.count
    first = "the first are " if misfits.count > len(misfits.samples) else ""
    return (
        f"{guess.note or guess.type} in {fitting:,} of {evidence.texts:,} values; rows with the other "
        f"{misfits.count:,} would be rejected: {first}{_said(samples)}"
    )


def _path(path: str, beside: Path) -> str:
    given = Path(path)
    if given.is_absolute():
        return path
    own, there = given.absolute(), beside.absolute()
    try:
        return str(own.relative_to(there))
    except ValueError:
        return str(own)


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _option(value: str) -> str:
    return value if value in ("true", "false") else _text(value)


def _said(text: str) -> str:
    """A text in a comment, which is one line."""
    return "".join(each if each.isprintable() else " " for each in text)
