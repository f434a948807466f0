"""Bin assignment of histogram kernels."""

from __future__ import annotations

import numpy as np

from et_vm.kernels.portable.sorting.histogram import counted


def test_edges_belong_to_the_part_above_and_the_last_to_its_own() -> None:
    edges = np.array([0.0, 1.0, 1.0, 2.0])
    values = np.array([0.0, 0.5, 1.0, 2.0, 2.5, -0.1, np.nan])
    assert counted(values, edges, None, False).tolist() == [2, 0, 2]


def test_weights_and_density() -> None:
    edges, values = np.array([0.0, 1.0, 3.0]), np.array([0.5, 2.0, 2.5, 9.0])
    weights = np.array([1.0, 2.0, 5.0, 100.0])
    assert counted(values, edges, weights, False).tolist() == [1, 7]
    density = counted(values, edges, weights, True)
    np.testing.assert_allclose(density * [1, 2], [1 / 8, 7 / 8])
