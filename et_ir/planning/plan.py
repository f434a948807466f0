"""A plan: a layout and what is known of how good it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from et_ir.planning.buffer import Buffer, Layout
from et_ir.planning.lower_bounds import lower_bound

__all__ = ["Plan", "plan_of"]


@dataclass(frozen=True, slots=True)
class Plan:
    """A layout with its certificate."""

    layout: Layout
    """The places of the buffers."""
    bound: int
    """Bytes: no layout of these buffers is smaller."""
    nodes: int = 0
    """Partial layouts that a search has looked at."""

    @property
    def size(self) -> int:
        """The arena's bytes."""
        return self.layout.size

    @property
    def gap(self) -> int:
        """By how many bytes the arena may be larger than it has to be."""
        return self.layout.size - self.bound

    @property
    def optimal(self) -> bool:
        """Whether there is no smaller layout, for certain."""
        return self.gap == 0


def plan_of(buffers: Sequence[Buffer], layout: Layout) -> Plan:
    """A layout of any planner with the bound that costs little: the peak of what is needed at once."""
    return Plan(layout, min(lower_bound(buffers), layout.size))
