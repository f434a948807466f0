"""Bunch and Kaufman's factorization, held against the matrix it is of."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import lapack

from et_vm.kernels.portable.linalg.linalg_symmetric import ldl, solve_ldl
from et_vm.values import Array


def _matrices(kind: type[np.inexact], hermitian: bool) -> Array:
    random = np.random.default_rng(5)
    made = random.standard_normal((2, 3, 7, 7)) + 1j * random.standard_normal((2, 3, 7, 7))
    made = made.astype(kind) if np.issubdtype(kind, np.complexfloating) else made.real.astype(kind)
    # Zeros on the diagonal make blocks of two.
    made[1, :, np.arange(7), np.arange(7)] = 0
    turned = made.swapaxes(-1, -2)
    return made + (turned.conj() if hermitian else turned)


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("kind", [np.float64, np.complex128])
def test_solves(kind: type[np.inexact], hermitian: bool) -> None:
    a = _matrices(kind, hermitian)
    packed, pivots, info = ldl(lapack, np.tril(a), hermitian)
    assert (pivots < 0).any()
    assert not info.any()
    assert not np.triu(packed, 1).any()
    b = _matrices(kind, False)[..., :2]
    np.testing.assert_allclose(a @ solve_ldl(lapack, packed, pivots, b, hermitian), b, rtol=1e-10, atol=1e-10)


def test_batches_broadcast() -> None:
    a = _matrices(np.float64, False)
    packed, pivots, _ = ldl(lapack, a[0, 0], False)
    b = np.ones((4, 7, 1))
    np.testing.assert_allclose(a[0, 0] @ solve_ldl(lapack, packed, pivots, b, False), b, rtol=1e-10)


def test_singular() -> None:
    packed, pivots, info = ldl(lapack, np.array([np.zeros((3, 3)), np.diag([1.0, 0.0, 2.0])]), False)
    assert info.tolist() == [1, 2]
    assert pivots.tolist() == [[1, 2, 3], [1, 2, 3]]
    assert packed[1].tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 2]]


def test_empty() -> None:
    for shape in ((0, 3, 3), (2, 0, 0)):
        packed, pivots, info = ldl(lapack, np.zeros(shape), False)
        assert (packed.shape, pivots.shape, info.shape) == (shape, shape[:-1], shape[:-2])
