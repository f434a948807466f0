"""Partitioning of supported ops into convex sets.

A set of ops can be one partition if it is *convex*: no path leads out of it and back, for then something outside would
need its results and give it inputs. Several partitions at once must not need each other in a circle either.

1. Patterns of several ops become one node each, if they are convex.
2. A walk in topological order gives each node a *level*: the largest of those before it, one more where the color
   changes (the backend that takes the node, or none). Nodes of one color and one level that are connected become one
   group. A path that leaves a group enters another level and never comes back, so all groups are convex, and no circle
   goes through several. This takes time linear in the graph, and finds most.
3. Levels are as early as can be, which parts what depends on little from what it is used by. So groups are merged with
   those that use them, and with those that use the same value, where the graph stays acyclic (`contraction.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from et_ir.delegation.contraction import ContractionGraph

__all__ = ["NO_COLOUR", "Grouping", "group"]

NO_COLOUR: Final = -1


@dataclass(frozen=True)
class Grouping:
    """Groups of nodes, in topological order, and the patterns that could not be kept together."""

    groups: list[list[int]]
    parted: list[int] = field(default_factory=list[int])


def group(
    before: Sequence[set[int]],
    colours: Sequence[int],
    patterns: Sequence[Sequence[int]] = (),
    siblings: Sequence[Sequence[int]] = (),
) -> Grouping:
    """Group nodes, whose predecessors have smaller numbers. Nodes without a color are in no group.

    `patterns` are nodes of one color that have to stay together; those that cannot are in `parted`, and in no
    group. `siblings` are nodes that use one value that no node computes: merging them makes fewer partitions.
    """
    graph = ContractionGraph(before)
    colour = list(colours)
    parted: list[int] = []
    for number, nodes in enumerate(patterns):
        if not _contract_pattern(graph, nodes):
            parted.append(number)
            for node in nodes:
                colour[node] = NO_COLOUR
    cluster = _levels(graph, colour)
    clusters, colour_of = _contracted(graph, cluster, colour)
    _merge_users(clusters, colour_of)
    _merge_siblings(clusters, colour_of, [[cluster[graph.find(n)] for n in nodes] for nodes in siblings])
    found: dict[int, list[int]] = {}
    for node in range(len(before)):
        if colour[node] != NO_COLOUR:
            found.setdefault(clusters.find(cluster[graph.find(node)]), []).append(node)
    return Grouping([found[one] for one in sorted(found, key=clusters.rank.__getitem__)], parted)


def _contract_pattern(graph: ContractionGraph, nodes: Sequence[int]) -> bool:
    """Make one node of a pattern's, if it is convex and none is part of another pattern's node."""
    if not graph.is_convex(nodes):
        return False
    remaining = sorted({graph.find(node) for node in nodes}, key=graph.rank.__getitem__, reverse=True)
    while len(remaining) > 1:
        one = graph.contract(remaining.pop(), remaining.pop())
        if one is None:
            return False
        remaining = sorted([*remaining, one], key=graph.rank.__getitem__, reverse=True)
    return True


def _levels(graph: ContractionGraph, colour: Sequence[int]) -> list[int]:
    """The number of each node's cluster, by topological order: connected nodes of one color and level are one."""
    level: dict[int, int] = {}
    parent: dict[int, int] = {}

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    order = graph.nodes()
    for node in order:
        parent[node] = node
        level[node] = max(
            (level[other] + (colour[other] != colour[node]) for other in graph.before[node]), default=0
        )
        if colour[node] == NO_COLOUR:
            continue
        for other in graph.before[node]:
            if colour[other] == colour[node] and level[other] == level[node]:
                parent[root(other)] = root(node)
    numbers: dict[int, int] = {}
    return _spread(len(colour), {node: numbers.setdefault(root(node), len(numbers)) for node in order}, graph)


def _spread(count: int, numbers: dict[int, int], graph: ContractionGraph) -> list[int]:
    return [numbers[graph.find(node)] for node in range(count)]


def _contracted(
    graph: ContractionGraph, cluster: list[int], colour: Sequence[int]
) -> tuple[ContractionGraph, list[int]]:
    """The graph of clusters, renumbered in a topological order in `cluster`, and their colors."""
    count = max(cluster, default=-1) + 1
    before: list[set[int]] = [set() for _ in range(count)]
    after: list[set[int]] = [set() for _ in range(count)]
    colours = [NO_COLOUR] * count
    for node in graph.nodes():
        here = cluster[node]
        colours[here] = colour[node]
        for other in graph.before[node]:
            there = cluster[other]
            if there != here:
                before[here].add(there)
                after[there].add(here)
    missing = [len(nodes) for nodes in before]
    ready = [one for one in range(count) if not missing[one]]
    place: dict[int, int] = {}
    for one in ready:  # grows
        place[one] = len(place)
        for other in after[one]:
            missing[other] -= 1
            if not missing[other]:
                ready.append(other)
    if len(place) != count:
        raise AssertionError("cyclic dependency between groups")
    for node, one in enumerate(cluster):
        cluster[node] = place[one]
    ordered: list[set[int]] = [set() for _ in range(count)]
    shades = [NO_COLOUR] * count
    for one in range(count):
        ordered[place[one]] = {place[other] for other in before[one]}
        shades[place[one]] = colours[one]
    return ContractionGraph(ordered), shades


def _merge_users(graph: ContractionGraph, colour: Sequence[int]) -> None:
    """Merge groups with groups of the same color that use them."""
    for start in graph.nodes():
        node = graph.find(start)
        if colour[node] == NO_COLOUR:
            continue
        failed: set[int] = set()
        while True:
            users = [one for one in graph.after[node] if colour[one] == colour[node] and one not in failed]
            if not users:
                break
            first = min(users, key=graph.rank.__getitem__)
            merged = graph.contract(node, first)
            if merged is None:
                failed.add(first)
            else:
                node = merged


def _merge_siblings(
    graph: ContractionGraph, colour: Sequence[int], siblings: Sequence[Sequence[int]]
) -> None:
    """Merge groups that use the same value, of a node or given, with the next in the order that does."""
    shared = [list(graph.after[node]) for node in graph.nodes()]
    for nodes in (*shared, *siblings):
        last: dict[int, int] = {}
        for node in sorted({graph.find(one) for one in nodes}, key=graph.rank.__getitem__):
            shade = colour[node]
            if shade == NO_COLOUR:
                continue
            before = last.get(shade)
            merged = None if before is None else graph.contract(before, node)
            last[shade] = graph.find(node) if merged is None else merged
