"""State stored in the order of dimensions that it is read in.

```mlir
program.buffer mutable @cache : tensor<1x2x48x8xf32>                                                  // before
%0 = program.load @cache : tensor<1x2x48x8xf32>
%1 = aten.index_copy %0, %at, %k {dim = 2} : (tensor<1x2x48x8xf32>, tensor<1xi64>, tensor<1x2x1x8xf32>) -> …
%2 = aten.permute %1 {dims = [0, 2, 1, 3]} : (tensor<1x2x48x8xf32>) -> tensor<1x48x2x8xf32>
program.store @cache, %1 : tensor<1x2x48x8xf32>

program.buffer mutable @cache : tensor<1x48x2x8xf32>                                                  // after
%0 = program.load @cache : tensor<1x48x2x8xf32>
%1 = aten.permute %k {dims = [0, 2, 1, 3]} : (tensor<1x2x1x8xf32>) -> tensor<1x1x2x8xf32>
%2 = aten.index_copy %0, %at, %1 {dim = 1} : (tensor<1x48x2x8xf32>, tensor<1xi64>, tensor<1x1x2x8xf32>) -> …
program.store @cache, %2 : tensor<1x48x2x8xf32>
```

A call permutes the rows that it writes, instead of all that it reads. That is done where in every method all that
happens to the state is that rows are written by `index_copy` or `index_put`, the result is stored, and what is read of
it is read through the same permutation. State that starts as other than zeros stays. Who looks at the state of a method
from outside sees the other order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeGuard

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from et_ir.dialects.aten import ops as aten
from et_ir.dialects.program import BufferOp, LoadOp, StoreOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["PermuteStatePass"]


_Write: TypeAlias = aten.IndexCopyOp | aten.IndexPutOp


def _writes_rows(op: Operation) -> TypeGuard[_Write]:
    """Whether an op writes rows, at places of one dimension, of as many dimensions as the state has."""
    if not isinstance(op, aten.IndexPutOp):
        return isinstance(op, aten.IndexCopyOp)
    given = [index for index in op.indices if index is not None]
    rank = tensor_type(op.self).get_num_dims()
    return (
        not op.accumulate
        and len(given) == 1
        and tensor_type(given[0]).get_num_dims() == 1
        and tensor_type(given[0]).element_type == i64
        and tensor_type(op.values).get_num_dims() == rank
    )


@dataclass
class _State:
    """A buffer, and what methods do with it."""

    buffer: BufferOp
    loads: list[LoadOp] = field(default_factory=list[LoadOp])
    writes: list[_Write] = field(default_factory=list["_Write"])
    """Each after those that it writes behind."""
    reads: list[aten.PermuteOp] = field(default_factory=list[aten.PermuteOp])
    stores: list[StoreOp] = field(default_factory=list[StoreOp])

    def follow(self, value: SSAValue) -> bool:
        """Collect what is done with a value of the state; whether it is nothing else than this pass takes."""
        for use in value.uses:
            user = use.operation
            if isinstance(user, StoreOp) and user.symbol.string_value() == self.buffer.key:
                continue
            if isinstance(user, aten.PermuteOp):
                self.reads.append(user)
            elif use.index == 0 and _writes_rows(user):
                self.writes.append(user)
                if not self.follow(user.results[0]):
                    return False
            else:
                return False
        return True

    def order(self) -> tuple[int, ...] | None:
        """The order of dimensions that all reads have, if it is another than that of the state."""
        rank = self.buffer.type.get_num_dims()
        orders = {tuple(int(dim) % rank for dim in read.dims) for read in self.reads}
        order = orders.pop() if len(orders) == 1 else None
        values = {load.result for load in self.loads} | {write.results[0] for write in self.writes}
        is_own = all(store.value in values for store in self.stores)
        return order if is_own and order != tuple(range(rank)) else None

    def permute(self, order: tuple[int, ...]) -> None:
        """Have the dimensions of the state in another order."""
        type = self.buffer.type
        sizes = type.get_shape()
        permuted = TensorType(type.element_type, [sizes[dim] for dim in order])
        self.buffer.properties["type"] = permuted
        for load in self.loads:
            Rewriter.replace_value_with_new_type(load.result, permuted)
        for write in self.writes:
            self._permute_write(write, order, permuted)
        for read in self.reads:
            read.results[0].replace_all_uses_with(read.operands[0])
            Rewriter.erase_op(read)

    def _permute_write(self, write: _Write, order: tuple[int, ...], type: TensorType[Attribute]) -> None:
        options: dict[str, Any] = {"result_types": [type], "location": write.location}
        if isinstance(write, aten.IndexCopyOp):
            source = aten.PermuteOp.make(write.source, order, location=write.location)
            dim = order.index(write.dim % len(order))
            made = aten.IndexCopyOp.make(write.self, dim, write.index, source.results[0], **options)
        else:
            source = aten.PermuteOp.make(write.values, order, location=write.location)
            given = [*write.indices, *[None] * (len(order) - len(write.indices))]
            indices = [given[dim] for dim in order]
            while indices[-1] is None:
                indices.pop()
            made = aten.IndexPutOp.make(write.self, indices, source.results[0], **options)
        Rewriter.insert_op([source, made], InsertPoint.before(write))
        write.results[0].replace_all_uses_with(made.results[0])
        Rewriter.erase_op(write)


def _states(module: ModuleOp) -> list[_State]:
    """The buffers that start as zeros, of which nothing else is done than this pass takes."""
    states = {
        one.key: _State(one)
        for one in module.body.block.ops
        if isinstance(one, BufferOp) and one.mutable is not None and one.value is None
    }
    for op in module.walk():
        if isinstance(op, LoadOp | StoreOp) and (state := states.get(op.symbol.string_value())) is not None:
            if isinstance(op, LoadOp):
                state.loads.append(op)
            else:
                state.stores.append(op)
    return [one for one in states.values() if all(one.follow(load.result) for load in one.loads)]


@dataclass(frozen=True)
class PermuteStatePass(ModulePass):
    """Store state in the order that it is read in."""

    name = "permute-state"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for state in _states(op):
            order = state.order()
            if order is not None:
                state.permute(order)
