"""Special functions against values of the Digital Library of Mathematical Functions and their own identities."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from et_vm.kernels.portable.special import bessel, gamma, normal


@pytest.fixture(autouse=True)
def _as_in_a_method() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


X = np.array([0.1, 0.5, 1.0, 1.5, 2.0, 7.3, 25.0, 170.0])


def test_gamma_functions() -> None:
    np.testing.assert_allclose(gamma.lgamma(X), [math.lgamma(x) for x in X], rtol=1e-13, atol=1e-14)
    negative = np.array([-0.5, -3.25, -20.75])
    np.testing.assert_allclose(gamma.lgamma(negative), [math.lgamma(x) for x in negative], rtol=1e-12)
    assert np.isposinf(gamma.lgamma(np.array([0.0, -1.0, -4.0, np.inf, -np.inf]))).all()
    euler = 0.5772156649015329
    np.testing.assert_allclose(gamma.digamma(np.array([1.0, 2.0])), [-euler, 1 - euler], rtol=1e-14)
    np.testing.assert_allclose(gamma.digamma(X + 1) - gamma.digamma(X), 1 / X, rtol=1e-10)
    double = np.dtype(np.float64)
    np.testing.assert_allclose(gamma.polygamma(1, np.array([1.0]), double), [math.pi**2 / 6], rtol=1e-14)
    np.testing.assert_allclose(
        gamma.zeta(np.array([2.0, 4.0]), np.ones(2)), [math.pi**2 / 6, math.pi**4 / 90]
    )


def test_incomplete_gamma_functions_add_up_to_one() -> None:
    a, x = np.meshgrid(X, X)
    np.testing.assert_allclose(gamma.igamma(a, x) + gamma.igammac(a, x), 1, rtol=1e-12)
    np.testing.assert_allclose(gamma.igamma(np.ones(8), X), -np.expm1(-X), rtol=1e-12)


def test_error_functions() -> None:
    x = np.array([-3.0, -0.5, 0.0, 0.25, 0.9999, 1.0, 1.0001, 5.9, 6.1, 20.0])
    np.testing.assert_allclose(normal.erfc(x), [math.erfc(v) for v in x], rtol=1e-13)
    np.testing.assert_allclose(
        normal.erfcx(x[1:]) * np.exp(-(x[1:] ** 2)), [math.erfc(v) for v in x[1:]], rtol=1e-12
    )
    y = np.array([-0.999999, -0.3, 1e-9, 0.5, 0.75, 1 - 1e-15])
    np.testing.assert_allclose([math.erf(v) for v in normal.erfinv(y)], y, rtol=1e-14)
    p = np.array([1e-300, 1e-20, 0.01, 0.3, 0.5, 0.9])
    np.testing.assert_allclose(normal.log_ndtr(normal.ndtri(p)), np.log(p), rtol=1e-10)


@pytest.mark.parametrize("order", [0, 1])
def test_bessel_functions_meet_where_the_series_change(order: int) -> None:
    scaled = (bessel.i0e, bessel.i1e)[order]
    below, above = scaled(np.array([20.0, 20.0 + 1e-9]))
    assert below == pytest.approx(above, rel=1e-9)
    full = (bessel.i0, bessel.i1)[order](np.array([1.0]))
    assert full == pytest.approx((1.2660658777520084, 0.5651591039924851)[order], rel=1e-14)


def test_zeta_far_below_zero() -> None:
    """At once, whatever the number of terms: it differs from a nearby argument by the terms between."""
    x, q = np.array([2.0, 3.0, 4.0]), np.array([-70.25, -100.5, -65.125])
    terms = sum((q + k) ** -x for k in range(60))
    np.testing.assert_allclose(gamma.zeta(x, q), terms + gamma.zeta(x, q + 60), rtol=1e-12, atol=1e-12)
    far = gamma.zeta(np.full(4, 2.0), np.array([-1e308, -(2.0**50) + 0.5, -1e6 - 0.5, -3.0]))
    np.testing.assert_allclose(far[1:3], np.pi**2, rtol=1e-5)
    assert np.isinf(far[[0, 3]]).all()
