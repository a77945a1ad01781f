"""Reads a mapping from YAML: refused with the place in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any, Final, NoReturn

import yaml

from adalog.datalog.edn.scalars import Malformed
from adalog.datalog.errors import AdalogError, invalid_argument, limit_exceeded
from adalog.datalog.hints import nearest, proposed
from adalog.datalog.values import Keyword
from adalog.pipeline.importing.files.notation import Notation
from adalog.pipeline.importing.files.options import check_option, has_option
from adalog.pipeline.importing.read.mapping import (
    DATOMS,
    FORMATS,
    KAFKA,
    NEW,
    ROWS,
    SQL,
    TAKING,
    AnySource,
    ColumnMapping,
    DatomSource,
    DeleteRule,
    ImportPlan,
    RowSource,
    StructMapping,
    SyncRule,
    mapping_text,
)
from adalog.pipeline.importing.read.mapping_places import MappingPlaces
from adalog.pipeline.importing.sql.table import SqlPartition, SqlTable, check_sql_option, check_url
from adalog.store.files.addresses import check_name
from adalog.store.values.attribute import VALUE_TYPES
from adalog.store.values.scalars import keyword_named

_SIZE: Final = 1 << 20
_NULL: Final = "tag:yaml.org,2002:null"
# What others call the types.
_TYPES: Final = {
    **dict.fromkeys(("int", "integer", "int32", "int64", "bigint32", "smallint"), "long"),
    **dict.fromkeys(("text", "str", "varchar", "char"), "string"),
    **dict.fromkeys(("number", "real", "float64"), "double"),
    **dict.fromkeys(("date", "datetime", "time", "timestamp"), "instant"),
    **dict.fromkeys(("decimal", "numeric"), "bigdec"),
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("guid",), "uuid"),
    **dict.fromkeys(("binary", "blob"), "bytes"),
    **dict.fromkeys(("url",), "uri"),
    **dict.fromkeys(("interval", "period", "timedelta"), "duration"),
}
# A column with one of these has structs.
_STRUCTS: Final = ("entity", "attributes", "entries")
# The entries that say how texts are written, with their fields.
_NOTATION: Final = {"format": "pattern", "zone": "zone", "decimal": "decimal", "grouping": "grouping"}
_OF_TABLES: Final = ("table", "query", "user", "password", "driver", "partition", "since")
_MOST_PARTS: Final = 1000
_PERCENT: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,4})?) ?%")


def read_mapping(file: Path, paths: Mapping[str, str]) -> ImportPlan:
    """The mapping of a file. paths: of sources by name, instead of those in the file. Raises ARG_INVALID for a file
    that is not a mapping."""
    return mapping_of(mapping_text(file), file, paths, os.environ)


def mapping_of(
    text: str, file: Path, paths: Mapping[str, str], environ: Mapping[str, str] | None = None
) -> ImportPlan:
    """The mapping of the file's text. Paths are relative to the file, which is not read. environ: the variables
    with passwords; None: no source is read with this plan."""
    if len(text) > _SIZE:
        raise limit_exceeded(f"{MappingPlaces(file, None).name} is larger than {_SIZE:,} characters")
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f", line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise invalid_argument(f"{file}{at}: {error.problem or error.context}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise invalid_argument(f"{MappingPlaces(file, None).name} is not YAML: {error}") from None
    return _Reader(file, MappingPlaces(file, node), environ).mapping(node, paths)


class _Reader:
    def __init__(self, file: Path, places: MappingPlaces, environ: Mapping[str, str] | None) -> None:
        self._file = file
        self._places = places
        self._environ = environ
        self._values = yaml.SafeLoader("")

    def mapping(self, node: yaml.Node | None, paths: Mapping[str, str]) -> ImportPlan:
        if node is None:
            raise invalid_argument(f"{self._places.name} is empty; a mapping has `sources`")
        entries = self._entries(node, "a mapping", {"schema", "sources"})
        if "sources" not in entries:
            self._refuse(node, "a mapping has `sources`")
        schema = self._optional(entries, "schema")
        named = list(self._pairs(entries["sources"], "`sources`"))
        if not named:
            self._refuse(entries["sources"], "`sources` names none")
        known = [name for _, name, _ in named]
        for name in sorted(set(paths) - set(known)):
            raise invalid_argument(
                f"there is no source {name}{nearest(name, known)} in {self._places.name}; it has {', '.join(known)}"
            )
        every = [self._source(name, each, paths.get(name)) for _, name, each in named]
        rows = tuple(each for each in every if isinstance(each, RowSource))
        datoms = tuple(each for each in every if isinstance(each, DatomSource))
        node = entries["sources"]
        if rows and datoms:
            self._refuse(node, f"{rows[0].name} has rows and {datoms[0].name} datoms; import one after the other")
        if len({each.keep for each in datoms}) > 1:
            self._refuse(node, "`ids` are kept of all sources or of none")
        if len(datoms) > 1 and any(each.format == "adalog" for each in datoms):
            self._refuse(node, "what was exported is imported alone, as its ids are its own")
        if schema is not None and schema.lstrip().startswith("["):
            return ImportPlan(None, rows, datoms, sent=schema)
        return ImportPlan(None if schema is None else self._file.parent / schema, rows, datoms)

    def _source(self, name: str, node: yaml.Node, path: str | None) -> AnySource:
        entries = self._entries(
            node,
            f"source {name}",
            {"path", "format", "options", "entity", "attributes", "ids", "delete", "sync", "jdbc", *_OF_TABLES},
        )
        if "jdbc" in entries:
            return self._table(name, node, entries, path)
        for unwanted in [each for each in _OF_TABLES if each in entries]:
            self._refuse(entries[unwanted], f"`{unwanted}` goes with `jdbc`, the address of a SQL database")
        given = self._optional(entries, "path")
        if path is None and given is None:
            self._refuse(node, f"source {name} has no `path`; give one here, or {name}=PATH on the command line")
        form = self._optional(entries, "format")
        where = path if path is not None else str(given) if form == KAFKA else self._beside(str(given))
        try:
            check_name(where)
        except AdalogError as error:
            self._refuse(entries.get("path", node), error.message)
        form = form or format_of(where)
        known = (*ROWS, *DATOMS)
        if form is None:
            self._refuse(node, f"source {name} needs a `format`: {', '.join(known)}")
        if form not in (*known, KAFKA):
            hint, last = _meant(form, known, FORMATS), known[-1]
            self._refuse(
                entries["format"], f"there is no format {form}{hint}; it is {', '.join(known[:-1])} or {last}"
            )
        if form in DATOMS:
            return self._datoms(name, node, entries, where, form)
        if "ids" in entries:
            self._refuse(entries["ids"], f"`ids` goes with the formats {' and '.join(DATOMS)}")
        return self._rows(name, node, entries, where, form)

    def _rows(
        self,
        name: str,
        node: yaml.Node,
        entries: Mapping[str, yaml.Node],
        where: str,
        form: str,
        sql: SqlTable | None = None,
    ) -> RowSource:
        if "entity" not in entries:
            self._refuse(node, f"source {name} has no `entity`: the attribute and column that say whose row it is")
        options = {} if sql is not None else self._options(entries, form)
        entity = self._entity(entries["entity"])
        columns = self._attributes(entries, entity, nests=form not in ("csv", SQL, *DATOMS))
        delete = self._delete(entries["delete"]) if "delete" in entries else None
        sync = self._sync(entries["sync"]) if "sync" in entries else None
        for unwanted in {"delete", "sync"} & entries.keys() if entity == NEW else ():
            self._refuse(entries[unwanted], f"`{unwanted}` needs an `entity` that is known again, and not new ones")
        if delete is not None and delete.column is None:
            for unwanted in {"attributes", "sync"} & entries.keys():
                self._refuse(entries[unwanted], f"each row of source {name} retracts its entity (`delete: true`)")
        if sync is not None and form == KAFKA:
            self._refuse(entries["sync"], f"a topic is no table, and source {name} can have no `sync`")
        return RowSource(name, where, form, options, entity, columns, delete=delete, sync=sync, sql=sql)

    def _table(self, name: str, node: yaml.Node, entries: Mapping[str, yaml.Node], path: str | None) -> RowSource:
        """A source that is a table of a SQL database."""
        for unwanted in {"path", "format", "ids"} & entries.keys():
            self._refuse(entries[unwanted], f"`{unwanted}` does not go with `jdbc`")
        if path is not None:
            self._refuse(entries["jdbc"], f"source {name} is no file, and takes no {name}=PATH")
        if ("table" in entries) == ("query" in entries):
            self._refuse(node, f"source {name} has either a `table` or a `query`")
        if {"since", "sync"} <= entries.keys():
            self._refuse(entries["since"], "`since` reads a part of the table, and `sync` needs all of it")
        url = self._text(entries["jdbc"], "`jdbc`")
        try:
            check_name(url)
            check_url(url)
        except (AdalogError, ValueError) as error:
            self._refuse(entries["jdbc"], str(error))
        rows = self._optional(entries, "table")
        if rows is None:
            rows = f"({self._text(entries['query'], '`query`').strip().rstrip(';')}) adalog_query"
        options = {}
        for key, option, value in self._pairs(entries["options"], "`options`") if "options" in entries else ():
            try:
                check_sql_option(option)
            except ValueError as error:
                self._refuse(key, str(error))
            options[option] = self._option(value)
        password, variable = self._password(entries["password"]) if "password" in entries else (None, None)
        table = SqlTable(
            url,
            rows,
            self._optional(entries, "user"),
            password,
            variable,
            self._drivers(entries["driver"]) if "driver" in entries else (),
            self._partition(entries["partition"]) if "partition" in entries else None,
            self._optional(entries, "since"),
            options=options,
        )
        return self._rows(name, node, entries, url, SQL, table)

    def _password(self, node: yaml.Node) -> tuple[str | None, str | None]:
        """The password, and the variable that it is in, if it is in one."""
        if isinstance(node, yaml.ScalarNode):
            return self._text(node, "`password`"), None
        entries = self._entries(node, "`password`", {"env"}, {"env"})
        variable = self._text(entries["env"], "`env`")
        if self._environ is None:
            return None, variable
        if not self._environ.get(variable):
            self._refuse(entries["env"], f"the environment variable {variable} is not set")
        return self._environ[variable], variable

    def _drivers(self, node: yaml.Node) -> tuple[str, ...]:
        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        return tuple(self._beside(self._text(each, "a driver, the path of a jar,")) for each in nodes)

    def _partition(self, node: yaml.Node) -> SqlPartition:
        entries = self._entries(node, "`partition`", {"column", "count", "from", "to"}, {"column", "count"})
        count = self._whole(entries["count"])
        if not 0 < count <= _MOST_PARTS:
            self._refuse(entries["count"], f"`count` is a whole number from 1 to {_MOST_PARTS}")
        first = self._whole(entries["from"]) if "from" in entries else None
        last = self._whole(entries["to"]) if "to" in entries else None
        if first is not None and last is not None and first > last:
            self._refuse(entries["from"], "`from` is above `to`")
        return SqlPartition(self._text(entries["column"], "`column`"), count, first, last)

    def _whole(self, node: yaml.Node) -> int:
        number = self._value(node)
        if type(number) is not int:
            self._refuse(node, "this is a whole number")
        return number

    def _datoms(
        self, name: str, node: yaml.Node, entries: Mapping[str, yaml.Node], path: str, form: str
    ) -> DatomSource:
        for unwanted in ("entity", "attributes", "delete", "sync"):
            if unwanted in entries:
                self._refuse(entries[unwanted], f"the datoms of source {name} say what they are about")
        ids = self._text(entries["ids"], "`ids`") if "ids" in entries else "new"
        if ids not in ("new", "keep"):
            self._refuse(entries["ids"], "`ids` is keep, or new")
        return DatomSource(name, path, form, self._options(entries, form), ids == "keep")

    def _delete(self, node: yaml.Node) -> DeleteRule | None:
        if isinstance(node, yaml.ScalarNode):
            given = self._value(node)
            if not isinstance(given, bool):
                self._refuse(node, "`delete` is true, or has `when`: {column: op, equals: D}")
            return DeleteRule() if given else None
        when = self._entries(node, "`delete`", {"when"}, {"when"})["when"]
        entries = self._entries(when, "`when`", {"column", "equals"}, {"column", "equals"})
        equals = self._value(entries["equals"])
        if type(equals) not in (str, bool, int, float):
            self._refuse(entries["equals"], "`equals` is a text, a number, true or false")
        return DeleteRule(self._text(entries["column"], "`column`"), equals, self._places.of(entries["column"]))

    def _sync(self, node: yaml.Node) -> SyncRule | None:
        if isinstance(node, yaml.ScalarNode):
            given = self._value(node)
            if not isinstance(given, bool):
                self._refuse(node, "`sync` is true, or has `most`: the share of entities that may go, as 10%")
            return SyncRule() if given else None
        most = self._entries(node, "`sync`", {"most"}, {"most"})["most"]
        text = _PERCENT.fullmatch(self._text(most, "`most`"))
        share = float(text[1]) / 100 if text is not None else 2.0
        if share > 1:
            self._refuse(most, "`most` is the share of entities that may go, from 0% to 100%")
        return SyncRule(share)

    def _choice(self, entries: Mapping[str, yaml.Node], name: str, default: str, other: str) -> bool:
        """Whether an entry is the other one of two words."""
        given = self._text(entries[name], f"`{name}`") if name in entries else default
        if given not in (default, other):
            self._refuse(entries[name], f"`{name}` is {default}, or {other}")
        return given == other

    def _options(self, entries: Mapping[str, yaml.Node], form: str) -> dict[str, str]:
        """The options of a source. Those of other formats are left out: a path of the command line may be of
        another format than the mapping's."""
        given = {}
        for key, name, node in self._pairs(entries["options"], "`options`") if "options" in entries else ():
            value = self._option(node)
            # A name with a dot configures what Spark uses.
            if form != KAFKA and name.lower() not in TAKING and "." not in name:
                if not has_option(form, name) and any(has_option(each, name) for each in ROWS):
                    continue
                try:
                    check_option(form, name, value)
                except ValueError as error:
                    self._refuse(node if has_option(form, name) else key, str(error))
            given[name] = value
        return given

    def _beside(self, path: str) -> str:
        """A path relative to the mapping, unless it is an address."""
        return path if "://" in path or path.startswith("/") else str(self._file.parent / path)

    def _entity(self, node: yaml.Node) -> ColumnMapping:
        if isinstance(node, yaml.ScalarNode) and node.value == "new":
            return NEW
        if not isinstance(node, yaml.MappingNode):
            self._refuse(
                node, "`entity` is an attribute and a column, as {attribute: person/id, column: id}, or new"
            )
        known = {"attribute", "column", "columns", "type", *_NOTATION}
        entries = self._entries(node, "`entity`", known, {"attribute"})
        if ("column" in entries) == ("columns" in entries):
            self._refuse(node, "`entity` has a `column`, or several `columns`")
        return ColumnMapping(
            self._attribute(entries["attribute"]),
            self._optional(entries, "column"),
            type=self._type(entries),
            place=self._places.of(node),
            columns=self._columns(entries),
            notation=self._notation(entries),
        )

    def _columns(self, entries: Mapping[str, yaml.Node]) -> tuple[str, ...]:
        """The columns that give a value together."""
        node = entries.get("columns")
        if node is None:
            return ()
        for unwanted in sorted({"column", "type", "split", "mode", "round", *_NOTATION} & entries.keys()):
            self._refuse(entries[unwanted], f"`{unwanted}` does not go with `columns`, whose texts are joined")
        if not isinstance(node, yaml.SequenceNode) or len(node.value) < 2:
            self._refuse(node, "`columns` is a list of two columns or more")
        return tuple(self._text(each, "a column") for each in node.value)

    def _attributes(
        self, entries: Mapping[str, yaml.Node], entity: ColumnMapping, *, nests: bool
    ) -> tuple[ColumnMapping, ...]:
        """nests: columns may have structs."""
        if "attributes" not in entries:
            return ()
        pairs = self._pairs(entries["attributes"], "`attributes`")
        columns = tuple(self._column(*pair, nests=nests) for pair in pairs)
        if any(column.attribute == entity.attribute for column in columns):
            self._refuse(entries["attributes"], f"{entity.attribute} is given by `entity`")
        return columns

    def _structs(self, key: yaml.Node, name: str, node: yaml.Node, nests: bool) -> ColumnMapping:
        """A column of structs, each of which describes an entity."""
        known = {"column", "entity", "attributes", "entries", "mode", "nulls"}
        entries = self._entries(node, f"{name}, whose values are entities,", known, {"column", "attributes"})
        if not nests:
            self._refuse(
                node, "columns of CSV have no structs; `entity` and `attributes` go with jsonl and parquet"
            )
        entity = self._entity(entries["entity"]) if "entity" in entries else NEW
        is_map = self._value(entries["entries"]) if "entries" in entries else False
        if not isinstance(is_map, bool):
            self._refuse(entries["entries"], "`entries` is true if the column is a map, or false")
        columns = self._attributes(entries, entity, nests=nests)
        return ColumnMapping(
            self._keyword(key, name),
            self._text(entries["column"], "`column`"),
            ref=None if entity == NEW else entity.attribute,
            create=entity != NEW,
            replaces=self._choice(entries, "mode", "add", "replace"),
            retracts=self._choice(entries, "nulls", "keep", "retract"),
            place=self._places.of(key),
            structs=StructMapping(entity, columns, is_map),
        )

    def _column(self, key: yaml.Node, name: str, node: yaml.Node, *, nests: bool) -> ColumnMapping:
        attribute = self._keyword(key, name)
        if isinstance(node, yaml.ScalarNode):
            return ColumnMapping(attribute, self._text(node, name), place=self._places.of(key))
        if isinstance(node, yaml.MappingNode) and any(
            isinstance(each, yaml.ScalarNode) and each.value in _STRUCTS for each, _ in node.value
        ):
            return self._structs(key, name, node, nests)
        known = {
            *_STRUCTS,
            "column",
            "columns",
            "type",
            "split",
            "ref",
            "create",
            "value",
            "mode",
            "nulls",
            "round",
            *_NOTATION,
        }
        entries = self._entries(node, name, known)
        if ("column" in entries or "columns" in entries) == ("value" in entries):
            self._refuse(node, f"{name} has either a `column` or a `value`")
        for needing in {"mode", "nulls", *_NOTATION} & entries.keys() if "value" in entries else ():
            self._refuse(entries[needing], f"`{needing}` goes with `column`")
        if "create" in entries and "ref" not in entries:
            self._refuse(entries["create"], "`create` goes with `ref`")
        split = self._optional(entries, "split")
        if split == "":
            self._refuse(entries["split"], "`split` is empty")
        value = self._value(entries["value"]) if "value" in entries else None
        if "value" in entries and type(value) not in (str, bool, int, float):
            self._refuse(entries["value"], "`value` is one text, number, or true or false; a date stands in quotes")
        create = self._value(entries["create"]) if "create" in entries else False
        if not isinstance(create, bool):
            self._refuse(entries["create"], "`create` is true or false")
        return ColumnMapping(
            attribute,
            self._optional(entries, "column"),
            value,
            self._type(entries),
            split,
            self._attribute(entries["ref"]) if "ref" in entries else None,
            create,
            self._choice(entries, "mode", "add", "replace"),
            self._choice(entries, "nulls", "keep", "retract"),
            self._places.of(key),
            self._columns(entries),
            self._round(entries),
            self._notation(entries),
        )

    def _round(self, entries: Mapping[str, yaml.Node]) -> bool:
        if "round" not in entries:
            return False
        if self._text(entries["round"], "`round`") != "milliseconds":
            self._refuse(entries["round"], "`round` is milliseconds")
        return True

    def _notation(self, entries: Mapping[str, yaml.Node]) -> Notation:
        given = {name: self._text(entries[key], f"`{key}`") for key, name in _NOTATION.items() if key in entries}
        try:
            return Notation(**given)
        except ValueError as error:
            # Its message begins with the entry's name.
            self._refuse(entries[str(error).split("`")[1]], str(error))

    def _type(self, entries: Mapping[str, yaml.Node]) -> str | None:
        if "type" not in entries:
            return None
        name = self._text(entries["type"], "`type`").removeprefix(":").removeprefix("db.type/")
        if name not in VALUE_TYPES - {"ref", "tuple"}:
            known = sorted(VALUE_TYPES - {"ref", "tuple"})
            hint, every = _meant(name, known, _TYPES), ", ".join(known)
            self._refuse(entries["type"], f"there is no type {name} to read values as{hint}; it is {every}")
        return name

    def _attribute(self, node: yaml.Node) -> Keyword:
        return self._keyword(node, self._text(node, "an attribute"))

    def _keyword(self, node: yaml.Node, text: str) -> Keyword:
        try:
            return keyword_named(text)
        except Malformed as error:
            self._refuse(node, str(error))

    def _option(self, node: yaml.Node) -> str:
        value = self._value(node)
        if isinstance(value, bool):
            return "true" if value else "false"
        if value is None or isinstance(value, dict | list):
            self._refuse(node, "an option is one value")
        return str(value)

    def _optional(self, entries: Mapping[str, yaml.Node], name: str) -> str | None:
        return self._text(entries[name], f"`{name}`") if name in entries else None

    def _text(self, node: yaml.Node, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode):
            self._refuse(node, f"{what} is text, and neither a list nor a map")
        if node.tag == _NULL:
            more = f"; {node.value} as a text stands in quotes" if node.value else ""
            self._refuse(node, f"{what} is empty{more}")
        return str(node.value)

    def _value(self, node: yaml.Node) -> Any:
        try:
            return self._values.construct_object(node, deep=True)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            self._refuse(node, str(getattr(error, "problem", None) or error))

    def _entries(
        self, node: yaml.Node, what: str, known: set[str], needed: Set[str] = frozenset()
    ) -> dict[str, yaml.Node]:
        entries = {}
        for key_node, key, value in self._pairs(node, what):
            if key not in known:
                hint = nearest(key, known)
                self._refuse(key_node, f"{what} has no `{key}`{hint}; it has {', '.join(sorted(known))}")
            entries[key] = value
        for missing in sorted(needed - entries.keys()):
            self._refuse(node, f"{what} has no `{missing}`")
        return entries

    def _pairs(self, node: yaml.Node, what: str) -> Iterator[tuple[yaml.Node, str, yaml.Node]]:
        if not isinstance(node, yaml.MappingNode):
            self._refuse(node, f"{what} is a map of names to what they stand for")
        seen = set()
        for key, value in node.value:
            name = self._text(key, "a name")
            if name in seen:
                self._refuse(key, f"{name} is given twice")
            seen.add(name)
            yield key, name, value

    def _refuse(self, node: yaml.Node, message: str) -> NoReturn:
        raise invalid_argument(f"{self._places.of(node)}: {message}")


def _meant(name: str, known: Iterable[str], others: Mapping[str, str]) -> str:
    """` (did you mean csv?)` for what a name means elsewhere, or for a misspelling."""
    other = others.get(name.lower())
    return proposed(other) if other is not None else nearest(name, known)


def format_of(path: str) -> str | None:
    """What the extension says, compression left out."""
    name = path.rstrip("/").rsplit("/", 1)[-1].lower()
    for end in (".gz", ".bz2", ".zst", ".lz4"):
        name = name.removesuffix(end)
    return FORMATS.get(name.rsplit(".", 1)[-1])
