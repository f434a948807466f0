"""Tensors made of nothing but their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from et_ops.inference import creation as rules
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import COMPLEX, FLOAT, INTEGER, check_dim_order, constant
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.movement.move import move
from et_vm.kernels.portable.promotion import kind
from et_vm.kernels.portable.steps import NOTHING, chain, copy
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor, strided_view


def _fill(value: Scalar, out: Tensor) -> Step:
    return copy(constant(value, out.scalar_type), out.array)


@kernel("aten::full.out", any_type=True)
@inferred(rules.full)
def full_out(ctx: PrepareContext, size: list[int], fill_value: Scalar, out: Tensor) -> Step:
    """`fill_value` everywhere."""
    return _fill(fill_value, out)


@kernel("aten::full_like.out", any_type=True)
@inferred(rules.full_like)
def full_like_out(
    ctx: PrepareContext, self: Tensor, fill_value: Scalar, memory_format: int | None, out: Tensor
) -> Step:
    """`fill_value` everywhere, in the shape of `self`."""
    return _fill(fill_value, out)


@kernel("aten::new_full.out", any_type=True)
@inferred(rules.new_full)
def new_full_out(ctx: PrepareContext, self: Tensor, size: list[int], fill_value: Scalar, out: Tensor) -> Step:
    """`fill_value` everywhere."""
    return _fill(fill_value, out)


@kernel("aten::fill.Scalar_out", any_type=True)
@inferred(rules.fill)
def fill_scalar_out(ctx: PrepareContext, self: Tensor, value: Scalar, out: Tensor) -> Step:
    """`value` everywhere, in the shape of `self`."""
    return _fill(value, out)


@kernel("aten::fill.Tensor_out", any_type=True)
@inferred(rules.fill_with_tensor)
def fill_tensor_out(ctx: PrepareContext, self: Tensor, value: Tensor, out: Tensor) -> Step:
    """The one element of `value` everywhere, in the shape of `self`."""
    return move(ctx, np.broadcast_to(value.array.reshape(()), self.sizes), out.array)


def _declare_filled(name: str, number: int) -> None:
    @kernel(f"aten::{name}.out", any_type=True)
    @inferred(rules.filled)
    def filled(ctx: PrepareContext, size: list[int], out: Tensor) -> Step:  # pyright: ignore[reportUnusedFunction]
        """Zeros, or ones."""
        return _fill(number, out)

    @kernel(f"aten::{name}_like.out", any_type=True)
    @inferred(rules.like)
    def like(  # pyright: ignore[reportUnusedFunction]
        ctx: PrepareContext, self: Tensor, memory_format: int | None, out: Tensor
    ) -> Step:
        """Zeros, or ones, in the shape of `self`."""
        return _fill(number, out)

    @kernel(f"aten::new_{name}.out", any_type=True)
    @inferred(rules.new_filled)
    def new(  # pyright: ignore[reportUnusedFunction]
        ctx: PrepareContext, self: Tensor, size: list[int], out: Tensor
    ) -> Step:
        """Zeros, or ones."""
        return _fill(number, out)


for _name, _number in (("zeros", 0), ("ones", 1)):
    _declare_filled(_name, _number)


@kernel("aten::empty.out", any_type=True)
@inferred(rules.filled)
def empty_out(ctx: PrepareContext, size: list[int], memory_format: int | None, out: Tensor) -> Step:
    """Memory as it is."""
    return NOTHING


@kernel("aten::empty_like.out", any_type=True)
@inferred(rules.like)
def empty_like_out(ctx: PrepareContext, self: Tensor, memory_format: int | None, out: Tensor) -> Step:
    """Memory as it is, in the shape of `self`."""
    return NOTHING


@kernel("aten::new_empty.out", any_type=True)
@inferred(rules.new_filled)
def new_empty_out(ctx: PrepareContext, self: Tensor, size: list[int], out: Tensor) -> Step:
    """Memory as it is."""
    return NOTHING


@kernel("aten::empty_strided.out", any_type=True)
@inferred(rules.empty_strided)
def empty_strided_out(ctx: PrepareContext, size: list[int], stride: list[int], out: Tensor) -> Step:
    """Memory as it is, laid out as `out` was planned: its strides are those of a dim order."""
    return NOTHING


@kernel("aten::new_empty_strided.out", any_type=True)
@inferred(rules.new_empty_strided)
def new_empty_strided_out(
    ctx: PrepareContext, self: Tensor, size: list[int], stride: list[int], out: Tensor
) -> Step:
    """Memory as it is, laid out as `out` was planned."""
    return NOTHING


@kernel("aten::empty_permuted.out", any_type=True)
@inferred(rules.empty_permuted)
def empty_permuted_out(ctx: PrepareContext, size: list[int], physical_layout: list[int], out: Tensor) -> Step:
    """Memory as it is, laid out as `out` was planned."""
    return NOTHING


@kernel("dim_order_ops::_empty_dim_order.out", any_type=True)
@check_dim_order
@inferred(rules.filled)
def empty_dim_order_out(
    ctx: PrepareContext, size: list[int], dim_order: list[int] | None, out: Tensor
) -> Step:
    """Memory as it is, laid out as `dim_order`."""
    return NOTHING


@kernel("aten::scalar_tensor.out", any_type=True)
@inferred(rules.scalar_tensor)
def scalar_tensor_out(ctx: PrepareContext, s: Scalar, out: Tensor) -> Step:
    """The number `s` as a 0-d tensor."""
    return _fill(s, out)


@kernel("aten::arange.out")
@inferred(rules.arange_end, kinds=(INTEGER, FLOAT))
def arange_out(ctx: PrepareContext, end: Scalar, out: Tensor) -> Step:
    """0, 1, 2, ... below `end`."""
    return _progression(ctx, 0, 1, out)


@kernel("aten::arange.start_out")
@inferred(rules.arange, kinds=(INTEGER, FLOAT))
def arange_start_out(ctx: PrepareContext, start: Scalar, end: Scalar, step: Scalar, out: Tensor) -> Step:
    """`start`, `start + step`, ... below `end`. Integers are counted exactly, floats in float64."""
    return _progression(ctx, start, step, out)


def _progression(ctx: PrepareContext, start: Scalar, step: Scalar, out: Tensor) -> Step:
    exact = int if kind(out.scalar_type) == INTEGER else float
    (count,) = out.sizes
    first, by = exact(start), exact(step)

    def build() -> Array:
        places = np.arange(count, dtype=np.int64 if exact is int else np.float64)
        return (places * by + first).astype(numpy_dtype(out.scalar_type))

    return copy(ctx.memo((first, by, count), build), out.array)


@kernel("aten::eye.out", any_type=True)
@inferred(rules.eye)
def eye_out(ctx: PrepareContext, n: int, out: Tensor) -> Step:
    """The identity matrix of order `n`."""
    return _identity(out)


@kernel("aten::eye.m_out", any_type=True)
@inferred(rules.eye_rectangular)
def eye_m_out(ctx: PrepareContext, n: int, m: int, out: Tensor) -> Step:
    """`n` rows by `m` columns, ones on the diagonal."""
    return _identity(out)


def _identity(out: Tensor) -> Step:
    array = out.array
    diagonal = strided_view(array, (min(array.shape),), (sum(array.strides),))
    return chain([copy(constant(0, out.scalar_type), array), copy(constant(1, out.scalar_type), diagonal)])


_SPLIT = 2.0**27 + 1


@kernel("aten::linspace.out")
@inferred(rules.linspace, kinds=(INTEGER, FLOAT, COMPLEX))
def linspace_out(ctx: PrepareContext, start: Scalar, end: Scalar, steps: int, out: Tensor) -> Step:
    """`steps` numbers from `start` to `end`, both included; of integers the ends are rounded towards zero first
    and the numbers between them after. Made when the call is prepared.
    """
    if kind(out.scalar_type) == INTEGER:
        start, end = (int(constant(number, out.scalar_type).item()) for number in (start, end))
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
