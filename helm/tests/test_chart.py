"""Every case renders to objects that Kubernetes takes, that name what is there, and that are confined."""

from __future__ import annotations

import functools
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from adalog.gateway.cli import main
from adalog.gateway.settings.config import names
from adalog.gateway.settings.setting import PREFIX
from adalog.gateway.settings.sources import read
from helm.tests.chart import (
    CASES,
    CHART,
    OLDEST,
    ROOT,
    Object,
    Rendered,
    expected,
    rendered,
)

VERSIONS = [OLDEST, "1.33", "1.37"]
TOKENS = {"auth": {"tokens": {"existingSecret": "adalog-tokens"}}}
# Other people's kinds, which no version of Kubernetes has a schema for.
FOREIGN = {"ServiceMonitor", "PrometheusRule"}
# Variables that others read: libpq, OpenTelemetry, Spark's driver; and a password that stands in an address.
OTHERS = {
    *("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME"),
    *("PGPASSWORD", "PGSSLROOTCERT", "POD_IP", "POD_NAME", "REDIS_PASSWORD"),
}


VALID: set[tuple[str, str]] = set()


@functools.cache
def case(path: Path) -> Rendered:
    return rendered(path.read_text(encoding="utf-8"))


cases = pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)


@cases
def test_what_is_made(path: Path) -> None:
    assert case(path).kinds == expected(path)


@pytest.mark.parametrize("version", VERSIONS)
@cases
def test_kubernetes_takes_it(path: Path, version: str) -> None:
    pods = [pod for _, pod in case(path).pods() if "kind" in pod]
    for each in [*case(path).objects, *pods]:
        # Many cases have the same Service, and the like.
        said = version, json.dumps(each, sort_keys=True)
        if each["kind"] not in FOREIGN and said not in VALID:
            kubernetes_validate.validate(each, ".".join(version.split(".")[:2]), strict=True)
            VALID.add(said)


def test_the_oldest_version_is_the_charts() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["kubeVersion"] == f">={OLDEST}-0"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert chart["appVersion"] == chart["version"] == project["version"]


@cases
def test_names_and_labels(path: Path) -> None:
    seen = set()
    for each in case(path).objects:
        said = each["metadata"]
        assert (each["kind"], said["name"]) not in seen
        seen.add((each["kind"], said["name"]))
        assert len(said["name"]) <= 63
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", said["name"])
        assert said["namespace"] == "databases"
        assert said["labels"]["app.kubernetes.io/managed-by"] == "Helm"


@pytest.mark.parametrize("override", ["fullnameOverride", "nameOverride"])
def test_long_names_have_room_for_suffixes(override: str) -> None:
    backup = {"enabled": True, "tokenSecret": "admin", "address": "s3://bucket/backups"}
    more = {"redis": {"bundled": {"enabled": True}}, "backup": backup, "spark": {"mode": "kubernetes"}}
    long = rendered(TOKENS, {override: "a" * 80, "database": BUNDLED, **more})
    for each in long.objects:
        # A CronJob's pods have eleven characters more.
        assert len(each["metadata"]["name"]) <= (52 if each["kind"] == "CronJob" else 63)
        assert all(len(value) <= 63 for value in each["metadata"]["labels"].values())


BUNDLED = {"kind": "postgresql", "postgresql": {"bundled": {"enabled": True}}}


