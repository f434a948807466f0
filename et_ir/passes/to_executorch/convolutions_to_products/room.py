"""Tile sizes of windowed operators under a memory limit.

The limit is on the memory that the copies of a tile take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation

from et_ir.analysis.live_bytes import LiveBytes, bytes_of_value
from et_ir.analysis.memory_allowance import MemoryAllowance
from et_ir.analysis.memory_graph import MemoryGraph
from et_ir.dialects.edge.attributes import MEMORY
from et_ir.planning.tasks import peak_of
from et_ir.targets.registry import find_target

__all__ = ["Copies", "Room", "rooms"]


@dataclass(frozen=True)
class Copies:
    """What computing an operator in pieces copies: `each` bytes for one of `count` parts, `piece` more for each piece,
    `whole` bytes for all.

    What is copied as a whole is needed instead of the image.
    """

    count: int
    each: int
    piece: int = 0
    whole: int = 0
    urgent: bool = False
    """Whether the operator takes a hundred times as long as it is, so that memory is well spent on it."""


@dataclass(frozen=True)
class Room:
    """The memory there is while an operator of an image is computed in pieces, which are joined at the end.

    `others` is what everything else takes meanwhile; `image` is what the image takes until it has been copied, 0 if
    it stays anyway and is among the others. All together may be `limit`, None for as much as there is. `workspace` is
    for the copies of one piece.
    """

    others: int
    image: int
    result: int
    workspace: int
    limit: int | None = None

    def step(self, copies: Copies) -> int:
        """How many parts a piece may have: 0 if there is no room for one."""
        if copies.each == 0:
            return copies.count
        most = min(copies.count, max(1, self.workspace // copies.each))
        if self.limit is None:
            return most
        free = self.limit - self.others
        if self.image + copies.whole > free:
            return 0
        kept = copies.whole or self.image
        fitting = min(most, (free - kept - copies.piece - self.result) // copies.each)
        # The pieces and what they are joined to are needed at once, the image is not.
        return 0 if fitting < copies.count and 2 * self.result > free else max(0, fitting)

    def least(self, copies: Copies) -> int:
        """The smallest limit for which there are pieces, or all of it is one."""
        kept = (copies.whole or self.image) + self.result
        one = kept + copies.piece + copies.count * copies.each
        pieces = max(kept + copies.piece + copies.each, 2 * self.result)
        return self.others + max(self.image + copies.whole, min(one, pieces))


"""An attribute of a function: bytes that it may need at once, whatever its ops do; set by `split-channels`."""


def rooms(
    module: ModuleOp,
    copies: Callable[[Operation], Sequence[Copies]],
    target: str,
    workspace: int,
    room: int,
    memory: MemoryAllowance,
) -> dict[Operation, Room]:
    """The room at each op that copies something; `copies` says what, in each way that there is: nothing for ops that
    nothing is to be done to.

    The limit is found for each block: what its ops need at once anyway, and `room` bytes, or more if `memory` says so,
    or the attribute of that name of the function.
    """
    by_block: dict[Block, dict[Operation, Sequence[Copies]]] = {}
    for op in module.walk():
        found = copies(op)
        if found and op.parent is not None:
            by_block.setdefault(op.parent, {})[op] = found
    result: dict[Operation, Room] = {}
    for block, ops in by_block.items():
        live = LiveBytes(block, find_target(target).in_place)
        free = {op: _room_at(op, live, workspace) for op in ops}
        around = block.parent_op()
        noted = around.attributes.get(MEMORY) if around is not None and memory != "peak" else None
        # What is concatenated may be computed in its place.
        problem = MemoryGraph(block, target).problem(concatenate=True)
        peak = min(live.peak, peak_of(problem, range(problem.count)))
        limit = max(peak + room, noted.value.data if isinstance(noted, IntegerAttr) else 0)
        if memory == "fast":
            least = (
                min(each.least(way) for way in ops[op]) for op, each in free.items() if ops[op][0].urgent
            )
            limit = max([limit, *least])
        result.update(
            {op: replace(each, limit=None if memory == "any" else limit) for op, each in free.items()}
        )
    return result


def _room_at(op: Operation, live: LiveBytes, workspace: int) -> Room:
    """The room at an op of a block, without a limit."""
    result = bytes_of_value(op.results[0])
    # Results that nothing uses go with the op.
    unused = sum(bytes_of_value(other) for other in op.results[1:])
    # If nothing else needs the image, it is gone once it has been copied.
    image = bytes_of_value(op.operands[0]) if live.ends_at(op.operands[0], op) else 0
    return Room(live.at(op) - result - unused - image, image, result, workspace)
