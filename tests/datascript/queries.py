"""Whole random queries: inputs of every shape, clauses, find specs and aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.datascript.generated import LITERALS, NAMES, Asked, Writer

ANY = ("count", "count-distinct", "distinct")
# `median`, `avg`, `variance` and `stddev` are doubles on both sides, compared when rounded.
NUMERIC = ("sum", "avg", "median", "variance", "stddev")
ORDERED = ("min", "max", "min 2", "max 2")


def query(rng: Random) -> Asked:
    names = tuple(rng.sample(NAMES, rng.randint(2, 4)))
    writer = Writer(rng, relation=rng.random() < 0.15)
    bindings, arguments = inputs(writer, names) if rng.random() < 0.4 else ([], [])
    clauses = writer.several(names, 2, most=4)
    if not writer.bound:
        clauses.append(writer.pattern(names, must=names[0]))
    return asked(writer, bindings, arguments, clauses)


def asked(
    writer: Writer,
    bindings: Sequence[str],
    arguments: Sequence[str],
    clauses: Sequence[str],
    rules: tuple[str, str] = ("", ""),
    at_least: bool = False,
) -> Asked:
    """The query around these clauses, for both sides."""
    rng = writer.rng
    sources = ["$"]
    arguments = list(arguments)
    if writer.relation:
        sources.append("$rel")
        rows = [f"[{rng.choice(LITERALS['e'])} {rng.choice(LITERALS['n'])}]" for _ in range(rng.randint(1, 5))]
        arguments.insert(0, f"[{' '.join(rows)}]")
    found = rng.sample(list(writer.bound), min(len(writer.bound), rng.randint(1, 3)))
    rest = [name for name in writer.bound if name not in found]
    with_ = f":with {rng.choice(rest)} " if rest and rng.random() < 0.2 else ""
    finds = found if at_least else find_elements(writer, found)
    ours = theirs = " ".join(finds)
    one_of = False
    roll = rng.random()
    if len(finds) == 1 and roll < 0.15:
        ours = theirs = f"[{finds[0]} ...]"
    elif roll < 0.25 and not at_least:
        one_of = True
        ours = f"{finds[0]} ." if len(finds) == 1 else f"[{ours}]"
    shuffled = " ".join(rng.sample(list(clauses), len(clauses)))
    middle = f"{with_}:in {' '.join([*sources, *bindings])}"
    mine, other = rules
    if mine and rng.random() < 0.3:
        ours = f"[:find {ours} {middle} :rules {mine} :where {shuffled}]"
        mine = ""
    else:
        ours = f"[:find {ours} {middle}{' %' if mine else ''} :where {shuffled}]"
    theirs = f"[:find {theirs} {middle}{' %' if other else ''} :where {' '.join(clauses)}]"
    return Asked(ours, theirs, tuple(arguments), mine, other, one_of, at_least)


def find_elements(writer: Writer, found: Sequence[str]) -> list[str]:
    """Plain variables, and a third of the time an aggregate among them or two."""
    elements = list(found)
    for at, name in enumerate(found):
        if not writer.chance(25):
            continue
        kind = writer.bound[name]
        apt = [*ANY]
        # Not of entities: those of the schema have other ids there.
        if kind == "n":
            apt += NUMERIC
        if kind in "neisk":
            apt += ORDERED
        elements[at] = f"({writer.one(*apt)} {name})"
    return elements


def inputs(writer: Writer, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Bindings and their arguments, of every shape; each variable once."""
    free = list(names)
    bindings, arguments = [], []
    for _ in range(writer.rng.randint(1, 2)):
        shape = writer.one("scalar", "collection", "tuple", "relation")
        width = 2 if shape in ("tuple", "relation") else 1
        if len(free) < width:
            break
        mine = [free.pop() for _ in range(width)]
        kinds = [writer.one("e", "e", "n", "n", "s", "k", "b") for _ in mine]
        rows = [
            [writer.one(*LITERALS[kind]) for kind in kinds]
            for _ in range(1 if shape in ("scalar", "tuple") else writer.rng.choice((0, 1, 3, 5)))
        ]
        for name, kind in zip(mine, kinds, strict=True):
            writer.bind(name, kind)
        if width == 2 and writer.chance(15):
            del writer.bound[mine[1]]
            mine[1] = "_"
        match shape:
            case "scalar":
                bindings.append(mine[0])
                arguments.append(rows[0][0])
            case "collection":
                bindings.append(f"[{mine[0]} ...]")
                arguments.append(f"[{' '.join(row[0] for row in rows)}]")
            case "tuple":
                bindings.append(f"[{' '.join(mine)}]")
                arguments.append(f"[{' '.join(rows[0])}]")
            case "relation":
                bindings.append(f"[[{' '.join(mine)}]]")
                arguments.append(f"[{' '.join('[' + ' '.join(row) + ']' for row in rows)}]")
    return bindings, arguments
