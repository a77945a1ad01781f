"""The turns of event loops in any process of the tests and benchmarks: how long each kept everybody else waiting.

A turn is one callback. Its cost is processor time of the loop's thread, without garbage collections, divided by how
much slower than at rest the machine is at the moment, as other processes share the processors. A process writes a
line of JSON into a folder for each turn that is long, or its longest so far.

`sitecustomize.py` beside this file installs the recorder in processes that inherit what `environment` returns. It
imports nothing of the project, since that would change how a server starts.
"""

import gc
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

FOLDER = "TURN_RECORDS"
# Seconds of a turn that is written down though there was a longer one, for which the machine's speed is looked at,
# and from which on it is said where it was.
_WRITTEN = 0.005
_LONG = 0.02
_SEEN = 0.03
# The innermost frames of a long turn that are written down.
_PLACES = 8
# What is done to learn how fast the processor is, and its seconds on a machine at rest.
_STEPS = 20_000
_AT_REST = 0.0003
_INSTALLED = "_turns_are_recorded"
_METHODS = {
    "adalog.gateway.connections.connection": (
        "Connection",
        ("data_received", "connection_made", "connection_lost", "resume_writing"),
    ),
    "adalog.gateway.connections.websocket": (
        "WebSocket",
        ("data_received", "connection_made", "connection_lost", "resume_writing"),
    ),
}


@dataclass(frozen=True)
class Turn:
    """cost: seconds on a machine at rest, without garbage collections. seconds: of the thread. collecting: those of
    garbage collections among them. what: the callback. where: the stack after a while."""

    cost: float
    seconds: float
    collecting: float
    what: str
    where: str


