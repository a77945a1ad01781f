"""Settings from the environment."""

from __future__ import annotations

import pytest

from gateway.config import SettingError, Settings, settings_from


def test_defaults() -> None:
    assert settings_from({}) == Settings()
    assert Settings().host == "127.0.0.1"


def test_the_environment_and_what_is_given() -> None:
    environ = {"ADALOG_PORT": "9000", "ADALOG_ROWS": "10_000", "ADALOG_SPARK": "off", "ADALOG_DATA": "elsewhere"}
    settings = settings_from(environ, port=1, host=None)
    assert (settings.port, settings.limits.rows, settings.spark, settings.data) == (1, 10_000, False, "elsewhere")
    assert settings.host == "127.0.0.1"


@pytest.mark.parametrize(
    ("name", "value"),
    [("ADALOG_PORT", "http"), ("ADALOG_ROWS", "-1"), ("ADALOG_SPARK", "perhaps"), ("ADALOG_QUERY_DEPTH", "1.5")],
)
def test_a_wrong_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=f"{name} is '{value}'"):
        settings_from({name: value})


def test_the_schema_is_open_or_strict() -> None:
    with pytest.raises(SettingError, match="ADALOG_SCHEMA"):
        settings_from({"ADALOG_SCHEMA": "loose"}).checked()
