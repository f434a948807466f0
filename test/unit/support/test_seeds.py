"""Random numbers of tests, the same whatever ran before."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

DRAWN: list[tuple[float, float, float]] = []


@pytest.mark.parametrize("before", range(3))
def test_each_test_draws_the_same(before: int) -> None:
    DRAWN.append((random.random(), np.random.random(), float(torch.rand(()))))
    assert set(DRAWN) == {DRAWN[0]}
    assert DRAWN[0][2] == float(torch.rand((), generator=torch.Generator()))
    torch.rand(before + 1)
