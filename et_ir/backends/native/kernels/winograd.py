"""Winograd convolution: 3 by 3 filters at a step of one, with fewer multiplications.

The algorithm F(m, 3) of Lavin and Gray (Fast Algorithms for Convolutional Neural Networks, 2016): tiles of m by m
pixels of the result are computed from m + 2 by m + 2 pixels of the image. These are transformed, then multiplied with
transformed filters, which is a product of matrices for each of the (m + 2)² places, and what comes of it is transformed
back. F(4, 3) multiplies a quarter as often as the definition, F(2, 3) four ninths as often.

Blocks of tiles, whose transformed pixels stay in the L2 cache, go through the three steps one after the other.

Filters are transformed when the program is loaded, or, where there are few tiles, in each call: the transformed ones
are up to four times as large, and to read them from memory would take longer than the products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final

import numpy as np
from xdsl.dialects import arith, vector
from xdsl.ir import SSAValue

from et_ir.backends.native.kernels.epilogue import Epilogue, convolution_epilogue
from et_ir.backends.native.kernels.host import Host, Operand
from et_ir.backends.native.kernels.packing import as_is
from et_ir.backends.native.kernels.padding import padded
from et_ir.backends.native.kernels.panels import (
    PANEL,
    constant_array,
    panel_columns,
    panels_of,
    tile_rows,
)
from et_ir.backends.native.kernels.pointwise_rules import add, anchor_of, mul
from et_ir.backends.native.kernels.product import PREFETCHING_ROWS, prefetch_panels
from et_ir.backends.native.kernels.windows import Window, window_of
from et_ir.backends.native.loop_builder import Index, LoopBuilder, vector_of
from et_ir.dialects.native import KernelOp

__all__ = ["transforms_filters", "winograd_kernel"]

CACHE: Final = 1 << 19
"""Bytes of transformed pixels, before and after the products, that a block may have."""

FEW_TILES: Final = 32
"""Tiles up to which filters may be transformed in each call."""
CACHED_FILTERS: Final = 1 << 20
"""Bytes of transformed filters up to which they are kept: they may be in a cache."""
FILTER_BLOCK: Final = 1 << 17
"""Bytes of transformed filters that a thread has at a time."""

Array = np.ndarray[Any, np.dtype[np.float32]]
Transform = Callable[[LoopBuilder, Sequence[SSAValue]], list[SSAValue]]


@dataclass(frozen=True)
class Algorithm:
    """F(m, 3): transforms of one dimension."""

    pixels: int
    """m, pixels of the result in each direction."""
    filters: Transform
    """From the 3 elements of a filter to m + 2, with which pixels are multiplied."""
    image: Transform
    """From m + 2 pixels to as many."""
    result: Transform
    """From m + 2 products to m pixels."""

    @property
    def places(self) -> int:
        """Pixels of the image that a tile is computed from, in each direction."""
        return self.pixels + 2


def _image_of_two(b: LoopBuilder, d: Sequence[SSAValue]) -> list[SSAValue]:
    return [_sub(b, d[0], d[2]), add(b, d[1], d[2]), _sub(b, d[2], d[1]), _sub(b, d[1], d[3])]


def _result_of_two(b: LoopBuilder, m: Sequence[SSAValue]) -> list[SSAValue]:
    return [add(b, add(b, m[0], m[1]), m[2]), _sub(b, _sub(b, m[1], m[2]), m[3])]


def _filters_of_two(b: LoopBuilder, g: Sequence[SSAValue]) -> list[SSAValue]:
    return [g[0], *_both(b, _times(b, 1 / 2, add(b, g[0], g[2])), 1 / 2, g[1]), g[2]]


def _image_of_four(b: LoopBuilder, d: Sequence[SSAValue]) -> list[SSAValue]:
    even, odd = _plus(b, d[4], -4.0, d[2]), _plus(b, d[3], -4.0, d[1])
    near, far = _sub(b, d[4], d[2]), _sub(b, d[3], d[1])
    return [
        _plus(b, _plus(b, d[4], -5.0, d[2]), 4.0, d[0]),
        add(b, even, odd),
        _sub(b, even, odd),
        _plus(b, near, 2.0, far),
        _plus(b, near, -2.0, far),
        _plus(b, _plus(b, d[5], -5.0, d[3]), 4.0, d[1]),
    ]


def _result_of_four(b: LoopBuilder, m: Sequence[SSAValue]) -> list[SSAValue]:
    even, odd = add(b, m[1], m[2]), _sub(b, m[1], m[2])
    far_even, far_odd = add(b, m[3], m[4]), _sub(b, m[3], m[4])
    return [
        add(b, add(b, m[0], even), far_even),
        _plus(b, odd, 2.0, far_odd),
        _plus(b, even, 4.0, far_even),
        add(b, _plus(b, odd, 8.0, far_odd), m[5]),
    ]


def _filters_of_four(b: LoopBuilder, g: Sequence[SSAValue]) -> list[SSAValue]:
    near = _both(b, _times(b, -1 / 6, add(b, g[0], g[2])), -1 / 6, g[1])
    far = _both(b, _plus(b, _times(b, 1 / 24, g[0]), 1 / 6, g[2]), 1 / 12, g[1])
    return [_times(b, 1 / 4, g[0]), *near, *far, g[2]]


def _sub(b: LoopBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.value(arith.SubfOp(x, y))


def _plus(b: LoopBuilder, x: SSAValue, factor: float, y: SSAValue) -> SSAValue:
    """x + factor · y, rounded once."""
    return b.value(vector.FMAOp(y, b.number(factor, y.type), x))


def _both(b: LoopBuilder, x: SSAValue, factor: float, y: SSAValue) -> list[SSAValue]:
    """x + factor · y and x - factor · y."""
    return [_plus(b, x, factor, y), _plus(b, x, -factor, y)]


def _times(b: LoopBuilder, factor: float, x: SSAValue) -> SSAValue:
    return mul(b, x, b.number(factor, x.type))


ALGORITHMS: Final = {
    2: Algorithm(
        2,
        _filters_of_two,
        _image_of_two,
        _result_of_two,
    ),
    4: Algorithm(
        4,
        _filters_of_four,
        _image_of_four,
        _result_of_four,
    ),
}
"""F(m, 3), by m."""


@dataclass(frozen=True)
class _Shape:
    """What the code of a kernel depends on."""

    algorithm: Algorithm
    window: Window
    channels: int
    columns: int
    tiles_y: int
    tiles_x: int
    block: int
    """Tiles that go through the three steps together."""
    tile_rows: int
    """Rows of a register tile of the products."""
    tile_columns: int

    @property
    def tiles(self) -> int:
        return self.window.batch * self.tiles_y * self.tiles_x

    @property
    def places(self) -> int:
        return self.algorithm.places**2

    @property
    def panels(self) -> int:
        return -(-self.columns // PANEL)

    @property
    def transforms_filters(self) -> bool:
        """Whether filters are transformed in each call."""
        return transforms_filters(self.places, self.tiles, self.channels, self.columns)

    @property
    def depth(self) -> int:
        """Channels whose filters for a group of columns are transformed together."""
        return min(FILTER_BLOCK // (4 * self.places * self.tile_columns), self.channels)


def transforms_filters(places: int, tiles: int, channels: int, columns: int) -> bool:
    """Whether filters are transformed in each call, and not when the program is loaded.

    `tiles` of as many `places` are multiplied with the filters of a convolution.
    """
    return tiles <= FEW_TILES and places * channels * columns * 4 > CACHED_FILTERS


def winograd_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a convolution with filters of 3 by 3 pixels, at a step of one."""
    body = kernel.body.block
    anchor = anchor_of(kernel)
    window = window_of(anchor)
    outside = dict(zip(body.args, kernel.inputs, strict=True))
    filters = constant_array(host, outside[anchor.arg("weight")])
    assert filters is not None
    columns, channels = filters.shape[:2]
    pixels = int(kernel.form.data.removeprefix("winograd_"))
    shape = _shape(host, ALGORITHMS[pixels], window, channels, columns)
    rows = window.batch * window.out_height * window.out_width
    epilogue = convolution_epilogue(kernel, anchor)
    covered = replace(window, out_height=shape.tiles_y * pixels, out_width=shape.tiles_x * pixels)
    source = padded(host, host.buffer(outside[anchor.arg("input")]), covered, channels, 0.0)
    image = Operand(source, [window.batch * covered.padded_height, covered.padded_width * channels])
    packed = (
        _plain_filters(host, filters, shape) if shape.transforms_filters else _filters(host, filters, shape)
    )
    rows_of_block = shape.places * shape.block
    before = Operand(host.scratch(rows_of_block * channels), [rows_of_block, channels])
    width = shape.panels * PANEL
    after = Operand(host.scratch(rows_of_block * width), [rows_of_block, width])
    result = Operand(host.buffer(kernel.outputs[0]), [rows, columns])

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, u, v, m, *others, y = buffers
        epilogue.bind(others)
        with b.for_(0, shape.tiles, shape.block) as loop:
            first = loop.index
            left = b.min(b.sub(shape.tiles, first), shape.block)
            _transform_image(b, shape, covered.padded_height, (first, left), x, v)
            multiply = _multiply_plain if shape.transforms_filters else _multiply
            multiply(b, shape, left, v, u, m)
            _transform_back(b, shape, (first, left), m, epilogue, y)

    host.call("winograd", [image, packed, before, after, *epilogue.operands(host), result], build)


