"""What the rendered Deployment runs, run here: the image's entry with its arguments and environment; its probes.

Folders of this test stand where the pod has volumes, and loopback and a free port where it listens for the cluster.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from helm.tests.chart import ROOT, Object, Rendered, rendered
from tests.postgres_servers import PASSWORD
from tests.postgres_servers import running as postgres
from tests.redis_servers import running

TOKEN = "a token of the test"
AUTHORIZATION = {"Authorization": f"Bearer {TOKEN}"}
TOKENS = {"adalog-tokens": {"tokens": f"app:admin:{hashlib.sha256(TOKEN.encode()).hexdigest()}\n"}}
NAMED = {"auth": {"tokens": {"existingSecret": "adalog-tokens"}}}


@dataclass
class Pod:
    """A container of a rendered pod as a process of this machine."""

    container: Object
    process: subprocess.Popen[str]
    url: str
    client: httpx.Client

    def probe(self, kind: str) -> httpx.Response:
        """What the kubelet would be answered."""
        asked = self.container[f"{kind}Probe"]["httpGet"]
        assert asked["port"] in {port["name"] for port in self.container["ports"]}
        headers = {each["name"]: each["value"] for each in asked["httpHeaders"]}
        return self.client.get(self.url + asked["path"], headers=headers, timeout=30)

    def ask(self, document: str, **variables: Any) -> Any:
        body = {"query": document, "variables": variables}
        answer = self.client.post(f"{self.url}/graphql", json=body, headers=AUTHORIZATION, timeout=60).json()
        assert "errors" not in answer, answer
        return answer["data"]

    def end(self) -> int:
        """Stops it as the kubelet does; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@contextmanager
