"""Instruction order of a planned method.

It says which ops of a plan become instructions of the file, and at which index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import Block, Operation

from et_ir.dialects.executorch import JumpOp, RegisterOp, ReturnOp

__all__ = ["Order", "instruction_order"]


class Order(NamedTuple):
    """The instructions of each block, and the index of the first."""

    instructions: dict[Block, list[Operation]]
    starts: dict[Block, int]


def instruction_order(blocks: Sequence[Block]) -> Order:
    """The ops of blocks that the file has an instruction for: not registers, the return, or a jump to what comes next
    anyway, also where blocks without instructions lie between.
    """
    found: dict[Block, list[Operation]] = {}
    to_the_end: dict[Block, int] = {}
    count = 0
    for block in reversed(blocks):
        kept: list[Operation] = []
        for op in reversed([*block.ops]):
            if isinstance(op, (RegisterOp, ReturnOp)):
                continue
            if isinstance(op, JumpOp) and to_the_end.get(op.target) == count:
                continue
            kept.append(op)
            count += 1
        found[block] = kept[::-1]
        to_the_end[block] = count
    return Order(
        {block: found[block] for block in blocks}, {block: count - to_the_end[block] for block in blocks}
    )
