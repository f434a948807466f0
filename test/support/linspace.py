"""Integers of `linspace`, exactly: their value where a whole number is met depends on one rounding."""

from __future__ import annotations

from fractions import Fraction

import torch


def integers_between(start: float, end: float, steps: int, dtype: torch.dtype) -> torch.Tensor:
    """`aten::linspace` of a type of integers: `steps` numbers in f64, each a product and a sum with one rounding, then
    rounded towards zero. Torch's are so on a machine whose vectors multiply and add at once, and otherwise have two
    roundings, after which 88 steps of 31347/99 may be more or less than 27864.
    """
    first, last = (int(torch.tensor(int(one)).to(dtype)) for one in (start, end))
    if steps < 2:
        return torch.full((steps,), first, dtype=dtype)
    step = Fraction((last - first) / (steps - 1))
    exact = [
        first + index * step if index < steps // 2 else last - (steps - 1 - index) * step
        for index in range(steps)
    ]
    return torch.tensor([int(float(one)) for one in exact], dtype=dtype)
