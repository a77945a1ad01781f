"""From apt's text to the table: folded fields, alternatives, virtual packages, what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from adalog.examples.debian.build import SCHEMA, TARGET, paragraphs, relations, table, write

TEXT = """\
Package: mailer
Source: mail-suite (2.1)
Version: 2.1-1
Installed-Size: 12
Maintainer: "Ada Lovelace" <ada@example.org>
Architecture: amd64
Depends: base (>= 1) | other, base (<< 3), no-such | transport [amd64], nowhere
Pre-Depends: init:any
Description: sends mail
Tag: role::program, mail::transport,
 works-with::mail
Section: mail
Priority: optional
Size: 1000

Package: base
Version: 1
Maintainer: Base Team <base@example.org>
Architecture: all
Description: what all need
Section: admin
Priority: required

Package: exim
Provides: transport (= 4), mta
Version: 4
Maintainer: Base Team <other@example.org>
Architecture: amd64
Recommends: mailer
Description: moves mail
Section: mail
Priority: optional

Package: base
Version: 0
Maintainer: Base Team <base@example.org>
Architecture: all
Description: an older version
Section: admin
Priority: required

Package: init
Version: 1
Maintainer: Base Team <base@example.org>
Architecture: all
Description: begins
Section: admin
Priority: required
"""


@pytest.fixture(scope="module")
def packages() -> dict[str, dict[str, Any]]:
    return {package["name"]: package for package in table(TEXT.splitlines()).to_pylist()}


def test_packages_are_sorted_and_the_first_version_counts(packages: dict[str, dict[str, Any]]) -> None:
    assert list(packages) == ["base", "exim", "init", "mailer"]
    assert packages["base"]["version"] == "1"


def test_a_dependency_is_the_first_alternative_that_exists_or_is_provided(
    packages: dict[str, dict[str, Any]],
) -> None:
    assert packages["mailer"]["depends"] == ["base", "exim", "init"]
    assert packages["exim"]["recommends"] == ["mailer"]
    assert packages["base"]["depends"] == []


def test_fields(packages: dict[str, dict[str, Any]]) -> None:
    mailer = packages["mailer"]
    assert mailer["source"] == "mail-suite"
    assert mailer["maintainer"] == "Ada Lovelace"
    assert mailer["installed_size"] == 12 * 1024
    assert mailer["tags"] == ["mail::transport", "role::program", "works-with::mail"]
    assert packages["base"]["size"] is None
    assert packages["base"]["source"] == "base"


def test_relations() -> None:
    assert relations("a (>= 1) | b:any, c [amd64] <!nocheck>,") == [["a", "b"], ["c"]]
    assert relations("") == []


def test_paragraphs_end_with_blank_lines() -> None:
    assert list(paragraphs(["\n", "A: 1\n", " 2\n", "\n", "\n", "B:\n"])) == [{"A": "1 2"}, {"B": ""}]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    made = table(TEXT.splitlines())
    write(made, tmp_path / "packages.parquet")
    assert pq.read_table(tmp_path / "packages.parquet").to_pylist() == made.to_pylist()


def test_the_shipped_copy_is_whole_and_small() -> None:
    shipped = pq.ParquetFile(TARGET)
    assert shipped.metadata.num_rows == 63_666
    assert shipped.schema_arrow.names == SCHEMA.names
    assert TARGET.stat().st_size <= 3_000_000
