"""Windows that slide over an image: their geometry, with a padding of its own on each side."""

from __future__ import annotations

import math
from typing import NamedTuple

from et_backends.xnnpack.runtime.site import Site
from et_vm.kernels.portable.image.geometry import check_padded, check_taps
from et_vm.kernels.portable.movement.move import borders, moves
from et_vm.kernels.portable.steps import copy, filled
from et_vm.step import Step
from et_vm.values import Array, Tensor

SAME_PADDING = 4
"""The flag for padding that makes an output of the size of the input divided by the stride."""
MOST = 2**31 - 1


class Axis(NamedTuple):
    """One dimension: how many places a window of `taps` elements, `dilation` apart, has."""

    size: int
    taps: int
    stride: int
    dilation: int
    before: int
    after: int

    @property
    def reach(self) -> int:
        """Elements from the first to the last that a window covers."""
        return (self.taps - 1) * self.dilation + 1

    @property
    def out(self) -> int:
        """Number of window positions."""
        return (self.size + self.before + self.after - self.reach) // self.stride + 1

    @property
    def padded(self) -> int:
        """Elements with the padding."""
        return self.before + self.size + self.after

    def same(self) -> Axis:
        """With the padding for `size / stride` places, the smaller half of it before."""
        out = -(-self.size // self.stride)
        total = max((out - 1) * self.stride + self.reach - self.size, 0)
        return self._replace(before=total // 2, after=total - total // 2)


def checked(
    site: Site, x: Tensor, axes: tuple[Axis, Axis], *, filtered: bool, same: bool
) -> tuple[Axis, Axis]:
    """The two axes of a window over the image `x` (N, H, W, C). One that is `filtered` is as large as a tensor that
    the file declares. Raises Trap when numbers make no sense, no window fits, or padding or window are out of all
    proportion to the image.
    """
    for axis in axes:
        positive = min(axis.taps, axis.stride, axis.dilation) > 0
        site.check(positive and max(axis) <= MOST, "window", "positive numbers", tuple(axis))
    height, width = axes
    if same:
        height, width = height.same(), width.same()
    fits = height.out > 0 and width.out > 0
    site.check(fits, "input", "an image that the window fits in", [axes[0].size, axes[1].size])
    taps, size = (height.taps, width.taps), (height.size, width.size)
    if not filtered:
        check_taps(site.ctx, taps, size, arg="window")
    declared = math.prod(size) + height.out * width.out + (math.prod(taps) if filtered else 0)
    planes = x.sizes[0] * x.sizes[3]
    check_padded(site.ctx, planes * height.padded * width.padded, planes * declared, arg="padding")
    return height, width


def padded(site: Site, array: Array, axes: tuple[Axis, Axis], value: float, calls: list[Step]) -> Array:
    """`array` (N, H, W, C) with the padding around it, in scratch that `calls` fill; itself if there is none."""
    height, width = axes
    around = (height.before, height.after, width.before, width.after)
    if not any(around):
        return array
    shape = list(array.shape)
    shape[1:3] = height.padded, width.padded
    buffer = site.ctx.scratch(shape, array.dtype)
    inside = [slice(0, size) for size in shape]
    inside[1] = slice(height.before, height.before + height.size)
    inside[2] = slice(width.before, width.before + width.size)
    number = filled(array.dtype, value)
    calls += [copy(number, border) for border in borders(buffer, inside)]
    calls += moves(site.ctx, array, buffer[tuple(inside)])
    return buffer


def tap(array: Array, axis: int, window: Axis, index: int) -> Array:
    """The elements of the padded `array` under one tap of a window that slides along `axis`."""
    start = index * window.dilation
    at = [slice(None)] * array.ndim
    at[axis] = slice(start, start + (window.out - 1) * window.stride + 1, window.stride)
    return array[tuple(at)]
