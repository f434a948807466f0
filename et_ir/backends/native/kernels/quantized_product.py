"""Product kernels with quantized weights: of floats by dequantized weights, or of rows of bytes by bytes.

Weights stay as narrow as they are in memory, and are widened in registers; each group of the shared dimension is added
up before it is scaled. Panels for products of floats are `[panel][inner][16]`, with two rows to a byte where weights
have four bits, the first in the low bits. Panels for products of bytes have fours of neighbors in a lane, as the
instructions that multiply bytes take them: `[panel][inner / 4][16][4]`, or two such fours where weights have four bits,
each with the first in the low bits of its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, SSAValue

from et_ir.backends.native.kernels.epilogue import Epilogue
from et_ir.backends.native.kernels.host import Host, Operand
from et_ir.backends.native.kernels.integer_product import QUAD, integer_tile_rows
from et_ir.backends.native.kernels.panels import PANEL, panel_columns, panels_of, tile_rows
from et_ir.backends.native.kernels.pointwise_rules import add
from et_ir.backends.native.kernels.product import Sizes, in_panels, shared_rows
from et_ir.backends.native.kernels.quantization_rules import i8
from et_ir.backends.native.kernels.quantized_operands import QuantizedOperands, kernel_quantized_operands
from et_ir.backends.native.kernels.row_tiles import visit_rows
from et_ir.backends.native.loop_builder import Index, LoopBuilder, vector_of
from et_ir.backends.native.sizes import product, shape_of
from et_ir.dialects.native import KernelOp
from et_ir.dialects.native.types import vector_type

__all__ = ["quantized_product_kernel"]

Array = np.ndarray[Any, np.dtype[Any]]

NIBBLE: Final = 4
HIGH: Final = -0x0F0F0F10
"""The high halves of four bytes, as i32: 0xF0F0F0F0."""
GROUPED_ROWS: Final = 6
"""Rows of a tile at most where groups are scaled: sums of all groups take registers beside those of one."""
FEW_ROWS: Final = 4
"""Rows below which a second accumulator hides the latency of additions."""

_Tile = Callable[[LoopBuilder, Index, int, Index, int], list[SSAValue]]
"""Rows of results of a tile: of its first row, height, first column and width."""


def quantized_product_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a linear layer with quantized weights."""
    found = kernel_quantized_operands(host.symbols, kernel)
    outside = kernel.outside()
    columns, inner = found.weights.shape
    rows = product(shape_of(found.op.results[0])[:-1])
    most = host.most(rows)
    by_bytes = found.activation is not None
    tile = integer_tile_rows(most, host) if by_bytes else tile_rows(most, host)
    if found.group < inner:
        tile = min(tile, GROUPED_ROWS)
    panel = host.panel(PANEL, bytes=by_bytes)
    sizes = in_panels(Sizes(1, rows, inner, columns, tile, panel_columns(host), most), panel)
    bias: SSAValue | None = found.op.arg("bias")
    epilogue = Epilogue(
        kernel,
        found.op,
        rows,
        columns,
        lambda b, total, values: total if bias is None else add(b, total, values[bias]),
        [] if bias is None else [bias],
    )
    if found.activation is None:
        left = [Operand(host.buffer(outside[found.op.arg("input")]), [rows, inner])]
    else:
        host.multiplies_bytes = True
        stored, *numbers = (host.buffer(outside[one]) for one in found.activation.operands)
        left = [Operand(stored, [product((rows, inner))]), *(Operand(one, [rows]) for one in numbers)]
    right = [_packed(host, found, panel), _columns(host, _scales(found), panel)]
    if by_bytes:
        right.append(_columns(host, found.sums, panel))
    result = Operand(host.buffer(kernel.outputs[0]), [rows, columns])

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        read, y = buffers[: len(left) + len(right)], buffers[-1]
        epilogue.bind(buffers[len(read) : -1])
        count = b.dim(y, 0)
        compute: _Tile = _Bytes(b, found, read, count).rows if by_bytes else _Floats(found, *read).rows

        def visit(start: Index, end: Index, column: Index, width: int, mask: SSAValue | None) -> None:
            def one(row: Index, height: int) -> None:
                for place, total in enumerate(compute(b, row, height, column, width)):
                    epilogue.store_row(b, total, y, [b.add(row, place), column], mask)

            visit_rows(b, start, end, tile, one, any_number=not isinstance(rows, int))

        shared_rows(b, sizes, count, b.dim(y, 1), visit)

    operands = [*left, *right, *epilogue.operands(host), result]
    host.call("quantized_product", operands, build)


