"""Static memory planning as plain algorithms over buffers: nothing here knows of an IR.

A planner takes buffers with sizes and lifetimes and returns where each lies in one arena. `layout_problems`
checks what any planner returns.
"""

from collections.abc import Callable, Sequence
from typing import Final

from et_ir.planning.buffer import Buffer, Layout, align_up, lower_bound
from et_ir.planning.check import conflicts, layout_problems
from et_ir.planning.greedy import plan_greedy
from et_ir.planning.naive import plan_naive

__all__ = [
    "PLANNERS",
    "Buffer",
    "Layout",
    "Planner",
    "align_up",
    "conflicts",
    "layout_problems",
    "lower_bound",
    "plan_greedy",
    "plan_naive",
]

Planner = Callable[[Sequence[Buffer]], Layout]

PLANNERS: Final[dict[str, Planner]] = {"greedy": plan_greedy, "naive": plan_naive}
"""Planners by the name that options give."""
