"""Builds `packages.parquet` from the text that `apt-cache dumpavail` prints.

To refresh the sample data: `apt-cache dumpavail | python -m adalog.examples.debian.build`. One row a
package, sorted by name; references to other packages are their names. It knows nothing of databases: that is
`load`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

TARGET: Final = Path(__file__).with_name("packages.parquet")

SCHEMA: Final = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("version", pa.string(), nullable=False),
        pa.field("summary", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("section", pa.string(), nullable=False),
        pa.field("maintainer", pa.string(), nullable=False),
        pa.field("priority", pa.string(), nullable=False),
        pa.field("architecture", pa.string(), nullable=False),
        pa.field("size", pa.int64()),
        pa.field("installed_size", pa.int64()),
        pa.field("depends", pa.list_(pa.string()), nullable=False),
        pa.field("recommends", pa.list_(pa.string()), nullable=False),
        pa.field("tags", pa.list_(pa.string()), nullable=False),
    ]
)

# The smallest of those tried for each column, by measure.
_DICTIONARY: Final = [
    "section",
    "maintainer",
    "priority",
    "architecture",
    "depends.list.element",
    "recommends.list.element",
    "tags.list.element",
]
_ENCODINGS: Final = {
    "name": "DELTA_BYTE_ARRAY",
    "source": "DELTA_BYTE_ARRAY",
    "summary": "DELTA_LENGTH_BYTE_ARRAY",
    "size": "BYTE_STREAM_SPLIT",
    "installed_size": "BYTE_STREAM_SPLIT",
}

# `libc6:any (>= 2.34) [amd64]`: what matters is the name.
_NAME_END = re.compile(r"[\s(:\[]")
_EMAIL = re.compile(r"\s*<[^>]*>\s*$")

Paragraph = dict[str, str]


def paragraphs(lines: Iterable[str]) -> Iterator[Paragraph]:
    """The paragraphs of a control file (Debian Policy, 5.1); a folded field is joined into one line."""
    fields: Paragraph = {}
    last = ""
    for line in lines:
        line = line.rstrip("\n")
        if not line.strip():
            if fields:
                yield fields
            fields, last = {}, ""
        elif line[0] in " \t":
            fields[last] += " " + line.strip()
        else:
            last, _, value = line.partition(":")
            fields[last] = value.strip()
    if fields:
        yield fields


def relations(field: str) -> list[list[str]]:
    """`a (>= 1) | b, c` as the names of each group's alternatives: [[a, b], [c]]."""
    groups = (
        [_NAME_END.split(name.strip(), maxsplit=1)[0] for name in group.split("|")] for group in field.split(",")
    )
    return [names for group in groups if (names := [name for name in group if name])]


class Resolver:
    """From a group of alternatives to one package's name: the first that exists, or that some package provides.

    Of several providers of a virtual package the first by name is taken.
    """

    def __init__(self, packages: list[Paragraph]) -> None:
        self._names = {package["Package"] for package in packages}
        self._providers: dict[str, str] = {}
        for package in packages:
            for names in relations(package.get("Provides", "")):
                self._providers.setdefault(names[0], package["Package"])

    def names(self, fields: Iterable[str]) -> list[str]:
        """The distinct packages that the groups of these fields lead to, ascending; dead ends left out."""
        found = {self._name(names) for field in fields for names in relations(field)}
        return sorted(name for name in found if name is not None)

    def _name(self, alternatives: list[str]) -> str | None:
        for name in alternatives:
            if name in self._names:
                return name
            if name in self._providers:
                return self._providers[name]
        return None


def table(lines: Iterable[str]) -> pa.Table:
    """The packages of `lines` as a table of SCHEMA. Of several versions of one package the first counts."""
    by_name: dict[str, Paragraph] = {}
    for paragraph in paragraphs(lines):
        by_name.setdefault(paragraph["Package"], paragraph)
    packages = [by_name[name] for name in sorted(by_name)]
    resolver = Resolver(packages)
    return pa.Table.from_pylist([_record(package, resolver) for package in packages], schema=SCHEMA)


def _record(package: Paragraph, resolver: Resolver) -> dict[str, object]:
    installed = package.get("Installed-Size")
    size = package.get("Size")
    return {
        "name": package["Package"],
        "version": package["Version"],
        "summary": package["Description"],
        "source": package.get("Source", package["Package"]).split(" ")[0],
        "section": package["Section"],
        # Names only: a sample database needs no addresses.
        "maintainer": _EMAIL.sub("", package["Maintainer"]).strip('"'),
        "priority": package["Priority"],
        "architecture": package["Architecture"],
        "size": None if size is None else int(size),
        "installed_size": None if installed is None else int(installed) * 1024,
        "depends": resolver.names([package.get("Pre-Depends", ""), package.get("Depends", "")]),
        "recommends": resolver.names([package.get("Recommends", "")]),
        "tags": sorted(tag.strip() for tag in package.get("Tag", "").split(",") if tag.strip()),
    }


def write(packages: pa.Table, target: Path) -> None:
    """Parquet, small rather than quick to write."""
    pq.write_table(
        packages,
        target,
        compression="zstd",
        compression_level=22,
        use_dictionary=_DICTIONARY,
        column_encoding=_ENCODINGS,
        write_statistics=False,
        store_schema=False,
        data_page_size=1 << 24,
        row_group_size=1 << 20,
    )


@click.command(help=__doc__)
@click.argument("source", type=click.File(encoding="utf-8"), default="-")
@click.option("--target", type=click.Path(dir_okay=False, path_type=Path), default=TARGET, show_default=True)
def main(source: Iterable[str], target: Path) -> None:
    packages = table(source)
    write(packages, target)
    edges = len(pc.list_flatten(packages["depends"]))
    click.echo(
        f"{target.name}: {len(packages):,} packages, {edges:,} dependencies, {target.stat().st_size:,} bytes"
    )


if __name__ == "__main__":
    sys.exit(main())
