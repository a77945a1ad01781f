"""Examples that come as files and a mapping: imported by it, then asked what stands beside them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adalog.examples.debian.load import load as load_debian
from adalog.examples.tpch.generate import main as generate
from adalog.executor.pool import Pool
from adalog.pipeline.importing.read.mapping_reader import read_mapping
from adalog.pipeline.importing.write.loading import load
from adalog.store.database import Database
from tests.examples.asked import EXAMPLES, Asked, asked
from tests.pipeline.pipeline_in_process import InProcess
from tests.support import World


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with _imported(tmp_path_factory.mktemp("shop"), "shop/mapping.yaml", rows=20) as world:
        yield world


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with _imported(tmp_path_factory.mktemp("debian"), "debian/packages.yaml", rows=100_000) as world:
        yield world


@pytest.fixture(scope="module")
def tpch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("tpch")
    for name in ("schema.edn", "mapping.yaml"):
        folder.joinpath(name).write_bytes(EXAMPLES.joinpath("tpch", name).read_bytes())
    generate(str(folder))
    with _imported(folder, str(folder / "mapping.yaml"), rows=100_000) as world:
        yield world


@pytest.mark.parametrize("example", asked("tpch"))
def test_tpch(tpch: World, example: Asked) -> None:
    """The answers are those of DuckDB to the SQL of the specification, over the same tables."""
    example.check(tpch)


def test_tpch_has_a_text_for_each_query() -> None:
    assert len(asked("tpch")) == 22


@pytest.mark.parametrize("example", asked("shop"))
def test_shop(shop: World, example: Asked) -> None:
    example.check(shop)


@pytest.mark.parametrize(
    "example", [each for each in asked("debian") if each.id in ("needs", "rebuild", "sections")]
)
def test_debian(debian: World, example: Asked) -> None:
    example.check(debian)


def test_the_sample_data_is_imported_whole(debian: World) -> None:
    with Database.open(":memory:") as loaded:
        load_debian(loaded)
        assert _counts(debian.database) == _counts(loaded)


def _counts(database: Database) -> dict[str, int]:
    """How many values each attribute has."""
    snapshot = database.snapshot()
    return {
        str(attribute.ident): len(snapshot.columns(attribute).e)
        for attribute in snapshot.attributes()
        if attribute.ident.namespace in ("package", "section", "maintainer")
    }


@contextmanager
def _imported(folder: Path, mapping: str, rows: int) -> Iterator[World]:
    plan = read_mapping(EXAMPLES / mapping, {})
    with Database.open(str(folder / "data")) as database:
        assert load(database, InProcess(rows=rows), plan).rejected == 0
        pool = Pool(database)
        try:
            yield World(database, pool)
        finally:
            pool.close()
