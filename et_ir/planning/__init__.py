"""Static memory planning as plain algorithms over buffers: nothing here knows of an IR.

A planner takes buffers with sizes and lifetimes and returns where each lies in one arena. `layout_problems`
checks what any planner returns. `plan_exact` adds a certificate: what no arena can be smaller than.
"""

from collections.abc import Callable, Sequence
from typing import Final

from et_ir.planning.baselines import plan_naive, plan_upstream
from et_ir.planning.buffer import Buffer, Layout, align_up
from et_ir.planning.check import conflicts, layout_problems
from et_ir.planning.exact import plan_best, plan_exact
from et_ir.planning.greedy import plan_greedy, plan_in_order
from et_ir.planning.lower_bounds import granule_of, layout_size, lower_bound
from et_ir.planning.plan import Plan, plan_of

__all__ = [
    "PLANNERS",
    "Buffer",
    "Layout",
    "Plan",
    "Planner",
    "align_up",
    "conflicts",
    "granule_of",
    "layout_problems",
    "layout_size",
    "lower_bound",
    "plan_best",
    "plan_exact",
    "plan_greedy",
    "plan_in_order",
    "plan_naive",
    "plan_of",
    "plan_upstream",
]

Planner = Callable[[Sequence[Buffer]], Layout | Plan]
"""A planner: it returns a layout, or a layout with its certificate."""

PLANNERS: Final[dict[str, Planner]] = {
    "best": plan_best,
    "exact": plan_exact,
    "greedy": plan_greedy,
    "naive": plan_naive,
    "upstream": plan_upstream,
}
"""Planners by the name that options give."""
