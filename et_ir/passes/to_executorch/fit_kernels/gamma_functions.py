"""The logarithm of the gamma function and its derivatives.

Errors of f64 results against fifty digits: of `lgamma` up to 5 units of the last place for positive numbers, of
`polygamma` 10; 1e-15 of the larger terms where a result is their difference: of `digamma` next to its zero, and left of
zero. Some 110 ops, `digamma` 70, `polygamma` 90.
"""

from __future__ import annotations

import math
from typing import Final

from et_ir.dialects.edge import ops as edge
from et_ir.passes.to_executorch.fit_kernels import special_coefficients as table
from et_ir.passes.to_executorch.fit_kernels.formulas import Real, formula, where

__all__ = ["MOST_DERIVATIVES"]

_BERNOULLI: Final = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
"""B2, B4, ..."""
_SHIFT: Final = 10
"""Asymptotic series are taken as far to the right."""
_PI_IN_SINGLE: Final = 3.1415927410125732
MOST_DERIVATIVES: Final = 12
"""The series of higher derivatives would need another shift."""


def _from_whole(x: Real) -> Real:
    """How far it is to the nearest whole number."""
    return x - x.round()


@formula(edge.LgammaOp)
def lgamma(x: Real) -> Real:
    """Up to 3 a polynomial times the factors of the zeros 1 and 2, above Stirling's formula; reflected for negative x
    (DLMF 5.5.3); infinite at the poles, where a sine is zero.
    """
    size = x.size()
    small = size < 1
    # lgamma(x) = lgamma(x + 1) - log(x) below 1.
    above_one = where(small, size, size - 1)
    log = size.log()
    low = above_one * (above_one - 1) * (above_one - 1).polynomial(table.LGAMMA)
    low = where(small, low - log, low)
    series = (18 / (size * size) - 1).polynomial(table.STIRLING) / size
    high = (size - 0.5) * (log - 1) + (0.5 * math.log(2 * math.pi) - 0.5) + series
    right = where(size < 3, low, high)
    sine = (_from_whole(size) * math.pi).sin().size()
    left = math.pi / (size * sine)
    result = where(x < 0, left.log() - right, right)
    return result.filled(size.equals(math.inf), math.inf)


@formula(edge.DigammaOp)
def digamma(x: Real) -> Real:
    """The asymptotic series 10 to the right, less the steps there; reflected for negative x (DLMF 5.5.4, 5.5.2,
    5.11.2). Infinite at zero, NaN at the other poles, as torch's.
    """
    left = x < 0
    start = where(left, 1 - x, x)
    total = 1 / start
    for step in range(1, _SHIFT):
        total = total + 1 / (start + step)
    far = start + _SHIFT
    square = 1 / (far * far)
    series = square.polynomial([0.0, *(b / (2 * k) for k, b in enumerate(_BERNOULLI, 1))])
    right = far.log() - 0.5 / far - series - total
    offset = _from_whole(x)
    reflected = right - math.pi / (offset * math.pi).tan()
    return where(left, reflected.filled(offset.equals(0), math.nan), right)


@formula(edge.PolygammaOp)
def polygamma(x: Real, n: int) -> Real:
    """n! times the zeta function of n + 1, by the Euler-Maclaurin formula 10 to the right (DLMF 25.11.5); reflected
    for negative x (DLMF 5.15.6). At infinity and at the poles it is what torch makes it: for n = 1 as large as a sine
    is small that would be zero if pi were not rounded.
    """
    if n == 0:
        return digamma(x)
    left = x < 0
    start = where(left, 1 - x, x)
    total = start ** -(n + 1.0)
    for step in range(1, _SHIFT):
        total = total + (start + step) ** -(n + 1.0)
    far = start + _SHIFT
    # z^-n / n + z^-(n + 1) / 2 + sum of B2k (n + 1) ... (n + 2k - 1) z^-(n + 2k) / (2k)!, in powers of z^-2.
    factors = [1 / n]
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        factors.append(
            bernoulli * math.factorial(n + 2 * k - 1) / (math.factorial(n) * math.factorial(2 * k))
        )
    series = (1 / (far * far)).polynomial(factors)
    zeta = far ** -float(n) * (series + 0.5 / far) + total
    sign = 1 if n % 2 else -1
    right = zeta * float(sign * math.factorial(n))
    offset = _from_whole(x)
    cotangent = 1 / (offset * math.pi).tan()
    steps = cotangent.polynomial(_cotangent_derivative(n)) * math.pi ** (n + 1)
    reflected = -(right + steps) if n % 2 else right - steps
    result = where(left, reflected, right)
    pole = (x <= 0) & offset.equals(0)
    if n == 1:
        sine = (
            (x * _PI_IN_SINGLE).as_single().sin().as_single() if x.narrow else (x * math.pi).sin()
        ) / math.pi
        return where(pole, 1 / (sine * sine), result)
    result = result.filled(x.equals(math.inf), math.nan)
    return result.filled(pole | x.equals(-math.inf), sign * math.inf)


def _cotangent_derivative(n: int) -> list[float]:
    """The n-th derivative of the cotangent as a polynomial of the cotangent: each is -(1 + c^2) times the slope of the
    one before.
    """
    found = [0, 1]
    for _ in range(n):
        slope = [k * c for k, c in enumerate(found)][1:]
        found = [-(a + b) for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return [float(c) for c in found]
