"""Modified Bessel functions of the first kind, of float64 arrays.

Up to 20 the power series, whose terms are all of one sign (DLMF 10.25.2); above, the asymptotic series, whose
least term is below 1e-17 from there on (DLMF 10.40.1).
"""

from __future__ import annotations

import numpy as np

from et_vm.values import Array

_TURN = 20.0
_TERMS = 60


def _series(order: int, x: Array) -> Array:
    """I(x) for 0 <= x <= 20."""
    quarter = x * x / 4
    term: Array = (x / 2) ** order
    total = term.copy()
    for k in range(1, _TERMS):
        term = term * quarter / (k * (k + order))
        total += term
    return total


def _asymptotic(order: int, x: Array) -> Array:
    """I(x) exp(-x) for x >= 20."""
    term = np.ones_like(x)
    total = np.ones_like(x)
    for k in range(1, 30):
        term = term * -(4 * order**2 - (2 * k - 1) ** 2) / (8 * k * x)
        total += term
    return total / np.sqrt(2 * np.pi * x)


def _scaled(order: int, x: Array) -> Array:
    """I(x) exp(-|x|)."""
    size = np.abs(x)
    small: Array = np.minimum(size, _TURN)
    result: Array = np.where(
        size <= _TURN,
        _series(order, small) * np.exp(-small),
        _asymptotic(order, np.maximum(size, _TURN)),
    )
    return np.where(x < 0, -result, result) if order % 2 else result


def _full(order: int, x: Array) -> Array:
    size = np.abs(x)
    # In two factors, so that only a result too large overflows.
    half: Array = np.exp(size / 2)
    return _scaled(order, x) * half * half


def i0(x: Array) -> Array:
    """The modified Bessel function of the first kind of order 0; of an infinity, as torch's, NaN."""
    return _full(0, x)


def i1(x: Array) -> Array:
    """The modified Bessel function of the first kind of order 1; of an infinity, as torch's, NaN."""
    return _full(1, x)


def i0e(x: Array) -> Array:
    """The modified Bessel function of order 0 times exp(-|x|)."""
    return _scaled(0, x)


def i1e(x: Array) -> Array:
    """The modified Bessel function of order 1 times exp(-|x|)."""
    return _scaled(1, x)
