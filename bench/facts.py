"""What the benchmarks of recursion and of LSQB read: tables of numbers, from fixed seeds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, TypeAlias

import numpy as np

from bench.graphs import Ids
from bench.work import graph, is_graph

# By column.
Table: TypeAlias = Mapping[str, Ids]

_SEED: Final = 7
_KINDS: Final = ("family-", "pointers-", "weighted-", "network-")


def is_facts(data: str) -> bool:
    return is_graph(data) or data.startswith(_KINDS)


@cache
def tables(data: str) -> Mapping[str, Table]:
    """The tables that are named: a graph's `edge`, or `family-3000`, `pointers-100000`, `weighted-14`,
    `network-1700`.

    Rows are distinct. All but `weighted` (a, b, w) have the columns a and b.
    """
    if is_graph(data):
        edges = graph(data)
        return {"edge": {"a": edges.source, "b": edges.target}}
    kind, number = data.split("-")
    if kind == "family":
        return {"parent": _family(int(number))}
    if kind == "pointers":
        return _pointers(int(number))
    if kind == "network":
        return _network(int(number))
    return {"weighted": _weighted(int(number))}


def _family(people: int) -> Table:
    """Thirteen generations; everybody after the first has two parents in the one before."""
    generation = people // 13
    random = np.random.default_rng(_SEED)
    children = np.repeat(np.arange(generation, 13 * generation), 2)
    before = children // generation - 1
    return _distinct(children, before * generation + random.integers(0, generation, len(children)))


def _pointers(statements: int) -> Mapping[str, Table]:
    """A program's statements: `alloc` v = &o, `assign` v = w, `load` v = *w, `store` *v = w.

    Functions have 40 variables and as many objects each. An assignment in twenty goes from one function to another.
    So many variables to a statement that what each may point to neither stays small nor becomes everything.
    """
    random = np.random.default_rng(_SEED)
    variables = round(statements * 0.6)
    shares = {"alloc": 0.25, "assign": 0.45, "load": 0.15, "store": 0.15}
    found = {}
    for name, share in shares.items():
        count = round(statements * share)
        left = random.integers(0, variables, count)
        near = left // 40 * 40 + random.integers(0, 40, count)
        far = random.random(count) < 0.05
        right = np.where(far, random.integers(0, variables, count), near) if name == "assign" else near
        # Objects are numbered after the variables, forty to a function as well.
        found[name] = _distinct(left, right + variables if name == "alloc" else right)
    return found


def _network(people: int) -> Mapping[str, Table]:
    """A social network of the shape of LDBC's: people in cities of countries, who know each other both ways, forums
    with their members and posts, comments on posts and comments, likes, and topics of messages and interests.

    Some 350 edges a person. Who is known or active is skewed: number i of n has weight 1 / (i + n / 50).
    `reply_post` and `comment_tag` are the rows of `reply` to a post, and of `tag` of a comment.
    """
    random = np.random.default_rng(_SEED)
    sizes = {
        "person": people,
        "city": people * 3 // 4,
        "country": 111,
        "forum": people * 8,
        "post": people * 30,
        "comment": people * 36,
        "tag": 16_080 * people // 1700,
        "class": 71,
    }
    starts = dict(zip(sizes, np.cumsum([1, *sizes.values()])[:-1].tolist(), strict=True))

    def all_of(kind: str) -> Ids:
        return starts[kind] + np.arange(sizes[kind])

    def some(kind: str, count: int) -> Ids:
        """So many of a kind, the same ones often."""
        n = sizes[kind]
        weights = 1 / (np.arange(n) + n / 50 + 1)
        # Neighbours in number have nothing else in common.
        return starts[kind] + random.permutation(n)[random.choice(n, count, p=weights / weights.sum())]

    def each(kind: str, mean: float) -> Ids:
        """Each of a kind as often as a geometric distribution of that mean says, which may be never."""
        return np.repeat(all_of(kind), random.geometric(1 / (mean + 1), sizes[kind]) - 1)

    located = some("city", people)
    # Half of all acquaintances are neighbours in a city's order, as those of one country know each other.
    order = all_of("person")[np.argsort(located, kind="stable")]
    left = random.integers(0, people, people * 8)
    near = order[(left + random.geometric(0.1, len(left))) % people]
    other = np.where(random.random(len(left)) < 0.5, near, some("person", len(left)))
    proper = order[left] != other
    one, other = order[left][proper], other[proper]
    container, posts = some("forum", sizes["post"]), all_of("post")
    comments, first = all_of("comment"), starts["comment"]
    to_post = random.random(len(comments)) < 0.5
    to_post[0] = True
    earlier = first + (random.random(len(comments)) * (comments - first)).astype(np.int64)
    reply = np.where(to_post, some("post", len(comments)), earlier)
    post_topics, comment_topics = each("post", 0.8), each("comment", 1.2)
    post_tag = _distinct(post_topics, some("tag", len(post_topics)))
    comment_tag = _distinct(comment_topics, some("tag", len(comment_topics)))
    members, likes = each("forum", 8.8), people * 36
    messages = np.where(random.random(likes) < 0.5, some("post", likes), some("comment", likes))
    interests = each("person", 22)
    return {
        "knows": _distinct(np.concatenate([one, other]), np.concatenate([other, one])),
        "located": _distinct(all_of("person"), located),
        "part": _distinct(all_of("city"), some("country", sizes["city"])),
        "member": _distinct(members, some("person", len(members))),
        "container": _distinct(container, posts),
        "creator": _distinct(np.concatenate([posts, comments]), some("person", len(posts) + len(comments))),
        "reply": _distinct(comments, reply),
        "reply_post": _distinct(comments[to_post], reply[to_post]),
        "tag": _distinct(
            np.concatenate([post_tag["a"], comment_tag["a"]]), np.concatenate([post_tag["b"], comment_tag["b"]])
        ),
        "comment_tag": comment_tag,
        "type": _distinct(all_of("tag"), some("class", sizes["tag"])),
        "likes": _distinct(some("person", likes), messages),
        "interest": _distinct(interests, some("tag", len(interests))),
    }


def _weighted(scale: int) -> Table:
    """The edges of the R-MAT graph of that scale, each with a length of 1 to 100."""
    edges = graph(f"rmat{scale}")
    return {
        "a": edges.source,
        "b": edges.target,
        "w": np.random.default_rng(_SEED).integers(1, 101, len(edges)),
    }


def _distinct(a: Ids, b: Ids) -> Table:
    pairs = np.unique(np.stack([a, b], axis=1), axis=0)
    return {"a": np.ascontiguousarray(pairs[:, 0]), "b": np.ascontiguousarray(pairs[:, 1])}
