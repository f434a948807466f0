"""Discrete Fourier transforms, by numpy's pocketfft, which allocates its result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import FLOAT, check_kinds, check_type, dimensions
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor

_COMPLEX = {ScalarType.FLOAT: ScalarType.COMPLEXFLOAT, ScalarType.DOUBLE: ScalarType.COMPLEXDOUBLE}
_REAL = {complex_: real for real, complex_ in _COMPLEX.items()}

# torch's normalisation 0, 1, 2 (none, 1/sqrt(n), 1/n) in the names numpy has for a forward and for an inverse
# transform.
_FORWARD = ("backward", "ortho", "forward")
_INVERSE = ("forward", "ortho", "backward")


def _axes(ctx: PrepareContext, self: Tensor, dim: Sequence[int], normalization: int) -> tuple[int, ...]:
    axes = dimensions(ctx, dim, len(self.sizes), empty_is_all=False)
    ctx.check(bool(axes), arg="dim", expected="at least one dimension", got=list(dim))
    ctx.check(normalization in (0, 1, 2), arg="normalization", expected="0, 1 or 2", got=normalization)
    return axes


@kernel("aten::_fft_r2c.out")
def fft_r2c_out(
    ctx: PrepareContext, self: Tensor, dim: list[int], normalization: int, onesided: bool, out: Tensor
) -> Step:
    """Transform of a real tensor over `dim`; `onesided` keeps the first half of the last of them."""
    check_kinds(ctx, self.scalar_type, (FLOAT,), arg="self")
    wanted = _COMPLEX.get(self.scalar_type)
    if wanted is None:
        raise ctx.trap(arg="self", expected="float32 or float64", got=self.scalar_type.torch_name)
    check_type(ctx, wanted, out, arg="out")
    axes = _axes(ctx, self, dim, normalization)
    shape = list(self.sizes)
    ctx.check(all(shape[axis] > 0 for axis in axes), arg="self", expected="elements to transform", got=shape)
    if onesided:
        shape[axes[-1]] = shape[axes[-1]] // 2 + 1
    out.resize(shape)
    _declare_work(ctx, self, out)
    return _forward, (self.array, axes, _FORWARD[normalization], onesided, out.array)


def _declare_work(ctx: PrepareContext, *tensors: Tensor) -> None:
    """A pass over all elements for each bit of their number, in complex numbers of double precision."""
    ctx.work(sum(8 * tensor.numel * tensor.numel.bit_length() for tensor in tensors))


def _forward(array: Array, axes: tuple[int, ...], norm: str, onesided: bool, out: Array) -> None:
    transform = np.fft.rfftn if onesided else np.fft.fftn
    np.copyto(out, transform(array, axes=axes, norm=norm), "unsafe")  # type: ignore[call-overload]


@kernel("aten::_fft_c2r.out")
def fft_c2r_out(
    ctx: PrepareContext, self: Tensor, dim: list[int], normalization: int, last_dim_size: int, out: Tensor
) -> Step:
    """Inverse transform over `dim` to a real tensor whose last transformed dimension has
    `last_dim_size`.
    """
    wanted = _REAL.get(self.scalar_type)
    if wanted is None:
        raise ctx.trap(arg="self", expected="complex64 or complex128", got=self.scalar_type.torch_name)
    check_type(ctx, wanted, out, arg="out")
    axes = _axes(ctx, self, dim, normalization)
    ctx.check(last_dim_size > 0, arg="last_dim_size", expected="a positive size", got=last_dim_size)
    shape = list(self.sizes)
    half = last_dim_size // 2 + 1
    ctx.check(
        shape[axes[-1]] >= half, arg="self", expected=f"{half} elements of dimension {axes[-1]}", got=shape
    )
    shape[axes[-1]] = last_dim_size
    out.resize(shape)
    _declare_work(ctx, self, out)
    return _backward, (self.array, axes, last_dim_size, _INVERSE[normalization], out.array)


def _backward(array: Array, axes: tuple[int, ...], size: int, norm: str, out: Array) -> None:
    sizes = [*(array.shape[axis] for axis in axes[:-1]), size]
    np.copyto(out, np.fft.irfftn(array, sizes, axes, norm), "unsafe")  # type: ignore[call-overload]


@kernel("aten::_fft_c2c.out")
def fft_c2c_out(
    ctx: PrepareContext, self: Tensor, dim: list[int], normalization: int, forward: bool, out: Tensor
) -> Step:
    """Transform of a complex tensor over `dim`, or its inverse."""
    if self.scalar_type not in _REAL:
        raise ctx.trap(arg="self", expected="complex64 or complex128", got=self.scalar_type.torch_name)
    check_type(ctx, self.scalar_type, out, arg="out")
    axes = _axes(ctx, self, dim, normalization)
    ctx.check(
        all(self.sizes[axis] for axis in axes),
        arg="self",
        expected="dimensions with elements",
        got=list(self.sizes),
    )
    out.resize(self.sizes)
    norm = (_FORWARD if forward else _INVERSE)[normalization]
    _declare_work(ctx, self, out)
    return _complex, (self.array, axes, forward, norm, out.array)


def _complex(array: Array, axes: tuple[int, ...], forward: bool, norm: str, out: Array) -> None:
    transform = np.fft.fftn if forward else np.fft.ifftn
    np.copyto(out, transform(array, axes=axes, norm=norm), "unsafe")  # type: ignore[call-overload]
