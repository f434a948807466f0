"""Acyclic contraction of directed graphs.

Two nodes can become one if no path leads from one to the other through a third. Whether there is one is searched for in
a topological order of the graph, and only between the places of the two: everything on such a path stands there. The
order is kept while nodes merge by moving what the search has met (Pearce and Kelly, "A dynamic topological sort
algorithm for directed acyclic graphs", 2006; merging b into a is inserting an edge from b to a beside the one from a to
b). A search that meets too many edges gives up, and the nodes stay apart, which is always sound: so each merge costs
no more than a constant, whatever the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

__all__ = ["ContractionGraph"]

EFFORT: Final = 5_000
"""Edges that a search looks at before it gives up."""


class ContractionGraph:
    """Nodes are numbers; `predecessors` has for each node the nodes before it, all of smaller numbers."""

    def __init__(self, predecessors: Sequence[Iterable[int]], effort: int = EFFORT):
        self._effort = effort
        self.before: list[set[int]] = [set(nodes) for nodes in predecessors]
        self.after: list[set[int]] = [set() for _ in self.before]
        for node, nodes in enumerate(self.before):
            for other in nodes:
                if not other < node:
                    raise ValueError(f"node {node} comes before {other}, which it follows")
                self.after[other].add(node)
        self.rank = list(range(len(self.before)))
        """The place of each node in a topological order."""
        self._merged_into = list(range(len(self.before)))

    def find(self, node: int) -> int:
        """The node that a node has become."""
        parent = self._merged_into
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    def nodes(self) -> list[int]:
        """The nodes there are now, in topological order."""
        here = [node for node, parent in enumerate(self._merged_into) if node == parent]
        return sorted(here, key=self.rank.__getitem__)

    def contract(self, a: int, b: int) -> int | None:
        """Merge two nodes; returns what they have become, None where that would close a circle, or where finding out
        costs too much.
        """
        a, b = self.find(a), self.find(b)
        if a == b:
            return a
        if self.rank[a] > self.rank[b]:
            a, b = b, a
        behind = self._search(a, b, self.after, lambda node: self.rank[node] < self.rank[b])
        if behind is None or any(b in self.after[node] for node in behind):
            return None
        ahead = self._search(b, a, self.before, lambda node: self.rank[node] > self.rank[a])
        if ahead is None:
            return None
        self._reorder(a, b, ahead, behind)
        return self._merge(a, b)

    def is_convex(self, members: Iterable[int]) -> bool:
        """Whether no path leaves a set of nodes and comes back; False also where finding out costs too much."""
        inside = {self.find(member) for member in members}
        last = max(self.rank[node] for node in inside)
        seen: set[int] = set()
        stack = list(inside)
        edges = 0
        while stack:
            node = stack.pop()
            for other in self.after[node]:
                edges += 1
                if other in inside:
                    if node not in inside:
                        return False
                elif other not in seen and self.rank[other] < last:
                    seen.add(other)
                    stack.append(other)
            if edges > self._effort:
                return False
        return True

    def _search(
        self, start: int, end: int, edges: list[set[int]], between: Callable[[int], bool]
    ) -> set[int] | None:
        """Ops reachable from `start` in one direction, without `end`; None if there are too many."""
        seen: set[int] = set()
        stack = [start]
        count = 0
        while stack:
            for other in edges[stack.pop()]:
                count += 1
                if other != end and other not in seen and between(other):
                    seen.add(other)
                    stack.append(other)
            if count > self._effort:
                return None
        return seen

    def _reorder(self, a: int, b: int, ahead: set[int], behind: set[int]) -> None:
        """Put what b needs before a, and what needs a after b."""
        rank = self.rank
        moved = [*sorted(ahead, key=rank.__getitem__), a, b, *sorted(behind, key=rank.__getitem__)]
        for node, place in zip(moved, sorted(rank[node] for node in moved), strict=True):
            rank[node] = place

    def _merge(self, a: int, b: int) -> int:
        """Make one node of two neighbors in the order; the one with more edges keeps its number."""
        if len(self.after[a]) + len(self.before[a]) < len(self.after[b]) + len(self.before[b]):
            a, b = b, a
        for here, there in ((self.before, self.after), (self.after, self.before)):
            here[a].discard(b)
            for other in here[b]:
                there[other].discard(b)
                if other != a:
                    there[other].add(a)
                    here[a].add(other)
            here[b] = set()
        self._merged_into[b] = a
        return a
