"""Settings from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from adalog.datalog.errors import AdalogError
from adalog.gateway.cli import main
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import SettingError, Settings
from adalog.gateway.settings.sources import settings_from
from adalog.store.database import Database


def test_defaults() -> None:
    assert settings_from({}) == Settings()
    assert Settings().host == "127.0.0.1"


def test_the_environment_and_what_is_given() -> None:
    environ = {"ADALOG_PORT": "9000", "ADALOG_ROWS": "10_000", "ADALOG_SPARK": "off", "ADALOG_DATA": "elsewhere"}
    settings = settings_from(environ, port=1, host=None)
    assert (settings.port, settings.rows, settings.spark, settings.data) == (1, 10_000, False, "elsewhere")
    assert settings.host == "127.0.0.1"


@pytest.mark.parametrize(
    ("name", "value"),
    [("ADALOG_PORT", "http"), ("ADALOG_ROWS", "-1"), ("ADALOG_SPARK", "perhaps"), ("ADALOG_TIMEOUT_MS", "1.5")],
)
def test_a_wrong_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=f"{name} is '{value}'"):
        settings_from({name: value})


def test_the_schema_is_open_or_strict() -> None:
    with pytest.raises(SettingError, match="ADALOG_SCHEMA"):
        checked(settings_from({"ADALOG_SCHEMA": "loose"}))


@pytest.mark.parametrize(
    "address", ["mysql://ada:secret@db/adalog", "sqlite:///tmp/x.sqlite", "s3://bucket", "file:/tmp/data"]
)
def test_data_at_an_address_is_refused(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scheme = address.split(":")[0]
    for environ, given in (({"ADALOG_DATA": address}, {}), ({}, {"data": address})):
        with pytest.raises(SettingError, match=f"begins with {scheme}://") as refused:
            settings_from(environ, **given)
        assert "secret" not in str(refused.value)
    with pytest.raises(AdalogError, match="name a folder"):
        Database.open(address)
    for command in (["serve", "--port", "0"], ["query", "[:find ?e :where [?e :a]]"], ["sample"]):
        ended = CliRunner().invoke(main, [*command, "--data", address])
        assert ended.exit_code == 2, ended.output
        assert "name a folder, :memory:, or" in ended.stderr
        assert "secret" not in ended.output
    assert not list(tmp_path.iterdir())


def test_a_wrong_address_of_segments_ends_the_start_and_is_not_said() -> None:
    for address in ("bucket/segments", "s3://", "ftp://key:secret@host/segments"):
        environ = {"ADALOG_DATA": ":memory:", "ADALOG_SPARK_SEGMENTS": address}
        ended = CliRunner(env=environ).invoke(main, ["serve", "--port", "0"])
        assert ended.exit_code == 2, ended.output
        assert "ADALOG_SPARK_SEGMENTS" in ended.stderr
        assert "s3://bucket/adalog" in ended.stderr
        assert "secret" not in ended.output
    assert "hidden" not in repr(settings_from({"ADALOG_SPARK_SEGMENTS": "s3://key:hidden@bucket/segments"}))


def test_a_colon_in_a_folders_name(tmp_path: Path) -> None:
    Database.open(str(tmp_path / "a:b")).close()
    assert settings_from({"ADALOG_DATA": "a:b"}).data == "a:b"
