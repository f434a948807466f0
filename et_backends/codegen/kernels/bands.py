"""Band kernels: a depthwise convolution with the 1x1 convolutions before and after it, by bands of rows of the image.

The rows of the image that a band needs are expanded into a ring of lines, which are reused by the bands below; the
depthwise convolution reads the ring, and its rows are the left matrix of the product after it. All of it stays in the
cache of a processor, where whole images between the convolutions would not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.dialect.types import memref_type
from et_backends.codegen.forms import is_read_packed
from et_backends.codegen.kernels.depthwise import DepthwiseRow, build_row, filter_operand, tile_pixels
from et_backends.codegen.kernels.epilogue import convolution_epilogue
from et_backends.codegen.kernels.host import Host, Operand, kernel_key
from et_backends.codegen.kernels.panels import Array, constant_array, panel_columns, panels_of, tile_rows
from et_backends.codegen.kernels.pointwise_rules import anchor_of
from et_backends.codegen.kernels.product import Sizes, build_sequential_product, packed_operand
from et_backends.codegen.kernels.windows import Window, window_of
from et_backends.codegen.loop_builder import Index, LoopBuilder
from et_backends.codegen.sizes import Size

__all__ = ["bands_kernel"]

THREADS: Final = 8
"""Threads that share a kernel at most: each has a ring of its own."""

BAND_PIXELS: Final = 48
"""Pixels of a band at least, for several register tiles: one row of a wide image, several of a narrow one."""


def bands_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel of two or three kernels of convolutions."""
    for number, (argument, value) in enumerate(zip(kernel.body.block.args, kernel.inputs, strict=True)):
        if not is_read_packed(kernel, number):
            host.hold(argument, host.buffer(value))
    stages = [op for op in kernel.body.block.ops if isinstance(op, KernelOp)]
    place = next(number for number, op in enumerate(stages) if op.form.data == "depthwise")
    depthwise = stages[place]
    window = window_of(anchor_of(depthwise))
    rows = _band_rows(window)
    # The last band may have one row.
    fewest = 1 if window.out_height % rows else rows
    bands = _Bands(
        rows,
        _Point(host, kernel, stages[0], window.in_width) if place else None,
        _Depthwise(host, kernel, depthwise),
        _Point(host, kernel, stages[-1], window.out_width * fewest) if place + 1 < len(stages) else None,
    )
    image = kernel.outside()[stages[0].outside()[anchor_of(stages[0]).arg("input")]]
    operands = [
        _fixed(host.buffer(image), [window.batch * window.in_height * window.in_width, bands.in_channels]),
        *(operand for stage in bands.stages for operand in stage.operands),
        _fixed(host.scratch(THREADS * bands.scratch), [THREADS * bands.scratch]),
        _fixed(
            host.buffer(kernel.outputs[0]),
            [window.batch * window.out_height * window.out_width, bands.columns],
        ),
    ]
    host.call("bands", operands, bands.build, kernel_key(kernel))


def _fixed(buffer: SSAValue, sizes: Sequence[Size]) -> Operand:
    """A buffer of the sizes that the kernel is for."""
    return Operand(buffer, sizes, fixed=range(len(sizes)))


