"""examples/notebook: its cells, over their million rows, show what is saved in them; the page shows the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documentation.notebooks import NOTEBOOK, PAGE, cells, page, run, shown


def test_the_page_is_the_notebook() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(NOTEBOOK), "python -m tests.documentation.notebooks writes it"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_cells_show_what_is_saved(tmp_path: Path) -> None:
    code = [cell for cell in cells(NOTEBOOK) if cell["cell_type"] == "code"]
    fresh = run(["".join(cell["source"]) for cell in code], tmp_path)
    for cell, outputs in zip(code, fresh, strict=True):
        assert shown({"outputs": outputs}) == shown(cell)
