"""Special functions against values of the Digital Library of Mathematical Functions and their own identities."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import special

from et_vm.kernels.portable.special import scipy_functions
from et_vm.kernels.portable.special.special import lgamma
from et_vm.values import Array


@pytest.fixture(autouse=True)
def _as_in_a_method() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def zeta(x: Array, q: Array) -> Array:
    return scipy_functions.zeta(special, x, q)


def polygamma(n: int, x: Array) -> Array:
    return scipy_functions.polygamma(special, n, x, np.dtype(np.float64))


def incomplete(a: Array, x: Array, upper: bool) -> Array:
    return scipy_functions.incomplete_gamma(special, a, x, upper)


X = np.array([0.1, 0.5, 1.0, 1.5, 2.0, 7.3, 25.0, 170.0])


def test_gamma_functions() -> None:
    np.testing.assert_allclose(lgamma(X), [math.lgamma(x) for x in X], rtol=1e-13, atol=1e-14)
    negative = np.array([-0.5, -3.25, -20.75])
    np.testing.assert_allclose(lgamma(negative), [math.lgamma(x) for x in negative], rtol=1e-12)
    assert np.isposinf(lgamma(np.array([0.0, -1.0, -4.0, np.inf, -np.inf]))).all()
    euler = 0.5772156649015329
    np.testing.assert_allclose(polygamma(0, np.array([1.0, 2.0])), [-euler, 1 - euler], rtol=1e-14)
    np.testing.assert_allclose(polygamma(0, X + 1) - polygamma(0, X), 1 / X, rtol=1e-10)
    np.testing.assert_allclose(polygamma(1, np.array([1.0])), [math.pi**2 / 6], rtol=1e-14)
    np.testing.assert_allclose(zeta(np.array([2.0, 4.0]), np.ones(2)), [math.pi**2 / 6, math.pi**4 / 90])


def test_incomplete_gamma_functions_add_up_to_one() -> None:
    a, x = np.meshgrid(X, X)
    np.testing.assert_allclose(incomplete(a, x, False) + incomplete(a, x, True), 1, rtol=1e-12)
    np.testing.assert_allclose(incomplete(np.ones(8), X, False), -np.expm1(-X), rtol=1e-12)


def test_the_inverse_error_function() -> None:
    y = np.array([-0.999999, -0.3, 1e-9, 0.5, 0.75, 1 - 1e-15])
    np.testing.assert_allclose([math.erf(v) for v in scipy_functions.erfinv(special, y)], y, rtol=1e-14)
    zeros = scipy_functions.erfinv(special, np.array([0.0, -0.0]))
    assert np.signbit(zeros).tolist() == [False, True]


def test_a_nan_counts_where_the_other_argument_does_not_decide() -> None:
    a = np.array([np.nan, np.nan, np.inf, np.nan, 1.0])
    x = np.array([0.0, np.inf, np.nan, 1.0, np.nan])
    np.testing.assert_array_equal(incomplete(a, x, False), [0, 1, 0, np.nan, np.nan])
    np.testing.assert_array_equal(incomplete(a, x, True), [1, 0, 1, np.nan, np.nan])


def test_zeta_far_below_zero() -> None:
    """At once, whatever the number of terms: it differs from a nearby argument by the terms between."""
    x, q = np.array([2.0, 3.0, 4.0]), np.array([-70.25, -100.5, -65.125])
    terms = sum((q + k) ** -x for k in range(60))
    np.testing.assert_allclose(zeta(x, q), terms + zeta(x, q + 60), rtol=1e-12, atol=1e-12)
    far = zeta(np.full(4, 2.0), np.array([-1e308, -(2.0**50) + 0.5, -1e6 - 0.5, -3.0]))
    np.testing.assert_allclose(far[1:3], np.pi**2, rtol=1e-5)
    assert np.isinf(far[[0, 3]]).all()
