"""Layered drawing of graphs (Sugiyama, Tagawa, Toda 1981): layers by longest paths, orders by barycenters.

Edges that go backwards in the order of the nodes are left out of the layering, which makes it acyclic. Layers fill
columns from top to bottom, as text does, so that a long chain is not a thin line; a wide layer takes several rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt
from typing import Final, NamedTuple

__all__ = ["ASPECT", "Box", "Drawing", "draw"]

GAP: Final = 14
"""Between the boxes of a layer."""
LAYER_GAP: Final = 26
"""Between layers."""
COLUMN_GAP: Final = 60
"""Between columns."""
SWEEPS: Final = 4
"""Sweeps that order the layers, alternately downwards and upwards."""
ASPECT: Final = 1.6
"""Width by height that the drawing is to have."""


class Box(NamedTuple):
    """A rectangle; `x` and `y` are its corner at the top left."""

    x: float
    y: float
    width: float
    height: float


class Drawing(NamedTuple):
    """Boxes in the order of the nodes, and the size of the whole."""

    boxes: list[Box]
    width: float
    height: float


def draw(sizes: Sequence[tuple[float, float]], edges: Iterable[tuple[int, int]]) -> Drawing:
    """The drawing of nodes with these widths and heights. Time is that of sorting, O((n + e) log n)."""
    forward = sorted({(source, target) for source, target in edges if source < target})
    below: list[list[int]] = [[] for _ in sizes]
    above: list[list[int]] = [[] for _ in sizes]
    for source, target in forward:
        below[source].append(target)
        above[target].append(source)
    layers = _rows(_ordered(_layers(above), above, below), sizes)
    extents = [
        (
            sum(sizes[node][0] for node in layer) + GAP * (len(layer) - 1),
            max(sizes[node][1] for node in layer),
        )
        for layer in layers
    ]
    boxes: list[Box] = [Box(0, 0, 0, 0)] * len(sizes)
    left = bottom = 0.0
    for column in _columns(extents):
        width = max(extents[at][0] for at in column)
        top = 0.0
        for at in column:
            x = left + (width - extents[at][0]) / 2
            for node in layers[at]:
                boxes[node] = Box(x, top + (extents[at][1] - sizes[node][1]) / 2, *sizes[node])
                x += sizes[node][0] + GAP
            top += extents[at][1] + LAYER_GAP
        bottom = max(bottom, top - LAYER_GAP)
        left += width + COLUMN_GAP
    return Drawing(boxes, max(left - COLUMN_GAP, 0.0), bottom)


def _rows(layers: Sequence[Sequence[int]], sizes: Sequence[tuple[float, float]]) -> list[list[int]]:
    """Layers cut where they are wider than the drawing is to be."""
    area = sum((width + GAP) * (height + LAYER_GAP) for width, height in sizes)
    limit = 1.2 * sqrt(area * ASPECT)
    rows: list[list[int]] = []
    for layer in layers:
        row: list[int] = []
        filled = 0.0
        for node in layer:
            if row and filled + sizes[node][0] > limit:
                rows.append(row)
                row, filled = [], 0.0
            row.append(node)
            filled += sizes[node][0] + GAP
        rows.append(row)
    return rows


def _layers(above: Sequence[Sequence[int]]) -> list[list[int]]:
    """Nodes by the length of the longest path that leads to them; predecessors have smaller numbers."""
    depth: list[int] = []
    for before in above:
        depth.append(1 + max((depth[node] for node in before), default=-1))
    layers: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for node, layer in enumerate(depth):
        layers[layer].append(node)
    return layers


def _ordered(
    layers: list[list[int]], above: Sequence[Sequence[int]], below: Sequence[Sequence[int]]
) -> list[list[int]]:
    place = [0.0] * len(above)
    for layer in layers:
        _number(layer, place)
    for sweep in range(SWEEPS):
        near, order = (above, layers) if sweep % 2 == 0 else (below, layers[::-1])
        for layer in order:
            if len(layer) == 1:
                continue
            center = {
                node: sum(place[other] for other in near[node]) / len(near[node])
                if near[node]
                else place[node]
                for node in layer
            }
            layer.sort(key=lambda node: (center[node], node))
            _number(layer, place)
    return layers


def _number(layer: Sequence[int], place: list[float]) -> None:
    """Places are shares of the layer, which makes those of layers of different lengths comparable."""
    for at, node in enumerate(layer):
        place[node] = (at + 0.5) / len(layer)


def _columns(extents: Sequence[tuple[float, float]]) -> list[range]:
    """Runs of layers whose columns together have about the aspect that is wanted."""
    if not extents:
        return []
    total = sum(height + LAYER_GAP for _, height in extents)
    mean = sum((width + COLUMN_GAP) * (height + LAYER_GAP) for width, height in extents) / total
    tallest = max(height for _, height in extents)
    limit = max(sqrt(total * mean / ASPECT), tallest)
    if total <= 1.5 * limit:
        return [range(len(extents))]
    columns: list[range] = []
    start, filled = 0, 0.0
    for at, (_, height) in enumerate(extents):
        if at > start and filled + height > limit:
            columns.append(range(start, at))
            start, filled = at, 0.0
        filled += height + LAYER_GAP
    return [*columns, range(start, len(extents))]
