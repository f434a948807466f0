"""Sums, products, means and lookups of quantized tensors, in integers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from et_ops.inference import integer as rules
from et_ops.inference.shapes import wrap_dims
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.integer.requantize import BLOCK, Coefficients, Grid, on_grid, requantized
from et_vm.kernels.portable.steps import chain
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor

_PASSES = 8


@kernel("integer::add.out")
@inferred(rules.add)
def add_out(
    ctx: PrepareContext,
    input: Tensor,
    input_scale: float,
    input_zero_point: int,
    other: Tensor,
    other_scale: float,
    other_zero_point: int,
    out_scale: float,
    out_zero_point: int,
    out_quant_min: int,
    out_quant_max: int,
    out: Tensor,
) -> Step:
    """`round((input - input_zero_point) * (input_scale / out_scale) + (other - other_zero_point) * (other_scale /
    out_scale)) + out_zero_point` in double precision, halves rounded to even; clamped to the limits. A negative scale
    subtracts. Scratch: two blocks of numbers of double precision.
    """
    grid = Grid(out_scale, out_zero_point, out_quant_min, out_quant_max)
    second = ctx.scratch(min(BLOCK, out.numel), np.float64)

    def total(a: Array, b: Array, wide: Array) -> None:
        other = second[: wide.size].reshape(wide.shape)
        np.copyto(wide, a)
        np.subtract(wide, input_zero_point, wide)
        np.multiply(wide, input_scale / out_scale, wide)
        np.copyto(other, b)
        np.subtract(other, other_zero_point, other)
        np.multiply(other, other_scale / out_scale, other)
        np.add(wide, other, wide)

    return _by_blocks(ctx, total, input.array, other.array, out.array, grid)


@kernel("integer::mul.out")
@inferred(rules.multiply)
def mul_out(
    ctx: PrepareContext,
    input: Tensor,
    input_scale: float,
    input_zero_point: int,
    other: Tensor,
    other_scale: float,
    other_zero_point: int,
    out_scale: float,
    out_zero_point: int,
    out_quant_min: int,
    out_quant_max: int,
    out: Tensor,
) -> Step:
    """`round((input - input_zero_point) * (other - other_zero_point) * (input_scale * other_scale / out_scale)) +
    out_zero_point` in double precision, the product of the integers being exact, halves rounded to even; clamped to
    the limits. Scratch: two blocks of numbers of double precision.
    """
    grid = Grid(out_scale, out_zero_point, out_quant_min, out_quant_max)
    second = ctx.scratch(min(BLOCK, out.numel), np.float64)
    factor = input_scale * other_scale / out_scale

    def product(a: Array, b: Array, wide: Array) -> None:
        other = second[: wide.size].reshape(wide.shape)
        np.copyto(wide, a)
        np.subtract(wide, input_zero_point, wide)
        np.copyto(other, b)
        np.subtract(other, other_zero_point, other)
        np.multiply(wide, other, wide)
        np.multiply(wide, factor, wide)

    return _by_blocks(ctx, product, input.array, other.array, out.array, grid)


def _by_blocks(
    ctx: PrepareContext,
    compute: Callable[[Array, Array, Array], None],
    a: Array,
    b: Array,
    out: Array,
    grid: Grid,
) -> Step:
    """The step that computes each block of a result in double precision and rounds it."""
    buffer, integers = (ctx.scratch(min(BLOCK, out.size), kind) for kind in (np.float64, np.int16))
    ctx.work(_PASSES * out.size)
    a, b = np.broadcast_to(a, out.shape), np.broadcast_to(b, out.shape)
    order = sorted(range(out.ndim), key=lambda axis: -out.strides[axis])
    parts: list[tuple[Array, Array, Array]] = []
    _split(parts, buffer.size, a.transpose(order), b.transpose(order), out.transpose(order), 0)
    blocks = [
        (*arrays, *(room[: arrays[2].size].reshape(arrays[2].shape) for room in (buffer, integers)))
        for arrays in parts
    ]

    def run() -> None:
        for first, second, target, wide, narrow in blocks:
            compute(first, second, wide)
            on_grid(wide, narrow, grid, target)

    return run, ()


def _split(
    parts: list[tuple[Array, Array, Array]], most: int, a: Array, b: Array, out: Array, axis: int
) -> None:
    if out.size <= most:
        parts.append((a, b, out))
        return
    count = max(1, most // (out.size // out.shape[axis]))
    before = (slice(None),) * axis
    for start in range(0, out.shape[axis], count):
        here = (*before, slice(start, start + count))
        _split(parts, most, a[here], b[here], out[here], axis + 1)


@kernel("integer::mean.dim_out")
@inferred(rules.mean)
def mean_dim_out(
    ctx: PrepareContext,
    input: Tensor,
    input_scale: float,
    input_zero_point: int,
    dim: list[int],
    keepdim: bool,
    out_scale: float,
    out_zero_point: int,
    out_quant_min: int,
    out_quant_max: int,
    out: Tensor,
) -> Step:
    """`round(Σ (input - input_zero_point) * (input_scale / (out_scale * count))) + out_zero_point`, the sum being exact
    and the rest in double precision, halves rounded to even; clamped to the limits. Without dimensions, all are
    reduced. Scratch: the sums.
    """
    grid = Grid(out_scale, out_zero_point, out_quant_min, out_quant_max)
    dims = wrap_dims(dim, input.array.ndim)
    count = math.prod(input.sizes[at] for at in dims)
    order = sorted(range(out.array.ndim), key=lambda axis: -out.array.strides[axis])
    sums = ctx.scratch([out.sizes[axis] for axis in order], np.int64)
    kept = sums.transpose(np.argsort(order)) if order else sums
    kept = kept.reshape([1 if at in dims else size for at, size in enumerate(input.sizes)])
    target = out.array.transpose(order).reshape(1, -1)
    factor = np.array([input_scale / (out_scale * count)])
    addend = np.array([-float(input_zero_point * count)])
    calls: list[Step] = [(_sum, (input.array, dims, kept))]
    ctx.work(input.numel)
    return chain(
        calls + requantized(ctx, sums.reshape(1, -1), target, grid, Coefficients(factor, None, addend), 0)
    )


def _sum(array: Array, dims: tuple[int, ...], out: Array) -> None:
    np.sum(array, axis=dims, dtype=np.int64, keepdims=True, out=out)


@kernel("integer::lookup.out")
@inferred(rules.lookup)
def lookup_out(ctx: PrepareContext, input: Tensor, table: Tensor, out: Tensor) -> Step:
    """The entry of `table` [256] for each number of `input`, the first being that of -128. Allocates a block of
    indices.
    """
    parts: list[tuple[Array, Array, Array]] = []
    order = sorted(range(out.array.ndim), key=lambda axis: -out.array.strides[axis])
    given, result = input.array.transpose(order), out.array.transpose(order)
    _split(parts, BLOCK, given, given, result, 0)
    pairs = [(one.view(np.uint8), target) for one, _, target in parts]
    ctx.work(2 * out.numel)
    entries = table.array

    def run() -> None:
        # As unsigned numbers, those from 0 come first.
        rolled = np.roll(entries, 128)
        for indices, target in pairs:
            np.take(rolled, indices, out=target, mode="wrap")

    return run, ()
