"""Sums, embeddings and products of quantized tensors."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from et_ops.inference import quantized as rules
from et_ops.inference.meta import RULES
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.indexing.index import check_range
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.promotion import promote
from et_vm.kernels.portable.quantized.quantize import clamped, rounded
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


@kernel("quantized_decomposed::add.out")
@inferred(rules.add)
def add_out(
    ctx: PrepareContext,
    a: Tensor,
    a_scale: float,
    a_zero_point: int,
    a_quant_min: int,
    a_quant_max: int,
    b: Tensor,
    b_scale: float,
    b_zero_point: int,
    b_quant_min: int,
    b_quant_max: int,
    out_scale: float,
    out_zero_point: int,
    out_quant_min: int,
    out_quant_max: int,
    out: Tensor,
) -> Step:
    """Two tensors of one shape and type restored in float32, added, and quantized. Allocates four arrays of
    float32.
    """

    def compute(a: Array, b: Array) -> Array:
        total = (a.astype(np.float32) - np.float32(a_zero_point)) * np.float32(a_scale)
        total += (b.astype(np.float32) - np.float32(b_zero_point)) * np.float32(b_scale)
        level = np.rint(total * (np.float32(1) / np.float32(out_scale))) + np.float32(out_zero_point)
        return clamped(level, (out_quant_min, out_quant_max), out.dtype)

    return evaluated(compute, (a, b), (out,))


def _embedding(
    ctx: PrepareContext,
    weight: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    indices: Tensor,
    bits: int,
    out: Tensor,
) -> Step:
    """Rows are unpacked and restored after they have been chosen."""
    groups = scales.sizes[1] if len(scales.sizes) == 2 else 1
    kinds = (weight.scalar_type if bits == 8 else ScalarType.CHAR, scales.scalar_type)
    compute = functools.partial(_restored_rows, ctx, bits, groups, kinds, out.sizes)
    given = (weight, indices, scales) if zero_points is None else (weight, indices, scales, zero_points)
    return evaluated(compute, given, (out,))


def _unpacked(rows: Array, bits: int) -> Array:
    """Two numbers of a byte, the high half first, or four, the low pair first; less the middle of their range."""
    if bits == 8:
        return rows
    shifts = (4, 0) if bits == 4 else (0, 2, 4, 6)
    parts = [(rows >> shift) & ((1 << bits) - 1) for shift in shifts]
    return np.stack(parts, -1).reshape(rows.shape[0], -1).astype(np.int8) - np.int8(1 << (bits - 1))


def _restored_rows(
    ctx: PrepareContext,
    bits: int,
    groups: int,
    kinds: Sequence[ScalarType],
    shape: tuple[int, ...],
    weight: Array,
    indices: Array,
    scales: Array,
    zero_points: Array | None = None,
) -> Array:
    check_range(ctx, indices, 0, weight.shape[0], "indices")
    named = indices.reshape(-1)
    rows = _unpacked(weight[named], bits).reshape(len(named), groups, -1)
    kind = kinds[0]
    if zero_points is not None:
        kind = promote(kind, kinds[1])
        rows = rounded(np.subtract, kind, rows, zero_points[named].reshape(len(named), groups, 1))
    kind = promote(kind, kinds[1])
    return rounded(np.multiply, kind, rows, scales[named].reshape(len(named), groups, 1)).reshape(shape)


def _declare_embeddings(name: str, bits: int) -> None:
    @kernel(f"quantized_decomposed::{name}.out")
    @inferred(RULES[f"quantized_decomposed.{name}"])
    def plain(
        ctx: PrepareContext,
        weight: Tensor,
        weight_scales: Tensor,
        weight_zero_points: Tensor | None,
        weight_quant_min: int,
        weight_quant_max: int,
        indices: Tensor,
        out: Tensor,
    ) -> Step:
        return _embedding(ctx, weight, weight_scales, weight_zero_points, indices, bits, out)

    @kernel(f"quantized_decomposed::{name}.dtype_out")
    @inferred(RULES[f"quantized_decomposed.{name}.dtype"])
    def typed(
        ctx: PrepareContext,
        weight: Tensor,
        weight_scales: Tensor,
        weight_zero_points: Tensor | None,
        weight_quant_min: int,
        weight_quant_max: int,
        indices: Tensor,
        dtype: int | None,
        out: Tensor,
    ) -> Step:
        return _embedding(ctx, weight, weight_scales, weight_zero_points, indices, bits, out)

    for function in (plain, typed):
        function.__doc__ = (
            f"Rows of a table [N, D * {bits} / 8] of {bits}-bit numbers, restored with scales and zero points [N] "
            "or [N, groups]; ``indices`` of any shape. Allocates the rows that are named."
        )


for _name, _bits in (("embedding_byte", 8), ("embedding_4bit", 4), ("embedding_2bit", 2)):
    _declare_embeddings(_name, _bits)


def _products(a: Array, b: Array, scales: Array | None, dtype: np.dtype[np.generic]) -> Array:
    """The product of `a` [M, K] and `b` [K, N], the k-th of its terms times `scales[k]`, in `dtype`.

    Terms are added one after the other, each step rounded to its type, as stock's kernels do: BLAS has another order.
    """
    total: Array = np.zeros((a.shape[0], b.shape[1]), dtype)
    term: Array = np.empty(total.shape, a.dtype)
    for k in range(a.shape[1]):
        np.multiply(a[:, k, None], b[k], out=term)
        if scales is not None:
            term *= scales[k]
        np.add(total, term, out=total)
    return total


@kernel("quantized_decomposed::mixed_mm.out")
@inferred(rules.mixed_mm)
def mixed_mm_out(
    ctx: PrepareContext,
    input: Tensor,
    weight: Tensor,
    weight_scales: Tensor,
    weight_zero_points: Tensor | None,
    out: Tensor,
) -> Step:
    """`input` [M, K] times `weight` [K, N], an int8 matrix with a scale for each row. Allocates two results and the
    weight in the type of `input`.
    """
    ctx.work(input.numel * weight.sizes[1])

    def compute(x: Array, weight: Array, scales: Array) -> Array:
        return _products(x, weight, scales, out.dtype)

    return evaluated(compute, (input, weight, weight_scales), (out,), input.dtype)


@kernel("quantized_decomposed::mixed_linear.out")
@inferred(rules.mixed_linear)
def mixed_linear_out(
    ctx: PrepareContext,
    input: Tensor,
    weight: Tensor,
    weight_scales: Tensor,
    weight_zero_points: Tensor | None,
    dtype: int | None,
    out: Tensor,
) -> Step:
    """`input` [M, K] times the transpose of `weight` [N, K], an int8 matrix with a scale for each row. Allocates two
    results and the weight in the type of `input`.
    """
    ctx.work(input.numel * weight.sizes[0])

    def compute(x: Array, weight: Array, scales: Array) -> Array:
        return _products(x, np.ascontiguousarray(weight.T), None, out.dtype) * scales.astype(out.dtype)

    return evaluated(compute, (input, weight, weight_scales), (out,), input.dtype)
