"""Regular expressions: Java's answers where RE2 has the syntax, Python's as the oracle, and a bound on all work."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adalog.datalog.builtins import BUILTINS
from adalog.datalog.builtins.regex import MAX_WORK
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.watched import watching


def call(name, *args):
    return BUILTINS[name].call(*args)


def refused(name, *args) -> str:
    with pytest.raises(AdalogError) as caught:
        call(name, *args)
    assert caught.value.code is Code.QUERY_INVALID
    return caught.value.message


def test_groups():
    assert call("re-find", "(h)(e)", "hello") == ("he", "h", "e")
    assert call("re-find", "(a)(b)?", "a") == ("a", "a", None)
    assert call("re-seq", r"[a-z](\d)", "a1b2") == (("a1", "1"), ("b2", "2"))
    assert call("re-seq", "x", "hello") is None
    assert call("re-matches", "a|ab", "abc") is None
    assert call("re-matches", "a|ab", "ab") == "ab"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"b\z", "ab", "b"),
        (r"b\Z", "ab", "b"),
        (r"\w", "é", None),
        (r"\(\?<", "(?<", "(?<"),
        (r"\u00e9", "é", "é"),
        (r"\é\_", "é_", "é_"),
        (r"\Qa.b\E+", "a.bb", "a.bb"),
        (r"\p{Lu}", "aÉ", "É"),
        (r"\s[\s]", "\v\v", "\v\v"),
        (r"\S[\S_]", "aé", "aé"),
        (r"[^\S]", "a ", " "),
        ("[]a]+", "]a", "]a"),
        ("[^]a]", "]ab", "b"),
        ("[[a]+", "[a", "[a"),
        ("[[:digit:]]", "a1", "1"),
        ("a{,2}", "aaa", "aa"),
        ("(?i)É", "é", "é"),
        ("$", "a\n", ""),
    ],
)
def test_patterns_as_java_and_python_spell_them(pattern, text, found):
    assert call("re-find", pattern, text) == found


def test_a_sequence_goes_on_after_an_empty_match_as_in_java():
    assert call("re-seq", "é*", "béeé") == ("", "é", "", "é", "")
    assert call("re-seq", "|a", "a") == ("", "")


@pytest.mark.parametrize("pattern", ["(", "[a", "*", "(?u)a", r"\h", "[a-\\s]", "\\", "a" * 1001, "(a{100}){100}"])
def test_bad_patterns(pattern):
    refused("re-find", pattern, "a")


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        (r"(?<y>\d{4})-\k<y>", "with ="),
        (r"(a)\1", "with ="),
        ("a(?=b)", "group"),
        ("(?<!a)b", "clause"),
        ("(?>a)b", "(?:…)"),
        ("a++", "possessive"),
        ("a{2000}", "1,000"),
    ],
)
def test_a_pattern_that_re2_has_not_says_what_would_be_right(pattern, instead):
    assert instead in refused("re-find", pattern, "a")


_ATOMS = st.sampled_from(["a", "b", "é", ".", "[ab]", "[^a]", r"\w", r"\s", r"\b", "^", r"[\s_]", r"\S"])


_REPEATS = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{1,2}"])


def _grown(patterns: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(patterns, patterns).map("".join),
        st.tuples(patterns, patterns).map("(?:{0[0]}|{0[1]})".format),
        patterns.map("({})".format),
        st.tuples(_ATOMS, _REPEATS).map("(?:{0[0]}){0[1]}".format),
    )


_PATTERNS = st.recursive(_ATOMS, _grown, max_leaves=8)


def _java_matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    at = 0
    while at <= len(text) and (match := pattern.search(text, at)):
        yield match
        at = match.end() + (match.end() == match.start())


def _shown(match: re.Match[str] | None):
    return None if match is None else (match[0], *match.groups()) if match.re.groups else match[0]


@given(_PATTERNS, st.text("abé _\v\n", max_size=8))
@example("(a|ab)(c|bcd)?", "abcd")
def test_what_is_found_is_what_python_finds(pattern: str, text: str) -> None:
    known = re.compile(pattern, re.ASCII)
    assert call("re-find", pattern, text) == _shown(known.search(text))
    assert call("re-matches", pattern, text) == _shown(known.fullmatch(text))
    assert call("re-seq", pattern, text) == (tuple(map(_shown, _java_matches(known, text))) or None)


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|aa)+$", "(.*a){12}b", "a*" * 8 + "b", "a?" * 30 + "a" * 30 + "b"]
)
def test_what_once_took_exponential_time_takes_a_text_of_any_length(pattern):
    assert call("re-matches", pattern, "a" * 30_000 + "!") is None


def test_the_work_of_a_pattern_and_a_text_is_bounded_before_it_is_done():
    pattern = "(?:a?){1000}b"
    longest = int(re.search(r"at most ([\d,]+)", refused("re-find", pattern, "a" * MAX_WORK))[1].replace(",", ""))
    assert 1_000 < longest < MAX_WORK / 1_000
    assert call("re-find", pattern, "c" * longest) is None


class Stop(Exception):
    """The deadline of the test."""


def test_a_long_match_and_many_matches_look_at_the_deadline():
    looks = 0

    def check() -> None:
        nonlocal looks
        looks += 1
        if looks == 3:
            raise Stop

    with watching(check), pytest.raises(Stop):
        call("re-seq", "a", "a" * 100_000)
    looks = 2
    with watching(check), pytest.raises(Stop):
        call("re-find", "(?:a?){900}b", "c" * 10_000)


def test_as_many_matches_as_a_collection_may_hold(monkeypatch):
    monkeypatch.setattr("adalog.datalog.builtins.regex.MAX_MATCHES", 100)
    assert len(call("re-seq", "a", "a" * 100)) == 100
    with pytest.raises(AdalogError) as caught:
        call("re-seq", "a", "a" * 101)
    assert caught.value.code is Code.LIMIT_EXCEEDED
