"""Product kernels: register tiles of the result, accumulated over the shared dimension, with fused arithmetic.

The loop structure is that of Goto and van de Geijn (Anatomy of High-Performance Matrix Multiplication, 2008): a tile of
rows by panels of the result stays in registers while columns of the left and rows of the right matrix stream by. A
constant right matrix is packed in panels of 16 columns when the program is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np
from xdsl.dialects import vector
from xdsl.ir import SSAValue

from et_ir.backends.native.kernels.host import Host, Operand
from et_ir.backends.native.kernels.pointwise_rules import evaluate, operator_name
from et_ir.backends.native.loop_builder import Index, LoopBuilder, vector_of
from et_ir.data import Blob
from et_ir.dialects.native import KernelOp, YieldOp
from et_ir.dialects.native.types import vector_type
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["PANEL", "product_kernel"]

PANEL: Final = 16
"""Columns of a packed panel: one vector of AVX-512, two of AVX2, four of NEON."""

BLOCK_ROWS: Final = 96
"""Rows that a thread computes of all panels before the next: their part of the left matrix stays in the L2 cache."""


@dataclass(frozen=True)
class _Shape:
    """A batch of products of matrices of `rows` by `inner` and `inner` by `columns`."""

    batch: int
    rows: int
    inner: int
    columns: int


class _Product:
    """Anchor of a kernel: its operands, and whether the right matrix is stored by columns."""

    def __init__(self, op: SchemaOp):
        self.op = op
        name = operator_name(op)
        result = tensor_type(op.results[0]).get_shape()
        match name:
            case "mm" | "bmm":
                self.left, self.right = op.operands
                self.bias: SSAValue | None = None
            case "addmm":
                self.bias, self.left, self.right = op.operands
            case "linear":
                self.left, self.right = op.arg("input"), op.arg("weight")
                self.bias = op.arg("bias")
            case _:
                raise ValueError(f"no product: {name}")
        self.by_columns = name == "linear"
        inner = tensor_type(self.left).get_shape()[-1]
        batch = result[0] if name == "bmm" else 1
        self.shape = _Shape(batch, prod(result) // max(batch * result[-1], 1), inner, result[-1])


def product_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a product of matrices."""
    body = kernel.body.block
    last = body.last_op
    assert isinstance(last, YieldOp)
    (yielded,) = last.operands
    anchor, *epilogue = [op for op in body.ops if isinstance(op, SchemaOp)]
    product = _Product(anchor)
    shape = product.shape
    outside = dict(zip(body.args, kernel.inputs, strict=True))
    packed = _packed(host, outside[product.right], product)
    if packed is not None:
        right = Operand(packed, [-(-shape.columns // PANEL), shape.inner, PANEL], fixed=[2])
    else:
        right = Operand(host.buffer(outside[product.right]), [shape.batch, shape.inner, shape.columns])
    left = Operand(host.buffer(outside[product.left]), [shape.batch * shape.rows, shape.inner])
    # The left matrix may be an operand of fused ops too.
    beside = {operand for op in epilogue for operand in op.operands} | {product.bias}
    extra = [value for value in body.args if value in beside]
    extra_operands = [_epilogue_operand(host, outside[value], shape) for value in extra]
    result = Operand(host.buffer(kernel.outputs[0]), [shape.batch * shape.rows, shape.columns])
    tile = _tile_rows(shape.rows, host)
    panels = 2 if host.lanes == PANEL else 1

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, w, *others, y = buffers
        given = dict(zip(extra, others, strict=True))
        _Builder(b, product, tile, panels, packed is not None, x, w, y, given, epilogue, yielded).build()

    host.call("product", [left, right, *extra_operands, result], build)


class _Builder:
    """The loops of one product kernel."""

    def __init__(
        self,
        b: LoopBuilder,
        product: _Product,
        tile: int,
        panels: int,
        packed: bool,
        x: SSAValue,
        w: SSAValue,
        y: SSAValue,
        others: dict[SSAValue, SSAValue],
        epilogue: Sequence[SchemaOp],
        yielded: SSAValue,
    ):
        self.b, self.product, self.shape = b, product, product.shape
        self.tile, self.panels, self.packed = tile, panels, packed
        self.x, self.w, self.y, self.others = x, w, y, others
        self.epilogue, self.yielded = epilogue, yielded

    def build(self) -> None:
        b, shape = self.b, self.shape
        columns = b.dim(self.y, 1)
        width = PANEL * self.panels
        whole = b.multiple_below(columns, width)
        if shape.batch > 1:
            # One product after the other; threads share the batch.
            rows = b.quotient(b.dim(self.x, 0), b.dim(self.w, 0))
            with b.parallel(b.dim(self.w, 0)) as number:
                start = b.mul(number, rows)
                self._panels(start, b.add(start, rows), whole, columns, number)
        elif shape.rows >= 2 * BLOCK_ROWS:
            rows = b.dim(self.x, 0)
            block = -(-BLOCK_ROWS // self.tile) * self.tile
            with b.parallel(rows, block) as start:
                self._panels(start, b.min(b.add(start, block), rows), whole, columns, 0)
        else:
            rows = b.dim(self.x, 0)
            with b.parallel(whole, width) as column:
                self._rows(0, rows, column, self.panels, None, 0)
            if shape.columns % width:
                # All threads would compute the rest: a loop of one iteration gives it to one.
                with b.parallel(1):
                    self._rest(0, rows, whole, columns, 0)

    def _panels(self, start: Index, end: Index, whole: Index, columns: Index, number: Index) -> None:
        """All columns of the rows from `start` to `end`."""
        with self.b.for_(0, whole, PANEL * self.panels) as loop:
            self._rows(start, end, loop.index, self.panels, None, number)
        if self.shape.columns % (PANEL * self.panels):
            self._rest(start, end, whole, columns, number)

    def _rest(self, start: Index, end: Index, whole: Index, columns: Index, number: Index) -> None:
        """The columns after the last group of panels."""
        b, left = self.b, self.shape.columns % (PANEL * self.panels)
        column = whole
        for _ in range(left // PANEL):
            self._rows(start, end, column, 1, None, number)
            column = b.add(column, PANEL)
        if left % PANEL:
            self._rows(start, end, column, 1, b.mask(b.sub(columns, column), PANEL), number)

    def _rows(
        self, start: Index, end: Index, column: Index, panels: int, mask: SSAValue | None, number: Index
    ) -> None:
        """Tiles of the rows from `start` to `end`. The last ends with them, and may repeat rows of the one before."""
        b = self.b
        last = b.sub(end, self.tile)
        with b.for_(start, end, self.tile) as loop:
            self._tile(b.min(loop.index, last), column, panels, mask, number)

    def _tile(self, row: Index, column: Index, panels: int, mask: SSAValue | None, number: Index) -> None:
        b, width = self.b, PANEL * panels
        zero = b.splat(0.0, vector_of(self.tile, width))
        first = b.quotient(column, PANEL)
        with b.for_(0, b.dim(self.x, 1), 1, [zero]) as loop:
            a = b.column(self.x, [row, loop.index], 0, 1, vector_of(self.tile))
            if self.packed:
                right = b.concat(
                    [
                        b.load(self.w, [b.add(first, panel), loop.index, 0], vector_of(PANEL))
                        for panel in range(panels)
                    ]
                )
            else:
                right = self._load(self.w, [number, loop.index, column], mask, width)
            loop.next = [b.outer_product(a, right, loop.args[0])]
        (total,) = loop.results
        if mask is None:
            b.store(self._finished(total, [row, column]), self.y, [row, column])
            return
        for place in range(self.tile):
            here = [b.add(row, place), column]
            value = b.value(vector.ExtractOp(total, [place], vector_of(width)))
            b.masked_store(self._finished(value, here, mask), self.y, here, mask)

    def _load(self, base: SSAValue, at: Sequence[Index], mask: SSAValue | None, width: int) -> SSAValue:
        type = vector_of(width)
        if mask is None:
            return self.b.load(base, at, type)
        return self.b.masked_load(base, at, mask, self.b.splat(0.0, type))

    def _finished(self, total: SSAValue, at: Sequence[Index], mask: SSAValue | None = None) -> SSAValue:
        """What the fused ops make of the elements of the product at a place."""
        b, type = self.b, total.type
        values: dict[SSAValue, SSAValue] = {}
        for value, buffer in self.others.items():
            values[value] = self._operand(buffer, at, mask, total)
        product = self.product
        if product.bias is not None:
            from et_ir.backends.native.kernels.pointwise_rules import add, mul

            bias = values[product.bias]
            if operator_name(product.op) == "addmm":
                alpha, beta = float(product.op.arg("alpha")), float(product.op.arg("beta"))
                total = total if alpha == 1 else mul(b, total, b.number(alpha, type))
                bias = bias if beta == 1 else mul(b, bias, b.number(beta, type))
            total = add(b, total, bias)
        values[product.op.results[0]] = total
        return evaluate(b, self.epilogue, values)[self.yielded]

    def _operand(
        self, buffer: SSAValue, at: Sequence[Index], mask: SSAValue | None, like: SSAValue
    ) -> SSAValue:
        """Elements of another operand for a tile, or for a row of it."""
        from xdsl.dialects.builtin import MemRefType

        b, memory, type = self.b, buffer.type, like.type
        assert isinstance(memory, MemRefType)
        width = vector_type(like).get_shape()[-1]
        match memory.get_num_dims():
            case 0:
                return b.broadcast(b.element(buffer, []), type)  # pyright: ignore[reportArgumentType]
            case 1:
                return b.broadcast(self._load(buffer, [at[1]], mask, width), type)  # pyright: ignore[reportArgumentType]
            case _ if mask is None:
                return b.load(buffer, at, type)  # pyright: ignore[reportArgumentType]
            case _:
                return self._load(buffer, at, mask, width)


def _epilogue_operand(host: Host, value: SSAValue, shape: _Shape) -> Operand:
    """An operand of fused ops: of all elements, of one for each column, or of one."""
    count = prod(tensor_type(value).get_shape())
    buffer = host.buffer(value)
    if count == shape.batch * shape.rows * shape.columns and count != shape.columns:
        return Operand(buffer, [shape.batch * shape.rows, shape.columns])
    return Operand(buffer, [shape.columns] if count == shape.columns else [])


def _packed(host: Host, value: SSAValue, product: _Product) -> SSAValue | None:
    """The panels of a constant right matrix, padded with zeros; None for one that is no constant."""
    symbol = host.symbols.constant_of(value)
    if symbol is None or symbol.value is None:
        return None
    sizes = tensor_type(value).get_shape()
    if len(sizes) != 2:
        return None
    array = np.frombuffer(symbol.value.blob.view(), np.float32).reshape(sizes)
    matrix = array.T if product.by_columns else array
    inner, columns = matrix.shape
    panels = -(-columns // PANEL)
    packed = np.zeros((panels, inner, PANEL), np.float32)
    whole = columns // PANEL
    packed[:whole] = matrix[:, : whole * PANEL].reshape(inner, whole, PANEL).transpose(1, 0, 2)
    if columns % PANEL:
        packed[whole, :, : columns % PANEL] = matrix[:, whole * PANEL :]
    blob = Blob.of("packed", packed.reshape(-1).view(np.uint8).data)
    return host.constant(blob, packed.size)


def _tile_rows(rows: int, host: Host) -> int:
    """Rows of a tile: of those that the registers hold, the one that computes the fewest rows twice."""
    most = 12 if host.registers == 32 and host.lanes == PANEL else 6
    # Below four rows the latency of additions shows; loads of the right matrix weigh half a row.
    return min(
        range(1, min(most, rows) + 1), key=lambda tile: (-(-rows // tile) * (max(tile, 4) + 0.5), -tile)
    )
