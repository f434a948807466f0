"""Make constants of state that no method changes. With `dead`, drop state that no result depends on.

```mlir
program.buffer mutable @scale : tensor<f32> = #program.data<f32, [2.0]>                   // before
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = program.load @scale : tensor<f32>
  %1 = aten.mul.Tensor %x, %0 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  program.store @scale, %0 : tensor<f32>
  func.return %1 : tensor<4xf32>
}

program.buffer @scale : tensor<f32> = #program.data<f32, [2.0]>                           // after
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = program.get @scale : tensor<f32>
  %1 = aten.mul.Tensor %x, %0 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
```

A buffer that is given its own value is not changed. One without data, zeros, becomes a constant if that has at most
`limit` bytes: a file holds the zeros of constants.

A counter that nothing reads but what counts it, or what a method notes of its last call, is *dead*: no output, no
overwritten input, assertion or other state depends on it. The caller may still look at it, as `method.state` of et-vm,
so it is dropped only where that is asked for. `method.state` has neither kind then. The parameters of a training
method (`program.roles`) are state that the caller changes, and stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from et_ir.data.blob import KEEP, Blob
from et_ir.dialects.program import BufferOp, GetOp, LoadOp, StoreOp
from et_ir.dialects.program.attributes import DataAttr, item_size
from et_ir.dialects.program.roles import returned_state
from et_ir.passes.common.dce import Effects, erase_dead_ops

__all__ = ["FoldStatePass"]


def _key(op: LoadOp | StoreOp) -> str:
    return op.symbol.string_value()


def _forget_unchanged(module: ModuleOp) -> None:
    """Erase the stores of values that buffers have already."""
    for method in _methods(module):
        stores: dict[str, list[StoreOp]] = {}
        for op in method.walk():
            if isinstance(op, StoreOp):
                stores.setdefault(_key(op), []).append(op)
        for key, ops in stores.items():
            source = ops[0].value.owner
            if len(ops) == 1 and isinstance(source, LoadOp) and _key(source) == key:
                Rewriter.erase_op(ops[0])


def _methods(module: ModuleOp) -> Iterable[FuncOp]:
    return [op for op in module.body.block.ops if isinstance(op, FuncOp)]


def _freeze(module: ModuleOp, buffers: dict[str, BufferOp], limit: int) -> None:
    """Make constants of the buffers that nothing is stored to, as far as that adds little to the file."""
    stored = {_key(op) for op in module.walk() if isinstance(op, StoreOp)}
    frozen: set[str] = set()
    for key, buffer in buffers.items():
        if key in stored:
            continue
        if buffer.value is None:
            count = item_size(buffer.type.element_type)
            for size in buffer.type.get_shape():
                count *= size
            if count > limit:
                continue
            buffer.value = DataAttr.of(buffer.type.element_type, Blob.of(key, bytes(count)))
        buffer.mutable = None
        frozen.add(key)
    for op in list(module.walk()):
        if isinstance(op, LoadOp) and _key(op) in frozen:
            get = GetOp(_key(op), op.result.type)
            get.location = op.location
            get.result.name_hint = op.result.name_hint
            Rewriter.insert_op(get, InsertPoint.before(op))
            op.result.replace_all_uses_with(get.result)
            Rewriter.erase_op(op)


def _needed(module: ModuleOp, dead: set[str]) -> set[Operation]:
    """The ops whose results something depends on, if nothing depends on some buffers."""
    effects = Effects()
    needed: set[Operation] = set()
    for method in _methods(module):
        for block in method.body.blocks:
            for op in block.ops:
                if not effects.droppable(op) and not (isinstance(op, StoreOp) and _key(op) in dead):
                    needed.add(op)
    rest = list(needed)
    while rest:
        for inner in rest.pop().walk():
            for operand in inner.operands:
                op = operand.owner
                if isinstance(op, Operation) and op not in needed:
                    needed.add(op)
                    rest.append(op)
    return needed


def _drop_dead(module: ModuleOp, buffers: dict[str, BufferOp]) -> None:
    """Erase the buffers that nothing but their own stores depends on, and the stores."""
    dead = set(buffers)
    while True:
        read = {
            _key(inner)
            for op in _needed(module, dead)
            for inner in op.walk()
            if isinstance(inner, LoadOp) and _key(inner) in dead
        }
        if not read:
            break
        dead -= read
    for op in list(module.walk()):
        if isinstance(op, StoreOp) and _key(op) in dead:
            Rewriter.erase_op(op)
    erase_dead_ops(module)
    for key in dead:
        Rewriter.erase_op(buffers[key])


@dataclass(frozen=True)
class FoldStatePass(ModulePass):
    """Make constants of state that never changes."""

    name = "fold-state"

    dead: bool = False
    """Whether to drop state that no result depends on."""
    limit: int = KEEP
    """Bytes of zeros that a file may hold for a constant that was state."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _forget_unchanged(op)
        kept = returned_state(op)
        buffers = {
            one.key: one
            for one in op.body.block.ops
            if isinstance(one, BufferOp) and one.mutable is not None and one.key not in kept
        }
        if self.dead:
            _drop_dead(op, buffers)
            buffers = {key: one for key, one in buffers.items() if one.parent is not None}
        _freeze(op, buffers, self.limit)
