"""Flame graphs of a server under light load, as pictures without scripts: `python -m bench.flame FOLDER`.

py-spy takes the samples and has to be in the path. The root is at the top; a frame is as wide as its share of the
samples. Frames are `module:function`, without the paths of the machine.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pyarrow.parquet as pq

from bench import folder, server
from bench.debian import PACKAGES
from bench.light import TWO_HOPS

_RATE: Final = 200
_SECONDS: Final = 30.0
_WIDTH: Final = 1000
_ROW: Final = 16
_MARGIN: Final = 10
_CHARACTER: Final = 6.1
# Of the picture's width: narrower frames are left out.
_LEAST: Final = 0.004
# The colour of a frame by the package of its module; others are grey.
_COLOURS: Final = {
    "gateway": "#d9c8fb", "schema": "#c3e3f7", "executor": "#c9ecc4", "store": "#fbe0b0", "datalog": "#f9cccb",
}  # fmt: skip
_OTHER: Final = "#e4e4e8"
_FRAME: Final = re.compile(r"(?P<name>.*) \((?P<file>[^()]*?)(\.py)?(:\d+)?\)")
# Where the work of a thread begins, and what it is called; frames above are the same in every stack.
_ROOTS: Final = {
    "gateway.connections.connection:Connection.data_received": "a request is read",
    "asyncio_run": "the event loop besides",
    "store.writer.writer:Writer._run": "the writer's thread",
}
# Last frames of threads that wait, which py-spy does not see of each lock.
_WAITING: Final = ("threading:Condition.wait", "threading:Event.wait", "store.writer.job_queue:JobQueue._is_there")


@dataclass
class _Node:
    samples: int = 0
    children: dict[str, _Node] = field(default_factory=dict)

    def add(self, frames: list[str], samples: int) -> None:
        self.samples += samples
        if frames:
            self.children.setdefault(frames[0], _Node()).add(frames[1:], samples)


def graph(stacks: str, title: str) -> str:
    """The picture of collapsed stacks, a line each: frames from the root on, parted by semicolons, and samples."""
    root = _Node()
    for line in stacks.splitlines():
        frames, _, samples = line.rpartition(" ")
        below = _below_root([_shortened(each) for each in frames.split(";")])
        if below and not below[-1].startswith(_WAITING):
            root.add(below, int(samples))
    boxes = list(_boxes(root, 0.0, float(_WIDTH), 0))
    height = _MARGIN * 2 + _ROW * (max(level for *_, level in boxes) + 3)
    drawn = [_drawn(name, x, width, _MARGIN + _ROW * (level + 2)) for name, x, width, level in boxes]
    width = _WIDTH + 2 * _MARGIN
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="monospace" font-size="10">',
            f"<title>{escape(title)}</title>",
            f'<rect width="100%" height="100%" fill="#ffffff"/>{_legend()}',
            *drawn,
            "</svg>\n",
        ]
    )


def _shortened(frame: str) -> str:
    found = _FRAME.fullmatch(frame)
    if found is None:
        return frame
    module = found["file"].removeprefix("adalog/").strip("/")
    # py-spy leaves a path whole where it knows no package.
    module = module if not found["file"].startswith("/") else module.rpartition("/")[2]
    return f"{module.replace('/', '.').removesuffix('.__init__')}:{found['name']}"


def _below_root(frames: list[str]) -> list[str]:
    """The frames from the first of `_ROOTS` on, which has its name; nothing for other threads."""
    for root, name in _ROOTS.items():
        for place, frame in enumerate(frames):
            if frame.endswith(root):
                return [name, *frames[place + 1 :]]
    return []


def _boxes(node: _Node, x: float, width: float, level: int) -> Iterator[tuple[str, float, float, int]]:
    """(frame, its left, its width, its level) of all frames below one that are wide enough."""
    for name, child in sorted(node.children.items()):
        share = width * child.samples / node.samples
        if share >= _LEAST * _WIDTH:
            yield name, x, share, level
            yield from _boxes(child, x, share, level + 1)
        x += share


def _drawn(name: str, x: float, width: float, y: int) -> str:
    colour = _COLOURS.get(name.partition(".")[0], _OTHER)
    box = (
        f'<rect x="{_MARGIN + x:.1f}" y="{y}" width="{width:.1f}" height="{_ROW - 1}" fill="{colour}"'
        f' stroke="#ffffff"/>'
    )
    shown, room = name, int((width - 4) / _CHARACTER)
    if len(shown) > room:
        shown = name.rpartition(":")[2]
    if len(shown) > room:
        shown = f"{shown[: room - 1]}…" if room > 3 else ""
    text = f'<text x="{_MARGIN + x + 2:.1f}" y="{y + 11}">{escape(shown)}</text>' if shown else ""
    return f"<g><title>{escape(name)}, {width / _WIDTH:.1%}</title>{box}{text}</g>"


def _legend() -> str:
    parts, x = [], _MARGIN
    for name, colour in {**_COLOURS, "other": _OTHER}.items():
        parts.append(f'<rect x="{x}" y="{_MARGIN}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{x + 16}" y="{_MARGIN + 10}">{name}</text>')
        x += 90
    return "".join(parts)


def _recorded(bodies: list[str], clients: int) -> str:
    """The collapsed stacks of a server on the sample data while it answers."""
    spy = shutil.which("py-spy")
    if spy is None:
        sys.exit("py-spy is not in the path: pip install py-spy")
    port = server.free_port()
    with folder.with_sample() as data, server.adalog(data, port, **server.UNCACHED) as process:
        server.first_answer(process, port, bodies[0])
        server.until_ready(port)
        with suppress(PermissionError):
            # A thread that waits for a core counts as one that computes: above all where it wakes another process.
            os.setpriority(os.PRIO_PROCESS, process.pid, -10)
        server.load(port, clients, bodies)
        with TemporaryDirectory() as name:
            output = Path(name, "stacks")
            options = ("--pid", str(process.pid), "--rate", str(_RATE), "--format", "raw", "--output", str(output))
            with subprocess.Popen([spy, "record", "--function", *options], stdout=subprocess.DEVNULL) as recording:
                try:
                    until = time.monotonic() + _SECONDS
                    while time.monotonic() < until:
                        server.load(port, clients, bodies)
                finally:
                    recording.send_signal(signal.SIGINT)
            return output.read_text()


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m bench.flame FOLDER")
    names = pq.read_table(PACKAGES, columns=["name"])["name"].to_pylist()[:1_000]
    lookups = [server.q(TWO_HOPS, name) for name in names]
    writes = [server.transact(f"[[:db/add {number % 500 + 1} :flame/n {number}]]") for number in range(2_000)]
    for name, title, bodies, clients in (
        ("flame-lookups", "A server that answers two-hop lookups of one client", lookups, 1),
        ("flame-transactions", "A server that commits transactions of 16 clients", writes, 16),
    ):
        Path(sys.argv[1], f"{name}.svg").write_text(graph(_recorded(bodies, clients), title))


if __name__ == "__main__":
    main()
