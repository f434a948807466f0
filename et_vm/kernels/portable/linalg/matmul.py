"""Matrix products. float32 and float64 go to the BLAS that numpy is built with, straight from and to the
operands' memory.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from et_ops.inference import matmul as rules
from et_schema.scalar_type import numpy_dtype
from et_vm.kernels.portable.arguments import (
    COMPLEX,
    FLOAT,
    INTEGER,
    constant,
)
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.movement.move import moves
from et_vm.kernels.portable.promotion import arithmetic
from et_vm.kernels.portable.steps import NOTHING, call, chain, copy, overlaps
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, DType, Tensor

_TYPES = (INTEGER, FLOAT, COMPLEX)


def in_arithmetic_type(
    ctx: PrepareContext, tensor: Tensor, dtype: DType, key: str
) -> tuple[list[Step], Array]:
    """`tensor` as `dtype`: itself, a converted copy kept with the method if it is constant, else
    scratch and the call to fill it.
    """
    if tensor.dtype == dtype:
        return [], tensor.array
    if tensor.constant:
        return [], ctx.memo((key, tensor.version), lambda: tensor.array.astype(dtype))
    wide = ctx.scratch(tensor.sizes, dtype)
    return [copy(tensor.array, wide)], wide


def blas_ready(ctx: PrepareContext, array: Array) -> tuple[list[Step], Array]:
    """`array` if BLAS can read its last two dimensions in place, else a packed copy in scratch and the
    calls that fill it.
    """
    itemsize = array.itemsize
    rows, columns = array.strides[-2:]
    m, n = array.shape[-2:]
    if columns == itemsize and (rows >= n * itemsize or m == 1):
        return [], array
    if rows == itemsize and (columns >= m * itemsize or n == 1):
        return [], array
    packed = ctx.scratch(array.shape, array.dtype)
    return moves(ctx, array, packed), packed


def product(ctx: PrepareContext, a: Array, b: Array, out: Array) -> list[Step]:
    """Calls for `out = a @ b`, the shapes being right. Scratch: operands that BLAS cannot read in place,
    an output it cannot write.
    """
    if not out.size:
        return []
    if not a.shape[-1]:
        return [copy(np.zeros((), out.dtype), out)]
    first, a = blas_ready(ctx, a)
    second, b = blas_ready(ctx, b)
    if out.flags.c_contiguous:
        return [*first, *second, (np.matmul, (a, b, out))]
    packed = ctx.scratch(out.shape, out.dtype)
    return [*first, *second, (np.matmul, (a, b, packed)), copy(packed, out)]


def _into(
    ctx: PrepareContext,
    out: Tensor,
    dtype: DType,
    calls_into: Callable[[Array], list[Step]],
    *,
    hazard: bool = False,
) -> Step:
    """The calls that compute into `out`, by way of scratch when it has another type or (`hazard`) is
    read late.
    """
    if not out.array.size:
        return NOTHING
    if out.dtype == dtype and not hazard:
        return chain(calls_into(out.array))
    wide = ctx.scratch(out.sizes, dtype)
    return chain([*calls_into(wide), copy(wide, out.array)])


def _multiply(ctx: PrepareContext, self: Tensor, mat2: Tensor, out: Tensor) -> Step:
    dtype = numpy_dtype(arithmetic(self.scalar_type))
    first, a = in_arithmetic_type(ctx, self, dtype, "self")
    second, b = in_arithmetic_type(ctx, mat2, dtype, "mat2")
    return _into(ctx, out, dtype, lambda target: [*first, *second, *product(ctx, a, b, target)])


@kernel("aten::mm.out", any_layout=True)
@inferred(rules.mm, kinds=_TYPES, same_type=True)
def mm_out(ctx: PrepareContext, self: Tensor, mat2: Tensor, out: Tensor) -> Step:
    """(n, k) times (k, m). Scratch: float32 copies of 16-bit operands and of the result."""
    return _multiply(ctx, self, mat2, out)


@kernel("aten::bmm.out", any_layout=True)
@inferred(rules.bmm, kinds=_TYPES, same_type=True)
def bmm_out(ctx: PrepareContext, self: Tensor, mat2: Tensor, out: Tensor) -> Step:
    """(b, n, k) times (b, k, m). Scratch: float32 copies of 16-bit operands and of the result."""
    return _multiply(ctx, self, mat2, out)


@kernel("aten::mv.out")
@inferred(rules.mv, kinds=_TYPES, same_type=True)
def mv_out(ctx: PrepareContext, self: Tensor, vec: Tensor, out: Tensor) -> Step:
    """A matrix times a vector."""
    dtype = numpy_dtype(arithmetic(self.scalar_type))
    first, a = in_arithmetic_type(ctx, self, dtype, "self")
    second, b = in_arithmetic_type(ctx, vec, dtype, "vec")
    return _into(
        ctx, out, dtype, lambda target: [*first, *second, *product(ctx, a, b[:, None], target[:, None])]
    )


@kernel("aten::dot.out")
@inferred(rules.dot, kinds=_TYPES, same_type=True)
def dot_out(ctx: PrepareContext, self: Tensor, tensor: Tensor, out: Tensor) -> Step:
    """The inner product of two vectors."""
    dtype = numpy_dtype(arithmetic(self.scalar_type))
    first, a = in_arithmetic_type(ctx, self, dtype, "self")
    second, b = in_arithmetic_type(ctx, tensor, dtype, "tensor")
    return _into(
        ctx,
        out,
        dtype,
        lambda target: [*first, *second, *product(ctx, a[None, :], b[:, None], target.reshape(1, 1))],
    )


def _add_product(
    ctx: PrepareContext, self: Tensor, a: Tensor, b: Tensor, beta: Scalar, alpha: Scalar, out: Tensor
) -> Step:
    """`beta * self + alpha * a @ b`; a zero `beta` leaves `self` out altogether, NaN included."""
    scalar_type = arithmetic(a.scalar_type)
    dtype = numpy_dtype(scalar_type)
    first, left = in_arithmetic_type(ctx, a, dtype, "mat1")
    second, right = in_arithmetic_type(ctx, b, dtype, "mat2")
    third, added = in_arithmetic_type(ctx, self, dtype, "self") if beta != 0 else ([], None)
    hazard = added is not None and overlaps(added, out.array)

    def into(target: Array) -> list[Step]:
        calls = [*first, *second, *third, *product(ctx, left, right, target)]
        if alpha != 1:
            calls.append(call(np.multiply, target, constant(alpha, scalar_type), target))
        if added is None:
            return calls
        if beta == 1:
            return [*calls, call(np.add, target, added, target)]
        scaled = ctx.scratch(added.shape, dtype)
        return [
            *calls,
            call(np.multiply, added, constant(beta, scalar_type), scaled),
            call(np.add, target, scaled, target),
        ]

    return _into(ctx, out, dtype, into, hazard=hazard)


@kernel("aten::addmm.out")
@inferred(rules.addmm, kinds=_TYPES, same_type=True)
def addmm_out(
    ctx: PrepareContext, self: Tensor, mat1: Tensor, mat2: Tensor, beta: Scalar, alpha: Scalar, out: Tensor
) -> Step:
    """`beta * self + alpha * mat1 @ mat2`, `self` broadcast. Scratch: float32 copies of 16-bit tensors,
    `beta * self`, and the result when it is stored over `self`.
    """
    return _add_product(ctx, self, mat1, mat2, beta, alpha, out)


@kernel("aten::baddbmm.out")
@inferred(rules.baddbmm, kinds=_TYPES, same_type=True)
def baddbmm_out(
    ctx: PrepareContext,
    self: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    beta: Scalar,
    alpha: Scalar,
    out: Tensor,
) -> Step:
    """`beta * self + alpha * batch1 @ batch2`, batch by batch. Scratch: as for addmm."""
    return _add_product(ctx, self, batch1, batch2, beta, alpha, out)


@kernel("aten::linear.out", any_layout=True)
@inferred(rules.linear, kinds=_TYPES, same_type=True)
def linear_out(ctx: PrepareContext, input: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor) -> Step:
    """`input` (..., k) times the transpose of `weight` (m, k) or (k), plus `bias`. Scratch: float32
    copies of 16-bit tensors.
    """
    inner, features = input.sizes[-1], weight.sizes[:-1]
    dtype = numpy_dtype(arithmetic(input.scalar_type))
    first, a = in_arithmetic_type(ctx, input, dtype, "input")
    second, b = in_arithmetic_type(ctx, weight, dtype, "weight")
    third, added = ([], None) if bias is None else in_arithmetic_type(ctx, bias, dtype, "bias")
    columns = features[0] if features else 1
    count = prod(input.sizes[:-1])

    def into(target: Array) -> list[Step]:
        calls = [*first, *second, *third]
        rows = a
        if not a.flags.c_contiguous:
            rows = ctx.scratch(a.shape, dtype)
            calls += moves(ctx, a, rows)
        flat = target if target.flags.c_contiguous else ctx.scratch(target.shape, dtype)
        matrix = flat.reshape(count, columns)
        calls += product(ctx, rows.reshape(count, inner), b.reshape(columns, inner).T, matrix)
        if added is not None:
            calls.append(call(np.add, matrix, added, matrix))
        if flat is not target:
            calls.append(copy(flat, target))
        return calls

    hazard = added is not None and overlaps(added, out.array)
    return _into(ctx, out, dtype, into, hazard=hazard)


_SINGLE_TERMS = 256
"""The number of products of bytes that float32 sums exactly."""


def _grouped_product(
    ctx: PrepareContext, input: Array, weight: Array, ends: Array, limits: Array, out: Array
) -> None:
    """Multiply the rows of each group with its matrix; `limits` is room for one more number than there are groups."""
    limits[0], limits[1:] = 0, ends
    # Differences of numbers of any size might be beyond i64.
    if (limits[1:] < limits[:-1]).any() or limits[-1] > len(input):
        expected = f"places in [0, {len(input)}], none below that before it"
        raise ctx.trap(arg="ends", expected=expected, got=limits[1:].tolist())
    first = 0
    matrices = weight.reshape(len(ends), out.shape[1], weight.shape[1])
    for matrix, last in zip(matrices, limits[1:].tolist(), strict=True):
        if first < last:
            np.matmul(input[first:last], matrix.T, out[first:last])
        first = last
    out[first:] = 0


@kernel("grouped::linear.out")
@inferred(rules.grouped_linear, kinds=_TYPES)
def grouped_linear_out(ctx: PrepareContext, input: Tensor, weight: Tensor, ends: Tensor, out: Tensor) -> Step:
    """Rows of `input` (n, k), sorted by group, times the transpose of the matrix of their group in `weight`
    (groups * m, k), whose rows end before `ends` (groups); zeros behind the last. The step traps on ends that decrease
    or are larger than n. Scratch: float32 copies of 16-bit tensors and of the result, the result where it is read late,
    and the ends.
    """
    dtype = numpy_dtype(arithmetic(input.scalar_type))
    first, a = in_arithmetic_type(ctx, input, dtype, "input")
    second, b = in_arithmetic_type(ctx, weight, dtype, "weight")
    limits = ctx.scratch((ends.sizes[0] + 1,), np.dtype(np.int64))
    ctx.work(input.numel * (weight.sizes[0] // ends.sizes[0]))
    hazard = overlaps(input.array, out.array) or not out.array.flags.c_contiguous

    def into(target: Array) -> list[Step]:
        return [*first, *second, (_grouped_product, (ctx, a, b, ends.array, limits, target))]

    return _into(ctx, out, dtype, into, hazard=hazard)


@kernel("aten::_int_mm.out")
@inferred(rules.int_mm)
def int_mm_out(ctx: PrepareContext, self: Tensor, mat2: Tensor, out: Tensor) -> Step:
    """`self` [m, k] of int8 or uint8 times `mat2` [k, n] of int8, as int32: by a product of floats, which is exact,
    of float32 for small k and float64 for others. Allocates the operands in that type and the result.
    """
    inner = self.sizes[1]
    dtype = np.dtype(np.float32 if inner <= _SINGLE_TERMS else np.float64)
    ctx.work(self.numel * mat2.sizes[1])
    return evaluated(np.matmul, (self, mat2), (out,), dtype)
