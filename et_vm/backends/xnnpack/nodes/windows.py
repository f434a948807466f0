"""Windows that slide over an image: their geometry, with a padding of its own on each side."""

from __future__ import annotations

from typing import NamedTuple

from et_vm.backends.xnnpack.site import Site
from et_vm.kernels.portable.movement.move import borders, moves
from et_vm.kernels.portable.steps import copy, filled
from et_vm.kernels.registry import Step
from et_vm.values import Array

SAME_PADDING = 4
"""The flag for padding that makes an output of the size of the input divided by the stride."""
MOST = 2**31 - 1
MOST_TAPS = 2**16
"""As many elements as a window has along one side. Each is a step or a few."""


class Axis(NamedTuple):
    """One dimension: how many places a window of ``taps`` elements, ``dilation`` apart, has."""

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
        """How many places there are."""
        return (self.size + self.before + self.after - self.reach) // self.stride + 1

    def same(self) -> Axis:
        """With the padding for ``size / stride`` places, the smaller half of it before."""
        out = -(-self.size // self.stride)
        total = max((out - 1) * self.stride + self.reach - self.size, 0)
        return self._replace(before=total // 2, after=total - total // 2)


def checked(site: Site, axes: tuple[Axis, Axis], *, same: bool) -> tuple[Axis, Axis]:
    """The two axes. Raises Trap when numbers make no sense, or no window fits."""
    for axis in axes:
        positive = min(axis.taps, axis.stride, axis.dilation) > 0
        site.check(positive and max(axis) <= MOST, "window", "positive numbers", tuple(axis))
        site.check(axis.taps <= MOST_TAPS, "window", f"at most {MOST_TAPS} elements", axis.taps)
    height, width = axes
    if same:
        height, width = height.same(), width.same()
    fits = height.out > 0 and width.out > 0
    site.check(fits, "input", "an image that the window fits in", [axes[0].size, axes[1].size])
    return height, width


def padded(site: Site, array: Array, axes: tuple[Axis, Axis], value: float, calls: list[Step]) -> Array:
    """``array`` (N, H, W, C) with the padding around it, in scratch that ``calls`` fill; itself if there is none."""
    height, width = axes
    around = (height.before, height.after, width.before, width.after)
    if not any(around):
        return array
    shape = list(array.shape)
    shape[1] += height.before + height.after
    shape[2] += width.before + width.after
    buffer = site.ctx.scratch(shape, array.dtype)
    inside = [slice(0, size) for size in shape]
    inside[1] = slice(height.before, height.before + height.size)
    inside[2] = slice(width.before, width.before + width.size)
    number = filled(array.dtype, value)
    calls += [copy(number, border) for border in borders(buffer, inside)]
    calls += moves(site.ctx, array, buffer[tuple(inside)])
    return buffer


def tap(array: Array, axis: int, window: Axis, index: int) -> Array:
    """The elements of the padded ``array`` under one tap of a window that slides along ``axis``."""
    start = index * window.dilation
    at = [slice(None)] * array.ndim
    at[axis] = slice(start, start + (window.out - 1) * window.stride + 1, window.stride)
    return array[tuple(at)]
