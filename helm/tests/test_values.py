"""What values do, and what is refused with a sentence that says what to set."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from typing import Any

import pytest

from adalog.gateway.connections.limits import PING_SECONDS
from adalog.gateway.process import shutdown
from adalog.gateway.settings.config import Settings, names
from helm import readme
from helm.tests.chart import CHART, Refused, defaults, loaded, rendered, schema

TOKENS: dict[str, Any] = {"auth": {"tokens": {"existingSecret": "adalog-tokens"}}}
POSTGRESQL: dict[str, Any] = {"database": {"kind": "postgresql", "postgresql": {"host": "db.example.org"}}}
BUNDLED: dict[str, Any] = {"database": {"kind": "postgresql", "postgresql": {"bundled": {"enabled": True}}}}
SPARK: dict[str, Any] = {"spark": {"mode": "kubernetes"}}
DIGEST = "e3316e2bafebb6103a3418e8778c0adc960d40213a03a7e7f4fcd3426ed807bf"


# Refusals

REFUSED = {
    "nobody": ({}, "no authentication is set up.*auth.tokens.existingSecret.*auth.tokens.list"),
    "tokens twice": (
        {"auth": {"tokens": {"existingSecret": "x", "list": [{"name": "a", "role": "read", "sha256": DIGEST}]}}},
        "auth.tokens.existingSecret and auth.tokens.list are both set",
    ),
    "tokens that nothing verifies": (
        {"auth": {"jwt": {"algorithms": ["RS256"]}}},
        "with 0 of what verifies tokens; set one of auth.jwt.keysUrl",
    ),
    "keys without an algorithm": (
        {"auth": {"tokens": {"existingSecret": "a"}, "jwt": {"keysUrl": "https://a"}}},
        "names keys, and no algorithm",
    ),
    "keys of all services": (
        {"auth": {"jwt": {"algorithms": ["RS256"], "keysUrl": "https://a"}}},
        "auth.jwt.issuer and auth.jwt.audience are needed",
    ),
    "an algorithm that is none": ({"auth": {"jwt": {"algorithms": ["none"]}}}, "auth.jwt.algorithms.*none"),
    "segments of a folder": (
        {**TOKENS, "segments": {"address": "s3://bucket/adalog"}},
        "segments are shared by gateways on PostgreSQL",
    ),
    "segments twice": (
        {**TOKENS, **POSTGRESQL, "segments": {"address": "s3://bucket/a", "volume": {"enabled": True}}},
        "segments.address and segments.volume.enabled are both set",
    ),
    "a secret for public keys": (
        {"auth": {"jwt": {"algorithms": ["RS256"], "signingSecret": "a"}}},
        "auth.jwt.algorithms has RS256: HS256, HS384 and HS512, and only these",
    ),
    "public keys for a secret": (
        {"auth": {"jwt": {"algorithms": ["HS256"], "keySecret": "a", "issuer": "i", "audience": "a"}}},
        "auth.jwt.algorithms has HS256",
    ),
    "keys that anybody could send": (
        {"auth": {"jwt": {"algorithms": ["RS256"], "keysUrl": "http://a", "issuer": "i", "audience": "a"}}},
        "auth.jwt.keysUrl",
    ),
    "a role of two claims": ({"auth": {"jwt": {"roles": {"a,b": "read"}}}}, "auth.jwt.roles.*a,b"),
    "backups without a token": ({**TOKENS, "backup": {"enabled": True}}, "set backup.tokenSecret"),
    "backups by any of several": (
        {**TOKENS, **POSTGRESQL, "backup": {"enabled": True, "tokenSecret": "a"}},
        "backup.volume.accessModes to \\[ReadWriteMany\\]",
    ),
    "two on a folder": ({**TOKENS, "replicas": 2}, "replicas is 2.*database.kind to postgresql"),
    "scaled on a folder": ({**TOKENS, "autoscaling": {"enabled": True}}, "database.kind to postgresql"),
    "no PostgreSQL": (
        {**TOKENS, "database": {"kind": "postgresql"}},
        "0 of three ways.*existingSecret.*host.*bundled.enabled",
    ),
    "two PostgreSQLs": (
        {**TOKENS, "database": {"kind": "postgresql", "postgresql": {"host": "a", "existingSecret": "b"}}},
        "2 of three ways",
    ),
    "an authority that nobody named": (
        {**TOKENS, "database": {"kind": "postgresql", "postgresql": {"host": "a", "sslMode": "verify-ca"}}},
        "set database.postgresql.caSecret",
    ),
    "executors without the volume": ({**TOKENS, **SPARK}, r"accessModes to \[ReadWriteMany\]"),
    "two caches": (
        {**TOKENS, "redis": {"url": "redis://a", "bundled": {"enabled": True}}},
        "more than one of redis.url",
    ),
    "an Ingress for no host": ({**TOKENS, "ingress": {"enabled": True}}, "name at least one host"),
    "metrics without a token": (
        {**TOKENS, "metrics": {"serviceMonitor": {"enabled": True}}},
        "metrics.serviceMonitor.tokenSecret",
    ),
    "too little memory": (
        {**TOKENS, "resources": {"limits": {"memory": "1Gi"}}},
        r"resources.limits.memory is 1Gi; .* set it above 1944Mi",
    ),
    "too little memory for the settings": (
        {**TOKENS, "settings": {"memory_bytes": 8 << 30, "workers": 4}},
        "resources.limits.memory is 6Gi",
    ),
    "data that nothing can write": (
        {**TOKENS, "database": {"folder": {"accessModes": ["ReadOnlyMany"]}}},
        "accessModes",
    ),
    "no time to end": ({**TOKENS, "terminationGracePeriodSeconds": 14}, "set it to 15 at least"),
    "fewest above most": (
        {**TOKENS, **POSTGRESQL, "autoscaling": {"enabled": True, "minReplicas": 7}},
        "minReplicas is 7, more than autoscaling.maxReplicas, 6",
    ),
    "scaled by nothing": (
        {**TOKENS, **POSTGRESQL, "autoscaling": {"enabled": True, "targetCPU": None}},
        "autoscaling.targetCPU or autoscaling.targetMemory",
    ),
    "scaled by a part of nothing": (
        {**TOKENS, **POSTGRESQL, "autoscaling": {"enabled": True}, "resources": {"requests": {"cpu": None}}},
        "resources.requests.cpu is not set",
    ),
    "a variable that is set": ({**TOKENS, "extraEnv": [{"name": "ADALOG_PORT", "value": "1"}]}, "has ADALOG_PORT"),
    "a setting twice": (
        {**TOKENS, "settings": {"rows": 1}, "extraEnv": [{"name": "ADALOG_ROWS", "value": "2"}]},
        "extraEnv has ADALOG_ROWS",
    ),
    "a variable twice": (
        {**TOKENS, "extraEnv": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
        "has A,",
    ),
    "a number as a name": ({**TOKENS, "fullnameOverride": "1"}, 'called "1", and names of Services begin with'),
    "a setting of the chart's": (
        {**TOKENS, "settings": {"redis_url": "redis://a"}},
        "settings.redis_url.*use redis",
    ),
    # What the schema says.
    "no value": ({**TOKENS, "replica": 2}, "replica"),
    "no value within": ({**TOKENS, "database": {"folder": {"sise": "1Gi"}}}, "database.*sise"),
    "a kind": ({**TOKENS, "database": {"kind": "mysql"}}, "database.kind.*mysql"),
    "a YAML truth": ({**TOKENS, "spark": {"mode": False}}, "spark.mode.*kubernetes"),
    "a short hash": ({"auth": {"tokens": {"list": [{"name": "a", "role": "read", "sha256": "abc"}]}}}, "abc"),
    "a role": ({"auth": {"tokens": {"list": [{"name": "a", "role": "root", "sha256": DIGEST}]}}}, "root"),
    "a password in an address": ({**TOKENS, "redis": {"url": "redis://:secret@cache"}}, "redis.url"),
    "a property": ({**TOKENS, "spark": {"conf": {"driver.memory": "1g"}}}, "driver.memory"),
    "no setting": ({**TOKENS, "settings": {"timout_ms": 1}}, "settings.*timout_ms"),
    "a variable that is a number": ({**TOKENS, "extraEnv": [{"name": "A", "value": 1}]}, "extraEnv.*value"),
    "a label of the chart's": ({**TOKENS, "podLabels": {"app.kubernetes.io/name": "x"}}, "podLabels"),
    "a long label": ({**TOKENS, "commonLabels": {"team": "x" * 64}}, "commonLabels.team"),
    "a proxy by name": ({**TOKENS, "ingress": {"trustedProxies": "proxy"}}, "ingress.trustedProxies"),
    "memory": ({**TOKENS, "resources": {"limits": {"memory": "lots"}}}, "resources.limits.memory"),
    "half a spread": ({**TOKENS, "topologySpreadConstraints": [{"maxSkew": 1}]}, "topologyKey"),
    "a setting in capitals": ({**TOKENS, "settings": {"ADALOG_ROWS": 1}}, "ADALOG_ROWS"),
    "none": ({**TOKENS, "replicas": 0}, "replicas"),
    "a size": ({**TOKENS, "database": {"folder": {"size": "20 GB"}}}, "database.folder.size"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    values, said = REFUSED[name]
    with pytest.raises(Refused, match=f"(?s){said}"):
        rendered(values)


def test_what_the_chart_keeps_to_itself_are_settings() -> None:
    text = (CHART / "templates" / "_checks.tpl").read_text(encoding="utf-8")
    (words,) = re.findall(r"\$own := dict (.*) -\}\}", text)
    kept = re.findall(r'"([^"]*)"', words)[::2]
    assert {"data", "auth", "redis_url"} <= set(kept) <= names()


# The schema, and the README


def test_the_schema_has_just_the_values_there_are() -> None:
    assert keys_of(schema()) - {("global",)} == keys_of_values(defaults())


def keys_of(part: Any, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """Every key that an object of the schema lists; what it takes openly has none."""
    if "$ref" in part:
        part = schema()["definitions"][part["$ref"].rpartition("/")[2]]
    found: set[tuple[str, ...]] = set()
    for name, inner in part.get("properties", {}).items():
        if name not in OPTIONAL:
            found |= {(*path, name)} | keys_of(inner, (*path, name))
    return found


# What resources and probes may also say.
OPTIONAL = {"claims", "initialDelaySeconds", "successThreshold", "requests", "limits"}


def keys_of_values(part: Any, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for name, inner in part.items():
        if name not in OPTIONAL:
            found.add((*path, name))
            if isinstance(inner, dict) and not is_open((*path, name)):
                found |= keys_of_values(inner, (*path, name))
    return found


def is_open(path: tuple[str, ...]) -> bool:
    """Whether the schema takes any key there."""
    part = schema()
    for name in path:
        part = part["properties"][name]
        if "$ref" in part:
            part = schema()["definitions"][part["$ref"].rpartition("/")[2]]
    return part.get("additionalProperties") is not False


def test_the_readme_is_current() -> None:
    assert readme.README.read_text(encoding="utf-8") == readme.text(), "run python helm/readme.py"


def test_every_value_is_described() -> None:
    """In the README, or with the map that it stands in."""
    said = {path for path, _ in readme.described((CHART / "values.yaml").read_text(encoding="utf-8"))}
    for path in keys_of_values(defaults()):
        below = any(each[: len(path)] == path for each in said)
        assert below or any(path[: len(each)] == each for each in said), path


# What values do


ROOM = {"resources": {"limits": {"memory": "16Gi"}}}


def test_large_numbers_stay_numbers() -> None:
    """YAML's numbers are floats in a template: 1e+06."""
    made = rendered(
        TOKENS, {"settings": {"rows": 1_000_000, "memory_bytes": 8_589_934_592, "idle_seconds": 80.5}, **ROOM}
    )
    assert made.environment["ADALOG_ROWS"] == "1000000"
    assert made.environment["ADALOG_MEMORY_BYTES"] == "8589934592"
    assert made.environment["ADALOG_IDLE_SECONDS"] == "80.5"


