"""An `ImportRunner` on a cluster. Tasks read files themselves; Spark lists and copies those of other machines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from adalog.cluster.cluster import Cluster
from adalog.cluster.tasks import JobProgress, SparkTasks
from adalog.datalog.errors import invalid_argument
from adalog.pipeline.importing.files.listing import ListedFile, is_hidden, partitions_of
from adalog.pipeline.importing.read.chunks import ROWS
from adalog.pipeline.importing.read.mapping import AnySource, RowSource
from adalog.pipeline.importing.read.runner import SHARE_BYTES, FoundFile, local_files, paths_of
from adalog.pipeline.importing.sql.jdbc import SqlRows, fetched
from adalog.store.files.addresses import shown
from adalog.store.files.allowed_places import is_address

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# What patterns are made of, for Hadoop's file systems.
_SPECIAL: Final = re.compile(r"[*?\[\]{}\\]")


class SparkRunner(SparkTasks):
    def __init__(self, cluster: Cluster, progress: JobProgress | None = None) -> None:
        super().__init__(cluster, progress)
        self.buckets = 2 * cluster.cores
        self.chunk_rows = ROWS
        self.share_bytes = SHARE_BYTES

    def files(self, source: AnySource, folder: Path) -> list[FoundFile]:
        paths = paths_of(source)
        addresses = [path for path in paths if is_address(path)]
        found = local_files(source, [path for path in paths if not is_address(path)])
        for number, address in enumerate(addresses):
            into = folder / f"copies-{source.name}-{number}"
            work = partial(_fetched, source=source, address=address, into=into)
            found += self.wait(f"fetching {source.name}", work)
        return found

    def table(self, source: RowSource, folder: Path) -> SqlRows:
        assert source.sql is not None
        into = folder / f"rows-{source.name}"
        work = partial(fetched, source=source.name, table=source.sql, wanted=source.names, folder=into)
        return self.wait(f"fetching {source.name}", work)


def _fetched(spark: SparkSession, source: AnySource, address: str, into: Path) -> list[FoundFile]:
    """Copies of the files of an address. One copy is read by all tasks: of a Parquet file they need the end first,
    and of a large CSV file the quotes before each part."""
    from py4j.protocol import Py4JJavaError

    jvm: Any = spark.sparkContext._jvm
    try:
        place = jvm.org.apache.hadoop.fs.Path(_SPECIAL.sub(r"\\\g<0>", address) if source.files else address)
        settings = jvm.org.apache.hadoop.conf.Configuration(spark.sparkContext._jsc.hadoopConfiguration())
        for name, value in source.options.items():
            settings.set(name, value)
        system = place.getFileSystem(settings)
        matching = system.globStatus(place)
        found = [] if matching is None else [file for each in matching for file in _files(system, each, source)]
        into.mkdir()
        copies = []
        for number, (path, size) in enumerate(found):
            # The extension says how a file is compressed.
            copy = into / f"{number}-{Path(path).name}"
            system.copyToLocalFile(False, jvm.org.apache.hadoop.fs.Path(path), _local(jvm, copy), True)
            listed = ListedFile(str(copy), size, partitions_of("", path))
            copies.append(FoundFile(listed, shown(path)))
        return copies
    except Py4JJavaError as error:
        why = str(error.java_exception.getMessage() or error.java_exception).splitlines()[0]
        raise invalid_argument(f"source {source.name} cannot be read: {why}") from None


def _files(system: Any, status: Any, source: AnySource) -> Iterator[tuple[str, int]]:
    """The files at a place and in its folders, as `listed` finds them."""
    options = {name.lower(): value for name, value in source.options.items()}
    if not status.isDirectory():
        if fnmatchcase(status.getPath().getName(), options.get("pathglobfilter", "*")):
            yield status.getPath().toString(), status.getLen()
        return
    for each in system.listStatus(status.getPath()):
        name = each.getPath().getName()
        recursive = options.get("recursivefilelookup", "").lower() == "true" or "=" in name
        if not is_hidden(name) and (recursive or not each.isDirectory()):
            yield from _files(system, each, source)


def _local(jvm: Any, path: Path) -> Any:
    return jvm.org.apache.hadoop.fs.Path(path.absolute().as_uri())
