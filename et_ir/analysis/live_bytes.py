"""Peak live bytes of a block before memory planning.

A value is needed from the op that makes it to the last op that uses it or a view of it; arguments are needed from the
start. Constants and state have memory of their own, and what is computed at run time only is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from math import prod

from xdsl.ir import Block, Operation, SSAValue

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.program import GetOp, LoadOp
from et_ir.dialects.program.attributes import item_size
from et_ir.dialects.schema.tensors import is_tensor

__all__ = ["LiveBytes", "bytes_of_value"]


def bytes_of_value(value: SSAValue) -> int:
    """The bytes of a tensor of known size, 0 for anything else."""
    type = value.type
    if not is_tensor(type):
        return 0
    shape = type.get_shape()
    return prod(shape) * item_size(type.element_type) if min(shape, default=0) >= 0 else 0


class LiveBytes:
    """The bytes that are needed at each op of a block; computed in two walks.

    `over` says for each kernel which of its arguments a result may be written over (`Target.in_place`): where
    nothing needs such an argument afterwards, and it is no argument of the block, the result is counted as its memory.
    """

    def __init__(self, block: Block, over: Mapping[str, frozenset[str]] | None = None):
        self._place: dict[Operation, int] = {}
        self._roots: dict[SSAValue, SSAValue] = {}
        self._last: dict[SSAValue, int] = dict.fromkeys(block.args, 0)
        first: dict[SSAValue, int] = dict.fromkeys(block.args, 0)
        for place, op in enumerate(block.ops):
            self._place[op] = place
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
        for op in block.ops:
            written = self._written_over(op, over or {})
            if written is not None and written in first and written not in block.args:
                del first[op.results[0]]
                self._last[written] = self._last.pop(op.results[0])
                self._roots[op.results[0]] = written
        changes = [0] * (len(self._place) + 1)
        for value, start in first.items():
            size = bytes_of_value(value)
            changes[start] += size
            changes[self._last[value] + 1] -= size
        self._bytes = list(accumulate(changes))
        self.peak = max(self._bytes)
        """The most that any op needs."""

    def _written_over(self, op: Operation, over: Mapping[str, frozenset[str]]) -> SSAValue | None:
        """The value whose memory the result of an op can have, as it is needed here for the last time."""
        if not isinstance(op, EdgeOp) or len(op.results) != 1:
            return None
        for name in over.get(op.operator.kernel, ()):
            given: object = op.arg(name)
            value = next((operand for operand in op.operands if operand is given), None)
            if value is None or value.type != op.results[0].type:
                continue
            others = [operand for operand in op.operands if operand is not value]
            if self.ends_at(value, op) and all(self.root(o) is not self.root(value) for o in others):
                return self.root(value)
        return None

    def root(self, value: SSAValue) -> SSAValue:
        """The value whose memory a view shows."""
        while value in self._roots:
            value = self._roots[value]
        return value

    def at(self, op: Operation) -> int:
        """Memory needed while an op of the block runs: operands, results and values used later."""
        return self._bytes[self._place[op]]

    @property
    def fullest(self) -> Operation:
        """The first op that needs the most."""
        place = self._bytes.index(self.peak)
        return next(op for op, at in self._place.items() if at == place)

    def ends_at(self, value: SSAValue, op: Operation) -> bool:
        """Whether a value that the block computes is needed by an op for the last time."""
        return self._last.get(self.root(value)) == self._place[op]