def test_lists_are_separated_by_commas() -> None:
    made = rendered(TOKENS, {"settings": {"allowed_origins": ["https://a.example.org", "https://b.example.org"]}})
    assert made.environment["ADALOG_ALLOWED_ORIGINS"] == "https://a.example.org,https://b.example.org"


def test_names_that_yaml_takes_for_something_else() -> None:
    """Helm takes them, and so does Kubernetes; nothing becomes a number on the way."""
    odd = {"fullnameOverride": "e1", "commonLabels": {"a": "12", "b": "true"}, "priorityClassName": "12"}
    values = {**odd, "auth": {"tokens": {"existingSecret": "7"}}, "serviceAccount": {"name": "3"}}
    made = rendered(values, release="2024", namespace="12")
    for each in made.objects:
        said = each["metadata"]
        assert said["namespace"] == "12"
        assert (said["labels"]["app.kubernetes.io/instance"], said["labels"]["a"]) == ("2024", "12")
    (pod,) = (each["spec"]["template"]["spec"] for each in made.objects if each["kind"] == "Deployment")
    assert (pod["priorityClassName"], pod["serviceAccountName"]) == ("12", "3")
    assert {"name": "tokens", "secret": {"secretName": "7", "defaultMode": 0o440}} in pod["volumes"]
    with pytest.raises(Refused, match='called "2024-adalog"'):
        rendered(TOKENS, release="2024")


