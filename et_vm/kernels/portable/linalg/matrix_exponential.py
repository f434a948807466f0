"""The exponential of matrices by Pade's approximant of degree 13, scaled and squared: Higham, "The scaling and squaring
method for the matrix exponential revisited", SIAM J. Matrix Anal. Appl. 26 (2005).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import COMPLEX, FLOAT, check_kinds, check_same_type
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.steps import NOTHING
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Array, Tensor
from et_vm.work import CALL

_DEGREE = 13
_REACH = 5.371920351148152
"""The largest norm for which the approximant is exact in float64 (table 2.3)."""


_COEFFICIENTS = [
    math.factorial(2 * _DEGREE - k)
    * math.factorial(_DEGREE)
    / (math.factorial(2 * _DEGREE) * math.factorial(k) * math.factorial(_DEGREE - k))
    for k in range(_DEGREE + 1)
]


_PRODUCTS = 16
"""Products of matrices, and what solving takes, before they are squared."""


def exponential(a: Array, ctx: PrepareContext | None = None) -> Array:
    """The exponentials of ``a`` [..., n, n], float64 or complex128; NaN where it has elements that are not finite.
    Squares each matrix as often as its norm has bits, and tells ``ctx``.
    """
    norm: Any = np.abs(a).sum(-2).max(-1, initial=0.0)
    good = np.isfinite(norm)
    ratio: Any = np.where(good, norm, 0) / _REACH
    squarings: Any = np.where(ratio > 1, np.ceil(np.log2(np.maximum(ratio, 1))), 0)
    work: Array = np.where(good[..., None, None], a, 0) / np.exp2(squarings)[..., None, None]
    square = work @ work
    fourth = square @ square
    powers = [np.eye(a.shape[-1], dtype=a.dtype), square, fourth, fourth @ square]
    odd, even = work @ _every_other(1, powers), _every_other(0, powers)
    result: Array = np.linalg.solve(even - odd, even + odd)
    if ctx is not None:
        ctx.spend(int(squarings.max(initial=0)) * (a.size * a.shape[-1] + CALL))
    for at in range(int(squarings.max(initial=0))):
        result = np.where((squarings > at)[..., None, None], result @ result, result)
    return np.where(good[..., None, None], result, np.nan)


def _every_other(first: int, powers: Sequence[Array]) -> Array:
    """The even or odd terms of the numerator, the odd ones over the matrix, from the even powers up to the sixth."""
    c = _COEFFICIENTS[first::2]
    high = c[4] * powers[1] + c[5] * powers[2] + c[6] * powers[3]
    return c[0] * powers[0] + c[1] * powers[1] + c[2] * powers[2] + c[3] * powers[3] + powers[3] @ high


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
    return evaluated(functools.partial(exponential, ctx=ctx), (self,), (out,), numpy_dtype(wide))
