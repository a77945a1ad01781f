"""The chart, rendered as Helm does it by the page of Go in `render/`, and what is looked up in what comes out."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
import yaml

ROOT: Final = Path(__file__).parents[2]
CHART: Final = ROOT / "helm" / "adalog"
CASES: Final = sorted((Path(__file__).parent / "cases").glob("*.yaml"))
RELEASE: Final = "live"
NAMESPACE: Final = "databases"
OLDEST: Final = "1.29.0"

_RENDER: Final = ROOT / "build" / "render"
_SOURCE: Final = Path(__file__).parent / "render" / "main.go"

Object = dict[str, Any]


class Refused(Exception):
    """What Helm would say in place of rendering."""


@dataclass(frozen=True)
class Rendered:
    """The objects of a release, and what Helm prints."""

    objects: list[Object]
    notes: str

    @property
    def kinds(self) -> list[str]:
        """`Kind`, or `Kind-suffix` where the name has one, for each object."""
        return sorted(f"{each['kind']}{_suffix(each)}" for each in self.objects)

    def one(self, kind: str, suffix: str = "") -> Object:
        """The object of this kind."""
        (found,) = (each for each in self.objects if f"{each['kind']}{_suffix(each)}" == kind + suffix)
        return found

    def pods(self) -> Iterator[tuple[Object, Object]]:
        """The objects that make pods, each with the pod's `metadata` and `spec`."""
        for each in self.objects:
            if each["kind"] in ("Deployment", "StatefulSet"):
                yield each, each["spec"]["template"]
            elif each["kind"] == "CronJob":
                yield each, each["spec"]["jobTemplate"]["spec"]["template"]
            elif each["kind"] == "Pod":
                yield each, each
            elif "executor.yaml" in each.get("data", ()):
                yield each, loaded(each["data"]["executor.yaml"])[0]

    @property
    def gateway(self) -> Object:
        """The container that serves."""
        (container,) = self.one("Deployment")["spec"]["template"]["spec"]["containers"]
        return dict(container)

    @property
    def environment(self) -> dict[str, Any]:
        """The gateway's variables: text, or where it comes from."""
        return {each["name"]: each.get("value", each.get("valueFrom")) for each in self.gateway["env"]}


def _suffix(each: Object) -> str:
    name, own = str(each["metadata"]["name"]), f"{RELEASE}-adalog"
    return name.removeprefix(own) if name.startswith(own) else ""


class _Strict(yaml.SafeLoader):
    """Refuses a key that stands twice in a map."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = {key for key in keys if keys.count(key) > 1}
        assert not twice, f"{sorted(twice)} twice in one map, {node.start_mark}"
        return super().construct_mapping(node, deep)


def loaded(text: str) -> list[Object]:
    """The objects of a text of YAML."""
    return [each for each in yaml.load_all(text, _Strict) if each]


def renderer() -> Path:
    """The program that renders, built from what stands here; skips where there is no Go with Sprig."""
    if not _RENDER.exists() or _RENDER.stat().st_mtime < _SOURCE.stat().st_mtime:
        environ = {**os.environ, "ADALOG_NO_SYSTEM_PACKAGES": "1"}
        said = subprocess.run(
            [ROOT / "scripts" / "ensure-go.sh"], env=environ, capture_output=True, text=True, check=True
        )
        if not _RENDER.exists():
            pytest.skip(said.stderr.strip())
    return _RENDER


def rendered(
    *values: str | Mapping[str, Any],
    kubernetes: str = OLDEST,
    served: tuple[str, ...] = (),
    upgrade: bool = False,
    release: str = RELEASE,
    namespace: str = NAMESPACE,
) -> Rendered:
    """The release with these values, the later before the earlier. Raises Refused."""
    texts = [each if isinstance(each, str) else yaml.safe_dump(dict(each)) for each in values]
    asked = {
        "Values": texts,
        "Release": release,
        "Namespace": namespace,
        "KubeVersion": kubernetes,
        "APIVersions": list(served),
        "Upgrade": upgrade,
    }
    check(texts)
    done = subprocess.run(
        [renderer(), CHART], input=json.dumps(asked), capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode:
        raise Refused(done.stderr)
    made: dict[str, str] = json.loads(done.stdout)
    notes = made.pop("templates/NOTES.txt")
    return Rendered([each for name in sorted(made) for each in loaded(made[name])], notes)


def check(texts: list[str]) -> None:
    """Raises Refused for values that the schema does not take, as Helm checks them: merged with the chart's own."""
    values = defaults()
    for text in texts:
        values = _overlaid(values, yaml.safe_load(text) or {})
    try:
        jsonschema.validate(values, schema(), jsonschema.Draft7Validator)
    except jsonschema.ValidationError as error:
        raise Refused(f"{error.json_path}: {error.message}") from None


def _overlaid(below: Any, above: Any) -> Any:
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    merged = {**below, **{name: _overlaid(below.get(name), value) for name, value in above.items()}}
    return {name: value for name, value in merged.items() if value is not None or name not in above}


@functools.cache
def defaults() -> Any:
    """The chart's own values."""
    return yaml.load((CHART / "values.yaml").read_text(encoding="utf-8"), _Strict)


@functools.cache
def schema() -> Any:
    """The schema of values."""
    return json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))


def expected(case: Path) -> list[str]:
    """The kinds that a case's first comment names."""
    first = case.read_text(encoding="utf-8").partition("\n")[0]
    return sorted(first.removeprefix("# ").split())
