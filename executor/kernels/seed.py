"""The number that this process's hashes begin with: nobody outside can choose values that all fall to one place.

An argument of every kernel that hashes, and not a constant within it: what is compiled and kept on disk is the same
in every process. No result depends on it.
"""

from __future__ import annotations

import secrets
from typing import Final

import numpy as np

SEED: Final = np.uint64(secrets.randbits(64))
