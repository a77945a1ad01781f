"""Every function that a query may call, by the names it may be called.

Nothing else can be called: names that are not here are refused by the parser. Clojure's go by their namespaces too,
so that `clojure.string/upper-case` is `upper-case`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from adalog.datalog.builtins.applying import APPLY, applying
from adalog.datalog.builtins.arithmetic import ARITHMETIC
from adalog.datalog.builtins.builtin import Builtin, DatabaseAccess
from adalog.datalog.builtins.comparison import COMPARISONS
from adalog.datalog.builtins.composite import COMPOSITES, TUPLES
from adalog.datalog.builtins.database import DATABASE
from adalog.datalog.builtins.dates import DATES
from adalog.datalog.builtins.formats import FORMATS
from adalog.datalog.builtins.java import java_methods
from adalog.datalog.builtins.mathematics import MATHEMATICS
from adalog.datalog.builtins.membership import MEMBERSHIP
from adalog.datalog.builtins.regex import LIKES, REGEXES, SPLIT
from adalog.datalog.builtins.text import NAMES, PADDING, STRINGS
from adalog.datalog.builtins.type_tests import TYPE_TESTS

__all__ = ["BUILTINS", "Builtin", "DatabaseAccess"]

_CORE = (*COMPARISONS, *ARITHMETIC, *NAMES, *FORMATS, *REGEXES, *TYPE_TESTS, *COMPOSITES)
_STRINGS = (*STRINGS, SPLIT)
_OWN = (*TUPLES, *DATABASE, *DATES, *MEMBERSHIP, *LIKES, *PADDING)


def _named() -> dict[str, Builtin]:
    named = {builtin.name: builtin for builtin in (*_CORE, *_STRINGS, *MATHEMATICS, *_OWN)}
    named |= {f"clojure.core/{builtin.name}": builtin for builtin in _CORE}
    named |= {f"clojure.string/{builtin.name}": builtin for builtin in _STRINGS}
    named |= {f"{space}/{builtin.name}": builtin for builtin in MATHEMATICS for space in ("clojure.math", "Math")}
    named |= {f"Math/{name}": named[name] for name in ("abs", "min", "max")}
    named |= {f"{space}/{builtin.name}": builtin for builtin in DATABASE for space in ("d", "datomic.api")}
    named |= java_methods(named)
    return named | dict.fromkeys((APPLY, f"clojure.core/{APPLY}"), applying(named))


BUILTINS: Mapping[str, Builtin] = MappingProxyType(_named())
