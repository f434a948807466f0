"""Recovery of sizes known at run time only.

A file says of a tensor that its sizes are bounds, not which of them vary. That is found out by trial: a dimension of
an input varies if the plan is one of valid calls for another size too, and gives tensors whose sizes are exact the
sizes they have. Dimensions that vary only together have one symbol.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from et_ir.dialects.executorch import PlanOp, TensorRegisterOp
from et_ir.dialects.schema.tensors import Size
from et_ops.intervals import Interval
from et_ops.sizes import Expression
from et_schema.program import TensorShapeDynamism

__all__ = ["InputSizes", "find_sizes", "has_sizes_at_run_time"]

Dimension = tuple[int, int]
"""An input by its position, and a dimension of it."""

_MOST_LEAST = 8
"""The largest size that is tried as the least one; a larger one is taken to be what it was found to vary by."""
_MOST_PAIRS = 8
"""Dimensions of which all pairs are tried."""


class InputSizes:
    """The sizes of each input, and the ranges of their symbols."""

    def __init__(self, sizes: Mapping[Dimension, Size], ranges: Mapping[str, Interval]):
        self._sizes = sizes
        self.ranges = dict(ranges)

    def of(self, position: int, bounds: Sequence[int]) -> list[Size]:
        """The sizes of an input, which are its bounds where nothing else is known."""
        return [self._sizes.get((position, dim), bound) for dim, bound in enumerate(bounds)]


def has_sizes_at_run_time(plan: PlanOp) -> bool:
    """Whether any tensor of a plan has sizes that are not exact."""
    return any(
        "dynamism" in register.properties
        for register in plan.registers
        if isinstance(register, TensorRegisterOp) or register in plan.inputs
    )


def find_sizes(plan: PlanOp, is_valid: Callable[[InputSizes], bool]) -> InputSizes:
    """The sizes of the inputs of a plan as symbols; `is_valid` says whether it is valid for sizes that are numbers."""
    bounds: dict[Dimension, int] = {}
    for position, op in enumerate(plan.inputs):
        if op.value is None and op.dynamism == TensorShapeDynamism.DYNAMIC_BOUND:
            bounds |= {(position, dim): size for dim, size in enumerate(op.type.get_shape()) if size > 1}

    def fits(dimensions: Sequence[Dimension], size: int) -> bool:
        return is_valid(InputSizes(dict.fromkeys(dimensions, size), {}))

    def varies(dimensions: Sequence[Dimension]) -> bool:
        bound = bounds[dimensions[0]]
        # A size of 1 says little, as it broadcasts: one above the bound is tried then, which only a trial can have.
        return fits(dimensions, bound - 1) and (bound > 2 or fits(dimensions, bound + 1))

    groups: list[Sequence[Dimension]] = [[one] for one in bounds if varies([one])]
    alone = {one for (one,) in groups}
    rest: dict[int, list[Dimension]] = defaultdict(list)
    for one, bound in bounds.items():
        if one not in alone:
            rest[bound].append(one)
    for together in rest.values():
        groups += _together(together, varies)
    sizes: dict[Dimension, Size] = {}
    ranges: dict[str, Interval] = {}
    for number, group in enumerate(groups):
        name = f"s{number}"
        bound = bounds[group[0]]
        least = next((size for size in range(min(bound, _MOST_LEAST)) if fits(group, size)), bound - 1)
        ranges[name] = Interval(least, bound)
        sizes |= dict.fromkeys(group, Expression.of(name))
    return InputSizes(sizes, ranges)


def _together(
    dimensions: list[Dimension], varies: Callable[[Sequence[Dimension]], bool]
) -> list[Sequence[Dimension]]:
    """Groups of dimensions of one bound that vary together: all of them, or pairs."""
    if len(dimensions) < 2:
        return []
    if varies(dimensions):
        return [dimensions]
    found: list[Sequence[Dimension]] = []
    taken: set[Dimension] = set()
    for pair in combinations(dimensions[:_MOST_PAIRS], 2):
        if not taken.intersection(pair) and varies(pair):
            found.append(pair)
            taken.update(pair)
    return found
