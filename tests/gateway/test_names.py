"""Cursors, resume tokens and the keys of kept answers name what was asked: in every process by the same name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from adalog.datalog.values import EdnMap, EdnSet, Keyword, identity, stable_text
from tests.gateway import names_in_process


def asked(folder: Path, seed: int, earlier: dict[str, Any]) -> dict[str, Any]:
    """What a process says in which texts have other hashes."""
    done = subprocess.run(
        [sys.executable, "-m", names_in_process.__name__, str(folder), json.dumps(earlier)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def test_names_outlive_the_process(tmp_path: Path) -> None:
    first = asked(tmp_path, 1, {})
    again = asked(tmp_path, 2, first)
    for name in names_in_process.GIVEN:
        assert set(first[name]["kinds"]) == {"SNAPSHOT"}, name
        assert set(again[name].get("kinds", ())) == {"PROGRESS"}, (name, again[name])
        if name != "set of Python":
            assert again[name]["key"] == first[name]["key"], name


def test_a_stable_text_is_that_of_one_identity() -> None:
    a, b, c = (Keyword(name) for name in "abc")
    values = [
        EdnSet([a, b, c]),
        EdnSet([a, b]),
        EdnSet([EdnSet([a, b]), c]),
        EdnSet([EdnSet([a]), EdnSet([b]), c]),
        EdnMap([(a, 1), (b, 2)]),
        EdnMap([(a, 2), (b, 1)]),
        EdnMap([(a, EdnSet([1, 2])), (b, 2)]),
        (a, EdnSet([1])),
        (a, (EdnSet([1]),)),
        "frozenset({Keyword(a), Keyword(b)})",
        ("frozenset(", EdnSet([])),
        a,
        1,
        "1",
    ]
    texts = [stable_text(identity(value)) for value in values]
    assert len(set(texts)) == len(values)
    turned = [EdnSet([c, b, a]), EdnMap([(b, 2), (a, 1)])]
    assert [stable_text(identity(value)) for value in turned] == [texts[0], texts[4]]
