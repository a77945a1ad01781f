"""Spark's properties as users set them, and those that adalog sets for itself.

ADALOG_SPARK_CONF goes before `spark-defaults.conf`, which goes before what adalog would choose. A few belong to how
adalog uses Spark: ADALOG_SPARK_CONF must not name another value for them, and `spark-defaults.conf`, which other
programs read as well, is passed over there.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from adalog.datalog.errors import quoted, shown

_log = logging.getLogger("adalog.spark")

REQUIRED: Final[Mapping[str, str]] = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # One task for each row of a local relation, and each row to Python as soon as it is there.
    "spark.sql.leafNodeDefaultParallelism": "1000000",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    # Our jobs are one stage of tasks already cut to size: nothing for the planner to adapt.
    "spark.sql.adaptive.enabled": "false",
    "spark.python.use.daemon": "true",
    "spark.python.daemon.module": "adalog.executor.spark.daemon",
    "spark.python.worker.reuse": "true",
    "spark.python.udf.pipelined.enabled": "false",
    "spark.submit.deployMode": "client",
}
"""What jobs are written for; any other value would make them slow, or wrong."""

_OTHERWISE: Final[Mapping[str, str]] = {
    "spark.master": "set ADALOG_SPARK_MASTER",
    "spark.remote": "Spark Connect cannot be used; set ADALOG_SPARK_MASTER to the cluster itself",
    "spark.api.mode": "Spark Connect cannot be used; set ADALOG_SPARK_MASTER to the cluster itself",
    "spark.python.worker.module": "workers come from adalog's own daemon",
}
# A comma before the next property. Values have commas, too.
_NEXT: Final = re.compile(r",\s*(?=spark\.)")
_LINE: Final = re.compile(r"^\s*([^\s=:#!][^\s=:]*)\s*[=:\s]\s*(.*?)\s*$")


def parsed(text: str) -> dict[str, str]:
    """The properties of ADALOG_SPARK_CONF: `spark.a=x,spark.b=y`, or a JSON object.

    Raises ValueError for text that is neither, and for a property that is not the user's to set.
    """
    given = _object(text) if text.lstrip().startswith("{") else _pairs(text)
    for name, value in given.items():
        if not name.startswith("spark."):
            raise ValueError(f"{quoted(name)} is no property of Spark's: their names begin with spark.")
        if name in _OTHERWISE:
            raise ValueError(f"{name} cannot be set here: {_OTHERWISE[name]}")
        if name in REQUIRED and value != REQUIRED[name]:
            raise ValueError(f"{name} cannot be {value!r}: adalog needs it to be {REQUIRED[name]!r}")
    return given


def _pairs(text: str) -> dict[str, str]:
    given = {}
    for part in _NEXT.split(text.strip().rstrip(",")):
        if not part.strip():
            continue
        name, equals, value = part.partition("=")
        if not equals:
            # What it is stays unsaid unless it looks like a name: there may be a password in it.
            named = part.strip() if part.strip().startswith("spark.") else "a part of it"
            raise ValueError(f"{shown(named)} has no value: it is written spark.name=value, with commas between")
        given[name.strip()] = value.strip()
    return given


def _object(text: str) -> dict[str, str]:
    try:
        read = json.loads(text)
    except ValueError as error:
        raise ValueError(f"it begins as a JSON object, and is none: {error}") from None
    given = {}
    for name, value in read.items():
        if isinstance(value, bool):
            value = str(value).lower()
        if not isinstance(value, str | int | float):
            raise ValueError(f"{name} is none of text, a number, true or false, which a property is")
        given[name] = str(value)
    return given


def spark_defaults(environ: Mapping[str, str]) -> dict[str, str]:
    """The properties of `spark-defaults.conf` in SPARK_CONF_DIR, else in SPARK_HOME/conf, if there is one.

    Those that adalog sets for itself are left out.
    """
    folder = environ.get("SPARK_CONF_DIR") or os.path.join(environ.get("SPARK_HOME", ""), "conf")
    if not os.path.isabs(folder):
        return {}
    try:
        text = (Path(folder) / "spark-defaults.conf").read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        _log.warning("spark-defaults.conf in %s is not used: %s", folder, error)
        return {}
    found = {}
    for line in text.splitlines():
        said = _LINE.match(line)
        if said is None:
            continue
        name, value = said.groups()
        if name in _OTHERWISE or REQUIRED.get(name, value) != value:
            _log.info("spark-defaults.conf: %s is passed over, adalog sets it itself", name)
        elif name.startswith("spark."):
            found[name] = value
    return found


def properties_text(properties: Mapping[str, str]) -> str:
    """The text of a file of properties, as Java reads it."""
    return "".join(f"{name}={_escaped(value)}\n" for name, value in properties.items())


def _escaped(value: str) -> str:
    value = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return "\\" + value if value[:1] in (" ", "\t") else value
