"""Convolutions of any kind as products of pixels and packed filters.

The tile is that of plain convolutions: neighboring pixels of a row of the result by panels of channels. What differs is
told by the directions of `Convolution`: taps may be in three dimensions, a group reads its channels alone, and the
results of a phase are some pixels apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import vector
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernels.constant_pad import Pad, pad_buffer
from et_backends.codegen.kernels.epilogue import Epilogue
from et_backends.codegen.kernels.filters import Convolution, Phase, panel_filters
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.panels import PANEL, panel_columns, tile_rows
from et_backends.codegen.kernels.pointwise_rules import add, anchor_of
from et_backends.codegen.kernels.product import Sizes, build_product
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of

__all__ = ["bias_epilogue", "filter_convolution_kernel", "padded_image"]

LARGE_FILTERS: Final = 1 << 18
"""Bytes of filters from which on each panel of them is applied to the whole image before the next."""

FEW_ROWS: Final = 8
"""Rows of results below which threads share groups of channels instead."""


def bias_epilogue(kernel: KernelOp, sizes: Convolution) -> Epilogue:
    """The epilogue of a kernel whose anchor is a convolution, which adds the bias."""
    anchor = anchor_of(kernel)
    bias: SSAValue | None = anchor.arg("bias")
    return Epilogue(
        kernel,
        anchor,
        sizes.rows,
        sizes.columns,
        lambda b, total, values: total if bias is None else add(b, total, values[bias]),
        [] if bias is None else [bias],
    )


def padded_image(host: Host, image: SSAValue, sizes: Convolution) -> SSAValue:
    """A buffer with the image and the zeros that taps cover around it."""
    if not any(sizes.before) and not any(sizes.after):
        return image
    depth, height, width = sizes.padded
    target = host.scratch(sizes.batch * depth * height * width * sizes.channels)
    spatial = zip(sizes.source, sizes.before, sizes.after, strict=True)
    pads = [Pad(sizes.batch), *(Pad(*one) for one in spatial), Pad(sizes.channels)]
    pad_buffer(host, image, target, pads, 0.0)
    return target


def filter_convolution_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a convolution."""
    anchor = anchor_of(kernel)
    sizes = Convolution.of(anchor)
    outside = kernel.outside()
    epilogue = bias_epilogue(kernel, sizes)
    image = host.buffer(outside[anchor.arg("input")])
    weight = outside[anchor.arg("weight")]
    sizes = sizes.cut_to_image(host, weight)
    result = Operand(host.buffer(kernel.outputs[0]), [sizes.rows, sizes.columns])
    if sizes.is_point and sizes.groups == 1:
        tile = tile_rows(sizes.rows, host)
        product = Sizes(
            1, sizes.rows, sizes.channels, sizes.columns, tile, panel_columns(host), fine=host.fine
        )
        right = panel_filters(host, sizes, sizes.phases[0], weight)
        left = Operand(image, [sizes.rows, sizes.channels])

        def build_point(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
            x, w, *others, y = buffers
            epilogue.bind(others)
            build_product(b, product, epilogue, x, w, y)

        host.call("product", [left, right, *epilogue.operands(host), result], build_point)
        return
    source = padded_image(host, image, sizes)
    depth, height, width = sizes.padded
    left = Operand(source, [sizes.batch * depth, height, width * sizes.channels])
    for phase in sizes.phases:
        tile = 1 if sizes.cut else tile_rows(phase[2].count, host)
        right = panel_filters(host, sizes, phase, weight)
        shape = _Shape(sizes, phase, tile, panel_columns(host))

        def build(b: LoopBuilder, buffers: Sequence[SSAValue], shape: _Shape = shape) -> None:
            x, w, *others, y = buffers
            epilogue.bind(others)
            _Filters(b, shape, epilogue, x, w, y).build()

        host.call("convolution", [left, right, *epilogue.operands(host), result], build)


@dataclass(frozen=True)
class _Shape:
    """The parameters that the code of a kernel depends on."""

    sizes: Convolution
    phase: Phase
    tile_rows: int
    tile_columns: int

    @property
    def channels(self) -> int:
        """Channels of the image that a group reads."""
        return self.sizes.channels // self.sizes.groups

    @property
    def columns(self) -> int:
        """Channels of the result that a group makes."""
        return self.sizes.columns // self.sizes.groups

    @property
    def rows(self) -> int:
        """Rows of results."""
        depth, height, _ = self.phase
        return self.sizes.batch * depth.count * height.count

    @property
    def taps(self) -> int:
        depth, height, width = self.phase
        return depth.taps * height.taps * width.taps

    @property
    def rows_outside(self) -> bool:
        """Whether threads share rows of the image, not groups of channels."""
        return self.rows >= FEW_ROWS and self.taps * self.channels * self.columns * 4 < LARGE_FILTERS


Visit = Callable[[Index, Index, int, int], None]
"""Called with a group, the first column within it, a width, and the number of columns that there are."""


class _Filters:
    """The loops of a phase."""

    def __init__(
        self, b: LoopBuilder, shape: _Shape, epilogue: Epilogue, x: SSAValue, w: SSAValue, y: SSAValue
    ):
        self.b, self.shape, self.epilogue, self.x, self.w, self.y = b, shape, epilogue, x, w, y

    def build(self) -> None:
        b, shape = self.b, self.shape
        if shape.rows_outside:
            with b.parallel(shape.rows) as row:
                self._columns(
                    lambda group, column, width, count: self._row(row, group, column, width, count),
                    shared=False,
                )
            return

        def all_rows(group: Index, column: Index, width: int, count: int) -> None:
            with b.for_(0, shape.rows) as loop:
                self._row(loop.index, group, column, width, count)

        self._columns(all_rows, shared=True)

    def _columns(self, visit: Visit, *, shared: bool) -> None:
        """Visit the columns of each group: whole tiles, then panels. With `shared`, threads share them."""
        b, shape = self.b, self.shape
        width, columns, groups = shape.tile_columns, shape.columns, shape.sizes.groups
        whole = columns // width

        def tile(place: Index) -> None:
            column = b.mul(b.remainder(place, whole), width)
            visit(b.quotient(place, whole), column, width, width)

        def rest(group: Index) -> None:
            for column in range(whole * width, columns, PANEL):
                visit(group, column, PANEL, min(PANEL, columns - column))

        for count, body in ((groups * whole, tile), (groups if columns % width else 0, rest)):
            if not count:
                continue
            if shared:
                with b.parallel(count) as place:
                    body(place)
            elif count == 1:
                body(0)
            else:
                with b.for_(0, count) as loop:
                    body(loop.index)

    def _row(self, row: Index, group: Index, column: Index, width: int, count: int) -> None:
        """All pixels of a row of results, for `count` columns of a group."""
        b, shape = self.b, self.shape
        depth, height, pixels = shape.phase
        sizes, tile = shape.sizes, shape.tile_rows
        line = b.remainder(row, height.count)
        plane = b.remainder(b.quotient(row, height.count), depth.count)
        number = b.quotient(row, height.count * depth.count)
        top = b.add(b.mul(line, height.step), height.start + sizes.before[1])
        near = b.add(b.mul(plane, depth.step), depth.start + sizes.before[0])
        # The pixel of the result that is the first of the row.
        first = b.add(b.mul(plane, depth.out_step), depth.out_first)
        first = b.add(b.mul(number, sizes.target[0]), first)
        first = b.mul(first, sizes.target[1])
        first = b.add(first, b.add(b.mul(line, height.out_step), height.out_first))
        first = b.add(b.mul(first, sizes.target[2]), pixels.out_first)
        target = b.add(b.mul(group, shape.columns), column)
        mask = None if count == width else b.mask(count, width)
        with b.for_(0, pixels.count, tile) as loop:
            left = b.min(loop.index, pixels.count - tile)
            total = self._accumulate([number, near, top, left], group, column, width)
            place = b.add(first, b.mul(left, pixels.out_step))
            if pixels.out_step == 1:
                self.epilogue.store(b, total, self.y, [place, target], mask)
            else:
                for pixel in range(tile):
                    value = b.value(vector.ExtractOp(total, [pixel], vector_of(width)))
                    here = [b.add(place, pixel * pixels.out_step), target]
                    self.epilogue.store_row(b, value, self.y, here, mask)

    def _accumulate(self, at: Sequence[Index], group: Index, column: Index, width: int) -> SSAValue:
        """A tile from the pixels under the taps, for the first result of the tile at a place."""
        b, shape = self.b, self.shape
        number, near, top, left = at
        depth, height, pixels = shape.phase
        tile, channels, every = shape.tile_rows, shape.channels, shape.sizes.channels
        zero = b.splat(0.0, vector_of(tile, width))
        if not shape.taps:
            return zero
        sizes = shape.sizes
        beside = b.add(b.mul(left, pixels.step), pixels.start + sizes.before[2])
        start = b.add(b.mul(beside, every), b.mul(group, channels))
        panel = b.add(b.mul(group, -(-shape.columns // PANEL) * PANEL), column)
        # Neighbors under the taps follow each other in memory, unless they are apart or of a group.
        joined = pixels.apart == 1 and channels == every and not sizes.cut
        taps, run = (1, pixels.taps * channels) if joined else (pixels.taps, channels)
        within = (0, 1) if joined else sizes.taps_within(b, 2, pixels, beside)
        first_plane = b.add(b.mul(number, sizes.padded[0]), near)
        with b.for_(*sizes.taps_within(b, 0, depth, near), 1, [zero]) as planes:
            plane = b.add(first_plane, b.mul(planes.index, depth.apart))
            with b.for_(*sizes.taps_within(b, 1, height, top), 1, [planes.args[0]]) as lines:
                line = b.add(top, b.mul(lines.index, height.apart))
                before = b.mul(b.add(b.mul(planes.index, height.taps), lines.index), taps)
                with b.for_(*within, 1, [lines.args[0]]) as places:
                    base = b.add(start, b.mul(places.index, pixels.apart * every))
                    first = b.mul(b.add(before, places.index), run)
                    with b.for_(0, run, 1, [places.args[0]]) as loop:
                        here = [plane, line, b.add(base, loop.index)]
                        column_of = b.column(self.x, here, 2, pixels.step * every, vector_of(tile))
                        row_of = b.panels(self.w, panel, [b.add(first, loop.index)], width)
                        loop.next = [b.outer_product(column_of, row_of, loop.args[0])]
                    places.next = [loop.results[0]]
                lines.next = [places.results[0]]
            planes.next = [lines.results[0]]
        return planes.results[0]
