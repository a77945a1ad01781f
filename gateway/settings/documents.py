"""Writes what documents say of the settings: `docs/reference/settings.md`, and the names in the chart's schema.

python -m adalog.gateway.settings.documents
"""

from __future__ import annotations

import json
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, Final

from adalog.gateway.settings.config import Settings, names, shown_default
from adalog.gateway.settings.retired import RETIRED
from adalog.gateway.settings.setting import variable

_ROOT: Final = Path(__file__).resolve().parents[2]
TABLE: Final = _ROOT / "docs" / "reference" / "settings.md"
CHART: Final = _ROOT / "helm" / "adalog" / "values.schema.json"

_ABOVE: Final = """\
<!-- Made by `python -m adalog.gateway.settings.documents` from gateway/settings/config.py. -->

# Settings

The setting `ADALOG_IDLE_SECONDS` is the option `--idle-seconds` of `adalog serve`, and the key `idle_seconds` of a
settings file. The command line goes before the environment, then the folder of secrets, then the file, then the
default. `adalog settings` prints every setting with its value and its source. A wrong value ends the start; an
unknown name is reported. Secrets are not taken from the command line, which other users of the machine can read.

A list is separated by commas; in a file it may be a list. A setting that is on or off is written so.
"""
_BELOW: Final = """
## Former settings

These are constants now, or follow from other settings. One that is still set has no effect; a warning at the start
names it: {retired}.
"""


def table() -> str:
    """The text of `docs/reference/settings.md`."""
    parts = [_ABOVE]
    for setting in fields(Settings):
        if area := setting.metadata["area"]:
            parts.append(f"\n## {area}\n\n| variable | default | meaning |\n| --- | --- | --- |\n")
        parts.append(_row(setting))
    parts.append(_BELOW.format(retired=", ".join(f"`{variable(name)}`" for name in sorted(RETIRED))))
    return "".join(parts)


def _row(setting: Field[Any]) -> str:
    default = shown_default(setting)
    default = default if setting.default in (None, "") else f"`{default}`"
    more = f" ([more]({setting.metadata['more']}))" if setting.metadata["more"] else ""
    return f"| `{variable(setting.name)}` | {default} | {setting.metadata['meaning']}{more} |\n"


def chart(schema: str) -> str:
    """The chart's schema with the names of the settings that there are."""
    content = json.loads(schema)
    content["properties"]["settings"]["propertyNames"]["enum"] = sorted(names())
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
    CHART.write_text(chart(CHART.read_text(encoding="utf-8")), encoding="utf-8")
