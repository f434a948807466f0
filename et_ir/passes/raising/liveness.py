"""Live registers at block boundaries of a plan's control flow graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.ir import Block, Operation, SSAValue

from et_ir.dialects.executorch import (
    InputOp,
    JumpFalseOp,
    JumpOp,
    KernelCallOp,
    PlanOp,
    ReturnOp,
    StateOp,
    is_register,
)
from et_ir.dialects.executorch.instructions import RegisterAccess
from et_ir.dialects.executorch.layout import nbytes
from et_ir.dialects.schema.tensors import is_tensor
from et_ir.passes.raising.contents import Location
from et_ops.conventions import returns_nothing

__all__ = ["LiveRegisters"]


class LiveRegisters:
    """Registers that are read later, by blocks: the classic backward data flow over registers that share memory.

    A write ends the life of every register whose bytes it covers. Nothing is computed for a plan without jumps.
    """

    def __init__(self, plan: PlanOp, location: Callable[[SSAValue], Location]):
        self.blocks = plan.blocks
        self._number = {block: number for number, block in enumerate(self.blocks)}
        self._successors = {block: _successors(block) for block in self.blocks}
        self._headers = {
            target
            for block in self.blocks
            for target in self._successors[block]
            if self._number[target] <= self._number[block]
        }
        self._location = location
        self._registers = [op.result for op in plan.registers]
        self._order = {register: number for number, register in enumerate(self._registers)}
        self._live: dict[Block, set[SSAValue]] = {block: set() for block in self.blocks}
        self._joins: dict[Block, Block | None] = {}
        if len(self.blocks) > 1:
            self._flow()
            self._joins = self._postdominators()

    def is_loop_header(self, block: Block) -> bool:
        """Whether a block is jumped back to."""
        return block in self._headers

    def successors(self, block: Block) -> Sequence[Block]:
        """The blocks that follow a block."""
        return self._successors[block]

    def at(self, block: Block) -> list[SSAValue]:
        """The registers that are live where a block begins, those with the most bytes first."""
        return sorted(self._live[block], key=lambda register: (-_bytes(register), self._order[register]))

    def join(self, block: Block) -> Block | None:
        """The first block that every way from the end of a block comes by."""
        return self._joins.get(block)

    def _flow(self) -> None:
        covered = {register: self._covered(register) for register in self._registers}
        kept = {register for register in self._registers if _is_kept(_owner(register))}
        changed = True
        while changed:
            changed = False
            for block in reversed(self.blocks):
                live: set[SSAValue] = set()
                for successor in self._successors[block]:
                    live |= self._live[successor]
                for op in reversed([*block.ops]):
                    if isinstance(op, ReturnOp):
                        live |= kept
                        live.update(value for value in op.operands)
                    elif not is_register(op) and isinstance(op, RegisterAccess):
                        reads, writes = op.reads, op.writes
                        if isinstance(op, KernelCallOp) and returns_nothing(op.key):
                            # What fills a part of a tensor neither needs the rest of it nor replaces it.
                            reads, writes = reads[1:], ()
                        for written in writes:
                            live -= covered[written]
                        live.update(reads)
                if live != self._live[block]:
                    self._live[block], changed = live, True

    def _covered(self, register: SSAValue) -> set[SSAValue]:
        """The registers all of whose bytes a register has."""
        if not is_tensor(register.type) or not _bytes(register):
            return {register}
        space, start = self._location(register)
        end = start + _bytes(register)
        found = {register}
        for other in self._registers:
            if is_tensor(other.type) and _bytes(other):
                place = self._location(other)
                if place.space == space and start <= place.start and place.start + _bytes(other) <= end:
                    found.add(other)
        return found

    def _postdominators(self) -> dict[Block, Block | None]:
        """The immediate postdominator of each block."""
        everything = set(self.blocks)
        found = {block: {block} if not self._successors[block] else everything for block in self.blocks}
        changed = True
        while changed:
            changed = False
            for block in reversed(self.blocks):
                following = [found[successor] for successor in self._successors[block]]
                if following:
                    after = {block} | set[Block].intersection(*following)
                    if after != found[block]:
                        found[block], changed = after, True
        joins: dict[Block, Block | None] = {}
        for block in self.blocks:
            rest = found[block] - {block}
            # The nearest has all the others among its own.
            joins[block] = next((one for one in rest if found[one] >= rest), None)
        return joins


def _is_kept(op: Operation) -> bool:
    """Whether a register is read when the method has ended: state, and what the caller sees."""
    return isinstance(op, StateOp) or (isinstance(op, InputOp) and op.aliased is not None)


def _owner(register: SSAValue) -> Operation:
    return cast(Operation, register.owner)


def _bytes(register: SSAValue) -> int:
    return nbytes(register.type) if is_tensor(register.type) else 0


def _successors(block: Block) -> tuple[Block, ...]:
    last = block.last_op
    if isinstance(last, JumpOp):
        return (last.target,)
    if isinstance(last, JumpFalseOp):
        return (last.fallthrough, last.target)
    return ()
