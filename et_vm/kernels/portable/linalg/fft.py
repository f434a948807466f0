"""Discrete Fourier transforms, by numpy's pocketfft, which allocates its result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from et_ops.inference.spectral import complex_to_complex, complex_to_real, real_to_complex
from et_vm.kernels.portable.arguments import FLOAT
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor

# torch's normalisation 0, 1, 2 (none, 1/sqrt(n), 1/n) in the names numpy has for a forward and for an inverse
# transform.
_FORWARD = ("backward", "ortho", "forward")
_INVERSE = ("forward", "ortho", "backward")


def _axes(self: Tensor, dim: Sequence[int]) -> tuple[int, ...]:
    return tuple(axis % len(self.sizes) for axis in dim)


@kernel("aten::_fft_r2c.out")
@inferred(real_to_complex, kinds=(FLOAT,))
def fft_r2c_out(
    ctx: PrepareContext, self: Tensor, dim: list[int], normalization: int, onesided: bool, out: Tensor
) -> Step:
    """Transform of a real tensor over `dim`; `onesided` keeps the first half of the last of them."""
    _declare_work(ctx, self, out)
    return _forward, (self.array, _axes(self, dim), _FORWARD[normalization], onesided, out.array)


def _declare_work(ctx: PrepareContext, *tensors: Tensor) -> None:
    """A pass over all elements for each bit of their number, in complex numbers of double precision."""
    ctx.work(sum(8 * tensor.numel * tensor.numel.bit_length() for tensor in tensors))


def _forward(array: Array, axes: tuple[int, ...], norm: str, onesided: bool, out: Array) -> None:
    transform = np.fft.rfftn if onesided else np.fft.fftn
    np.copyto(out, transform(array, axes=axes, norm=norm), "unsafe")  # type: ignore[call-overload]


@kernel("aten::_fft_c2r.out")
@inferred(complex_to_real)
def fft_c2r_out(
    ctx: PrepareContext, self: Tensor, dim: list[int], normalization: int, last_dim_size: int, out: Tensor
) -> Step:
    """Inverse transform over `dim` to a real tensor whose last transformed dimension has
    `last_dim_size`.
    """
    _declare_work(ctx, self, out)
    return _backward, (self.array, _axes(self, dim), last_dim_size, _INVERSE[normalization], out.array)


def _backward(array: Array, axes: tuple[int, ...], size: int, norm: str, out: Array) -> None:
    sizes = [*(array.shape[axis] for axis in axes[:-1]), size]
    np.copyto(out, np.fft.irfftn(array, sizes, axes, norm), "unsafe")  # type: ignore[call-overload]


@kernel("aten::_fft_c2c.out")
@inferred(complex_to_complex)
def fft_c2c_out(
    ctx: PrepareContext, self: Tensor, dim: list[int], normalization: int, forward: bool, out: Tensor
) -> Step:
    """Transform of a complex tensor over `dim`, or its inverse."""
    norm = (_FORWARD if forward else _INVERSE)[normalization]
    _declare_work(ctx, self, out)
    return _complex, (self.array, _axes(self, dim), forward, norm, out.array)


def _complex(array: Array, axes: tuple[int, ...], forward: bool, norm: str, out: Array) -> None:
    transform = np.fft.fftn if forward else np.fft.ifftn
    np.copyto(out, transform(array, axes=axes, norm=norm), "unsafe")  # type: ignore[call-overload]
