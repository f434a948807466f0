"""Matrices in buffers, in any order, and their packing into panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from et_ir.analysis.dim_orders import Order, in_order
from et_ir.codegen.kernels.host import Host, Operand
from et_ir.codegen.kernels.panels import PANEL
from et_ir.codegen.kernels.transposition import BLOCK, transpose_block
from et_ir.codegen.loop_builder import Index, LoopBuilder
from et_ir.codegen.sizes import Size, shape_of
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["Matrices", "packed_matrices", "rows_or_columns"]


@dataclass(frozen=True)
class Matrices:
    """Matrices of the last two dimensions of a tensor, one for each place of those before."""

    value: SSAValue
    shape: tuple[Size, ...]
    """Only the number of rows may be known at run time only."""
    order: Order

    @staticmethod
    def of(value: SSAValue) -> Matrices:
        """Those of a value outside of kernels, whose type says its order in memory."""
        type = tensor_type(value)
        return Matrices(value, shape_of(value), dim_order_of(type))

    @property
    def batch(self) -> list[int]:
        """The sizes of the dimensions before those of matrices."""
        return [_known(size) for size in self.shape[:-2]]

    @property
    def count(self) -> int:
        return prod(self.batch)

    @property
    def rows(self) -> Size:
        return self.shape[-2]

    @property
    def columns(self) -> int:
        return _known(self.shape[-1])

    @property
    def innermost(self) -> int:
        """The dimension whose elements follow each other in memory."""
        return next((dim for dim in reversed(self.order) if self.shape[dim] != 1), len(self.shape) - 1)

    @property
    def by_columns(self) -> bool:
        """Whether columns, and not rows, follow each other in memory."""
        return self.innermost == len(self.shape) - 2

    @property
    def is_contiguous(self) -> bool:
        """Whether matrices follow each other in memory, and rows in them."""
        places = [dim for dim in self.order if self.shape[dim] != 1]
        return places == sorted(places)

    def operand(self, host: Host) -> Operand:
        """The buffer, with its dimensions in the order of memory and all sizes known."""
        sizes = in_order(self.shape, self.order)
        return Operand(host.buffer(self.value), sizes, fixed=range(len(sizes)))

    def at(self, b: LoopBuilder, number: Index, row: Index, column: Index) -> list[Index]:
        """Indices of an element of a matrix, in the buffer."""
        places: list[Index] = []
        batch = self.batch
        for size in reversed(batch[1:]):
            places.append(b.remainder(number, size) if size > 1 else 0)
            number = b.quotient(number, size)
        if batch:
            places.append(number if batch[0] > 1 else 0)
        logical = [*reversed(places), row, column]
        return [logical[dim] for dim in self.order]


def _known(size: Size) -> int:
    assert isinstance(size, int)
    return size


def rows_or_columns(value: SSAValue, order: Order) -> bool:
    """Whether elements of rows or of columns follow each other in an order, so that vectors can be loaded."""
    shape = tuple(tensor_type(value).get_shape())
    return Matrices(value, shape, order).innermost >= len(shape) - 2


def packed_matrices(host: Host, matrices: Matrices) -> SSAValue:
    """A buffer with the panels of matrices, `[matrix][panel][row][16]`, padded with zeros, which a kernel writes.

    All sizes are known. Matrices are packed by rows or, if columns follow each other in memory, by blocks that are
    transposed.
    """
    panels = -(-matrices.columns // PANEL)
    shape = [matrices.count * panels, _known(matrices.rows), PANEL]
    packed = host.scratch(prod(shape))

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        source, target = buffers
        with b.parallel(shape[0]) as number:
            matrix, panel = b.quotient(number, panels), b.remainder(number, panels)
            left = b.mul(panel, PANEL)

            def pack(width: int) -> None:
                if matrices.by_columns:
                    _pack_columns(b, host.lanes, matrices, source, target, number, matrix, left, width)
                else:
                    _pack_rows(b, matrices, source, target, number, matrix, left, width)

            rest = matrices.columns % PANEL
            if not rest or panels == 1:
                pack(rest or PANEL)
            else:
                with b.if_(b.below(panel, panels - 1)) as otherwise:
                    pack(PANEL)
                    with otherwise():
                        pack(rest)

    host.call("pack", [matrices.operand(host), Operand(packed, shape, fixed=[0, 1, 2])], build)
    return packed


def _pack_rows(
    b: LoopBuilder,
    matrices: Matrices,
    source: SSAValue,
    target: SSAValue,
    number: Index,
    matrix: Index,
    left: Index,
    width: int,
) -> None:
    mask = None if width == PANEL else b.mask(width, PANEL)
    with b.for_(0, _known(matrices.rows)) as row:
        value = b.load_row(source, matrices.at(b, matrix, row.index, left), mask, PANEL)
        b.store(value, target, [number, row.index, 0])


def _pack_columns(
    b: LoopBuilder,
    lanes: int,
    matrices: Matrices,
    source: SSAValue,
    target: SSAValue,
    number: Index,
    matrix: Index,
    left: Index,
    width: int,
) -> None:
    def here(column: Index, row: Index) -> list[Index]:
        return matrices.at(b, matrix, row, b.add(left, column))

    def there(column: Index, row: Index) -> list[Index]:
        return [number, row, column]

    def block(row: Index, height: int) -> None:
        transpose_block(b, lanes, (source, here), (target, there), (0, row), (width, height), pad=True)

    rows = _known(matrices.rows)
    whole = rows // BLOCK * BLOCK
    if whole:
        with b.for_(0, whole, BLOCK) as loop:
            block(loop.index, BLOCK)
    if rows > whole:
        block(whole, rows - whole)
