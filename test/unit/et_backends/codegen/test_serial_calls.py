"""Kernels of little work, which one thread computes while the others wait."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from support.native_modules import SETS, as_module, compiled, run

WIDTH = 256


def steps(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Short kernels between products, in memory that is used again and again."""
    for _ in range(4):
        x = x - x.mean(-1, keepdim=True)
        low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
        x = (x - low) / (high - low)
        x = torch.cat([x[:, WIDTH // 2 :], x[:, : WIDTH // 2]], -1)
        x = torch.nn.functional.linear(x, weight)
    return x.softmax(-1)


@pytest.mark.parametrize("threads", [2, 3])
def test_bits_do_not_depend_on_threads(threads: int) -> None:
    generator = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(size, generator=generator) for size in ((1, WIDTH), (WIDTH, WIDTH)))
    module = as_module(lambda x: steps(x, weight))
    file = compiled(module, (x,), SETS[0])
    expected = run(file, (x,))
    np.testing.assert_allclose(expected, module(x).numpy(), rtol=0, atol=1e-5)
    for _ in range(10):
        np.testing.assert_array_equal(run(file, (x,), threads), expected)
