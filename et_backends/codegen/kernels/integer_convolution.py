"""Convolution kernels of bytes: as those of floats, with fours of neighboring channels in a lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernels.borders import bordered, bordered_planes, bordered_runs
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.integer_operands import kernel_operands
from et_backends.codegen.kernels.integer_product import (
    QUAD,
    integer_tile_rows,
    packed_bytes,
    packed_starts,
    store_totals,
)
from et_backends.codegen.kernels.panels import PANEL, panel_columns
from et_backends.codegen.kernels.product import Sizes, column_groups, in_panels
from et_backends.codegen.kernels.requantization import IntegerEpilogue, integer_epilogue
from et_backends.codegen.kernels.windows import Window, window_of
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_ir.analysis.dim_orders import straight
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["integer_convolution_kernel"]

STEPS = (8, 4, 3, 2, 1)
"""Fours of products in a turn of a loop, the first that divides them, where a four takes few instructions."""
_PLANES = straight(4)
"""The order of an image whose channels follow each other."""
LARGE_FILTERS = 1 << 18
"""Bytes of filters from which on each panel of them is applied to the whole image before the next."""


def integer_convolution_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a convolution of bytes of all channels."""
    found = kernel_operands(host.symbols, kernel)
    window = window_of(found.op)
    columns, channels = found.weights.shape[:2]
    padded = -(-channels // QUAD) * QUAD
    value = kernel.outside()[found.activation.operands[0]]
    image = host.buffer(value)
    filters = found.weights.transpose(0, 2, 3, 1)
    if host.small and channels == 1 and window.width > 1 and window.apart_x == 1:
        # Fours are of neighbors in a row: channels would be three quarters of zeros.
        fours = -(-window.width // QUAD)
        filters = np.pad(filters[..., 0], [(0, 0)] * 2 + [(0, fours * QUAD - window.width)])
        window = replace(window, width=fours, apart_x=QUAD)
        source = bordered_runs(host, image, window, found.zero_point)
    elif dim_order_of(tensor_type(value)) == _PLANES:
        source = bordered_planes(host, image, window, channels, found.zero_point)
    else:
        source = bordered(host, image, window, channels, padded, found.zero_point)
    if filters.ndim == 4:
        filters = np.pad(filters, [(0, 0)] * 3 + [(0, padded - channels)])
    inner = window.height * window.width * padded
    rows = window.batch * window.out_height * window.out_width
    tile = integer_tile_rows(window.out_width, host)
    sizes = Sizes(1, window.out_width, inner // QUAD, columns, tile, panel_columns(host), window.out_width)
    sizes = in_panels(sizes, host.panel(PANEL, bytes=True))
    epilogue = integer_epilogue(host, kernel, found, rows, columns)
    right, start = (
        packed_bytes(host, filters.reshape(columns, inner), inner),
        packed_starts(host, found.start()),
    )
    left = Operand(source, [window.batch * window.padded_height * window.padded_width * padded])
    result = Operand(host.buffer(kernel.outputs[0]), [rows, columns])
    quads = padded // QUAD

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, w, bias, *others, y = buffers
        epilogue.bind(others)
        _build(
            b,
            window,
            quads,
            sizes,
            epilogue,
            (x, w, bias, y),
            rows_outside=inner * columns < LARGE_FILTERS,
            unrolled=host.dual_products,
        )

    host.multiplies_bytes = True
    host.call("integer_convolution", [left, right, start, *epilogue.operands(host), result], build)


def _build(
    b: LoopBuilder,
    window: Window,
    quads: int,
    sizes: Sizes,
    epilogue: IntegerEpilogue,
    buffers: tuple[SSAValue, SSAValue, SSAValue, SSAValue],
    *,
    rows_outside: bool,
    unrolled: bool,
) -> None:
    x, w, bias, y = buffers
    tile = sizes.tile_rows
    image = b.quads(x, [window.batch, window.padded_height, window.padded_width * quads])

    def pixels(row: Index, column: Index, width: int, mask: SSAValue | None) -> None:
        """All pixels of a row of the result, for some channels."""
        number = b.quotient(row, window.out_height)
        top = b.mul(b.remainder(row, window.out_height), window.step_y)
        first = b.mul(row, window.out_width)
        with b.for_(0, window.out_width, tile) as loop:
            left = b.min(loop.index, window.out_width - tile)
            at = [number, top, b.mul(left, window.step_x * quads)]
            totals = _accumulate(
                b, window, quads, (image, w, bias), at, column, width, tile, unrolled=unrolled
            )
            store_totals(b, epilogue, totals, y, b.add(first, left), column, mask)

    rows = window.batch * window.out_height
    if rows_outside:
        with b.parallel(rows) as row:
            column_groups(b, sizes, b.dim(y, 1), lambda column, width, mask: pixels(row, column, width, mask))
        return

    def all_rows(column: Index, width: int, mask: SSAValue | None) -> None:
        with b.for_(0, rows) as loop:
            pixels(loop.index, column, width, mask)

    column_groups(b, sizes, b.dim(y, 1), all_rows, shared=True)


def _accumulate(
    b: LoopBuilder,
    window: Window,
    quads: int,
    buffers: tuple[SSAValue, SSAValue, SSAValue],
    at: Sequence[Index],
    column: Index,
    width: int,
    tile: int,
    *,
    unrolled: bool,
) -> list[SSAValue]:
    """Rows of a tile of sums: pixels under the window at a place of the image."""
    x, w, bias = buffers
    number, top, start = at
    apart = window.apart_x * quads
    # Neighbors under the filter follow each other in memory, unless they are apart.
    runs = [0] if window.apart_x == 1 else [place * apart for place in range(window.width)]
    run = window.width * quads if window.apart_x == 1 else quads
    type = vector_of(width, element=i32)
    first = b.load(bias, [column], type)
    with b.for_(0, window.height, 1, [first] * tile) as lines:
        totals = list(lines.args)
        line = b.add(top, b.mul(lines.index, window.apart_y))
        for place, offset in enumerate(runs):
            base = b.add(start, offset)
            before = b.add(b.mul(lines.index, window.width * quads), place * quads)
            steps = next(one for one in STEPS if run % one == 0) if unrolled else 1
            with b.for_(0, run, steps, totals) as loop:
                loop.next = list(loop.args)
                for step in range(steps):
                    inner = b.add(loop.index, step)
                    right = b.panels(w, column, [b.add(before, inner)], width)
                    here = b.add(base, inner)
                    for pixel, total in enumerate(loop.next):
                        element = b.element(x, [number, line, b.add(here, pixel * window.step_x * quads)])
                        loop.next[pixel] = b.dot(b.broadcast(element, type), right, total)
            totals = list(loop.results)
        lines.next = totals
    return list(lines.results)
