"""Notebooks without Jupyter: cells run in one namespace, and show what they print and the value of the last line.

    python -m tests.documentation.notebooks

runs the notebook of examples/notebook in an empty folder, and writes its outputs and `docs/tutorials/notebook.md`.
"""

from __future__ import annotations

import ast
import io
import json
import re
from contextlib import chdir, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.documentation.conftest import ROOT

NOTEBOOK = ROOT / "examples" / "notebook" / "payments.ipynb"
PAGE = ROOT / "docs" / "tutorials" / "notebook.md"


def cells(notebook: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return found


def shown(cell: dict[str, Any]) -> str:
    """What a cell of code shows, as text."""
    texts = [each.get("text") or each["data"]["text/plain"] for each in cell["outputs"]]
    return "\n".join("".join(text).rstrip("\n") for text in texts)


def run(sources: list[str], folder: Path) -> list[list[dict[str, Any]]]:
    """The outputs of the cells, run in order in `folder`."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with chdir(folder):
        return [_outputs(source, names) for source in sources]


def _outputs(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    tree, value, printed = ast.parse(source), None, io.StringIO()
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)  # noqa: S102 - ours
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)  # noqa: S307 - ours
    found: list[dict[str, Any]] = []
    if text := printed.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": _lines(text)})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        found.append({"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data})
    return found


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def page(notebook: Path) -> str:
    """The notebook as a page of the documentation."""
    parts = []
    for cell in cells(notebook):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            # Links of the notebook lead from its folder.
            parts.append(re.sub(r"\]\(\.\./\.\./docs/(?:tutorials/)?", lambda m: _link(m[0]), source))
        else:
            parts.append(f"```python\n{source}\n```")
            if text := shown(cell):
                parts.append(f"```text\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def _link(start: str) -> str:
    return "](" if start.endswith("tutorials/") else "](../"


def write(notebook: Path) -> None:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    with TemporaryDirectory() as folder:
        for cell, outputs in zip(code, run(["".join(cell["source"]) for cell in code], Path(folder)), strict=True):
            cell["outputs"] = outputs
    notebook.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(notebook), encoding="utf-8")


if __name__ == "__main__":
    write(NOTEBOOK)
