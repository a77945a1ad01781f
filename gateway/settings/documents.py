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

Each setting can be an option of `adalog serve` (`--timeout-ms 9000`), an environment variable
(`ADALOG_TIMEOUT_MS=9000`), a file in a folder of secrets, or a key of a settings file (`timeout_ms = 9000`). The
first of these that has a value counts; without any, the default does. `adalog settings` takes the same options and
prints each value with its origin; values of secrets are hidden.

All wrong settings are reported together and end any command with exit code 2: the setting's name, its value, and
what would be right. An unknown key in a file is an error; an unknown `ADALOG_` variable is a warning.

A list is separated by commas; in a file it may be a list. A switch has the value `on` or `off`.

## A settings file

```toml
# adalog serve --config adalog.toml, or ADALOG_CONFIG=adalog.toml
data = "/var/lib/adalog"
port = 8080
timeout_ms = 20_000
allowed_origins = ["https://app.example.org"]     # lists are separated by commas elsewhere
secrets_dir = "/run/secrets/adalog"

[spark_conf]                                      # a JSON object elsewhere
"spark.executor.memory" = "8g"
```

The file may also set options of commands: `url`, `format`, `timeout`.

## Secrets

`ADALOG_SECRETS_DIR` names a folder with one file per secret, as Kubernetes and Docker mount them:
`ADALOG_REDIS_SECRET`, in upper or lower case. Links that lead out of the folder are refused. `ADALOG_JWT_SECRET`,
`ADALOG_REDIS_URL`, `ADALOG_REDIS_SECRET`, `ADALOG_SEGMENTS`, `ADALOG_SPARK_SEGMENTS` and `ADALOG_SPARK_CONF` are
secrets: no message and no log shows them, and the command line, which other users of the machine can read, does not
accept them.
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
