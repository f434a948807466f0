"""Minimal infeasible sets: buffers that cannot live together, from which none can be left out.

The set is found by a deletion filter (Chinneck, "Feasibility and Infeasibility in Optimization", 2008): each buffer in
turn is left out for good if the rest still does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from et_ir.planning.buffer import Buffer
from et_ir.planning.exact import BUDGET, plan_exact
from et_ir.planning.lower_bounds import granule_of, section_bound
from et_ir.planning.sections import sections

__all__ = ["Conflict", "conflict_of"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Buffers, by index, that do not fit into a capacity together."""

    members: tuple[int, ...]
    irreducible: bool
    """Whether they fit, for certain, when any one of them is left out."""


def conflict_of(buffers: Sequence[Buffer], capacity: int, *, budget: int = BUDGET) -> Conflict | None:
    """Buffers that cannot live together in `capacity` bytes; `None` if `budget` nodes of search do not prove that there
    are any.

    Where those that are needed at one time are too many, they are the largest of the first such time: O(n log n).
    Else each buffer costs a search.
    """
    granule = granule_of(buffers)
    members = list(range(len(buffers)))
    for live in sections(buffers):
        if section_bound([buffers[i] for i in live], granule) > capacity:
            members = sorted(live)
            break
    else:
        if plan_exact(buffers, budget=budget, goal=capacity).bound <= capacity:
            return None
    irreducible = True
    for index in sorted(members, key=lambda i: (buffers[i].size, -i)):
        rest = [other for other in members if other != index]
        plan = plan_exact([buffers[i] for i in rest], budget=budget, goal=capacity)
        if plan.bound > capacity:
            members = rest
        elif plan.size > capacity:
            irreducible = False
    return Conflict(tuple(members), irreducible)
