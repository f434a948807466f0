"""Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence

from et_ops.dtypes import C32, C64, C128, F16, F32, F64, real_of
from et_ops.inference.meta import UNKNOWN, Meta, Mismatch, rule
from et_ops.inference.shapes import below, known, with_size, wrap_dims

_COMPLEX = {F16: C32, F32: C64, F64: C128}


def _dims(self: Meta, dim: Sequence[int], normalization: int, *, has: bool) -> tuple[int, ...]:
    """The dimensions to transform; of a complex tensor, or of a real one."""
    if self.dtype.is_complex is not has:
        raise Mismatch("self", "a complex tensor" if has else "a real tensor", self.dtype.torch_name)
    if not self.shape:
        raise Mismatch("self", "at least one dimension", self)
    dims = wrap_dims(dim, self.rank, empty_is_all=False)
    if not dims:
        raise Mismatch("dim", "at least one dimension", list(dim))
    if normalization not in range(3):
        raise Mismatch("normalization", "0, 1 or 2", normalization)
    if any(below(self.shape[axis], 1) for axis in dims):
        raise Mismatch("self", "elements to transform", self)
    return dims


@rule("_fft_r2c")
def real_to_complex(self: Meta, dim: Sequence[int], normalization: int, onesided: bool) -> Meta | None:
    last = _dims(self, dim, normalization, has=False)[-1]
    dtype = _COMPLEX.get(self.dtype)
    size = self.shape[last]
    if onesided:
        size = size // 2 + 1 if known(size) else UNKNOWN
    return None if dtype is None else Meta(with_size(self.shape, last, size), dtype)


@rule("_fft_c2r")
def complex_to_real(self: Meta, dim: Sequence[int], normalization: int, last_dim_size: int) -> Meta:
    last = _dims(self, dim, normalization, has=True)[-1]
    if last_dim_size < 1 and last_dim_size != UNKNOWN:
        raise Mismatch("last_dim_size", "a positive size", last_dim_size)
    if known(last_dim_size) and below(self.shape[last], last_dim_size // 2 + 1):
        raise Mismatch("self", f"{last_dim_size // 2 + 1} elements of dimension {last}", self)
    return Meta(with_size(self.shape, last, last_dim_size), real_of(self.dtype))


@rule("_fft_c2c")
def complex_to_complex(self: Meta, dim: Sequence[int], normalization: int, forward: bool) -> Meta:
    _dims(self, dim, normalization, has=True)
    return self
