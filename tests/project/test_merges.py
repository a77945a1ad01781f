"""No file in git has the marks of a merge that was not finished."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MARKS = r"^(<{7}|\|{7}|>{7})( |$)"


def _marked(folder: Path) -> list[str]:
    """The lines with such marks, as `file:line:text`."""
    words = ["git", "-C", folder, "grep", "--no-color", "-nIE", MARKS]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.splitlines()


def test_no_tracked_file_has_the_marks_of_a_conflict() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("the sources are no checkout")
    assert _marked(ROOT) == []


def test_such_marks_are_found(tmp_path: Path) -> None:
    lines = ["<" * 7 + " ours", "one", "=" * 7, "two", ">" * 7 + " theirs"]
    (tmp_path / "both.md").write_text("\n".join(["A title", "=" * 7, *lines, ""]))
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "add", "both.md"], check=True)
    assert [line.rpartition(":")[2] for line in _marked(tmp_path)] == [lines[0], lines[-1]]
