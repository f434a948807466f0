"""Numeric gaps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from et_vm.devtools.gaps import bound_for, gap_between


def test_equal_values() -> None:
    gap = gap_between(np.array([1.0, np.nan, np.inf]), np.array([1.0, np.nan, np.inf]))
    assert (gap.max_abs, gap.relative, gap.mse, gap.sqnr, gap.cosine) == (0, 0, 0, math.inf, 1)


def test_measures() -> None:
    gap = gap_between(np.array([[3.0, 4.5]]), np.array([[3.0, 4.0]]))
    assert gap.max_abs == 0.5
    assert gap.relative == 0.125
    assert gap.mse == 0.125
    assert gap.sqnr == pytest.approx(20.0)
    assert gap.cosine == pytest.approx((9 + 18) / (math.hypot(3, 4.5) * 5))
    assert gap.place == (0, 1)


def test_one_side_is_not_finite() -> None:
    gap = gap_between(np.array([1.0, np.nan]), np.array([1.0, 2.0]))
    assert math.isinf(gap.max_abs)
    assert gap.place == (1,)
    assert gap.exceeds(1e9)


def test_large_integers() -> None:
    assert gap_between(np.array([2**60 + 1]), np.array([2**60])).relative == 0  # double precision
    assert gap_between(np.array([7, 2]), np.array([7, 3])).max_abs == 1


def test_shapes_and_things_that_are_no_numbers() -> None:
    assert gap_between(np.ones(2), np.ones(3)).note == "shape [2], expected [3]"
    assert gap_between("a", "a").relative == 0
    assert gap_between("a", None).exceeds(1)


def test_bounds() -> None:
    assert bound_for(np.dtype(np.float32)) == 1e-4
    assert bound_for(np.dtype(np.int64)) == 0
    assert bound_for(np.dtype(np.int64), 0.5) == 0.5
