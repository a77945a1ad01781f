"""The strict reader: what each EDN form reads as, what is refused and where, and the limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from math import inf, isnan
from uuid import UUID

import pytest

from adalog.datalog.edn import EdnError, Limits, locate, locate_all, read, read_form
from adalog.datalog.edn.outline import TOKEN
from adalog.datalog.errors import Code, Position
from adalog.datalog.values import BigInt, Char, EdnList, EdnMap, EdnSet, Keyword, Symbol, Uri, identity

A, B = Keyword("a"), Keyword("b")

VALUES = {
    "nil": None,
    "true": True,
    "false": False,
    "0": 0,
    "-0": 0,
    "+5": 5,
    "9223372036854775807": 2**63 - 1,
    "-9223372036854775808": -(2**63),
    "9223372036854775808": BigInt(2**63),
    "12N": BigInt(12),
    "1.5": 1.5,
    "-1e3": -1000.0,
    "1E-2": 0.01,
    "1.50M": Decimal("1.50"),
    "1e400M": Decimal("1e400"),
    "##Inf": inf,
    "##-Inf": -inf,
    '""': "",
    '"a\nb"': "a\nb",
    r'"\" \\ \n \t \r \b \f \u00e9"': '" \\ \n \t \r \b \f é',
    r'"\uD83D\uDE00"': "😀",
    r"\a": Char("a"),
    r"\(": Char("("),
    r"\,": Char(","),
    r"\\": Char("\\"),
    r"\newline": Char("\n"),
    r"\u00e9": Char("é"),
    ":a": A,
    ":person/name": Keyword("person/name"),
    ":1": Keyword("1"),
    ":db.type/string": Keyword("db.type/string"),
    "x": Symbol("x"),
    "?x": Symbol("?x"),
    "/": Symbol("/"),
    "-": Symbol("-"),
    "...": Symbol("..."),
    "clojure.string/blank?": Symbol("clojure.string/blank?"),
    "a'": Symbol("a'"),
    "<=": Symbol("<="),
    "größe": Symbol("größe"),
    "[]": (),
    "[1 [2]]": (1, (2,)),
    "(1 2)": EdnList((1, 2)),
    "{:a 1, :b 2}": EdnMap([(A, 1), (B, 2)]),
    "#{1 1.0 true :a}": EdnSet([1, 1.0, True, A]),
    "{1 :a 1.0 :b}": EdnMap([(1, A), (1.0, B)]),
    "#:p{:a 1 :_/b 2 :q/c 3}": EdnMap([(Keyword("p/a"), 1), (B, 2), (Keyword("q/c"), 3)]),
    '#inst "2024-05-01T12:30:00.123456+02:00"': datetime(2024, 5, 1, 10, 30, 0, 123000, UTC),
    '#inst "2024-05-01"': datetime(2024, 5, 1, tzinfo=UTC),
    '#inst "2024"': datetime(2024, 1, 1, tzinfo=UTC),
    '#uuid "F81d4fae-7dec-11d0-a765-00a0c91e6bf6"': UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
    '#bytes "AAEC"': b"\x00\x01\x02",
    '#uri "https://example.org/?q=1"': Uri("https://example.org/?q=1"),
    "#db/id [:db.part/user -3]": -3,
    "; first\n1 ; last": 1,
    "#_ignored 1 #_(and this)": 1,
    "#_ #_ one two 3": 3,
    '[1 #_ #inst "2024" 2]': (1, 2),
    "[a#_b]": (Symbol("a#_b"),),
    " ,\t\n1,": 1,
    '["a""b"[1]2]': ("a", "b", (1,), 2),
}


@pytest.mark.parametrize("text", VALUES)
def test_reads(text: str) -> None:
    value = read(text)
    assert type(value) is type(VALUES[text])
    assert identity(value) == identity(VALUES[text])


def test_reads_nan() -> None:
    assert isnan(read("##NaN"))


REFUSED = [
    ("", 1, 1, "the text holds no form"),
    ("; only a comment", 1, 1, "the text holds no form"),
    ("1 2", 1, 3, "2 after the end of the form"),
    ("[1]\n  :a", 2, 3, ":a after the end of the form"),
    ("[1 2", 1, 1, "[ at 1:1 is never closed; ] is missing, at the end"),
    ("[:a\n {:b #{1}", 2, 2, "{ at 2:2 is never closed; } is missing, at the end"),
    ("[1 2)", 1, 5, ") where ] was expected: [ at 1:1 is still open"),
    ("1)", 1, 2, ") closes nothing"),
    ("#{1 2 1}", 1, 7, "the set has 1 twice"),
    ("#{[1 2]\n [3] [1 2]}", 2, 6, "the set has [1 2] twice"),
    ("{:a 1\n :b 2\n :a 3}", 3, 2, "the map has the key :a twice"),
    ("{:a 1 :b}", 1, 7, "the map has no value for its key :b"),
    ("#{#_x 1 1}", 1, 9, "the set has 1 twice"),
    ("#{0.0 -0.0}", 1, 7, "the set has -0.0 twice"),
    ("#{1.0M 1.00M}", 1, 8, "the set has 1.00M twice"),
    ("#:a{:b 1 :a/b 2}", 1, 1, "two keys of the map are the same"),
    ("#:a[1]", 1, 1, "#:a takes a map"),
    ('[:a "b', 1, 5, "the string is never closed"),
    ('"a\\"', 1, 1, "the string is never closed"),
    ('"ab\\q"', 1, 4, "unknown escape \\q"),
    ('"\n\\u12"', 2, 1, "unknown escape \\u"),
    ('"\\ud83d"', 1, 2, "half of a surrogate pair"),
    ("012", 1, 1, "012 is not a number: a number has no leading zeros"),
    ("1/2", 1, 1, "ratios are not EDN"),
    ("0x1F", 1, 1, "hexadecimal"),
    ("1.", 1, 1, "digits must follow the point"),
    (".5", 1, 1, "digits must come before the point"),
    ("1e", 1, 1, "digits must follow the exponent"),
    ("12abc", 1, 1, "12abc is not a number"),
    ("1_000", 1, 1, "1_000 is not a number"),
    ("١٢", 1, 1, "is not a symbol"),
    ("1e999", 1, 1, "too large for a double"),
    ("1e9999999M", 1, 1, "out of range"),
    ("9" * 5000, 1, 1, "5,000 characters"),
    ("2024-05-01", 1, 1, '#inst "2024-05-01"'),
    (":", 1, 1, ": is not a keyword"),
    ("::a", 1, 1, "::a is not a keyword"),
    (":a/", 1, 1, ":a/ is not a keyword"),
    ("a/b/c", 1, 1, "a/b/c is not a symbol"),
    ("[\\newlin]", 1, 2, "\\newlin is not a character (did you mean \\newline?)"),
    ("\\ a", 1, 1, "a backslash must be followed by a character"),
    ("#foo 1", 1, 1, "unknown tag #foo"),
    ('[#ins "2024"]', 1, 2, "did you mean #inst?"),
    ("#inst 5", 1, 1, "#inst takes a string"),
    ('#inst "2024-13-01"', 1, 1, "month must be in 1..12"),
    ('#inst "2024-02-30"', 1, 1, "not an instant"),
    ('#inst "yesterday"', 1, 1, 'write it as #inst "2024-05-01T12:30:00.000Z"'),
    ('#inst "0001-01-01T00:00:00+12:00"', 1, 1, "not an instant"),
    ('#uuid "f81d4fae"', 1, 1, "is not a UUID"),
    ('#bytes "AA"', 1, 1, "is not base64"),
    ('#uri "a b"', 1, 1, "is not a URI"),
    ("##inf", 1, 1, "there are ##Inf, ##-Inf and ##NaN"),
    ("# {1}", 1, 1, "# must be followed by a tag"),
    ("#(inc %)", 1, 1, "# must be followed by a tag"),
    ("[1 #_]", 1, 6, "] where #_ at 1:4 still needs a form"),
    ("#_", 1, 1, "#_ needs a form after it"),
    ("[1 #inst ]", 1, 10, "] where #inst at 1:4 still needs a form"),
    ("^{:a 1} x", 1, 1, "metadata"),
    ("@x", 1, 1, "@ is not EDN"),
    ("[`x]", 1, 2, "syntax quote"),
    ("'x", 1, 1, "a quote ' is read in queries only"),
    ('#"a+"', 1, 1, "read in queries only"),
    ("[1\u00a02]", 1, 3, "U+00A0, NO-BREAK SPACE"),
    ("\ufeff[1]", 1, 1, "U+FEFF"),
    ("[\x00]", 1, 2, "U+0000"),
    ("[→]", 1, 2, "RIGHTWARDS ARROW"),
    ('["\ud800"]', 1, 3, "half of a surrogate pair"),
]


@pytest.mark.parametrize(
    ("text", "line", "column", "message"), REFUSED, ids=[repr(case[0])[:30] for case in REFUSED]
)
def test_refuses(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(EdnError) as caught:
        read(text)
    assert caught.value.code is Code.EDN_SYNTAX
    assert message in caught.value.message
    assert caught.value.position == Position(line, column)


def test_columns_count_characters() -> None:
    with pytest.raises(EdnError) as caught:
        read('["größe😀" )')
    assert caught.value.position == Position(1, 11)


# Limits


@pytest.mark.parametrize("opening", ["[", "(", "{", "#{", "#_", "#uri ", "{:a "])
def test_a_nesting_bomb_is_refused_where_it_passes_the_limit(opening: str) -> None:
    with pytest.raises(EdnError) as caught:
        read(opening * 100_000)
    assert caught.value.code is Code.LIMIT_EXCEEDED
    assert caught.value.position == Position(1, 64 * len(opening) + 1)


def test_64_deep_is_allowed() -> None:
    assert read("[" * 64 + "]" * 64)


def test_depth_is_configurable_and_never_recurses() -> None:
    deep = 100_000
    read("[" * deep + "]" * deep, Limits(depth=deep))
    locate("[" * deep + "]" * deep, [0] * 10)


def test_a_text_of_1_mib_is_read_and_one_byte_more_is_not() -> None:
    text = '"' + "x" * (2**20 - 2) + '"'
    assert len(read(text)) == 2**20 - 2
    with pytest.raises(EdnError) as caught:
        read(text + " ")
    assert caught.value.code is Code.LIMIT_EXCEEDED
    with pytest.raises(EdnError, match="1,048,576 bytes"):
        read('"' + "é" * 2**19 + '"')


@pytest.mark.parametrize(
    "text",
    [
        '"' + '\\"' * 250_000,
        '"' * 250_001,
        "#" * 500_000,
        "\\" * 500_001,
        "a" * 500_000,
        ":" + "a/" * 250_000,
        "1" * 500_000 + "e",
        "[" + "'" * 400_000,
        "#{" + " ".join(f"{(2**61 - 1) * (2**13 + 8 * n)}N" for n in range(20_000)) + "}",
        '#inst "' + "2" * 400_000 + '"',
    ],
    ids=[
        "escapes",
        "quotes",
        "hashes",
        "backslashes",
        "symbol",
        "keyword",
        "number",
        "marks",
        "equal hashes",
        "inst",
    ],
)
@pytest.mark.timeout(30)
def test_no_text_takes_long(text: str) -> None:
    message = ""
    try:
        read(text)
    except EdnError as error:
        message = error.message
    assert len(message) < 400


def test_a_large_transaction() -> None:
    text = "[" + " ".join(f'[:db/add {n} :a/b "text {n}"]' for n in range(100_000)) + "]"
    assert len(read(text, Limits(size=2**23))) == 100_000


# Places


def test_locate_finds_elements_by_their_path() -> None:
    text = '[[:db/add 1 :a "x"]\n #_gone {:db/id 2\n  :b #{7 #inst "2024"}}]'
    assert locate(text, []) == Position(1, 1)
    assert locate(text, [0, 3]) == Position(1, 16)
    assert locate(text, [1]) == Position(2, 9)
    assert locate(text, [1, 2]) == Position(3, 3)
    assert locate(text, [1, 3, 1]) == Position(3, 10)


def test_forms_know_their_places() -> None:
    form = read_form('\'[:find ?x\n :where [?x :a #"\\d+"]]')
    assert form.position == Position(1, 1)
    find, variable, where, clause = form
    assert (find.value, variable.value, where.value) == (Keyword("find"), Symbol("?x"), Keyword("where"))
    assert [part.position for part in clause] == [Position(2, 10), Position(2, 13), Position(2, 16)]
    assert clause.items[2].value == r"\d+"


def test_an_element_added_twice_in_a_query_is_refused_at_its_place() -> None:
    with pytest.raises(EdnError) as caught:
        read_form("{:find [?x]\n :find [?y]}")
    assert caught.value.position == Position(2, 2)


@pytest.mark.parametrize("form", ["[1 2]", "[1 2 3]", "[1 2 3 4]", "{:a [1]}", "x", '#_ [y] #inst "2024-01-01"'])
def test_a_text_is_looked_at_as_far_as_its_places_ask(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[" + f"{form} " * 20_000 + "]"
    tokens, plain = 0, TOKEN

    class Counted:
        def finditer(self, given: str) -> Iterator[re.Match[str]]:
            nonlocal tokens
            for match in plain.finditer(given):
                tokens += 1
                yield match

    paths = [(0,), (30,), (31, 0)]
    places = [locate(text, path) for path in paths]
    monkeypatch.setattr("adalog.datalog.edn.outline.TOKEN", Counted())
    assert locate_all(text, paths) == places
    assert tokens < 3_000
