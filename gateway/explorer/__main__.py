"""Writes manifest.json's checksums anew after a file of the explorer was changed on purpose."""

from __future__ import annotations

import hashlib
from pathlib import Path

import orjson

_SERVED = {".html", ".js", ".css", ".svg", ".txt"}


def main() -> None:
    root = Path(__file__).parent
    path = root / "manifest.json"
    listed = orjson.loads(path.read_bytes())
    listed["files"] = {
        file.relative_to(root).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(root.rglob("*"))
        if file.suffix in _SERVED
    }
    path.write_bytes(orjson.dumps(listed, option=orjson.OPT_INDENT_2) + b"\n")


if __name__ == "__main__":
    main()
