"""Opens a killed process's log again and again while files cannot be opened by chance; run with the shim loaded.

Its arguments are a folder to work in and the control's file. It prints how often opening failed, how often an
append was refused as READ_ONLY, the seeds with which something was lost, and the seeds with which an open log could
not be written after the disk had recovered.
"""

from __future__ import annotations

import ctypes
import gc
import json
import shutil
import sqlite3
import sys
from pathlib import Path

from adalog.datalog.errors import AdalogError, Code
from adalog.store.log.entry import LogEntry
from adalog.store.log.log import Log
from tests.faults.disk import Control, Kind

TIMES = 40


def main() -> None:
    place, control = Path(sys.argv[1]), Control(Path(sys.argv[2]))
    begun, killed = place / "begun", place / "killed"
    begun.mkdir()
    log = Log.in_file(begun / "log.sqlite")
    other = sqlite3.connect(begun / "log.sqlite")
    other.execute("insert into transactions (t, instant, payload, checksum) values (1, 1, x'00', 1)")
    other.commit()
    shutil.copytree(begun, killed)
    other.close()
    log.close()
    failed, refused, lost, stuck = 0, 0, [], []
    shim = ctypes.CDLL(None)
    for seed in range(TIMES):
        folder = place / str(seed)
        shutil.copytree(killed, folder)
        shim.faults_begin(str(folder).encode(), str(place / "journal").encode(), ctypes.c_uint64(seed))
        control.fails(0.4, Kind.OPEN)
        opened = None
        try:
            opened = Log.in_file(folder / "log.sqlite")
            opened.newest()
        except AdalogError:
            failed += 1
        except OSError:
            failed += 1
        gc.collect()
        control.well()
        if opened is not None:
            with opened.engine.connect(), opened.engine.connect():
                pass
            for _ in range(2):
                try:
                    opened.append([LogEntry(2, 0, None, b"")])
                    break
                except AdalogError as error:
                    if error.code is not Code.READ_ONLY:
                        raise
                    refused += 1
            if opened.newest() != 2:
                stuck.append(seed)
            opened.close()
        left = Log.in_file(folder / "log.sqlite")
        if left.extent(0) not in ((1, 1), (2, 1)) or (folder / "log.sqlite-wal.kept").exists():
            lost.append(seed)
        left.close()
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps([failed, refused, lost, stuck]))


if __name__ == "__main__":
    main()
