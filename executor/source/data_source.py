"""`spark.read.format("adalog")`: its options, and the reader that they choose.

Spark makes one in a Python process of its own, and pickles it for those that plan and read.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import types
from pyspark.sql.datasource import DataSource, DataSourceReader

from adalog.datalog import edn
from adalog.datalog.errors import AdalogError, invalid_argument
from adalog.datalog.values import Keyword
from adalog.executor.source import answers, datoms
from adalog.executor.source.data_folder import DataFolder, moment
from adalog.executor.source.refusals import refusing

_KNOWN: Final = ("data", "query", "args", "asof", "attribute", "history", "rowsperpartition")
_SHOWN: Final = "data, query, args, asOf, attribute, history, rowsPerPartition"


class AdalogSource(DataSource):
    """Datoms, or with the option `query` the rows of an answer."""

    datoms_reader: type[datoms.DatomsReader] = datoms.DatomsReader

    @classmethod
    def name(cls) -> str:
        return "adalog"

    @refusing
    def schema(self) -> types.StructType:
        query, place = self.options.get("query"), self._place()
        return datoms.schema_of(place, self._attribute()) if query is None else answers.schema_of(place, query)

    @refusing
    def reader(self, schema: types.StructType) -> DataSourceReader:
        query, place = self.options.get("query"), self._place()
        if query is not None:
            return answers.AnswerReader(place, query, self.options.get("args", "[]"), schema, self._rows())
        return self.datoms_reader(place, self._attribute(), schema, self._rows())

    def _place(self) -> DataFolder:
        """The folder, as of one transaction for all readers of this data frame."""
        unknown = [name for name in self.options if name.lower() not in _KNOWN]
        if unknown:
            raise invalid_argument(f"there is no option {unknown[0]}; there are {_SHOWN}")
        data = self.options.get("data")
        if data is None:
            raise invalid_argument('name the data folder: .option("data", "…")')
        as_of = self.options.get("asOf")
        if as_of is None or not as_of.isdecimal():
            # Later reads see the transaction that is the newest now.
            as_of = self.options["asOf"] = str(moment(data, as_of))
        return DataFolder(data, int(as_of), self.options.get("history", "false").lower() == "true")

    def _attribute(self) -> Keyword | None:
        text = self.options.get("attribute")
        if text is None:
            return None
        try:
            value = edn.read(":" + text.removeprefix(":"))
        except AdalogError:
            value = None
        if not isinstance(value, Keyword):
            raise invalid_argument(f"attribute is {text}; it is an ident such as :person/name")
        return value

    def _rows(self) -> int:
        text = self.options.get("rowsPerPartition", str(datoms.ROWS))
        if not text.isdecimal() or int(text) < 1:
            raise invalid_argument(f"rowsPerPartition is {text}; it is a number, at least 1")
        return int(text)


class FilteredSource(AdalogSource):
    """The same for sessions with `spark.sql.python.filterPushdown.enabled`: without it Spark refuses such a one."""

    datoms_reader = datoms.FilteredReader
