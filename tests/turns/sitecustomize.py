"""Records the turns of a process's event loops, as `turn_records` says. Python imports this when a process starts
whose PYTHONPATH has this folder."""

import os

import turn_records

if turn_records.FOLDER in os.environ:
    turn_records.install()