@dataclass(frozen=True)
class _Floats:
    """Products of rows of floats with weights of `found`."""

    found: QuantizedOperands
    x: SSAValue
    w: SSAValue
    scales: SSAValue

    def rows(self, b: LoopBuilder, row: Index, height: int, column: Index, width: int) -> list[SSAValue]:
        """Rows of a tile of the product."""
        type = vector_of(height, width)

        def scale(total: SSAValue, group: Index, before: SSAValue | None) -> SSAValue:
            scales = b.broadcast(b.panels(self.scales, column, [group], width), type)
            if before is None:
                return b.value(arith.MulfOp(total, scales))
            return b.value(vector.FMAOp(total, scales, before))

        def group(start: Index) -> SSAValue:
            return self._group(b, row, height, column, width, start)

        groups = self.found.weights.shape[1] // self.found.group
        if groups == 1:
            made = scale(group(0), 0, None)
        else:
            with b.for_(0, groups, 1, [b.splat(0.0, type)]) as loop:
                total = group(b.mul(loop.index, self.found.group))
                loop.next = [scale(total, loop.index, loop.args[0])]
            made = loop.results[0]
        return [b.value(vector.ExtractOp(made, [place], vector_of(width))) for place in range(height)]

    def _group(
        self, b: LoopBuilder, row: Index, height: int, column: Index, width: int, start: Index
    ) -> SSAValue:
        """Sums of a group of the shared dimension, which starts at a place, before they are scaled."""
        length, nibbles = self.found.group, self.found.has_nibbles
        few = height < FEW_ROWS and length % 2 == 0
        steps = 2 if nibbles or few else 1
        zero = b.splat(0.0, vector_of(height, width))
        with b.for_(0, length, steps, [zero] * (2 if few else 1)) as loop:
            place = b.add(start, loop.index)
            places = [b.add(place, number) for number in range(steps)]
            if nibbles:
                weights = _halves(b, b.panels(self.w, column, [b.quotient(place, 2)], width))
            else:
                weights = [b.convert("sext", b.panels(self.w, column, [at], width), i32) for at in places]
            totals = list(loop.args)
            for number, (at, one) in enumerate(zip(places, weights, strict=True)):
                left = b.column(self.x, [row, at], 0, 1, vector_of(height))
                which = number % len(totals)
                totals[which] = b.outer_product(left, b.convert("sitofp", one, f32), totals[which])
            loop.next = totals
        total, *others = loop.results
        for other in others:
            total = add(b, total, other)
        return total


def _halves(b: LoopBuilder, bytes: SSAValue) -> list[SSAValue]:
    """The low and the high halves of bytes, as numbers with a sign, i32."""
    wide = b.convert("sext", bytes, i32)
    up = b.value(arith.ShLIOp(wide, b.number(32 - NIBBLE, wide.type)))
    low = b.value(arith.ShRSIOp(up, b.number(32 - NIBBLE, wide.type)))
    return [low, b.value(arith.ShRSIOp(wide, b.number(NIBBLE, wide.type)))]


