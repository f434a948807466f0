"""Reads of bytes that several registers write in full.

What runs a plan sees registers and their bytes, not which is a view of which. A register that is read without having
been written shows what others have left there; one that is written is taken to hold that until its next read, and
others that write the same bytes meanwhile for a clash. Where one register leaves what another reads, as when a loop
computes in a view what it was given in the register itself, reads go through a view that nothing writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue

from et_ir.analysis.aliasing import extent_of, has_exact_size, root_of
from et_ir.dialects.executorch import AllocOp, Instruction, KernelCallOp, PlanOp, ViewOp, is_instruction

__all__ = ["read_through_views"]


def read_through_views(plan: PlanOp) -> None:
    """Read through a view what a register holds that was written by way of another, if it is written itself, too."""
    written: dict[SSAValue, dict[SSAValue, None]] = {}
    bound: set[SSAValue] = set()
    for op in plan.instructions:
        for register in op.writes:
            written.setdefault(root_of(register), {})[register] = None
        bound.update(root_of(register) for register in op.bound)
    registers = [
        register
        for root, several in written.items()
        if len(several) > 1 and root not in bound
        for register in several
    ]
    if registers:
        for register in _foreign(plan, registers):
            _read_through_view(register)


def _foreign(plan: PlanOp, registers: Sequence[SSAValue]) -> list[SSAValue]:
    """Those of some registers that are needed where another writes their bytes, after having been written."""
    followed = frozenset(registers)
    blocks = {block: [op for op in block.ops if is_instruction(op)] for block in plan.blocks}
    live_in = _live_in(blocks, followed)
    given = live_in[plan.blocks[0]]
    found: set[SSAValue] = set()
    for block, body in blocks.items():
        live = _live_out(block, live_in)
        for op in reversed(body):
            for register in followed.intersection(op.writes):
                if register not in given or register not in _read(op):
                    found.update(other for other in live - given if _overlap(register, other))
            live = _before(op, live, followed)
    return [
        register
        for register in registers
        if register in found and isinstance(register.owner, AllocOp | ViewOp) and has_exact_size(register)
    ]


def _live_in(
    blocks: dict[Block, list[Instruction]], followed: frozenset[SSAValue]
) -> dict[Block, frozenset[SSAValue]]:
    """The registers that are read, from the start of each block on, before they are written themselves."""
    live_in: dict[Block, frozenset[SSAValue]] = dict.fromkeys(blocks, frozenset[SSAValue]())
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            live = _live_out(block, live_in)
            for op in reversed(blocks[block]):
                live = _before(op, live, followed)
            if live != live_in[block]:
                live_in[block] = live
                changed = True
    return live_in


def _live_out(block: Block, live_in: Mapping[Block, frozenset[SSAValue]]) -> frozenset[SSAValue]:
    last = block.last_op
    successors = last.successors if last is not None else ()
    return frozenset[SSAValue]().union(*(live_in[successor] for successor in successors))


def _before(op: Instruction, live: frozenset[SSAValue], followed: frozenset[SSAValue]) -> frozenset[SSAValue]:
    return (live - frozenset(op.writes)) | followed.intersection(_read(op))


def _read(op: Instruction) -> Sequence[SSAValue]:
    """The registers that an instruction is given: those that it writes in place, too."""
    return op.inputs if isinstance(op, KernelCallOp) else op.reads


def _overlap(one: SSAValue, other: SSAValue) -> bool:
    first, second = extent_of(one), extent_of(other)
    return (
        one is not other
        and first.root is second.root
        and first.first < second.end
        and second.first < first.end
    )


def _read_through_view(register: SSAValue) -> None:
    """Let instructions have a view instead of a register that they do not only write."""
    extent = extent_of(register)
    owner = register.owner
    assert isinstance(owner, Operation)
    block = owner.parent_block()
    assert block is not None
    view = ViewOp(extent.root, register.type, start=extent.first)
    view.location = owner.location
    block.insert_op_after(view, owner)
    for use in tuple(register.uses):
        op = use.operation
        if is_instruction(op) and register in _read(op):
            op.operands[use.index] = view.result
