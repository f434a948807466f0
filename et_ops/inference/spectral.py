"""Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence

from et_ops.dtypes import C32, C64, C128, F16, F32, F64, real_of
from et_ops.inference.meta import UNKNOWN, Meta, rule
from et_ops.inference.shapes import known, with_size, wrap_dim


@rule("_fft_r2c")
def real_to_complex(self: Meta, dim: Sequence[int], normalization: int, onesided: bool) -> Meta | None:
    dtype = {F16: C32, F32: C64, F64: C128}.get(self.dtype)
    if dtype is None:
        return None
    last = wrap_dim(dim[-1], self.rank)
    size = self.shape[last]
    if onesided:
        size = size // 2 + 1 if known(size) else UNKNOWN
    return Meta(with_size(self.shape, last, size), dtype)


@rule("_fft_c2r")
def complex_to_real(self: Meta, dim: Sequence[int], normalization: int, last_dim_size: int) -> Meta:
    return Meta(with_size(self.shape, wrap_dim(dim[-1], self.rank), last_dim_size), real_of(self.dtype))


@rule("_fft_c2c")
def complex_to_complex(self: Meta, dim: Sequence[int], normalization: int, forward: bool) -> Meta:
    return Meta(self.shape, self.dtype)
