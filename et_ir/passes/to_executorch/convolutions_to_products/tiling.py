"""Tile sizes of windowed operators under a memory limit.

The limit is on the memory that the copies of a tile take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation

from et_ir.analysis.memory_allowance import MemoryAllowance
from et_ir.analysis.memory_graph import MemoryGraph, bytes_of_value
from et_ir.dialects.edge.attributes import MEMORY

__all__ = ["Copies", "TileBudget", "tile_budgets"]


@dataclass(frozen=True)
class Copies:
    """Bytes that a tiled operator copies: `each` for one of `count` units, `tile` more for each tile, `whole` once.

    What is copied once is needed instead of the image.
    """

    count: int
    each: int
    tile: int = 0
    whole: int = 0
    urgent: bool = False
    """Whether the operator takes a hundred times as long as it is, so that memory is well spent on it."""


@dataclass(frozen=True)
class TileBudget:
    """The memory available to a tiled operator of an image, whose tiles are concatenated at the end.

    `others` is what everything else takes meanwhile; `image` is what the image takes until it has been copied, 0 if
    it stays anyway and is among the others. All together may be `limit`, None for as much as there is. `workspace` is
    for the copies for one tile.
    """

    others: int
    image: int
    result: int
    workspace: int
    limit: int | None = None

    def step(self, copies: Copies) -> int:
        """The units of the largest tile that fits: 0 if none does."""
        if copies.each == 0:
            return copies.count
        most = min(copies.count, max(1, self.workspace // copies.each))
        if self.limit is None:
            return most
        free = self.limit - self.others
        if self.image + copies.whole > free:
            return 0
        kept = copies.whole or self.image
        fitting = min(most, (free - kept - copies.tile - self.result) // copies.each)
        # The tiles and their concatenation are needed at once, the image is not.
        return 0 if fitting < copies.count and 2 * self.result > free else max(0, fitting)

    def least(self, copies: Copies) -> int:
        """The smallest limit in which the operator fits, tiled or as one."""
        kept = (copies.whole or self.image) + self.result
        one = kept + copies.tile + copies.count * copies.each
        tiled = max(kept + copies.tile + copies.each, 2 * self.result)
        return self.others + max(self.image + copies.whole, min(one, tiled))


def tile_budgets(
    module: ModuleOp,
    copies: Callable[[Operation], Sequence[Copies]],
    target: str,
    workspace: int,
    headroom: int,
    memory: MemoryAllowance,
) -> dict[Operation, TileBudget]:
    """The budget of each op that may be tiled; `copies` gives what it copies in each of its forms, nothing for others.

    The limit is that of its block: the peak of its live bytes, and `headroom` bytes, or more if `memory` says so,
    or the attribute `edge.memory` of the op around it.
    """
    by_block: dict[Block, dict[Operation, Sequence[Copies]]] = {}
    for op in module.walk():
        found = copies(op)
        if found and op.parent is not None:
            by_block.setdefault(op.parent, {})[op] = found
    result: dict[Operation, TileBudget] = {}
    for block, ops in by_block.items():
        graph = MemoryGraph(block, target)
        free = {op: _budget_at(op, graph, workspace) for op in ops}
        around = block.parent_op()
        noted = around.attributes.get(MEMORY) if around is not None and memory != "peak" else None
        limit = max(graph.peak + headroom, noted.value.data if isinstance(noted, IntegerAttr) else 0)
        if memory == "fast":
            least = (
                min(each.least(way) for way in ops[op]) for op, each in free.items() if ops[op][0].urgent
            )
            limit = max([limit, *least])
        result.update(
            {op: replace(each, limit=None if memory == "any" else limit) for op, each in free.items()}
        )
    return result


def _budget_at(op: Operation, graph: MemoryGraph, workspace: int) -> TileBudget:
    """The budget of an op of a block, without a limit."""
    result = bytes_of_value(op.results[0])
    # Results that nothing uses go with the op.
    unused = sum(bytes_of_value(other) for other in op.results[1:])
    # If nothing else needs the image, it is gone once it has been copied.
    image = bytes_of_value(op.operands[0]) if graph.ends_at(op.operands[0], op) else 0
    return TileBudget(graph.needs[graph.number[op]] - result - unused - image, image, result, workspace)
