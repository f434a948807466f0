"""Distances between vectors."""

from __future__ import annotations

import math

import numpy as np

from et_ops.inference import matmul as rules
from et_schema.scalar_type import numpy_dtype
from et_vm.kernels.portable.arguments import (
    FLOAT,
)
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.linalg.matmul import in_arithmetic_type
from et_vm.kernels.portable.promotion import arithmetic
from et_vm.kernels.portable.steps import call, chain, copy, filled
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


def _norms(difference: Array, p: float, out: Array) -> list[Step]:
    """Calls for the `p`-norm of the last axis of `difference`, which they overwrite."""
    dtype = difference.dtype
    calls: list[Step] = [call(np.absolute, difference, difference)]
    if p == 0:
        calls.append(call(np.not_equal, difference, filled(dtype, 0), difference))
    elif p == 2:
        calls.append(call(np.multiply, difference, difference, difference))
    elif p != 1 and not math.isinf(p):
        calls.append(call(np.power, difference, filled(dtype, p), difference))
    ufunc = np.maximum if math.isinf(p) else np.add
    calls.append((ufunc.reduce, (difference, -1, None, out, False, filled(dtype, 0))))
    if p == 2:
        calls.append(call(np.sqrt, out, out))
    elif p not in (0, 1) and not math.isinf(p):
        calls.append(call(np.power, out, filled(dtype, 1 / p), out))
    return calls


@kernel("aten::_cdist_forward.out")
@inferred(rules.cdist, kinds=(FLOAT,), same_type=True)
def cdist_forward_out(
    ctx: PrepareContext, x1: Tensor, x2: Tensor, p: float, compute_mode: int | None, out: Tensor
) -> Step:
    """`p`-norm distance of each row of `x1` (..., n, d) from each of `x2` (..., m, d). Scratch: (...,
    m, d) differences.
    """
    *batch, n, m = out.sizes
    d = x1.sizes[-1]
    dtype = numpy_dtype(arithmetic(x1.scalar_type))
    calls, a = in_arithmetic_type(ctx, x1, dtype, "x1")
    more, b = in_arithmetic_type(ctx, x2, dtype, "x2")
    calls += more
    difference = ctx.scratch((*batch, m, d), dtype)
    line = ctx.scratch((*batch, m), dtype)
    for row in range(n):
        calls.append(call(np.subtract, a[..., row : row + 1, :], b, difference))
        calls += _norms(difference, p, line)
        calls.append(copy(line, out.array[..., row, :]))
    return chain(calls)


@kernel("aten::_pdist_forward.out")
@inferred(rules.pdist, kinds=(FLOAT,))
def pdist_forward_out(ctx: PrepareContext, self: Tensor, p: float, out: Tensor) -> Step:
    """`p`-norm distance of each row of a matrix from each that follows it. Scratch: differences of one
    row.
    """
    n, d = self.sizes
    dtype = numpy_dtype(arithmetic(self.scalar_type))
    calls, rows = in_arithmetic_type(ctx, self, dtype, "self")
    difference, line = ctx.scratch((n, d), dtype), ctx.scratch((n,), dtype)
    start = 0
    for row in range(n - 1):
        count = n - 1 - row
        calls.append(call(np.subtract, rows[row : row + 1], rows[row + 1 :], difference[:count]))
        calls += _norms(difference[:count], p, line[:count])
        calls.append(copy(line[:count], out.array[start : start + count]))
        start += count
    return chain(calls)
