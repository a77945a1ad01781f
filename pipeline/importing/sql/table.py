"""A table of a SQL database, or a query's rows: where it is, and which of its rows are read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from adalog.store.files.addresses import shown

PREFIX: Final = "jdbc:"

_HIDDEN: Final = "***"
# Entries of a mapping that stand for options of Spark.
_ENTRIES: Final = {
    **dict.fromkeys(("url", "path"), "jdbc"),
    **dict.fromkeys(("dbtable", "table"), "table"),
    "query": "query",
    "user": "user",
    "password": "password",
    "driver": "driver",
    **dict.fromkeys(("partitioncolumn", "lowerbound", "upperbound", "numpartitions"), "partition"),
    "customschema": "type",
}


@dataclass(frozen=True, slots=True)
class SqlPartition:
    """Rows are read by `count` tasks, each of which reads a range of a column of whole numbers, between bounds if
    these are given."""

    column: str
    count: int
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class SqlTable:
    """url: of JDBC, without a password. rows: what stands after FROM. variable: of the environment, with the
    password. drivers: paths of jars. since: the column that says which rows are new. after: only rows with greater
    values there are new. options: of Spark and of the driver."""

    url: str
    rows: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    variable: str | None = None
    drivers: tuple[str, ...] = ()
    partition: SqlPartition | None = None
    since: str | None = None
    after: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return shown(self.url)

    @property
    def own_columns(self) -> Collection[str]:
        """The columns by which rows are selected."""
        return [*([self.partition.column] if self.partition else ()), *([self.since] if self.since else ())]

    def hidden(self, text: str) -> str:
        """A message of Spark or a driver without the password."""
        return text.replace(self.password, _HIDDEN) if self.password else text


def check_url(url: str) -> None:
    """Raises ValueError for what is no address of JDBC, or has a password."""
    if not url.lower().startswith(PREFIX) or ":" not in url[len(PREFIX) :]:
        raise ValueError("`jdbc` is an address of JDBC, as jdbc:postgresql://host/database")
    if "password=" in url.lower() or "pwd=" in url.lower() or "@" in url.partition("//")[2].partition("/")[0]:
        raise ValueError("the address has a password or a user; say `user`, and `password: {env: NAME}`")


def check_sql_option(name: str) -> None:
    """Raises ValueError for an option that a mapping says otherwise."""
    if name.lower() in _ENTRIES:
        raise ValueError(f"{name} is no option here: say `{_ENTRIES[name.lower()]}`")
