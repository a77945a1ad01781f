"""Writes the chart's README from the comments of its values: `python helm/readme.py`.

A comment that begins with `--` above a key is the key's line in the table; it may go on in the lines below.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

CHART: Final = Path(__file__).parent / "adalog"
README: Final = CHART / "README.md"

_KEY: Final = re.compile(r"^( *)([A-Za-z]\w*):")
_ABOVE: Final = """\
<!-- Written by helm/readme.py from values.yaml. -->
# adalog on Kubernetes

The chart runs [adalog](../../README.md): one gateway with an embedded database on a volume, or several gateways on
PostgreSQL. [Deploy on Kubernetes](../../docs/how-to/kubernetes.md) tells how, with examples.

```sh
docker build --tag registry.example.org/adalog:{version} . && docker push registry.example.org/adalog:{version}
printf %s "$TOKEN" | sha256sum      # a line of the file of tokens: app:write:THAT
kubectl create secret generic adalog-tokens --from-file=tokens
helm install adalog helm/adalog \\
  --set image.repository=registry.example.org/adalog --set auth.tokens.existingSecret=adalog-tokens
```

Kubernetes {kubernetes} and Helm 3 or 4. `values.schema.json` refuses values that are not in this table, and
the chart those that contradict each other.

| value | default | |
| --- | --- | --- |
"""


def main() -> None:
    README.write_text(text(), encoding="utf-8")


def text() -> str:
    """What README.md is to hold."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    values = (CHART / "values.yaml").read_text(encoding="utf-8")
    defaults = yaml.safe_load(values)
    kubernetes = re.sub(r"^>=(\d+\.\d+)\..*$", r"\1 or newer", chart["kubeVersion"])
    rows = [
        f"| `{'.'.join(path)}` | `{shown(value_at(defaults, path))}` | {said} |\n"
        for path, said in described(values)
    ]
    return _ABOVE.format(version=chart["appVersion"], kubernetes=kubernetes) + "".join(rows)


def described(values: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The keys that a comment describes, in the order of the file."""
    path: list[tuple[int, str]] = []
    comment: list[str] = []
    for line in values.splitlines():
        stripped = line.strip()
        if stripped.startswith("# -- "):
            comment = [stripped.removeprefix("# -- ")]
        elif stripped.startswith("#"):
            if comment:
                comment.append(stripped.removeprefix("# "))
        elif key := _KEY.match(line):
            indent = len(key[1])
            path = [(depth, name) for depth, name in path if depth < indent] + [(indent, key[2])]
            if comment:
                yield tuple(name for _, name in path), " ".join(comment).replace("|", "\\|")
            comment = []
        else:
            comment = []


def value_at(values: Any, path: tuple[str, ...]) -> Any:
    """What stands there."""
    for name in path:
        values = values[name]
    return values


def shown(value: Any) -> str:
    """A value as one writes it into YAML."""
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    main()
