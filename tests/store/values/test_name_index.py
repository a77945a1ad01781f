"""The known name that a misspelt one meant: as difflib finds it among all, or among as many as matter."""

from __future__ import annotations

import random
import string

import pytest

from adalog.datalog.hints import most_alike
from adalog.datalog.values import Keyword
from adalog.store.values import name_index
from adalog.store.values.name_index import NameIndex


def word(rng: random.Random, least: int = 3, most: int = 12) -> str:
    return "".join(rng.choices(string.ascii_lowercase + "-é0", k=rng.randint(least, most)))


def names(count: int, seed: int) -> list[Keyword]:
    rng = random.Random(seed)
    spaces = [word(rng) for _ in range(12)]
    return [Keyword(f"{rng.choice(spaces)}/{word(rng)}") for _ in range(count)]


def misspelt(name: Keyword, rng: random.Random) -> Keyword:
    letters = list(name.name)
    place = rng.randrange(len(letters))
    rng.choice([lambda: letters.pop(place), lambda: letters.insert(place, "x"), lambda: None])()
    return Keyword("".join(letters) + rng.choice(["", "s"]))


def test_few_names_are_compared_as_difflib_does() -> None:
    known, rng = names(60, 1), random.Random(2)
    index = NameIndex(known)
    for name in [*(misspelt(rng.choice(known), rng) for _ in range(200)), *names(50, 3)]:
        for cutoff in (0.6, 0.85):
            assert index.hint(name, cutoff=cutoff) == most_alike(str(name), map(str, known), cutoff=cutoff), name


def test_a_misspelling_is_found_among_many() -> None:
    known, rng = names(5_000, 4), random.Random(5)
    index = NameIndex(known)
    for _ in range(100):
        meant = rng.choice(known)
        name = misspelt(meant, rng)
        assert index.hint(name) == most_alike(str(name), map(str, known)), (name, meant)


def test_no_more_names_are_compared_than_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def counting(name: str, known: list[str], **more: float) -> str:
        given = list(known)
        compared.append(len(given))
        return most_alike(name, given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(name_index, "most_alike", counting)
    index = NameIndex([Keyword(f"sensor/t{number:05}") for number in range(20_000)])
    assert index.hint(Keyword("sensor/t123456"))
    assert index.hint(Keyword("sensor/t123456"), where=lambda each: each.name.endswith("9"))
    assert max(compared) <= 64


def test_names_of_any_length_and_any_letters() -> None:
    index = NameIndex([Keyword("a/" + "b" * 300), Keyword("a/😀ключ"), Keyword("a/b")])
    assert index.hint(Keyword("a/ключ")) == " (did you mean :a/😀ключ?)"
    assert index.hint(Keyword("a/" + "b" * 90)) == ""
    assert index.hint(Keyword("a/" + "b" * 300)) == ""
    assert NameIndex([]).hint(Keyword("a/b")) == ""


def test_names_by_their_parts() -> None:
    index = NameIndex([Keyword("a/b"), Keyword("c/b"), Keyword("b")])
    assert (index.by_name.get("c/b"), index.by_name.get("x")) == (Keyword("c/b"), None)
    assert (index.by_local.get("b"), index.by_local.get("c")) == (Keyword("a/b"), None)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("people/issue-done", None),
        ("status/opne", "status/open"),
        ("stat/open", "status/open"),
        ("isue/dnoe", "issue/done"),
        ("done", "issue/done"),
        ("issue.done", "issue/done"),
    ],
)
def test_of_other_namespaces_only_misspellings_are_proposed(name: str, meant: str | None) -> None:
    index = NameIndex(map(Keyword, ("issue/done", "status/open", "issue/priority")))
    assert index.hint(Keyword(name)) == ("" if meant is None else f" (did you mean :{meant}?)")
    assert NameIndex([Keyword("issue/done")]).hint(Keyword("status/one")) == ""
