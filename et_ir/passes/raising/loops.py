"""Recovery of loops from jumps back: `control.while` and `control.scan`.

A loop that begins with its condition is a `control.while`. One that ends with it, and counts its turns, goes over the
slices of tensors: it is a `control.scan`, whose stacks are what it writes by the number of the turn. Values that are
written in a loop and read in the next turn, or behind the loop, are carried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from et_ir.dialects.control import ScanOp, WhileOp, YieldOp
from et_ir.dialects.control.types import slice_type
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.executorch import JumpFalseOp, JumpOp, KernelCallOp, is_register
from et_ir.dialects.executorch.instructions import RegisterAccess
from et_ir.dialects.executorch.layout import Tensor, nbytes
from et_ir.dialects.schema.inference import size_of
from et_ir.dialects.schema.tensors import Size, is_tensor, sized_tensor, sizes_of, tensor_type
from et_ir.passes.raising.calls import CannotRaise
from et_ops.sizes import Expression

if TYPE_CHECKING:
    from et_ir.passes.raising.method import MethodRaiser

__all__ = ["loop_behind", "raise_loop"]

_ADD: Final = "executorch_prim::add.Scalar"
_EQ: Final = "executorch_prim::eq.Scalar"
_GT: Final = "executorch_prim::gt.Scalar"
_SELECT: Final = "aten::select_copy.int_out"
_PUT: Final = "executorch_prim::et_copy_index.tensor"
_EMPTY: Final = "aten::empty.out"
_SIZE: Final = "aten::sym_size.int"

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


def _initial(
    method: MethodRaiser, carried: Sequence[SSAValue], after: Sequence[SSAValue]
) -> tuple[list[SSAValue], list[SSAValue]]:
    """The registers of those that may be carried that have a value before the loop, and the values.

    Memory that has none is written in each turn before it is read: in parts, so that it seems to be carried.
    """
    registers: list[SSAValue] = []
    values: list[SSAValue] = []
    for register in carried:
        try:
            value = method.value(register)
        except CannotRaise:
            if register in after:
                raise
            continue
        registers.append(register)
        values.append(value)
    return registers, values


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
    carried, inits = _initial(method, carried, method.live.at(jump.target))
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


def loop_behind(method: MethodRaiser, jump: JumpFalseOp) -> Block | None:
    """The header of a loop over slices that a jump leads to unless there are none: a scan has no turns then itself."""
    header, eq = jump.target, jump.prev_op
    if not method.live.is_loop_header(header) or not isinstance(eq, KernelCallOp) or eq.key != _EQ:
        return None
    latches = [block.last_op for block in method.live.blocks if header in method.live.successors(block)]
    ends = [
        one for one in latches if isinstance(one, JumpFalseOp) and one.target is header and one is not jump
    ]
    if eq.returned != (jump.condition,) or len(ends) != 1:
        return None
    last = ends[0].prev_op
    is_length = isinstance(last, KernelCallOp) and last.key == _EQ and last.arguments[1] is eq.arguments[0]
    around = _way(jump.fallthrough)
    return header if is_length and eq.arguments[1] == 0 and around is _way(ends[0].fallthrough) else None


def _way(block: Block) -> Block:
    """Where a block leads that does nothing but jump; another is that itself."""
    only = block.first_op
    return only.target if isinstance(only, JumpOp) else block


def _scan(method: MethodRaiser, header: Block, blocks: Sequence[Block], jump: JumpFalseOp) -> Block:
    add, eq = _counting(jump)
    count, turns = add.returned[0], eq.arguments[1]
    calls = [op for block in blocks for op in block.ops if isinstance(op, KernelCallOp)]
    selects = [op for op in calls if op.key == _SELECT and op.arguments[1:] == [0, count]]
    puts = [op for op in calls if op.key == _PUT and op.arguments[2] is count]
    stacks = [op.inputs[0] for op in puts]
    sizings = [op for op in calls if op.key == _GT and op.arguments == [count, 0]]
    ways = [_later_turns(method, one, stacks) for one in sizings]
    uses = [op for op in calls if count in op.operands and op not in (*selects, *puts, *sizings, add, eq)]
    method.now = jump
    if uses or not selects or method.contents.scalars.get(count) != 0:
        method.now = uses[0] if uses else jump
        raise CannotRaise("[raise_c5] this loop does more with its count than to take slices by it", _SOURCE)
    live = [*method.live.at(header), *method.live.at(jump.fallthrough)]
    without = (count, *eq.returned, *stacks)
    carried = _carried(method, blocks, live, without)
    changed = _carried(method, blocks, [op.inputs[0] for op in selects], without)
    if changed or len(set(stacks)) != len(stacks) or turns in _written(method, blocks):
        raise CannotRaise("[raise_c5] this loop takes slices of what it changes", _SOURCE)
    _check_reads(method, blocks, puts)
    method.now = jump
    carried, inits = _initial(method, carried, method.live.at(jump.fallthrough))
    sequences = [method.value(op.inputs[0]) for op in selects]
    length: Any = method.read(turns) if isinstance(turns, SSAValue) else turns
    lengths = [_length(sequence, length) for sequence in sequences]
    slices = [slice_type(tensor_type(sequence)) for sequence in sequences]
    outside, before = method.block, method.contents
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

    method.steps |= dict.fromkeys(selects, take) | dict.fromkeys(puts, put)
    method.steps |= dict.fromkeys((add, eq, *sizings), skip)
    method.ways |= ways
    method.run_from(header, None, header)
    method.now = jump
    if len(items) != len(puts):
        raise CannotRaise("[raise_c5] this loop does not write its results in each turn", _SOURCE)
    yielded = [method.value(register) for register in carried]
    method.insert(YieldOp([*yielded, *(items[op] for op in puts)]))
    method.block, method.contents = outside, before
    made = ScanOp(inits, sequences, [_stack_type(items[op], lengths[0]) for op in puts], Region(body))
    method.insert(made)
    _bind(method, carried, made.carried)
    _bind(method, stacks, made.stacked)
    method.contents.scalars[count] = length
    return jump.fallthrough


def _check_reads(method: MethodRaiser, blocks: Sequence[Block], puts: Sequence[KernelCallOp]) -> None:
    """Raise `CannotRaise` for a loop that reads what it has stacked in earlier turns."""
    stacks, written = [op.inputs[0] for op in puts], _written(method, blocks)
    for block in blocks:
        for op in block.ops:
            if is_register(op) or not isinstance(op, RegisterAccess) or op in puts:
                continue
            for register in op.reads:
                if register in stacks or (
                    is_tensor(register.type)
                    and register not in written
                    and any(_overlap(method, register, stack) for stack in stacks)
                ):
                    method.now = op
                    raise CannotRaise("[raise_c5] this loop reads what it stacks", _SOURCE)


def _later_turns(
    method: MethodRaiser, sizing: KernelCallOp, stacks: Sequence[SSAValue]
) -> tuple[JumpFalseOp, Block]:
    """The jump by which the first turn alone gives empty stacks the sizes of their items, as a scan does itself, and
    where it leads in later ones. Raises `CannotRaise` for one that does more.
    """
    jump = sizing.next_op
    method.now = sizing
    if isinstance(jump, JumpFalseOp) and sizing.returned == (jump.condition,):
        first = [op for op in jump.target.ops if not isinstance(op, JumpOp)]
        join = _way(jump.fallthrough)
        written = {register for op in first if isinstance(op, RegisterAccess) for register in op.writes}
        is_alone = not written.difference(stacks).intersection(method.live.at(join))
        if is_alone and method.live.successors(jump.target) == (join,) and all(map(_sizes_only, first)):
            return jump, jump.fallthrough
    raise CannotRaise("[raise_c5] this loop does more in its first turn than to size what it stacks", _SOURCE)


def _sizes_only(op: Operation) -> bool:
    """Whether an instruction reads a size, or gives a tensor sizes and no content."""
    return isinstance(op, KernelCallOp) and op.key in (_SIZE, _EMPTY)


def _length(sequence: SSAValue, turns: Any) -> Size:
    """The number of slices of a sequence. Raises `CannotRaise` if it is not known to be the number of turns."""
    size = next(iter(sizes_of(tensor_type(sequence))), None)
    if not isinstance(turns, SSAValue):
        is_known = size == turns
    elif size is None:
        reads = turns.owner
        is_known = isinstance(reads, EdgeOp) and reads.operands[:1] == (sequence,)
    else:
        is_known = size_of(cast("SSAValue[Attribute]", turns)) == (
            Expression.of(size) if isinstance(size, int) else size
        )
    if not is_known:
        raise CannotRaise("[raise_c5] this loop is not known to take all slices of a tensor", _SOURCE)
    return size


def _stack_type(item: SSAValue, length: Size) -> Attribute:
    """The type of a stack of items. Raises `CannotRaise` for those in another layout."""
    type = item.type
    if not is_tensor(type) or dim_order_of(type) != contiguous(type.get_num_dims()):
        raise CannotRaise(f"[raise_c5] this loop stacks results of type {type}", _SOURCE)
    return sized_tensor(type.element_type, [length, *sizes_of(type)])


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
