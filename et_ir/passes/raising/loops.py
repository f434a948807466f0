"""Recovery of loops from jumps back: `control.while` and `control.scan`.

A loop that begins with its condition is a `control.while`. One that ends with it, and counts its turns, goes over the
slices of tensors: it is a `control.scan`, whose stacks are what it writes by the number of the turn. Values that are
written in a loop and read in the next turn, or behind the loop, are carried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from et_ir.dialects.control import ScanOp, WhileOp, YieldOp
from et_ir.dialects.control.types import slice_type
from et_ir.dialects.executorch import JumpFalseOp, JumpOp, KernelCallOp, is_register
from et_ir.dialects.executorch.instructions import RegisterAccess
from et_ir.dialects.executorch.layout import Tensor, nbytes
from et_ir.dialects.schema.tensors import is_static, is_tensor
from et_ir.passes.raising.calls import CannotRaise

if TYPE_CHECKING:
    from et_ir.passes.raising.method import MethodRaiser

__all__ = ["raise_loop"]

_ADD: Final = "executorch_prim::add.Scalar"
_EQ: Final = "executorch_prim::eq.Scalar"
_GT: Final = "executorch_prim::gt.Scalar"
_SELECT: Final = "aten::select_copy.int_out"
_PUT: Final = "executorch_prim::et_copy_index.tensor"

_SOURCE: Final = "compile the program from its source"


def raise_loop(method: MethodRaiser, header: Block) -> Block:
    """Raise the loop that begins with a block. Returns the block behind it; raises `CannotRaise`."""
    blocks = _natural_loop(method, header)
    latches = [block for block in blocks if header in method.live.successors(block)]
    first = header.last_op
    if len(latches) == 1:
        last = latches[0].last_op
        if isinstance(first, JumpFalseOp) and first.target not in blocks and isinstance(last, JumpOp):
            return _while(method, header, blocks, first)
        if isinstance(last, JumpFalseOp) and last.target is header and last.fallthrough not in blocks:
            return _scan(method, header, blocks, last)
    method.now = first or method.plan
    raise CannotRaise("[raise_c5] these jumps are neither a condition nor a loop of a known form", _SOURCE)


def _natural_loop(method: MethodRaiser, header: Block) -> list[Block]:
    """The blocks from which a way leads back to the header, without those before it."""
    blocks = method.live.blocks
    found = {header}
    pending = [block for block in blocks if header in method.live.successors(block)]
    pending = [block for block in pending if blocks.index(block) >= blocks.index(header)]
    while pending:
        block = pending.pop()
        if block not in found:
            found.add(block)
            pending += [other for other in blocks if block in method.live.successors(other)]
    return [block for block in blocks if block in found]


def _written(method: MethodRaiser, blocks: Sequence[Block]) -> list[SSAValue]:
    """Registers that the instructions of blocks write."""
    found: dict[SSAValue, None] = {}
    for block in blocks:
        for op in block.ops:
            if not is_register(op) and isinstance(op, RegisterAccess):
                found |= dict.fromkeys(op.writes)
    return list(found)


def _carried(
    method: MethodRaiser, blocks: Sequence[Block], live: Sequence[SSAValue], without: Sequence[SSAValue]
) -> list[SSAValue]:
    """The registers among those that are live whose content the blocks change."""
    written = [register for register in _written(method, blocks) if register not in without]

    def is_changed(register: SSAValue) -> bool:
        return any(
            register is other
            or (is_tensor(register.type) and is_tensor(other.type) and _overlap(method, register, other))
            for other in written
        )

    return [register for register in dict.fromkeys(live) if register not in without and is_changed(register)]


def _overlap(method: MethodRaiser, one: SSAValue, other: SSAValue) -> bool:
    a, b = method.location(one), method.location(other)
    return (
        a.space == b.space
        and a.start < b.start + nbytes(cast(Tensor, other.type))
        and b.start < a.start + nbytes(cast(Tensor, one.type))
    )


def _types(values: Sequence[SSAValue]) -> list[Attribute]:
    return [value.type for value in values]


def _bind(method: MethodRaiser, registers: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
    for register, value in zip(registers, values, strict=True):
        method.contents.bindings.pop(register, None)
        method.define(register, value)


def _while(method: MethodRaiser, header: Block, blocks: Sequence[Block], jump: JumpFalseOp) -> Block:
    carried = _carried(method, blocks, method.live.at(header), ())
    inits = [method.value(register) for register in carried]
    outside, before = method.block, method.contents
    regions: list[Region] = []
    for is_body in (False, True):
        method.block, method.contents = Block(arg_types=_types(inits)), before.copy()
        regions.append(Region(method.block))
        _bind(method, carried, method.block.args)
        method.run_block(header)
        method.now = jump
        if is_body:
            method.run_from(jump.fallthrough, header, header)
            method.now = jump
            yielded = [method.value(register) for register in carried]
        else:
            yielded = [method.value(jump.condition)]
        method.insert(YieldOp(yielded))
    method.block, method.contents = outside, before
    made = WhileOp(inits, *regions)
    method.insert(made)
    _bind(method, carried, made.outputs)
    method.run_block(header)  # which has run once more than the body
    return jump.target


def _scan(method: MethodRaiser, header: Block, blocks: Sequence[Block], jump: JumpFalseOp) -> Block:
    add, eq = _counting(jump)
    count = add.returned[0]
    calls = [op for block in blocks for op in block.ops if isinstance(op, KernelCallOp)]
    selects = [op for op in calls if op.key == _SELECT and op.arguments[1:] == [0, count]]
    puts = [op for op in calls if op.key == _PUT and op.arguments[2] is count]
    uses = [op for op in calls if count in op.operands and op not in (*selects, *puts, add, eq)]
    method.now = jump
    if any(
        op.key == _GT and op.arguments == [count, 0] for op in uses
    ):  # only the first turn sizes the stacks
        raise _sizes_at_run_time()
    if uses or not selects or method.contents.scalars.get(count) != 0:
        method.now = uses[0] if uses else jump
        raise CannotRaise("[raise_c5] this loop does more with its count than to take slices by it", _SOURCE)
    stacks = [op.inputs[0] for op in puts]
    live = [*method.live.at(header), *method.live.at(jump.fallthrough)]
    without = (count, *eq.returned, *stacks)
    carried = _carried(method, blocks, live, without)
    changed = _carried(method, blocks, [op.inputs[0] for op in selects], without)
    if changed or len(set(stacks)) != len(stacks):
        raise CannotRaise("[raise_c5] this loop takes slices of what it changes", _SOURCE)
    inits = [method.value(register) for register in carried]
    sequences = [method.value(op.inputs[0]) for op in selects]
    slices = [slice_type(value.type) for value in sequences if is_tensor(value.type)]
    outside, before = method.block, method.contents
    turns = eq.arguments[1]
    length: Any = method.read(turns) if isinstance(turns, SSAValue) else turns
    method.block, method.contents = Block(arg_types=[*_types(inits), *slices]), before.copy()
    body = method.block
    _bind(method, carried, body.args[: len(inits)])
    items: dict[Operation, SSAValue] = {}

    def take(op: KernelCallOp) -> None:
        method.define(op.outs[0], body.args[len(inits) + selects.index(op)])

    def put(op: KernelCallOp) -> None:
        items[op] = method.value(op.inputs[1])

    def skip(_: KernelCallOp) -> None:
        """Do nothing: the scan itself counts."""

    method.steps |= dict.fromkeys(selects, take) | dict.fromkeys(puts, put) | {add: skip, eq: skip}
    method.run_from(header, None, header)
    method.now = jump
    if len(items) != len(puts):
        raise CannotRaise("[raise_c5] this loop does not write its results in each turn", _SOURCE)
    yielded = [method.value(register) for register in carried]
    method.insert(YieldOp([*yielded, *(items[op] for op in puts)]))
    method.block, method.contents = outside, before
    made = ScanOp(inits, sequences, [_stack_type(items[op], length) for op in puts], Region(body))
    method.insert(made)
    _bind(method, carried, made.carried)
    _bind(method, stacks, made.stacked)
    method.contents.scalars[count] = length
    return jump.fallthrough


def _stack_type(item: SSAValue, length: Any) -> Attribute:
    """The type of a stack of items. Raises `CannotRaise` for sizes known at run time only."""
    type = item.type
    if not is_tensor(type) or not is_static(type) or not isinstance(length, int):
        raise _sizes_at_run_time()
    return TensorType(type.element_type, [length, *type.get_shape()])


def _sizes_at_run_time() -> CannotRaise:
    return CannotRaise("[raise_c4] this loop stacks results whose sizes are known at run time only", _SOURCE)


def _counting(jump: JumpFalseOp) -> tuple[KernelCallOp, KernelCallOp]:
    """The instructions before a jump that count a turn and compare with the number of turns. Raises `CannotRaise`."""
    eq = jump.prev_op
    add = None if eq is None else eq.prev_op
    if (
        isinstance(eq, KernelCallOp)
        and isinstance(add, KernelCallOp)
        and (add.key, eq.key) == (_ADD, _EQ)
        and eq.returned == (jump.condition,)
        and add.arguments[0] is add.returned[0]
        and add.arguments[1] in (1,)
        and eq.arguments[0] is add.returned[0]
    ):
        return add, eq
    raise CannotRaise("[raise_c5] this loop does not count its turns", _SOURCE)
