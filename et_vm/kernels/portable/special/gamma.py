"""The gamma function and its relatives, of float64 arrays."""

from __future__ import annotations

import math

import numpy as np

from et_vm.values import Array, DType

# Lanczos' series for g = 7 and n = 9 as published by Godfrey (2001): relative error below 1e-15.
_LANCZOS_G = 7.0
_LANCZOS = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)
# Bernoulli numbers B2, B4, ...
_BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)
_SHIFT = 10
_ITERATIONS = 5000


def _lgamma_right(x: Array) -> Array:
    """For x >= 1/2: Lanczos, SIAM J. Numer. Anal. B 1 (1964)."""
    z = x - 1
    series = np.full_like(x, _LANCZOS[0])
    for at, coefficient in enumerate(_LANCZOS[1:], 1):
        series += coefficient / (z + at)
    t = z + (_LANCZOS_G + 0.5)
    result: Array = (z + 0.5) * np.log(t) - t + (0.5 * math.log(2 * math.pi) + np.log(series))
    return np.where(np.isposinf(x), np.inf, result)


def _sin_pi(x: Array) -> Array:
    """sin(pi x), zero at the integers."""
    near = np.rint(x)
    return np.sin(np.pi * (x - near)) * np.where(near % 2 == 0, 1.0, -1.0)


def lgamma(x: Array) -> Array:
    """The logarithm of the magnitude of the gamma function; infinite at 0, -1, -2, ..."""
    left = x < 0.5
    right = _lgamma_right(np.where(left, 1 - x, x))
    result: Array = np.where(left, np.log(np.pi / np.abs(_sin_pi(x))) - right, right)
    # Near its zeros 1 and 2 the sum cancels; log1p of what gamma adds to 1 does not.
    return np.where(np.isinf(x), np.inf, result)


def digamma(x: Array) -> Array:
    """The derivative of lgamma; at zero infinite with the other sign, NaN at -1, -2, ...

    Reflected for negative x, raised to 10 by recurrence, then the asymptotic series (DLMF 5.5.4, 5.5.2,
    5.11.2).
    """
    left = x < 0
    y = np.where(left, 1 - x, x)
    total = np.zeros_like(y)
    for _ in range(_SHIFT):
        low = y < _SHIFT
        total -= np.where(low, 1 / y, 0)
        y = np.where(low, y + 1, y)
    square = 1 / (y * y)
    series = np.zeros_like(y)
    for k in range(len(_BERNOULLI), 0, -1):
        series = (series + _BERNOULLI[k - 1] / (2 * k)) * square
    result: Array = total + np.log(y) - 0.5 / y - series
    offset = x - np.rint(x)
    result = np.where(left, result - np.pi / np.tan(np.pi * offset), result)
    result = np.where(left & (offset == 0), np.nan, result)
    result = np.where(np.isposinf(x), np.inf, np.where(np.isneginf(x), np.nan, result))
    return np.where(x == 0, np.copysign(np.inf, -x), result)


# Arguments below this are summed in two parts: as many terms as their size could be more than anyone waits for.
_FAR = 64


def zeta(x: Array, q: Array) -> Array:
    """The Hurwitz zeta function, the sum of (k + ``q``) ^ -``x`` over k from 0: directly until the base is
    above 9, the rest by the Euler-Maclaurin formula (DLMF 25.11.5).

    As torch has it, NaN for x < 1, where x is infinite and all terms vanish, and for q < 0 unless x is an integer;
    infinite for x = 1 and at the poles of q.
    """
    x, q = np.broadcast_arrays(x, q)
    total = np.zeros(x.shape)
    base = q.astype(np.float64)
    whole = x == np.floor(x)
    # Of the others with q < 0 the value does not depend on the terms.
    direct = np.isfinite(q) & (x > 1) & ((q > 0) | whole & (q != np.floor(q)))
    far = direct & (q < -_FAR)
    direct &= ~far
    while True:
        low = direct & (base <= 9)
        if not low.any():
            break
        total += np.where(low, np.power(np.where(low, base, 1.0), -x), 0)
        base = np.where(low, base + 1, base)
    first = total.copy()
    power = np.power(base, -x)
    total += base * power / (x - 1) + 0.5 * power
    factor = x * power / base
    for k, number in enumerate(_BERNOULLI, 1):
        total += number / math.factorial(2 * k) * factor
        factor = factor * (x + 2 * k - 1) * (x + 2 * k) / (base * base)
    total = np.where(np.isposinf(x), np.where(first > 0, first, np.nan), total)
    pole = (q <= 0) & (q == np.floor(q))
    if far.any():
        total[far] = _far_zeta(x[far], -base[far])
    total = np.where((q <= 0) & (x != np.floor(x)) | np.isnan(x) | np.isnan(q), np.nan, total)
    total = np.where(pole, np.inf, total)
    return np.where(x < 1, np.nan, np.where(x == 1, np.inf, total))


