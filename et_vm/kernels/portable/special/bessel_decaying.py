"""Modified Bessel functions of the second kind and Airy's function, of float64 arrays.

K(x) exp(x) is the integral of exp(-x (cosh t - 1)) cosh(n t) (DLMF 10.32.9). With x (cosh t - 1) = u^2 it is
sqrt(2 / x) times that of exp(-u^2) cosh(n t) / sqrt(1 + u^2 / (2 x)) over u > 0: from 1 on the trapezoidal rule with
steps of a quarter has an error below 1e-15, and all terms are positive. Below 1 the power series (DLMF 10.31.1-2).

Airy's function is sqrt(x / 3) / pi times K of order one third of 2/3 x^1.5 (DLMF 9.6.2) for large x, its asymptotic
series (DLMF 9.7.9) for large negative ones, and in between its Taylor series, whose coefficients follow from
y'' = x y, about the nearest whole number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from et_vm.kernels.portable.pointwise.piecewise import Piece, piecewise
from et_vm.values import Array

_EULER = 0.5772156649015329
_STEP = 0.25
_STEPS = 26
_SERIES_TERMS = 14

_AIRY_AT_0 = 0.355028053887817239
_AIRY_SLOPE_AT_0 = -0.258819403792806798
_AIRY_LOW, _AIRY_HIGH = -10, 2
_AIRY_ORDER = 40
_AIRY_TERMS = 24


def _integral(order: float, x: Array) -> Array:
    """K(x) exp(x) for x >= 1."""
    total = np.full_like(x, 0.5)
    for at in range(1, _STEPS):
        square = (at * _STEP) ** 2
        root = np.sqrt(1 + square / (2 * x))
        term: Array = math.exp(-square) / root
        if order == 1:
            term = term * (1 + square / x)
        elif order:
            term = term * np.cosh(2 * order * np.arcsinh(math.sqrt(square) / np.sqrt(2 * x)))
        total += term
    return total * _STEP * np.sqrt(2 / x)


def _series(order: int, x: Array) -> Array:
    """K(x) for 0 < x <= 1, of order 0 or 1."""
    quarter = x * x / 4
    logarithm = np.log(x / 2)
    # psi(k + 1) + psi(k + 1 + order), and x^2k / (4^k k! (k + order)!).
    digammas = -2 * _EULER + order
    term: Array = (x / 2) ** order
    sign = -1 if order else 1
    total = sign * term * (digammas / 2 - logarithm)
    for k in range(1, _SERIES_TERMS):
        digammas += 1 / k + 1 / (k + order)
        term = term * quarter / (k * (k + order))
        total += sign * term * (digammas / 2 - logarithm)
    return total + 1 / x if order else total


def _decaying(order: int, x: Array, scaled: bool) -> Array:
    def near(v: Array) -> Array:
        return _series(order, v) * np.exp(v) if scaled else _series(order, v)

    def far(v: Array) -> Array:
        return _integral(order, v) if scaled else _integral(order, v) * np.exp(-v)

    pieces: list[Piece] = [
        (x == 0, lambda v: np.full_like(v, np.inf)),
        ((x > 0) & (x <= 1), near),
        (np.isposinf(x), np.zeros_like),
        (x > 1, far),
    ]
    return piecewise(x, pieces)


def k0(x: Array) -> Array:
    """The modified Bessel function of the second kind of order 0; infinite at zero, NaN of negative numbers."""
    return _decaying(0, x, False)


def k1(x: Array) -> Array:
    """The modified Bessel function of the second kind of order 1; infinite at zero, NaN of negative numbers."""
    return _decaying(1, x, False)


def k0e(x: Array) -> Array:
    """The modified Bessel function of the second kind of order 0 times exp(x)."""
    return _decaying(0, x, True)


def k1e(x: Array) -> Array:
    """The modified Bessel function of the second kind of order 1 times exp(x)."""
    return _decaying(1, x, True)


def _taylor(centre: float, value: float, slope: float) -> list[float]:
    """Coefficients of the solution of y'' = x y with this value and slope at ``centre``."""
    made = [value, slope, centre * value / 2]
    for k in range(1, _AIRY_ORDER - 2):
        made.append((centre * made[k] + made[k - 1]) / ((k + 2) * (k + 1)))
    return made


def _stepped(coefficients: Sequence[float], step: int) -> tuple[float, float]:
    """The value and the slope one whole ``step`` away."""
    value = math.fsum(c * step**k for k, c in enumerate(coefficients))
    slope = math.fsum(k * c * step ** (k - 1) for k, c in enumerate(coefficients) if k)
    return value, slope


def _airy_table() -> Array:
    """Taylor coefficients [centre - _AIRY_LOW, power], found from those at zero a step at a time."""
    found = {0: _taylor(0, _AIRY_AT_0, _AIRY_SLOPE_AT_0)}
    for sign, end in ((-1, _AIRY_LOW), (1, _AIRY_HIGH)):
        for centre in range(sign, end + sign, sign):
            found[centre] = _taylor(centre, *_stepped(found[centre - sign], sign))
    rows = [found[centre][:_AIRY_TERMS] for centre in range(_AIRY_LOW, _AIRY_HIGH + 1)]
    made: Array = np.array(rows)
    return made


_AIRY = _airy_table()


def _airy_near(x: Array) -> Array:
    centre: Any = np.rint(x)
    rows = _AIRY[(centre - _AIRY_LOW).astype(np.intp)]
    offset = x - centre
    total: Array = rows[:, -1].copy()
    for power in range(_AIRY_TERMS - 2, -1, -1):
        total = total * offset + rows[:, power]
    return total


def _airy_right(x: Array) -> Array:
    root = np.sqrt(x)
    zeta = 2 / 3 * x * root
    return np.sqrt(x / 3) / math.pi * _integral(1 / 3, zeta) * np.exp(-zeta)


def _airy_left(x: Array) -> Array:
    size = -x
    root = np.sqrt(size)
    zeta = 2 / 3 * size * root
    term = np.ones_like(x)
    even, odd = np.ones_like(x), np.zeros_like(x)
    for k in range(1, 24):
        term = term * ((6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1))) / zeta
        sign = -1 if k % 4 in (2, 3) else 1
        (odd if k % 2 else even)[...] += sign * term
    sine, cosine = np.sin(zeta), np.cos(zeta)
    return ((cosine + sine) * even + (sine - cosine) * odd) / np.sqrt(2 * math.pi * root)


def airy(x: Array) -> Array:
    """Airy's function Ai; of an infinity, as torch's, NaN."""
    near = (x >= _AIRY_LOW + 0.5) & (x <= _AIRY_HIGH)
    finite = np.isfinite(x)
    return piecewise(x, [(near, _airy_near), (finite & (x > 0), _airy_right), (finite, _airy_left)])
