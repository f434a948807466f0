"""Reductions of consecutive segments of a dimension."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from et_ops.inference.reductions import segment_reduce
from et_vm.kernels.portable.arguments import FLOAT
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor
from et_vm.work import CALL

_REDUCTIONS: dict[str, tuple[Callable[..., Any], float]] = {
    "max": (np.maximum.reduce, -math.inf),
    "mean": (np.add.reduce, 0.0),
    "min": (np.minimum.reduce, math.inf),
    "prod": (np.multiply.reduce, 1.0),
    "sum": (np.add.reduce, 0.0),
}
"""By name the reduction and what it starts from."""


@kernel("aten::segment_reduce.out")
@inferred(segment_reduce, kinds=(FLOAT,))
def segment_reduce_out(
    ctx: PrepareContext,
    data: Tensor,
    reduce: str,
    lengths: Tensor | None,
    indices: Tensor | None,
    offsets: Tensor | None,
    axis: int,
    unsafe: bool,
    initial: Scalar | None,
    out: Tensor,
) -> Step:
    """The sum, mean, product, largest or smallest element of each segment of `axis`, whose `lengths` are given for
    each row, or their `offsets` with the end of the last. An empty segment is `initial`, by default what the
    reduction starts from, or NaN for a mean. Allocates the result.
    """
    arg, segments = ("offsets", offsets) if lengths is None else ("lengths", lengths)
    assert segments is not None
    at = axis % len(data.sizes)
    count = out.sizes[at]
    outer, extent, inner = math.prod(data.sizes[:at]), data.sizes[at], math.prod(data.sizes[at + 1 :])
    function, neutral = _REDUCTIONS[reduce]
    start = neutral if initial is None else float(initial)

    def bounds(numbers: Array) -> Array:
        if lengths is None:
            ends: Array = numbers.astype(np.int64)
        else:
            if (numbers < 0).any():
                raise ctx.trap(arg=arg, expected="non-negative lengths", got=int(numbers.min()))
            ends = np.zeros((outer, count + 1), np.int64)
            np.cumsum(numbers, -1, out=ends[:, 1:])
            if not unsafe and (ends[:, -1] != extent).any():
                raise ctx.trap(arg=arg, expected=f"lengths that add up to {extent}", got=ends[:, -1].tolist())
        if ends.size and (ends.min() < 0 or ends.max() > extent):
            raise ctx.trap(arg=arg, expected=f"places in [0, {extent}]", got=ends.tolist())
        return ends

    def compute(array: Array, numbers: Array) -> Array:
        ends = bounds(numbers.reshape(outer, segments.sizes[-1]))
        rows = array.reshape(outer, extent, inner)
        made: Array = np.empty((outer, count, inner), array.dtype)
        for row in range(outer):
            for place in range(count):
                first, last = int(ends[row, place]), int(ends[row, place + 1])
                total = function(rows[row, first:last], axis=0, initial=start)
                if reduce == "mean" and last > first:
                    total = total / (last - first)
                elif reduce == "mean" and initial is None:
                    total = math.nan
                made[row, place] = total
        return made.reshape(out.sizes)

    ctx.work(4 * CALL * outer * count)
    return evaluated(compute, (data, segments), (out,))
