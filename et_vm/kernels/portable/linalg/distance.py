"""Distances between vectors."""

from __future__ import annotations

import math

import numpy as np

from et_schema.scalar_type import numpy_dtype
from et_vm.kernels.portable.arguments import (
    FLOAT,
    broadcast_shapes,
    check_kinds,
    check_rank,
    check_same_type,
    check_type,
)
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.linalg.matmul import in_arithmetic_type
from et_vm.kernels.portable.promotion import arithmetic
from et_vm.kernels.portable.steps import NOTHING, call, chain, copy, filled
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Array, Tensor


def _norms(difference: Array, p: float, out: Array) -> list[Step]:
    """Calls for the ``p``-norm of the last axis of ``difference``, which they overwrite."""
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
def cdist_forward_out(
    ctx: PrepareContext, x1: Tensor, x2: Tensor, p: float, compute_mode: int | None, out: Tensor
) -> Step:
    """``p``-norm distance of each row of ``x1`` (..., n, d) from each of ``x2`` (..., m, d). Scratch: (...,
    m, d) differences.
    """
    check_kinds(ctx, x1.scalar_type, (FLOAT,), arg="x1")
    check_same_type(ctx, x1, ("x2", x2), ("out", out))
    for arg, tensor in (("x1", x1), ("x2", x2)):
        ctx.check(len(tensor.sizes) >= 2, arg=arg, expected="at least 2 dimensions", got=list(tensor.sizes))
    ctx.check(x1.sizes[-1] == x2.sizes[-1], arg="x2", expected=f"{x1.sizes[-1]} columns", got=list(x2.sizes))
    ctx.check(p >= 0, arg="p", expected="a non-negative order", got=p)
    batch = broadcast_shapes(ctx, x1.sizes[:-2], x2.sizes[:-2])
    (n, d), m = x1.sizes[-2:], x2.sizes[-2]
    out.resize((*batch, n, m))
    if not out.array.size:
        return NOTHING
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
def pdist_forward_out(ctx: PrepareContext, self: Tensor, p: float, out: Tensor) -> Step:
    """``p``-norm distance of each row of a matrix from each that follows it. Scratch: differences of one
    row.
    """
    check_rank(ctx, self, 2, arg="self")
    check_kinds(ctx, self.scalar_type, (FLOAT,), arg="self")
    check_type(ctx, self.scalar_type, out, arg="out")
    ctx.check(p >= 0, arg="p", expected="a non-negative order", got=p)
    n, d = self.sizes
    out.resize((n * (n - 1) // 2,))
    if not out.array.size:
        return NOTHING
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
