"""How much memory the tensors of a block need at once, before it is planned.

A value is needed from the op that makes it to the last op that uses it or a view of it; arguments are needed from the
start. Constants and state have memory of their own, and what is computed at run time only is not counted.
"""

from __future__ import annotations

from itertools import accumulate
from math import prod

from xdsl.ir import Block, Operation, SSAValue

from et_ir.dialects.edge.generated import ops as edge
from et_ir.dialects.program import GetOp, LoadOp
from et_ir.dialects.program.attributes import item_size
from et_ir.dialects.schema.tensors import is_static, is_tensor

__all__ = ["LiveBytes", "bytes_of_value"]


def bytes_of_value(value: SSAValue) -> int:
    """The bytes of a tensor of known size, 0 for anything else."""
    type = value.type
    return prod(type.get_shape()) * item_size(type.element_type) if is_tensor(type) and is_static(type) else 0


class LiveBytes:
    """The bytes that are needed at each op of a block; computed in one walk."""

    def __init__(self, block: Block):
        self._place: dict[Operation, int] = {}
        self._roots: dict[SSAValue, SSAValue] = {}
        self._last: dict[SSAValue, int] = {}
        changes: list[int] = [0]
        first: dict[SSAValue, int] = dict.fromkeys(block.args, 0)
        self._last.update(first)
        for place, op in enumerate(block.ops):
            self._place[op] = place
            changes.append(0)
            # What an op with regions uses inside of them, it needs as a whole.
            for inner in op.walk() if op.regions else (op,):
                for operand in inner.operands:
                    root = self.root(operand)
                    if root in first:
                        self._last[root] = place
            if isinstance(op, edge.ViewCopyOp):
                self._roots[op.result] = self.root(op.operands[0])
            elif not isinstance(op, GetOp | LoadOp):
                for result in op.results:
                    first[result] = self._last[result] = place
        for value, start in first.items():
            size = bytes_of_value(value)
            changes[start] += size
            changes[self._last[value] + 1] -= size
        self._bytes = list(accumulate(changes))
        self.peak = max(self._bytes)
        """The most that any op needs."""

    def root(self, value: SSAValue) -> SSAValue:
        """The value whose memory a view shows."""
        return self._roots.get(value, value)

    def at(self, op: Operation) -> int:
        """What is needed while an op of the block runs: operands, results and what later ops use."""
        return self._bytes[self._place[op]]

    def ends_at(self, value: SSAValue, op: Operation) -> bool:
        """Whether a value that the block computes is needed by an op for the last time."""
        return self._last.get(self.root(value)) == self._place[op]
