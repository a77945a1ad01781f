"""DataScript in a Node process: lines of JSON there and back, and what a value is on either side.

DataScript's JavaScript interface knows no keywords: one travels as a string that begins with its colon, and the
generators write no other string like that.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from adalog.datalog.values import Keyword
from adalog.store.values.attribute import SCHEMA_BASE, TX_BASE

HERE = Path(__file__).parent
# `:db/id` is a word of pull patterns, not an attribute.
_KEYWORD = re.compile(r":(?!db/id\b)[\w.-]+/[\w.?*-]+")
THEIR_TX_BASE = 2**29
THEIR_SCHEMA_BASE = 2**28
_STRINGS = re.compile(r"\((starts-with\?|ends-with\?|includes\?)")


def missing() -> str | None:
    """Why DataScript cannot be asked here, or None."""
    if shutil.which("node") is None:
        return "needs Node.js: sudo apt-get install nodejs npm, then make setup"
    if not (HERE / "node_modules" / "datascript").is_dir():
        return "needs DataScript from npm: make setup, or npm ci in tests/datascript"
    return None


class DataScript:
    """One process; `ask` sends a request of many questions and gives their answers."""

    def __init__(self) -> None:
        node = shutil.which("node")
        assert node is not None
        self._process = subprocess.Popen(
            [node, "oracle.js"],
            cwd=HERE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def ask(self, request: dict[str, Any], milliseconds: int = 20_000) -> Any:
        """The answer, in which what took longer is an error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps({**request, "milliseconds": milliseconds}), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        assert line, "Node ended"
        return json.loads(line)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


def as_datascript(text: str) -> str:
    """EDN with its data's keywords, all of them namespaced, as DataScript's strings, and its functions' names."""
    text = _STRINGS.sub(r"(clojure.string/\1", text)
    return _KEYWORD.sub(lambda found: f'"{found[0]}"', text)


def as_json(value: Any) -> Any:
    """A value of ours as the other side has it; an integral double is a long there."""
    if isinstance(value, Keyword):
        return str(value)
    if isinstance(value, Mapping):
        return {as_json(key): as_json(each) for key, each in value.items()}
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return number(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, Iterable):
        return [as_json(each) for each in value]
    return None if value is None else str(value)


def typed(value: Any) -> Any:
    """A hashable stand-in for JSON that tells `1` from `true` and no order of a nested collection's members."""
    if isinstance(value, dict):
        return "map", tuple((key, typed(value[key])) for key in sorted(value))
    if isinstance(value, list | tuple):
        return tuple(sorted((typed(each) for each in value), key=repr))
    return type(value), round(value, 6) if isinstance(value, float) else value


def number(value: int) -> int:
    """DataScript compares entity ids as 32-bit numbers: attributes and transactions have smaller ones there."""
    if value >= TX_BASE:
        return THEIR_TX_BASE + value - TX_BASE
    return THEIR_SCHEMA_BASE + value - SCHEMA_BASE if value >= SCHEMA_BASE else value


def rows_of(rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Rows in a form that is comparable by typed identity."""
    return [tuple(typed(cell) for cell in row) for row in rows]
