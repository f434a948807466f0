"""Random tensors. The numbers come from one generator of numpy's for all methods of the process, seeded by the
operating system until `seed` is called.

Torch's own sequences are not reproduced, its distributions are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from et_ops.inference.creation import (
    filled,
    like,
    randint,
    randint_from,
    randint_like,
    randint_like_from,
    randperm,
)
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import COMPLEX, FLOAT, INTEGER, check_kinds
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.promotion import kind
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


def drawn(out: Tensor, draw: Draw) -> Step:
    """The step that stores a new draw into `out` at each execution. Allocates the draw."""
    return _store, (draw, out.array)


def _store(draw: Draw, target: Array) -> None:
    np.copyto(target, draw(_Source.generator, target.shape), "unsafe")


def _precision(out: Tensor) -> type[np.float32] | type[np.float64]:
    return np.float64 if out.scalar_type == ScalarType.DOUBLE else np.float32


def _pairs(numbers: Array) -> Array:
    return numbers[0] + 1j * numbers[1]


def _uniform(ctx: PrepareContext, out: Tensor) -> Step:
    check_kinds(ctx, out.scalar_type, (FLOAT, COMPLEX), arg="out")
    if out.scalar_type.is_complex:
        return drawn(out, lambda rng, shape: _pairs(rng.random((2, *shape))))
    # Rounded to 16 bits a number near one would be one: take only as many bits as the type has.
    bits = {ScalarType.HALF: 11, ScalarType.BFLOAT16: 8}.get(out.scalar_type)
    if bits is not None:
        scale = np.float32(2.0**-bits)
        return drawn(out, lambda rng, shape: rng.integers(0, 1 << bits, shape).astype(np.float32) * scale)
    dtype = _precision(out)
    return drawn(out, lambda rng, shape: rng.random(shape, dtype))


def _normal(ctx: PrepareContext, out: Tensor) -> Step:
    check_kinds(ctx, out.scalar_type, (FLOAT, COMPLEX), arg="out")
    if out.scalar_type.is_complex:
        # Each part has half of the variance.
        return drawn(out, lambda rng, shape: _pairs(rng.standard_normal((2, *shape))) * np.sqrt(0.5))
    dtype = _precision(out)
    return drawn(out, lambda rng, shape: rng.standard_normal(shape, dtype))


@kernel("aten::rand.out")
@inferred(filled)
def rand_out(ctx: PrepareContext, size: list[int], out: Tensor) -> Step:
    """Uniform in [0, 1). Allocates the numbers."""
    return _uniform(ctx, out)


@kernel("aten::rand_like.out")
@inferred(like)
def rand_like_out(ctx: PrepareContext, self: Tensor, memory_format: int | None, out: Tensor) -> Step:
    """Uniform in [0, 1), in the shape of `self`. Allocates the numbers."""
    return _uniform(ctx, out)


@kernel("aten::randn.out")
@inferred(filled)
def randn_out(ctx: PrepareContext, size: list[int], out: Tensor) -> Step:
    """Normal with mean 0 and variance 1. Allocates the numbers."""
    return _normal(ctx, out)


@kernel("aten::randn_like.out")
@inferred(like)
def randn_like_out(ctx: PrepareContext, self: Tensor, memory_format: int | None, out: Tensor) -> Step:
    """Normal with mean 0 and variance 1, in the shape of `self`. Allocates the numbers."""
    return _normal(ctx, out)


def _limits(scalar_type: ScalarType) -> tuple[int, int]:
    """The range of integers that the type holds exactly."""
    if scalar_type == ScalarType.BOOL:
        return 0, 1
    if kind(scalar_type) == INTEGER:
        info = np.iinfo(numpy_dtype(scalar_type))
        return int(info.min), int(info.max)
    bits = {ScalarType.HALF: 11, ScalarType.BFLOAT16: 8, ScalarType.FLOAT: 24}.get(scalar_type, 53)
    return -(1 << bits), 1 << bits


def _integers(ctx: PrepareContext, low: int, high: int, out: Tensor) -> Step:
    ctx.check(low < high, arg="high", expected=f"a number above {low}", got=high)
    least, most = _limits(out.scalar_type)
    if kind(out.scalar_type) != FLOAT:
        ctx.check(
            low >= least, arg="low", expected=f"a number that {out.scalar_type.torch_name} holds", got=low
        )
        good = high - 1 <= most
        ctx.check(good, arg="high", expected=f"a bound that {out.scalar_type.torch_name} reaches", got=high)
    return drawn(out, lambda rng, shape: rng.integers(low, high, shape))


@kernel("aten::randint.out")
@inferred(randint)
def randint_out(ctx: PrepareContext, high: int, size: list[int], out: Tensor) -> Step:
    """Uniform integers in [0, `high`). Allocates them as int64."""
    return _integers(ctx, 0, high, out)


@kernel("aten::randint.low_out")
@inferred(randint_from)
def randint_low_out(ctx: PrepareContext, low: int, high: int, size: list[int], out: Tensor) -> Step:
    """Uniform integers in [`low`, `high`). Allocates them as int64."""
    return _integers(ctx, low, high, out)


@kernel("aten::randint_like.out")
@inferred(randint_like)
def randint_like_out(
    ctx: PrepareContext, self: Tensor, high: int, memory_format: int | None, out: Tensor
) -> Step:
    """Uniform integers in [0, `high`), in the shape of `self`. Allocates them as int64."""
    return _integers(ctx, 0, high, out)


@kernel("aten::randint_like.low_dtype_out")
@inferred(randint_like_from)
def randint_like_low_out(
    ctx: PrepareContext, self: Tensor, low: int, high: int, memory_format: int | None, out: Tensor
) -> Step:
    """Uniform integers in [`low`, `high`), in the shape of `self`. Allocates them as int64."""
    return _integers(ctx, low, high, out)


@kernel("aten::randint_like.Tensor_out")
@inferred(randint_like)
def randint_like_tensor_out(
    ctx: PrepareContext, self: Tensor, high: Tensor, memory_format: int | None, out: Tensor
) -> Step:
    """Uniform integers in [0, `high`), a tensor of one integer, in the shape of `self`. Allocates them as
    int64.
    """
    check_kinds(ctx, high.scalar_type, (INTEGER,), arg="high")
    ctx.check(high.numel == 1, arg="high", expected="one element", got=list(high.sizes))
    most = _limits(out.scalar_type)[1]
    return drawn(out, functools.partial(_below, ctx, high.array, most))


def _below(
    ctx: PrepareContext, high: Array, most: int, rng: np.random.Generator, shape: tuple[int, ...]
) -> Array:
    bound = int(high.item())
    ctx.check(0 < bound <= most + 1, arg="high", expected=f"a number in [1, {most + 1}]", got=bound)
    return rng.integers(0, bound, shape)


@kernel("aten::random.out")
@inferred(like)
def random_out(ctx: PrepareContext, self: Tensor, generator: None, out: Tensor) -> Step:
    """Uniform integers from 0 to the largest that `out` holds exactly. Allocates them as int64."""
    most = _limits(out.scalar_type)[1]
    return drawn(out, lambda rng, shape: rng.integers(0, most, shape, endpoint=True))


@kernel("aten::random.to_out")
@inferred(like)
def random_to_out(ctx: PrepareContext, self: Tensor, to: int, generator: None, out: Tensor) -> Step:
    """Uniform integers in [0, `to`). Allocates them as int64."""
    return _integers(ctx, 0, to, out)


@kernel("aten::random.from_out")
@inferred(like)
def random_from_out(
    ctx: PrepareContext, self: Tensor, from_: int, to: int | None, generator: None, out: Tensor
) -> Step:
    """Uniform integers in [`from_`, `to`), or up to the largest of the type. Allocates them as int64."""
    return _integers(ctx, from_, _limits(out.scalar_type)[1] + 1 if to is None else to, out)


@kernel("aten::randperm.out")
@inferred(randperm)
def randperm_out(ctx: PrepareContext, n: int, out: Tensor) -> Step:
    """The numbers 0 to `n` - 1 in random order. Allocates them as int64."""
    most = _limits(out.scalar_type)[1]
    good = n <= most + 1 and out.scalar_type != ScalarType.BOOL
    ctx.check(good, arg="n", expected=f"a number of elements that {out.scalar_type.torch_name} counts", got=n)
    return drawn(out, lambda rng, shape: rng.permutation(n))
