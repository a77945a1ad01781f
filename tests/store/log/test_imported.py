"""The log's files mean the same with dictionaries that number values differently."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from adalog.datalog.values import Keyword
from adalog.store.log.imported import write_logged
from adalog.store.values.blocks.block import Block, hashes_of
from adalog.store.values.codes import Codes
from adalog.store.values.dictionary import Dictionary
from adalog.store.values.layout import TAG_STRING

VALUES = [5, "a", Keyword("a"), 0.5, "b", True, "a", 2**62, (1, "x"), ""]


def test_files_are_read_with_other_codes(tmp_path: Path) -> None:
    here, there = Codes(), Codes()
    for text in ("z", "b", "y"):
        there.intern(text)
    v = np.array([here.intern(value) for value in VALUES])
    e = np.arange(len(v))
    added = e % 2 == 0
    logged = write_logged(tmp_path, 7, 3, (e, v, added), here)
    assert len(logged) == len(VALUES)
    assert logged.values() == VALUES
    assert logged.values(2, 5) == VALUES[2:5]
    assert logged.added.tolist() == added.tolist()
    assert np.array_equal(logged.codes(here), v)
    codes = logged.codes(there)
    assert not np.array_equal(codes, v)
    assert there.decode_many(codes) == VALUES


def test_keys_are_found_and_appended_by_the_column() -> None:
    dictionary = Dictionary()
    old = [b"key %d" % number for number in range(300)]
    for key in old[:200]:
        dictionary.add(key)
    dictionary.adopt(dictionary.folded())
    for key in old[200:]:
        dictionary.add(key)
    asked = [*old[::3], b"new", b""]
    hashes = hashes_of(asked, dictionary.secret)
    found = dictionary.find_column(pa.array(asked, pa.large_binary()), hashes)
    assert found.tolist() == [*range(0, 300, 3), -1, -1]
    fresh = pa.array([b"new", b""], pa.large_binary())
    dictionary.append([Block.hashed(300, fresh, hashes[-2:], dictionary.secret)])
    assert [dictionary.find(key) for key in (b"new", b"", b"key 250", b"none")] == [300, 301, 250, None]
    assert dictionary.add(b"next") == 302
    assert len(dictionary) == 303
    codes = Codes({TAG_STRING: dictionary})
    assert codes.decode(codes.intern("new")) == "new"
