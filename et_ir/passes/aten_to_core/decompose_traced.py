"""Decompose to Core ATen by tracing torch's own decompositions. This is for operators without a pattern.

For each op that is not Core ATen, torch's operator is called on tensors of the operands' types, decomposed,
and the operators it comes down to take the op's place: core ones, leaves (`et_ops/leaves.txt`), and ones that
`decompose` has a pattern for, which runs again afterwards. An op that torch cannot decompose into these stays, and so
does one for which it only can for some of the sizes that are known at run time only, within the ranges of their
symbols; `verify-core-aten` reports them.

```mlir
%1 = aten.logit %0 {eps = 0.5} : tensor<4xf32>
```
becomes
```mlir
%1 = aten.lt.Scalar %0 {other = 0.5} : (tensor<4xf32>) -> tensor<4xi1>
%2 = aten.gt.Scalar …
…
```
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.aten import AtenOp
from et_ir.dialects.program import Globals
from et_ir.passes.aten_to_core.decompose import DECOMPOSITIONS
from et_ir.rewriting import rewrite
from et_ops.leaves import LEAVES

__all__ = ["LAST_RESORT", "DecomposeTracedPass", "TracedDecomposition"]


LAST_RESORT: Final = frozenset(LEAVES) | {cls.name.removeprefix("aten.") for cls in DECOMPOSITIONS}
"""Operators that a decomposition may come down to where torch has none for them."""


@dataclass
class TracedDecomposition(RewritePattern):
    """Replaces an op by torch's decomposition of it. Torch is imported by the first op that matches."""

    symbols: Globals
    preserve: frozenset[str]
    chosen: Collection[Operation] | None = None
    """The only ops to decompose, whether their operator is preserved elsewhere or not; None for all."""
    roots: ClassVar = (AtenOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, AtenOp) or not self._is_chosen(op):
            return
        from et_ir.frontend.decomposition import derive

        preserve = self.preserve - {op.operator.name}
        derived = derive(op, self.symbols, preserve, LAST_RESORT)
        if derived is not None:
            rewriter.replace(op, *derived)

    def _is_chosen(self, op: AtenOp) -> bool:
        if op.operator.namespace != "aten" or op.operator.is_core:
            return False
        return op.operator.name not in self.preserve if self.chosen is None else op in self.chosen


@dataclass(frozen=True)
class DecomposeTracedPass(ModulePass):
    """Decompose the rest by torch's own decompositions."""

    name = "decompose-traced"

    preserve: tuple[str, ...] = ()
    """Operators to leave as they are though they are not core, as `linear` or `upsample_bilinear2d.vec`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [TracedDecomposition(Globals(op), frozenset(self.preserve))])
