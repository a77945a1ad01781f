"""Spark's properties: what users set goes before what adalog would choose, and not before what it needs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from adalog.cluster.archive import write_archive
from adalog.cluster.configuration import configuration, python_of
from adalog.cluster.properties import parsed, properties_text, spark_defaults
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import SettingError
from adalog.gateway.settings.sources import settings_from


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("spark.executor.memory=2g", {"spark.executor.memory": "2g"}),
        ("spark.a=1, spark.b = x=y ,spark.c=", {"spark.a": "1", "spark.b": "x=y", "spark.c": ""}),
        ("spark.jars.packages=a:b:1,c:d:2,spark.ui.enabled=true", {
            "spark.jars.packages": "a:b:1,c:d:2",
            "spark.ui.enabled": "true",
        }),
        ('{"spark.a": "x, spark.b=1", "spark.ui.enabled": true, "spark.n": 3}', {
            "spark.a": "x, spark.b=1",
            "spark.ui.enabled": "true",
            "spark.n": "3",
        }),
        ("spark.python.worker.reuse=true", {"spark.python.worker.reuse": "true"}),
    ],
)  # fmt: skip
def test_properties_are_pairs_or_an_object(text: str, found: dict[str, str]) -> None:
    assert parsed(text) == found


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("memory=2g", "'memory' is no property of Spark's"),
        ("spark.executor.memory", "has no value"),
        ('{"spark.a": ["hunter2"]}', "spark.a is none of text, a number, true or false"),
        ("hunter2,", "a part of it has no value"),
        ("{spark.a 1}", "is none"),
        ("spark.python.worker.reuse=false", "adalog needs it to be 'true'"),
        ("spark.sql.execution.arrow.maxRecordsPerBatch=10000", "adalog needs it to be '1'"),
        ("spark.master=yarn", "set ADALOG_SPARK_MASTER"),
        ("spark.remote=sc://host", "Spark Connect cannot be used"),
    ],
)
def test_what_would_break_jobs_is_refused(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=re.escape(wrong)):
        parsed(text)
    with pytest.raises(SettingError) as refused:
        checked(settings_from({"ADALOG_SPARK_CONF": text}))
    assert str(refused.value).startswith("ADALOG_SPARK_CONF: ")
    assert "hunter2" not in str(refused.value)
    assert wrong in str(refused.value)


def test_spark_connect_is_refused_as_a_master() -> None:
    with pytest.raises(SettingError, match="Spark Connect"):
        checked(settings_from({"ADALOG_SPARK_MASTER": "sc://host:15002"}))


def test_defaults_of_other_programs_are_read_and_ours_kept(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "# of all programs\nspark.executor.memory  3g\nspark.a=b c\n\nspark.python.worker.reuse false\n"
        "spark.master: yarn\nother.thing 1\nspark.archives /env.tgz#env\n"
    )
    defaults = spark_defaults({"SPARK_CONF_DIR": str(tmp_path)})
    assert defaults == {"spark.executor.memory": "3g", "spark.a": "b c", "spark.archives": "/env.tgz#env"}
    assert spark_defaults({}) == spark_defaults({"SPARK_CONF_DIR": str(tmp_path / "none")}) == {}
    given = {"spark.executor.memory": "5g", "spark.driver.memory": "1g", "spark.driver.extraJavaOptions": "-Dx=1"}
    chosen = configuration("spark://host:7077", tmp_path, given, defaults)
    assert chosen["spark.executor.memory"] == "5g"
    assert chosen["spark.driver.memory"] == "1g"
    assert chosen["spark.a"] == "b c"
    assert chosen["spark.python.worker.reuse"] == "true"
    assert chosen["spark.master"] == "spark://host:7077"
    assert chosen["spark.driver.extraJavaOptions"].endswith(" -Dx=1")
    # Libraries come beside our own code.
    assert chosen["spark.archives"].endswith(".tgz#adalog-code,/env.tgz#env")
    assert chosen["spark.executorEnv.PYTHONPATH"] == "./adalog-code"
    assert str(tmp_path) not in chosen.get("spark.python.unix.domain.socket.dir", "")


@pytest.mark.parametrize(
    ("master", "becomes"),
    [("local", "local[1,2]"), ("local[*]", "local[*,2]"), ("local[3]", "local[3,2]"), ("local[2,5]", "local[2,5]")],
)
def test_a_task_has_a_second_try_on_one_machine_too(tmp_path: Path, master: str, becomes: str) -> None:
    assert configuration(master, tmp_path, {}, {})["spark.master"] == becomes


def test_workers_elsewhere_run_their_own_python() -> None:
    assert python_of({}, "local[*]") == sys.executable
    assert python_of({"spark.pyspark.python": "./env/bin/python"}, "spark://host:7077") == "./env/bin/python"
    # As a fresh process says it: a session that was started here has set the variable for its own workers.
    said = "from adalog.cluster.configuration import python_of; print(python_of({}, 'spark://host:7077'))"
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    for extra, python in (({}, "python3"), ({"PYSPARK_PYTHON": "/opt/python"}, "/opt/python")):
        run = [sys.executable, "-c", said]
        out = subprocess.run(run, env=environment | extra, capture_output=True, text=True, check=True).stdout
        assert out.strip() == python


def test_a_file_of_properties_is_read_by_java_as_it_was_meant() -> None:
    assert (
        properties_text({"spark.a": "C:\\x", "spark.b": " two\nlines"})
        == "spark.a=C:\\\\x\nspark.b=\\ two\\nlines\n"
    )


def test_the_archive_has_what_workers_import_and_compiled_kernels(tmp_path: Path) -> None:
    root, out = tmp_path / "root", tmp_path / "out"
    out.mkdir()
    sources = [f"adalog/{name}" for name in ("__init__.py", "executor/kernels/k.py", "store/s.py")]
    others = ("adalog/gateway/app.py", "adalog/executor/__pycache__/k.cpython.pyc", "cache/edition/k.nbc")
    earlier = "adalog/executor/kernels/compiled/earlier/k.nbc"
    for name in (*sources, *others, earlier):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    made = write_archive(root, out, [root / "cache" / "edition" / "k.nbc"])
    assert [path.name for path in out.iterdir()] == [made.name]
    unpacked = tmp_path / "unpacked"
    with tarfile.open(made) as archive:
        archive.extractall(unpacked, filter="data")
    assert sorted(str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()) == [
        "adalog/__init__.py",
        "adalog/executor/kernels/compiled/edition/k.nbc",
        "adalog/executor/kernels/k.py",
        "adalog/store/s.py",
    ]
