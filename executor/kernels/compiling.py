"""`@kernel`: a function over columns that Numba compiles in its first call, or loads if it was compiled before.

Numba is imported by the first call, since a program that asks for little may do without it.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from typing import Any, Final, ParamSpec, TypeVar, cast

import numpy as np

from adalog.executor.kernels import disk

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """A compiled function, which runs without the interpreter's lock."""
    return cast(Callable[P, R], Kernel(function, {}))


def borrowing_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """As `kernel`, for one that makes no arrays and calls none that does. It does not count references to arrays,
    which its caller holds: that would be an atomic operation for each one that a kernel hands to another."""
    return cast(Callable[P, R], Kernel(function, {"_nrt": False}))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose code becomes a part of each kernel that calls it."""
    return cast(Callable[P, R], Inlined(function, {"inline": "always"}))


def python_if_few(function: Callable[P, R]) -> Callable[P, R]:
    """As `kernel`. A process' first calls with few keys, the last argument, are run by Python: a program that asks
    for little needs no Numba, which takes a third of a second. The function must mean the same there."""
    return cast(Callable[P, R], PythonIfFew(function, {}))


class _Loading(threading.local):
    """What a thread raises in place of loading a kernel, which takes up to a second; None: it loads."""

    refusal: type[BaseException] | None = None

    def check(self) -> None:
        if self.refusal is not None:
            raise self.refusal


LOADING: Final = _Loading()


class Kernel:
    """A function and, from the first call on, what Numba made of it. Kernels may call each other."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        # Numba looks for these two where it inlines a call.
        self.py_func = function
        self.targetoptions = options

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)

    @cached_property
    def dispatcher(self) -> Any:
        LOADING.check()
        with disk.IMPORTING:
            return self.__dict__.get("dispatcher") or _compiled_lazily(self.py_func, self.targetoptions)


class Inlined(Kernel):
    """One whose code becomes a part of others; called by Python it is a function of Python's."""

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


class PythonIfFew(Kernel):
    """As of `python_if_few`."""

    calls_left = 64
    _FEW: Final = 16

    def __call__(self, *arguments: Any) -> Any:
        if "dispatcher" in self.__dict__ or not PythonIfFew.calls_left or len(arguments[-1]) > self._FEW:
            return self.dispatcher(*arguments)
        PythonIfFew.calls_left -= 1
        # Integers wrap around, as compiled ones do.
        with np.errstate(over="ignore"):
            return self.py_func(*arguments)


def _compiled_lazily(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    from numba import njit
    from numba.core import serialize
    from numba.core.compiler import CompileResult
    from numba.extending import typeof_impl

    rebuild: Any = CompileResult._rebuild
    serialized: Any = serialize.dumps
    compiler: Any = njit

    class _OnDisk:
        """What Numba asks for compiled code before it compiles, and gives it to."""

        def load_overload(self, signature: Any, target: Any) -> Any:
            LOADING.check()
            target.refresh()
            kept = disk.read(_file_name(function, signature, target.codegen()))
            if kept is None:
                _BACKGROUND.begin()
                return None
            return rebuild(target, *pickle.loads(kept))  # noqa: S301

        def save_overload(self, signature: Any, result: Any) -> None:
            if not result.lifted and not result.library.has_dynamic_globals:
                disk.keep(_file_name(function, signature, result.codegen), serialized(result._reduce()))

    if Kernel not in typeof_impl.registry:
        # Called for the type of each array that compiled code returns. In a function of Python's Ctrl-C would be
        # noticed, and Numba would free the array twice. A cache in C answers without the interpreter.
        serialize._numba_unpickle = cache(serialize._numba_unpickle)
        # As a global name of another kernel.
        typeof_impl.register(Kernel, lambda value, _: value.dispatcher._numba_type_)
    dispatcher = compiler(nogil=True, **options)(function)
    dispatcher._cache = _OnDisk()
    return dispatcher


def all_are_kept() -> bool:
    """Whether a process kept every kernel on disk, for this processor."""
    return disk.read(_name_of_all()) is not None


def note_all_kept() -> None:
    """Every kernel was kept, or could not be."""
    if not all_are_kept():
        disk.keep(_name_of_all(), b"")


def _name_of_all() -> str:
    with disk.IMPORTING:
        from numba.core.registry import cpu_target

    return disk.file_name("all", "", repr(cpu_target.target_context.codegen().magic_tuple()))


def _file_name(function: Callable[..., Any], signature: Any, code: Any) -> str:
    name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
    return disk.file_name(name, str(signature), repr(code.magic_tuple()))


class _Background:
    """A process that compiles all kernels, begun once a kernel is missing on disk, if that was asked for."""

    def __init__(self) -> None:
        self._wanted = False
        self._lock = threading.Lock()

    def ask(self) -> None:
        self._wanted = True

    def begin(self) -> None:
        with self._lock:
            wanted, self._wanted = self._wanted, False
        if wanted and sys.executable and disk.writable() is not None:
            threading.Thread(target=_compile_all, name="adalog-kernels", daemon=True).start()


_BACKGROUND: Final = _Background()
compile_in_background: Final = _BACKGROUND.ask
"""Has the first kernel that is missing on disk begin a process that compiles all, at the lowest priority. It may
outlive this one, by about a minute."""
compile_missing: Final = _BACKGROUND.begin
"""Begins that process, if it was asked for."""


def _compile_all() -> None:
    # A session of its own, so that Ctrl-C is for the program alone.
    command = [sys.executable, "-m", "adalog.executor.warm", "--background"]
    nowhere = subprocess.DEVNULL
    subprocess.run(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True, check=False)
