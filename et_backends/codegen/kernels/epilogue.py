"""Epilogues: bias, and the pointwise ops that are computed on a tile of results while it is in registers.

Results are rows of as many columns: of a product of matrices, or of the pixels of an image by its channels.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from et_backends.codegen.dialect import KernelOp, YieldOp
from et_backends.codegen.dialect.types import memref_type, vector_type
from et_backends.codegen.elements import element_of, in_registers
from et_backends.codegen.kernels.host import Host, Operand, code_of_ops
from et_backends.codegen.kernels.pointwise_rules import FUNCTIONS, add, evaluate, operator_name
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_backends.codegen.sizes import Size, count_of, product, shape_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor

__all__ = ["Epilogue", "Tail", "convolution_epilogue", "fits_tiles"]

LOOPED_ROWS: Final = 4
"""Rows of a tile from which on they may be finished in a loop."""

Tail = Callable[[LoopBuilder, SSAValue, Mapping[SSAValue, SSAValue]], SSAValue]
"""Arithmetic of the anchor itself on what its loops have accumulated, such as adding a bias."""


@dataclass
class Epilogue:
    """The computation of a kernel on the results of its anchor."""

    kernel: KernelOp
    anchor: SchemaOp
    rows: Size
    columns: Size
    tail: Tail = lambda _, total, __: total
    tail_operands: Sequence[SSAValue] = ()
    """The operands of the anchor that `tail` reads, as values in the body."""
    absorbed: Sequence[SchemaOp] = ()
    """The ops after the anchor that `tail` computes too: a chain, of which others read the last result only."""
    row_sizes: Sequence[Size] = ()
    """The sizes of the dimensions that rows are of, for kernels that have an index for each of these."""
    _buffers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    @property
    def _values(self) -> list[SSAValue]:
        """The arguments of the body that are read, apart from the anchor's own."""
        read = {operand for op in self._ops for operand in op.operands} | set(self.tail_operands)
        return [value for value in self.kernel.body.block.args if value in read and is_tensor(value.type)]

    @property
    def _ops(self) -> list[SchemaOp]:
        """The ops that are computed of the anchor's results, and of nothing before it."""
        return [
            op
            for op in self.kernel.body.block.ops
            if isinstance(op, SchemaOp)
            and op is not self.anchor
            and op not in self.absorbed
            and any(use.operation is not self.anchor for result in op.results for use in result.uses)
        ]

    @property
    def is_long(self) -> bool:
        """Whether it is tens of instructions for each vector."""
        return any(operator_name(op) in FUNCTIONS for op in self._ops)

    @property
    def code(self) -> Hashable | None:
        """A key of the code of the epilogue, complete but for its buffers; None where the tail stands for other ops."""
        if self.absorbed:
            return None
        given: list[SSAValue] = [*self.kernel.body.block.args, *self.anchor.results]
        last = self.kernel.body.block.last_op
        assert last is not None
        tail = tuple(given.index(value) for value in self.tail_operands)
        return tail, tuple(map(given.index, self._values)), code_of_ops([*self._ops, last], given)

    def operands(self, host: Host) -> list[Operand]:
        """Buffers that the epilogue reads: of all elements, of one for each column, or of one."""
        outside = self.kernel.outside()
        found: list[Operand] = []
        for value in self._values:
            count = count_of(value)
            buffer = host.buffer(outside[value])
            if count == self.columns:
                found.append(Operand(buffer, [self.columns]))
            elif count == product((self.rows, self.columns)):
                found.append(Operand(buffer, [*(self.row_sizes or [self.rows]), self.columns]))
            elif count == 1:
                found.append(Operand(buffer, []))
            else:
                raise AssertionError(f"tiles read no operand of type {value.type}: see fits_tiles")
        return found

    def bind(self, buffers: Sequence[SSAValue]) -> None:
        """Note the kernel's arguments for `operands`, in their order."""
        self._buffers = dict(zip(self._values, buffers, strict=True))

    def store(
        self, b: LoopBuilder, total: SSAValue, target: SSAValue, at: Sequence[Index], mask: SSAValue | None
    ) -> None:
        """Finish a tile of the anchor's results and write it; `mask` is of the columns that there are.

        Row by row where the code for all rows of the tile would be long.
        """
        rows, width = vector_type(total).get_shape()
        if rows >= LOOPED_ROWS and not b.fine and self.is_long:
            held = b.local(rows, width, element=vector_type(total).element_type)
            b.store(total, held, [0, 0])
            with b.for_(0, rows) as loop:
                value = b.load_row(held, [loop.index, 0], None, width)
                self.store_row(b, value, target, [b.add(at[0], loop.index), at[1]], mask)
            return
        if mask is None:
            b.store(self._finished(b, total, at, None), target, at)
            return
        for place in range(rows):
            here = [b.add(at[0], place), at[1]]
            value = b.value(vector.ExtractOp(total, [place], vector_of(width)))
            b.masked_store(self._finished(b, value, here, mask), target, here, mask)

    def store_row(
        self, b: LoopBuilder, total: SSAValue, target: SSAValue, at: Sequence[Index], mask: SSAValue | None
    ) -> None:
        """As `store`, for a vector of rank 1."""
        value = self._finished(b, total, at, mask)
        if mask is None:
            b.store(value, target, at)
        else:
            b.masked_store(value, target, at, mask)

    def _finished(
        self, b: LoopBuilder, total: SSAValue, at: Sequence[Index], mask: SSAValue | None
    ) -> SSAValue:
        shape = vector_type(total).get_shape()
        values = {
            value: self._operand(
                b, buffer, at, mask, vector_of(*shape, element=in_registers(element_of(value)))
            )
            for value, buffer in self._buffers.items()
        }
        reached = self.absorbed[-1] if self.absorbed else self.anchor
        values[reached.results[0]] = self._total(b, total, at, values)
        last = self.kernel.body.block.last_op
        assert isinstance(last, YieldOp)
        return evaluate(b, self._ops, values)[last.operands[0]]

    def _total(
        self, b: LoopBuilder, total: SSAValue, at: Sequence[Index], values: Mapping[SSAValue, SSAValue]
    ) -> SSAValue:
        """The results of the anchor, and of the ops that are absorbed, for the sums of a tile at a place."""
        return self.tail(b, total, values)

    def _operand(
        self,
        b: LoopBuilder,
        buffer: SSAValue,
        at: Sequence[Index],
        mask: SSAValue | None,
        type: VectorType[Attribute],
    ) -> SSAValue:
        """Elements of a buffer for a tile, or for a row of it."""
        width = type.get_shape()[-1]
        match memref_type(buffer).get_num_dims():
            case 0:
                return b.broadcast(b.element(buffer, []), type)
            case 1:
                return b.broadcast(b.load_row(buffer, [at[-1]], mask, width, type.element_type), type)
            case _ if mask is None:
                return b.load(buffer, at, type)
            case _:
                return b.load_row(buffer, at, mask, width, type.element_type)


def fits_tiles(value: SSAValue, result: SSAValue, columns: int) -> bool:
    """Whether a tensor has an element for each place of a result, for each of its columns, or one element.

    `columns` is the dimension of the result that columns are: the last, or the channels of images.
    """
    shape, given = shape_of(result), shape_of(value)
    if given == shape or product(given) == 1:
        return True
    padded = (1,) * (len(shape) - len(given)) + given
    return padded[columns] == product(given) == shape[columns]


def convolution_epilogue(kernel: KernelOp, anchor: SchemaOp) -> Epilogue:
    """The epilogue of a kernel whose anchor is a convolution: its bias, then what is computed of the result."""
    bias: SSAValue | None = anchor.arg("bias")
    batch, channels, *pixels = shape_of(anchor.results[0])
    return Epilogue(
        kernel,
        anchor,
        product((batch, *pixels)),
        channels,
        lambda b, total, values: total if bias is None else add(b, total, values[bias]),
        [] if bias is None else [bias],
    )
