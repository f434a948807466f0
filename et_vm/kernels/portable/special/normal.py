"""The complementary error function and the normal distribution, of float64 arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from et_vm.kernels.portable.special.error_function import (
    DOUBLE_ABOVE_1,
    DOUBLE_BELOW_1,
    DOUBLE_CENTRE,
    DOUBLE_END,
)
from et_vm.values import Array

_ROOT_PI = math.sqrt(math.pi)
_ROOT_2 = math.sqrt(2.0)
_STEPS = 4


def _horner(x: Array, coefficients: Sequence[float]) -> Array:
    result = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        result = result * x + coefficient
    return result


def _erf_near(x: Array) -> Array:
    """erf(x) for |x| <= 1."""
    return x * _horner(x * x, DOUBLE_BELOW_1)


def _erfcx_right(x: Array) -> Array:
    """exp(x^2) erfc(x) for x >= 1: the polynomial of :mod:`error_function`, and beyond it the asymptotic series
    (DLMF 7.12.1).
    """
    low = (1.0 - DOUBLE_CENTRE) / (1.0 + DOUBLE_CENTRE)
    high = (DOUBLE_END - DOUBLE_CENTRE) / (DOUBLE_END + DOUBLE_CENTRE)
    inside: Array = np.minimum(x, DOUBLE_END)
    t = (inside - DOUBLE_CENTRE) / (inside + DOUBLE_CENTRE)
    middle = _horner((2 * t - low - high) / (high - low), DOUBLE_ABOVE_1) / (inside + DOUBLE_CENTRE)
    outside: Array = np.maximum(x, DOUBLE_END)
    term, total = np.ones_like(x), np.ones_like(x)
    for k in range(1, 33):
        term = term * -(2 * k - 1) / (2 * outside * outside)
        total += term
    return np.where(x <= DOUBLE_END, middle, total / (outside * _ROOT_PI))


def erfcx(x: Array) -> Array:
    """exp(x^2) erfc(x)."""
    size: Array = np.abs(x)
    near: Array = np.minimum(size, 1.0)
    right: Array = np.where(
        size <= 1, np.exp(near * near) * (1 - _erf_near(near)), _erfcx_right(np.maximum(size, 1.0))
    )
    result: Array = np.where(x < 0, 2 * np.exp(x * x) - right, right)
    return np.where(np.isnan(x), np.nan, result)


def erfc(x: Array) -> Array:
    """1 - erf(x), exact in the tail."""
    size: Array = np.abs(x)
    near: Array = np.clip(x, -1.0, 1.0)
    tail: Array = np.exp(-(size * size)) * _erfcx_right(np.maximum(size, 1.0))
    result: Array = np.where(size <= 1, 1 - _erf_near(near), np.where(x < 0, 2 - tail, tail))
    return np.where(np.isnan(x), np.nan, result)


def _erfc_inverse(p: Array) -> Array:
    """The x >= 0 whose erfc is ``p`` in (0, 1]: Winitzki's approximation (2008) of the inverse, then Halley's
    method, which triples the digits of each step.
    """
    log = np.log(p * (2 - p))
    part = 2 / (math.pi * 0.147) + log / 2
    x: Array = np.sqrt(np.maximum(np.sqrt(part * part - log / 0.147) - part, 0.0))
    for _ in range(_STEPS):
        step = (p - erfc(x)) * (_ROOT_PI / 2) * np.exp(x * x)
        x = x - step / (1 + x * step)
    return x


def erfinv(y: Array) -> Array:
    """The x with erf(x) = ``y``; infinite at -1 and 1, NaN beyond."""
    size: Array = np.abs(y)
    inside = size < 1
    half: Array = np.minimum(size, 0.5)
    near = _erfc_inverse(1 - half)
    for _ in range(2):
        # Where erfc is close to 1 only erf is exact.
        step = (_erf_near(np.minimum(near, 1.0)) - half) * (_ROOT_PI / 2) * np.exp(near * near)
        near = near - step / (1 + near * step)
    far = _erfc_inverse(np.where(inside, 1 - size, 0.5))
    result: Array = np.copysign(np.where(size <= 0.5, near, far), y)
    edge: Array = np.where(size == 1, np.copysign(np.inf, y), np.nan)
    return np.where(inside, result, edge)


def ndtri(p: Array) -> Array:
    """The argument at which the normal distribution function is ``p``; NaN outside of [0, 1]."""
    inside = (p > 0) & (p < 1)
    below = p < 0.5
    tail: Array = np.where(inside, np.where(below, p, 1 - p), 0.5)
    # Near the middle the inverse of erf has the digits that that of erfc lacks.
    middle = _ROOT_2 * erfinv(2 * np.where(inside, p, 0.5) - 1)
    outer = np.where(below, -_ROOT_2, _ROOT_2) * _erfc_inverse(np.minimum(2 * tail, 1.0))
    result: Array = np.where(np.abs(p - 0.5) < 0.25, middle, outer)
    edge: Array = np.where(p == 0, -np.inf, np.where(p == 1, np.inf, np.nan))
    return np.where(inside, result, edge)


def log_ndtr(x: Array) -> Array:
    """The logarithm of the normal distribution function."""
    left: Array = np.minimum(x, -1.0)
    right: Array = np.maximum(x, -1.0)
    below: Array = np.log(erfcx(-left / _ROOT_2) / 2) - left * left / 2
    above: Array = np.log1p(-erfc(right / _ROOT_2) / 2)
    return np.where(np.isnan(x), np.nan, np.where(x < -1, below, above))
