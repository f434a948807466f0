"""Epilogues: bias, and the pointwise ops that are computed on a tile of results while it is in registers.

Results are rows of as many columns: of a product of matrices, or of the pixels of an image by its channels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import vector
from xdsl.ir import SSAValue

from et_ir.backends.native.kernels.host import Host, Operand
from et_ir.backends.native.kernels.pointwise_rules import evaluate
from et_ir.backends.native.loop_builder import Index, LoopBuilder, vector_of
from et_ir.backends.native.sizes import Size, count_of, product
from et_ir.dialects.native import KernelOp, YieldOp
from et_ir.dialects.native.types import memref_type, vector_type
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor

__all__ = ["Epilogue", "Tail"]

Tail = Callable[[LoopBuilder, SSAValue, Mapping[SSAValue, SSAValue]], SSAValue]
"""Arithmetic of the anchor itself on what its loops have accumulated, such as adding a bias."""


@dataclass
class Epilogue:
    """What a kernel computes of the results of its anchor."""

    kernel: KernelOp
    anchor: SchemaOp
    rows: Size
    columns: Size
    tail: Tail = lambda _, total, __: total
    tail_operands: Sequence[SSAValue] = ()
    """The operands of the anchor that `tail` reads, as values in the body."""
    _buffers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    @property
    def _values(self) -> list[SSAValue]:
        """The arguments of the body that are read, apart from the anchor's own."""
        read = {operand for op in self._ops for operand in op.operands} | set(self.tail_operands)
        return [value for value in self.kernel.body.block.args if value in read and is_tensor(value.type)]

    @property
    def _ops(self) -> list[SchemaOp]:
        ops = self.kernel.body.block.ops
        return [op for op in ops if isinstance(op, SchemaOp) and op is not self.anchor]

    def operands(self, host: Host) -> list[Operand]:
        """Buffers that the epilogue reads: of all elements, of one for each column, or of one."""
        outside = self.kernel.outside()
        found: list[Operand] = []
        for value in self._values:
            count = count_of(value)
            buffer = host.buffer(outside[value])
            if count == product((self.rows, self.columns)) and count != self.columns:
                found.append(Operand(buffer, [self.rows, self.columns]))
            else:
                found.append(Operand(buffer, [self.columns] if count == self.columns else []))
        return found

    def bind(self, buffers: Sequence[SSAValue]) -> None:
        """Note the kernel's arguments for `operands`, in their order."""
        self._buffers = dict(zip(self._values, buffers, strict=True))

    def store(
        self, b: LoopBuilder, total: SSAValue, target: SSAValue, at: Sequence[Index], mask: SSAValue | None
    ) -> None:
        """Finish a tile of the anchor's results and write it; `mask` is of the columns that there are."""
        if mask is None:
            b.store(self._finished(b, total, at, None), target, at)
            return
        rows, width = vector_type(total).get_shape()
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
        values = {value: self._operand(b, buffer, at, mask, total) for value, buffer in self._buffers.items()}
        values[self.anchor.results[0]] = self.tail(b, total, values)
        last = self.kernel.body.block.last_op
        assert isinstance(last, YieldOp)
        return evaluate(b, self._ops, values)[last.operands[0]]

    def _operand(
        self, b: LoopBuilder, buffer: SSAValue, at: Sequence[Index], mask: SSAValue | None, like: SSAValue
    ) -> SSAValue:
        """Elements of a buffer for a tile, or for a row of it."""
        type = vector_type(like)
        width = type.get_shape()[-1]
        match memref_type(buffer).get_num_dims():
            case 0:
                return b.broadcast(b.element(buffer, []), type)
            case 1:
                return b.broadcast(b.load_row(buffer, [at[1]], mask, width), type)
            case _ if mask is None:
                return b.load(buffer, at, type)
            case _:
                return b.load_row(buffer, at, mask, width)