def started(
    made: Rendered,
    folder: Path,
    secrets: Mapping[str, Mapping[str, str]],
    replaced: Mapping[str, str] | None = None,
) -> Iterator[Pod]:
    """The gateway's container. `replaced`: names of the cluster, and what stands for them here."""
    spec = made.one("Deployment")["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    secrets = {**secrets, **own_secrets(made)}
    places = {}
    for volume in spec["volumes"]:
        place = folder / volume["name"]
        place.mkdir(mode=0o700, exist_ok=True)
        places[volume["name"]] = place
        for name, text in secrets.get(volume.get("secret", {}).get("secretName"), {}).items():
            place.joinpath(name).write_text(text)
            place.joinpath(name).chmod(volume["secret"]["defaultMode"])
    mounts = {each["mountPath"]: str(places[each["name"]]) for each in container["volumeMounts"]}
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ADALOG_")}
    environ |= {"PYTHONPATH": str(ROOT), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environ |= {"HOME": mounts["/tmp"], "TMPDIR": mounts["/tmp"]}
    given: dict[str, str] = {}
    for each in container["env"]:
        if "valueFrom" in each:
            source = each["valueFrom"]["secretKeyRef"]
            given[each["name"]] = secrets[source["name"]][source["key"]]
        else:
            text = re.sub(r"\$\((\w+)\)", lambda found: given[found[1]], each["value"])
            for here, there in {**mounts, **(replaced or {})}.items():
                text = text.replace(here, there)
            given[each["name"]] = text
    given |= {"ADALOG_HOST": "127.0.0.1", "ADALOG_PORT": "0", "ADALOG_DRAIN_SECONDS": "0"}
    with subprocess.Popen(
        [ROOT / "helm" / "image" / "entrypoint.sh", *container["args"]],
        env={**environ, **given},
        cwd=mounts["/tmp"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            said = ""
            while not (found := re.search(r"(http://127\.0\.0\.1:\d+)/graphql", said)):
                line = process.stdout.readline()
                assert line, process.stderr.read()
                said += line
            with httpx.Client() as client:
                yield Pod(container, process, found[1], client)
        finally:
            process.kill()


def beside(pod: Pod, container: Object, folder: Path) -> str:
    """What another container of the release prints, which asks the pod by the Service's name."""
    command = container.get("command", [ROOT / "helm" / "image" / "entrypoint.sh", *container.get("args", ())])
    replaced = {"http://live-adalog:8080": pod.url, "/backups/": f"{folder}/backups/"}
    words = [str(word) for word in command]
    for here, there in replaced.items():
        words = [word.replace(here, there) for word in words]
    environ = {"PYTHONPATH": str(ROOT), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    environ |= {"HOME": str(folder), **{each["name"]: TOKEN for each in container.get("env", ())}}
    done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def own_secrets(made: Rendered) -> dict[str, dict[str, str]]:
    """What stands in the Secrets that the chart makes."""
    found = {}
    for each in made.objects:
        if each["kind"] == "Secret":
            data = {name: base64.b64decode(text).decode() for name, text in each.get("data", {}).items()}
            found[each["metadata"]["name"]] = {**data, **each.get("stringData", {})}
    return found


def until_ready(pod: Pod) -> None:
    """Asks as often as it takes; the kubelet, too, asks until it is."""
    while (answer := pod.probe("readiness")).status_code != 200:
        assert pod.process.poll() is None
        assert answer.status_code == 503
        assert answer.json()["why"]


def test_one_gateway_on_a_folder(tmp_path: Path) -> None:
    # A name that the probes do not have by themselves.
    settings = {"settings": {"allowed_hosts": "db.example.org", "timeout_ms": 12_000}}
    made = rendered(NAMED, settings, {"backup": {"enabled": True, "tokenSecret": "admin"}})
    with started(made, tmp_path, TOKENS) as pod:
        assert pod.probe("startup").status_code == 200
        until_ready(pod)
        assert pod.probe("liveness").status_code == 200
        assert pod.client.get(f"{pod.url}/metrics").status_code == 401
        assert "adalog_read_only 0" in pod.client.get(f"{pod.url}/metrics", headers=AUTHORIZATION).text
        assert pod.client.post(f"{pod.url}/graphql", json={"query": "{ database { basisT } }"}).status_code == 401
        pod.ask('mutation { transact(tx: "[{:name \\"Ada\\"}]") { t } }')
        assert (tmp_path / "data" / "adalog" / "log.sqlite").is_file()
        # What `helm test` runs, and the CronJob, beside it.
        (asks,) = rendered(NAMED, {"tests": {"tokenSecret": "reader"}}).one("Pod", "-answers")["spec"]["containers"]
        assert beside(pod, asks, tmp_path)
        (plain,) = rendered(NAMED).one("Pod", "-answers")["spec"]["containers"]
        assert '"ready"' in beside(pod, plain, tmp_path)
        job = made.one("CronJob", "-backup")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        assert json.loads(beside(pod, job["containers"][0], tmp_path).splitlines()[-1])["t"] == 1
        assert (tmp_path / "backups" / "live-adalog" / "backups").is_dir()
        assert pod.end() == 0


def test_a_gateway_on_postgresql_with_the_redis_beside_it(tmp_path: Path) -> None:
    """With a password that no address could have as it is, and checkpoints on the volume that gateways share."""
    parts = {
        "host": "db.example.org",
        "user": "ada",
        "name": "postgres",
        "sslMode": "disable",
        "passwordSecret": "db",
    }
    database = {"database": {"kind": "postgresql", "postgresql": parts}}
    more = {"segments": {"volume": {"enabled": True}}, "redis": {"bundled": {"enabled": True}}}
    made = rendered(NAMED, database, more)
    password = own_secrets(made)["live-adalog-redis"]["password"]
    (container,) = made.one("Deployment", "-redis")["spec"]["template"]["spec"]["containers"]
    program, *options = container["args"]
    assert program == "redis-server"
    # The fixture's own look whether it answers knows no password; it is set when it does.
    needed = options.index("--requirepass")
    assert options[needed + 1] == "$(REDIS_PASSWORD)"
    del options[needed : needed + 2]
    with postgres() as server, running("redis", *options) as redis:
        redis.client().config_set("requirepass", password)
        here = {
            "db.example.org:5432": f"127.0.0.1:{server.port}",
            f"redis://:{password}@live-adalog-redis:6379/0": f"unix://:{password}@{redis.socket}?db=0",
        }
        with started(made, tmp_path, {**TOKENS, "db": {"password": PASSWORD}}, here) as pod:
            until_ready(pod)
            pod.ask('mutation { transact(tx: "[{:name \\"Ada\\"}]") { t } }')
            found = pod.ask('{ q(query: "[:find ?n :where [_ :name ?n]]") { rows } }')
            assert found["q"]["rows"] == [["Ada"]]
            text = pod.client.get(f"{pod.url}/metrics", headers=AUTHORIZATION).text
            assert re.search(r"^adalog_cache_redis_up 1", text, re.MULTILINE)
            assert (tmp_path / "copy" / "adalog").is_dir()
            assert pod.end() == 0


def test_spark_would_be_driven_as_rendered(tmp_path: Path) -> None:
    """The properties are ones that the gateway takes; to run them takes a cluster."""
    from adalog.cluster.configuration import configuration
    from adalog.cluster.properties import parsed

    database = {"database": {"folder": {"accessModes": ["ReadWriteMany"]}}}
    made = rendered(NAMED, database, {"spark": {"mode": "kubernetes"}})
    given = parsed(made.environment["ADALOG_SPARK_CONF"])
    chosen = configuration(made.environment["ADALOG_SPARK_MASTER"], tmp_path, given, {})
    assert chosen.items() >= given.items()
    assert chosen["spark.submit.deployMode"] == "client"
    assert json.loads(made.environment["ADALOG_SPARK_CONF"]) == given
