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
from typing import Final

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
from et_ir.passes.to_executorch.to_out_variant.plan_builder import PlanBuilder, default_of
from et_ir.targets.lookup import replaceable_everywhere
from et_schema.program import TensorShapeDynamism

__all__ = ["lower_control"]

_CLONE: Final = "dim_order_ops::_clone_dim_order.out"
_EMPTY: Final = "aten::empty.out"


def lower_control(plan: PlanBuilder, op: ControlOp) -> None:
    """Add the blocks of an op to a plan, and go on behind them."""
    match op:
        case CondOp():
            _cond(plan, op)
        case WhileOp():
            _while(plan, op)
        case MapOp():
            _slices(plan, op, (), op.sequences, (), op.outputs)
        case ScanOp():
            _slices(plan, op, op.inits, op.sequences, op.carried, op.stacked)
        case _:
            raise AssertionError(f"{op.name} has no lowering")


def _cond(plan: PlanBuilder, op: CondOp) -> None:
    results = [plan.result_register(op, output) for output in op.outputs]
    predicate = plan.argument_register(op.predicate, op)
    then, otherwise, join = Block(), Block(), Block()
    plan.add(JumpFalseOp(predicate, otherwise, then), op)
    for block, region in ((then, op.then_region), (otherwise, op.else_region)):
        plan.begin(block)
        _compute_in_place(plan, op, region, results)
        _assign(plan, op, _region(plan, region), results)
        plan.add(JumpOp(join), op)
    plan.begin(join)


def _while(plan: PlanBuilder, op: WhileOp) -> None:
    carried = [plan.result_register(op, output) for output in op.outputs]
    _assign(plan, op, [plan.values[value] for value in op.inits], carried)
    head, body, done = Block(), Block(), Block()
    plan.add(JumpOp(head), op)
    plan.begin(head)
    _bind(plan, op.condition.block.args, carried)
    (condition,) = _yielded(op.condition)
    _lower_ops(plan, op.condition)
    plan.add(JumpFalseOp(plan.argument_register(condition, op), done, body), op)
    plan.begin(body)
    _bind(plan, op.body.block.args, carried)
    _advance_in_place(plan, op.body, carried)
    _assign(plan, op, _region(plan, op.body), carried)
    plan.add(JumpOp(head), op)
    plan.begin(done)


def _slices(
    plan: PlanBuilder,
    op: MapOp | ScanOp,
    inits: Sequence[SSAValue],
    sequences: Sequence[SSAValue],
    carried: Sequence[SSAValue],
    stacked: Sequence[SSAValue],
) -> None:
    """A loop over the slices of tensors."""
    state = [plan.result_register(op, output) for output in carried]
    stacks = [_stack_register(plan, op, output) for output in stacked]
    inputs = [plan.tensor(op, sequence) for sequence in sequences]
    _assign(plan, op, [plan.values[value] for value in inits], state)
    length = _length(plan, op, sequences[0])
    for stack in stacks:
        _begin_stack(plan, op, stack)
    count = plan.register(ValueOp(0), op, "count")
    plan.add(MoveOp(plan.register(ValueOp(0), op, "zero"), count), op)
    if length == 0:
        return
    loop, done = Block(), Block()
    if isinstance(length, SSAValue):
        empty = plan.register(ValueOp(False), op, "empty")
        plan.add(_prim("eq", [length, 0], empty), op)
        turn = Block()
        plan.add(JumpFalseOp(empty, loop, turn), op)
        plan.begin(turn)
        plan.add(JumpOp(done), op)
    else:
        plan.add(JumpOp(loop), op)
    plan.begin(loop)
    arguments = op.body.block.args
    _bind(plan, arguments[: len(state)], state)
    _advance_in_place(plan, op.body, state)
    for argument, sequence in zip(arguments[len(state) :], inputs, strict=True):
        item = _slice_register(plan, op, argument, sequence)
        plan.values[argument] = item
        plan.add(KernelCallOp("aten::select_copy.int_out", [sequence, 0, count], outs=[item]), op)
    yielded = _region(plan, op.body)
    items = [_as_register(plan, op, item) for item in yielded[len(state) :]]
    _shape_stacks(plan, op, count, items, stacks)
    for source, stack in zip(items, stacks, strict=True):
        plan.add(KernelCallOp("executorch_prim::et_copy_index.tensor", [stack, source, count]), op)
    _assign(plan, op, yielded[: len(state)], state)
    finished = plan.register(ValueOp(False), op, "finished")
    plan.add(_prim("add", [count, 1], count), op)
    plan.add(_prim("eq", [count, length], finished), op)
    plan.add(JumpFalseOp(finished, loop, done), op)
    plan.begin(done)


# -- parts of these


def _yielded(region: Region) -> tuple[SSAValue, ...]:
    last = region.block.last_op
    assert isinstance(last, YieldOp)
    return tuple(last.values)


def _lower_ops(plan: PlanBuilder, region: Region) -> None:
    for inner in region.block.ops:
        if not isinstance(inner, YieldOp):
            plan.lower(inner)


def _region(plan: PlanBuilder, region: Region) -> list[Scalar | SSAValue]:
    """Add the ops of a region; returns what the values that it yields have become."""
    _lower_ops(plan, region)
    return [plan.values[value] for value in _yielded(region)]


def _bind(plan: PlanBuilder, arguments: Sequence[SSAValue], registers: Sequence[SSAValue]) -> None:
    for argument, register in zip(arguments, registers, strict=True):
        plan.values[argument] = register


def _as_register(plan: PlanBuilder, op: Operation, value: Scalar | SSAValue) -> SSAValue:
    return value if isinstance(value, SSAValue) else plan.register(ValueOp(value), op, None)


