"""Nested drawing of a graph by a hierarchy of modules: each module is a box around its parts."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Final

from et_tools.report.layered import ASPECT, Box, draw

__all__ = ["nested_drawing"]

LINE: Final = 26
"""The height of a node, and of the title of a module at least."""
FAR: Final = 0.028
"""The least height of what is read when the whole is in view, as a share of its height: titles of modules around
others, inputs and outputs.
"""
TITLE: Final = 0.1
"""The height of a title at most, as a share of what is in the module, unless that is less than a line."""
PADDING: Final = 12
CHARACTER: Final = 8
NARROWEST: Final = 56
WIDEST: Final = 230


@dataclass(slots=True)
class _Module:
    """A module: its path, and its parts, which are modules or the numbers of nodes."""

    path: tuple[str, ...]
    parts: list[_Module | int] = field(default_factory=list)
    size: tuple[float, float] = (0.0, 0.0)
    title: float = 0.0
    """The height of the title."""
    boxes: list[Box] = field(default_factory=list)


def nested_drawing(
    labels: Sequence[str],
    paths: Sequence[str],
    edges: Sequence[tuple[int, int]],
    ends: Set[int] = frozenset(),
) -> dict[str, Any]:
    """`nodes`, a list `[x, y, width, height, module]` for each label; `modules`, for each of them
    `[x, y, width, height, parent, path, title]`, parents first, where -1 is the whole, and `title` is the height of the
    strip at the top that has only the title; `width` and `height`.

    `paths` are module paths with dots. A part is placed by its first node, and stands where this does in the order.
    `ends` are inputs and outputs, which are to be read from afar.
    """
    tree = _Module(())
    known: dict[tuple[str, ...], _Module] = {(): tree}
    home: list[tuple[str, ...]] = []
    for node, path in enumerate(paths):
        names = tuple(filter(None, path.split(".")))
        parent = tree
        for depth in range(1, len(names) + 1):
            module = known.get(names[:depth])
            if module is None:
                module = known[names[:depth]] = _Module(names[:depth])
                parent.parts.append(module)
            parent = module
        parent.parts.append(node)
        home.append(names)
    inner = _inner_edges(home, edges)
    # How large the whole is, which is known once it is drawn, says how large a line is that can be read from afar.
    far = 0.0
    for _ in range(2):
        lines = [max(LINE, far) if at in ends else LINE for at in range(len(labels))]
        sizes = [
            (min(max(CHARACTER * len(label) + 18, NARROWEST), WIDEST) * line / LINE, line)
            for label, line in zip(labels, lines, strict=True)
        ]
        # Modules are found parents first; sizes are known parts first.
        for module in reversed(known.values()):
            _place(module, sizes, inner.get(module.path, []), far)
        far = FAR * max(tree.size[1], tree.size[0] / ASPECT)
    nodes: list[list[int]] = [[] for _ in labels]
    modules: list[list[Any]] = []
    _collect(tree, 0.0, 0.0, -1, nodes, modules)
    return {"nodes": nodes, "modules": modules, "width": round(tree.size[0]), "height": round(tree.size[1])}


_Part = tuple[str, ...] | int


def _inner_edges(
    home: Sequence[tuple[str, ...]], edges: Sequence[tuple[int, int]]
) -> dict[tuple[str, ...], list[tuple[_Part, _Part]]]:
    """The edges between parts of the innermost module that has both ends."""
    found: dict[tuple[str, ...], list[tuple[_Part, _Part]]] = {}
    for source, target in edges:
        first, second = home[source], home[target]
        common = 0
        while common < min(len(first), len(second)) and first[common] == second[common]:
            common += 1
        start: _Part = source if common == len(first) else first[: common + 1]
        end: _Part = target if common == len(second) else second[: common + 1]
        found.setdefault(first[:common], []).append((start, end))
    return found


def _place(
    module: _Module, sizes: Sequence[tuple[float, float]], edges: list[tuple[_Part, _Part]], far: float
) -> None:
    number: dict[_Part, int] = {
        part.path if isinstance(part, _Module) else part: at for at, part in enumerate(module.parts)
    }
    drawn = draw(
        [part.size if isinstance(part, _Module) else sizes[part] for part in module.parts],
        [(number[source], number[target]) for source, target in edges],
    )
    outer = any(isinstance(part, _Module) for part in module.parts)
    top = module.title = (
        0.0 if not module.path else max(LINE, min(TITLE * drawn.height, far) if outer else 0.0)
    )
    module.boxes = [Box(box.x + PADDING, box.y + PADDING + top, box.width, box.height) for box in drawn.boxes]
    name = CHARACTER * len(module.path[-1]) + 2 * PADDING if module.path else 0
    module.size = (max(drawn.width + 2 * PADDING, name), drawn.height + 2 * PADDING + top)


def _collect(
    tree: _Module, x: float, y: float, parent: int, nodes: list[list[int]], modules: list[list[Any]]
) -> None:
    """Absolute coordinates of all parts; with a stack, since paths of damaged maps may be deeper than Python's."""
    waiting = [(tree, x, y, parent)]
    while waiting:
        module, left, top, owner = waiting.pop()
        for part, box in zip(module.parts, module.boxes, strict=True):
            place = [round(left + box.x), round(top + box.y), round(box.width), round(box.height), owner]
            if isinstance(part, _Module):
                modules.append([*place, ".".join(part.path), round(part.title)])
                waiting.append((part, left + box.x, top + box.y, len(modules) - 1))
            else:
                nodes[part] = place
