"""The complementary error function and the inverses of the normal distribution.

Errors of f64 results against fifty digits are up to 4 units of the last place; those of `ndtri` next to its zero 1e-16.
Some 75 ops, `erfinv` 140, `ndtri` 190.
"""

from __future__ import annotations

import math

from et_ir.dialects.edge import ops as edge
from et_ir.passes.to_executorch.fit_kernels import special_coefficients as table
from et_ir.passes.to_executorch.fit_kernels.formulas import Real, formula, where


def _scaled(size: Real) -> Real:
    """exp(x^2) erfc(x) for x >= 0, by the substitution of Shepherd and Laframboise, "Chebyshev Approximation of
    (1 + 2x) exp(x^2) erfc x" (1981).
    """
    t = 1 - 8 / (size + 4)
    return t.polynomial(table.ERFCX) / (size * 2 + 1)


def _square(size: Real) -> tuple[Real, Real]:
    """x^2 of 0 <= x < 1000 in two parts, the first exact: rounded in one its exponential would lose digits (Cody,
    "Rational Chebyshev Approximations for the Error Function", 1969).
    """
    near = (size * 16).round() / 16
    return near * near, (size - near) * (size + near)


@formula(edge.ErfcOp)
def erfc(x: Real) -> Real:
    size = x.size().at_most(28)  # where it is 0
    square, rest = _square(size)
    tail = _scaled(size) * (-square).exp() * (-rest).exp()
    return where(x < 0, 2 - tail, tail)


@formula(edge.SpecialErfcxOp)
def erfcx(x: Real) -> Real:
    right = _scaled(x.size())
    square, rest = _square(x.size().at_most(28))  # where it is infinite on the left
    return where(x < 0, square.exp() * rest.exp() * 2 - right, right)


def _inverse(w: Real, *, tail: bool) -> Real:
    """erfinv(y) / y of w = -log(1 - y^2), in the pieces of Giles, "Approximating the erfinv function" (2010), with
    coefficients of our own; above 37, where y is 1 in f64, only with `tail`.
    """
    root = w.sqrt()
    near = (w / 3.125 - 1).polynomial(table.ERFINV_NEAR)
    middle = ((root - 3.25) / 0.75).polynomial(table.ERFINV_MIDDLE)
    far = ((root - 5.05) / 1.05).polynomial(table.ERFINV_FAR)
    if tail:
        low, high = 1 / 28, 1 / 6
        t = (1 / root - (low + high) / 2) / ((high - low) / 2)
        far = where(root <= 6, far, t.polynomial(table.ERFINV_TAIL) * root)
    return where(w <= 6.25, near, where(root <= 4, middle, far))


@formula(edge.ErfinvOp)
def erfinv(y: Real) -> Real:
    """Infinite at 1 and -1; beyond, the logarithm of a negative number."""
    inside = -((1 - y) * (y + 1)).log()
    return where(y.size().equals(1), y * math.inf, y * _inverse(inside, tail=False))


@formula(edge.SpecialNdtriOp)
def ndtri(p: Real) -> Real:
    """sqrt(2) erfinv(2 p - 1), with a logarithm that is exact for the least p."""
    inside = -((1 - p) * p * 4).log()
    return (p * 2 - 1) * math.sqrt(2) * _inverse(inside, tail=True)
