"""Sliding blocks of images as columns, and sums of columns as images."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from et_ops.inference.convolution import col2im, im2col, slid
from et_vm.kernels.portable.arguments import BOOL, COMPLEX, FLOAT
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.image.geometry import check_padded, window_over
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor
from et_vm.work import CALL


class _Blocks:
    """Positions of the taps of the blocks: rows and columns of the padded image, for each tap and block."""

    def __init__(
        self,
        ctx: PrepareContext,
        outer: Sequence[int],
        size: Sequence[int],
        kernel_size: Sequence[int],
        dilation: Sequence[int],
        padding: Sequence[int],
        stride: Sequence[int],
    ) -> None:
        """`outer`: the dimensions of the images, of `size`, before these. Raises Trap where the padding makes images
        out of proportion to these and the columns.
        """
        window = window_over(size, kernel_size, stride, padding, dilation, ())
        self.size, self.taps, self.pad = window.size, window.kernel, window.padding
        step, apart = window.stride, window.dilation
        self.places = slid("self", self.size, self.taps, step, self.pad, apart)
        planes = math.prod(outer)
        padded = math.prod(self.size[d] + 2 * self.pad[d] for d in range(2))
        declared = math.prod(self.size) + math.prod((*self.taps, *self.places))
        check_padded(ctx, planes * padded, planes * declared, arg="padding")
        self.lines = [
            np.arange(self.taps[d])[:, None] * apart[d] + np.arange(self.places[d]) * step[d]
            for d in range(2)
        ]

    @property
    def index(self) -> tuple[Array, Array]:
        """Rows and columns, [taps, taps, places, places]."""
        rows, columns = self.lines
        return rows[:, None, :, None], columns[None, :, None, :]

    def padded(self, batch: int, channels: int, dtype: np.dtype[np.generic]) -> Array:
        """A zero image with its padding."""
        return np.zeros((batch, channels, *(self.size[d] + 2 * self.pad[d] for d in range(2))), dtype)

    @property
    def inside(self) -> tuple[slice, ...]:
        """The image in its padding."""
        spans = (slice(pad, pad + size) for pad, size in zip(self.pad, self.size, strict=True))
        return (slice(None), slice(None), *spans)


@kernel("aten::col2im.out")
@inferred(col2im, kinds=(BOOL, FLOAT, COMPLEX))
def col2im_out(
    ctx: PrepareContext,
    self: Tensor,
    output_size: list[int],
    kernel_size: list[int],
    dilation: list[int],
    padding: list[int],
    stride: list[int],
    out: Tensor,
) -> Step:
    """Columns ([N,] C * taps, places) added up to images ([N,] C, *output_size). Allocates the padded image."""
    *outer, _, _ = out.sizes
    blocks = _Blocks(ctx, outer, out.sizes[-2:], kernel_size, dilation, padding, stride)
    taps = blocks.taps[0] * blocks.taps[1]
    ctx.work(4 * CALL * taps)
    return evaluated(functools.partial(_add_up, blocks, outer[-1], out.sizes), (self,), (out,))


def _add_up(blocks: _Blocks, channels: int, shape: tuple[int, ...], columns: Array) -> Array:
    batch = shape[0] if len(shape) == 4 else 1
    image = blocks.padded(batch, channels, columns.dtype)
    parts = columns.reshape(batch, channels, *blocks.taps, *blocks.places)
    add = np.logical_or if columns.dtype.kind == "b" else np.add
    rows, across = blocks.lines
    for y in range(blocks.taps[0]):
        for x in range(blocks.taps[1]):
            place = (slice(None), slice(None), rows[y][:, None], across[x])
            image[place] = add(image[place], parts[:, :, y, x])
    return image[blocks.inside].reshape(shape)


@kernel("aten::im2col.out")
@inferred(im2col, kinds=(BOOL, FLOAT, COMPLEX))
def im2col_out(
    ctx: PrepareContext,
    self: Tensor,
    kernel_size: list[int],
    dilation: list[int],
    padding: list[int],
    stride: list[int],
    out: Tensor,
) -> Step:
    """Images ([N,] C, H, W) to columns ([N,] C * taps, places). Allocates the padded image and the columns."""
    *outer, height, width = self.sizes
    blocks = _Blocks(ctx, outer, (height, width), kernel_size, dilation, padding, stride)
    return evaluated(functools.partial(_cut, blocks, out.sizes), (self,), (out,))


def _cut(blocks: _Blocks, shape: tuple[int, ...], image: Array) -> Array:
    whole = image if image.ndim == 4 else image[None]
    padded = blocks.padded(whole.shape[0], whole.shape[1], image.dtype)
    padded[blocks.inside] = whole
    cut: Array = padded[(slice(None), slice(None), *blocks.index)]
    return cut.reshape(shape)
