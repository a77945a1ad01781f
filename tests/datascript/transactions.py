"""Random transactions on a database whose entities are told apart by a label, since the two give them other ids.

DataScript applies the forms one after the other, the dialect all at once. So a transaction says one thing of an
attribute of an entity, gives a unique value to one entity, and does not touch what it retracts as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random

# What kind of value an attribute has, and whether it has many: e entity, n long, s string, k keyword, b boolean.
ATTRIBUTES = {
    ":g/n": ("n", False),
    ":g/ns": ("n", True),
    ":g/s": ("s", False),
    ":g/ks": ("k", True),
    ":g/b": ("b", False),
    ":g/r": ("e", False),
    ":g/to": ("e", True),
    ":g/part": ("e", False),
    ":g/parts": ("e", True),
}
COMPONENTS = (":g/part", ":g/parts")
TYPES = {"e": "ref", "n": "long", "s": "string", "k": "keyword", "b": "boolean"}
VALUES = {"n": ("1", "2", "3"), "s": ('"a"', '"b"'), "k": (":k/a", ":k/b"), "b": ("true", "false")}
LABELS = tuple(range(1, 6))
SCHEMA = (
    "[{:db/ident :g/label :db/valueType :db.type/long :db/unique :db.unique/identity}"
    " {:db/ident :g/u :db/valueType :db.type/string :db/unique :db.unique/identity}"
    " {:db/ident :g/v :db/valueType :db.type/string :db/unique :db.unique/value} "
    + " ".join(
        f"{{:db/ident {a} :db/valueType :db.type/{TYPES[kind]}"
        + (" :db/cardinality :db.cardinality/many" if many else "")
        + (" :db/isComponent true" if a in COMPONENTS else "")
        + "}"
        for a, (kind, many) in ATTRIBUTES.items()
    )
    + "]"
)
THEIR_SCHEMA = {
    ":g/label": {":db/unique": ":db.unique/identity"},
    ":g/u": {":db/unique": ":db.unique/identity"},
    ":g/v": {":db/unique": ":db.unique/value"},
    **{
        a: {
            **({":db/valueType": ":db.type/ref"} if kind == "e" else {}),
            **({":db/cardinality": ":db.cardinality/many"} if many else {}),
            **({":db/isComponent": True} if a in COMPONENTS else {}),
        }
        for a, (kind, many) in ATTRIBUTES.items()
        if kind == "e" or many
    },
}
FIRST = "[" + " ".join(f"[:db/add {label} :g/label {label}]" for label in LABELS) + "]"


class Transaction:
    """One transaction in the making.

    `labelled` gives each label's entity, `held` an entity's value of `:g/n`, `owner` the entity that has a value of
    `:g/u`.
    """

    def __init__(
        self, rng: Random, labelled: Mapping[int, int], held: Mapping[int, str], owner: Mapping[str, int]
    ) -> None:
        self.rng = rng
        self.labelled = labelled
        self.held = held
        self.owner = owner
        self.touched: set[tuple[object, ...]] = set()
        self.fresh = max(labelled, default=0) + 100
        self.tempids: list[str] = []

    def chance(self, percent: int) -> bool:
        return self.rng.randint(1, 100) <= percent

    def take(self, *key: object) -> bool:
        """Whether nothing was said of this yet."""
        if key in self.touched:
            return False
        self.touched.add(key)
        return True

    # Entities

    def existing(self) -> tuple[int, str]:
        """A label and a term for its entity: its id where both sides have it, else a lookup ref."""
        label = self.rng.choice(list(self.labelled))
        same = self.labelled[label] == label
        return label, str(label) if same and self.chance(50) else f"[:g/label {label}]"

    def tempid(self) -> str:
        number = len(self.tempids) + 1
        name = self.rng.choice((f'"t{number}"', f"-{number}"))
        self.tempids.append(name)
        return name

    def target(self) -> str:
        """A term for the place of a reference; a tempid only when something is said of it."""
        return self.rng.choice(self.tempids) if self.tempids and self.chance(40) else self.existing()[1]

    # Values

    def value(self, a: str) -> str:
        kind, _ = ATTRIBUTES[a]
        return self.target() if kind == "e" else self.rng.choice(VALUES[kind])

    def said(self, entity: object, most: int = 3) -> Iterable[tuple[str, list[str]]]:
        """Attributes and values to assert of an entity."""
        for a in self.rng.sample(list(ATTRIBUTES), self.rng.randint(0, most)):
            _, many = ATTRIBUTES[a]
            values = {self.value(a) for _ in range(self.rng.randint(1, 2) if many else 1)}
            # References are written in several ways: one mention is enough.
            if self.take(entity, a):
                yield a, sorted(values)

    def unique(self, label: int) -> str:
        a, v = self.rng.choice((":g/u", ":g/v")), self.rng.choice(('"p"', '"q"', '"r"'))
        if a == ":g/u" and v in self.owner and label not in self.labelled:
            # This would give the owner another label, by which DataScript then finds it in the forms that follow.
            return ""
        if self.chance(15) and self.take(a) and self.take(label, a):
            return f" {a} {v}"
        return ""

    # Forms

    def adds(self) -> list[str]:
        label, term = self.existing()
        return [f"[:db/add {term} {a} {v}]" for a, values in self.said(label) for v in values]

    def retraction(self) -> list[str]:
        label, term = self.existing()
        a = self.rng.choice(list(ATTRIBUTES))
        if not self.take(label, a):
            return []
        # DataScript retracts the components too where no value is given.
        if self.chance(40) and a not in COMPONENTS:
            return [f"[:db/retract {term} {a}]"]
        kind, _ = ATTRIBUTES[a]
        v = self.existing()[1] if kind == "e" else self.rng.choice(VALUES[kind])
        return [f"[:db/retract {term} {a} {v}]"]

    def swap(self) -> list[str]:
        """A compare-and-swap, mostly of what is there."""
        label, term = self.existing()
        if not self.take(label, ":g/n"):
            return []
        old = self.held.get(self.labelled[label], "nil")
        if self.chance(5):
            old = self.rng.choice(("nil", *VALUES["n"]))
        return [f"[:db/cas {term} :g/n {old} {self.rng.choice(VALUES['n'])}]"]

    def new(self, depth: int = 1, under: str = "") -> str:
        """A map that makes an entity, or finds it by its label."""
        if self.chance(75):
            self.fresh += 1
            label = self.fresh
        else:
            label = self.existing()[0]
        inside = [f":db/id {self.tempid()}"] if self.chance(50) else []
        return f"{{{' '.join([*inside, f':g/label {label}', *self.entries(label, depth, under)])}}}"

    def entries(self, label: int, depth: int, under: str = "") -> list[str]:
        entries = []
        for a, values in self.said(label):
            _, many = ATTRIBUTES[a]
            several = many and (len(values) > 1 or values[0].startswith("[") or self.chance(50))
            entries.append(f"{a} [{' '.join(values)}]" if several else f"{a} {values[0]}")
        entries.append(self.unique(label))
        if depth and self.chance(30):
            a = self.rng.choice((":g/part", ":g/parts", ":g/to", ":g/r"))
            if self.take(label, a):
                _, many = ATTRIBUTES[a]
                nested = [self.new(depth - 1, a) for _ in range(self.rng.randint(1, 2) if many else 1)]
                entries.append(f"{a} [{' '.join(nested)}]" if many else f"{a} {nested[0]}")
        # DataScript loses the reverse key of a map nested under that attribute.
        if self.chance(15) and under != ":g/to":
            # What is referred from says nothing else of that attribute.
            source, term = self.existing()
            if self.take(source, ":g/to"):
                entries.append(f":g/_to [{term}]")
        return [each for each in entries if each]

    def changed(self) -> list[str]:
        """A map that describes an entity that is there."""
        label, term = self.existing()
        entries = self.entries(label, 1)
        return [f"{{:db/id {term} {' '.join(entries)}}}"] if entries else []

    def text(self) -> str:
        if len(self.labelled) < 3:
            return f"[{' '.join(f'{{:g/label {self.fresh + more}}}' for more in range(3))}]"
        if self.chance(15):
            gone = [self.existing()[1] for _ in range(self.rng.randint(1, 2))]
            return f"[{' '.join(f'[:db/retractEntity {term}]' for term in gone)}]"
        kinds: list[Callable[[], list[str]]] = [
            self.adds,
            self.adds,
            self.retraction,
            self.swap,
            lambda: [self.new()],
            lambda: [self.new()],
            self.changed,
        ]
        forms = [form for _ in range(self.rng.randint(1, 5)) for form in self.rng.choice(kinds)()]
        return f"[{' '.join(self.rng.sample(forms, len(forms)))}]"
