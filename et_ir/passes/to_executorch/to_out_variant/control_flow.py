"""Control flow as blocks and jumps.

A register has one content at a time, so what comes out of a branch, or goes round a loop, has a register of its own
that each way through the program writes. Results that are alive together are different registers, and liveness is
computed on the graph of blocks, so nothing of one branch can be where something else still is.

```mlir
%r = control.cond %p : tensor<i1> -> (tensor<4xf32>) {
  %a = edge.relu %x : tensor<4xf32>
  control.yield %a : tensor<4xf32>
} else {
  control.yield %x : tensor<4xf32>
}
// becomes
  %r = executorch.alloc : tensor<4xf32>
  executorch.jump_false %p, ^else, ^then
^then:
  executorch.kernel_call "aten::relu.out"(%x) outs(%r)
  executorch.jump ^join
^else:
  executorch.kernel_call "dim_order_ops::_clone_dim_order.out"(%x, false, [0]) outs(%r)
  executorch.jump ^join
^join:
```

What a branch computes for a result alone is computed in its register. A loop computes the next values beside the
current ones, and copies them where all are known, or in the place of those that are needed no more. A scan counts in a
register, selects slices, and writes items to their places in the stack (`executorch_prim::et_copy_index`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from et_ir.dialects.control import CondOp, ControlOp, MapOp, ScanOp, WhileOp, YieldOp
from et_ir.dialects.control.types import slice_type
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.executorch import (
    AllocOp,
    InputOp,
    JumpFalseOp,
    JumpOp,
    KernelCallOp,
    ListKind,
    ListValue,
    MoveOp,
    ValueOp,
)
from et_ir.dialects.executorch.arguments import Argument, Scalar
from et_ir.dialects.executorch.layout import dim_order
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.passes.to_executorch.to_out_variant.registers import default_of
from et_ir.targets.registry import replaceable_everywhere
from et_schema.program import TensorShapeDynamism

if TYPE_CHECKING:
    from et_ir.passes.to_executorch.to_out_variant.method import Method

__all__ = ["lower_control"]

_CLONE: Final = "dim_order_ops::_clone_dim_order.out"
_EMPTY: Final = "aten::empty.out"


def lower_control(method: Method, op: ControlOp) -> None:
    """Add the blocks of an op to a method, and go on behind them."""
    match op:
        case CondOp():
            _cond(method, op)
        case WhileOp():
            _while(method, op)
        case MapOp():
            _slices(method, op, (), op.sequences, (), op.outputs)
        case ScanOp():
            _slices(method, op, op.inits, op.sequences, op.carried, op.stacked)
        case _:
            raise AssertionError(f"{op.name} has no lowering")


def _cond(method: Method, op: CondOp) -> None:
    results = [method.result_register(op, output) for output in op.outputs]
    predicate = method.argument_register(op.predicate, op)
    then, otherwise, join = Block(), Block(), Block()
    method.add(JumpFalseOp(predicate, otherwise, then), op)
    for block, region in ((then, op.then_region), (otherwise, op.else_region)):
        method.begin(block)
        _compute_in_place(method, op, region, results)
        _assign(method, op, _region(method, region), results)
        method.add(JumpOp(join), op)
    method.begin(join)


def _while(method: Method, op: WhileOp) -> None:
    carried = [method.result_register(op, output) for output in op.outputs]
    _assign(method, op, [method.values[value] for value in op.inits], carried)
    head, body, done = Block(), Block(), Block()
    method.add(JumpOp(head), op)
    method.begin(head)
    _bind(method, op.condition.block.args, carried)
    (condition,) = _yielded(op.condition)
    _lower_ops(method, op.condition)
    method.add(JumpFalseOp(method.argument_register(condition, op), done, body), op)
    method.begin(body)
    _bind(method, op.body.block.args, carried)
    _advance_in_place(method, op.body, carried)
    _assign(method, op, _region(method, op.body), carried)
    method.add(JumpOp(head), op)
    method.begin(done)


def _slices(
    method: Method,
    op: MapOp | ScanOp,
    inits: Sequence[SSAValue],
    sequences: Sequence[SSAValue],
    carried: Sequence[SSAValue],
    stacked: Sequence[SSAValue],
) -> None:
    """A loop over the slices of tensors."""
    state = [method.result_register(op, output) for output in carried]
    stacks = [_stack_register(method, op, output) for output in stacked]
    inputs = [method.tensor(op, sequence) for sequence in sequences]
    _assign(method, op, [method.values[value] for value in inits], state)
    length = _length(method, op, sequences[0])
    for stack in stacks:
        _begin_stack(method, op, stack)
    count = method.register(ValueOp(0), op, "count")
    method.add(MoveOp(method.register(ValueOp(0), op, "zero"), count), op)
    if length == 0:
        return
    loop, done = Block(), Block()
    if isinstance(length, SSAValue):
        empty = method.register(ValueOp(False), op, "empty")
        method.add(_prim("eq", [length, 0], empty), op)
        turn = Block()
        method.add(JumpFalseOp(empty, loop, turn), op)
        method.begin(turn)
        method.add(JumpOp(done), op)
    else:
        method.add(JumpOp(loop), op)
    method.begin(loop)
    arguments = op.body.block.args
    _bind(method, arguments[: len(state)], state)
    _advance_in_place(method, op.body, state)
    for argument, sequence in zip(arguments[len(state) :], inputs, strict=True):
        item = _slice_register(method, op, argument, sequence)
        method.values[argument] = item
        method.add(KernelCallOp("aten::select_copy.int_out", [sequence, 0, count], outs=[item]), op)
    yielded = _region(method, op.body)
    items = [_as_register(method, op, item) for item in yielded[len(state) :]]
    _shape_stacks(method, op, count, items, stacks)
    for source, stack in zip(items, stacks, strict=True):
        method.add(KernelCallOp("executorch_prim::et_copy_index.tensor", [stack, source, count]), op)
    _assign(method, op, yielded[: len(state)], state)
    finished = method.register(ValueOp(False), op, "finished")
    method.add(_prim("add", [count, 1], count), op)
    method.add(_prim("eq", [count, length], finished), op)
    method.add(JumpFalseOp(finished, loop, done), op)
    method.begin(done)


# -- parts of these


def _yielded(region: Region) -> tuple[SSAValue, ...]:
    last = region.block.last_op
    assert isinstance(last, YieldOp)
    return tuple(last.values)


def _lower_ops(method: Method, region: Region) -> None:
    for inner in region.block.ops:
        if not isinstance(inner, YieldOp):
            method.lower(inner)


def _region(method: Method, region: Region) -> list[Scalar | SSAValue]:
    """Add the ops of a region; returns what the values that it yields have become."""
    _lower_ops(method, region)
    return [method.values[value] for value in _yielded(region)]


def _bind(method: Method, arguments: Sequence[SSAValue], registers: Sequence[SSAValue]) -> None:
    for argument, register in zip(arguments, registers, strict=True):
        method.values[argument] = register


def _as_register(method: Method, op: Operation, value: Scalar | SSAValue) -> SSAValue:
    return value if isinstance(value, SSAValue) else method.register(ValueOp(value), op, None)


def _prim(function: str, arguments: Sequence[Argument], result: SSAValue) -> KernelCallOp:
    return KernelCallOp(f"executorch_prim::{function}.Scalar", arguments, returns=[result])


def _compute_in_place(method: Method, op: CondOp, region: Region, results: Sequence[SSAValue]) -> None:
    """Have what a branch yields computed in the registers of the results, where nothing else has the value's place.

    A branch never reads the registers of its results, so they are free from its start.
    """
    values = _yielded(region)
    for value, register, output in zip(values, results, op.outputs, strict=True):
        owner = value.owner
        if (
            isinstance(owner, Operation)
            and owner.parent is region.block
            and is_tensor(value.type)
            and value.type == output.type
            and value.type.has_static_shape()
            and values.count(value) == 1
        ):
            method.places[value] = register


def _advance_in_place(method: Method, body: Region, registers: Sequence[SSAValue]) -> None:
    """Have the next of what a loop carries computed in its register, where the current one is no longer needed then.

    All reads of the current one have to come before, or be those of a kernel that may write over its argument.
    """
    block = body.block
    order: dict[Operation, int] = {inner: position for position, inner in enumerate(block.ops)}
    values = _yielded(body)
    for register, argument, value in zip(registers, block.args, values, strict=False):
        owner = value.owner
        if (
            isinstance(owner, Operation)
            and owner.parent is block
            and is_tensor(value.type)
            and value.type == register.type
            and values.count(value) == 1
            and all(
                order[_in_block(use.operation, block)] < order[owner]
                or (use.operation is owner and _writes_over(owner, argument))
                for use in argument.uses
            )
        ):
            method.places[value] = register


def _in_block(op: Operation, block: Block) -> Operation:
    """The op of a block that an op is, or is in a region of."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _writes_over(op: Operation, argument: SSAValue) -> bool:
    """Whether the kernel of an op may write over an argument."""
    schema = op.operator.out if isinstance(op, EdgeOp) else None
    if not isinstance(op, EdgeOp) or schema is None or op.results[0].type != argument.type:
        return False
    allowed = replaceable_everywhere().get(op.operator.kernel, frozenset())
    given = {arg.name: op.arg(arg.name) for arg in schema.args if arg not in schema.out_args}
    return bool(allowed) and all(
        value is not argument and not (isinstance(value, tuple) and argument in value)
        for name, value in given.items()
        if name not in allowed
    )


