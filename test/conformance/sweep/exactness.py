"""Errors of results of samples, beside those in double precision.

A softmax of large numbers, or a sum that cancels, makes much of the last bit of what goes into it. Torch's results in
16 bits are then no measure: two sound orders of the same operations differ by more than any tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch
from support.accuracy import assert_accurate, truth_of

from sweep.samples import DTYPES, Sample

__all__ = ["is_accurate", "no_less_exact"]

_SHORT: Final = ("f16", "bf16")


def no_less_exact(sample: Sample, results: Sequence[Any]) -> bool:
    """Whether results of a sample in 16 bits are no further than torch's from those that torch has of the same numbers
    in float64: the largest error of each result is at most that of torch.
    """
    if sample.dtype not in _SHORT or sample.random:
        return False
    low = DTYPES[sample.dtype]
    with torch.no_grad():
        true = sample.module(*(x.double() if x.dtype == low else x.clone() for x in sample.inputs))
    truths = true if isinstance(true, tuple | list) else (true,)
    if not len(truths) == len(results) == len(sample.results):
        return False
    return all(
        _is_no_less_exact(got, torchs, truth)
        for got, torchs, truth in zip(results, sample.results, truths, strict=True)
    )


def is_accurate(sample: Sample, results: Sequence[Any]) -> bool:
    """Whether results of a sample in f32 are within the error of their sums from the results in float64. Torch's in f32
    are as far from those, and from each other on machines that add in another order.
    """
    if sample.dtype != "f32" or sample.random:
        return False
    try:
        assert_accurate(results, truth_of(sample.module, *sample.inputs))
    except (AssertionError, RuntimeError):
        return False  # or it has no results in float64
    return True


def _is_no_less_exact(got: Any, torchs: Any, truth: Any) -> bool:
    if not all(isinstance(value, torch.Tensor) for value in (got, torchs, truth)):
        return got == torchs
    if got.shape != truth.shape or got.dtype != torchs.dtype or truth.dtype != torch.float64:
        return got.shape == torchs.shape and torch.equal(got, torchs)
    if not all(bool(value.isfinite().all()) for value in (got, torchs, truth)):
        return False
    if truth.numel() == 0:
        return True
    return bool((got.double() - truth).abs().max() <= (torchs.double() - truth).abs().max())
