"""The matrix exponential against its own identities."""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from et_vm.kernels.portable.linalg.linalg import exponential
from et_vm.work import CALL


def test_diagonal_and_nilpotent() -> None:
    values = np.array([0.0, -3.5, 20.0, 1e-9])
    np.testing.assert_allclose(
        exponential(scipy.linalg, np.diag(values)), np.diag(np.exp(values)), rtol=1e-13
    )
    np.testing.assert_allclose(
        exponential(scipy.linalg, np.array([[0.0, 1e6], [0.0, 0.0]])), [[1, 1e6], [0, 1]], rtol=1e-12
    )


def test_rotation() -> None:
    for angle in (1e-3, 1.0, 30.0):
        c, s = math.cos(angle), math.sin(angle)
        got = exponential(scipy.linalg, np.array([[0.0, -angle], [angle, 0.0]]))
        np.testing.assert_allclose(got, [[c, -s], [s, c]], atol=1e-13)


def test_scales_each_matrix_of_a_batch_alone() -> None:
    a = np.random.default_rng(1).standard_normal((3, 4, 4)) * np.array([1e-3, 1.0, 20.0])[:, None, None]
    together = exponential(scipy.linalg, a)
    for matrix, found in zip(a, together, strict=True):
        np.testing.assert_allclose(found, exponential(scipy.linalg, matrix), rtol=1e-13)
        np.testing.assert_allclose(found @ exponential(scipy.linalg, -matrix), np.eye(4), atol=1e-3)


def test_what_is_not_finite() -> None:
    a = np.zeros((2, 2, 2))
    a[1, 0, 0] = np.nan
    got = exponential(scipy.linalg, a)
    assert (got[0] == np.eye(2)).all()
    assert np.isnan(got[1]).all()
    assert exponential(scipy.linalg, np.zeros((0, 3, 3))).shape == (0, 3, 3)


def test_work_grows_with_the_bits_of_the_largest_norm() -> None:
    def work(*values: float) -> int:
        told: list[int] = []
        exponential(scipy.linalg, np.array([np.diag([value] * 4) for value in values]), told.append)
        return sum(told)

    assert work(1.0, 5.0) == 0
    assert work(1.0, 600.0) - work(1.0, 300.0) == 2 * 4**3 + CALL
    assert work(1.0, math.nan) == 0
