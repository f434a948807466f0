"""Tensors made of nothing but their arguments."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import (
    COMPLEX,
    FLOAT,
    INTEGER,
    check_kinds,
    check_type,
    checked_constant,
    constant,
)
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.movement.move import move
from et_vm.kernels.portable.promotion import REDUCED, kind
from et_vm.kernels.portable.steps import NOTHING, chain, copy
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Array, Tensor


def _check_size(ctx: PrepareContext, size: Sequence[int]) -> None:
    ctx.check(all(extent >= 0 for extent in size), arg="size", expected="non-negative sizes", got=list(size))


def _fill(ctx: PrepareContext, size: Sequence[int], value: Array, out: Tensor) -> Step:
    out.resize(size)
    return copy(value, out.array) if out.array.size else NOTHING


def _number(ctx: PrepareContext, value: Scalar, size: Sequence[int], out: Tensor, *, arg: str) -> Array:
    """The fill value for `out` of `size`. Torch makes an infinity of a number that is too large for a 16-bit
    float where it makes a single element, and refuses it elsewhere.
    """
    if math.prod(size) == 1 and out.scalar_type in REDUCED:
        return constant(value, out.scalar_type)
    return checked_constant(ctx, value, out.scalar_type, arg=arg)


@kernel("aten::full.out")
def full_out(ctx: PrepareContext, size: list[int], fill_value: Scalar, out: Tensor) -> Step:
    """`fill_value` everywhere."""
    _check_size(ctx, size)
    return _fill(ctx, size, _number(ctx, fill_value, size, out, arg="fill_value"), out)


@kernel("aten::full_like.out")
def full_like_out(
    ctx: PrepareContext, self: Tensor, fill_value: Scalar, memory_format: int | None, out: Tensor
) -> Step:
    """`fill_value` everywhere, in the shape of `self`."""
    return _fill(ctx, self.sizes, _number(ctx, fill_value, self.sizes, out, arg="fill_value"), out)


@kernel("aten::new_full.out")
def new_full_out(ctx: PrepareContext, self: Tensor, size: list[int], fill_value: Scalar, out: Tensor) -> Step:
    """`fill_value` everywhere."""
    return full_out(ctx, size, fill_value, out)


@kernel("aten::fill.Scalar_out")
def fill_scalar_out(ctx: PrepareContext, self: Tensor, value: Scalar, out: Tensor) -> Step:
    """`value` everywhere, in the shape of `self`."""
    check_type(ctx, self.scalar_type, out, arg="out")
    return _fill(ctx, self.sizes, _number(ctx, value, self.sizes, out, arg="value"), out)


@kernel("aten::fill.Tensor_out")
def fill_tensor_out(ctx: PrepareContext, self: Tensor, value: Tensor, out: Tensor) -> Step:
    """The one element of `value` everywhere, in the shape of `self`."""
    ctx.check(value.numel == 1, arg="value", expected="one element", got=list(value.sizes))
    check_type(ctx, self.scalar_type, out, arg="out")
    out.resize(self.sizes)
    return move(ctx, np.broadcast_to(value.array.reshape(()), self.sizes), out.array)


@kernel("aten::zeros.out")
def zeros_out(ctx: PrepareContext, size: list[int], out: Tensor) -> Step:
    """Zeros."""
    _check_size(ctx, size)
    return _fill(ctx, size, constant(0, out.scalar_type), out)


@kernel("aten::ones.out")
def ones_out(ctx: PrepareContext, size: list[int], out: Tensor) -> Step:
    """Ones."""
    _check_size(ctx, size)
    return _fill(ctx, size, constant(1, out.scalar_type), out)


@kernel("aten::zeros_like.out")
def zeros_like_out(ctx: PrepareContext, self: Tensor, memory_format: int | None, out: Tensor) -> Step:
    """Zeros, in the shape of `self`."""
    return _fill(ctx, self.sizes, constant(0, out.scalar_type), out)


@kernel("aten::ones_like.out")
def ones_like_out(ctx: PrepareContext, self: Tensor, memory_format: int | None, out: Tensor) -> Step:
    """Ones, in the shape of `self`."""
    return _fill(ctx, self.sizes, constant(1, out.scalar_type), out)


@kernel("aten::new_zeros.out")
def new_zeros_out(ctx: PrepareContext, self: Tensor, size: list[int], out: Tensor) -> Step:
    """Zeros."""
    return zeros_out(ctx, size, out)


@kernel("aten::new_ones.out")
def new_ones_out(ctx: PrepareContext, self: Tensor, size: list[int], out: Tensor) -> Step:
    """Ones."""
    return ones_out(ctx, size, out)


@kernel("aten::empty.out")
def empty_out(ctx: PrepareContext, size: list[int], memory_format: int | None, out: Tensor) -> Step:
    """Memory as it is."""
    _check_size(ctx, size)
    out.resize(size)
    return NOTHING


@kernel("aten::empty_like.out")
def empty_like_out(ctx: PrepareContext, self: Tensor, memory_format: int | None, out: Tensor) -> Step:
    """Memory as it is, in the shape of `self`."""
    out.resize(self.sizes)
    return NOTHING


@kernel("aten::new_empty.out")
def new_empty_out(ctx: PrepareContext, self: Tensor, size: list[int], out: Tensor) -> Step:
    """Memory as it is."""
    return empty_out(ctx, size, None, out)


@kernel("aten::empty_strided.out")
def empty_strided_out(ctx: PrepareContext, size: list[int], stride: list[int], out: Tensor) -> Step:
    """Memory as it is, laid out as `out` was planned: its strides are those of a dim order."""
    good = len(stride) == len(size) and all(step >= 0 for step in stride)
    ctx.check(good, arg="stride", expected=f"{len(size)} non-negative strides", got=stride)
    return empty_out(ctx, size, None, out)


@kernel("aten::new_empty_strided.out")
def new_empty_strided_out(
    ctx: PrepareContext, self: Tensor, size: list[int], stride: list[int], out: Tensor
) -> Step:
    """Memory as it is, laid out as `out` was planned."""
    return empty_strided_out(ctx, size, stride, out)


@kernel("aten::empty_permuted.out")
def empty_permuted_out(ctx: PrepareContext, size: list[int], physical_layout: list[int], out: Tensor) -> Step:
    """Memory as it is, laid out as `out` was planned."""
    good = sorted(physical_layout) == list(range(len(size)))
    ctx.check(
        good, arg="physical_layout", expected=f"an order of {len(size)} dimensions", got=physical_layout
    )
    return empty_out(ctx, size, None, out)


@kernel("dim_order_ops::_empty_dim_order.out")
def empty_dim_order_out(
    ctx: PrepareContext, size: list[int], dim_order: list[int] | None, out: Tensor
) -> Step:
    """Memory as it is, laid out as `dim_order`."""
    _check_size(ctx, size)
    if dim_order is not None and tuple(dim_order) != out.dim_order:
        raise ctx.trap(arg="out", expected=f"dim order {dim_order}", got=list(out.dim_order))
    out.resize(size)
    return NOTHING


@kernel("aten::scalar_tensor.out")
def scalar_tensor_out(ctx: PrepareContext, s: Scalar, out: Tensor) -> Step:
    """The number `s` as a 0-d tensor."""
    return _fill(ctx, (), _number(ctx, s, (), out, arg="s"), out)


@kernel("aten::arange.out")
def arange_out(ctx: PrepareContext, end: Scalar, out: Tensor) -> Step:
    """0, 1, 2, ... below `end`."""
    return arange_start_out(ctx, 0, end, 1, out)


@kernel("aten::arange.start_out")
def arange_start_out(ctx: PrepareContext, start: Scalar, end: Scalar, step: Scalar, out: Tensor) -> Step:
    """`start`, `start + step`, ... below `end`. Integers are counted exactly, floats in float64."""
    for arg, value in (("start", start), ("end", end), ("step", step)):
        ctx.check(math.isfinite(value), arg=arg, expected="a finite number", got=value)
    ctx.check(step != 0, arg="step", expected="a step other than zero", got=step)
    ctx.check(
        (end - start) * step >= 0, arg="end", expected=f"a bound in the direction of step {step}", got=end
    )
    check_kinds(ctx, out.scalar_type, (INTEGER, FLOAT), arg="out")
    if kind(out.scalar_type) == INTEGER:
        first, last, by = int(start), int(end), int(step)
        ctx.check(by != 0, arg="step", expected="an integer step other than zero", got=step)
        # Torch drops fractions before it counts in int64, and afterwards in narrower types.
        whole = out.dtype == np.int64 or all(isinstance(value, int) for value in (start, end, step))
        count = max(-((first - last) // by), 0) if whole else _steps(ctx, start, end, step)
    else:
        first, by = float(start), float(step)
        count = _steps(ctx, first, float(end), by)
    out.resize((count,))
    build = functools.partial(_progression, first, by, count, numpy_dtype(out.scalar_type))
    return copy(ctx.memo((first, by, count), build), out.array) if count else NOTHING


def _steps(ctx: PrepareContext, start: Scalar, end: Scalar, step: Scalar) -> int:
    steps = (end - start) / step
    ctx.check(math.isfinite(steps), arg="end", expected="a bound in reach", got=end)
    return math.ceil(steps)


def _progression(first: float, by: float, count: int, dtype: np.dtype[np.generic]) -> Array:
    exact = np.int64 if isinstance(first, int) else np.float64
    return (np.arange(count, dtype=exact) * by + first).astype(dtype)


@kernel("aten::eye.out")
def eye_out(ctx: PrepareContext, n: int, out: Tensor) -> Step:
    """The identity matrix of order `n`."""
    return eye_m_out(ctx, n, n, out)


@kernel("aten::eye.m_out")
def eye_m_out(ctx: PrepareContext, n: int, m: int, out: Tensor) -> Step:
    """`n` rows by `m` columns, ones on the diagonal."""
    _check_size(ctx, (n, m))
    out.resize((n, m))
    array = out.array
    if not array.size:
        return NOTHING
    diagonal = np.lib.stride_tricks.as_strided(array, (min(n, m),), (sum(array.strides),))
    return chain([copy(constant(0, out.scalar_type), array), copy(constant(1, out.scalar_type), diagonal)])


_SPLIT = 2.0**27 + 1


@kernel("aten::linspace.out")
def linspace_out(ctx: PrepareContext, start: Scalar, end: Scalar, steps: int, out: Tensor) -> Step:
    """`steps` numbers from `start` to `end`, both included; of integers the ends are rounded towards zero first
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
    """`steps` > 0 numbers of `scalar_type`, between ends of that type. Like torch's they are counted from both
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
    """`addend` + `step` * `count` with one rounding, for counts below 2^26: the error of the product by Dekker's
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
