"""Products of Householder reflectors, held against numpy's factors."""

from __future__ import annotations

import numpy as np
import pytest

from et_vm.kernels.portable.linalg.reflectors import reflected
from et_vm.values import Array


@pytest.mark.parametrize("imaginary", [0, 1j])
def test_the_reflectors_make_q(imaginary: complex) -> None:
    random = np.random.default_rng(5)
    a: Array = random.standard_normal((2, 5, 3)) + imaginary * random.standard_normal((2, 5, 3))
    packed, tau = np.linalg.qr(a, "raw")
    q, r = np.linalg.qr(a, "complete")
    packed = packed.swapaxes(-1, -2)
    eye = np.broadcast_to(np.eye(5, dtype=a.dtype), (2, 5, 5))
    np.testing.assert_allclose(reflected(packed, tau, eye, False), q, atol=1e-14)
    np.testing.assert_allclose(reflected(packed, tau, a, True), r, atol=1e-14)
    np.testing.assert_allclose(reflected(packed, tau, eye, True), q.swapaxes(-1, -2).conj(), atol=1e-14)


def test_fewer_factors_than_columns() -> None:
    random = np.random.default_rng(6)
    packed, tau = np.linalg.qr(random.standard_normal((4, 3)), "raw")
    both = reflected(packed.T, tau[:2], np.eye(4), False)
    first = reflected(packed.T, tau[:1], np.eye(4), False)
    last = np.eye(4)
    vector = np.concatenate([[0.0, 1.0], packed.T[2:, 1]])
    last -= tau[1] * np.outer(vector, vector)
    np.testing.assert_allclose(both, first @ last, atol=1e-14)
