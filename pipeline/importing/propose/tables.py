"""The tables that files hold: what their columns are, which of these name rows, and which ones refer to others."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from adalog.datalog.errors import invalid_argument
from adalog.pipeline.importing.files.content import UTF8, FileSplit, SourceFile, pieces, reading
from adalog.pipeline.importing.files.csv_files import CsvFiles
from adalog.pipeline.importing.files.json_lines import JsonFiles
from adalog.pipeline.importing.files.options import FileFormat, file_format
from adalog.pipeline.importing.files.rows import RowBatch
from adalog.pipeline.importing.propose.evidence import (
    Evidence,
    Guess,
    KeyEvidence,
    distinct_hashes,
    joined_texts,
    key_texts,
    pairs_of,
)
from adalog.pipeline.importing.propose.structure import FileNode, of_arrow, walk, wanted_of
from adalog.pipeline.importing.read.mapping import NEW, ROWS, RowSource
from adalog.pipeline.importing.read.mapping_reader import format_of
from adalog.pipeline.importing.read.runner import local_files, no_files, paths_of
from adalog.pipeline.importing.read.source_files import ShareReader

# Columns of which pairs are tried as keys.
_MOST_PARTS: Final = 8
_SEPARATORS: Final = ",;\t|"
_HEAD: Final = 1 << 16
_NUMERIC: Final = re.compile(r"[-+]?[0-9.,:/-]+")


@dataclass
class Table:
    """A file, or a folder of files of one kind. columns: what is known of columns with values, by their names in
    batches. key: the columns that name a row. refs: by column, the table whose key its values are."""

    name: str
    path: str
    source: RowSource
    form: FileFormat
    files: Sequence[SourceFile]
    nodes: list[FileNode]
    rows: int = 0
    malformed: int = 0
    columns: dict[str, Evidence] = field(default_factory=dict)
    unique: dict[str, KeyEvidence] = field(default_factory=dict)
    key: tuple[str, ...] = ()
    refs: dict[str, Table] = field(default_factory=dict)

    def guess(self, name: str) -> Guess | str:
        return self.columns[name].found()

    def key_hashes(self) -> NDArray[np.int64] | None:
        """Those of the values of a key of one column; None if not all are known."""
        if len(self.key) != 1 or self.unique[self.key[0]].sampled:
            return None
        return self.unique[self.key[0]].hashes()

    def batches(self) -> Iterator[RowBatch]:
        names, nested = wanted_of(self.nodes)
        reader = ShareReader(self.form, {name: name for name in names}, frozenset(), tuple(nested))
        for file in self.files:
            yield from reader.batches((FileSplit(file),))


def tables_of(paths: Sequence[str]) -> list[Table]:
    """The tables of files and folders. Raises ARG_INVALID for what is none."""
    tables: list[Table] = []
    for path in paths:
        table = _opened(path, {each.name for each in tables})
        _look(table)
        if not table.rows:
            raise invalid_argument(f"{path} has no rows to propose a mapping for")
        tables.append(table)
    for table in tables:
        if not table.key:
            table.key = _pair(table)
    for table in tables:
        _refer(table, tables)
    return tables


def plain_name(text: str) -> str:
    """A name as a part of a keyword."""
    name = re.sub(r"[^\w.-]+", "-", text.strip()).strip("-.")
    return name if name and not name[0].isdigit() and name != "_" else f"x{name}"


def _opened(path: str, taken: set[str]) -> Table:
    stem = Path(path.rstrip("/")).name.split(".")[0]
    name = base = plain_name(stem) if plain_name(stem) != "db" else "db-data"
    number = 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    source = RowSource(name, path, "", {}, NEW, ())
    found = local_files(source, paths_of(source))
    if not found:
        raise no_files(source)
    form = format_of(path) or format_of(found[0].name)
    if form not in ROWS:
        raise invalid_argument(f"{path} has an unknown format; mappings are proposed for {', '.join(ROWS)}")
    files = [
        SourceFile(at, each.file.path, each.name, each.file.size, each.file.partitions)
        for at, each in enumerate(found)
    ]
    options = _options(form, files)
    reader = file_format(form, path, options)
    source = RowSource(name, path, form, options, NEW, ())
    nodes = _nodes(reader, form, files)
    inner = dict.fromkeys(key for file in files for key, _ in file.partitions)
    nodes = [each for each in nodes if each.name not in inner] + [FileNode(key, values=True) for key in inner]
    return Table(name, path, source, reader, files, nodes)


def _options(form: str, files: Sequence[SourceFile]) -> dict[str, str]:
    """What the files themselves say of how they are written."""
    if form == "parquet":
        return {}
    encoding = _encoding(files)
    options = {} if encoding == "utf-8" else {"encoding": encoding}
    head = _head(files[0], encoding).decode("utf-8", "ignore")
    if form == "jsonl":
        start = head.lstrip()
        line = start.split("\n", 1)[0].rstrip()
        return options | ({"multiLine": "true"} if start.startswith("[") or not line.endswith("}") else {})
    head = head.lstrip("\r\n")
    line = re.sub('"[^"]*"', "", head).split("\n", 1)[0]
    default = "\t" if ".tsv" in files[0].path.lower() else ","
    sep = max(_SEPARATORS, key=lambda each: (line.count(each), each == default))
    if sep != default and line.count(sep):
        options["sep"] = sep
    if _has_header(head, options.get("sep", default)):
        options["header"] = "true"
    return options


def _has_header(head: str, sep: str) -> bool:
    """Whether the first row has names: no numbers, and none twice unless numbers are below. Some may be empty."""
    rows = csv.reader(io.StringIO(head, newline=""), delimiter=sep)
    first, second = ([cell.strip() for cell in next(rows, ())] for _ in range(2))
    names = [cell for cell in first if cell]
    if not names or any(map(_NUMERIC.fullmatch, names)):
        return False
    return len(set(names)) == len(names) or any(map(_NUMERIC.fullmatch, second))


def _encoding(files: Sequence[SourceFile]) -> str:
    """That of all files; texts that are not UTF-8 rarely say what they are."""
    if _head(files[0], UTF8).startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for name in ("utf-8", "windows-1252"):
        if all(_is_encoded(file, name) for file in files):
            return name
    return "latin1"


def _is_encoded(file: SourceFile, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    with reading(file):
        try:
            for piece in pieces(FileSplit(file), UTF8):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _head(file: SourceFile, encoding: str) -> bytes:
    with reading(file):
        return next(pieces(FileSplit(file), encoding), b"")[:_HEAD]


def _nodes(form: FileFormat, kind: str, files: Sequence[SourceFile]) -> list[FileNode]:
    root = FileNode("")
    for file in files:
        with reading(file):
            if kind == "parquet":
                with pq.ParquetFile(file.path) as parquet:
                    for each in parquet.schema_arrow:
                        root.inner.setdefault(each.name, FileNode(each.name)).merge(of_arrow(each.name, each.type))
            elif isinstance(form, JsonFiles):
                for objects in form.objects(FileSplit(file)):
                    for row in objects:
                        for name, value in row.items():
                            root.inner.setdefault(name, FileNode(name)).add(value)
            else:
                names = form.names(file) if isinstance(form, CsvFiles) else []
                for name in names:
                    root.inner.setdefault(name, FileNode(name, values=True))
                    if names.count(name) > 1:
                        root.inner[name].fault = "several columns have this name"
    nodes = list(root.inner.values())
    for each in nodes:
        each.settle()
    return nodes


def _look(table: Table) -> None:
    """Reads all values, once."""
    cells = table.source.format == "csv"
    names = dict(walk(table.nodes))
    table.columns = {name: Evidence(cells, is_exact=node.is_exact) for name, node in names.items()}
    table.unique = {name: KeyEvidence() for name in names if "\0" not in name}
    for batch in table.batches():
        table.rows += batch.size
        table.malformed += len(batch.malformed)
        for name, evidence in table.columns.items():
            evidence.add(batch.columns[name])
        for name, key in table.unique.items():
            key.add(key_texts(batch.columns[name]) if key.complete else None, batch.size)
    for key in table.unique.values():
        key.hashes()
    fit = [name for name, key in table.unique.items() if key.unique and _is_key(table.guess(name))]
    if fit:
        table.key = (min(fit, key=lambda name: _rank(name, table)),)


def _is_key(guess: Guess | str) -> bool:
    return isinstance(guess, Guess) and guess.type in ("string", "long", "bigint", "uuid")


def _is_part(guess: Guess | str) -> bool:
    return _is_key(guess) or (isinstance(guess, Guess) and guess.type == "instant")


def _rank(name: str, table: Table) -> int:
    """How much a name sounds like a key; the least one most."""
    short, own = letters(name), singular(table.name)
    if short in ("id", f"{own}id", f"{own}key", "key"):
        return 0
    if re.search(r"(id|key|code|uuid|guid|number|no|nr)$", short):
        return 1
    return 2 if short in ("name", own, f"{own}name", "slug") else 3


def letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.lower())


def singular(name: str) -> str:
    short = letters(name)
    if short.endswith("ies"):
        return f"{short[:-3]}y"
    return short.removesuffix("s")


def _pair(table: Table) -> tuple[str, ...]:
    """Two columns that name a row together."""
    parts = [name for name, key in table.unique.items() if key.complete and _is_part(table.guess(name))]
    parts = sorted(sorted(parts, key=lambda name: _rank(name, table))[:_MOST_PARTS], key=list(table.unique).index)
    keys = {pair: KeyEvidence() for pair in pairs_of(parts)}
    for batch in table.batches() if keys else ():
        texts = {name: key_texts(batch.columns[name]) for name in parts}
        for (first, second), key in keys.items():
            key.add(joined_texts(texts[first], texts[second]) if key.unique else None, batch.size)
        keys = {pair: key for pair, key in keys.items() if key.unique}
        if not keys:
            return ()
    for key in keys.values():
        key.hashes()
    fit = [pair for pair, key in keys.items() if key.unique]
    if not fit:
        return ()
    chosen = min(fit, key=lambda pair: sum(_rank(name, table) for name in pair))
    table.unique["\0".join(chosen)] = keys[chosen]
    return chosen


def _refer(table: Table, tables: Sequence[Table]) -> None:
    """Finds the columns whose values are all keys of a table."""
    left: dict[str, list[Table]] = {}
    for name in table.unique:
        if "\0" in name or name in table.key:
            continue
        guess = table.guess(name)
        own = [each for each in tables if isinstance(guess, Guess) and _may_refer(name, guess, table, each)]
        if own:
            left[name] = own
    for batch in table.batches() if left else ():
        for name, targets in list(left.items()):
            texts = [part.values.drop_null().cast(pa.string()) for part in batch.columns[name].parts]
            hashes = distinct_hashes(pa.chunked_array(texts, pa.string()))
            left[name] = [each for each in targets if _all_in(hashes, each.key_hashes())]
            if not left[name]:
                del left[name]
    table.refs = {name: min(own, key=lambda each: not _sounds(name, table, each)) for name, own in left.items()}


def _may_refer(name: str, guess: Guess, table: Table, target: Table) -> bool:
    if target.key_hashes() is None or guess.type not in ("string", "long"):
        return False
    own = target.guess(target.key[0])
    if not isinstance(own, Guess) or own.type != guess.type:
        return False
    # Small numbers are in many a key.
    return _sounds(name, table, target) or (guess.type == "string" and table.columns[name].values > 1)


def _sounds(name: str, table: Table, target: Table) -> bool:
    """Whether a name says that its values are keys of a table."""
    short, key, other = letters(name), letters(target.key[0]), singular(target.name)
    if short in (other, f"{other}s", f"{other}id", f"{other}key", f"{other}{key}"):
        return True
    if key in ("id", "key", "code", "name", "no", "number"):
        return short.endswith(f"{other}{key}") or (table is target and short.endswith(key))
    return short.endswith(key)


def _all_in(hashes: NDArray[np.int64], known: NDArray[np.int64] | None) -> bool:
    if known is None or not len(known):
        return False
    at = np.minimum(known.searchsorted(hashes), len(known) - 1)
    return bool((known[at] == hashes).all())
