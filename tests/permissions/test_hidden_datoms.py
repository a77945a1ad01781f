"""Two databases that differ only in what an identity may not see answer it alike, byte for byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError
from adalog.store.snapshot.snapshot import Snapshot
from tests.permissions.compared import Comparison, guard_of, moments, numbers, opened
from tests.permissions.conditions import CLAIMS
from tests.permissions.random_worlds import MANY, VALUES, history
from tests.permissions.visible_database import VisibleDatabase

_TRIES = 12


def changed(rng: Random, texts: list[str]) -> list[str]:
    """The transactions with some values replaced, and some forms left out or added."""
    made = []
    for text in texts:
        if not text.startswith("[[:db/add") or ":db/ident" in text:
            made.append(text)
            continue
        forms = re.split(r"(?<=\]) (?=\[)", text[1:-1])
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            at = rng.randrange(len(forms))
            kind = rng.randrange(3)
            parts = forms[at][1:-1].split(" ", 3)
            if kind == 0 and len(forms) > 1:
                del forms[at]
            elif kind == 1 and parts[2] in VALUES and parts[2] not in MANY:
                forms[at] = f"[{' '.join(parts[:3])} {rng.choice(VALUES[parts[2]])}]"
            else:
                a = rng.choice(MANY)
                forms.append(f"[:db/add {rng.randint(1, 12)} {a} {rng.choice(VALUES[a])}]")
        made.append(f"[{' '.join(dict.fromkeys(forms))}]")
    return made


def words(rng: Random) -> str:
    """A transaction that nobody sees, after which texts are known to the database in another order."""
    texts = ["a", "b", "c", "red", "blue", "green", "c1", "c2", "c3", "c4", "u1", "u2", "u3"]
    forms = [f'{{:policy/name "{each}" :policy/roles [:nobody]}}' for each in rng.sample(texts, len(texts))]
    return f"[{' '.join(forms)}]"


def said(view: Snapshot) -> list[tuple[Any, ...]]:
    return [(d.e, d.a, write(d.v), d.t, d.added) for d in view.datoms("EAVT")]


@pytest.mark.parametrize("number", numbers(share=2))
def test_hidden_datoms_change_nothing(number: int) -> None:
    rng = Random(f"hidden {number}")
    texts, policies = history(rng)
    texts.insert(1, words(rng))
    roles, claims = rng.choice(CLAIMS)
    with opened(texts) as (database, own, _):
        asked = list(moments(rng, database.snapshot().t))
        seen = list(visible(database, asked, policies, roles, claims))
        compared = 0
        for _ in range(_TRIES):
            try:
                with opened([texts[0], words(rng), *changed(rng, texts[2:])]) as (twin, theirs, _):
                    if list(visible(twin, asked, policies, roles, claims)) != seen:
                        continue
                    compared += 1
                    guards = [
                        guard_of(each, at.snapshot(), roles, claims)
                        for each, at in ((own, database), (theirs, twin))
                    ]
                    for moment in asked:
                        views = guards[0].view(database.at(**moment)), guards[1].view(twin.at(**moment))
                        about = f"hidden {number} {roles} {claims} {moment}\n" + "\n".join(p.form for p in policies)
                        Comparison((own, theirs), views, about).check_all(rng, 6, ordered=False)
                    if compared == 2:
                        return
            except AdalogError:
                continue  # what was changed is refused


def visible(database: Any, asked: list[Any], policies: Any, roles: Any, claims: Any) -> Iterator[Any]:
    whole = VisibleDatabase(database.snapshot(), policies, roles, claims)
    for moment in asked:
        view = whole.at(database.at(**moment))
        yield said(view), [(each.id, each.ident) for each in view.attributes()]
