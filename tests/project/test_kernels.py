"""Installing compiles every kernel, and a server has every kernel compiled before it is ready."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from numba import njit
from numba.core.event import install_listener

from adalog.executor import warm

ROOT = Path(__file__).parents[2]
FILES = sorted(path for path in (ROOT / "executor").rglob("*.py") if "@kernel" in path.read_text(encoding="utf-8"))

_UNLOADED = """
import importlib, sys
from adalog.executor.kernels.compiling import Kernel
from adalog.executor.kernels.loading import load_kernels

load_kernels()
for name in sys.argv[1:]:
    for kernel in vars(importlib.import_module(name)).values():
        own = isinstance(kernel, Kernel) and kernel.__module__ == name
        if own and not kernel.__name__.startswith("_") and not kernel.targetoptions:
            if not kernel.dispatcher.signatures:
                print(f"{name}.{kernel.__name__}")
"""
# Kernels that only other kernels call are compiled into those.
_WITHIN = {"adalog.executor.kernels.group_kernels.sorted_by"}


def test_make_compiles_anew_when_a_kernel_changes() -> None:
    rule = re.search(r"^\$\(STAMPS\)/kernels:(.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert rule is not None
    assert FILES
    patterns = [word.removesuffix(")") for word in rule[1].split()]
    assert all(any(path.relative_to(ROOT).match(pattern) for pattern in patterns) for path in FILES)


def test_every_kernel_is_loaded() -> None:
    modules = [".".join(("adalog", *path.relative_to(ROOT).with_suffix("").parts)) for path in FILES]
    done = subprocess.run([sys.executable, "-c", _UNLOADED, *modules], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) <= _WITHIN


def test_compiling_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(warm, "_PAUSE_SECONDS", 0.0)

    @njit
    def successor(number: int) -> int:
        return number + 1

    with install_listener("numba:compile", warm._Progress()):
        assert [successor(1), successor(2)] == [2, 3]
    assert re.fullmatch(r"  kernels compiled: 1, in \d+ s\n", capsys.readouterr().out)
