"""Accuracy of erf against the C library's."""

from __future__ import annotations

import math

import numpy as np
import pytest

from et_vm.kernels.portable.special.error_function import erf, gelu, polynomial, temporaries_of_erf
from et_vm.kernels.portable.steps import run


def _erf(x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    with np.errstate(all="ignore"):
        run(erf(x, out, [np.empty(x.shape, dtype) for dtype in temporaries_of_erf(x.dtype)]))
    return out


def _points(dtype: object) -> np.ndarray:
    fine = np.linspace(-7, 7, 20001)
    small = np.logspace(-30, 0, 2001)
    return np.concatenate([fine, small, -small]).astype(dtype)


@pytest.mark.parametrize(
    ("dtype", "absolute", "relative"), [(np.float32, 1.3e-7, 3e-7), (np.float64, 4e-16, 6e-16)]
)
def test_accuracy(dtype: object, absolute: float, relative: float) -> None:
    x = _points(dtype)
    expected = np.array([math.erf(value) for value in x.astype(np.float64)])
    error = np.abs(_erf(x).astype(np.float64) - expected)
    assert error.max() <= absolute
    nonzero = expected != 0
    assert (error[nonzero] / np.abs(expected[nonzero])).max() <= relative


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_values(dtype: object) -> None:
    x = np.array([math.nan, math.inf, -math.inf, 0.0, -0.0, 10.0], dtype)
    np.testing.assert_array_equal(_erf(x), np.array([math.nan, 1, -1, 0, -0.0, 1], dtype))
    assert np.signbit(_erf(x)[4])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gelu(dtype: object) -> None:
    x = _points(dtype)
    out = np.empty_like(x)
    run(gelu(x, out, [np.empty_like(x), *(np.empty(x.shape, d) for d in temporaries_of_erf(x.dtype))]))
    expected = np.array([v * (1 + math.erf(v / math.sqrt(2))) / 2 for v in x.astype(np.float64)])
    np.testing.assert_allclose(out, expected, atol=1e-6 if dtype == np.float32 else 1e-15)


def test_polynomial() -> None:
    x = np.linspace(-2, 2, 9)
    out = np.empty_like(x)
    run(polynomial(x, (1.0, -2.0, 3.0, 0.5), out))
    np.testing.assert_allclose(out, 1 - 2 * x + 3 * x**2 + 0.5 * x**3)
