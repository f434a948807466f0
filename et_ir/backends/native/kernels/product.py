"""Product kernels: register tiles of the result, accumulated over the shared dimension, with fused arithmetic.

The loop structure is that of Goto and van de Geijn (Anatomy of High-Performance Matrix Multiplication, 2008): a tile of
rows by panels of the result stays in registers while columns of the left and rows of the right matrix stream by. A
constant right matrix is packed in panels of 16 columns when the program is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.ir import SSAValue

from et_ir.backends.native.kernels.epilogue import Epilogue
from et_ir.backends.native.kernels.host import Host, Operand
from et_ir.backends.native.kernels.panels import (
    PANEL,
    constant_array,
    panel_columns,
    panels_of,
    tile_rows,
)
from et_ir.backends.native.kernels.pointwise_rules import add, anchor_of, mul, operator_name
from et_ir.backends.native.kernels.row_tiles import visit_rows
from et_ir.backends.native.loop_builder import Index, LoopBuilder, vector_of
from et_ir.backends.native.sizes import Size, product, shape_of
from et_ir.dialects.native import KernelOp
from et_ir.dialects.schema import SchemaOp

__all__ = ["build_product", "column_groups", "packed_operand", "product_kernel"]

BLOCK_ROWS: Final = 96
"""Rows that a thread computes of all panels before the next: their part of the left matrix stays in the L2 cache."""


@dataclass(frozen=True)
class Sizes:
    """A batch of products of matrices of `rows` by `inner` and `inner` by `columns`, and the tile of results."""

    batch: Size
    rows: Size
    inner: Size
    columns: Size
    tile_rows: int
    tile_columns: int
    most_rows: int = 0
    """Rows that there may be at most, where their number is not known."""

    @property
    def many_rows(self) -> bool:
        """Whether threads share blocks of rows, and not the columns."""
        return (self.rows if isinstance(self.rows, int) else self.most_rows) >= 2 * BLOCK_ROWS


class _Anchor:
    """The product of a kernel: its operands, and whether the right matrix is stored by columns."""

    def __init__(self, op: SchemaOp):
        self.op = op
        self.name = operator_name(op)
        self.bias: SSAValue | None = None
        match self.name:
            case "mm" | "bmm":
                self.left, self.right = op.operands
            case "addmm":
                self.bias, self.left, self.right = op.operands
            case "linear":
                self.left, self.right = op.arg("input"), op.arg("weight")
                self.bias = op.arg("bias")
            case _:
                raise ValueError(f"no product: {self.name}")
        self.by_columns = self.name == "linear"

    def sizes(self, host: Host) -> Sizes:
        result = shape_of(self.op.results[0])
        batch, rows = (result[0], result[1]) if self.name == "bmm" else (1, product(result[:-1]))
        inner = shape_of(self.left)[-1]
        most = host.most(rows)
        tile = tile_rows(most, host)
        return Sizes(batch, rows, inner, result[-1], tile, panel_columns(host), most)

    def tail(self, b: LoopBuilder, total: SSAValue, values: Mapping[SSAValue, SSAValue]) -> SSAValue:
        """The product and its bias, scaled."""
        if self.bias is None:
            return total
        bias = values[self.bias]
        if self.name == "addmm":
            alpha, beta = float(self.op.arg("alpha")), float(self.op.arg("beta"))
            total = total if alpha == 1 else mul(b, total, b.number(alpha, total.type))
            bias = bias if beta == 1 else mul(b, bias, b.number(beta, bias.type))
        return add(b, total, bias)


def product_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a product of matrices."""
    anchor = _Anchor(anchor_of(kernel))
    sizes = anchor.sizes(host)
    outside = kernel.outside()
    matrix = constant_array(host, outside[anchor.right])
    if matrix is not None and matrix.ndim == 2:
        right = packed_operand(panels_of(host, matrix.T if anchor.by_columns else matrix), sizes)
    else:
        right = Operand(host.buffer(outside[anchor.right]), [sizes.batch, sizes.inner, sizes.columns])
    rows = product((sizes.batch, sizes.rows))
    left = Operand(host.buffer(outside[anchor.left]), [rows, sizes.inner])
    tail_operands = [] if anchor.bias is None else [anchor.bias]
    epilogue = Epilogue(kernel, anchor.op, rows, sizes.columns, anchor.tail, tail_operands)
    result = Operand(host.buffer(kernel.outputs[0]), [rows, sizes.columns])

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, w, *others, y = buffers
        epilogue.bind(others)
        build_product(b, sizes, epilogue, x, w, y)

    host.call("product", [left, right, *epilogue.operands(host), result], build)


