"""SECURITY.md: each promise names tests that hold it, and they are there; and what only the source can show."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "datalog",
    "store",
    "cluster",
    "planner",
    "pipeline",
    "executor",
    "schema",
    "gateway",
    "examples",
    "src/adalog",
)
# Who reads what another process of the same server has pickled, and from where.
UNPICKLING = {
    "gateway/worker.py": "settings, from the supervisor that started it, over its standard input",
    "gateway/workers/calls.py": "calls of other workers, over a socket pair that the supervisor made",
    "executor/kernels/compiling.py": "compiled kernels, of this installation or a folder of this user alone",
    "cluster/tasks.py": "what Spark's driver and its tasks send each other",
    "cluster/shipping.py": "manifests, of the driver",
    "executor/spark/remote.py": "manifests, of another worker, over such a line",
}
_EVALUATING = {"eval", "exec", "compile", "__import__"}


def _promises() -> list[str]:
    text = ROOT.joinpath("SECURITY.md").read_text(encoding="utf-8")
    section = text.split("## What is promised")[1].split("Not promised:")[0]
    return re.split(r"^- (?=\*\*)", section, flags=re.MULTILINE)[1:]


def test_each_promise_names_the_tests_that_hold_it() -> None:
    promises = _promises()
    assert len(promises) > 10
    for promise in promises:
        assert re.search(r"\(`tests/[^`]+`[^()]*\)\s*$", promise), promise[:60]


def test_the_tests_that_documents_name_are_there() -> None:
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    named = {
        found
        for document in documents
        for found in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", document.read_text(encoding="utf-8"))
    }
    assert len(named) > 40
    for file, name in sorted(named):
        tree = ast.parse(ROOT.joinpath(file).read_text(encoding="utf-8"))
        tests = {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
        assert name in tests, f"{file} has no test {name}"


def test_what_is_unpickled_is_our_own() -> None:
    """Nothing else reads pickles, with the library or as multiprocessing's connections do, or runs text."""
    reading, evaluating = set(), []
    for package in PACKAGES:
        for path in sorted(ROOT.joinpath(package).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.Call):
                    continue
                called = ast.unparse(node.func)
                if called in ("pickle.load", "pickle.loads", "pickle.Unpickler") or (
                    called.endswith(".recv") and not node.args
                ):
                    reading.add(name)
                elif called in _EVALUATING or called in ("marshal.loads", "yaml.load", "yaml.unsafe_load"):
                    evaluating.append(f"{name}:{node.lineno}")
    assert reading == set(UNPICKLING)
    assert not evaluating
