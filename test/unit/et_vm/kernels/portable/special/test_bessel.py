"""Bessel's functions and Airy's against their values to forty digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import mpmath
import numpy as np
import pytest

from et_schema.scalar_type import ScalarType
from et_vm.kernels.libraries import load_library
from et_vm.kernels.registry import PrepareContext
from et_vm.values import Array, Tensor


@pytest.fixture(autouse=True)
def _as_in_a_method() -> Iterator[None]:
    with np.errstate(all="ignore"), mpmath.workdps(40):
        yield


def kernel(name: str) -> Callable[[Array], Array]:
    """The kernel of an operator as a function of a float64 array."""
    operator = f"aten::{name}.out"
    prepare = load_library("portable").lookup(operator, ())
    assert prepare is not None

    def function(x: Array) -> Array:
        source, out = (
            Tensor(ScalarType.DOUBLE, x.shape, storage=np.zeros(x.nbytes, np.uint8)) for _ in range(2)
        )
        source.array[...] = x
        step, args = prepare(PrepareContext(operator), source, out)
        step(*args)
        return out.array

    return function


# Around the places where the methods change, 1 and 20, and far from them.
X = np.concatenate([np.geomspace(1e-9, 1, 9), np.linspace(0.9, 24, 40), [19.999, 20.0, 20.001, 60.5, 1e3]])


def _worst(function: Callable[[Array], Array], true: Callable[[mpmath.mpf], mpmath.mpf], x: Array) -> float:
    """The largest error relative to the value, or to 0.01 if that is larger."""
    wanted = np.array([float(true(mpmath.mpf(float(v)))) for v in x])
    return float((np.abs(function(x) - wanted) / np.maximum(np.abs(wanted), 0.01)).max())


def _small(function: Callable[[Array], Array], true: Callable[[mpmath.mpf], mpmath.mpf], x: Array) -> float:
    """The largest error relative to the value."""
    wanted = np.array([float(true(mpmath.mpf(float(v)))) for v in x])
    return float((np.abs(function(x) - wanted) / np.abs(wanted)).max())


def test_ordinary_functions() -> None:
    for order, function in enumerate(kernel(f"special_bessel_j{n}") for n in (0, 1)):
        assert _worst(function, lambda v, n=order: mpmath.besselj(n, v), X) < 1e-12
    for order, function in enumerate(kernel(f"special_bessel_y{n}") for n in (0, 1)):
        assert _worst(function, lambda v, n=order: mpmath.bessely(n, v), X) < 1e-12
    assert (
        _small(kernel("special_bessel_j1"), lambda v: mpmath.besselj(1, v), np.geomspace(1e-300, 1, 20))
        < 1e-14
    )
    assert _worst(kernel("special_spherical_bessel_j0"), mpmath.sinc, X) < 1e-13


def test_functions_that_decay() -> None:
    for order, function in enumerate(
        (kernel("special_modified_bessel_k0"), kernel("special_modified_bessel_k1"))
    ):
        assert _small(function, lambda v, n=order: mpmath.besselk(n, v), X[:-1]) < 1e-13
    for order, function in enumerate(
        (kernel("special_scaled_modified_bessel_k0"), kernel("special_scaled_modified_bessel_k1"))
    ):
        assert _small(function, lambda v, n=order: mpmath.besselk(n, v) * mpmath.exp(v), X) < 1e-13


def test_functions_that_grow() -> None:
    for order, function in enumerate(
        (kernel("special_modified_bessel_i0"), kernel("special_modified_bessel_i1"))
    ):
        assert _small(function, lambda v, n=order: mpmath.besseli(n, v), X[:-1]) < 1e-13


def test_airy() -> None:
    assert _worst(kernel("special_airy_ai"), mpmath.airyai, np.linspace(-20, 3, 93)) < 1e-12
    assert _small(kernel("special_airy_ai"), mpmath.airyai, np.linspace(0, 30, 31)) < 1e-12


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        # of NaN, inf, -inf, 0, -1
        (kernel("special_bessel_j0"), [np.nan, np.nan, np.nan, 1, 0.7651976865579666]),
        (kernel("special_bessel_j1"), [np.nan, np.nan, np.nan, 0, -0.44005058574493355]),
        (kernel("special_bessel_y0"), [np.nan, np.nan, np.nan, -np.inf, np.nan]),
        (kernel("special_bessel_y1"), [np.nan, np.nan, np.nan, -np.inf, np.nan]),
        (kernel("special_spherical_bessel_j0"), [np.nan, 0, 0, 1, 0.8414709848078965]),
        (kernel("special_modified_bessel_k0"), [np.nan, 0, np.nan, np.inf, np.nan]),
        (kernel("special_scaled_modified_bessel_k1"), [np.nan, 0, np.nan, np.inf, np.nan]),
        (kernel("special_airy_ai"), [np.nan, np.nan, np.nan, 0.3550280538878172, 0.5355608832923521]),
    ],
)
def test_where_there_is_no_value(function: Callable[[Array], Array], wanted: list[float]) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -1.0])
    np.testing.assert_allclose(function(x), wanted, rtol=1e-14)
