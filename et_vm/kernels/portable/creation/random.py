"""Random tensors. The numbers come from one generator of numpy's for all methods of the process, seeded by the
operating system until `seed` is called.

Torch's own sequences are not reproduced, its distributions are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import COMPLEX, FLOAT, INTEGER, check_kinds
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.promotion import kind
from et_vm.kernels.portable.steps import NOTHING
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor

Draw: TypeAlias = Callable[[np.random.Generator, tuple[int, ...]], Array]
"""From the generator and a shape to the numbers."""


class _Source:
    """The generator in use."""

    generator = np.random.default_rng()


def seed(value: int) -> None:
    """Restart the sequence of random numbers at `value`, for all methods of the process."""
    _Source.generator = np.random.default_rng(value)


def fill_uniform(target: Array) -> None:
    """Store float64 numbers in [0, 1) into the contiguous `target`."""
    _Source.generator.random(None, np.float64, target)


def drawn(size: Sequence[int], out: Tensor, draw: Draw) -> Step:
    """The step that resizes `out` to `size` now, and stores a new draw at each execution. Allocates the
    draw.
    """
    out.resize(size)
    if not out.array.size:
        return NOTHING
    return _store, (draw, out.array)


def _store(draw: Draw, target: Array) -> None:
    np.copyto(target, draw(_Source.generator, target.shape), "unsafe")


def check_size(ctx: PrepareContext, size: Sequence[int]) -> None:
    """No size is negative."""
    ctx.check(all(extent >= 0 for extent in size), arg="size", expected="non-negative sizes", got=list(size))


def _precision(out: Tensor) -> type[np.float32] | type[np.float64]:
    return np.float64 if out.scalar_type == ScalarType.DOUBLE else np.float32


def _pairs(numbers: Array) -> Array:
    return numbers[0] + 1j * numbers[1]


def _uniform(ctx: PrepareContext, size: Sequence[int], out: Tensor) -> Step:
    check_kinds(ctx, out.scalar_type, (FLOAT, COMPLEX), arg="out")
    check_size(ctx, size)
    if out.scalar_type.is_complex:
        return drawn(size, out, lambda rng, shape: _pairs(rng.random((2, *shape))))
    # Rounded to 16 bits a number near one would be one: take only as many bits as the type has.
    bits = {ScalarType.HALF: 11, ScalarType.BFLOAT16: 8}.get(out.scalar_type)
    if bits is not None:
        scale = np.float32(2.0**-bits)
        return drawn(
            size, out, lambda rng, shape: rng.integers(0, 1 << bits, shape).astype(np.float32) * scale
        )
    dtype = _precision(out)
    return drawn(size, out, lambda rng, shape: rng.random(shape, dtype))


def _normal(ctx: PrepareContext, size: Sequence[int], out: Tensor) -> Step:
    check_kinds(ctx, out.scalar_type, (FLOAT, COMPLEX), arg="out")
    check_size(ctx, size)
    if out.scalar_type.is_complex:
        # Each part has half of the variance.
        return drawn(size, out, lambda rng, shape: _pairs(rng.standard_normal((2, *shape))) * np.sqrt(0.5))
    dtype = _precision(out)
    return drawn(size, out, lambda rng, shape: rng.standard_normal(shape, dtype))


@kernel("aten::rand.out")
def rand_out(ctx: PrepareContext, size: list[int], out: Tensor) -> Step:
    """Uniform in [0, 1). Allocates the numbers."""
    return _uniform(ctx, size, out)


@kernel("aten::rand_like.out")
def rand_like_out(ctx: PrepareContext, self: Tensor, memory_format: int | None, out: Tensor) -> Step:
    """Uniform in [0, 1), in the shape of `self`. Allocates the numbers."""
    return _uniform(ctx, self.sizes, out)


@kernel("aten::randn.out")
def randn_out(ctx: PrepareContext, size: list[int], out: Tensor) -> Step:
    """Normal with mean 0 and variance 1. Allocates the numbers."""
    return _normal(ctx, size, out)


@kernel("aten::randn_like.out")
def randn_like_out(ctx: PrepareContext, self: Tensor, memory_format: int | None, out: Tensor) -> Step:
    """Normal with mean 0 and variance 1, in the shape of `self`. Allocates the numbers."""
    return _normal(ctx, self.sizes, out)


def _limits(scalar_type: ScalarType) -> tuple[int, int]:
    """The range of integers that the type holds exactly."""
    if scalar_type == ScalarType.BOOL:
        return 0, 1
    if kind(scalar_type) == INTEGER:
        info = np.iinfo(numpy_dtype(scalar_type))
        return int(info.min), int(info.max)
    bits = {ScalarType.HALF: 11, ScalarType.BFLOAT16: 8, ScalarType.FLOAT: 24}.get(scalar_type, 53)
    return -(1 << bits), 1 << bits


def _integers(ctx: PrepareContext, low: int, high: int, size: Sequence[int], out: Tensor) -> Step:
    check_size(ctx, size)
    ctx.check(low < high, arg="high", expected=f"a number above {low}", got=high)
    least, most = _limits(out.scalar_type)
    if kind(out.scalar_type) != FLOAT:
        ctx.check(
            low >= least, arg="low", expected=f"a number that {out.scalar_type.torch_name} holds", got=low
        )
        good = high - 1 <= most
        ctx.check(good, arg="high", expected=f"a bound that {out.scalar_type.torch_name} reaches", got=high)
    return drawn(size, out, lambda rng, shape: rng.integers(low, high, shape))


@kernel("aten::randint.out")
def randint_out(ctx: PrepareContext, high: int, size: list[int], out: Tensor) -> Step:
    """Uniform integers in [0, `high`). Allocates them as int64."""
    return _integers(ctx, 0, high, size, out)


@kernel("aten::randint.low_out")
def randint_low_out(ctx: PrepareContext, low: int, high: int, size: list[int], out: Tensor) -> Step:
    """Uniform integers in [`low`, `high`). Allocates them as int64."""
    return _integers(ctx, low, high, size, out)


@kernel("aten::randint_like.out")
def randint_like_out(
    ctx: PrepareContext, self: Tensor, high: int, memory_format: int | None, out: Tensor
) -> Step:
    """Uniform integers in [0, `high`), in the shape of `self`. Allocates them as int64."""
    return _integers(ctx, 0, high, self.sizes, out)


@kernel("aten::randint_like.low_dtype_out")
def randint_like_low_out(
    ctx: PrepareContext, self: Tensor, low: int, high: int, memory_format: int | None, out: Tensor
) -> Step:
    """Uniform integers in [`low`, `high`), in the shape of `self`. Allocates them as int64."""
    return _integers(ctx, low, high, self.sizes, out)


@kernel("aten::randint_like.Tensor_out")
def randint_like_tensor_out(
    ctx: PrepareContext, self: Tensor, high: Tensor, memory_format: int | None, out: Tensor
) -> Step:
    """Uniform integers in [0, `high`), a tensor of one integer, in the shape of `self`. Allocates them as
    int64.
    """
    check_kinds(ctx, high.scalar_type, (INTEGER,), arg="high")
    ctx.check(high.numel == 1, arg="high", expected="one element", got=list(high.sizes))
    most = _limits(out.scalar_type)[1]
    return drawn(self.sizes, out, functools.partial(_below, ctx, high.array, most))


def _below(
    ctx: PrepareContext, high: Array, most: int, rng: np.random.Generator, shape: tuple[int, ...]
) -> Array:
    bound = int(high.item())
    ctx.check(0 < bound <= most + 1, arg="high", expected=f"a number in [1, {most + 1}]", got=bound)
    return rng.integers(0, bound, shape)


@kernel("aten::random.out")
def random_out(ctx: PrepareContext, self: Tensor, generator: None, out: Tensor) -> Step:
    """Uniform integers from 0 to the largest that `out` holds exactly. Allocates them as int64."""
    most = _limits(out.scalar_type)[1]
    return drawn(self.sizes, out, lambda rng, shape: rng.integers(0, most, shape, endpoint=True))


@kernel("aten::random.to_out")
def random_to_out(ctx: PrepareContext, self: Tensor, to: int, generator: None, out: Tensor) -> Step:
    """Uniform integers in [0, `to`). Allocates them as int64."""
    return _integers(ctx, 0, to, self.sizes, out)


@kernel("aten::random.from_out")
def random_from_out(
    ctx: PrepareContext, self: Tensor, from_: int, to: int | None, generator: None, out: Tensor
) -> Step:
    """Uniform integers in [`from_`, `to`), or up to the largest of the type. Allocates them as int64."""
    return _integers(ctx, from_, _limits(out.scalar_type)[1] + 1 if to is None else to, self.sizes, out)


@kernel("aten::randperm.out")
def randperm_out(ctx: PrepareContext, n: int, out: Tensor) -> Step:
    """The numbers 0 to `n` - 1 in random order. Allocates them as int64."""
    ctx.check(n >= 0, arg="n", expected="a non-negative number", got=n)
    most = _limits(out.scalar_type)[1]
    good = n <= most + 1 and out.scalar_type != ScalarType.BOOL
    ctx.check(good, arg="n", expected=f"a number of elements that {out.scalar_type.torch_name} counts", got=n)
    return drawn((n,), out, lambda rng, shape: rng.permutation(n))
