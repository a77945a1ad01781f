"""Columns of the log: their values, and copies of them without some rows."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from adalog.store.log.payload import LoggedColumn
from adalog.store.values.codes import Codes

_WITHOUT_PANDAS = """
import sys
import numpy as np
from adalog.store.log.payload import LoggedColumn
from adalog.store.values.codes import Codes
column = LoggedColumn(900, np.array([1, 2]), "arrow", sys.stdin.buffer.read())
assert column.known_codes(Codes(), np.array([0])) == []
assert column.without(np.array([True, False])).values() == ["b"]
assert "pandas" not in sys.modules, "pandas was imported"
"""


def test_a_few_values_of_a_column_are_read_without_importing_pandas() -> None:
    # Where pandas is installed, PyArrow imports it for some calls: most of a second in the middle of an excision.
    codes = Codes()
    v = np.array([codes.intern("a"), codes.intern("b")], np.int64)
    column = LoggedColumn.of(900, np.array([1, 2]), v, codes)
    assert column.kind == "arrow"
    assert column.known_codes(codes, np.array([1])) == [int(v[1])]
    subprocess.run([sys.executable, "-c", _WITHOUT_PANDAS], input=column.data, check=True)