def _band_rows(window: Window) -> int:
    """Rows of the result in a band."""
    return min(-(-BAND_PIXELS // window.out_width), window.out_height)


def _filters_of(host: Host, outer: KernelOp, kernel: KernelOp) -> Array:
    filters = constant_array(host, outer.outside()[kernel.outside()[anchor_of(kernel).arg("weight")]])
    assert filters is not None
    return filters


class _Stage:
    """A convolution of a band kernel: what it reads beside the image."""

    def __init__(self, host: Host, kernel: KernelOp, filters: Operand):
        self.epilogue = convolution_epilogue(kernel, anchor_of(kernel))
        given = [filters, *self.epilogue.operands(host)]
        self.operands = [_fixed(one.value, one.sizes) for one in given]
        self.buffers: list[SSAValue] = []
        """The arguments of the kernel for the operands."""


class _Point(_Stage):
    """A 1x1 convolution: a product of pixels and filters."""

    def __init__(self, host: Host, outer: KernelOp, kernel: KernelOp, pixels: int):
        """Of at least so many pixels at once."""
        filters = _filters_of(host, outer, kernel)
        self.columns, self.channels = columns, channels = filters.shape[:2]
        self.sizes = Sizes(1, pixels, channels, columns, tile_rows(pixels, host), panel_columns(host))
        panels = panels_of(host, filters[:, :, 0, 0].T)
        super().__init__(host, kernel, packed_operand(panels, self.sizes))

    def build(self, b: LoopBuilder, x: SSAValue, y: SSAValue, first: Index) -> None:
        """The product of all rows of `x`, which are pixels of the image from `first` on."""
        panels, *others = self.buffers
        count = b.dim(x, 0)
        self.epilogue.bind(
            [b.rows(one, first, count) if memref_type(one).get_num_dims() == 2 else one for one in others]
        )
        build_sequential_product(b, self.sizes, self.epilogue, x, panels, y)


class _Depthwise(_Stage):
    """A depthwise convolution."""

    def __init__(self, host: Host, outer: KernelOp, kernel: KernelOp):
        filters = _filters_of(host, outer, kernel)
        self.channels = filters.shape[0]
        self.window = window_of(anchor_of(kernel))
        self._tile = tile_pixels(self.window, host)
        super().__init__(host, kernel, filter_operand(host, filters))

    def row(self, x: SSAValue, y: SSAValue) -> DepthwiseRow:
        filters, *others = self.buffers
        self.epilogue.bind(others)
        return DepthwiseRow(self.window, self._tile, self.channels, self.epilogue, x, filters, y)


@dataclass
class _Bands:
    """The loops of a band kernel. Lines and pixels are numbered over all images of the batch."""

    rows: int
    """Rows of the result in a band."""
    expand: _Point | None
    depthwise: _Depthwise
    project: _Point | None

    @property
    def stages(self) -> list[_Stage]:
        return [stage for stage in (self.expand, self.depthwise, self.project) if stage is not None]

    @property
    def window(self) -> Window:
        return self.depthwise.window

    @property
    def in_channels(self) -> int:
        return self.depthwise.channels if self.expand is None else self.expand.channels

    @property
    def columns(self) -> int:
        """Channels of the result."""
        return self.depthwise.channels if self.project is None else self.project.columns

    @property
    def _ring_lines(self) -> int:
        """Lines that a band covers, or more: a power of two, as places in the ring are remainders."""
        if self.expand is None:
            return 0
        window = self.window
        reach = (self.rows - 1) * window.step_y + (window.height - 1) * window.apart_y + 1
        return 1 << (reach - 1).bit_length()

    @property
    def _ring(self) -> list[int]:
        """Sizes of the ring."""
        return [self._ring_lines, self.window.in_width, self.depthwise.channels]

    @property
    def _band(self) -> list[int]:
        """Sizes of a band of the depthwise convolution's result, if that is not the kernel's."""
        return [0 if self.project is None else self.rows * self.window.out_width, self.depthwise.channels]

    @property
    def scratch(self) -> int:
        """Elements that a thread keeps, in whole cache lines."""
        return -(-(prod(self._ring) + prod(self._band)) // 16) * 16

    def build(self, b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        """Append the loops."""
        window = self.window
        x, *others, scratch, y = buffers
        rest = iter(others)
        for stage in self.stages:
            stage.buffers = [next(rest) for _ in stage.operands]
        each = -(-window.out_height // self.rows)
        with b.part(window.batch * each, THREADS) as (first, last, number):
            own = b.mul(number, self.scratch)
            ring = b.view(scratch, own, self._ring)
            band = b.view(scratch, b.add(own, prod(self._ring)), self._band)
            # Carried: the line up to which the ring has all that bands before have read.
            with b.for_(first, last, 1, [b.index(0)]) as loop:
                image = b.quotient(loop.index, each)
                top = b.mul(b.remainder(loop.index, each), self.rows)
                count: Index = self.rows
                if window.out_height % self.rows:
                    count = b.min(self.rows, b.sub(window.out_height, top))
                end = self._expanded(b, x, ring, image, top, count, loop.args[0])
                self._convolved(b, x, ring, band, y, image, top, count)
                loop.next = [b.index(end)]

    def _expanded(
        self,
        b: LoopBuilder,
        x: SSAValue,
        ring: SSAValue,
        image: Index,
        top: Index,
        count: Index,
        made: SSAValue,
    ) -> Index:
        """Expand the lines under a band that are not in the ring; returns the end of them."""
        if self.expand is None:
            return 0
        window = self.window
        start = b.sub(b.mul(top, window.step_y), window.border_y)
        reach = (window.height - 1) * window.apart_y + 1
        stop = b.add(start, b.add(b.mul(b.sub(count, 1), window.step_y), reach))
        before = b.mul(image, window.in_height)
        low = b.max(b.add(before, b.max(start, 0)), made)
        high = b.add(before, b.min(stop, window.in_height))
        with b.for_(low, high) as loop:
            pixel = b.mul(loop.index, window.in_width)
            line = b.mul(b.remainder(loop.index, self._ring_lines), prod(self._ring[1:]))
            self.expand.build(
                b,
                b.rows(x, pixel, window.in_width),
                b.view(ring, line, self._ring[1:]),
                pixel,
            )
        return high

    def _convolved(
        self,
        b: LoopBuilder,
        x: SSAValue,
        ring: SSAValue,
        band: SSAValue,
        y: SSAValue,
        image: Index,
        top: Index,
        count: Index,
    ) -> None:
        """The result of a band, from lines in the ring, or of the image."""
        window = self.window
        before = b.mul(image, window.in_height)
        first = b.mul(b.add(b.mul(image, window.out_height), top), window.out_width)
        lines = ring
        if self.expand is None:
            lines = b.view(x, 0, [window.batch * window.in_height, *self._ring[1:]])

        def line_of(row: Index) -> Index:
            line = b.add(before, row)
            return line if self.expand is None else b.remainder(line, self._ring_lines)

        row = self.depthwise.row(lines, y if self.project is None else band)
        with b.for_(0, count) as loop:
            under = b.sub(b.mul(b.add(top, loop.index), window.step_y), window.border_y)
            here = b.mul(loop.index, window.out_width)
            build_row(b, row, under, line_of, here if self.project is not None else b.add(first, here))
        if self.project is not None:
            pixels = b.mul(count, window.out_width)
            self.project.build(b, b.rows(band, 0, pixels), b.rows(y, first, pixels), first)