def _assign(
    method: Method, op: Operation, values: Sequence[Scalar | SSAValue], registers: Sequence[SSAValue]
) -> None:
    """Give registers values, as if all at once: one that is read after it has been written is copied aside before."""
    pending = list(values)
    for index, register in enumerate(registers):
        if pending[index] is register:
            continue
        if any(value is register for value in pending[index + 1 :]):
            aside = _like(method, op, register)
            _copy(method, op, register, aside)
            pending[index + 1 :] = [aside if value is register else value for value in pending[index + 1 :]]
        _copy(method, op, pending[index], register)


def _like(method: Method, op: Operation, register: SSAValue) -> SSAValue:
    """Another register of a type."""
    owner = register.owner
    if isinstance(owner, AllocOp):
        return method.register(AllocOp(owner.type, dynamism=owner.dynamism), op, register.name_hint)
    return method.register(ValueOp(default_of(register.type)), op, register.name_hint)


def _copy(method: Method, op: Operation, value: Scalar | SSAValue, register: SSAValue) -> None:
    source = _as_register(method, op, value)
    if is_tensor(register.type):
        order = ListValue(ListKind.INTS, tuple(dim_order(tensor_type(register))))
        method.add(KernelCallOp(_CLONE, [source, False, order], outs=[register]), op)
    else:
        method.add(MoveOp(source, register), op)


