"""The geometry of windows that slide over an image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from et_ops.inference.shapes import spatial
from et_vm.kernels.portable.movement.move import as_array, borders, moves
from et_vm.kernels.portable.steps import copy, filled
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array

MOST_PADDED = 1 << 24
"""Elements of an image with its padding, whatever the image is."""
PADDED_FACTOR = 64
"""… and for each element of the image, of the result and of the window beside them."""
MOST_TAPS = 1 << 12
"""Elements of a window that no filter has, beside as many as the image has: each is a call or a few."""


def check_padded(ctx: PrepareContext, padded: int, declared: int, *, arg: str) -> None:
    """Raise Trap where `arg` makes an image of `padded` elements for tensors of `declared`: padding, strides and
    dilations are numbers of the call, so that a small file could ask for any amount of working memory.
    """
    most = MOST_PADDED + PADDED_FACTOR * declared
    ctx.check(
        padded <= most,
        arg=arg,
        expected=f"an image of at most {most:,} elements with its padding",
        got=padded,
    )


def check_taps(ctx: PrepareContext, kernel: Sequence[int], size: Sequence[int], *, arg: str) -> None:
    """Raise Trap where `arg` makes a window much larger than the image."""
    most = MOST_TAPS + math.prod(size)
    ctx.check(
        math.prod(kernel) <= most,
        arg=arg,
        expected=f"a window of at most {most:,} elements",
        got=list(kernel),
    )


def window_over(
    size: Sequence[int],
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    places: Sequence[int],
) -> Window:
    """The window of a call over an image of `size` at `places`, both from its shape rule, which has checked the
    numbers: one for each dimension or one for all. Without `stride` a window begins where one ends.
    """
    count = len(size)
    kernel, strides, pads, spreads = (
        spatial(values, count) for values in (kernel_size, stride or kernel_size, padding, dilation)
    )
    return Window(tuple(size), kernel, strides, pads, spreads, tuple(places))


class Window(NamedTuple):
    """A window of `kernel` taps, `dilation` apart, moved `stride` at a time over an image of `size`
    with `padding` on both sides, at `out` places. One number per spatial dimension.
    """

    size: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    out: tuple[int, ...]

    def check_cost(
        self, ctx: PrepareContext, planes: int, *, filtered: bool, transposed: bool = False
    ) -> None:
        """Raise Trap where the padding makes images out of all proportion: `planes` are padded at a time. A window
        that is `filtered` is as large as a tensor that the file declares; where it is `transposed`, the padding is
        around the result.
        """
        if transposed:
            padded = math.prod(size + 2 * pad for size, pad in zip(self.out, self.padding, strict=True))
        else:
            # The last place may hang over the end.
            padded = math.prod(
                size + 2 * max(pad, reach - size - pad)
                for size, pad, reach in zip(self.size, self.padding, self.reach, strict=True)
            )
        declared = math.prod(self.size) + math.prod(self.out)
        if filtered:
            declared += math.prod(self.kernel)
        else:
            check_taps(ctx, self.kernel, self.size, arg="kernel_size")
        check_padded(ctx, planes * padded, planes * declared, arg="padding")

    def lifted(self) -> Window:
        """The same window with a first dimension of size 1."""
        return Window(
            (1, *self.size),
            (1, *self.kernel),
            (1, *self.stride),
            (0, *self.padding),
            (1, *self.dilation),
            (1, *self.out),
        )

    @property
    def is_pointwise(self) -> bool:
        """One tap and no padding: every output element has one input element per channel."""
        return all(taps == 1 for taps in self.kernel) and not any(self.padding)

    @property
    def reach(self) -> tuple[int, ...]:
        """The padded extent that the windows read."""
        return tuple(
            (count - 1) * step + (taps - 1) * spread + 1
            for count, step, taps, spread in zip(
                self.out, self.stride, self.kernel, self.dilation, strict=True
            )
        )


def channels_last(array: Array) -> bool:
    """Whether (N, C, space...) lies in memory with the channels innermost, and not also in index order."""
    order = (0, *range(2, array.ndim), 1)
    return not array.flags.c_contiguous and array.transpose(order).flags.c_contiguous


class Padded:
    """Scratch for one image with the window's padding of `value` around it, reused image after image.

    `edges` are the calls that write the border, once; `calls` those that write an image inside.
    Without padding there is no scratch and the image is used where it is.
    """

    __slots__ = ("_buffer", "_inside", "edges")

    def __init__(
        self, ctx: PrepareContext, image: Array, first: int, window: Window, value: float = 0.0
    ) -> None:
        """`image`: one like those to come; `first`: its first spatial axis."""
        self.edges: list[Step] = []
        self._buffer: Array | None = None
        self._inside: tuple[slice, ...] = ()
        if not any(window.padding):
            return
        shape = list(image.shape)
        inside = [slice(0, size) for size in shape]
        for axis, (size, pad) in enumerate(zip(window.size, window.padding, strict=True), first):
            shape[axis] = size + 2 * pad
            inside[axis] = slice(pad, pad + size)
        self._inside = tuple(inside)
        self._buffer = ctx.scratch(shape, image.dtype)
        number = filled(image.dtype, value)
        self.edges = [copy(number, border) for border in borders(self._buffer, inside)]

    def calls(self, ctx: PrepareContext, image: Array) -> tuple[list[Step], Array]:
        """The calls that bring `image` in, and the padded array."""
        if self._buffer is None:
            return [], image
        return moves(ctx, image, self._buffer[self._inside]), self._buffer


def windows(array: Array, first: int, window: Window) -> Array:
    """A view of the padded `array` with its spatial axes (from `first` on) replaced by the axes
    kernel..., out...
    """
    count = len(window.kernel)
    strides = array.strides
    space = strides[first : first + count]
    taps = tuple(step * spread for step, spread in zip(space, window.dilation, strict=True))
    places = tuple(step * stride for step, stride in zip(space, window.stride, strict=True))
    shape: Sequence[int] = (*array.shape[:first], *window.kernel, *window.out, *array.shape[first + count :])
    return as_array(array, tuple(shape), (*strides[:first], *taps, *places, *strides[first + count :]))
