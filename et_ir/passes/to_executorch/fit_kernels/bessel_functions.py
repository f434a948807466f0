"""Bessel functions of order 0 and 1, modified and ordinary.

Near zero power series whose terms are all of one sign, or for the ordinary ones Bessel's integral; far from it, series
in 1 / x. Errors of f64 results against fifty digits: of the modified functions up to 6 units of the last place, of K of
order 0 12; 1e-15 of the others, which have zeros. Some 110 ops, the ordinary ones 130, those of the second kind 250.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from et_ir.dialects.edge import ops as edge
from et_ir.passes.to_executorch.fit_kernels import special_coefficients as table
from et_ir.passes.to_executorch.fit_kernels.formulas import Real, formula, where

_FAR: Final = (table.I0_FAR, table.I1_FAR), (table.K0_FAR, table.K1_FAR)
_EULER: Final = 0.5772156649015329


# -- modified functions of the first kind


def _growing_factors(order: int, count: int) -> list[float]:
    """1 / (k! (k + order)!)."""
    return [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(count)]


def _growing_near(order: int, x: Real, count: int = 26) -> Real:
    """I(x) for |x| <= 8, by its power series (DLMF 10.25.2); with 12 terms for |x| <= 2."""
    half = x * 0.5
    series = (half * half).polynomial(_growing_factors(order, count))
    return half * series if order else series


def _growing(order: int, x: Real, *, scaled: bool) -> Real:
    """I(x), or with `scaled` I(x) exp(-|x|)."""
    size = x.size()
    far = (16 / size - 1).polynomial(_FAR[0][order]) / size.sqrt()
    near = _growing_near(order, size)
    if scaled:
        near = near * (-size).exp()
    else:
        growth = (size * 0.5).exp()  # twice, so that only a result too large overflows
        far = far * growth * growth
    result = where(size <= 8, near, far)
    return where(x < 0, -result, result) if order else result


@formula(edge.I0Op, edge.SpecialModifiedBesselI0Op)
def i0(x: Real) -> Real:
    return _growing(0, x, scaled=False)


@formula(edge.SpecialI1Op, edge.SpecialModifiedBesselI1Op)
def i1(x: Real) -> Real:
    return _growing(1, x, scaled=False)


@formula(edge.SpecialI0eOp)
def i0e(x: Real) -> Real:
    return _growing(0, x, scaled=True)


@formula(edge.SpecialI1eOp)
def i1e(x: Real) -> Real:
    return _growing(1, x, scaled=True)


# -- modified functions of the second kind


def _decaying(order: int, x: Real, *, scaled: bool) -> Real:
    """K(x), or with `scaled` K(x) exp(x): up to 2 the power series (DLMF 10.31.1-2)."""
    terms = 14
    harmonic = [math.fsum(1 / j for j in range(1, k + 1)) for k in range(terms + 1)]
    # psi(k + 1) + psi(k + 1 + order) over 2 k! (k + order)!
    factors = [
        (harmonic[k] + harmonic[k + order] - 2 * _EULER) / 2 * factor
        for k, factor in enumerate(_growing_factors(order, terms))
    ]
    half = x * 0.5
    series = (half * half).polynomial(factors)
    log = half.log()
    if order:
        near = 1 / x + log * _growing_near(1, x, 14) - half * series
        near = near.filled(x.equals(0), math.inf)
    else:
        near = series - log * _growing_near(0, x, 14)
    far = (4 / x - 1).polynomial(_FAR[1][order]) / x.sqrt()
    if scaled:
        near = near * x.exp()
    else:
        far = far * (-x).exp()
    return where(x <= 2, near, far)


@formula(edge.SpecialModifiedBesselK0Op)
def k0(x: Real) -> Real:
    return _decaying(0, x, scaled=False)


@formula(edge.SpecialModifiedBesselK1Op)
def k1(x: Real) -> Real:
    return _decaying(1, x, scaled=False)


@formula(edge.SpecialScaledModifiedBesselK0Op)
def k0e(x: Real) -> Real:
    return _decaying(0, x, scaled=True)


@formula(edge.SpecialScaledModifiedBesselK1Op)
def k1e(x: Real) -> Real:
    return _decaying(1, x, scaled=True)


# -- ordinary functions

_TURN: Final = 20.0
_NODES: Final = 56
_HANKEL_TERMS: Final = 28
_NEUMANN_TERMS: Final = 27


def _nodes(count: int) -> list[tuple[float, float]]:
    """Angles of a quarter period, and their shares of all: the integrands have its symmetry."""
    quarter = count // 4
    return [(at * 2 * math.pi / count, (2 if at in (0, quarter) else 4) / count) for at in range(quarter + 1)]


def _neumann_weight(order: int, angle: float) -> float:
    """Of Neumann's series for the second kind (DLMF 10.8.3 and its derivative), each term of which is a mean over the
    same nodes, what a node counts.
    """
    total = 0.0
    for k in range(1, _NEUMANN_TERMS + 1):
        sign = -1 if k % 2 else 1
        if order:
            total += (1 - 2 * sign) * (2 * k + 1) / (k * (k + 1)) * math.sin((2 * k + 1) * angle)
        else:
            total += -4 * sign / k * math.cos(2 * k * angle)
    return total / math.pi


def _means(order: int, x: Real, weights: Sequence[tuple[float, Sequence[float]]]) -> list[Real]:
    """Weighted means of cos(x sin t), or for order 1 of sin(x sin t)."""
    totals: list[Real] = []
    for angle, factors in weights:
        scaled = x * math.sin(angle)
        wave = scaled.sin() if order else scaled.cos()
        terms = [wave * factor for factor in factors]
        totals = [a + b for a, b in zip(totals, terms, strict=True)] if totals else terms
    return totals


def _far(kind: str, order: int, x: Real) -> Real:
    """Hankel's expansions for x >= 20 (DLMF 10.17.3), with the phase by the sine and cosine of x."""
    factors = [1.0]
    for k in range(1, _HANKEL_TERMS):
        factors.append(factors[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    inverse = 1 / x
    square = inverse * inverse
    even = square.polynomial([(-1) ** k * c for k, c in enumerate(factors[::2])])
    odd = square.polynomial([(-1) ** k * c for k, c in enumerate(factors[1::2])]) * inverse
    sine, cosine = x.sin(), x.cos()
    if order:
        phase_cosine, phase_sine = sine - cosine, -(sine + cosine)
    else:
        phase_cosine, phase_sine = cosine + sine, sine - cosine
    first, second = (phase_cosine, -phase_sine) if kind == "j" else (phase_sine, phase_cosine)
    return (even * first + odd * second) / (x * math.pi).sqrt()


def _first_kind(order: int, x: Real) -> Real:
    """Bessel's integral by the trapezoidal rule up to 20 (DLMF 10.9.1): 56 nodes have an error below 1e-17."""
    size = x.size()
    weights = [(angle, [share * (math.sin(angle) if order else 1)]) for angle, share in _nodes(_NODES)]
    (near,) = _means(order, size, weights)
    result = where(size <= _TURN, near, _far("j", order, size))
    return where(x < 0, -result, result) if order else result


def _second_kind(order: int, x: Real) -> Real:
    weights = [
        (angle, [share * (math.sin(angle) if order else 1), share * _neumann_weight(order, angle)])
        for angle, share in _nodes(2 * _NODES)
    ]
    first, regular = _means(order, x, weights)
    near = regular + ((x * 0.5).log() + (_EULER - order / 2)) * first * (2 / math.pi)
    if order:
        near = near - (2 / math.pi) / x
    return where(x <= _TURN, near, _far("y", order, x)).filled(x.equals(0), -math.inf)


@formula(edge.SpecialBesselJ0Op)
def j0(x: Real) -> Real:
    return _first_kind(0, x)


@formula(edge.SpecialBesselJ1Op)
def j1(x: Real) -> Real:
    return _first_kind(1, x)


@formula(edge.SpecialBesselY0Op)
def y0(x: Real) -> Real:
    return _second_kind(0, x)


@formula(edge.SpecialBesselY1Op)
def y1(x: Real) -> Real:
    return _second_kind(1, x)


@formula(edge.SpecialSphericalBesselJ0Op)
def spherical_j0(x: Real) -> Real:
    """sin(x) / x."""
    return (x.sin() / x).filled(x.equals(0), 1).filled(x.size().equals(math.inf), 0)
