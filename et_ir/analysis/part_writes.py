"""Where memory that is written part by part starts to be needed.

A concatenation may be computed in its place: kernels write views of a register, each a part of it. If each byte that is
read has been written before by instructions of the same block, what was there before the first of them is needed no
more than before a kernel that writes the whole register.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, SSAValue

from et_ir.dialects.executorch import AllocOp, Instruction, RegisterOp, ViewOp
from et_ir.dialects.executorch.layout import Tensor, nbytes

__all__ = ["extent_of", "first_parts"]

Range = tuple[int, int]
"""Bytes from and to."""


def extent_of(register: SSAValue) -> tuple[SSAValue, Range]:
    """The register whose memory a tensor register has, and the bytes of it that it has."""
    size = nbytes(cast(Tensor, register.type))
    start = 0
    owner = register.owner
    while isinstance(owner, ViewOp):
        start += owner.first_byte
        register = owner.base
        owner = register.owner
    return register, (start, start + size)


def first_parts(
    registers: Iterable[RegisterOp], instructions: Sequence[Instruction], redirected: Iterable[SSAValue]
) -> dict[Instruction, list[SSAValue]]:
    """For instructions that are the first to write a part of a register which is not read before it is written, those
    registers. `redirected` are those that come to refer to other memory than their own.
    """
    roots = {
        extent_of(out)[0]
        for op in instructions
        for out in op.writes
        if isinstance(out.owner, ViewOp) and out.owner.is_static
    }
    parts = {
        root: _Parts() for root in roots if isinstance(root.owner, AllocOp) and root not in set(redirected)
    }
    if not parts:
        return {}
    for op in registers:
        if isinstance(op, ViewOp) and not op.is_static:
            parts.pop(extent_of(op.result)[0], None)
    for op in instructions:
        # What an instruction reads, it reads before it writes.
        accesses = [(register, False) for register in op.reads] + [(register, True) for register in op.writes]
        for register, writes in accesses:
            if not isinstance(register.type, TensorType):
                continue
            root, extent = extent_of(register)
            if root in parts and not parts[root].access(op, extent, writes):
                del parts[root]
    found: dict[Instruction, list[SSAValue]] = {}
    for root, written in parts.items():
        if written.first is not None:
            found.setdefault(written.first, []).append(root)
    return found


class _Parts:
    """What has been written of one register."""

    def __init__(self) -> None:
        self.ranges: list[Range] = []
        self.first: Instruction | None = None
        self.block: Block | None = None

    def access(self, op: Instruction, extent: Range, writes: bool) -> bool:
        """Note an access. Whether it is one to what the block has written."""
        if self.block is None:
            self.block = op.parent_block()
        if op.parent_block() is not self.block:
            return False
        if writes:
            self.first = self.first or op
            self.ranges = _merged([*self.ranges, extent])
            return True
        return any(first <= extent[0] and extent[1] <= last for first, last in self.ranges)


def _merged(ranges: list[Range]) -> list[Range]:
    merged: list[Range] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged
