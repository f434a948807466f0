"""Erase unused ops, and parameters, constants and unchanged buffers without readers.

Ops without effects go, and those that only read: random ops too, as nobody sees the generator's state. Ops
with regions go when nothing in them has an effect. One walk from the end of each block to its start sees
every op after all of its users.

```mlir
program.parameter @unused : tensor<4xf32> = …
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %1 = aten.relu %x : tensor<4xf32>              // before; after, neither this nor @unused
  func.return %x : tensor<4xf32>
}
```
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator, MemoryEffectKind, Pure, SymbolOpInterface, get_effects

from et_ir.dialects.program import Globals

__all__ = ["DcePass", "Effects", "erase_dead_ops"]


class Effects:
    """Trivially dead ops if unused; the answer for ops without regions depends on their class only."""

    def __init__(self) -> None:
        self.by_class: dict[type[Operation], bool] = {}

    def droppable(self, op: Operation) -> bool:
        """Whether an op does nothing but compute its results, which it may read state for."""
        if op.regions:
            return self._compute(op)
        cls = type(op)
        known = self.by_class.get(cls)
        if known is None:
            # An op that is not pure may have effects that depend on its operands.
            known = bool(op.get_traits_of_type(Pure))
            if not known:
                return self._compute(op)
            self.by_class[cls] = known
        return known

    def _compute(self, op: Operation) -> bool:
        if op.has_trait(IsTerminator, value_if_unregistered=True):
            return False
        if op.has_trait(SymbolOpInterface, value_if_unregistered=True):
            return False
        effects = get_effects(op)
        if effects is None or any(effect.kind is not MemoryEffectKind.READ for effect in effects):
            return False
        return all(
            inner.has_trait(IsTerminator) or self.droppable(inner)
            for region in op.regions
            for block in region.blocks
            for inner in block.ops
        )


def erase_dead_ops(module: ModuleOp) -> bool:
    """Erase unused ops without effects, symbols excepted; returns whether there were any."""
    effects = Effects()
    return _clean(module.body.block, effects)


def _clean(block: Block, effects: Effects) -> bool:
    changed = False
    op = block.last_op
    while op is not None:
        before = op.prev_op
        for region in op.regions:
            for inner in reversed(region.blocks):
                changed |= _clean(inner, effects)
        if op.results and all(r.first_use is None for r in op.results) and effects.droppable(op):
            block.erase_op(op)
            changed = True
        op = before
    return changed


@dataclass(frozen=True)
class DcePass(ModulePass):
    """Erase unused ops and symbols."""

    name = "dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        erase_dead_ops(op)
        Globals(op).drop_unused()
