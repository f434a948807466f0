"""Sliding blocks of images as columns, and sums of columns as images."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import (
    BOOL,
    COMPLEX,
    FLOAT,
    check_kinds,
    check_memory,
    check_rank,
    check_type,
)
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.image.geometry import check_padded, numbers_for, window_over
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor
from et_vm.work import CALL


class _Blocks:
    """Positions of the taps of the blocks: rows and columns of the padded image, for each tap and block."""

    def __init__(
        self,
        ctx: PrepareContext,
        size: Sequence[int],
        kernel_size: Sequence[int],
        dilation: Sequence[int],
        padding: Sequence[int],
        stride: Sequence[int],
    ) -> None:
        window = window_over(ctx, size, kernel_size, stride or [0], padding, dilation)
        self.size, self.taps, self.pad, self.places = window.size, window.kernel, window.padding, window.out
        step, apart = window.stride, window.dilation
        check_memory(ctx, [self.size[d] + 2 * self.pad[d] for d in range(2)], 16, arg="padding")
        check_memory(ctx, (*self.taps, *self.places), 16, arg="kernel_size")
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


def _check_padded(ctx: PrepareContext, blocks: _Blocks, outer: tuple[int, ...]) -> None:
    """The padded images of `outer` (N, C) are in proportion to these and the columns."""
    padded = math.prod(blocks.size[d] + 2 * blocks.pad[d] for d in range(2))
    declared = math.prod(blocks.size) + math.prod((*blocks.taps, *blocks.places))
    check_padded(ctx, math.prod(outer) * padded, math.prod(outer) * declared, arg="padding")


@kernel("aten::col2im.out")
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
    check_rank(ctx, self, 2, 3, arg="self")
    check_kinds(ctx, self.scalar_type, (BOOL, FLOAT, COMPLEX), arg="self")
    check_type(ctx, self.scalar_type, out, arg="out")
    size = numbers_for(ctx, output_size, 2, arg="output_size", lowest=1)
    blocks = _Blocks(ctx, size, kernel_size, dilation, padding, stride)
    taps, places = blocks.taps[0] * blocks.taps[1], blocks.places[0] * blocks.places[1]
    *batch, rows, columns = self.sizes
    ctx.check(rows > 0 and rows % taps == 0, arg="self", expected=f"a multiple of {taps} rows", got=rows)
    ctx.check(columns == places, arg="self", expected=f"{places} columns", got=columns)
    _check_padded(ctx, blocks, (*batch, rows // taps))
    out.resize((*batch, rows // taps, *size))
    ctx.work(4 * CALL * taps)
    return evaluated(functools.partial(_add_up, blocks, rows // taps, out.sizes), (self,), (out,))


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
    check_rank(ctx, self, 3, 4, arg="self")
    ctx.check(
        self.scalar_type.is_floating or self.scalar_type == ScalarType.BOOL or self.scalar_type.is_complex,
        arg="self",
        expected="a tensor of bool, float or complex type",
        got=self.scalar_type.torch_name,
    )
    check_type(ctx, self.scalar_type, out, arg="out")
    *batch, channels, height, width = self.sizes
    ctx.check(
        min(channels, height, width) > 0, arg="self", expected="a non-empty image", got=list(self.sizes)
    )
    blocks = _Blocks(ctx, (height, width), kernel_size, dilation, padding, stride)
    taps, places = blocks.taps[0] * blocks.taps[1], blocks.places[0] * blocks.places[1]
    _check_padded(ctx, blocks, (*batch, channels))
    out.resize((*batch, channels * taps, places))
    return evaluated(functools.partial(_cut, blocks, out.sizes), (self,), (out,))


def _cut(blocks: _Blocks, shape: tuple[int, ...], image: Array) -> Array:
    whole = image if image.ndim == 4 else image[None]
    padded = blocks.padded(whole.shape[0], whole.shape[1], image.dtype)
    padded[blocks.inside] = whole
    cut: Array = padded[(slice(None), slice(None), *blocks.index)]
    return cut.reshape(shape)
