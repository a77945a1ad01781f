"""Names and prose: retired words stay out, a class name stands once, documents are in plain technical English."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
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
MODULES = sorted(path for package in PACKAGES for path in ROOT.joinpath(package).rglob("*.py"))
DOCUMENTS = sorted([*ROOT.glob("[A-Z]*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "tests" / "README.md"])
# Names of files and classes that say nothing to readers who do not know the code.
RETIRED = {
    *(
        "beside",
        "seen",
        "second",
        "made",
        "line",
        "errand",
        "outlet",
        "seat",
        "ground",
        "doubt",
        "aside",
        "patient",
    ),
    *("suspects", "standing", "readings", "showing", "together", "reaching", "arrivals"),
}
# A line of text is a term of the field.
TERMS = {"line", "lines"}
PRONOUNS = re.compile(r"\b(?:who|whoever|somebody|nobody)\b", re.IGNORECASE)
WORDS = re.compile(r"[A-Za-z']+")
MOST_SHARED_NAMES = 15
MOST_FILES = 20
MOST_PRONOUNS = 0.8  # in 1,000 words


def _per_thousand(paths: list[Path]) -> float:
    texts = [path.read_text(encoding="utf-8") for path in paths]
    return (
        1_000 * sum(len(PRONOUNS.findall(text)) for text in texts) / sum(len(WORDS.findall(text)) for text in texts)
    )


def _classes() -> dict[str, set[str]]:
    files: dict[str, set[str]] = defaultdict(set)
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].add(str(path.relative_to(ROOT)))
    return files


def test_no_file_has_a_retired_name() -> None:
    assert [str(path.relative_to(ROOT)) for path in MODULES if path.stem in RETIRED] == []


def test_no_class_has_a_retired_name() -> None:
    names = {*RETIRED, *(f"{word}s" for word in RETIRED)} - TERMS
    assert {name for name in _classes() if name.lower() in names} == set()


def test_a_class_name_stands_in_one_file() -> None:
    shared = {name: sorted(files) for name, files in _classes().items() if len(files) > 1}
    assert len(shared) <= MOST_SHARED_NAMES, shared


def test_no_folder_has_more_files_than_a_reader_can_survey() -> None:
    folders = Counter(str(path.parent.relative_to(ROOT)) for path in MODULES)
    assert {folder: count for folder, count in folders.items() if count > MOST_FILES} == {}


def test_documents_name_their_subjects() -> None:
    assert _per_thousand(DOCUMENTS) <= MOST_PRONOUNS


def test_code_names_its_subjects() -> None:
    assert _per_thousand(MODULES) <= MOST_PRONOUNS
