"""Matrices in buffers, in any order, and their packing into panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.panels import PANEL
from et_backends.codegen.kernels.transposition import BLOCK, transpose_block
from et_backends.codegen.loop_builder import Index, LoopBuilder
from et_backends.codegen.sizes import Size, shape_of
from et_ir.analysis.dim_orders import Order, in_order
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["Matrices", "Packing", "packed_matrices", "rows_or_columns"]


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


@dataclass(frozen=True)
class Packing:
    """Matrices in a buffer that is packed into panels `[panel][row][16]`, padded with zeros.

    Elements are loaded by rows or, if columns follow each other in memory, by blocks that are transposed.
    """

    matrices: Matrices
    source: SSAValue
    """Their buffer."""
    lanes: int
    restored: Callable[[LoopBuilder, Index, Index, SSAValue], SSAValue] | None = None
    """What is packed of a vector of a row, or of a column that follows in memory, of a matrix."""

    @property
    def panels(self) -> int:
        """Of a matrix."""
        return -(-self.matrices.columns // PANEL)

    def pack(
        self,
        b: LoopBuilder,
        target: SSAValue,
        number: Index,
        matrix: Index,
        panel: Index,
        span: tuple[Index, Index] | None = None,
    ) -> None:
        """Write a panel of a matrix to a place in a buffer: all rows, or so many from a multiple of 16 on.

        Of columns that follow in memory, rows are packed up to a multiple of 16 where there are more.
        """
        left = b.mul(panel, PANEL)
        rows = span or (0, _known(self.matrices.rows))

        def pack(width: int) -> None:
            if self.matrices.by_columns:
                self._pack_columns(b, target, number, matrix, left, rows, width)
            else:
                self._pack_rows(b, target, number, matrix, left, rows, width)

        rest = self.matrices.columns % PANEL
        if not rest or self.panels == 1:
            pack(rest or PANEL)
        else:
            with b.if_(b.below(panel, self.panels - 1)) as otherwise:
                pack(PANEL)
                with otherwise():
                    pack(rest)

    def _pack_rows(
        self,
        b: LoopBuilder,
        target: SSAValue,
        number: Index,
        matrix: Index,
        left: Index,
        span: tuple[Index, Index],
        width: int,
    ) -> None:
        first, count = span
        mask = None if width == PANEL else b.mask(width, PANEL)
        with b.for_(0, count) as loop:
            row = b.add(first, loop.index)
            value = b.load_row(self.source, self.matrices.at(b, matrix, row, left), mask, PANEL)
            if self.restored is not None:
                value = self.restored(b, matrix, row, value)
            b.store(value, target, [number, loop.index, 0])

    def _pack_columns(
        self,
        b: LoopBuilder,
        target: SSAValue,
        number: Index,
        matrix: Index,
        left: Index,
        span: tuple[Index, Index],
        width: int,
    ) -> None:
        first, count = span

        def here(column: Index, row: Index) -> list[Index]:
            return self.matrices.at(b, matrix, b.add(first, row), b.add(left, column))

        def there(column: Index, row: Index) -> list[Index]:
            return [number, row, column]

        def restored(column: Index, value: SSAValue) -> SSAValue:
            if self.restored is None:
                return value
            return self.restored(b, matrix, b.add(left, column), value)

        def block(row: Index, height: int) -> None:
            transpose_block(
                b,
                self.lanes,
                (self.source, here),
                (target, there),
                (0, row),
                (width, height),
                pad=True,
                loaded=restored,
            )

        rest = _known(self.matrices.rows) % BLOCK
        if isinstance(count, int):
            whole = count // BLOCK * BLOCK
            if whole:
                with b.for_(0, whole, BLOCK) as loop:
                    block(loop.index, BLOCK)
            if count > whole:
                block(whole, count - whole)
            return
        with b.for_(0, count, BLOCK) as loop:
            if not rest:
                block(loop.index, BLOCK)
            else:
                end = b.add(b.add(first, loop.index), BLOCK)
                with b.if_(b.at_least(_known(self.matrices.rows), end)) as otherwise:
                    block(loop.index, BLOCK)
                    with otherwise():
                        block(loop.index, rest)


def packed_matrices(
    host: Host,
    matrices: Matrices,
    scales: Operand | None = None,
    restored: Callable[[SSAValue, LoopBuilder, Index, Index, SSAValue], SSAValue] | None = None,
) -> SSAValue:
    """A buffer with the panels of matrices, one after the other, which a kernel writes. All sizes are known.

    With `scales`, what is packed is what `restored` makes of vectors and of that buffer, as for `Packing`.
    """
    panels = -(-matrices.columns // PANEL)
    shape = [matrices.count * panels, _known(matrices.rows), PANEL]
    packed = host.scratch(prod(shape))

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        source, *others, target = buffers

        def scaled(b: LoopBuilder, matrix: Index, place: Index, value: SSAValue) -> SSAValue:
            assert restored is not None
            return restored(others[0], b, matrix, place, value)

        packing = Packing(matrices, source, host.lanes, scaled if others else None)
        with b.parallel(shape[0]) as number:
            packing.pack(b, target, number, b.quotient(number, panels), b.remainder(number, panels))

    beside = [] if scales is None else [scales]
    host.call("pack", [matrices.operand(host), *beside, Operand(packed, shape, fixed=[0, 1, 2])], build)
    return packed
