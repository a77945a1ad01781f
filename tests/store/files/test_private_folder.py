"""Private folders of Spark's: none outlives its process for longer than until the next start."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

from adalog.store.files.private_folder import PrivateFolder

OWN = "import sys; from pathlib import Path; from adalog.store.files.private_folder import PrivateFolder"
OWN += "; held = PrivateFolder('adalog-test-', Path(sys.argv[1])); print(held.path, flush=True); input()"


def test_a_folder_is_ours_alone_and_goes_when_told(tmp_path: Path) -> None:
    own = PrivateFolder("adalog-test-", tmp_path)
    (own.path / "spark-1").mkdir()
    (own.path / "spark-1" / "block").touch()
    assert stat.S_IMODE(own.path.stat().st_mode) == 0o700
    own.remove()
    assert list(tmp_path.iterdir()) == []


def test_what_killed_processes_leave_is_removed_and_what_runs_is_not(tmp_path: Path) -> None:
    own = PrivateFolder("adalog-test-", tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", OWN, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        its = Path(other.stdout.readline().strip())
        (its / "blocks").touch()
        third = PrivateFolder("adalog-test-", tmp_path)
        assert its.exists(), "another process has it"
        assert own.path.exists()
        other.kill()
    fourth = PrivateFolder("adalog-test-", tmp_path)
    assert not its.exists()
    for each in (own, third, fourth):
        assert each.path.exists()
        each.remove()
