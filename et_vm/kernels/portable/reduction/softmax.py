"""Softmax and its logarithm."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from et_ops.inference.normalization import softmax
from et_schema.scalar_type import numpy_dtype
from et_vm.kernels.portable.arguments import FLOAT, dimension
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.elementwise import BLOCK
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.movement.move import moves
from et_vm.kernels.portable.promotion import arithmetic
from et_vm.kernels.portable.steps import call, chain, copy
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


def _softmax(ctx: PrepareContext, self: Tensor, dim: int, out: Tensor, *, logarithm: bool) -> Step:
    axis = dimension(ctx, dim, len(self.sizes))
    order = out.dim_order
    source, target = self.array.transpose(order), out.array.transpose(order)
    calls: list[Step] = []
    if not source.flags.c_contiguous:
        packed = ctx.scratch(source.shape, source.dtype)
        calls += moves(ctx, source, packed)
        source = packed
    axis = order.index(axis) if order else 0
    compute = numpy_dtype(arithmetic(self.scalar_type))
    x, y = _grouped(source, axis), _grouped(target, axis)
    outer, length, inner = y.shape
    rows = min(max(1, BLOCK // (length * inner)), outer)
    block, edge = (rows, length, inner), (rows, 1, inner)
    peak, total = ctx.scratch(edge, compute), ctx.scratch(edge, compute)
    work = ctx.scratch(block, compute) if y.dtype != compute else None
    exponentials = ctx.scratch(block, compute) if logarithm else None
    for start in range(0, outer, rows):
        end = min(start + rows, outer)
        part = slice(0, end - start)
        result = y[start:end] if work is None else work[part]
        source = x[start:end]
        if source.dtype != compute:
            calls.append(copy(source, result))
            source = result
        high, sums = peak[part], total[part]
        calls += [
            (np.maximum.reduce, (source, 1, None, high, True)),
            call(np.subtract, source, high, result),
        ]
        if exponentials is None:
            calls += [
                call(np.exp, result, result),
                (np.add.reduce, (result, 1, None, sums, True)),
                call(np.divide, result, sums, result),
            ]
        else:
            powers = exponentials[part]
            calls += [
                call(np.exp, result, powers),
                (np.add.reduce, (powers, 1, None, sums, True)),
                call(np.log, sums, sums),
                call(np.subtract, result, sums, result),
            ]
        if work is not None:
            calls.append(copy(result, y[start:end]))
    return chain(calls)


def _grouped(array: Array, axis: int) -> Array:
    """The C-contiguous `array` as (before, axis, after)."""
    shape: Sequence[int] = array.shape or (1,)
    return array.reshape(math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))


@kernel("aten::_softmax.out")
@inferred(softmax, kinds=(FLOAT,))
def softmax_out(ctx: PrepareContext, self: Tensor, dim: int, half_to_float: bool, out: Tensor) -> Step:
    """exp(x - max) / sum of the same along `dim`. Scratch: two slices of a block, and a block for 16-bit
    types.
    """
    return _softmax(ctx, self, dim, out, logarithm=False)


@kernel("aten::_log_softmax.out", any_layout=True)
@inferred(softmax, kinds=(FLOAT,))
def log_softmax_out(ctx: PrepareContext, self: Tensor, dim: int, half_to_float: bool, out: Tensor) -> Step:
    """Logarithm of the softmax along `dim`. Scratch: two slices of a block and a block, two for 16-bit
    types.
    """
    return _softmax(ctx, self, dim, out, logarithm=True)
