"""Functions of `scipy.special` with torch's values at poles, infinities and NaN.

Each takes the module, which only those who prepare such a kernel have imported, and float64 arrays.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from et_vm.values import Array, DType

__all__ = ["airy", "erfinv", "incomplete_gamma", "polygamma", "zeta"]

_FAR = 64
"""Arguments below minus this are summed in two parts: scipy adds as many terms as their size."""
_NO_AIRY = 200.0
"""Arguments above which Airy's function is zero in float64; scipy has NaN for very large arguments."""
_FIRST_INFINITE_FACTORIAL = 171


def erfinv(special: Any, y: Array) -> Array:
    """The x with erf(x) = `y`, which for zeros has their sign; infinite at -1 and 1, NaN beyond."""
    return np.copysign(special.erfinv(y), y)


def airy(special: Any, x: Array) -> Array:
    """Airy's function Ai; of an infinity, as torch's, NaN."""
    return special.airy(np.where(np.isinf(x), x, np.minimum(x, _NO_AIRY)))[0]


def zeta(special: Any, x: Array, q: Array) -> Array:
    """The Hurwitz zeta function, the sum of (k + `q`) ^ -`x` over k from 0; as torch has it, NaN where q is
    infinite.
    """
    x, q = np.broadcast_arrays(x, q)
    far = (q < -_FAR) & (x > 1) & (x == np.floor(x)) & (q != np.floor(q))
    result: Array = special.zeta(x, np.where(far, 1.0, q))
    if far.any():
        result[far] = _far_zeta(special, x[far], -q[far])
    return np.where(np.isposinf(q), np.nan, result)


def _far_zeta(special: Any, x: Array, size: Array) -> Array:
    """The Hurwitz zeta function of integers `x` at -`size`, which is no integer: the terms below zero are a
    difference of two sums above it, so that their number does not matter.
    """
    part = size - np.floor(size)
    sign = np.where(x % 2 == 0, 1.0, -1.0)
    below: Array = sign * (special.zeta(x, part) - special.zeta(x, size + 1))
    return below + special.zeta(x, 1 - part)


def polygamma(special: Any, n: int, x: Array, dtype: DType) -> Array:
    """The `n`-th derivative of digamma (DLMF 5.15.1); `dtype` is the type that torch computes in."""
    if n == 0:
        return special.psi(x)
    if n == 1:
        return _trigamma(special, x, dtype)
    sign = 1.0 if n % 2 else -1.0
    factorial = float(math.factorial(n)) if n < _FIRST_INFINITE_FACTORIAL else math.inf
    return sign * factorial * zeta(special, np.full_like(x, n + 1.0), x)


def _trigamma(special: Any, x: Array, dtype: DType) -> Array:
    """The derivative of digamma: reflected (DLMF 5.15.6), else zeta(2, x). At the poles it is as large as torch
    makes it, by a sine that is not zero because pi is rounded.
    """
    left = x < 0.5
    offset: Array = np.where(x == np.rint(x), x, x - np.rint(x))
    pole = left & (x == np.rint(x))
    rough = np.sin(dtype.type(np.pi) * offset.astype(dtype)).astype(np.float64)
    sine: Array = np.where(pole, rough, np.sin(np.pi * offset))
    inner: Array = special.zeta(2.0, np.where(left, 1 - x, x))
    return np.where(left, (np.pi / sine) ** 2 - inner, inner)


def incomplete_gamma(special: Any, a: Array, x: Array, upper: bool) -> Array:
    """The regularized incomplete gamma function P(a, x), or with `upper` Q(a, x); NaN for negative arguments. As
    torch has it, a NaN counts only where the other argument does not decide.
    """
    a, x = np.broadcast_arrays(a, x)
    result: Array = (special.gammaincc if upper else special.gammainc)(a, x)
    at_zero, at_infinity = float(upper), float(not upper)
    result = np.where(np.isnan(a) & (x == 0) | np.isposinf(a) & np.isnan(x), at_zero, result)
    return np.where(np.isnan(a) & np.isposinf(x), at_infinity, result)
