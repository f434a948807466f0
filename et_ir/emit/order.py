"""Which ops of a plan become instructions of the file, and at which index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Block, Operation

from et_ir.dialects.executorch import JumpOp, RegisterOp, ReturnOp

__all__ = ["block_starts", "instructions"]


def instructions(block: Block) -> Iterator[Operation]:
    """The ops of a block that the file has an instruction for: not registers, the return, or a jump to the next
    block.
    """
    for op in block.ops:
        if isinstance(op, RegisterOp | ReturnOp) or (
            isinstance(op, JumpOp) and block.next_block is op.target
        ):
            continue
        yield op


def block_starts(blocks: Sequence[Block]) -> dict[Block, int]:
    """The index of the instruction at which each block starts."""
    starts: dict[Block, int] = {}
    count = 0
    for block in blocks:
        starts[block] = count
        count += sum(1 for _ in instructions(block))
    return starts