def _shape(host: Host, algorithm: Algorithm, window: Window, channels: int, columns: int) -> _Shape:
    tiles_y = -(-window.out_height // algorithm.pixels)
    tiles_x = -(-window.out_width // algorithm.pixels)
    tiles = window.batch * tiles_y * tiles_x
    tile = tile_rows(tiles, host)
    each = algorithm.places**2 * (channels + columns) * 4
    groups = max(min(CACHE // each, tiles) // tile, 1)
    if groups * tile < tiles <= (groups + 1) * tile:
        groups += 1
    if transforms_filters(algorithm.places**2, tiles, channels, columns):
        groups = -(-tiles // tile)  # once for all of them
    return _Shape(
        algorithm,
        window,
        channels,
        columns,
        tiles_y,
        tiles_x,
        groups * tile,
        tile,
        panel_columns(host),
    )


def _plain_filters(host: Host, filters: Array, shape: _Shape) -> Operand:
    """Filters in panels, `[panel][channel][tap][16]`."""
    plain = panels_of(host, filters.transpose(2, 3, 1, 0))
    return Operand(plain, [shape.panels, 9, shape.channels, PANEL], fixed=[1, 3])


def _filters(host: Host, filters: Array, shape: _Shape) -> Operand:
    """Transformed filters in panels, `[place][panel][channel][16]`.

    They are several times as large as the filters in the file, from which they are computed when it is loaded.
    """
    panels, channels = shape.panels, shape.channels
    source = _plain_filters(host, filters, shape)
    sizes = [shape.places, panels, channels, PANEL]

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        w, u = buffers
        with b.parallel(b.mul(b.dim(u, 1), b.dim(u, 2))) as number:
            panel, channel = b.quotient(number, b.dim(u, 2)), b.remainder(number, b.dim(u, 2))
            made = _transformed_filters(b, shape.algorithm, w, panel, channel)
            for place, value in enumerate(made):
                b.store(value, u, [place, panel, channel, 0])

    key = f"winograd {shape.algorithm.pixels} {host.packed('elements', [filters], as_is).sha256}"
    made = host.derived(key, prod(sizes), "winograd_filters", [source], sizes, build)
    return Operand(made, [shape.places * panels, channels, PANEL], fixed=[2])


def _transformed_filters(
    b: LoopBuilder, algorithm: Algorithm, w: SSAValue, panel: Index, channel: Index
) -> list[SSAValue]:
    """The filters of a panel for a channel, by places."""
    rows = [
        algorithm.filters(
            b,
            [b.load(w, [panel, 3 * row + column, channel, 0], vector_of(PANEL)) for column in range(3)],
        )
        for row in range(3)
    ]
    columns = [algorithm.filters(b, [row[column] for row in rows]) for column in range(algorithm.places)]
    return [column[row] for row in range(algorithm.places) for column in columns]


def _vectors(
    b: LoopBuilder, count: Index, known: int, visit: Callable[[Index, SSAValue | None], None]
) -> None:
    """Visit vectors of channels, the last with a mask where they do not fill it."""
    whole = b.multiple_below(count, PANEL)
    with b.for_(0, whole, PANEL) as loop:
        visit(loop.index, None)
    if known % PANEL:
        visit(whole, b.mask(b.sub(count, whole), PANEL))


def _place(b: LoopBuilder, shape: _Shape, tile: Index) -> tuple[Index, Index, Index]:
    """The image that a tile is of, and its row and column there."""
    each = shape.tiles_y * shape.tiles_x
    within = b.remainder(tile, each)
    return b.quotient(tile, each), b.quotient(within, shape.tiles_x), b.remainder(within, shape.tiles_x)


def _transform_image(
    b: LoopBuilder, shape: _Shape, height: int, tiles: tuple[Index, Index], x: SSAValue, v: SSAValue
) -> None:
    """From the pixels under each tile of a block to a row of `v` for each place."""
    first, left = tiles
    pixels, places = shape.algorithm.pixels, shape.algorithm.places
    channels = b.dim(v, 1)
    with b.parallel(left) as tile:
        number, tile_y, tile_x = _place(b, shape, b.add(first, tile))
        top = b.add(b.mul(number, height), b.mul(tile_y, pixels))
        start = b.mul(tile_x, pixels)

        def transform(channel: Index, mask: SSAValue | None) -> None:
            rows = [
                shape.algorithm.image(
                    b,
                    [
                        b.load_row(
                            x,
                            [b.add(top, row), b.add(b.mul(b.add(start, column), channels), channel)],
                            mask,
                            PANEL,
                        )
                        for column in range(places)
                    ],
                )
                for row in range(places)
            ]
            for column in range(places):
                made = shape.algorithm.image(b, [row[column] for row in rows])
                for row, value in enumerate(made):
                    at = [b.add(tile, (row * places + column) * shape.block), channel]
                    if mask is None:
                        b.store(value, v, at)
                    else:
                        b.masked_store(value, v, at, mask)

        _vectors(b, channels, shape.channels, transform)


def _multiply(b: LoopBuilder, shape: _Shape, left: Index, v: SSAValue, u: SSAValue, m: SSAValue) -> None:
    """For each place, the product of the tiles' pixels with the filters there.

    Rows of the last register tile that are of no tile are computed of what is there, and not read.
    """
    width, tile = shape.tile_columns, shape.tile_rows
    columns = shape.panels * PANEL

    def group(place: Index, column: Index, width: int) -> None:
        first = b.mul(place, shape.block)
        panel = b.add(b.mul(place, columns), column)
        with b.for_(0, left, tile) as loop:
            row = b.add(first, loop.index)
            zero = b.splat(0.0, vector_of(tile, width))
            with b.for_(0, b.dim(v, 1), 1, [zero]) as inner:
                pixels = b.column(v, [row, inner.index], 0, 1, vector_of(tile))
                filters = b.panels(u, panel, [inner.index], width)
                if tile >= PREFETCHING_ROWS:
                    prefetch_panels(b, u, b.add(panel, width), inner.index, width)
                inner.next = [b.outer_product(pixels, filters, inner.args[0])]
            b.store(inner.results[0], m, [row, column])

    groups = columns // width
    if groups:
        with b.parallel(shape.places * groups) as number:
            group(b.quotient(number, groups), b.mul(b.remainder(number, groups), width), width)
    if columns % width:
        with b.parallel(shape.places) as place:
            group(place, groups * width, PANEL)


def _multiply_plain(
    b: LoopBuilder, shape: _Shape, left: Index, v: SSAValue, w: SSAValue, m: SSAValue
) -> None:
    """As `_multiply`, with filters that are transformed here, by blocks of channels.

    The sums of the blocks before are in `m`.
    """
    tile, places = shape.tile_rows, shape.places
    columns = shape.panels * PANEL

    def group(column: Index, width: int) -> None:
        panels = width // PANEL
        u = b.local(places * panels, shape.depth + 1, PANEL)
        zero = b.splat(0.0, vector_of(tile, width))

        def tiles(visit: Callable[[Index, Sequence[Index]], None]) -> None:
            with b.for_(0, places) as place, b.for_(0, left, tile) as loop:
                visit(place.index, [b.add(b.mul(place.index, shape.block), loop.index), column])

        tiles(lambda _, at: b.store(zero, m, at))
        with b.for_(0, b.dim(v, 1), shape.depth) as block:
            depth = b.min(b.sub(b.dim(v, 1), block.index), shape.depth)
            with b.for_(0, depth) as channel:
                for number in range(panels):
                    panel = b.add(b.quotient(column, PANEL), number)
                    made = _transformed_filters(
                        b, shape.algorithm, w, panel, b.add(block.index, channel.index)
                    )
                    for place, value in enumerate(made):
                        b.store(value, u, [place * panels + number, channel.index, 0])

            # While they are multiplied, the filters that are transformed next come from memory.
            after = b.add(block.index, shape.depth)
            ends = b.at_least(after, b.dim(v, 1))
            next_panel = b.add(b.quotient(column, PANEL), b.choose(ends, panels, 0))
            next_channel = b.choose(ends, 0, after)

            def products(place: Index, at: Sequence[Index]) -> None:
                tap = b.min(place, 8)
                with b.for_(0, depth, 1, [b.load(m, at, vector_of(tile, width))]) as inner:
                    here = [at[0], b.add(block.index, inner.index)]
                    pixels = b.column(v, here, 0, 1, vector_of(tile))
                    filters = b.panels(u, b.mul(place, width), [inner.index], width)
                    for number in range(panels):
                        ahead = [b.add(next_panel, number), tap, b.add(next_channel, inner.index), 0]
                        b.prefetch(w, ahead)
                    inner.next = [b.outer_product(pixels, filters, inner.args[0])]
                b.store(inner.results[0], m, at)

            tiles(products)

    width = shape.tile_columns
    if columns // width:
        with b.parallel(columns // width) as number:
            group(b.mul(number, width), width)
    if columns % width:
        with b.parallel(1):
            group(columns // width * width, PANEL)


def _transform_back(
    b: LoopBuilder,
    shape: _Shape,
    tiles: tuple[Index, Index],
    m: SSAValue,
    epilogue: Epilogue,
    y: SSAValue,
) -> None:
    """From the products of each tile of a block to pixels of the result."""
    first, left = tiles
    window, pixels, places = shape.window, shape.algorithm.pixels, shape.algorithm.places
    with b.parallel(left) as tile:
        number, tile_y, tile_x = _place(b, shape, b.add(first, tile))
        top, start = b.mul(tile_y, pixels), b.mul(tile_x, pixels)
        image = b.mul(number, window.out_height)

        def transform(channel: Index, mask: SSAValue | None) -> None:
            rows = [
                shape.algorithm.result(
                    b,
                    [
                        b.load(
                            m,
                            [b.add(tile, (row * places + column) * shape.block), channel],
                            vector_of(PANEL),
                        )
                        for column in range(places)
                    ],
                )
                for row in range(places)
            ]
            for column in range(pixels):
                made = shape.algorithm.result(b, [row[column] for row in rows])
                for row, value in enumerate(made):
                    line, place = b.add(top, row), b.add(start, column)
                    at = [b.add(b.mul(b.add(image, line), window.out_width), place), channel]
                    inside = _inside(b, shape, (row, line), (column, place))
                    if inside is None:
                        epilogue.store_row(b, value, y, at, mask)
                        continue
                    with b.if_(inside):
                        epilogue.store_row(b, value, y, at, mask)

        _vectors(b, b.dim(y, 1), shape.columns, transform)


def _inside(
    b: LoopBuilder, shape: _Shape, row: tuple[int, Index], column: tuple[int, Index]
) -> SSAValue | None:
    """Whether a pixel of a tile is one of the result; None where that is known."""
    pixels = shape.algorithm.pixels
    conditions = [
        b.below(place, size)
        for (within, place), size in ((row, shape.window.out_height), (column, shape.window.out_width))
        if within >= (size - 1) % pixels + 1
    ]
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else b.both(*conditions)
