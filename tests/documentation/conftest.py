"""The site of the documentation, built once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive that `make docs` builds."""
    pytest.importorskip("zensical", reason="needs requirements/docs.lock")
    archive = tmp_path_factory.mktemp("documentation") / "site.zip"
    done = subprocess.run(
        [sys.executable, "docs/site/build.py", archive], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return archive
