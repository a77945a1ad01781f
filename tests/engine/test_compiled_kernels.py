"""Compiled kernels on disk: kept by content, compiled again where they are missing, damaged or another user's."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adalog.executor.kernels import compiling, disk, loading
from adalog.executor.kernels.compiling import Kernel, inlined, kernel

FEW = np.arange(4, dtype=np.int64)


@inlined
def _twice(number: Any) -> Any:
    return number + number


@kernel
def _tripled(column: Any) -> Any:
    return column.sum() * 3


@kernel
def _summed(column: Any) -> Any:
    total = 0
    for each in column:
        total += _twice(each)
    return total + _tripled(column)


@kernel
def _parts(column: Any) -> Any:
    return column + 1, column * 2.5


def fresh() -> Any:
    """The same function as a kernel that was not called yet."""
    return Kernel(_summed.py_func, {})  # type: ignore[attr-defined]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(disk.VARIABLE, str(tmp_path / "kernels"))
    disk.writable.cache_clear()
    yield tmp_path / "kernels"
    disk.writable.cache_clear()


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*summed*"))


def test_other_users_read_what_was_compiled(folder: Path) -> None:
    # As an image's user, where root built it.
    assert fresh()(FEW) == 30
    assert [path.stat().st_mode & 0o777 for path in kept(folder)] == [0o644]


def test_where_all_were_kept_they_are_loaded_by_calls(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []
    monkeypatch.setattr(disk, "INSTALLED", folder / "none")
    monkeypatch.setattr(loading, "load_kernels", lambda: loaded.append(True))
    loading.ensure_kernels()
    compiling.note_all_kept()
    loading.ensure_kernels()
    assert loaded == [True]


def test_what_was_compiled_is_loaded(folder: Path) -> None:
    assert fresh()(FEW) == 30
    (file,) = kept(folder)
    compiled = file.stat().st_ino
    again = fresh()
    assert again(FEW) == 30
    assert again.dispatcher._cache_hits
    assert not again.dispatcher._cache_misses
    assert [path.stat().st_ino for path in kept(folder)] == [compiled]
    assert again(FEW.astype(np.float64)) == 30
    assert len(kept(folder)) == 2
    assert set(disk.files()) >= set(kept(folder))


@pytest.mark.parametrize("damaged", [b"", b"\0" * 400, None], ids=["empty", "zeros", "cut"])
def test_a_damaged_file_is_compiled_again(folder: Path, damaged: bytes | None) -> None:
    assert fresh()(FEW) == 30
    (file,) = kept(folder)
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] if damaged is None else damaged)
    assert fresh()(FEW) == 30
    assert disk.read(file.name) is not None


def test_a_changed_source_or_version_is_another_edition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [disk.edition()]
    (tmp_path / "a_kernels.py").write_text("a = 1\n")
    monkeypatch.setattr(disk, "_SOURCES", tmp_path)
    for text in ("a = 1\n", "a = 2\n"):
        (tmp_path / "a_kernels.py").write_text(text)
        os.utime(tmp_path / "a_kernels.py", (1, 1))
        disk.edition.cache_clear()
        names.append(disk.edition())
    monkeypatch.setattr(np, "__version__", "0")
    disk.edition.cache_clear()
    names.append(disk.edition())
    disk.edition.cache_clear()
    assert len(set(names)) == 4


def test_without_a_folder_kernels_are_compiled_in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(disk.VARIABLE, str(tmp_path / "file" / "kernels"))
    disk.writable.cache_clear()
    assert disk.writable() is None
    assert fresh()(FEW) == 30
    disk.writable.cache_clear()


def test_a_folder_of_the_user_and_else_a_temporary_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.delenv(disk.VARIABLE, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    own = home / ".cache" / "adalog" / "kernels"
    other = temporary / f"adalog-kernels-{os.geteuid()}"

    def base() -> Path | None:
        disk.writable.cache_clear()
        found = disk.writable()
        return None if found is None else found.parent

    assert base() == own
    assert own.stat().st_mode & 0o777 == 0o700
    # Another user could put code there.
    own.chmod(0o777)
    assert base() == other
    other.rmdir() if not any(other.iterdir()) else other.rename(temporary / "aside")
    other.symlink_to(own)
    assert base() is None
    other.unlink()
    monkeypatch.setenv("HOME", "nowhere")
    assert base() == other
    disk.writable.cache_clear()


def test_processes_that_compile_the_same_at_once_agree(folder: Path) -> None:
    program = (
        "import numpy as np; from adalog.executor.kernels.compiling import kernel;"
        "print(kernel(lambda column: column.sum() * 3)(np.arange(4)))"
    )
    command = [sys.executable, "-c", program]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [each.communicate()[0] for each in started] == ["18\n"] * 3
    files = [path.name for path in folder.glob("*/*")]
    assert [name.partition("-")[0] for name in files] == ["__main__.<lambda>"]
    assert disk.read(files[0]) is not None


def test_one_process_compiles_in_the_background_what_was_missing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, called = [], threading.Event()
    monkeypatch.setattr(compiling, "_compile_all", lambda: (begun.append(1), called.set()))
    fresh()(FEW)
    assert not begun
    compiling.compile_in_background()
    # What is on disk begins nothing.
    fresh()(FEW)
    assert not begun
    fresh()(FEW.astype(np.float64))
    fresh()(FEW.astype(np.float32))
    assert called.wait(60)
    assert begun == [1]


def test_a_second_process_in_the_background_ends_at_once(folder: Path) -> None:
    own = disk.writable()
    assert own is not None
    with (own / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [sys.executable, "-m", "adalog.executor.warm", "--background"]
        subprocess.run(command, check=True, timeout=60)
    assert list(own.iterdir()) == [own / "lock"]


def test_other_editions_go_when_they_were_not_used_for_a_month(folder: Path) -> None:
    own = disk.writable()
    assert own is not None
    for name, age in (("adalog-recent", 0), ("adalog-old", 40 * 86_400), ("another", 40 * 86_400)):
        (folder / name).mkdir()
        (folder / name / "k.nbc").write_text("")
        os.utime(folder / name, (own.stat().st_mtime - age,) * 2)
    os.utime(own, (1, 1))
    disk.forget_other_editions()
    assert sorted(path.name for path in folder.iterdir()) == sorted([own.name, "adalog-recent", "another"])


def test_a_call_runs_nothing_in_the_interpreter() -> None:
    """Ctrl-C is noticed in Python code, which ran while a kernel returned arrays: memory was freed twice then."""
    _parts(FEW)
    called: list[str] = []
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
    try:
        _parts(FEW)
    finally:
        sys.setprofile(None)
    # Numba announces the compiled function itself.
    assert called == ["__call__", "_parts"]