def test_a_label_stands_once() -> None:
    """Whoever else gives it: its pods' and objects' own ones before those of all."""
    monitor = {"serviceMonitor": {"enabled": True, "tokenSecret": "a", "labels": {"release": "own"}}}
    given = {
        "commonLabels": {"release": "all", "team": "data"},
        "podLabels": {"release": "pods"},
        "metrics": monitor,
    }
    made = rendered(TOKENS, given)
    assert made.one("ServiceMonitor")["metadata"]["labels"]["release"] == "own"
    assert made.one("Deployment")["spec"]["template"]["metadata"]["labels"]["release"] == "pods"
    assert made.one("Service")["metadata"]["labels"]["release"] == "all"
    assert {each["metadata"]["labels"]["team"] for each in made.objects} == {"data"}


def test_a_folder_is_one_gateways_and_stays() -> None:
    made = rendered(TOKENS)
    spec = made.one("Deployment")["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert made.environment["ADALOG_DATA"].startswith("/data/")
    claim = made.one("PersistentVolumeClaim", "-data")
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert "storageClassName" not in claim["spec"]
    given = rendered(TOKENS, {"database": {"folder": {"keep": False, "storageClass": "fast"}}})
    claim = given.one("PersistentVolumeClaim", "-data")
    assert "annotations" not in claim["metadata"]
    assert claim["spec"]["storageClassName"] == "fast"


def test_several_gateways_are_spread_and_replaced_one_by_one() -> None:
    made = rendered(TOKENS, POSTGRESQL)
    spec = made.one("Deployment")["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert len(spec["template"]["spec"]["topologySpreadConstraints"]) == 2
    assert made.one("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    one = rendered(TOKENS, POSTGRESQL, {"replicas": 1})
    assert "topologySpreadConstraints" not in one.one("Deployment")["spec"]["template"]["spec"]
    assert "PodDisruptionBudget" not in one.kinds


def test_the_autoscaler_alone_says_how_many() -> None:
    made = rendered(TOKENS, POSTGRESQL, {"autoscaling": {"enabled": True, "targetMemory": 80}})
    assert "replicas" not in made.one("Deployment")["spec"]
    metrics = made.one("HorizontalPodAutoscaler")["spec"]["metrics"]
    assert [each["resource"]["name"] for each in metrics] == ["cpu", "memory"]


def test_passwords_stand_in_no_address() -> None:
    """libpq and the kubelet put them in: what they consist of does not matter."""
    made = rendered(TOKENS, POSTGRESQL, {"database": {"postgresql": {"passwordSecret": "db", "port": 6432}}})
    assert made.environment["ADALOG_DATA"] == ("postgresql://adalog@db.example.org:6432/adalog?sslmode=verify-full")
    assert made.environment["PGPASSWORD"] == {"secretKeyRef": {"name": "db", "key": "password"}}
    assert made.environment["PGSSLROOTCERT"] == "system"
    own = rendered(TOKENS, POSTGRESQL, {"database": {"postgresql": {"caSecret": "ca"}}})
    assert own.environment["PGSSLROOTCERT"] == "/etc/adalog/postgresql/ca.crt"
    assert not any("password" in json.dumps(each).lower() for each in own.objects)


def test_passwords_that_the_chart_makes() -> None:
    made = rendered(TOKENS, BUNDLED, {"redis": {"bundled": {"enabled": True}}})
    again = rendered(TOKENS, BUNDLED, {"redis": {"bundled": {"enabled": True}}})
    secrets = {}
    for suffix, keys in (("-postgresql", {"password"}), ("-redis", {"password", "signing"})):
        data = made.one("Secret", suffix)["data"]
        assert data.keys() == keys
        for name, text in data.items():
            secret = base64.b64decode(text).decode()
            # They stand in an address as they are.
            assert re.fullmatch(r"[A-Za-z0-9]{32,}", secret)
            assert text != again.one("Secret", suffix)["data"][name]
            secrets[suffix, name] = secret
    assert len(set(secrets.values())) == 3
    rest = [each for each in made.objects if each["kind"] != "Secret"]
    assert not any(secret in json.dumps(rest) for secret in secrets.values())


def test_the_lines_of_tokens(tmp_path: Any) -> None:
    from adalog.gateway.identity.auth import Tokens

    entries = [
        {"name": "app", "role": "write", "sha256": DIGEST},
        {"name": "ops", "role": "admin", "sha256": DIGEST[::-1]},
    ]
    made = rendered({"auth": {"tokens": {"list": entries}}})
    file = tmp_path / "tokens"
    file.write_text(made.one("Secret", "-tokens")["stringData"]["tokens"])
    file.chmod(0o600)
    # The file is one that the server takes.
    assert Tokens.load(str(file)).required
    pod = made.one("Deployment")["spec"]["template"]
    changed = rendered({"auth": {"tokens": {"list": entries[:1]}}}).one("Deployment")["spec"]["template"]
    assert pod["metadata"]["annotations"] != changed["metadata"]["annotations"], "the file is read at start"


def test_there_is_time_to_end() -> None:
    made = rendered(TOKENS)
    spec = made.one("Deployment")["spec"]["template"]["spec"]
    (variables,) = (each["env"] for each in spec["containers"])
    (drain,) = (each["value"] for each in variables if each["name"] == "ADALOG_DRAIN_SECONDS")
    assert int(drain) >= 5
    assert int(drain) + shutdown.GONE < spec["terminationGracePeriodSeconds"]


def test_streams_pass_the_ingress() -> None:
    made = rendered(TOKENS, {"ingress": {"enabled": True, "hosts": ["a.example.org"], "className": "nginx"}})
    said = made.one("Ingress")["metadata"]["annotations"]
    nginx = "nginx.ingress.kubernetes.io/"
    assert said[f"{nginx}proxy-buffering"] == "off"
    # What is silent is pinged before.
    assert int(said[f"{nginx}proxy-read-timeout"]) > max(PING_SECONDS, Settings().timeout_ms / 1000)
    assert said[f"{nginx}proxy-body-size"] == f"{Settings().request_bytes // 2**20}m"
    plain = rendered(
        TOKENS, {"ingress": {"enabled": True, "hosts": ["a.example.org"], "nginx": False, "className": ""}}
    )
    assert "annotations" not in plain.one("Ingress")["metadata"]
    assert "ingressClassName" not in plain.one("Ingress")["spec"]


def test_signed_tokens() -> None:
    jwt = {"algorithms": ["RS256", "ES256"], "keysUrl": "https://a.example.org/k", "issuer": "i", "audience": "a"}
    roles = {"b": "write", "a": "read"}
    made = rendered(POSTGRESQL, {"auth": {"jwt": {**jwt, "roles": roles}}})
    assert made.environment["ADALOG_JWT_ALGORITHMS"] == "RS256,ES256"
    assert made.environment["ADALOG_JWT_ROLES"] == "a=read,b=write"
    assert "ADALOG_AUTH" not in made.environment
    egress = made.one("NetworkPolicy")["spec"]["egress"]
    assert 443 in [port["port"] for each in egress for port in each["ports"]]
    assert "a JSON Web Token of i:" in made.notes
    both = rendered(TOKENS, {"auth": {"jwt": {"algorithms": ["HS256"], "signingSecret": "s"}}})
    assert both.environment["ADALOG_AUTH"]
    assert both.environment["ADALOG_JWT_SECRET"] == {"secretKeyRef": {"name": "s", "key": "secret"}}
    assert "a token of the Secret adalog-tokens or a JSON Web Token of yours:" in both.notes


def test_traces() -> None:
    assert not any(name.startswith("OTEL") for name in rendered(TOKENS).environment)
    made = rendered(TOKENS, {"telemetry": {"endpoint": "http://collector:4318", "headersSecret": "collector"}})
    assert made.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://collector:4318"
    assert made.environment["OTEL_EXPORTER_OTLP_HEADERS"]["secretKeyRef"]["name"] == "collector"
    egress = made.one("NetworkPolicy")["spec"]["egress"]
    assert 4318 in [port["port"] for each in egress for port in each["ports"]]


def test_segments_are_shared_and_copied() -> None:
    made = rendered(TOKENS, POSTGRESQL, {"segments": {"volume": {"enabled": True}}})
    mounts = {each["mountPath"]: each["name"] for each in made.gateway["volumeMounts"]}
    assert mounts["/segments"] == "segments"
    assert made.environment["ADALOG_SEGMENTS"].startswith("/segments/")
    assert made.environment["ADALOG_SEGMENTS_COPY"].startswith("/copy/")
    claim = made.one("PersistentVolumeClaim", "-segments")
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    stored = {"segments": {"address": "s3://bucket/adalog"}, "objectStore": {"existingSecret": "bucket"}}
    made = rendered(TOKENS, POSTGRESQL, stored)
    assert made.environment["ADALOG_SEGMENTS"] == "s3://bucket/adalog"
    assert made.gateway["envFrom"] == [{"secretRef": {"name": "bucket"}}]
    assert "/segments" not in {each["mountPath"] for each in made.gateway["volumeMounts"]}


@pytest.mark.parametrize(
    ("segments", "place"),
    [
        ({"volume": {"enabled": True}}, "file:///segments/adalog/spark"),
        ({"address": "s3://bucket/adalog"}, "s3://bucket/adalog/spark"),
        ({"address": "s3://bucket/a/b/?region=x&scheme=http"}, "s3://bucket/a/b/spark?region=x&scheme=http"),
    ],
)
def test_executors_find_segments_within_the_place_of_gateways(segments: dict[str, Any], place: str) -> None:
    """Gateways put there what executors read, who keep it on their scratch disk."""
    made = rendered(TOKENS, POSTGRESQL, SPARK, {"segments": segments, "objectStore": {"existingSecret": "bucket"}})
    assert made.environment["ADALOG_SPARK_SEGMENTS"] == place
    (pod,) = loaded(made.one("ConfigMap", "-spark")["data"]["executor.yaml"])
    (executor,) = pod["spec"]["containers"]
    mounts = {each["mountPath"]: each for each in executor["volumeMounts"]}
    (kept,) = (each["value"] for each in executor["env"] if each["name"] == "TMPDIR")
    assert kept in mounts
    if "volume" in segments:
        (own,) = (each for each in made.gateway["volumeMounts"] if each["name"] == "segments")
        assert mounts["/segments"] == {**own, "readOnly": True}
    else:
        assert "/segments" not in mounts
    # With the keys, or the cloud's identity, of the gateways.
    assert executor["envFrom"] == [{"secretRef": {"name": "bucket"}}]
    gateways = made.one("Deployment")["spec"]["template"]["spec"]
    assert pod["spec"]["serviceAccountName"] == gateways["serviceAccountName"]
    assert pod["spec"]["automountServiceAccountToken"] is False
    ports = {
        port["port"]
        for rule in made.one("NetworkPolicy", "-spark")["spec"]["egress"]
        for port in rule.get("ports", ())
    }
    assert 443 in ports


def test_executors_need_no_place_where_they_are_processes_of_the_pod() -> None:
    made = rendered(TOKENS, POSTGRESQL, {"spark": {"mode": "local"}, "segments": {"volume": {"enabled": True}}})
    assert "ADALOG_SPARK_SEGMENTS" not in made.environment


def test_who_may_talk() -> None:
    shut = rendered(TOKENS, {"networkPolicy": {"from": []}}).one("NetworkPolicy")["spec"]
    (rule,) = shut["ingress"]
    # `helm test` gets in.
    ((kind, peer),) = rule["from"][0].items()
    assert (kind, peer["matchLabels"]["app.kubernetes.io/component"]) == ("podSelector", "test")
    assert shut["policyTypes"] == ["Ingress", "Egress"]
    values = {"ingress": {"enabled": True, "hosts": ["a.example.org"]}, "redis": {"url": "redis://cache"}}
    opened = rendered(TOKENS, POSTGRESQL, values).one("NetworkPolicy")["spec"]
    (rule,) = opened["ingress"]
    assert [next(iter(peer)) for peer in rule["from"]] == ["podSelector", "podSelector", "namespaceSelector"]
    ports = [port["port"] for each in opened["egress"] for port in each["ports"]]
    assert ports == [53, 53, 5432, 6379]
    free = rendered(TOKENS, {"networkPolicy": {"restrictEgress": False}}).one("NetworkPolicy")["spec"]
    assert free["policyTypes"] == ["Ingress"]


def test_spark_of_ones_own() -> None:
    made = rendered(TOKENS, POSTGRESQL, SPARK, {"image": {"repository": "r.example.org/a", "tag": "7"}})
    settings = json.loads(made.environment["ADALOG_SPARK_CONF"])
    assert settings["spark.kubernetes.container.image"] == made.gateway["image"] == "r.example.org/a:7"
    assert settings["spark.kubernetes.namespace"] == "databases"
    assert settings["spark.authenticate"] == settings["spark.network.crypto.enabled"] == "true"
    assert settings["spark.driver.host"] == "$(POD_IP)"
    assert made.environment["ADALOG_SPARK"] == "on"
    # Where the driver finds the template.
    folder, _, file = settings["spark.kubernetes.executor.podTemplateFile"].rpartition("/")
    (mount,) = (each["name"] for each in made.gateway["volumeMounts"] if each["mountPath"] == folder)
    (volume,) = (
        each["configMap"]["name"]
        for each in made.one("Deployment")["spec"]["template"]["spec"]["volumes"]
        if each["name"] == mount
    )
    assert volume == made.one("ConfigMap", "-spark")["metadata"]["name"]
    (pod,) = loaded(made.one("ConfigMap", "-spark")["data"][file])
    (container,) = pod["spec"]["containers"]
    assert container["name"] == settings["spark.kubernetes.executor.podTemplateContainerName"]
    # Spark spills where the image cannot be written only into volumes of this name.
    assert any(each["name"].startswith("spark-local-dir-") for each in container["volumeMounts"])
    given = rendered(TOKENS, POSTGRESQL, SPARK, {"spark": {"conf": {"spark.driver.port": 9000, "spark.x": True}}})
    settings = json.loads(given.environment["ADALOG_SPARK_CONF"])
    assert (settings["spark.driver.port"], settings["spark.x"]) == ("9000", "true")


def test_executors_have_the_folder_where_the_gateway_has_it() -> None:
    """Tasks of imports write there."""
    shared = {"database": {"folder": {"accessModes": ["ReadWriteMany"]}}}
    made = rendered(TOKENS, SPARK, shared)
    (pod,) = loaded(made.one("ConfigMap", "-spark")["data"]["executor.yaml"])
    (own,) = (each for each in pod["spec"]["containers"][0]["volumeMounts"] if each["name"] == "data")
    (gateways,) = (each for each in made.gateway["volumeMounts"] if each["name"] == "data")
    assert own == gateways


def test_the_dashboard_is_what_lies_in_its_folder() -> None:
    values = {"metrics": {"dashboard": {"enabled": True, "annotations": {"grafana_folder": "databases"}}}}
    files = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in CHART.glob("dashboards/*.json")}
    made = rendered(TOKENS, values)
    found = [each for each in made.objects if each["kind"] == "ConfigMap"]
    assert bool(found) == bool(files)
    for each in found:
        assert {name: json.loads(text) for name, text in each["data"].items()} == files
        assert each["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert each["metadata"]["annotations"] == {"grafana_folder": "databases"}


def test_what_helm_prints() -> None:
    notes = rendered(TOKENS).notes
    assert "one gateway on the volume live-adalog-data" in notes
    assert "port-forward service/live-adalog 8080" in notes
    assert "WARNING" not in notes
    notes = rendered(TOKENS, BUNDLED, {"ingress": {"enabled": True, "hosts": ["a.example.org"]}}).notes
    assert "2 gateways on PostgreSQL" in notes
    assert "http://a.example.org/graphql" in notes
    assert notes.count("WARNING") == 2


def test_null_takes_a_default_away() -> None:
    made = rendered(TOKENS, {"resources": None, "podSecurityContext": {"fsGroupChangePolicy": None}})
    assert "resources" not in made.gateway
    own = made.one("Deployment")["spec"]["template"]["spec"]["securityContext"]
    assert "fsGroupChangePolicy" not in own
    assert own["runAsNonRoot"] is True


def test_the_renderer_is_gos_own_form() -> None:
    source = CHART.parent / "tests" / "render" / "main.go"
    done = subprocess.run(["gofmt", "-l", source], capture_output=True, text=True, check=False)
    assert not done.stdout
