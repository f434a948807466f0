"""Positions that torch takes for nearest neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["FEWEST_CHANNELS", "LARGEST_SUM", "goes_by_sizes", "nearest_factor"]

LARGEST_SUM: Final = 128
"""Rows and columns, together, of a result that is a small image."""
FEWEST_CHANNELS: Final = 4
"""Channels from which on images with channels last are not taken for others."""


def goes_by_sizes(channels: int, sizes: Sequence[int], *, is_channels_last: bool = False) -> bool:
    """Whether torch's kernel of nearest neighbors copies a dimension that keeps its size, and repeats the elements of
    one that doubles it, whatever the factor is; `sizes` are those of the result's spatial dimensions.

    It has two kernels. This one is for small images and those with channels last
    (`aten/src/ATen/native/cpu/UpSampleKernel.cpp: _use_vectorized_kernel_cond_2d`, `…_3d`); the other goes by the
    factor.
    """
    if is_channels_last and channels >= FEWEST_CHANNELS:
        return len(sizes) > 1
    return len(sizes) == 2 and sum(sizes) <= LARGEST_SUM


def nearest_factor(extent: int, count: int, factor: float | None, by_sizes: bool) -> float | None:
    """The factor by which `count` results are found among `extent` elements: that of the sizes where torch goes by
    these, otherwise the given one. None is the ratio of the sizes.
    """
    return None if by_sizes and count in (extent, 2 * extent) else factor
