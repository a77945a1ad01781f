"""Random entities, with trees of components among them, and random pull patterns."""

from __future__ import annotations

from random import Random

from tests.datascript.transactions import ATTRIBUTES, COMPONENTS, VALUES

ENTITIES = tuple(range(1, 9))
REFS = tuple(a for a, (kind, _) in ATTRIBUTES.items() if kind == "e")
# DataScript stops a recursion, and the expansion of components, where an entity comes again that is anywhere above,
# and before it looks at the depth. So these are trees, and only the way down a tree leads to them.
TREES = (":g/part", ":g/parts")


def entities(rng: Random) -> str:
    """A transaction. An entity is part of one before it, so that parts are trees."""
    forms = [f"[:db/add {e} :g/label {e}]" for e in ENTITIES]
    whole = {part: (rng.randrange(1, part), rng.choice(TREES)) for part in ENTITIES[1:] if rng.random() < 0.7}
    single = {(parent, a): part for part, (parent, a) in whole.items() if a == ":g/part"}
    forms += [f"[:db/add {e} {a} {part}]" for (e, a), part in single.items()]
    forms += [f"[:db/add {e} {a} {part}]" for part, (e, a) in whole.items() if a == ":g/parts"]
    for e in ENTITIES:
        for a, (kind, many) in ATTRIBUTES.items():
            if a in COMPONENTS or rng.random() < 0.5:
                continue
            values = [str(each) for each in ENTITIES] if kind == "e" else list(VALUES[kind])
            forms += [f"[:db/add {e} {a} {v}]" for v in rng.sample(values, rng.randint(1, 2) if many else 1)]
    return f"[{' '.join(forms)}]"


def pattern(rng: Random, depth: int = 2, tree: bool = True, found: bool = False) -> str:
    """`tree`: what expands a tree may be in it; `found`: it shows something of every entity.

    Each attribute once: the two differ in which of several specifications wins.
    """
    # In DataScript `:db/id` alone is nothing, and what is not there is given to `:xform` too: a label always is.
    parts = [rng.choice((":g/label", "[:g/label :xform inc]"))] if found or rng.random() < 0.5 else []
    if tree and rng.random() < 0.2:
        parts.append("*")
    for a in rng.sample([a for a in ATTRIBUTES if tree or a not in TREES], rng.randint(1, 4)):
        if a in REFS and depth and rng.random() < 0.6:
            parts.append(nested(rng, a, depth, tree))
        elif a in REFS and rng.random() < 0.3:
            parts.append(reverse(a))
        else:
            parts.append(optioned(rng, a))
    return f"[{' '.join(rng.sample(parts, len(parts)))}]"


def nested(rng: Random, a: str, depth: int, tree: bool) -> str:
    if a in TREES and rng.random() < 0.4:
        return f"{{{a} {rng.choice(('...', '1', '2'))}}}"
    if a in TREES and rng.random() < 0.7:
        key = optioned(rng, a)
    else:
        key, tree = reverse(a) if a in TREES or rng.random() < 0.3 else optioned(rng, a), False
    # DataScript does not count towards a limit what the pattern shows nothing of.
    return f"{{{key} {pattern(rng, depth - 1, tree, ':limit' in key)}}}"


def reverse(a: str) -> str:
    return a.replace("/", "/_")


def optioned(rng: Random, a: str) -> str:
    """The attribute, with an option at times."""
    kind, many = ATTRIBUTES[a]
    options = [f':as "{a[3:]}!"']
    if many:
        options.append(f":limit {rng.choice(('1', '2', 'nil'))}")
    if kind != "e":
        options.append(f":default {VALUES[kind][0]}")
    chosen = rng.sample(options, rng.choice((0, 0, 1, 1, 2)) % (len(options) + 1))
    if not chosen:
        return a
    return rng.choice(("({} {})", "[{} {}]")).format(a, " ".join(chosen))
