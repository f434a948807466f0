"""Basic blocks of a method and the linear order of its instructions: from one to the other and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from xdsl.ir import Block, Operation

from et_ir.dialects.executorch import ChainOp, JumpOp, ReturnOp, is_register

__all__ = ["InstructionOrder", "block_ranges", "instruction_order"]


class InstructionOrder(NamedTuple):
    """The instructions of each block, and the index of the first; the chains, and the index of the first of each."""

    instructions: dict[Block, list[Operation]]
    starts: dict[Block, int]
    chains: list[tuple[ChainOp, int]]


def instruction_order(blocks: Sequence[Block]) -> InstructionOrder:
    """The ops of blocks that the file has an instruction for: not registers, chains, the return, or a jump to what
    comes next anyway, also where blocks without instructions lie between.
    """
    found: dict[Block, list[Operation]] = {}
    to_the_end: dict[Block, int] = {}
    chains: list[tuple[ChainOp, int]] = []
    count = 0
    for block in reversed(blocks):
        kept: list[Operation] = []
        for op in reversed([*block.ops]):
            if is_register(op) or type(op) is ReturnOp:
                continue
            if type(op) is ChainOp:
                chains.append((op, count))
                continue
            if type(op) is JumpOp and to_the_end.get(op.target) == count:
                continue
            kept.append(op)
            count += 1
        found[block] = kept[::-1]
        to_the_end[block] = count
    return InstructionOrder(
        {block: found[block] for block in blocks},
        {block: count - to_the_end[block] for block in blocks},
        [(chain, count - behind) for chain, behind in reversed(chains)],
    )


def block_ranges(count: int, jumps: Mapping[int, int]) -> list[range]:
    """Basic blocks of `count` instructions, in order: each block's instructions, the last of which may be a jump.

    `jumps` has the target of each jump; a target of `count` is the end of the plan, which then is a block of
    its own, empty.
    """
    starts = {0, *jumps.values(), *(index + 1 for index in jumps)}
    bounds = [*sorted(start for start in starts if start < count), count]
    ranges = [range(first, last) for first, last in pairwise(bounds)]
    if not ranges or count in starts:
        ranges.append(range(count, count))
    return ranges
