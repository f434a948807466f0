"""Group-wise 4-bit weights: least-squares scales and error-compensating rounding.

A scale derived from a group's largest magnitude is best for that one number; a smaller scale, which clips it, is often
better for the group. `search_scales` tries fractions of it, then solves for the best scale of the resulting integers.

With inputs of the layer, `compensate` rounds column by column and adds the error of each to the columns that are still
floats, so that what the layer computes changes least: GPTQ (Frantar et al., "Accurate Post-Training Quantization for
Generative Pre-trained Transformers", 2023), with scales searched for when a group is reached.
"""

from __future__ import annotations

from typing import Any, Final

import torch

__all__ = ["compensate", "search_scales"]

_LIMITS: Final = (-8, 7)
_QUOTIENTS: Final = [0.6 + 0.55 * step / 16 for step in range(17)]
"""Candidate scales, as multiples of the scale that maps a group's largest magnitude to the limit."""
_REFINEMENTS: Final = 3
_LEAST_SCALE: Final = torch.finfo(torch.float32).eps
_DAMPING: Final = 0.05
"""Damping, as a fraction of the mean of the diagonal: it makes the matrix invertible and avoids overfitting."""


def search_scales(weight: torch.Tensor, group: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Integers `[rows, columns]` i8 in [-8, 7] and scales `[rows, columns / group]` f32 of a weight `[rows, columns]`.

    The scale of a group has the least sum of squares of errors among those tried. Zero points are 0.
    """
    values = weight.detach().float().reshape(weight.shape[0], -1, group)
    largest = values.abs().amax(-1, keepdim=True) / ((_LIMITS[1] - _LIMITS[0]) / 2)
    scales = largest.clamp(min=_LEAST_SCALE)
    integers = _rounded(values, scales)
    least = _error(values, integers, scales)

    def keep_better(candidates: torch.Tensor) -> None:
        nonlocal scales, integers, least
        candidates = candidates.clamp(min=_LEAST_SCALE)
        found = _rounded(values, candidates)
        errors = _error(values, found, candidates)
        better = errors < least
        scales = torch.where(better, candidates, scales)
        integers = torch.where(better, found, integers)
        least = torch.where(better, errors, least)

    for quotient in _QUOTIENTS:
        keep_better(largest * quotient)
    for _ in range(_REFINEMENTS):
        # The least squares solution for these integers.
        squares = integers.square().sum(-1, keepdim=True)
        keep_better((values * integers).sum(-1, keepdim=True) / squares.clamp(min=1))
    return integers.reshape(weight.shape).to(torch.int8), scales.squeeze(-1)


def _rounded(values: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    return torch.round(values / scales).clamp(*_LIMITS)


def _error(values: torch.Tensor, integers: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    return (values - integers * scales).square().sum(-1, keepdim=True)


def compensate(weight: torch.Tensor, group: int, moments: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """As `search_scales`, with the least change of `inputs @ weight.T`; `moments` is `inputs.T @ inputs`, f64.

    `moments` is `[columns, columns]`. Columns whose inputs are all 0 have no say.
    """
    remaining = weight.detach().double().clone()
    columns = remaining.shape[1]
    moments = moments.clone()
    diagonal = moments.diagonal()
    diagonal += max(_DAMPING * float(diagonal.mean()), torch.finfo(torch.float64).tiny)
    linalg: Any = torch.linalg
    inverse = torch.cholesky_inverse(linalg.cholesky(moments))
    # Row c of this factor has how the error of column c is shared among those behind it.
    factor: Any = linalg.cholesky(inverse, upper=True)
    integers = torch.empty(weight.shape, dtype=torch.int8)
    scales: list[torch.Tensor] = []
    for start in range(0, columns, group):
        end = start + group
        block = remaining[:, start:end]
        _, scale = search_scales(block, group)
        scales.append(scale)
        scale = scale.double()
        errors = torch.empty_like(block)
        for column in range(group):
            at = start + column
            found = _rounded(block[:, column : column + 1], scale)
            integers[:, at] = found[:, 0].to(torch.int8)
            error: torch.Tensor = (block[:, column : column + 1] - found * scale) / factor[at, at]
            block[:, column + 1 :] -= error @ factor[at : at + 1, at + 1 : end]
            errors[:, column] = error[:, 0]
        remaining[:, end:] -= errors @ factor[start:end, end:]
    return integers, torch.cat(scales, 1)
