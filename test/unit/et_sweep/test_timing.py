"""Noise of times, and summaries of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from et_sweep.timing import noise, summary


def test_noise_is_the_standard_error_of_the_median() -> None:
    rng = np.random.default_rng(0)
    samples = rng.normal(1.0, 0.1, (2000, 101))
    real = float(np.std(np.median(samples, axis=1)))
    estimated = float(np.median([noise(list(one)) for one in samples]))
    assert estimated == pytest.approx(real, rel=0.1)


def test_noise_of_outliers() -> None:
    assert noise([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 50.0]) == 0
    assert noise([1.0]) == math.inf


def test_summary() -> None:
    found = summary([1.0, 2.0, 3.0, 4.0, 5.0], 0.1)
    assert (found["min_seconds"], found["median_seconds"], found["spread_seconds"]) == (1.0, 3.0, 2.0)
    assert not found["noise_met"]
    assert summary([2.0, 2.0, 2.0], 0.1)["noise_met"]