class _Bytes:
    """Products of rows of bytes, each row with a scale and a zero point, with weights of `found`."""

    def __init__(self, b: LoopBuilder, found: QuantizedOperands, read: Sequence[SSAValue], rows: Index):
        x, self._row_scales, self._points, self._w, self._scales, self._sums = read
        self._found = found
        self._x = b.quads(x, [rows, found.weights.shape[1] // QUAD])

    def rows(self, b: LoopBuilder, row: Index, height: int, column: Index, width: int) -> list[SSAValue]:
        """Rows of a tile of the product."""
        type = vector_of(width)
        groups = self._found.weights.shape[1] // self._found.group

        def scaled(group: Index, before: Sequence[SSAValue]) -> list[SSAValue]:
            scales = b.panels(self._scales, column, [group], width)
            start = b.mul(group, self._found.group // QUAD)
            sums = self._group(b, row, height, column, width, start)
            floats = [b.convert("sitofp", one, f32) for one in sums]
            return [
                b.value(vector.FMAOp(one, scales, other)) for one, other in zip(floats, before, strict=True)
            ]

        zeros = [b.splat(0.0, type)] * height
        if groups == 1:
            totals = scaled(0, zeros)
        else:
            with b.for_(0, groups, 1, zeros) as loop:
                loop.next = scaled(loop.index, loop.args)
            totals = list(loop.results)
        sums = b.panels(self._sums, column, [0], width)
        return [self._restored(b, total, sums, b.add(row, place)) for place, total in enumerate(totals)]

    def _restored(self, b: LoopBuilder, total: SSAValue, sums: SSAValue, row: Index) -> SSAValue:
        """A row of the product in floats."""
        type = vector_type(total)
        point = b.broadcast(b.element(self._points, [row]), type)
        scale = b.broadcast(b.element(self._row_scales, [row]), type)
        moved = b.value(arith.SubfOp(total, b.value(arith.MulfOp(point, sums))))
        return b.value(arith.MulfOp(moved, scale))

    def _group(
        self, b: LoopBuilder, row: Index, height: int, column: Index, width: int, start: Index
    ) -> list[SSAValue]:
        """i32 sums of a group, which starts at a quad: times 16 where weights have four bits."""
        steps = 2 if self._found.has_nibbles else 1
        type = vector_of(width, element=i32)
        with b.for_(0, self._found.group // QUAD, steps, [b.splat(0, type)] * height) as loop:
            place = b.add(start, loop.index)
            right = [b.panels(self._w, column, [b.quotient(place, steps)], width)]
            if self._found.has_nibbles:
                high = b.splat(HIGH, type)
                up = b.value(arith.ShLIOp(right[0], b.number(NIBBLE, type)))
                right = [b.value(arith.AndIOp(one, high)) for one in (up, right[0])]
            totals = list(loop.args)
            for number, weights in enumerate(right):
                quad = b.add(place, number)
                for at in range(height):
                    left = b.broadcast(b.element(self._x, [b.add(row, at), quad]), type)
                    totals[at] = b.dot(left, weights, totals[at])
            loop.next = totals
        return list(loop.results)


def _scales(found: QuantizedOperands) -> Array:
    """Scales of sums: those of bytes by halves of bytes are 16 times as large as they should be."""
    by_halves = found.has_nibbles and found.activation is not None
    return found.scales * np.float32(2.0**-NIBBLE) if by_halves else found.scales


def _columns(host: Host, numbers: Array, panel: int) -> Operand:
    """f32 of each column, maybe of each group, in panels as the weights are: `[panel][group][16]`."""
    rows = numbers.reshape(-1, numbers.shape[-1])
    return Operand(
        panels_of(host, rows, panel), [-(-rows.shape[1] // panel), rows.shape[0], panel], fixed=[2]
    )


def _packed(host: Host, found: QuantizedOperands, panel: int) -> Operand:
    """Panels of the weights, as a kernel takes them."""
    columns, inner = found.weights.shape
    panels = -(-columns // panel)
    by_bytes = found.activation is not None
    # Neighbors of the shared dimension that follow each other in a lane.
    lane = QUAD if by_bytes else 1
    halves = 2 if found.has_nibbles else 1

    def pack() -> Array:
        whole = np.zeros((panels * panel, inner), np.int8)
        whole[:columns] = found.weights
        held = whole.reshape(panels, panel, inner // lane, lane).transpose(0, 2, 1, 3)
        if halves == 1:
            return held
        low, high = held[:, ::2], held[:, 1::2]
        return (low & 15) | (high << NIBBLE)

    blob = host.packed(found.weights, f"{lane} in a lane of {panel}, {halves} to a byte", pack)
    element: Attribute = i32 if by_bytes else i8
    depth = inner // lane // halves
    return Operand(host.constant(blob, panels * depth * panel, element), [panels, depth, panel], fixed=[2])
