"""Product kernels of bytes: register tiles of sums in i32, requantized before they are written.

Panels of weights have fours of neighbors of the shared dimension in a lane, as the instructions that multiply bytes
take them: `[panel][inner / 4][16][4]`. Sums start from the bias and what the zero point of the activation adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernels.borders import bordered
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.integer_operands import kernel_operands
from et_backends.codegen.kernels.panels import PANEL, panel_columns, tile_rows
from et_backends.codegen.kernels.product import Sizes, in_panels, shared_rows
from et_backends.codegen.kernels.requantization import IntegerEpilogue, integer_epilogue
from et_backends.codegen.kernels.row_tiles import visit_rows
from et_backends.codegen.kernels.windows import Window, window_of
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_backends.codegen.sizes import product, shape_of
from et_ir.data import Blob

__all__ = ["QUAD", "integer_product_kernel", "integer_tile_rows", "packed_bytes"]

QUAD: Final = 4
"""Bytes of a lane."""

Array = np.ndarray[Any, np.dtype[Any]]


def integer_product_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a linear layer of bytes, or a convolution with 1x1 filters."""
    found = kernel_operands(host.symbols, kernel)
    columns, inner = found.weights.shape[:2]
    rows = product(shape_of(found.op.results[0])[:-1])
    if found.op.name == "edge.convolution":
        window = window_of(found.op)
        rows = window.batch * window.out_height * window.out_width
    assert isinstance(rows, int)
    image = host.buffer(kernel.outside()[found.activation.operands[0]])
    padded = -(-inner // QUAD) * QUAD
    # Rows of whole fours, so that these start at multiples of four bytes.
    source = bordered(
        host, image, Window(rows, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0), inner, padded, found.zero_point
    )
    weights = found.weights.reshape(columns, inner)
    tile = integer_tile_rows(rows, host)
    sizes = Sizes(1, rows, padded // QUAD, columns, tile, panel_columns(host), rows)
    sizes = in_panels(sizes, host.panel(PANEL, bytes=True))
    epilogue = integer_epilogue(host, kernel, found, rows, columns)
    # Where the zero point is known at run time only, sums start from it times those of the weights.
    dynamic = found.quantization is None
    right = packed_bytes(host, weights, padded)
    start = packed_starts(host, -found.sums() if dynamic else found.start())
    points = [Operand(host.buffer(kernel.outside()[found.activation.operands[2]]), [1])] if dynamic else []
    left = Operand(source, [rows * padded])
    result = Operand(host.buffer(kernel.outputs[0]), [rows, columns])

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, w, bias, *others, y = buffers
        point = others.pop(0) if dynamic else None
        epilogue.bind(others)
        _build(b, sizes, epilogue, (x, w, bias, y), point)

    host.multiplies_bytes = True
    host.call("integer_product", [left, right, start, *points, *epilogue.operands(host), result], build)


def integer_tile_rows(rows: int, host: Host) -> int:
    """Rows of a register tile: fewer where bytes are widened in registers."""
    return tile_rows(rows, host) if host.lanes == PANEL or host.small or host.few else min(rows, 4)


def packed_bytes(host: Host, weights: Array, padded: int) -> Operand:
    """Panels of weights `[columns, inner]`, with zeros for what is beyond them, as a kernel takes them."""
    columns, inner = weights.shape
    panel = host.panel(PANEL, bytes=True)
    panels = -(-columns // panel)
    whole = np.zeros((panels * panel, padded), np.int8)
    whole[:columns, :inner] = weights
    packed = np.ascontiguousarray(whole.reshape(panels, panel, padded // QUAD, QUAD).transpose(0, 2, 1, 3))
    blob = Blob.of("packed", packed.reshape(-1).view(np.uint8).data)
    held = host.constant(blob, packed.size // QUAD, i32)
    return Operand(held, [panels, padded // QUAD, panel], fixed=[2])


def packed_starts(host: Host, start: Array) -> Operand:
    """i32 of each column in whole panels, as a kernel takes them."""
    whole = np.zeros(-(-start.size // PANEL) * PANEL, np.int32)
    whole[: start.size] = start
    return Operand(host.constant(Blob.of("packed", whole.view(np.uint8).data), whole.size, i32), [whole.size])


def _build(
    b: LoopBuilder,
    sizes: Sizes,
    epilogue: IntegerEpilogue,
    buffers: tuple[SSAValue, SSAValue, SSAValue, SSAValue],
    point: SSAValue | None,
) -> None:
    x, w, bias, y = buffers
    tile = sizes.tile_rows
    count = b.dim(y, 0)
    left = b.quads(x, [count, b.dim(w, 1)])

    def visit(sizes: Sizes, first: Index, count: Index) -> None:
        def rows(start: Index, end: Index, column: Index, width: int, mask: SSAValue | None) -> None:
            def one(row: Index, height: int) -> None:
                start = b.load(bias, [column], vector_of(width, element=i32))
                if point is not None:
                    splat = b.broadcast(b.element(point, [0]), vector_of(width))
                    start = b.value(arith.MuliOp(start, b.convert("fptosi", splat, i32)))
                totals = _accumulate(b, left, w, start, row, height, column, width)
                store_totals(b, epilogue, totals, y, row, column, mask)

            visit_rows(b, b.add(first, start), b.add(first, end), sizes.tile_rows, one)

        shared_rows(b, sizes, count, b.dim(y, 1), rows)

    # A tile that is moved back costs as much as one of other rows where nothing is computed side by side.
    rest = sizes.rows % tile if b.small and isinstance(sizes.rows, int) else 0
    if not rest:
        visit(sizes, 0, count)
        return
    assert isinstance(sizes.rows, int)
    whole = b.sub(count, rest)
    visit(replace(sizes, rows=sizes.rows - rest), 0, whole)
    visit(replace(sizes, rows=rest, tile_rows=rest), whole, rest)


def _accumulate(
    b: LoopBuilder,
    x: SSAValue,
    w: SSAValue,
    start: SSAValue,
    row: Index,
    height: int,
    column: Index,
    width: int,
) -> list[SSAValue]:
    """Rows of a tile of sums."""
    type = vector_of(width, element=i32)
    with b.for_(0, b.dim(w, 1), 1, [start] * height) as loop:
        right = b.panels(w, column, [loop.index], width)
        loop.next = [
            b.dot(b.broadcast(b.element(x, [b.add(row, place), loop.index]), type), right, total)
            for place, total in enumerate(loop.args)
        ]
    return list(loop.results)


def store_totals(
    b: LoopBuilder,
    epilogue: IntegerEpilogue,
    totals: Sequence[SSAValue],
    y: SSAValue,
    row: Index,
    column: Index,
    mask: SSAValue | None,
) -> None:
    """Finish rows of sums and write them."""
    for place, total in enumerate(totals):
        epilogue.store_row(b, total, y, [b.add(row, place), column], mask)
