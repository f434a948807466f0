"""Convolution kernels: products of pixels and filters, without a matrix of patches.

A tile is of neighboring pixels of one row of the result by panels of channels. It is accumulated over the rows of the
filter and the run of elements under each: with channels innermost these follow each other, so that the loop is that of
a product whose left matrix has overlapping rows. A border of zeros is added to the image before.

An image of few channels whose order is contiguous, such as the input of a network, is read as it is: its channels are
images of one channel, and rows of the filter are those of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernels.epilogue import Epilogue, convolution_epilogue
from et_backends.codegen.kernels.host import Host, Operand, kernel_key
from et_backends.codegen.kernels.padding import image_parts, padded_parts
from et_backends.codegen.kernels.panels import (
    PANEL,
    constant_array,
    panel_columns,
    panels_of,
    tile_rows,
)
from et_backends.codegen.kernels.pointwise_rules import anchor_of
from et_backends.codegen.kernels.product import (
    Sizes,
    build_product,
    column_groups,
    in_panels,
    packed_operand,
    shared_tiles,
)
from et_backends.codegen.kernels.windows import Window, window_of
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_ir.analysis.dim_orders import NHWC
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["LARGE_FILTERS", "convolution_kernel", "reads_planes"]

LARGE_FILTERS: Final = 1 << 18
"""Bytes of filters from which on each panel of them is applied to the whole image before the next."""

FEW_CHANNELS: Final = 4
"""Channels up to which rows of each are read one after the other, if the image is there in that order."""


@dataclass(frozen=True)
class _Shape:
    """The parameters that the code of a kernel depends on."""

    window: Window
    planes: int
    """Images of one batch that a pixel of the result is computed from, one after the other in memory."""
    channels: int
    """Channels of each: all of them, or one."""
    sizes: Sizes
    rows_outside: bool
    """Whether threads share rows of the image, not groups of channels."""


def reads_planes(kernel: KernelOp, value: SSAValue) -> bool:
    """Whether a kernel can read an image whose channels follow each other, not its pixels."""
    integers = kernel.form.data == "integer_convolution"
    if (kernel.form.data != "convolution" and not integers) or not kernel.has_fixed_sizes():
        return False
    if tensor_type(value).get_shape()[1] > FEW_CHANNELS:
        return False
    anchor = anchor_of(kernel)
    image = anchor.operands[0]
    if integers:
        assert isinstance(image.owner, SchemaOp)
        image = image.owner.operands[0]
    return (
        [kernel.outside()[one] for one in kernel.body.block.args].count(value) == 1
        and kernel.outside().get(image) is value
        and image.has_one_use()
        and not window_of(anchor).is_point
    )


def convolution_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a convolution of all channels."""
    body = kernel.body.block
    anchor = anchor_of(kernel)
    window = window_of(anchor)
    outside = dict(zip(body.args, kernel.inputs, strict=True))
    filters = constant_array(host, outside[anchor.arg("weight")])
    assert filters is not None
    columns, channels = filters.shape[:2]
    parts = image_parts(kernel, anchor.arg("input"))
    planar = dim_order_of(tensor_type(parts[0].value)) != NHWC
    order = (1, 2, 3, 0) if planar else (2, 3, 1, 0)
    panel = host.panel(PANEL)
    panels = panels_of(host, filters.transpose(order), panel)
    rows = window.batch * window.out_height * window.out_width
    epilogue = convolution_epilogue(kernel, anchor)
    result = Operand(host.buffer(kernel.outputs[0]), [rows, columns])
    if window.is_point:
        tile = tile_rows(rows, host)
        whole = Sizes(1, rows, channels, columns, tile, panel_columns(host), fine=host.fine)
        sizes = in_panels(whole, panel)
        left = Operand(host.buffer(parts[0].value), [rows, channels])

        def build_point(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
            x, w, *others, y = buffers
            epilogue.bind(others)
            build_product(b, sizes, epilogue, x, w, y)

        operands = [left, packed_operand(panels, sizes), *epilogue.operands(host), result]
        host.call("product", operands, build_point, kernel_key(kernel))
        return
    inner = window.height * window.width * channels
    tile = tile_rows(window.out_width, host)
    sizes = in_panels(Sizes(1, window.out_width, inner, columns, tile, panel_columns(host)), panel)
    planes, channels = (channels, 1) if planar else (1, channels)
    shape = _Shape(window, planes, channels, sizes, inner * columns * 4 < LARGE_FILTERS)
    images = replace(window, batch=window.batch * planes)
    source = padded_parts(host, parts, images, channels, 0.0)
    height, width = window.padded_height, window.padded_width
    left = Operand(source, [images.batch, height, width * channels])

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, w, *others, y = buffers
        epilogue.bind(others)
        _build(b, shape, epilogue, x, w, y)

    right = packed_operand(panels, sizes)
    operands = [left, right, *epilogue.operands(host), result]
    host.call("convolution", operands, build, kernel_key(kernel))


def _build(
    b: LoopBuilder,
    shape: _Shape,
    epilogue: Epilogue,
    x: SSAValue,
    w: SSAValue,
    y: SSAValue,
) -> None:
    window, sizes = shape.window, shape.sizes
    tile, step = sizes.tile_rows, window.step_x * shape.channels

    def pixels(row: Index, column: Index, width: int, mask: SSAValue | None) -> None:
        """All pixels of a row of the result, for some channels."""
        number = b.mul(b.quotient(row, window.out_height), shape.planes)
        top = b.mul(b.remainder(row, window.out_height), window.step_y)
        first = b.mul(row, window.out_width)
        last = window.out_width - tile
        with b.for_(0, window.out_width, tile) as loop:
            left = b.min(loop.index, last)
            start = b.mul(left, step)
            total = _accumulate(b, shape, x, w, [number, top, start], column, width)
            epilogue.store(b, total, y, [b.add(first, left), column], mask)

    rows = window.batch * window.out_height
    if b.fine:
        tiles = -(-window.out_width // tile)

        def one_tile(place: Index, column: Index, width: int, mask: SSAValue | None) -> None:
            row = b.quotient(place, tiles)
            number = b.mul(b.quotient(row, window.out_height), shape.planes)
            top = b.mul(b.remainder(row, window.out_height), window.step_y)
            left = b.min(b.mul(b.remainder(place, tiles), tile), window.out_width - tile)
            total = _accumulate(b, shape, x, w, [number, top, b.mul(left, step)], column, width)
            epilogue.store(b, total, y, [b.add(b.mul(row, window.out_width), left), column], mask)

        shared_tiles(b, sizes, b.dim(y, 1), rows * tiles, one_tile)
        return
    if shape.rows_outside:
        with b.parallel(rows) as row:
            column_groups(b, sizes, b.dim(y, 1), lambda column, width, mask: pixels(row, column, width, mask))
        return

    def all_rows(column: Index, width: int, mask: SSAValue | None) -> None:
        with b.for_(0, rows) as loop:
            pixels(loop.index, column, width, mask)

    column_groups(b, sizes, b.dim(y, 1), all_rows, shared=True)


def _accumulate(
    b: LoopBuilder,
    shape: _Shape,
    x: SSAValue,
    w: SSAValue,
    at: Sequence[Index],
    column: Index,
    width: int,
) -> SSAValue:
    """A tile from the pixels under the window at a place of the padded image."""
    number, top, start = at
    window, channels, tile = shape.window, shape.channels, shape.sizes.tile_rows
    step = window.step_x * channels
    # Neighbors under the filter follow each other in memory, unless they are apart.
    runs = (
        [0] if window.apart_x == 1 else [place * window.apart_x * channels for place in range(window.width)]
    )
    run = window.width * channels if window.apart_x == 1 else channels
    zero = b.splat(0.0, vector_of(tile, width))
    with b.for_(0, shape.planes * window.height, 1, [zero]) as rows:
        total = rows.args[0]
        plane = b.add(number, b.quotient(rows.index, window.height)) if shape.planes > 1 else number
        inside = b.remainder(rows.index, window.height) if shape.planes > 1 else rows.index
        line = b.add(top, b.mul(inside, window.apart_y))
        for place, offset in enumerate(runs):
            base = b.add(start, offset)
            first = b.add(b.mul(rows.index, window.width * channels), place * channels)
            with b.for_(0, run, 1, [total]) as loop:
                left = b.column(x, [plane, line, b.add(base, loop.index)], 2, step, vector_of(tile))
                right = b.panels(w, column, [b.add(first, loop.index)], width)
                loop.next = [b.outer_product(left, right, loop.args[0])]
            total = loop.results[0]
        rows.next = [total]
    return rows.results[0]
