"""The matrix exponential, by `scipy.linalg`: Padé's approximants, scaled and squared."""

from __future__ import annotations

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


def exponential(linalg: Any, a: Array) -> Array:
    """The exponentials of ``a`` [..., n, n], float64 or complex128; NaN where it has elements that are not finite.
    ``linalg`` is `scipy.linalg`.
    """
    good = np.isfinite(a).all((-2, -1), keepdims=True)
    return np.where(good, linalg.expm(np.where(good, a, 0)), np.nan)


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
    wide = ScalarType.COMPLEXDOUBLE if self.scalar_type.is_complex else ScalarType.DOUBLE
    return evaluated(
        partial(exponential, scipy_module(ctx, "scipy.linalg")), (self,), (out,), numpy_dtype(wide)
    )
