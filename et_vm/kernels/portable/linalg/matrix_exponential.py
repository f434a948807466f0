"""The matrix exponential, by `scipy.linalg`: Padé's approximants, scaled and squared."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import COMPLEX, FLOAT, check_kinds, check_same_type
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.scipy_extra import scipy_module
from et_vm.kernels.portable.steps import NOTHING
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Array, Tensor
from et_vm.work import CALL

_PRODUCTS = 16
"""Products of matrices, and what solving takes, before they are squared."""

_REACH = 5.371920351148152
"""The largest norm of matrices that are not squared."""


def exponential(linalg: Any, a: Array, spend: Callable[[int], None] | None = None) -> Array:
    """The exponentials of ``a`` [..., n, n], float64 or complex128; NaN where it has elements that are not finite.
    ``linalg`` is `scipy.linalg`. Each matrix is squared as often as its norm has bits, which ``spend`` is
    told as work.
    """
    good = np.isfinite(a).all((-2, -1), keepdims=True)
    finite: Array = np.where(good, a, 0)
    if spend is not None:
        largest = float(np.abs(finite).sum(-2).max(initial=0))
        squarings = max(math.frexp(largest / _REACH)[1], 0)
        spend(squarings * (a.size * a.shape[-1] + CALL))
    return np.where(good, linalg.expm(finite), np.nan)


@kernel("aten::linalg_matrix_exp.out")
def linalg_matrix_exp_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """The exponential of each matrix of ``self``. Allocates a dozen arrays of its size, in double precision."""
    sizes = self.sizes
    good = len(sizes) >= 2 and sizes[-1] == sizes[-2]
    ctx.check(good, arg="self", expected="square matrices", got=list(sizes))
    check_kinds(ctx, self.scalar_type, (FLOAT, COMPLEX), arg="self")
    check_same_type(ctx, self, ("out", out))
    out.resize(sizes)
    if not self.numel:
        return NOTHING
    ctx.work(self.numel * self.sizes[-1] * _PRODUCTS)
    wide = ScalarType.COMPLEXDOUBLE if self.scalar_type.is_complex else ScalarType.DOUBLE
    function = partial(exponential, scipy_module(ctx, "scipy.linalg"), spend=ctx.spend)
    return evaluated(function, (self,), (out,), numpy_dtype(wide))
