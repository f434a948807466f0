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

from et_ir.quantization.rows import new_stored, release_memory, slices_of_rows

__all__ = ["compensate", "search_scales"]

_LIMITS: Final = (-8, 7)
_QUOTIENTS: Final = [0.6 + 0.55 * step / 16 for step in range(17)]
"""Candidate scales, as multiples of the scale that maps a group's largest magnitude to the limit."""
_REFINEMENTS: Final = 3
_ELEMENTS: Final = 1 << 16
"""About how many numbers are searched at a time: they and what is computed of them stay in the caches."""
_LEAST_SCALE: Final = torch.finfo(torch.float32).eps
_DAMPING: Final = 0.05
"""Damping, as a fraction of the mean of the diagonal: it makes the matrix invertible and avoids overfitting."""


def search_scales(weight: torch.Tensor, group: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Integers `[rows, columns]` i8 in [-8, 7] and scales `[rows, columns / group]` f32 of a weight `[rows, columns]`.

    The scale of a group has the least sum of squares of errors among those tried. Zero points are 0.
    """
    integers = new_stored(torch.int8, weight.shape)
    scales = torch.empty(weight.shape[0], weight.shape[1] // group, dtype=torch.float32)
    for rows in slices_of_rows(weight.shape, _ELEMENTS):
        values = weight[rows].detach().float().reshape(-1, weight.shape[1] // group, group)
        best = _Search(values).scales
        integers[rows] = _rounded(values, best).reshape(integers[rows].shape)
        scales[rows] = best.squeeze(-1)
    release_memory(integers)
    return integers, scales


class _Search:
    """The best scales tried for groups `[rows, groups, group]` of numbers, and the errors that they leave."""

    def __init__(self, values: torch.Tensor) -> None:
        self._values = values
        self._integers = torch.empty_like(values)
        self._errors = torch.empty_like(values)
        largest = values.abs().amax(-1, keepdim=True) / ((_LIMITS[1] - _LIMITS[0]) / 2)
        self.scales = largest.clamp(min=_LEAST_SCALE)
        self._least = self._error(self.scales)
        for quotient in _QUOTIENTS:
            self._try(largest * quotient)
        for _ in range(_REFINEMENTS):
            self._try(self._least_squares())

    def _try(self, candidates: torch.Tensor) -> None:
        candidates.clamp_(min=_LEAST_SCALE)
        errors = self._error(candidates)
        better = errors < self._least
        self.scales = torch.where(better, candidates, self.scales)
        self._least = torch.where(better, errors, self._least)

    def _least_squares(self) -> torch.Tensor:
        """The best scales for the integers that there are."""
        integers = _rounded(self._values, self.scales, self._integers)
        squares = torch.mul(integers, integers, out=self._errors).sum(-1, keepdim=True)
        return torch.mul(self._values, integers, out=self._errors).sum(-1, keepdim=True) / squares.clamp(
            min=1
        )

    def _error(self, scales: torch.Tensor) -> torch.Tensor:
        """The sums of squares of errors."""
        errors = torch.mul(_rounded(self._values, scales, self._integers), scales, out=self._errors)
        torch.sub(self._values, errors, out=errors)
        return errors.mul_(errors).sum(-1, keepdim=True)


def _rounded(values: torch.Tensor, scales: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    return torch.div(values, scales, out=out).round_().clamp_(*_LIMITS)


def compensate(weight: torch.Tensor, group: int, moments: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """As `search_scales`, with the least change of `inputs @ weight.T`; `moments` is `inputs.T @ inputs`, f64.

    `moments` is `[columns, columns]`. Columns whose inputs are all 0 have no say.
    """
    columns = weight.shape[1]
    factor = _sharing(moments)
    remaining = weight.detach().to(torch.float64, copy=True)
    integers = new_stored(torch.int8, weight.shape)
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
    release_memory(integers)
    return integers, torch.cat(scales, 1)


def _sharing(moments: torch.Tensor) -> Any:
    """A factor whose row c has how the error of column c is shared among those behind it."""
    linalg: Any = torch.linalg
    damped = moments.clone()
    diagonal = damped.diagonal()
    diagonal += max(_DAMPING * float(diagonal.mean()), torch.finfo(torch.float64).tiny)
    lower = linalg.cholesky(damped)
    del damped, diagonal
    inverse = torch.cholesky_inverse(lower)
    del lower
    return linalg.cholesky(inverse, upper=True)
