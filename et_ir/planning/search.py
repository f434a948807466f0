"""Branch and bound for a layout within a given arena: it finds one or proves that there is none.

A partial layout is grown from the bottom. Every buffer that is not placed has a *floor*, the lowest offset at which it
can still lie, and every section (a set of buffers needed at once) the floor of the lowest of its buffers: below it
nothing can come any more. A partial layout is given up when in some section that floor and what is left to place there
exceed the capacity.

Any layout can be justified so that each buffer rests on another one or on the ground. So it is enough to look at the
lowest floor of all and at a section that has it: either one of the buffers with that floor comes there, or all of them
come higher, and then on top of something that is not placed yet, which gives them their next floors. Buffers of equal
size and times are interchangeable: only the first is tried. What has failed before in the same state, reached by
another order, is not tried again. Where no buffer that is left crosses a time, the sides have nothing to do with each
other: they are solved one after the other, and if one fails, no other solution of its neighbor is tried but the
choice that parted them is taken back.

After Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning" (ASPLOS 2023),
from which canonical layouts, decomposition and the section's bound are; that branches on the buffers in one order,
this on a section.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from et_ir.planning.buffer import Buffer, align_up
from et_ir.planning.sections import sections

__all__ = ["SLICE", "Found", "PlacementProblem", "Refuted", "search"]

Numbers = NDArray[np.int64]
Indices = NDArray[np.intp]

SLICE: Final = 250
"""Nodes between two times that a search hands control back."""
MEMORY: Final = 64 << 20
"""Bytes of failed states that a search remembers."""
NEVER: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Found:
    """A layout within the capacity: offsets in bytes."""

    offsets: tuple[int, ...]
    nodes: int


@dataclass(frozen=True, slots=True)
class Refuted:
    """There is no layout within the capacity, nor in any below `bound` bytes."""

    bound: int
    nodes: int


class PlacementProblem:
    """Buffers of more than no bytes, in the form that the search works on: sizes and offsets in granules, a number that
    all alignments are multiples of.
    """

    def __init__(self, buffers: Sequence[Buffer], granule: int):
        self.buffers = buffers
        self.granule = granule
        count = len(buffers)
        live = [sorted(each) for each in sections(buffers)]
        self.live: list[Indices] = [np.array(each, np.intp) for each in live]
        """The buffers of each section."""
        self.flat: Indices = np.concatenate(self.live)
        self.starts: Indices = np.cumsum([0, *map(len, live)]).astype(np.intp)
        """Start of each section's buffers in `flat`."""
        self.of: list[list[int]] = [[] for _ in buffers]
        """The sections of each buffer."""
        for section, indices in enumerate(live):
            for index in indices:
                self.of[index].append(section)
        sizes = [align_up(buffer.size, self.granule) // self.granule for buffer in buffers]
        self.sizes: Numbers = np.array(sizes, np.int64)
        units = [buffer.alignment // self.granule for buffer in buffers]
        self.units: Numbers | None = np.array(units, np.int64) if max(units) > 1 else None
        """The alignments, if there are several."""
        self.left: Numbers = np.zeros(len(live), np.int64)
        """Buffers to place in each section."""
        self.crossing: Numbers = np.zeros(len(live), np.int64)
        """Number of buffers live across each section's end."""
        alike: dict[tuple[tuple[int, ...], int, int], int] = {}
        self.kind: list[int] = []
        """Equal for interchangeable buffers."""
        self.spans: list[slice | list[int]] = []
        for index in range(count):
            of = self.of[index]
            self.spans.append(slice(of[0], of[-1] + 1) if of[-1] - of[0] + 1 == len(of) else of)
            self.left[of] += sizes[index]
            self.crossing[of[0] : of[-1]] += 1
            self.kind.append(alike.setdefault((tuple(of), sizes[index], units[index]), len(alike)))
        self._neighbours: list[Indices | None] = [None] * count

    def neighbours(self, index: int) -> Indices:
        """The buffers that are needed at the same time as one."""
        found = self._neighbours[index]
        if found is None:
            together = np.zeros(len(self.of), np.bool_)
            for section in self.of[index]:
                together[self.live[section]] = True
            together[index] = False
            found = self._neighbours[index] = np.flatnonzero(together)
        return found


@dataclass(slots=True)
class _Part:
    """Sections that have nothing to do with others any more."""

    first: int
    last: int
    parent: int
    """The place on the stack of the choice that parted it from others; -1: none."""


@dataclass(slots=True)
class _Node:
    floors: Numbers
    """Per buffer; the capacity for those that are placed."""
    left: Numbers
    crossing: Numbers
    parts: tuple[_Part, ...]
    """Stack of subproblems; the last is being solved."""
    choices: list[int]
    """Buffers to place at their floors, and `-1 - section`: none of those with the lowest floor comes there."""
    level: int
    """The lowest floor."""
    parent: int
    """The place on the stack of the choice to take back when all fail here."""
    state: tuple[int, bytes] | None
    tried: int = 0


def search(
    problem: PlacementProblem, capacity: int, order: Sequence[int], *, tightest: bool
) -> Generator[None, None, Found | Refuted]:
    """Search for a layout in `capacity` bytes, handing control back after every `SLICE` nodes.

    `order` is the rank of each buffer: of those that can come at a place, the lowest is tried first. Of the sections
    with the lowest floor the one with the least slack is tried, if `tightest`, else the first. What is
    found and how many nodes it takes depend on nothing else.
    """
    return (yield from _Search(problem, capacity // problem.granule, order, tightest=tightest).run())


class _Search:
    def __init__(self, problem: PlacementProblem, capacity: int, order: Sequence[int], *, tightest: bool):
        self.problem = problem
        self.capacity = capacity
        self.order = order
        self.tightest = tightest
        self.needed = NEVER
        """The least that any of the partial layouts that were given up needs."""
        self.failed: set[tuple[int, bytes]] = set()
        self.remembered = 0

    def run(self) -> Generator[None, None, Found | Refuted]:
        problem = self.problem
        floors: Numbers = np.zeros(len(problem.buffers), np.int64)
        offsets = [0] * len(problem.buffers)
        tallest = int(problem.sizes.max())
        if tallest > self.capacity:
            return self._refuted(tallest, 0)
        whole = _Part(0, len(problem.live), -1)
        parts = self._divide(whole, (), problem.crossing, problem.left, -1)
        root = self._node(floors, problem.left, problem.crossing, parts, -1, remember=False)
        if root is None:
            return self._refuted(self.needed, 0)
        stack = [root]
        nodes = 0
        while stack:
            node = stack[-1]
            if node.tried == len(node.choices):
                self._remember(node.state)
                del stack[node.parent + 1 :]
                continue
            nodes += 1
            if nodes % SLICE == 0:
                yield
            choice = node.choices[node.tried]
            node.tried += 1
            depth = len(stack) - 1
            if choice < 0:
                raised = self._raise(node, -1 - choice)
                if raised is None:
                    continue
                child = self._node(raised, node.left, node.crossing, node.parts, depth, remember=True)
                if child is not None:
                    stack.append(child)
                continue
            offsets[choice] = int(node.floors[choice])
            placed = self._place(node, choice)
            if placed is None:
                continue
            floors, left, crossing = placed
            part = node.parts[-1]
            parts = self._divide(part, node.parts[:-1], crossing, left, depth)
            if not parts:
                return Found(tuple(offset * problem.granule for offset in offsets), nodes)
            # The part is done: if the next one fails, what parted it from this one has to change.
            parent = parts[-1].parent if len(parts) < len(node.parts) else depth
            child = None
            if all(self._fits(floors, left, other) for other in parts[len(node.parts) - 1 : -1]):
                child = self._node(floors, left, crossing, parts, parent, remember=True)
            if child is not None:
                stack.append(child)
            elif parent < depth:
                del stack[parent + 1 :]
        return self._refuted(self.needed, nodes)

    def _refuted(self, needed: int, nodes: int) -> Refuted:
        return Refuted(needed * self.problem.granule, nodes)

    def _remember(self, state: tuple[int, bytes] | None) -> None:
        if state is not None and self.remembered < MEMORY:
            self.failed.add(state)
            self.remembered += len(state[1]) + 64

    def _section_floors(self, floors: Numbers, part: _Part) -> Numbers:
        starts = self.problem.starts
        begin, end = starts[part.first], starts[part.last]
        return np.minimum.reduceat(
            floors.take(self.problem.flat[begin:end]), starts[part.first : part.last] - begin
        )

    def _fits(self, floors: Numbers, left: Numbers, part: _Part) -> bool:
        return self._exceeds(self._section_floors(floors, part) + left[part.first : part.last]) is False

    def _exceeds(self, needs: Numbers) -> bool:
        need = int(needs.max())
        if need <= self.capacity:
            return False
        self.needed = min(self.needed, need)
        return True

    def _node(
        self,
        floors: Numbers,
        left: Numbers,
        crossing: Numbers,
        parts: tuple[_Part, ...],
        parent: int,
        *,
        remember: bool,
    ) -> _Node | None:
        """A partial layout with what can be done next; `None` if nothing can."""
        part = parts[-1]
        lowest = self._section_floors(floors, part)
        needs = lowest + left[part.first : part.last]
        if self._exceeds(needs):
            return None
        state = None
        if remember:
            starts = self.problem.starts
            flat = self.problem.flat[starts[part.first] : starts[part.last]]
            state = (part.first, floors.take(flat).tobytes())
            if state in self.failed:
                return None
        at = int(lowest.argmin())
        level = int(lowest[at])
        if self.tightest:
            at = int(np.where(lowest == level, needs, -1).argmax())
        section = part.first + at
        live = self.problem.live[section]
        choices = cast("list[int]", live[floors.take(live) == level].tolist())
        if len(choices) > 1:
            choices.sort(key=self.order.__getitem__)
            first: dict[int, int] = {}
            for choice in choices:
                first.setdefault(self.problem.kind[choice], choice)
            choices = list(first.values())
        choices.append(-1 - section)
        return _Node(floors, left, crossing, parts, choices, level, parent, state)

    def _place(self, node: _Node, index: int) -> tuple[Numbers, Numbers, Numbers] | None:
        """Put a buffer on its floor; `None` if another one does not fit above it then."""
        problem, capacity = self.problem, self.capacity
        size = int(problem.sizes[index])
        top = node.level + size
        neighbours = problem.neighbours(index)
        before = node.floors.take(neighbours)
        remaining = before < capacity
        neighbours = neighbours[remaining]
        after: Numbers | int = top
        if problem.units is not None:
            units = problem.units.take(neighbours)
            after = -(-top // units) * units
        raised = np.maximum(before[remaining], after)
        if len(raised) and self._exceeds(raised + problem.sizes.take(neighbours)):
            return None
        floors = node.floors.copy()
        floors[neighbours] = raised
        floors[index] = capacity
        left = node.left.copy()
        left[problem.spans[index]] -= size
        crossing = node.crossing.copy()
        of = problem.of[index]
        crossing[of[0] : of[-1]] -= 1
        return floors, left, crossing

    def _raise(self, node: _Node, section: int) -> Numbers | None:
        """The floors if none of the buffers with the lowest one comes there in a section; `None` if that cannot be."""
        problem, capacity = self.problem, self.capacity
        live = problem.live[section]
        at_section = node.floors.take(live)
        if node.level + int(node.left[section]) >= capacity:
            self.needed = min(self.needed, node.level + int(node.left[section]) + 1)
            return None
        raising = live[at_section == node.level]
        tops = np.where(node.floors < capacity, node.floors + problem.sizes, NEVER)
        tops[raising] = NEVER
        indices = cast("list[int]", raising.tolist())
        onto = [self._first_top(tops, index) for index in indices]
        ends = sorted(floor + int(problem.sizes[index]) for floor, index in zip(onto, indices, strict=True))
        floors = node.floors.copy()
        for index, own in zip(indices, onto, strict=True):
            size = int(problem.sizes[index])
            # Or it rests on another of those that are raised.
            others = ends[1] if own + size == ends[0] and len(ends) > 1 else ends[0]
            floor = own if len(ends) == 1 else min(own, self._aligned(others, index))
            if floor >= NEVER:
                return None
            if floor + size > capacity:
                self.needed = min(self.needed, floor + size)
                return None
            floors[index] = floor
        return floors

    def _first_top(self, tops: Numbers, index: int) -> int:
        """The lowest offset of a buffer on top of others, of those that are given."""
        neighbours = self.problem.neighbours(index)
        return self._aligned(int(tops.take(neighbours).min()), index) if len(neighbours) else NEVER

    def _aligned(self, offset: int, index: int) -> int:
        units = self.problem.units
        return offset if units is None else align_up(offset, int(units[index]))

    def _divide(
        self, part: _Part, others: tuple[_Part, ...], crossing: Numbers, left: Numbers, depth: int
    ) -> tuple[_Part, ...]:
        """The parts of a part that nothing crosses between, the longest last, behind others; without what is done."""
        inner = crossing[part.first : part.last - 1]
        if len(inner) and inner.min() > 0:
            return (*others, part)
        ends = [*(np.flatnonzero(inner == 0) + part.first + 1).tolist(), part.last]
        parts: list[_Part] = []
        first = part.first
        for end in ends:
            if left[first:end].any():
                parts.append(_Part(first, end, depth))
            first = end
        parts.sort(key=lambda each: (each.first - each.last, each.first), reverse=True)
        return (*others, *parts)
