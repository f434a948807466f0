"""Operators of torchao in Vulkan graphs: constants in blocks, and scales and zero points of rows.

The latter are chosen at run time. ExecuTorch's compiler removes what rounds activations to them, so that the operators
which read both round here.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from et_backends.vulkan_graph.format import tables as v
from et_backends.vulkan_graph.runtime.composites import Shape
from et_backends.vulkan_graph.runtime.plan import Composite, Plan, integers_of, misfit, number_of, registers
from et_schema import program as p
from et_schema.scalar_type import ScalarType

__all__ = ["AFFINE", "rounded_rows"]

_LEAST, _MOST = -128, 127
_LAST: Final = -1
_SMALLEST: Final = float(np.finfo(np.float32).smallest_normal)


def choose_qparams_affine(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """Scale and zero point of each row, of the range of its elements and 0.

    Raises InvalidFile for other blocks than rows, and for a mapping that is unknown.
    """
    x, mapping, _, _, low, high, least, *_ = registers(plan, args, 9, 10)
    if len(results) != 2:
        raise misfit(f"{len(results)} results, expected 2")
    _check_rows(plan, integers_of(plan, graph, args[2]), plan.sizes_of(x))
    kind = plan[mapping]
    bounds = number_of(plan, low), number_of(plan, high)
    if not isinstance(kind, p.String) or not all(isinstance(bound, int | float) for bound in bounds):
        raise misfit(f"mapping {kind} to integers from {bounds[0]} to {bounds[1]}")
    first, last = (float(bound or 0) for bound in bounds)
    source = plan.converted(x, ScalarType.FLOAT)
    like = Shape(plan, source)
    like.sizes = like.sizes[:-1]
    start, end = (_extremum(plan, like, name, source) for name in ("amin", "amax"))
    eps = number_of(plan, least)
    smallest = _SMALLEST if eps is None else float(eps)
    match kind.string_val:
        case "ASYMMETRIC":
            scale = _scale(plan, like, like.binary("sub", end, start), last - first, smallest)
            steps = plan.compute("aten::div.out", start, scale, out=like.new())
            whole = plan.compute("aten::round.out", steps, out=like.new())
            negative = plan.compute("aten::neg.out", whole, out=like.new())
            moved = plan.compute(
                "aten::add.Scalar_out", negative, plan.scalar(first), plan.scalar(1), out=like.new()
            )
            zero = plan.compute(
                "aten::clamp.out", moved, plan.scalar(first), plan.scalar(last), out=like.new()
            )
        case "SYMMETRIC":
            negative = plan.compute("aten::neg.out", start, out=like.new())
            largest = plan.compute("aten::maximum.out", negative, end, out=like.new())
            scale = _scale(plan, like, largest, (last - first) / 2, smallest)
            middle = plan.scalar(float(int((last + first + 1) / 2)))
            nothing = plan.compute("aten::mul.Scalar_out", scale, plan.scalar(0.0), out=like.new())
            zero = plan.compute("aten::add.Scalar_out", nothing, middle, plan.scalar(1), out=like.new())
        case other:
            raise misfit(f"unknown mapping {other}")
    for made, result in zip((scale, zero), results, strict=True):
        plan.convert(made, result)


def dequantize_affine(plan: Plan, graph: v.VkGraph, args: list[int], results: list[int]) -> None:
    """A constant as floats: each block has a scale and a zero point. It is computed when the graph is loaded.

    Raises InvalidFile for variables, and for blocks that do not fit.
    """
    x, _, scale, zero, *_ = registers(plan, args, 7, 8)
    numbers, scales = plan.array_of(x), plan.array_of(scale)
    sizes, block = plan.sizes_of(x), _lengths(plan, integers_of(plan, graph, args[1]))
    if len(block) != len(sizes) or any(
        length < 1 or size % length for size, length in zip(sizes, block, strict=False)
    ):
        raise misfit(f"blocks of {block} elements of a tensor {sizes}")
    counts = [size // length for size, length in zip(sizes, block, strict=True)]
    split = [size for pair in zip(counts, block, strict=True) for size in pair]
    spread = [size for count in counts for size in (count, 1)]
    plan.reserve(2 * numbers.size * ScalarType.FLOAT.itemsize)
    made = numbers.reshape(split).astype(np.float32)
    if not isinstance(plan[zero], p.Null):
        made -= plan.array_of(zero).reshape(spread).astype(np.float32)
    made *= scales.reshape(spread).astype(np.float32)
    constant = plan.constant(ScalarType.FLOAT, sizes, memoryview(made.tobytes()))
    if plan.type_of(results[0]) == ScalarType.FLOAT:
        plan.alias(results[0], constant)
    else:
        plan.convert(constant, results[0])


def _lengths(plan: Plan, block: int) -> list[int]:
    """The numbers of a list. Raises InvalidFile for other things than integers."""
    table = plan[block]
    assert isinstance(table, p.IntList)
    found = [number_of(plan, item) for item in table.items]
    if not all(isinstance(one, int) for one in found):
        raise misfit(f"blocks of {found} elements")
    return [int(one or 0) for one in found]


def _check_rows(plan: Plan, block: int, sizes: list[int]) -> None:
    found = _lengths(plan, block)
    if found != [1] * (len(sizes) - 1) + sizes[-1:]:
        raise misfit(f"blocks of {found} elements of a tensor {sizes}, expected rows")


def _extremum(plan: Plan, like: Shape, name: str, source: int) -> int:
    """The smallest or largest element of each row and 0."""
    found = plan.compute(f"aten::{name}.out", source, plan.ints([_LAST]), plan.scalar(False), out=like.new())
    bounds = (None, 0.0) if name == "amin" else (0.0, None)
    return plan.compute("aten::clamp.out", found, *map(plan.scalar, bounds), out=like.new())


def _scale(plan: Plan, like: Shape, range_: int, steps: float, smallest: float) -> int:
    made = plan.compute("aten::div.Scalar_out", range_, plan.scalar(steps), out=like.new())
    return plan.compute("aten::clamp.out", made, plan.scalar(smallest), plan.scalar(None), out=like.new())


def rounded_rows(plan: Plan, x: int, scale: int, zero: int) -> int:
    """Activations as 8-bit integers hold them, by the scale and the zero point of each row."""
    source = plan.converted(x, ScalarType.FLOAT)
    like = Shape(plan, source)
    rows = [*like.sizes[:-1], 1]

    def by_row(register: int) -> int:
        numbers = plan.converted(register, ScalarType.FLOAT)
        return plan.compute("aten::unsqueeze_copy.out", numbers, plan.scalar(_LAST), out=like.new(rows))

    step, offset = by_row(scale), by_row(zero)
    inverse = plan.compute("aten::reciprocal.out", step, out=like.new(rows))
    whole = plan.compute("aten::round.out", like.binary("mul", source, inverse), out=like.new())
    moved = like.binary("add", whole, offset)
    limits = plan.scalar(float(_LEAST)), plan.scalar(float(_MOST))
    integers = plan.compute("aten::clamp.out", moved, *limits, out=like.new())
    return like.binary("mul", like.binary("sub", integers, offset), step)


AFFINE: Final[dict[str, Composite]] = {
    "torchao.choose_qparams_affine.default": choose_qparams_affine,
    "torchao.dequantize_affine.default": dequantize_affine,
}
"""By what graphs call them."""
