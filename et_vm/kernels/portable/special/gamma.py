"""The logarithm of the gamma function, of float64 arrays."""

from __future__ import annotations

import math

import numpy as np

from et_vm.values import Array

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
