"""Pools of integers give the largest of each window, and its mean by the formula."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from support.integer_calls import integers, rounded, run

from et_vm.values import Array

GRID = (0.04, 9, -125, 120)
WINDOWS = [
    ((2, 2), (2, 2), (0, 0), False),
    ((3, 2), (1, 2), (1, 1), False),
    ((3, 3), (2, 2), (1, 0), True),
    ((1, 1), (1, 1), (0, 0), False),
    ((2, 3), (), (1, 1), True),
]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("shape", [(2, 3, 7, 6), (3, 7, 6)])
@pytest.mark.parametrize("dilation", [1, 2])
def test_max_pool(
    window: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], bool],
    shape: tuple[int, ...],
    dilation: int,
) -> None:
    kernel, stride, padding, ceil = window
    x = integers(np.random.default_rng(0), *shape)
    wanted = torch.nn.functional.max_pool2d(
        torch.from_numpy(x.astype(np.float32)), kernel, stride or None, padding, dilation, ceil
    ).numpy()
    for last in {False, len(shape) == 4}:
        found = run(
            "integer::max_pool2d.out", x, list(kernel), list(stride), list(padding), [dilation] * 2, ceil,
            shape=wanted.shape, last=last,
        )  # fmt: skip
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("shape", [(2, 3, 7, 6), (3, 7, 6)])
@pytest.mark.parametrize(("padded", "divisor"), [(True, None), (False, None), (False, 5)])
def test_avg_pool(
    window: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], bool],
    shape: tuple[int, ...],
    padded: bool,
    divisor: int | None,
) -> None:
    kernel, stride, padding, ceil = window
    x = integers(np.random.default_rng(1), *shape)
    scale, zero_point = 0.06, -3
    image = torch.from_numpy(x.astype(np.float64) - zero_point)

    def pool(image: torch.Tensor, divisor: int | None) -> Array:
        return torch.nn.functional.avg_pool2d(
            image, kernel, stride or None, padding, ceil, padded, divisor
        ).numpy()

    sums = np.rint(pool(image, 1)).astype(np.int64)
    ones = torch.ones_like(image)
    counts = np.rint(pool(ones, 1) / pool(ones, None)) if divisor is None else np.full(sums.shape, divisor)
    flat = [
        rounded(int(total) * (scale / (GRID[0] * float(count))), *GRID[1:])
        for total, count in zip(sums.flat, counts.flat, strict=True)
    ]
    for last in {False, len(shape) == 4}:
        found = run(
            "integer::avg_pool2d.out", x, scale, zero_point, list(kernel), list(stride), list(padding), ceil, padded,
            divisor, *GRID, shape=sums.shape, last=last,
        )  # fmt: skip
        assert found.tolist() == np.reshape(flat, sums.shape).tolist()
