"""Sums, embeddings and products of quantized tensors."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import check_rank, check_same_type, check_shape, check_type
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.indexing.index import check_index, check_range
from et_vm.kernels.portable.promotion import promote
from et_vm.kernels.portable.quantized.quantize import check_quantized, clamped, rounded
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Array, Tensor

_SCALES = (ScalarType.FLOAT, ScalarType.HALF, ScalarType.BFLOAT16)


@kernel("quantized_decomposed::add.out")
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
    limits = ((a_quant_min, a_quant_max), (b_quant_min, b_quant_max), (out_quant_min, out_quant_max))
    for least, most in limits:
        check_quantized(ctx, a.scalar_type, least, most)
    check_same_type(ctx, a, ("b", b), ("out", out))
    check_shape(ctx, b, a.sizes, arg="b")
    ctx.check(out_scale != 0, arg="out_scale", expected="a number other than zero", got=out_scale)
    out.resize(a.sizes)

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
    limits: tuple[int, int],
    indices: Tensor,
    dtype: int | None,
    bits: int,
    out: Tensor,
) -> Step:
    """Rows are unpacked and restored after they have been chosen."""
    check_rank(ctx, weight, 2, arg="weight")
    packed = bits < 8
    good = weight.scalar_type == ScalarType.BYTE or (not packed and weight.scalar_type == ScalarType.CHAR)
    wanted = "uint8" if packed else "int8 or uint8"
    ctx.check(good, arg="weight", expected=wanted, got=weight.scalar_type.torch_name)
    if packed:
        range_ = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        ctx.check(limits == range_, arg="weight_quant_min", expected=list(range_), got=list(limits))
    else:
        check_quantized(ctx, weight.scalar_type, *limits)
    good = scales.scalar_type in _SCALES
    ctx.check(good, arg="weight_scales", expected="a float type", got=scales.scalar_type.torch_name)
    check_same_type(ctx, scales, ("weight_zero_points", zero_points))
    check_rank(ctx, scales, 1, 2, arg="weight_scales")
    check_index(ctx, indices, arg="indices")
    rows, width = weight.sizes[0], weight.sizes[1] * (8 // bits)
    groups = scales.sizes[1] if len(scales.sizes) == 2 else 1
    good = scales.sizes[0] == rows and groups > 0 and width % groups == 0
    ctx.check(good, arg="weight_scales", expected=f"{rows} rows of groups of {width}", got=list(scales.sizes))
    good = zero_points is None or zero_points.sizes == scales.sizes
    got = None if zero_points is None else list(zero_points.sizes)
    ctx.check(good, arg="weight_zero_points", expected=f"shape {list(scales.sizes)}", got=got)
    kind = scales.scalar_type if dtype is None else ScalarType(dtype)
    check_type(ctx, kind, out, arg="out")
    out.resize((*indices.sizes, width))
    kinds = (weight.scalar_type if not packed else ScalarType.CHAR, scales.scalar_type)
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
        limits = (weight_quant_min, weight_quant_max)
        return _embedding(ctx, weight, weight_scales, weight_zero_points, limits, indices, None, bits, out)

    @kernel(f"quantized_decomposed::{name}.dtype_out")
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
        limits = (weight_quant_min, weight_quant_max)
        return _embedding(ctx, weight, weight_scales, weight_zero_points, limits, indices, dtype, bits, out)

    for function in (plain, typed):
        function.__doc__ = (
            f"Rows of a table [N, D * {bits} / 8] of {bits}-bit numbers, restored with scales and zero points [N] "
            "or [N, groups]; ``indices`` of any shape. Allocates the rows that are named."
        )


for _name, _bits in (("embedding_byte", 8), ("embedding_4bit", 4), ("embedding_2bit", 2)):
    _declare_embeddings(_name, _bits)


def _check_mixed(
    ctx: PrepareContext, input: Tensor, weight: Tensor, scales: Tensor, zero_points: Tensor | None
) -> None:
    check_rank(ctx, input, 2, arg="input")
    check_rank(ctx, weight, 2, arg="weight")
    good = input.scalar_type in (ScalarType.FLOAT, ScalarType.HALF)
    ctx.check(good, arg="input", expected="float32 or float16", got=input.scalar_type.torch_name)
    check_type(ctx, ScalarType.CHAR, weight, arg="weight")
    check_same_type(ctx, input, ("weight_scales", scales))
    # The operator has a place for zero points, and no meaning.
    ctx.check(zero_points is None, arg="weight_zero_points", expected="None", got="a tensor")


@kernel("quantized_decomposed::mixed_mm.out")
def mixed_mm_out(
    ctx: PrepareContext,
    input: Tensor,
    weight: Tensor,
    weight_scales: Tensor,
    weight_zero_points: Tensor | None,
    out: Tensor,
) -> Step:
    """`input` [M, K] times `weight` [K, N], an int8 matrix with a scale for each row. Allocates the
    restored weight.
    """
    _check_mixed(ctx, input, weight, weight_scales, weight_zero_points)
    check_type(ctx, input.scalar_type, out, arg="out")
    check_shape(ctx, weight_scales, weight.sizes[:1], arg="weight_scales")
    good = weight.sizes[0] == input.sizes[1]
    ctx.check(good, arg="weight", expected=f"{input.sizes[1]} rows", got=list(weight.sizes))
    out.resize((input.sizes[0], weight.sizes[1]))

    ctx.work(input.numel * weight.sizes[1])

    def compute(x: Array, weight: Array, scales: Array) -> Array:
        return x @ (weight * scales[:, None])

    return evaluated(compute, (input, weight, weight_scales), (out,))


@kernel("quantized_decomposed::mixed_linear.out")
def mixed_linear_out(
    ctx: PrepareContext,
    input: Tensor,
    weight: Tensor,
    weight_scales: Tensor,
    weight_zero_points: Tensor | None,
    dtype: int | None,
    out: Tensor,
) -> Step:
    """`input` [M, K] times the transpose of `weight` [N, K], an int8 matrix with a scale for each row.
    Allocates the restored weight.
    """
    _check_mixed(ctx, input, weight, weight_scales, weight_zero_points)
    kind = input.scalar_type if dtype is None else ScalarType(dtype)
    check_type(ctx, kind, out, arg="out")
    check_shape(ctx, weight_scales, weight.sizes[:1], arg="weight_scales")
    good = weight.sizes[1] == input.sizes[1]
    ctx.check(good, arg="weight", expected=f"{input.sizes[1]} columns", got=list(weight.sizes))
    out.resize((input.sizes[0], weight.sizes[0]))

    ctx.work(input.numel * weight.sizes[0])

    def compute(x: Array, weight: Array, scales: Array) -> Array:
        return x @ (weight * scales[:, None]).T

    return evaluated(compute, (input, weight, weight_scales), (out,))