def packed_operand(panels: SSAValue, sizes: Sizes) -> Operand:
    """Panels of a right matrix, as a kernel takes them."""
    assert isinstance(sizes.columns, int)
    return Operand(panels, [-(-sizes.columns // PANEL), sizes.inner, PANEL], fixed=[2])


def build_product(
    b: LoopBuilder, sizes: Sizes, epilogue: Epilogue, x: SSAValue, w: SSAValue, y: SSAValue
) -> None:
    """Loops of a product of `x`, `[row][inner]`, with `w`, `[panel][inner][16]` or `[batch][inner][column]`."""
    packed = sizes.batch == 1 and b.static_dim(w, 2) == PANEL
    tile = sizes.tile_rows

    def rows(
        start: Index, end: Index, column: Index, width: int, mask: SSAValue | None, number: Index
    ) -> None:
        """Tiles of the rows from `start` to `end`."""

        def one(row: Index, height: int) -> None:
            at = [row, column]
            total = _accumulate(b, x, w, at, height, width, None if packed else number, mask)
            epilogue.store(b, total, y, at, mask)

        visit_rows(b, start, end, tile, one, any_number=not isinstance(sizes.rows, int))

    def columns(visit: Callable[[Index, int, SSAValue | None], None]) -> None:
        column_groups(b, sizes, b.dim(y, 1), visit)

    count = b.dim(x, 0)
    if sizes.batch != 1:
        each = b.quotient(count, b.dim(w, 0))
        with b.parallel(b.dim(w, 0)) as number:
            start = b.mul(number, each)
            columns(lambda at, width, mask: rows(start, b.add(start, each), at, width, mask, number))
    elif sizes.many_rows:
        block = -(-BLOCK_ROWS // tile) * tile
        with b.parallel(count, block) as first:
            end = b.min(b.add(first, block), count)
            columns(lambda at, width, mask: rows(first, end, at, width, mask, 0))
    elif isinstance(sizes.rows, int) and sizes.rows > tile and isinstance(sizes.columns, int):

        def one_tile(number: Index, column: Index, width: int, mask: SSAValue | None) -> None:
            first = b.mul(number, tile)
            rows(first, b.min(b.add(first, tile), count), column, width, mask, 0)

        _shared_tiles(b, sizes, b.dim(y, 1), b.quotient(b.add(count, tile - 1), tile), one_tile)
    else:
        column_groups(
            b,
            sizes,
            b.dim(y, 1),
            lambda at, width, mask: rows(0, count, at, width, mask, 0),
            shared=True,
        )


def _shared_tiles(
    b: LoopBuilder,
    sizes: Sizes,
    columns: Index,
    tiles: Index,
    visit: Callable[[Index, Index, int, SSAValue | None], None],
) -> None:
    """Visit all tiles of the result: by groups of columns as `column_groups` has them, and in a group by rows.

    Threads share tiles, not groups, of which there may be fewer than threads or a few more. The number of a tile in its
    group is below `tiles`.
    """
    width = sizes.tile_columns
    whole = b.multiple_below(columns, width)
    with b.parallel(b.mul(b.quotient(whole, width), tiles)) as number:
        group = b.quotient(number, tiles)
        visit(b.sub(number, b.mul(group, tiles)), b.mul(group, width), width, None)
    if sizes.columns % width:
        with b.parallel(tiles) as number:
            _last_columns(b, sizes, columns, whole, lambda at, some, mask: visit(number, at, some, mask))


def _last_columns(
    b: LoopBuilder,
    sizes: Sizes,
    columns: Index,
    whole: Index,
    visit: Callable[[Index, int, SSAValue | None], None],
) -> None:
    """Visit panels after whole groups of columns, whose number is known, then what is left with a mask."""
    assert isinstance(sizes.columns, int)
    column, left = whole, sizes.columns % sizes.tile_columns
    for _ in range(left // PANEL):
        visit(column, PANEL, None)
        column = b.add(column, PANEL)
    if left % PANEL:
        visit(column, PANEL, b.mask(b.sub(columns, column), PANEL))


def column_groups(
    b: LoopBuilder,
    sizes: Sizes,
    columns: Index,
    visit: Callable[[Index, int, SSAValue | None], None],
    *,
    shared: bool = False,
) -> None:
    """Visit groups of columns of a tile's width, then panels, then what is left with a mask.

    With `shared`, threads share them.
    """
    width = sizes.tile_columns
    whole = b.multiple_below(columns, width)
    if shared:
        with b.parallel(whole, width) as column:
            visit(column, width, None)
    else:
        with b.for_(0, whole, width) as loop:
            visit(loop.index, width, None)
    left = sizes.columns % width if isinstance(sizes.columns, int) else width

    def rest() -> None:
        if not isinstance(sizes.columns, int):
            some = b.multiple_below(columns, PANEL)
            with b.for_(whole, some, PANEL) as loop:
                visit(loop.index, PANEL, None)
            with b.if_(b.below(some, columns)):
                visit(some, PANEL, b.mask(b.sub(columns, some), PANEL))
            return
        _last_columns(b, sizes, columns, whole, visit)

    if left and shared:
        # One iteration, so that one thread computes it.
        with b.parallel(1):
            rest()
    elif left:
        rest()


def _accumulate(
    b: LoopBuilder,
    x: SSAValue,
    w: SSAValue,
    at: Sequence[Index],
    tile: int,
    width: int,
    number: Index | None,
    mask: SSAValue | None,
) -> SSAValue:
    """A tile of the product: of `x` with panels, or with matrix `number` of a batch."""
    row, column = at
    with b.for_(0, b.dim(x, 1), 1, [b.splat(0.0, vector_of(tile, width))]) as loop:
        left = b.column(x, [row, loop.index], 0, 1, vector_of(tile))
        if number is None:
            right = b.panels(w, column, [loop.index], width)
        else:
            right = b.load_row(w, [number, loop.index, column], mask, width)
        loop.next = [b.outer_product(left, right, loop.args[0])]
    return loop.results[0]
