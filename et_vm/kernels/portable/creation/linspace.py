"""Numbers at equal distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import COMPLEX, FLOAT, INTEGER, check_kinds, checked_constant
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.promotion import kind
from et_vm.kernels.portable.steps import NOTHING, copy
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Array, Tensor

_SPLIT = 2.0**27 + 1


@kernel("aten::linspace.out")
def linspace_out(ctx: PrepareContext, start: Scalar, end: Scalar, steps: int, out: Tensor) -> Step:
    """``steps`` numbers from ``start`` to ``end``, both included; of integers the ends are rounded towards zero first
    and the numbers between them after. Made when the call is prepared.
    """
    ctx.check(steps >= 0, arg="steps", expected="a non-negative number of steps", got=steps)
    check_kinds(ctx, out.scalar_type, (INTEGER, FLOAT, COMPLEX), arg="out")
    if kind(out.scalar_type) == INTEGER:
        start = int(checked_constant(ctx, start, out.scalar_type, arg="start").item())
        end = int(checked_constant(ctx, end, out.scalar_type, arg="end").item())
    out.resize((steps,))
    if not steps:
        return NOTHING
    return copy(ctx.memo((start, end, steps), lambda: spaced(start, end, steps, out.scalar_type)), out.array)


def spaced(start: Scalar, end: Scalar, steps: int, scalar_type: ScalarType) -> Array:
    """``steps`` > 0 numbers of ``scalar_type``, between ends of that type. Like torch's they are counted from both
    ends to the middle, each by a multiplication and an addition with one rounding, for integers in float64.
    """
    dtype = numpy_dtype(scalar_type)
    if steps == 1:
        return np.array([start]).astype(dtype)
    if scalar_type not in (ScalarType.FLOAT, ScalarType.DOUBLE) and kind(scalar_type) != INTEGER:
        return np.linspace(start, end, steps).astype(dtype)
    # Products of float32 numbers are exact in float64.
    narrow: Any = np.float32 if scalar_type == ScalarType.FLOAT else np.float64
    first, last = float(narrow(start)), float(narrow(end))
    step = float((narrow(last) - narrow(first)) / narrow(steps - 1))
    index: Any = np.arange(steps, dtype=np.float64)
    from_start, from_end = (_sum_of_product(a, s, k) for a, s, k in _ends(first, last, step, index))
    made: Array = np.where(index < steps // 2, from_start, from_end).astype(narrow)
    if kind(scalar_type) == INTEGER:
        return made.astype(np.int64).astype(dtype)
    return made.astype(dtype)


def _ends(first: float, last: float, step: float, index: Array) -> list[tuple[float, float, Array]]:
    return [(first, step, index), (last, -step, index[::-1])]


def _sum_of_product(addend: float, step: float, count: Array) -> Array:
    """``addend`` + ``step`` * ``count`` with one rounding, for counts below 2^26: the error of the product by Dekker's
    splitting, that of the sum by Knuth's ("The Art of Computer Programming", 4.2.2).
    """
    scaled = _SPLIT * step
    high = scaled - (scaled - step)
    low = step - high
    product = step * count
    lost = (high * count - product) + low * count
    total = addend + product
    added = total - addend
    error = (addend - (total - added)) + (product - added)
    exact = total + (error + lost)
    return np.where(np.isfinite(exact), exact, total)