@cases
def test_every_selector_finds_pods(path: Path) -> None:
    labels = [pod["metadata"]["labels"] for _, pod in case(path).pods()]
    for each in case(path).objects:
        for selector in selectors(each):
            assert any(selector.items() <= own.items() for own in labels), (each["metadata"]["name"], selector)
    for each, pod in case(path).pods():
        if "selector" in each.get("spec", {}):
            assert each["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    # A Service of the gateways must not find their executors, nor the like.
    components = [own["app.kubernetes.io/component"] for own in labels]
    assert len(set(components)) == len(components)


def selectors(each: Object) -> Iterator[dict[str, str]]:
    """The labels by which an object finds pods of the release."""
    kind, spec = each["kind"], each.get("spec", {})
    if kind == "Service":
        yield spec["selector"]
    elif kind in ("PodDisruptionBudget", "ServiceMonitor"):
        yield spec["selector"]["matchLabels"]
    elif kind == "NetworkPolicy":
        yield spec["podSelector"]["matchLabels"]
        rules = [peer for rule in spec["ingress"] for peer in rule["from"]]
        rules += [peer for rule in spec.get("egress", ()) for peer in rule.get("to", ())]
        yield from (peer["podSelector"].get("matchLabels", {}) for peer in rules if "podSelector" in peer)
    elif kind == "Deployment":
        for spread in spec["template"]["spec"].get("topologySpreadConstraints", ()):
            yield spread["labelSelector"]["matchLabels"]


GIVEN = {
    # What the cases say is in the cluster already.
    "Secret": {
        *("adalog-tokens", "db", "authority", "cache", "cache-signing", "prometheus", "reader", "registry"),
        *("one", "two", "bucket", "issuer", "jwt-signing", "admin", "collector"),
    },
    "ConfigMap": {"more"},
    "PersistentVolumeClaim": {"old-data", "in"},
    "ServiceAccount": {"data", "default"},
}
REFERENCES = {
    "secretKeyRef": ("Secret", "name"),
    "secret": ("Secret", "secretName"),
    "credentials": ("Secret", "name"),
    "configMapKeyRef": ("ConfigMap", "name"),
    "configMapRef": ("ConfigMap", "name"),
    "secretRef": ("Secret", "name"),
    "configMap": ("ConfigMap", "name"),
    "persistentVolumeClaim": ("PersistentVolumeClaim", "claimName"),
}


@cases
def test_every_reference_leads_somewhere(path: Path) -> None:
    made = {(each["kind"], each["metadata"]["name"]): each for each in case(path).objects}
    pods = [pod for _, pod in case(path).pods()]
    for node in walked([*case(path).objects, *pods]):
        for field, (kind, key) in REFERENCES.items():
            if isinstance(node.get(field), dict):
                name = node[field][key]
                assert (kind, name) in made or name in GIVEN[kind], f"{kind} {name}"
                if "key" in node[field] and (kind, name) in made:
                    own = made[kind, name]
                    assert node[field]["key"] in {**own.get("data", {}), **own.get("stringData", {})}
        if "serviceAccountName" in node:
            name = node["serviceAccountName"]
            assert ("ServiceAccount", name) in made or name in GIVEN["ServiceAccount"]
        if "volumeMounts" in node:
            continue
        for secret in node.get("imagePullSecrets", ()):
            assert secret["name"] in GIVEN["Secret"]
    for pod in pods:
        volumes = {each["name"] for each in pod["spec"].get("volumes", ())}
        if pod["metadata"]["labels"]["app.kubernetes.io/component"] == "postgresql":
            volumes.add("data")
        for container in pod["spec"]["containers"]:
            mounts = container["volumeMounts"]
            assert {each["name"] for each in mounts} <= volumes
            assert len({each["mountPath"] for each in mounts}) == len(mounts)
    for each in case(path).objects:
        if each["kind"] == "Ingress":
            for rule in each["spec"]["rules"]:
                (to,) = rule["http"]["paths"]
                assert to["backend"]["service"]["name"] == case(path).one("Service")["metadata"]["name"]
        elif each["kind"] == "HorizontalPodAutoscaler":
            assert each["spec"]["scaleTargetRef"]["name"] == case(path).one("Deployment")["metadata"]["name"]
        elif each["kind"] == "RoleBinding":
            (subject,) = each["subjects"]
            assert subject["name"] == case(path).one("Deployment")["spec"]["template"]["spec"]["serviceAccountName"]
            assert ("Role", each["roleRef"]["name"]) in made


def walked(value: Any) -> Iterator[Object]:
    """Every map within."""
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from walked(each)
    elif isinstance(value, list):
        for each in value:
            yield from walked(each)


@cases
def test_named_ports_are_there(path: Path) -> None:
    ports = {
        pod["metadata"]["labels"]["app.kubernetes.io/component"]: {
            port["name"]: port["containerPort"]
            for container in pod["spec"]["containers"]
            for port in container.get("ports", ())
        }
        for _, pod in case(path).pods()
    }
    for each in case(path).objects:
        component = each["metadata"]["labels"]["app.kubernetes.io/component"]
        if each["kind"] == "Service":
            assert {port["targetPort"] for port in each["spec"]["ports"]} <= ports[component].keys()
        elif each["kind"] == "NetworkPolicy":
            own = [port["port"] for rule in each["spec"]["ingress"] for port in rule.get("ports", ())]
            assert set(own) <= ports[component].keys()
            # Spark's driver listens where executors are let in.
            if "spark-driver" in own:
                conf = json.loads(case(path).environment["ADALOG_SPARK_CONF"])
                wanted = ("spark.driver.port", "spark.driver.blockManager.port", "spark.adalog.port")
                assert {int(conf[name]) for name in wanted} == {
                    ports[component][name] for name in own if name != "http"
                }


@cases
def test_pods_are_confined(path: Path) -> None:
    for each, pod in case(path).pods():
        spec = pod["spec"]
        own = spec["securityContext"]
        assert own["runAsNonRoot"] is True
        assert own["runAsUser"] > 0
        assert own["seccompProfile"] == {"type": "RuntimeDefault"}
        component = pod["metadata"]["labels"]["app.kubernetes.io/component"]
        drives = "ADALOG_SPARK_MASTER" in case(path).environment and component == "gateway"
        assert spec["automountServiceAccountToken"] is drives
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            if component in ("gateway", "postgresql", "redis", "backup"):
                assert "memory" in container["resources"]["limits"]
        assert not any("hostPath" in volume for volume in spec.get("volumes", ())), each["metadata"]["name"]


@cases
def test_every_variable_is_a_setting(path: Path) -> None:
    """Of the server, and its value one that it takes; or an option of the command that a pod runs."""
    options = {each.envvar for command in main.commands.values() for each in command.params}
    for _, pod in case(path).pods():
        component = pod["metadata"]["labels"]["app.kubernetes.io/component"]
        for container in pod["spec"]["containers"]:
            own = {each["name"]: each.get("value") for each in container.get("env", ())}
            assert len(own) == len(container.get("env", ()))
            if component == "gateway":
                found = read(
                    {**own, **{name: SECRETS[name] for name in own if own[name] is None}}, {"data": "data"}
                )
                assert found.unknown == ()
                assert set(own) - OTHERS <= {PREFIX + name.upper() for name in names()} | {"TZ"}
            elif component in ("test", "backup"):
                assert set(own) - OTHERS <= options
            names_before: set[str] = set()
            for name, value in own.items():
                # $(NAME) is replaced only by what stands before.
                assert set(re.findall(r"\$\((\w+)\)", value or "")) <= names_before
                names_before.add(name)


# What stands in Secrets, or is known when a pod starts.
SECRETS = {
    "ADALOG_DATA": "postgresql://app:secret@db.example.org/adalog",
    "ADALOG_REDIS_URL": "rediss://:secret@cache.example.org:6379/0",
    "ADALOG_REDIS_SECRET": "s" * 32,
    "ADALOG_JWT_SECRET": "s" * 32,
    **dict.fromkeys(OTHERS, "x"),
}
