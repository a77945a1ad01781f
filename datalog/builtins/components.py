"""Strongly connected components, without recursion (Tarjan 1972)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def strongly_connected(nodes: Iterable[Node], onward: Callable[[Node], Iterable[Node]]) -> list[list[Node]]:
    """The components, each after all those it leads to."""
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    open_nodes: list[Node] = []
    is_open: set[Node] = set()
    components: list[list[Node]] = []
    for root in nodes:
        if root in index:
            continue
        path: list[tuple[Node, Iterator[Node]]] = []
        entering: Node | None = root
        while entering is not None or path:
            if entering is not None:
                index[entering] = low[entering] = len(index)
                open_nodes.append(entering)
                is_open.add(entering)
                path.append((entering, iter(onward(entering))))
                entering = None
            node, rest = path[-1]
            for successor in rest:
                if successor not in index:
                    entering = successor
                    break
                if successor in is_open:
                    low[node] = min(low[node], index[successor])
            if entering is not None:
                continue
            path.pop()
            if path:
                low[path[-1][0]] = min(low[path[-1][0]], low[node])
            if low[node] == index[node]:
                place = _place(open_nodes, node)
                components.append(open_nodes[place:])
                del open_nodes[place:]
                is_open.difference_update(components[-1])
    return components


def _place(open_nodes: list[Node], node: Node) -> int:
    place = len(open_nodes) - 1
    while open_nodes[place] != node:
        place -= 1
    return place
