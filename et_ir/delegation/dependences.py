"""Dependence graph of a block.

Ops depend on each other by values, also those that regions use, and by effects on state.

Ops that are copied to wherever they are used (`is_copied`) are no nodes of the graph. What they need is needed by who
uses them.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.traits import EffectInstance, MemoryEffectKind, Pure, get_effects

from et_ir.dialects.program import ComputeOp, GetOp, LiteralOp, RangeOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor

__all__ = ["Dependences", "is_copied", "is_statement", "outer_operands"]


def is_copied(op: Operation) -> bool:
    """Whether a partition computes an op again by itself: constants, and what tells a size or is computed of sizes."""
    if isinstance(op, GetOp | LiteralOp | ComputeOp):
        return True
    return isinstance(op, SchemaOp) and op.operator.facts.reads_sizes


def is_statement(op: Operation) -> bool:
    """Whether an op says something of a number, and computes nothing."""
    return isinstance(op, RangeOp)


def outer_operands(op: Operation) -> Iterator[SSAValue]:
    """The values that an op uses, and those from outside of it that its regions use."""
    yield from op.operands
    for region in op.regions:
        for inner in region.walk():
            for value in inner.operands:
                if not op.is_ancestor(value.owner):
                    yield value


class Dependences:
    """The ops of a block that are nodes, in their order, and the numbers of the nodes that each needs."""

    def __init__(self, block: Block):
        self.block = block
        last = block.last_op
        self.ops = [op for op in block.ops if not is_copied(op) and not is_statement(op) and op is not last]
        self.index = {op: number for number, op in enumerate(self.ops)}
        self._of_copied: dict[Operation, frozenset[int]] = {}
        self.arguments: list[set[SSAValue]] = []
        """The arguments of the block that each node uses, and values from around it."""
        self.before: list[set[int]] = []
        state = _StateOrder()
        for number, op in enumerate(self.ops):
            outside: set[SSAValue] = set()
            needed = {found for value in outer_operands(op) for found in self._source(value, outside)}
            needed.update(state.add(number, op))
            needed.discard(number)
            self.before.append(needed)
            self.arguments.append(outside)

    def _source(self, value: SSAValue, outside: set[SSAValue]) -> frozenset[int]:
        """The nodes that a value comes from."""
        owner = None if isinstance(value, BlockArgument) else value.owner
        if not isinstance(owner, Operation) or owner.parent is not self.block:
            if is_tensor(value.type):
                outside.add(value)
            return frozenset()
        number = self.index.get(owner)
        if number is not None:
            return frozenset((number,))
        found = self._of_copied.get(owner)
        if found is None:
            sources = [self._source(operand, set()) for operand in owner.operands]
            found = self._of_copied[owner] = frozenset[int]().union(*sources)
        return found


class _StateOrder:
    """The order that effects demand: a write stays behind the reads before it, a read behind the write."""

    def __init__(self) -> None:
        self._writes: dict[Attribute, int] = {}
        self._reads: dict[Attribute, list[int]] = {}
        self._barrier: int | None = None
        self._since: list[int] = []
        """Ops with effects since the last one whose effects are not known."""

    def add(self, number: int, op: Operation) -> set[int]:
        """The nodes that an op stays behind."""
        if not op.regions and op.get_traits_of_type(Pure):
            return set()
        effects = get_effects(op)
        if effects is not None and not effects:
            return set()
        symbols = [_symbol(effect) for effect in effects or ()]
        if effects is None or None in symbols:
            if effects and all(effect.kind is MemoryEffectKind.READ for effect in effects):
                # Draws random numbers: in what order is nobody's business.
                return set()
            needed = set(self._since)
            if self._barrier is not None:
                needed.add(self._barrier)
            self._barrier, self._since = number, []
            return needed
        needed = set[int]() if self._barrier is None else {self._barrier}
        self._since.append(number)
        for effect, symbol in zip(effects, symbols, strict=True):
            assert symbol is not None
            if symbol in self._writes:
                needed.add(self._writes[symbol])
            if effect.kind is MemoryEffectKind.READ:
                self._reads.setdefault(symbol, []).append(number)
            else:
                needed.update(self._reads.pop(symbol, ()))
                self._writes[symbol] = number
        return needed


def _symbol(effect: EffectInstance) -> Attribute | None:
    value: object = effect.value
    return value if isinstance(value, Attribute) else None
