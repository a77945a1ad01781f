"""The image: its Dockerfile is sound and copies what there is; its entry; and, if asked for, all that it does."""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx
import pytest

from adalog.gateway.settings.config import names
from helm.tests.chart import ROOT, defaults
from helm.tests.dockerfile import FILE, instructions, last_stage, pairs, script
from helm.tests.test_served import AUTHORIZATION, TOKENS

ENTRY = ROOT / "helm" / "image" / "entrypoint.sh"


def test_the_linter_has_nothing_to_say() -> None:
    linter = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if linter is None:
        pytest.skip("no hadolint for this system")
    done = subprocess.run([linter, FILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_what_is_copied_is_there_and_is_sent() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in lines
    sent = [line.removeprefix("!") for line in lines if line.startswith("!")]
    dropped = [line.removeprefix("**/") for line in lines if line.startswith("**/")]
    for each in instructions():
        if each.name == "COPY" and each.flag("from") is None:
            for source in each.words[:-1]:
                assert (ROOT / source).exists(), source
                assert any(source == line or source.startswith(f"{line}/") for line in sent), source
                assert not any(fnmatch.fnmatch(part, line) for part in Path(source).parts for line in dropped)


def test_every_package_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (sources,) = project["tool"]["setuptools"]["packages"]["find"]["where"]
    links = [path for path in ROOT.joinpath(sources, "adalog").iterdir() if path.is_symlink()]
    packages = {sources, *(str(link.readlink()).removeprefix("../../") for link in links)}
    copied = {word for each in instructions() if each.name == "COPY" for word in each.words[:-1]}
    assert packages <= copied
    assert {project["project"]["readme"], *project["project"]["license-files"]} <= copied


def test_what_runs_is_nobody_and_says_how_it_is() -> None:
    stage = {each.name: each for each in last_stage()}
    own = defaults()["podSecurityContext"]
    assert stage["USER"].value == f"{own['runAsUser']}:{own['runAsGroup']}"
    assert "/healthz" in stage["HEALTHCHECK"].value
    assert stage["STOPSIGNAL"].value == "SIGTERM"
    assert stage["ENTRYPOINT"].words[0] == "tini"
    assert stage["VOLUME"].words == ["/data", "/tmp"]
    environ = {name for each in last_stage() if each.name == "ENV" for name in pairs(each.value)}
    settings = {name for name in environ if name.startswith("ADALOG_")}
    assert settings <= {f"ADALOG_{name.upper()}" for name in names()}
    # Numba compiles for the processor that kernels were compiled for, else it would not take them.
    stages = [each for each in instructions() if each.name == "ENV" and "NUMBA_CPU_NAME" in each.value]
    assert len(stages) == 2
    assert len({pairs(each.value)["NUMBA_CPU_NAME"] for each in stages}) == 1


def test_the_health_check_is_a_command(tmp_path: Path) -> None:
    (check,) = (each.value for each in last_stage() if each.name == "HEALTHCHECK")
    words = shlex.split(check.partition(" CMD ")[2].strip("[]").replace('",', '"'))
    assert words[0] == "python3"
    done = subprocess.run(
        [sys.executable, *words[1:]], env={"ADALOG_PORT": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "refused" in done.stderr


def entered(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """The entry with programs that only say how they were called."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    for name in ("adalog", "java"):
        (programs / name).write_text(f'#!/bin/sh\necho {name}; for each in "$@"; do echo "$each"; done\n')
        (programs / name).chmod(0o755)
    own = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(folder / "home")}
    return subprocess.run(
        [ENTRY, *arguments], env={**own, **environ}, capture_output=True, text=True, check=False, cwd=folder
    )


def test_the_entry_is_the_command(tmp_path: Path) -> None:
    done = entered(tmp_path, "query", "--data", "a folder", "[:find ?e]")
    assert done.stdout.splitlines() == ["adalog", "query", "--data", "a folder", "[:find ?e]"]


def test_the_entry_is_an_executor_too(tmp_path: Path) -> None:
    told = {
        "SPARK_HOME": "/opt/spark",
        **{f"SPARK_JAVA_OPT_{n}": f"-Da{n}=x y" for n in (0, 10, 2)},
        "SPARK_EXECUTOR_MEMORY": "1024m",
        "SPARK_DRIVER_URL": "spark://Scheduler@10.0.0.1:7078",
        "SPARK_EXECUTOR_ID": "1",
        "SPARK_EXECUTOR_CORES": "2",
        "SPARK_APPLICATION_ID": "spark-1",
        "SPARK_EXECUTOR_POD_IP": "10.0.0.2",
        "SPARK_RESOURCE_PROFILE_ID": "0",
        "SPARK_EXECUTOR_POD_NAME": "adalog-exec-1",
        "TMPDIR": str(tmp_path),
    }
    words = entered(tmp_path, "executor", **told).stdout.splitlines()
    assert words[:6] == ["java", "-Da0=x y", "-Da2=x y", "-Da10=x y", "-Xms1024m", "-Xmx1024m"]
    assert "/opt/spark/jars/*" in words[7]
    assert words[8] == "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
    assert words[9:11] == ["--driver-url", "spark://Scheduler@10.0.0.1:7078"]
    missing = entered(tmp_path, "executor", SPARK_HOME="/opt/spark", TMPDIR=str(tmp_path))
    assert missing.returncode
    assert "SPARK_EXECUTOR_MEMORY" in missing.stderr


@pytest.mark.timeout(3_000)
@pytest.mark.skipif(not os.environ.get("ADALOG_IMAGE"), reason="ADALOG_IMAGE=1 builds it: some minutes, as root")
def test_what_the_dockerfile_says_serves_from_a_read_only_root(tmp_path: Path) -> None:
    """Every RUN as it stands, over this machine's own root, then the entry as the image's user."""
    tokens = tmp_path / "tokens"
    tokens.write_text(TOKENS["adalog-tokens"]["tokens"])
    tokens.chmod(0o444)
    serve = {"ADALOG_AUTH": "/data/tokens", "ADALOG_HOST": "127.0.0.1", "ADALOG_PORT": "0"}
    steps = script(tmp_path, serve).replace("exec env -i", f"cp {tokens} {tmp_path}/layer/data/tokens; exec env -i")
    words = ["unshare", "--mount", "--propagation", "private", "bash", "-c", steps]
    with (
        tmp_path.joinpath("said").open("w") as errors,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            said = ""
            while not (found := re.search(r"(http://127\.0\.0\.1:\d+)/graphql", said)):
                line = process.stdout.readline()
                assert line, tmp_path.joinpath("said").read_text()[-5_000:]
                said += line
            with httpx.Client(base_url=found[1], timeout=300, headers=AUTHORIZATION) as client:
                while client.get("/readyz").status_code == 503:
                    assert process.poll() is None
                ask = {"query": 'mutation { transact(tx: "[{:name \\"Ada\\"}]") { t } }'}
                assert client.post("/graphql", json=ask).json() == {"data": {"transact": {"t": 1}}}
                while client.get("/readyz").json()["spark"] == "starting":
                    assert process.poll() is None
                query = '{ q(query: "[:find ?n :where [_ :name ?n]]", engine: SPARK) { rows stats { engine } } }'
                answer = client.post("/graphql", json={"query": query}).json()
                assert answer == {"data": {"q": {"rows": [["Ada"]], "stats": {"engine": "SPARK"}}}}
                assert "<title>adalog" in client.get("/docs/").text
                (port,) = re.findall(r":(\d+)$", found[1])
                (check,) = (each.value for each in last_stage() if each.name == "HEALTHCHECK")
                command = shlex.split(check.partition(" CMD ")[2].strip("[]").replace('",', '"'))
                subprocess.run([sys.executable, *command[1:]], env={"ADALOG_PORT": port}, check=True)
            # No kernel was compiled anew.
            held = Path(f"/proc/{process.pid}/root")
            assert any(held.glob("opt/adalog/adalog/executor/kernels/compiled/*/*"))
            assert not any(held.glob("tmp/.cache/adalog/kernels/*/*"))
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            # The init hands it on; killed, it would leave the server behind.
            process.terminate()
            process.wait(60)
