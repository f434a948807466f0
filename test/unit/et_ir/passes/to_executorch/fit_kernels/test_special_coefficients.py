"""The coefficients of special functions are those of fits, made again here with fifty digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import pytest

from et_ir.passes.to_executorch.fit_kernels import special_coefficients as table

mp: Any = mpmath.mp.clone()
mp.dps = 50


def fitted(function: Callable[[Any], Any], low: Any, high: Any, count: int) -> list[Any]:
    """`count` coefficients, in powers of t in [-1, 1], of a function on [low, high]: the series of its Chebyshev
    interpolation at more nodes, cut off.
    """
    nodes = count + 14
    angles = [mp.pi * (2 * k + 1) / (2 * nodes) for k in range(nodes)]
    centre, half = (mp.mpf(low) + high) / 2, (mp.mpf(high) - low) / 2
    values = [function(centre + half * mp.cos(angle)) for angle in angles]
    series = [
        2 * mp.fsum(v * mp.cos(j * a) for v, a in zip(values, angles, strict=True)) / nodes
        for j in range(count)
    ]
    series[0] /= 2
    powers = [[mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]]
    while len(powers) < count:
        following = [mp.mpf(0), *(2 * c for c in powers[-1])]
        for at, c in enumerate(powers[-2]):
            following[at] -= c
        powers.append(following)
    result = [mp.mpf(0)] * count
    for factor, polynomial in zip(series, powers, strict=True):
        for at, c in enumerate(polynomial):
            result[at] += factor * c
    return result


def erfcx(t: Any) -> Any:
    """(1 + 2 x) exp(x^2) erfc(x) for t = (x - 4) / (x + 4)."""
    x = 4 * (1 + t) / (1 - t)
    if x > 60:
        return (
            (1 + 2 * x)
            / (x * mp.sqrt(mp.pi))
            * sum((-1) ** k * mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(20))
        )
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def inverse(w: Any) -> Any:
    """erfinv(y) / y for w = -log(1 - y^2)."""
    if w < mp.mpf(10) ** -12:
        return mp.sqrt(mp.pi) / 2
    y = mp.sqrt(1 - mp.exp(-w))
    rest = mp.exp(-w) / (1 + y)
    x = mp.sqrt(w - mp.log(mp.sqrt(mp.pi * w) + 1)) if w > 1 else y * mp.sqrt(mp.pi) / 2
    for _ in range(12):
        step = (rest - mp.erfc(x)) * mp.sqrt(mp.pi) / 2 * mp.exp(x * x)
        x = x - step / (1 + x * step)
    return x / y


def lgamma_at_roots(u: Any) -> Any:
    """lgamma(1 + u) / (u (u - 1))."""
    return mp.loggamma(1 + u) / (u * (u - 1))


def stirling(v: Any) -> Any:
    """x times what Stirling's formula lacks, for v = 1 / x^2."""
    x = 1 / mp.sqrt(v)
    if x > 10000:
        return sum(mp.bernoulli(2 * k) / (2 * k * (2 * k - 1)) * v ** (k - 1) for k in range(1, 9))
    return (mp.loggamma(x) - ((x - mp.mpf(1) / 2) * mp.log(x) - x + mp.log(2 * mp.pi) / 2)) * x


def growing(order: int) -> Callable[[Any], Any]:
    def function(z: Any) -> Any:
        """sqrt(x) exp(-x) I(x) for z = 8 / x."""
        x = 8 / z
        if x > 200:
            return expansion(order, -1, x) / mp.sqrt(2 * mp.pi)
        return mp.sqrt(x) * mp.exp(-x) * mp.besseli(order, x)

    return function


def decaying(order: int) -> Callable[[Any], Any]:
    def function(z: Any) -> Any:
        """sqrt(x) exp(x) K(x) for z = 2 / x."""
        x = 2 / z
        if x > 200:
            return expansion(order, 1, x) * mp.sqrt(mp.pi / 2)
        return mp.sqrt(x) * mp.exp(x) * mp.besselk(order, x)

    return function


def expansion(order: int, sign: int, x: Any) -> Any:
    """Hankel's, for modified Bessel functions (DLMF 10.40)."""
    term, total = mp.mpf(1), mp.mpf(1)
    for k in range(1, 30):
        term *= sign * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k * x)
        total += term
    return total


FITS: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "ERFCX": (erfcx, -1, 1),
    "ERFINV_NEAR": (inverse, 0, mp.mpf(25) / 4),
    "ERFINV_MIDDLE": (lambda s: inverse(s * s), mp.mpf(5) / 2, 4),
    "ERFINV_FAR": (lambda s: inverse(s * s), 4, mp.mpf(61) / 10),
    "ERFINV_TAIL": (lambda r: inverse(1 / r**2) * r, 1 / mp.mpf(28), 1 / mp.mpf(6)),
    "LGAMMA": (lgamma_at_roots, 0, 2),
    "STIRLING": (stirling, 0, mp.mpf(1) / 9),
    "I0_FAR": (growing(0), 0, 1),
    "I1_FAR": (growing(1), 0, 1),
    "K0_FAR": (decaying(0), 0, 1),
    "K1_FAR": (decaying(1), 0, 1),
}


@pytest.mark.parametrize("name", FITS)
def test_coefficients_are_those_of_the_fit(name: str) -> None:
    function, low, high = FITS[name]
    given: Sequence[float] = getattr(table, name)
    assert list(given) == [float(c) for c in fitted(function, low, high, len(given))]


def test_every_table_is_a_fit() -> None:
    assert set(table.__all__) == set(FITS)
