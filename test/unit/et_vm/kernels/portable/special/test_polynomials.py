"""Orthogonal polynomials: their values at small degrees, their ends, and invalid degrees."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import scipy.special
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre

from et_schema.errors import ExecutorchError
from et_vm.kernels.portable.special import polynomials
from et_vm.kernels.portable.special.polynomials import POLYNOMIALS, Polynomial
from et_vm.values import Array


@pytest.fixture(autouse=True)
def _as_in_a_method() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def _ignore(_work: int) -> None:
    pass


def evaluate(family: Polynomial, x: Array, degree: Array) -> Array:
    return polynomials.evaluate(family, np.dtype(np.float64), scipy.special, _ignore, x, degree)


X = np.array([-2.5, -1.0, -0.7, 0.0, 0.1, 0.5, 1.0, 1.25])


@pytest.mark.parametrize("degree", [0, 1, 2, 5, 6, 7, 12])
@pytest.mark.parametrize(
    ("name", "basis"),
    [
        ("chebyshev_polynomial_t", chebyshev.chebval),
        ("hermite_polynomial_h", hermite.hermval),
        ("hermite_polynomial_he", hermite_e.hermeval),
        ("laguerre_polynomial_l", laguerre.lagval),
        ("legendre_polynomial_p", legendre.legval),
    ],
)
def test_values(name: str, basis: Callable[[Array, list[float]], Array], degree: int) -> None:
    wanted = basis(X, [0.0] * degree + [1.0])
    np.testing.assert_allclose(
        evaluate(POLYNOMIALS[name], X, np.array(float(degree))), wanted, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("degree", [1, 4, 9])
def test_the_four_kinds(degree: int) -> None:
    angle = np.linspace(0.1, 3.0, 9)
    x, n, half = np.cos(angle), np.array(float(degree)), angle / 2
    for letter, wanted in {
        "t": np.cos(degree * angle),
        "u": np.sin((degree + 1) * angle) / np.sin(angle),
        "v": np.cos((degree + 0.5) * angle) / np.cos(half),
        "w": np.sin((degree + 0.5) * angle) / np.sin(half),
    }.items():
        np.testing.assert_allclose(
            evaluate(POLYNOMIALS[f"chebyshev_polynomial_{letter}"], x, n), wanted, rtol=1e-10
        )
        shifted = POLYNOMIALS[f"shifted_chebyshev_polynomial_{letter}"]
        np.testing.assert_allclose(evaluate(shifted, (x + 1) / 2, n), wanted, rtol=1e-10)


@pytest.mark.parametrize("name", sorted(POLYNOMIALS))
def test_degrees(name: str) -> None:
    family = POLYNOMIALS[name]
    x = np.array([0.25, 3.0])
    assert not evaluate(family, x, np.array(-1.0)).any()
    assert (evaluate(family, np.array([np.nan, np.inf]), np.array(0.0)) == 1).all()
    np.testing.assert_array_equal(
        evaluate(family, x, np.array(3.9)), evaluate(family, x, np.array(3.0)), strict=True
    )
    assert not evaluate(family, x, np.array(np.nan)).any()
    assert np.isnan(evaluate(family, np.array([np.nan]), np.array(3.0))).all()


def test_overflow_ends_in_nan() -> None:
    family = POLYNOMIALS["hermite_polynomial_h"]
    assert np.isnan(evaluate(family, np.array([0.3]), np.array([1e6]))).all()


def test_degrees_that_would_take_hours() -> None:
    """Are refused, unless a trigonometric form or a closed one has them at once."""
    inside, outside = np.array([0.5]), np.array([1.5])
    far = np.array([2.0**40])
    assert np.isfinite(evaluate(POLYNOMIALS["chebyshev_polynomial_t"], inside, far)).all()
    with pytest.raises(ExecutorchError, match="a polynomial of degree 1099511627776 by its recurrence"):
        evaluate(POLYNOMIALS["laguerre_polynomial_l"], outside, far)


def test_work_is_that_of_recurrences() -> None:
    def work(name: str, x: float, *degrees: float) -> int:
        told: list[int] = []
        polynomials.evaluate(
            POLYNOMIALS[name],
            np.dtype(np.float64),
            scipy.special,
            told.append,
            np.array(x),
            np.array(degrees),
        )
        return sum(told)

    assert work("laguerre_polynomial_l", 0.5, 20.0, 30.0) == 50 * work("laguerre_polynomial_l", 0.5, 1.0)
    assert work("chebyshev_polynomial_t", 0.5, 1e9) == 0
    assert work("chebyshev_polynomial_t", 1.5, 20.0) == work("laguerre_polynomial_l", 0.5, 20.0) > 0
