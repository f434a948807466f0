"""Recovery of sizes known at run time only.

A file says of a tensor that its sizes are bounds, not which of them vary. That is found out by trial: a dimension of
an input varies if the plan is one of valid calls for another size too, and gives tensors whose sizes are exact the
sizes they have. Dimensions that vary only together have one symbol, as have those that guards say are equal. One that
varies in steps, as it is halved in the program, is a multiple of its symbol and a remainder.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
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
_MOST_STEP = 8
"""The largest step between sizes that is tried."""


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

    def step(dimensions: Sequence[Dimension]) -> int | None:
        """The least step by which the dimensions vary."""
        bound = bounds[dimensions[0]]
        return next((step for step in range(1, min(bound, _MOST_STEP + 1)) if varies(dimensions, step)), None)

    def varies(dimensions: Sequence[Dimension], step: int) -> bool:
        bound = bounds[dimensions[0]]
        # A size of 1 says little, as it broadcasts: one above the bound is tried then, which only a trial can have.
        other = bound - 2 * step if step > 1 and bound > 2 * step + 1 else bound + step
        return fits(dimensions, bound - step) and ((step == 1 and bound > 2) or fits(dimensions, other))

    groups: list[tuple[Sequence[Dimension], int]] = []
    rest: dict[int, list[Dimension]] = defaultdict(list)
    for equal in _equal(plan, bounds):
        by = step(equal)
        if by is None:
            rest[bounds[equal[0]]] += equal
        else:
            groups.append((equal, by))
    for bound, together in rest.items():
        found = _together(together, step)
        others = [(dims, by) for dims, by in groups if bounds[dims[0]] == bound]
        whole = [*together, *(one for dims, _ in others for one in dims)]
        by = step(whole) if others and not found else None
        if by is not None:
            # What varies alone may also vary with what does not.
            groups = [(whole, by), *(group for group in groups if group not in others)]
        groups += found
    groups.sort(key=lambda group: group[0][0])
    sizes: dict[Dimension, Size] = {}
    ranges: dict[str, Interval] = {}
    for number, (group, by) in enumerate(groups):
        name = f"s{number}"
        most, remainder = divmod(bounds[group[0]], by)
        tried = range(min(most, _MOST_LEAST))
        least = next((turn for turn in tried if fits(group, by * turn + remainder)), most - 1)
        ranges[name] = Interval(least, most)
        sizes |= dict.fromkeys(group, Expression.of(name) * by + remainder)
    return InputSizes(sizes, ranges)


def _equal(plan: PlanOp, dimensions: Collection[Dimension]) -> list[list[Dimension]]:
    """Groups of dimensions that the guards of a plan say are equal."""
    guards = plan.guards
    names = () if guards is None else guards.data.inputs
    named = {f"{names[at]}.shape[{dim}]": (at, dim) for at, dim in dimensions if at < len(names)}
    groups: dict[Dimension, list[Dimension]] = {one: [one] for one in dimensions}
    for condition in () if guards is None else guards.data.conditions:
        left, equals, right = condition.partition(" == ")
        if equals and left in named and right in named:
            one, other = groups[named[left]], groups[named[right]]
            if one is not other:
                one += other
                groups |= dict.fromkeys(other, one)
    return [group for one, group in groups.items() if group[0] == one]


def _together(
    dimensions: list[Dimension], step: Callable[[Sequence[Dimension]], int | None]
) -> list[tuple[Sequence[Dimension], int]]:
    """Groups of dimensions of one bound that vary together, with their step: all of them, or pairs."""
    if len(dimensions) < 2:
        return []
    by = step(dimensions)
    if by is not None:
        return [(dimensions, by)]
    found: list[tuple[Sequence[Dimension], int]] = []
    taken: set[Dimension] = set()
    for pair in combinations(dimensions[:_MOST_PAIRS], 2):
        if not taken.intersection(pair):
            by = step(pair)
            if by is not None:
                found.append((pair, by))
                taken.update(pair)
    return found