def _far_zeta(x: Array, size: Array) -> Array:
    """The Hurwitz zeta function of integers ``x`` at -``size``, which is no integer: the terms below zero are a
    difference of two sums above it, so that their number does not matter.
    """
    part = size - np.floor(size)
    sign = np.where(x % 2 == 0, 1.0, -1.0)
    below: Array = sign * (zeta(x, part) - zeta(x, size + 1))
    return below + zeta(x, 1 - part)


def _trigamma(x: Array, dtype: DType) -> Array:
    """The derivative of digamma: reflected (DLMF 5.15.6), else zeta(2, x). At the poles it is as large as torch
    makes it, by a sine that is not zero because pi is rounded.
    """
    left = x < 0.5
    offset: Array = np.where(x == np.rint(x), x, x - np.rint(x))
    pole = left & (x == np.rint(x))
    narrow = offset.astype(dtype)
    rough = np.sin(dtype.type(np.pi) * narrow).astype(np.float64)
    sine: Array = np.where(pole, rough, np.sin(np.pi * offset))
    inner = zeta(np.full_like(x, 2.0), np.where(left, 1 - x, x))
    return np.where(left, (np.pi / sine) ** 2 - inner, inner)


_FIRST_INFINITE_FACTORIAL = 171


def polygamma(n: int, x: Array, dtype: DType) -> Array:
    """The ``n``-th derivative of digamma (DLMF 5.15.1); ``dtype`` is the type that torch computes in."""
    if n == 0:
        return digamma(x)
    if n == 1:
        return _trigamma(x, dtype)
    sign = 1.0 if n % 2 else -1.0
    factorial = float(math.factorial(n)) if n < _FIRST_INFINITE_FACTORIAL else math.inf
    return sign * factorial * zeta(np.full_like(x, n + 1.0), x)


def _lower_series(a: Array, x: Array) -> Array:
    """P(a, x) e^x x^-a Gamma(a), by the power series (DLMF 8.7.1)."""
    term = 1 / a
    total = term.copy()
    for k in range(1, _ITERATIONS):
        term = term * x / (a + k)
        total += term
        if not (np.abs(term) > np.abs(total) * 1e-17).any():
            break
    return total


def _upper_fraction(a: Array, x: Array) -> Array:
    """Q(a, x) e^x x^-a Gamma(a), by the continued fraction (DLMF 8.9.2), evaluated by Lentz's method."""
    tiny = 1e-300
    b = x + 1 - a
    c = np.full_like(x, 1 / tiny)
    d = 1 / np.where(b == 0, tiny, b)
    result = d.copy()
    for k in range(1, _ITERATIONS):
        factor = -k * (k - a)
        b = b + 2
        d = factor * d + b
        d = 1 / np.where(np.abs(d) < tiny, tiny, d)
        c = b + factor / c
        c = np.where(np.abs(c) < tiny, tiny, c)
        step = c * d
        result = result * step
        if not (np.abs(step - 1) > 1e-16).any():
            break
    return result


def _both(a: Array, x: Array) -> tuple[Array, Array]:
    """The regularised incomplete gamma functions P and Q for positive, finite a and x."""
    scale: Array = np.exp(a * np.log(x) - x - lgamma(a))
    below = x < a + 1
    lower, upper = np.zeros_like(x), np.zeros_like(x)
    lower[below] = scale[below] * _lower_series(a[below], x[below])
    upper[below] = 1 - lower[below]
    above = ~below
    upper[above] = scale[above] * _upper_fraction(a[above], x[above])
    lower[above] = 1 - upper[above]
    return lower, upper


def _incomplete(a: Array, x: Array, upper: bool) -> Array:
    a, x = np.broadcast_arrays(a, x)
    result = np.full(a.shape, np.nan)
    # A NaN counts only where the other argument does not decide.
    valid = ~((a < 0) | (x < 0))
    ends = (float(not upper), float(upper))  # at x = infinity, at x = 0
    result[valid & (x == 0)] = ends[1]
    result[valid & (a == 0) & (x > 0)] = ends[0]
    result[valid & np.isinf(x)] = ends[0]
    result[valid & np.isinf(a)] = ends[1]
    result[valid & ((a == 0) & ~(x > 0) | np.isinf(a) & np.isinf(x))] = np.nan
    usual = valid & (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    if usual.any():
        result[usual] = _both(a[usual], x[usual])[upper]
    return result


def igamma(a: Array, x: Array) -> Array:
    """The regularised lower incomplete gamma function P(a, x); NaN for negative arguments."""
    return _incomplete(a, x, False)


def igammac(a: Array, x: Array) -> Array:
    """The regularised upper incomplete gamma function Q(a, x); NaN for negative arguments."""
    return _incomplete(a, x, True)