def _prim(function: str, arguments: Sequence[Argument], result: SSAValue) -> KernelCallOp:
    return KernelCallOp(f"executorch_prim::{function}.Scalar", arguments, returns=[result])


def _compute_in_place(plan: PlanBuilder, op: CondOp, region: Region, results: Sequence[SSAValue]) -> None:
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
            plan.places[value] = register


def _advance_in_place(plan: PlanBuilder, body: Region, registers: Sequence[SSAValue]) -> None:
    """Have the next of what a loop carries computed in its register, where the current one is no longer needed then.

    All reads of the current one have to come before, or be those of a kernel that may write over its argument.
    """
    block = body.block
    order: dict[Operation, int] = {inner: position for position, inner in enumerate(block.ops)}
    # What a scan stacks beside is read before the next turn.
    values = _yielded(body)[: len(registers)]
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
            plan.places[value] = register


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
    plan: PlanBuilder, op: Operation, values: Sequence[Scalar | SSAValue], registers: Sequence[SSAValue]
) -> None:
    """Give registers values, as if all at once: one that is read after it has been written is copied aside before."""
    pending = list(values)
    for index, register in enumerate(registers):
        if pending[index] is register:
            continue
        if any(value is register for value in pending[index + 1 :]):
            aside = _like(plan, op, register)
            _copy(plan, op, register, aside)
            pending[index + 1 :] = [aside if value is register else value for value in pending[index + 1 :]]
        _copy(plan, op, pending[index], register)


def _like(plan: PlanBuilder, op: Operation, register: SSAValue) -> SSAValue:
    """Another register of a type."""
    owner = register.owner
    if isinstance(owner, AllocOp):
        return plan.register(AllocOp(owner.type, dynamism=owner.dynamism), op, register.name_hint)
    return plan.register(ValueOp(default_of(register.type)), op, register.name_hint)


def _copy(plan: PlanBuilder, op: Operation, value: Scalar | SSAValue, register: SSAValue) -> None:
    source = _as_register(plan, op, value)
    if is_tensor(register.type):
        order = ListValue(ListKind.INTS, tuple(dim_order(tensor_type(register))))
        plan.add(KernelCallOp(_CLONE, [source, False, order], outs=[register]), op)
    else:
        plan.add(MoveOp(source, register), op)


def _slice_register(plan: PlanBuilder, op: Operation, argument: SSAValue, sequence: SSAValue) -> SSAValue:
    """The register of a slice: the body's argument may know less of its sizes than the sequence's register."""
    type = slice_type(tensor_type(sequence))
    known: Attribute = argument.type
    dynamism = None
    if is_tensor(known) and not known.has_static_shape():
        owner = sequence.owner
        grows = isinstance(owner, AllocOp | InputOp) and owner.dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND
        dynamism = TensorShapeDynamism.DYNAMIC_UNBOUND if grows else TensorShapeDynamism.DYNAMIC_BOUND
    return plan.register(AllocOp(type, dynamism=dynamism), op, argument.name_hint)


def _length(plan: PlanBuilder, op: Operation, sequence: SSAValue) -> int | SSAValue:
    """Number of slices of a tensor: a constant, or the register that holds it."""
    size = tensor_type(sequence).get_shape()[0]
    if size >= 0:
        return size
    register = plan.register(ValueOp(0), op, "length")
    call = KernelCallOp("aten::sym_size.int", [plan.tensor(op, sequence), 0], returns=[register])
    plan.add(call, op)
    return register


def _stack_register(plan: PlanBuilder, op: Operation, output: SSAValue) -> SSAValue:
    """The register of a stack, which grows item by item: runtimes give it the sizes of what it holds so far."""
    register = plan.result_register(op, output)
    owner = register.owner
    assert isinstance(owner, AllocOp)
    if owner.dynamism != TensorShapeDynamism.DYNAMIC_UNBOUND:
        owner.set_dynamism(TensorShapeDynamism.DYNAMIC_BOUND)
    return register


def _begin_stack(plan: PlanBuilder, op: Operation, stack: SSAValue) -> None:
    """Make a stack empty."""
    sizes = (0, *tensor_type(stack).get_shape()[1:])
    plan.add(KernelCallOp(_EMPTY, [ListValue(ListKind.INTS, sizes), None], outs=[stack]), op)


def _shape_stacks(
    plan: PlanBuilder, op: Operation, count: SSAValue, items: Sequence[SSAValue], stacks: Sequence[SSAValue]
) -> None:
    """In the first turn, give empty stacks the sizes of items that are known at run time only."""
    dynamic = [
        (item, stack)
        for item, stack in zip(items, stacks, strict=True)
        if not isinstance(item.owner, AllocOp) or not item.owner.is_static
    ]
    if not dynamic:
        return
    later = plan.register(ValueOp(False), op, "later")
    plan.add(_prim("gt", [count, 0], later), op)
    first, rest = Block(), Block()
    plan.add(JumpFalseOp(later, first, rest), op)
    # The file has one jump, which goes on behind itself where the condition holds.
    plan.begin(rest)
    fill = Block()
    plan.add(JumpOp(fill), op)
    plan.begin(first)
    for item, stack in dynamic:
        sizes: list[int | SSAValue] = [0]
        for dim in range(tensor_type(item).get_num_dims()):
            size = plan.register(ValueOp(0), op, "size")
            plan.add(KernelCallOp("aten::sym_size.int", [item, dim], returns=[size]), op)
            sizes.append(size)
        plan.add(KernelCallOp(_EMPTY, [ListValue(ListKind.INTS, tuple(sizes)), None], outs=[stack]), op)
    plan.add(JumpOp(fill), op)
    plan.begin(fill)
