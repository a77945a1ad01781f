"""Coverage-guided fuzzing of the EDN reader with atheris, which is too large to be a requirement of the tests.

    python3 -m venv build/fuzz && build/fuzz/bin/pip install -e . atheris==3.0.0
    build/fuzz/bin/python tests/fuzz/edn_reader.py -max_total_time=3600 -max_len=4096

A text is read, or refused with an EdnError; what was read is written and read again as the same value.
"""

from __future__ import annotations

import sys

import atheris  # type: ignore[import-not-found]

with atheris.instrument_imports(include=["datalog"]):
    from adalog.datalog import edn
    from adalog.datalog.values import identity

LIMITS = edn.Limits(size=1 << 16)


def one_input(data: bytes) -> None:
    """One text, as a query and as data."""
    text = data.decode("utf-8", "ignore")
    for clojure in (False, True):
        try:
            value = edn.read(text, LIMITS, clojure=clojure)
        except edn.EdnError as error:
            message = error.message
        else:
            message = ""
            assert identity(edn.read(edn.write(value))) == identity(value)
        assert len(message) <= 400


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