def environment(folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables with which processes record their turns in the folder."""
    here = str(Path(__file__).parent)
    paths = [here, *(path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path not in ("", here))]
    return {FOLDER: str(folder), "PYTHONPATH": os.pathsep.join(paths)}


def read(folder: Path) -> Iterator[Turn]:
    """The turns that were recorded there, in no order; the files are emptied."""
    for file in sorted(folder.iterdir()):
        taken = file.with_suffix(".read")
        # A process goes on with another file.
        try:
            file.rename(taken)
            lines = taken.read_text().splitlines()
            taken.unlink()
        except OSError:
            continue
        for line in lines:
            yield Turn(**json.loads(line))


class _Recorder:
    """Of one process."""

    def __init__(self) -> None:
        self._longest = 0.0
        # Of the turn that each thread is in: when it began, and where it was later.
        self._turns: dict[int, list[Any]] = {}
        self._collecting: dict[int, float] = {}
        self._collected: dict[int, float] = {}
        self._watch: threading.Thread | None = None
        gc.callbacks.append(self._collection)
        os.register_at_fork(after_in_child=self._forked)

    def run(self, callback: Callable[..., Any], *given: Any) -> Any:
        """Calls it as a turn of the loop."""
        thread = threading.get_ident()
        if thread in self._turns:
            return callback(*given)
        turn = self._turns[thread] = [time.monotonic(), ""]
        self._collected[thread] = 0.0
        began = time.thread_time()
        try:
            return callback(*given)
        finally:
            seconds = time.thread_time() - began
            del self._turns[thread]
            if seconds > self._longest or seconds > _WRITTEN:
                self._record(seconds, self._collected[thread], callback, turn[1])

    def _record(self, seconds: float, collecting: float, callback: Any, where: str) -> None:
        slowness = max(1.0, _slowness()) if seconds > _LONG else 1.0
        cost = max(0.0, seconds - collecting) / slowness
        if cost <= self._longest and cost <= _WRITTEN:
            return
        self._longest = max(self._longest, cost)
        turn = Turn(cost, seconds, collecting, _described(callback), where)
        line = json.dumps(vars(turn)) + "\n"
        # A folder that is gone, a full disk or no descriptors are what a test is about.
        try:
            with Path(os.environ[FOLDER], str(os.getpid())).open("a") as file:
                file.write(line)
        except (OSError, KeyError):
            return
        if self._watch is None:
            self._watch = threading.Thread(target=self._look, name="turn-records", daemon=True)
            self._watch.start()

    def _look(self) -> None:
        """Writes down where long turns are."""
        while True:
            time.sleep(_SEEN / 2)
            now = time.monotonic()
            for thread, turn in list(self._turns.items()):
                if not turn[1] and now - turn[0] > _SEEN:
                    # Not by `traceback`, whose cache of source lines other threads change meanwhile.
                    frame, places = sys._current_frames().get(thread), []
                    while frame is not None and len(places) < _PLACES:
                        code = frame.f_code
                        places.append(f"{Path(code.co_filename).name}:{frame.f_lineno} {code.co_name}")
                        frame = frame.f_back
                    turn[1] = " > ".join(reversed(places))
                    del frame

    def _collection(self, phase: str, _: Any) -> None:
        thread = threading.get_ident()
        if phase == "start":
            self._collecting[thread] = time.thread_time()
        elif thread in self._collecting:
            passed = time.thread_time() - self._collecting.pop(thread)
            self._collected[thread] = self._collected.get(thread, 0.0) + passed

    def _forked(self) -> None:
        self._watch, self._longest = None, 0.0
        self._turns.clear()


def _slowness() -> float:
    """How much slower the processor is now than at rest."""

    def once() -> float:
        began = time.thread_time()
        for _ in range(_STEPS):
            pass
        return time.thread_time() - began

    return min(once(), once(), once()) / _AT_REST


def _described(callback: Any) -> str:
    task = getattr(callback, "__self__", None)
    coroutine = getattr(task, "get_coro", None)
    return repr(callback if coroutine is None else coroutine())[:200]


def install() -> None:
    """Records the turns of this process's loops from now on. Once is enough."""
    if hasattr(sys, _INSTALLED):
        return
    setattr(sys, _INSTALLED, True)
    recorder = _Recorder()

    def patch_loops(uvloop: Any) -> None:
        class Loop(uvloop.Loop):  # type: ignore[misc]
            def call_soon(self, callback: Any, *args: Any, context: Any = None) -> Any:
                return super().call_soon(recorder.run, callback, *args, context=context)

            def call_soon_threadsafe(self, callback: Any, *args: Any, context: Any = None) -> Any:
                return super().call_soon_threadsafe(recorder.run, callback, *args, context=context)

            def call_later(self, delay: float, callback: Any, *args: Any, context: Any = None) -> Any:
                return super().call_later(delay, recorder.run, callback, *args, context=context)

            def add_reader(self, fd: Any, callback: Any, *args: Any) -> Any:
                return super().add_reader(fd, recorder.run, callback, *args)

        uvloop.Loop = Loop

    def patch_methods(module: Any) -> None:
        name, methods = _METHODS[module.__name__]
        of = getattr(module, name)
        for method in methods:
            setattr(of, method, _recorded(recorder, getattr(of, method)))

    patches = {"uvloop": patch_loops, **dict.fromkeys(_METHODS, patch_methods)}
    for name in list(patches):
        if name in sys.modules:
            patches.pop(name)(sys.modules[name])
    sys.meta_path.insert(0, _Finder(patches))


def _recorded(recorder: _Recorder, method: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *given: Any) -> Any:
        return recorder.run(method, self, *given)

    return call


class _Finder(MetaPathFinder):
    """Finds the modules to be patched, each once, and has them patched when they are loaded."""

    def __init__(self, patches: dict[str, Callable[[Any], None]]) -> None:
        self._patches = patches

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        patch = self._patches.pop(name, None)
        spec = None if patch is None else PathFinder.find_spec(name, path, target)
        if patch is None or spec is None or spec.loader is None:
            return None
        spec.loader = _Loader(spec.loader, patch)
        return spec


class _Loader(Loader):
    def __init__(self, loader: Any, patch: Callable[[Any], None]) -> None:
        self._loader = loader
        self._patch = patch

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self._loader.exec_module(module)
        self._patch(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
