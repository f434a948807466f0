"""Kernels on images whose sizes are known at run time only: convolutions, grouped and depthwise ones, and pools.

What a window covers around an image is added to it before, so that all windows are inside. The pixels of a row of the
result are then computed alike, in tiles of several heights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, vector
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernels.convolution import LARGE_FILTERS
from et_backends.codegen.kernels.epilogue import Epilogue, convolution_epilogue
from et_backends.codegen.kernels.groups import of_group
from et_backends.codegen.kernels.host import Host, Number, Operand
from et_backends.codegen.kernels.padding import copy_row, fill_row
from et_backends.codegen.kernels.panels import (
    PANEL,
    array_constant,
    constant_array,
    group_panels,
    panel_columns,
    panels_of,
    tile_rows,
)
from et_backends.codegen.kernels.pointwise_rules import add, anchor_of, div, operator_name
from et_backends.codegen.kernels.product import Sizes, build_product, column_groups, packed_operand
from et_backends.codegen.kernels.row_tiles import visit_rows
from et_backends.codegen.kernels.windows import Window, window_of
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_backends.codegen.sizes import Size, extremum, normal, product, shape_of
from et_ir.dialects.schema import SchemaOp

__all__ = ["sized_convolution_kernel", "sized_depthwise_kernel", "sized_pool_kernel"]


@dataclass(frozen=True)
class _Images:
    """The images that a window moves over, and its results; sizes are in pixels. Of the window, no size of an image is
    meant.
    """

    window: Window
    batch: Size
    in_height: Size
    in_width: Size
    out_height: Size
    out_width: Size
    channels: int

    @staticmethod
    def of(op: SchemaOp) -> _Images:
        """The images of a convolution or a pool."""
        batch, channels, in_height, in_width = shape_of(op.operands[0])
        _, _, out_height, out_width = shape_of(op.results[0])
        assert isinstance(channels, int)
        return _Images(window_of(op), batch, in_height, in_width, out_height, out_width, channels)

    @property
    def rows(self) -> Size:
        """Pixels of the results."""
        return product((self.batch, self.out_height, self.out_width))

    @property
    def height(self) -> Size:
        """Rows that windows cover, at least those of the image from the border on."""
        one = self.window
        covered = (self.out_height - 1) * one.step_y + (one.height - 1) * one.apart_y + 1
        return extremum(max, normal(covered), normal(self.in_height + one.border_y))

    @property
    def width(self) -> Size:
        one = self.window
        covered = (self.out_width - 1) * one.step_x + (one.width - 1) * one.apart_x + 1
        return extremum(max, normal(covered), normal(self.in_width + one.border_x))

    def padded(self, host: Host, image: SSAValue, border: float) -> Operand:
        """The images, channels innermost, with what windows cover around them."""
        height, width = self.height, self.width
        line = product((width, self.channels))
        if height == self.in_height and width == self.in_width:
            return Operand(image, [self.batch, height, line])
        target = host.scratch(product((self.batch, height, line)))
        source = Operand(image, [self.batch, self.in_height, product((self.in_width, self.channels))])
        result = Operand(target, [self.batch, height, line])
        before, above, lanes = self.window.border_x * self.channels, self.window.border_y, host.lanes

        def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
            x, y, flat = buffers
            inner, end = b.dim(x, 2), b.dim(flat, 1)
            with b.parallel(b.dim(flat, 0)) as row:
                number = b.quotient(row, b.dim(y, 1))
                at = b.sub(b.remainder(row, b.dim(y, 1)), above)
                with b.if_(b.both(b.at_least(at, 0), b.below(at, b.dim(x, 1)))) as otherwise:
                    fill_row(b, flat, row, 0, before, border, lanes)
                    copy_row(b, x, [number, at, 0], flat, [row, before], inner, lanes)
                    fill_row(b, flat, row, b.add(inner, before), end, border, lanes)
                    with otherwise():
                        fill_row(b, flat, row, 0, end, border, lanes)

        rows = Operand(target, [product((self.batch, height)), line])
        host.call("pad", [source, result, rows], build)
        return result

    def told(self) -> list[Number]:
        """Height and width of the results, as a kernel takes them."""
        return [Number(self.out_height), Number(self.out_width)]


def sized_convolution_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a convolution of all channels, or of those of a group."""
    anchor = anchor_of(kernel)
    if int(anchor.arg("groups")) > 1:
        _grouped_convolution(host, kernel, anchor)
        return
    images, window = _Images.of(anchor), window_of(anchor)
    outside = kernel.outside()
    filters = constant_array(host, outside[anchor.arg("weight")])
    assert filters is not None
    columns, channels = filters.shape[:2]
    panels = panels_of(host, filters.transpose(2, 3, 1, 0).reshape(-1, columns))
    epilogue = convolution_epilogue(kernel, anchor)
    image = host.buffer(outside[anchor.arg("input")])
    result = Operand(host.buffer(kernel.outputs[0]), [images.rows, columns])
    if window.is_point:
        most = host.most(images.rows)
        sizes = Sizes(1, images.rows, channels, columns, tile_rows(most, host), panel_columns(host), most)

        def build_point(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
            x, w, *others, y = buffers
            epilogue.bind(others)
            build_product(b, sizes, epilogue, x, w, y)

        left = Operand(image, [images.rows, channels])
        host.call(
            "product", [left, packed_operand(panels, sizes), *epilogue.operands(host), result], build_point
        )
        return
    inner = window.height * window.width * channels
    tile = tile_rows(host.most(images.out_width), host)
    sizes = Sizes(1, images.out_width, inner, columns, tile, panel_columns(host))

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, w, *others, y, height, width = buffers
        epilogue.bind(others)

        rows = b.mul(b.dim(x, 0), height)

        def group(row: Index, column: Index, columns: int, mask: SSAValue | None) -> None:
            number = b.quotient(row, height)
            top = b.mul(b.remainder(row, height), window.step_y)
            first = b.mul(row, width)

            def pixels(left: Index, count: int) -> None:
                at = [number, top, b.mul(left, window.step_x * channels)]
                total = _products(
                    b, window, _Channels(0, channels, channels), x, w, at, column, count, columns
                )
                epilogue.store(b, total, y, [b.add(first, left), column], mask)

            visit_rows(b, 0, width, tile, pixels, any_number=True)

        def all_rows(column: Index, columns: int, mask: SSAValue | None) -> None:
            with b.for_(0, rows) as loop:
                group(loop.index, column, columns, mask)

        if inner * columns * 4 < LARGE_FILTERS:
            with b.parallel(rows) as row:
                column_groups(
                    b, sizes, b.dim(y, 1), lambda column, count, mask: group(row, column, count, mask)
                )
        else:
            column_groups(b, sizes, b.dim(y, 1), all_rows, shared=True)

    operands = [
        images.padded(host, image, 0.0),
        packed_operand(panels, sizes),
        *epilogue.operands(host),
        result,
        *images.told(),
    ]
    host.call("convolution", operands, build)


def _grouped_convolution(host: Host, kernel: KernelOp, anchor: SchemaOp) -> None:
    """Lower a kernel whose anchor is a convolution of groups of channels."""
    images, window = _Images.of(anchor), window_of(anchor)
    outside = kernel.outside()
    filters = constant_array(host, outside[anchor.arg("weight")])
    assert filters is not None
    groups, channels = int(anchor.arg("groups")), filters.shape[1]
    columns, inner = len(filters) // groups, window.height * window.width * channels
    tile = tile_rows(host.most(images.out_width), host)
    sizes = Sizes(1, images.out_width, inner, columns, tile, panel_columns(host))
    matrices = filters.transpose(0, 2, 3, 1).reshape(groups, columns, inner)
    epilogue = convolution_epilogue(kernel, anchor)

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, w, *others, y, height, width = buffers
        epilogue.bind(others)
        rows = b.mul(b.dim(x, 0), height)
        # The filters of a group stay in the cache for as many rows as a thread computes.
        with b.parallel(b.mul(rows, groups)) as place:
            group, row = b.quotient(place, rows), b.remainder(place, rows)
            number, top = b.quotient(row, height), b.mul(b.remainder(row, height), window.step_y)
            some = _Channels(b.mul(group, channels), channels, images.channels)
            filters_of_group, first = of_group(b, w, groups, group), b.mul(group, columns)

            def visit(column: Index, count: int, mask: SSAValue | None) -> None:
                def pixels(left: Index, pixels: int) -> None:
                    at = [number, top, b.mul(left, window.step_x * images.channels)]
                    total = _products(b, window, some, x, filters_of_group, at, column, pixels, count)
                    epilogue.store(b, total, y, [b.add(b.mul(row, width), left), b.add(first, column)], mask)

                visit_rows(b, 0, width, tile, pixels, any_number=True)

            column_groups(b, sizes, columns, visit)

    operands = [
        images.padded(host, host.buffer(outside[anchor.arg("input")]), 0.0),
        group_panels(host, matrices, sizes.panel),
        *epilogue.operands(host),
        Operand(host.buffer(kernel.outputs[0]), [images.rows, len(filters)]),
        *images.told(),
    ]
    host.call("convolution", operands, build)


@dataclass(frozen=True)
class _Channels:
    """Channels that follow each other, of each pixel of an image."""

    first: Index
    count: int
    step: int
    """Channels of a pixel."""


def _products(
    b: LoopBuilder,
    window: Window,
    channels: _Channels,
    x: SSAValue,
    w: SSAValue,
    at: Sequence[Index],
    column: Index,
    count: int,
    columns: int,
) -> SSAValue:
    """A tile of neighboring pixels by columns, from the pixels under the window at a place of the padded image."""
    number, top, start = at
    start = b.add(start, channels.first)
    # Neighbors under the filter follow each other in memory, unless they are apart.
    near = window.apart_x == 1 and channels.count == channels.step
    runs = [0] if near else [place * window.apart_x * channels.step for place in range(window.width)]
    run = window.width * channels.count if near else channels.count
    zero = b.splat(0.0, vector_of(count, columns))
    with b.for_(0, window.height, 1, [zero]) as rows:
        total = rows.args[0]
        line = b.add(top, b.mul(rows.index, window.apart_y))
        for place, offset in enumerate(runs):
            base = b.add(start, offset)
            first = b.add(b.mul(rows.index, window.width * channels.count), place * channels.count)
            with b.for_(0, run, 1, [total]) as loop:
                places = [number, line, b.add(base, loop.index)]
                left = b.column(x, places, 2, window.step_x * channels.step, vector_of(count))
                right = b.panels(w, column, [b.add(first, loop.index)], columns)
                loop.next = [b.outer_product(left, right, loop.args[0])]
            total = loop.results[0]
        rows.next = [total]
    return rows.results[0]


def _each_pixel(
    b: LoopBuilder,
    x: SSAValue,
    y: SSAValue,
    sizes: Sequence[SSAValue],
    tile: int,
    visit: Callable[[Sequence[Index], Index, Index, int, SSAValue | None], None],
) -> None:
    """Visit tiles of pixels of the results, whose rows threads share, for each vector of channels: by image and place
    of a row, the first pixel of the row, the first of the tile, the first channel, and the height of the tile.
    """
    height, width = sizes
    channels = b.dim(y, 1)
    with b.parallel(b.mul(b.dim(x, 0), height)) as row:
        number, line = b.quotient(row, height), b.remainder(row, height)
        first = b.mul(row, width)
        with b.for_(0, channels, PANEL) as inner:
            mask = b.mask(b.sub(channels, inner.index), PANEL)

            def pixels(left: Index, count: int) -> None:
                visit([number, line, first], left, inner.index, count, mask)

            visit_rows(b, 0, width, tile, pixels, any_number=True)


def sized_depthwise_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a convolution of each channel by itself."""
    anchor = anchor_of(kernel)
    images, window = _Images.of(anchor), window_of(anchor)
    outside = kernel.outside()
    filters = constant_array(host, outside[anchor.arg("weight")])
    assert filters is not None
    channels = images.channels
    weights = array_constant(host, filters[:, 0].transpose(1, 2, 0))
    epilogue = convolution_epilogue(kernel, anchor)
    result = Operand(host.buffer(kernel.outputs[0]), [images.rows, channels])
    # Each pixel of a tile is an accumulator; a vector of 16 takes more registers where they are shorter.
    tile = min(host.most(images.out_width), host.tile_pixels)

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, w, *others, y, height, width = buffers
        epilogue.bind(others)

        def visit(
            at: Sequence[Index], left: Index, channel: Index, count: int, mask: SSAValue | None
        ) -> None:
            number, line, first = at
            zero = b.splat(0.0, vector_of(PANEL))
            with b.for_(0, window.height, 1, [zero] * count) as loop:
                totals = list(loop.args)
                row = b.add(b.mul(line, window.step_y), b.mul(loop.index, window.apart_y))
                for place in range(window.width):
                    taps = b.load_row(w, [loop.index, place, channel], mask, PANEL)
                    for pixel in range(count):
                        column = b.add(
                            b.mul(left, window.step_x), pixel * window.step_x + place * window.apart_x
                        )
                        here = [number, row, b.add(b.mul(column, channels), channel)]
                        value = b.load_row(x, here, mask, PANEL)
                        totals[pixel] = b.value(vector.FMAOp(value, taps, totals[pixel]))
                loop.next = totals
            for pixel, total in enumerate(loop.results):
                here = [b.add(first, b.add(left, pixel)), channel]
                epilogue.store_row(b, total, y, here, mask)

        _each_pixel(b, x, y, [height, width], tile, visit)

    operands = [
        images.padded(host, host.buffer(outside[anchor.arg("input")]), 0.0),
        Operand(weights, [window.height, window.width, channels]),
        *epilogue.operands(host),
        result,
        *images.told(),
    ]
    host.call("depthwise", operands, build)


def sized_pool_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a pool."""
    anchor = anchor_of(kernel)
    images, window = _Images.of(anchor), window_of(anchor)
    outside = kernel.outside()
    channels = images.channels
    average = operator_name(anchor) == "avg_pool2d"
    epilogue = Epilogue(kernel, anchor, images.rows, channels)
    result = Operand(host.buffer(kernel.outputs[0]), [images.rows, channels])
    neutral = 0.0 if average else float("-inf")

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, *others, y, height, width, in_height, in_width = buffers
        epilogue.bind(others)

        def visit(
            at: Sequence[Index], left: Index, channel: Index, count: int, mask: SSAValue | None
        ) -> None:
            number, line, first = at
            assert count == 1
            start = b.splat(neutral, vector_of(PANEL))
            top, edge = b.mul(line, window.step_y), b.mul(left, window.step_x)
            with b.for_(0, window.height, 1, [start]) as rows:
                row = b.add(top, b.mul(rows.index, window.apart_y))
                with b.for_(0, window.width, 1, [rows.args[0]]) as columns:
                    column = b.add(edge, b.mul(columns.index, window.apart_x))
                    here = [number, row, b.add(b.mul(column, channels), channel)]
                    value = b.load_row(x, here, mask, PANEL)
                    (total,) = columns.args
                    columns.next = [
                        add(b, total, value) if average else b.value(arith.MaximumfOp(total, value))
                    ]
                rows.next = [columns.results[0]]
            total = rows.results[0]
            if average:
                count_of = _pixels_under(b, anchor, window, [top, edge], [in_height, in_width])
                total = div(b, total, b.broadcast(count_of, vector_of(PANEL)))
            epilogue.store_row(b, total, y, [b.add(first, left), channel], mask)

        _each_pixel(b, x, y, [height, width], 1, visit)

    operands = [
        images.padded(host, host.buffer(outside[anchor.operands[0]]), neutral),
        *epilogue.operands(host),
        result,
        *images.told(),
        Number(images.in_height),
        Number(images.in_width),
    ]
    host.call("pool", operands, build)


def _pixels_under(
    b: LoopBuilder, op: SchemaOp, window: Window, at: Sequence[Index], sizes: Sequence[Index]
) -> SSAValue:
    """The divisor of a sum, as torch counts the pixels under a window at a place of the padded image."""
    override = op.arg("divisor_override")
    if override is not None:
        return b.number(float(override), vector_of(1).element_type)
    counts: list[Index] = []
    borders = (window.border_y, window.border_x)
    for start, size, border, count in zip(at, sizes, borders, (window.height, window.width), strict=True):
        if op.arg("count_include_pad"):
            # The border counts, but not what a last window covers beyond it.
            counts.append(b.sub(b.min(b.add(start, count), b.add(size, 2 * border)), start))
        else:
            first = b.max(start, border)
            counts.append(b.sub(b.min(b.add(start, count), b.add(size, border)), first))
    return b.to_float(b.mul(*counts))
