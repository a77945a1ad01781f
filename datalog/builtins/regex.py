"""Regular expressions, bounded so that no pattern holds a thread for long.

Python's engine cannot be interrupted, so that a pattern which could take exponential time is refused before it is
tried, and a text that is too long for the pattern likewise.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from threading import Lock

from datalog.builtins.builtin import Builtin, refuse, shown, text_of
from datalog.builtins.regex_cost import Longest, TooCostlyError, longest_text
from datalog.values import Value

MAX_PATTERN = 1000

_compiling = Lock()


@lru_cache(maxsize=512)
def _compiled(source: str) -> tuple[re.Pattern[str], Longest]:
    """The pattern, and the lengths of text it may be tried on."""
    if len(source) > MAX_PATTERN:
        refuse(f"the pattern {shown(source)} has {len(source):,} characters; at most {MAX_PATTERN:,} are taken")
    with _compiling, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pattern = re.compile(_from_java(source), re.ASCII)
            return pattern, longest_text(pattern.pattern, re.ASCII)
        except TooCostlyError:
            refuse(
                f"the pattern {shown(source)} may take exponential time, as where a repetition repeats another; "
                "write it so that a text matches in one way only, such as a+ for (a+)+"
            )
        except (re.error, ValueError, OverflowError, RecursionError) as error:
            refuse(f"{shown(source)} is not a regular expression: {error}")


_JAVA = re.compile(r"\\k<(\w+)>|\\z|\\.|\(\?<(?=[A-Za-z])", re.DOTALL)


def _from_java(source: str) -> str:
    """Java's spelling of named groups and of the end of the text, in Python's."""

    def spelled(match: re.Match[str]) -> str:
        if match[1]:
            return f"(?P={match[1]})"
        return {"\\z": "\\Z", "(?<": "(?P<"}.get(match[0], match[0])

    return _JAVA.sub(spelled, source)


def _prepared(name: str, args: tuple[Value, ...]) -> tuple[re.Pattern[str], str]:
    pattern, longest = _compiled(text_of(name, args, 0))
    subject = text_of(name, args, 1)
    most = longest.matched if name == "re-matches" else longest.searched
    if len(subject) > most:
        refuse(
            f"the text {shown(subject)} has {len(subject):,} characters; to bound its time the pattern "
            f"{shown(args[0])} is tried on at most {most:,}, and on more with fewer repetitions or from ^ on"
        )
    return pattern, subject


def _found(match: re.Match[str]) -> Value:
    """The match, or a vector of it and its groups."""
    return (match[0], *match.groups()) if match.re.groups else match[0]


def _re_find(*args: Value) -> Value:
    pattern, subject = _prepared("re-find", args)
    match = pattern.search(subject)
    return _found(match) if match else None


def _re_matches(*args: Value) -> Value:
    pattern, subject = _prepared("re-matches", args)
    match = pattern.fullmatch(subject)
    return _found(match) if match else None


def _re_seq(*args: Value) -> Value:
    pattern, subject = _prepared("re-seq", args)
    return tuple(map(_found, pattern.finditer(subject))) or None


def _re_pattern(source: Value) -> Value:
    _compiled(text_of("re-pattern", (source,), 0))
    return source


REGEXES = (
    Builtin("re-find", 2, 2, _re_find),
    Builtin("re-matches", 2, 2, _re_matches),
    Builtin("re-seq", 2, 2, _re_seq),
    Builtin("re-pattern", 1, 1, _re_pattern),
)
