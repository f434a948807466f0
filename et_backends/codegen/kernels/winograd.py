"""Winograd convolution: 3 by 3 filters at a step of one, with fewer multiplications.

The algorithm F(m, 3) of Lavin and Gray (Fast Algorithms for Convolutional Neural Networks, 2016): tiles of m by m
pixels of the result are computed from m + 2 by m + 2 pixels of the image. These are transformed, then multiplied with
transformed filters, which is a product of matrices for each of the (m + 2)² places, and what comes of it is transformed
back. F(4, 3) multiplies a quarter as often as the definition, F(2, 3) four ninths as often.

Blocks of tiles, whose transformed pixels stay in the L2 cache, go through the three steps one after the other. Each
step is a function of its own, which layers share: the products do not depend on what the tiles are of, nor the first
transform on what is computed of the result.

Filters are transformed when the program is loaded, or, where there are few tiles, in each call: the transformed ones
are up to four times as large, and to read them from memory would take longer than the products.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final

import numpy as np
from xdsl.dialects import vector
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernels.epilogue import Epilogue, convolution_epilogue
from et_backends.codegen.kernels.host import Host, Operand, kernel_key
from et_backends.codegen.kernels.padding import image_parts, padded_parts
from et_backends.codegen.kernels.panels import (
    PANEL,
    constant_array,
    panel_columns,
    panels_blob,
    panels_of,
    tile_rows,
)
from et_backends.codegen.kernels.pointwise_rules import add, anchor_of, mul, sub
from et_backends.codegen.kernels.product import PREFETCHING_ROWS, prefetch_panels
from et_backends.codegen.kernels.windows import Window, window_of
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of

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
    return [sub(b, d[0], d[2]), add(b, d[1], d[2]), sub(b, d[2], d[1]), sub(b, d[1], d[3])]


def _result_of_two(b: LoopBuilder, m: Sequence[SSAValue]) -> list[SSAValue]:
    return [add(b, add(b, m[0], m[1]), m[2]), sub(b, sub(b, m[1], m[2]), m[3])]


def _filters_of_two(b: LoopBuilder, g: Sequence[SSAValue]) -> list[SSAValue]:
    return [g[0], *_both(b, _times(b, 1 / 2, add(b, g[0], g[2])), 1 / 2, g[1]), g[2]]


def _image_of_four(b: LoopBuilder, d: Sequence[SSAValue]) -> list[SSAValue]:
    even, odd = _plus(b, d[4], -4.0, d[2]), _plus(b, d[3], -4.0, d[1])
    near, far = sub(b, d[4], d[2]), sub(b, d[3], d[1])
    return [
        _plus(b, _plus(b, d[4], -5.0, d[2]), 4.0, d[0]),
        add(b, even, odd),
        sub(b, even, odd),
        _plus(b, near, 2.0, far),
        _plus(b, near, -2.0, far),
        _plus(b, _plus(b, d[5], -5.0, d[3]), 4.0, d[1]),
    ]


def _result_of_four(b: LoopBuilder, m: Sequence[SSAValue]) -> list[SSAValue]:
    even, odd = add(b, m[1], m[2]), sub(b, m[1], m[2])
    far_even, far_odd = add(b, m[3], m[4]), sub(b, m[3], m[4])
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


def _plus(b: LoopBuilder, x: SSAValue, factor: float, y: SSAValue) -> SSAValue:
    """x + factor · y, rounded once."""
    return b.combined(vector.FMAOp, y, b.number(factor, y.type), x)


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
    """The parameters that the code of a kernel depends on."""

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
    def products(self) -> Hashable:
        """The parameters that the code of the products depends on if they transform the filters."""
        sizes = self.places, self.panels, self.block, self.depth
        return self.algorithm.pixels, self.tile_rows, self.tile_columns, *sizes

    @property
    def result(self) -> Hashable:
        """The parameters that the code of the transformation of products to pixels depends on, besides the epilogue."""
        window = self.window
        sizes = self.columns, self.tiles_y, self.tiles_x, window.out_height, window.out_width
        return self.algorithm.pixels, *sizes

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
    epilogue = convolution_epilogue(kernel, anchor)
    epilogue.row_sizes = (window.batch * window.out_height, window.out_width)
    covered = replace(window, out_height=shape.tiles_y * pixels, out_width=shape.tiles_x * pixels)
    source = padded_parts(host, image_parts(kernel, anchor.arg("input")), covered, channels, 0.0)
    image = Operand(source, [window.batch * covered.padded_height, covered.padded_width, channels])
    packed = (
        _plain_filters(host, filters, shape) if shape.transforms_filters else _filters(host, filters, shape)
    )
    rows_of_block = shape.places * shape.block
    before = Operand(host.scratch(rows_of_block * channels), [rows_of_block, channels])
    width = shape.panels * PANEL
    after = Operand(host.scratch(rows_of_block * width), [rows_of_block, width])
    result = Operand(host.buffer(kernel.outputs[0]), [*epilogue.row_sizes, columns])
    tiles = _Tiles(
        shape.tile_rows, shape.tile_columns, width >= shape.tile_columns, width % shape.tile_columns > 0
    )

    finish = epilogue.code
    code = None if finish is None else (shape.result, finish)

    def transform_image(b: LoopBuilder, arguments: Sequence[SSAValue]) -> None:
        _transform_image(b, shape.algorithm, channels % PANEL != 0, *arguments)

    def multiply(b: LoopBuilder, arguments: Sequence[SSAValue]) -> None:
        _multiply(b, tiles, *arguments)

    def multiply_plain(b: LoopBuilder, arguments: Sequence[SSAValue]) -> None:
        _multiply_plain(b, shape, *arguments)

    def transform_back(b: LoopBuilder, arguments: Sequence[SSAValue]) -> None:
        first, left, m, *others, y = arguments
        epilogue.bind(others)
        _transform_back(b, shape, (first, left), m, epilogue, y)

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, u, v, m, *others, y = buffers
        # Rows of the places of a block follow each other.
        by_place = [b.view(one, 0, [shape.places, b.mul(b.dim(one, 1), shape.block)]) for one in (v, m)]
        with b.for_(0, shape.tiles, shape.block) as loop:
            first = loop.index
            left = b.index(b.min(b.sub(shape.tiles, first), shape.block))
            grid = shape.tiles_y, shape.tiles_x, covered.padded_height
            key = shape.algorithm.pixels, channels % PANEL != 0
            b.call("winograd_image", [first, left, *grid, x, by_place[0]], transform_image, key)
            if shape.transforms_filters:
                b.call("winograd_product", [left, v, u, m], multiply_plain, shape.products)
            else:
                sizes = left, shape.places, shape.block, width
                b.call("winograd_product", [*sizes, v, u, m], multiply, tiles)
            b.call("winograd_result", [first, left, by_place[1], *others, y], transform_back, code)

    operands = [image, packed, before, after, *epilogue.operands(host), result]
    host.call("winograd", operands, build, kernel_key(kernel))


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

    blob = panels_blob(host, filters.transpose(2, 3, 1, 0))
    # With the sizes, as filters of other sizes may have the same bytes.
    key = f"winograd {sizes} {blob.sha256}"
    made = host.derived(key, prod(sizes), "winograd_filters", [source], sizes, build, shape.algorithm.pixels)
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
    b: LoopBuilder, count: Index, masked: bool, visit: Callable[[Index, SSAValue | None], None]
) -> None:
    """Visit vectors of channels, the last with a mask where they do not fill it."""
    whole = b.multiple_below(count, PANEL)
    with b.for_(0, whole, PANEL) as loop:
        visit(loop.index, None)
    if masked:
        visit(whole, b.mask(b.sub(count, whole), PANEL))


def _place(b: LoopBuilder, tiles_y: Index, tiles_x: Index, tile: Index) -> tuple[Index, Index, Index]:
    """The image that a tile is of, and its row and column there."""
    each = b.mul(tiles_y, tiles_x)
    within = b.remainder(tile, each)
    return b.quotient(tile, each), b.quotient(within, tiles_x), b.remainder(within, tiles_x)


def _transform_image(
    b: LoopBuilder,
    algorithm: Algorithm,
    masked: bool,
    first: SSAValue,
    left: SSAValue,
    tiles_y: SSAValue,
    tiles_x: SSAValue,
    height: SSAValue,
    x: SSAValue,
    v: SSAValue,
) -> None:
    """From the pixels under each tile of a block to a row of `v` for each place.

    The block has `left` tiles from `first` on, of images of `tiles_y` by `tiles_x` tiles and `height` rows. `masked`
    says whether the channels fill no whole number of vectors.
    """
    pixels, places = algorithm.pixels, algorithm.places
    channels = b.dim(x, 2)
    with b.parallel(left) as tile:
        number, tile_y, tile_x = _place(b, tiles_y, tiles_x, b.add(first, tile))
        top = b.add(b.mul(number, height), b.mul(tile_y, pixels))
        start = b.mul(tile_x, pixels)
        lines = [b.add(top, row) for row in range(places)]
        pixels_of_line = [b.add(start, column) for column in range(places)]
        target = b.mul(tile, channels)

        def transform(channel: Index, mask: SSAValue | None) -> None:
            rows = [
                algorithm.image(
                    b, [b.load_row(x, [line, pixel, channel], mask, PANEL) for pixel in pixels_of_line]
                )
                for line in lines
            ]
            at = b.add(target, channel)
            for column in range(places):
                made = algorithm.image(b, [row[column] for row in rows])
                for row, value in enumerate(made):
                    here = [row * places + column, at]
                    if mask is None:
                        b.store(value, v, here)
                    else:
                        b.masked_store(value, v, here, mask)

        _vectors(b, channels, masked, transform)


@dataclass(frozen=True)
class _Tiles:
    """The parameters that the code of the products depends on: the register tile, and the columns that there are."""

    rows: int
    columns: int
    some: bool
    """Whether there are as many columns as a tile has."""
    rest: bool
    """Whether there is a panel after whole tiles."""


def _multiply(
    b: LoopBuilder,
    tiles: _Tiles,
    left: SSAValue,
    places: SSAValue,
    block: SSAValue,
    columns: SSAValue,
    v: SSAValue,
    u: SSAValue,
    m: SSAValue,
) -> None:
    """For each of `places`, the product of the pixels of `left` tiles, of a block of `block`, with the filters there.

    Rows of the last register tile that are of no tile are computed of what is there, and not read.
    """
    width, tile = tiles.columns, tiles.rows

    def group(place: Index, column: Index, width: int) -> None:
        first = b.mul(place, block)
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

    groups = b.quotient(columns, width)
    if tiles.some:
        with b.parallel(b.mul(places, groups)) as number:
            group(b.quotient(number, groups), b.mul(b.remainder(number, groups), width), width)
    if tiles.rest:
        with b.parallel(places) as place:
            group(place, b.mul(groups, width), PANEL)


def _multiply_plain(
    b: LoopBuilder, shape: _Shape, left: SSAValue, v: SSAValue, w: SSAValue, m: SSAValue
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
    columns = b.dim(y, 2)
    width = shape.panels * PANEL
    with b.parallel(left) as tile:
        number, tile_y, tile_x = _place(b, shape.tiles_y, shape.tiles_x, b.add(first, tile))
        top, start = b.mul(tile_y, pixels), b.mul(tile_x, pixels)
        first_line = b.add(b.mul(number, window.out_height), top)
        lines = [b.add(first_line, row) for row in range(pixels)]
        pixels_of_line = [b.add(start, column) for column in range(pixels)]
        inside = [
            [
                _inside(b, shape, (row, b.add(top, row)), (column, pixels_of_line[column]))
                for column in range(pixels)
            ]
            for row in range(pixels)
        ]
        source = b.mul(tile, width)

        def finish_in_loop(made: Sequence[Sequence[SSAValue]], channel: Index, mask: SSAValue | None) -> None:
            """Pixel by pixel, as the code for all of a tile would be long."""
            held = b.local(pixels, pixels, PANEL)
            for column, values in enumerate(made):
                for row, value in enumerate(values):
                    b.store(value, held, [row, column, 0])
            with (
                b.for_(0, b.min(b.sub(window.out_height, top), pixels)) as row,
                b.for_(0, b.min(b.sub(window.out_width, start), pixels)) as column,
            ):
                value = b.load(held, [row.index, column.index, 0], vector_of(PANEL))
                here = [b.add(first_line, row.index), b.add(start, column.index), channel]
                epilogue.store_row(b, value, y, here, mask)

        def transform(channel: Index, mask: SSAValue | None) -> None:
            at = b.add(source, channel)
            rows = [
                shape.algorithm.result(
                    b, [b.load(m, [row * places + column, at], vector_of(PANEL)) for column in range(places)]
                )
                for row in range(places)
            ]
            made = [shape.algorithm.result(b, [row[column] for row in rows]) for column in range(pixels)]
            if epilogue.is_long:
                finish_in_loop(made, channel, mask)
                return
            for column, values in enumerate(made):
                for row, value in enumerate(values):
                    here = [lines[row], pixels_of_line[column], channel]
                    within = inside[row][column]
                    if within is None:
                        epilogue.store_row(b, value, y, here, mask)
                        continue
                    with b.if_(within):
                        epilogue.store_row(b, value, y, here, mask)

        _vectors(b, columns, shape.columns % PANEL != 0, transform)


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