def _slice_register(method: Method, op: Operation, argument: SSAValue, sequence: SSAValue) -> SSAValue:
    """The register of a slice: the body's argument may know less of its sizes than the sequence's register."""
    type = slice_type(tensor_type(sequence))
    known: Attribute = argument.type
    dynamism = None
    if is_tensor(known) and not known.has_static_shape():
        owner = sequence.owner
        grows = isinstance(owner, AllocOp | InputOp) and owner.dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND
        dynamism = TensorShapeDynamism.DYNAMIC_UNBOUND if grows else TensorShapeDynamism.DYNAMIC_BOUND
    return method.register(AllocOp(type, dynamism=dynamism), op, argument.name_hint)


def _length(method: Method, op: Operation, sequence: SSAValue) -> int | SSAValue:
    """Number of slices of a tensor: a constant, or the register that holds it."""
    size = tensor_type(sequence).get_shape()[0]
    if size >= 0:
        return size
    register = method.register(ValueOp(0), op, "length")
    call = KernelCallOp("aten::sym_size.int", [method.tensor(op, sequence), 0], returns=[register])
    method.add(call, op)
    return register


def _stack_register(method: Method, op: Operation, output: SSAValue) -> SSAValue:
    """The register of a stack, which grows item by item: runtimes give it the sizes of what it holds so far."""
    register = method.result_register(op, output)
    owner = register.owner
    assert isinstance(owner, AllocOp)
    if owner.dynamism != TensorShapeDynamism.DYNAMIC_UNBOUND:
        owner.set_dynamism(TensorShapeDynamism.DYNAMIC_BOUND)
    return register


def _begin_stack(method: Method, op: Operation, stack: SSAValue) -> None:
    """Make a stack empty."""
    sizes = (0, *tensor_type(stack).get_shape()[1:])
    method.add(KernelCallOp(_EMPTY, [ListValue(ListKind.INTS, sizes), None], outs=[stack]), op)


def _shape_stacks(
    method: Method, op: Operation, count: SSAValue, items: Sequence[SSAValue], stacks: Sequence[SSAValue]
) -> None:
    """In the first turn, give empty stacks the sizes of items that are known at run time only."""
    dynamic = [
        (item, stack)
        for item, stack in zip(items, stacks, strict=True)
        if not isinstance(item.owner, AllocOp) or not item.owner.is_static
    ]
    if not dynamic:
        return
    later = method.register(ValueOp(False), op, "later")
    method.add(_prim("gt", [count, 0], later), op)
    first, rest = Block(), Block()
    method.add(JumpFalseOp(later, first, rest), op)
    # The file has one jump, which goes on behind itself where the condition holds.
    method.begin(rest)
    fill = Block()
    method.add(JumpOp(fill), op)
    method.begin(first)
    for item, stack in dynamic:
        sizes: list[int | SSAValue] = [0]
        for dim in range(tensor_type(item).get_num_dims()):
            size = method.register(ValueOp(0), op, "size")
            method.add(KernelCallOp("aten::sym_size.int", [item, dim], returns=[size]), op)
            sizes.append(size)
        method.add(KernelCallOp(_EMPTY, [ListValue(ListKind.INTS, tuple(sizes)), None], outs=[stack]), op)
    method.add(JumpOp(fill), op)
    method.begin(fill)
