"""Bring a program into canonical form, the cheapest of several.

```mlir
%1 = aten.unsqueeze %x {dim = 0} : (tensor<4xf32>) -> tensor<1x4xf32>             // before
%2 = aten.view %1 {size = [2, 2]} : (tensor<1x4xf32>) -> tensor<2x2xf32>
%3 = aten.mul.Tensor %2, %one : (tensor<2x2xf32>, i64) -> tensor<2x2xf32>

%3 = aten.view %x {size = [2, 2]} : (tensor<4xf32>) -> tensor<2x2xf32>            // after
```

Every rewrite is exact: `x * 1` is `x`, but `x + 0` is not where `x` is a float, since -0.0 + 0 is +0.0. What only
changes how data lies matters most, as copies are what portable kernels spend their time on: all that keeps the order
of elements becomes `view`, which needs no kernel when memory is planned. The families of patterns:

| module | what |
|---|---|
| `shapes.py` | views, permutations, broadcasts |
| `permutations.py` | permutations of pointwise results whose operands are permuted |
| `slices.py` | slices, selections, splits, concatenations |
| `joins.py` | concatenations of adjacent slices of one tensor |
| `identities.py` | operators that give their operand back for the sizes that it has |
| `arithmetic.py` | neutral operands, operators that undo or repeat themselves, powers |
| `updates.py` | copies into a tensor, scattered slices |
| `symbols.py` | sizes and literals that are known |
| `control.py` | branches and loops of which more is known |
| `remove_noops.py`, `prune_empty_tensors.py`, `remove_redundant_copies.py` | the passes of those names |

Patterns are applied, and dead ops erased, until nothing changes. Each either drops an op, or replaces it by one that
is lower in a fixed order (any shape operator > permutation > view), so this ends.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import RewritePattern

from et_ir.dialects.program import Globals
from et_ir.passes.common.canonicalize import (
    arithmetic,
    control,
    identities,
    joins,
    permutations,
    shapes,
    slices,
    symbols,
    updates,
)
from et_ir.passes.common.dce import erase_dead_ops
from et_ir.passes.core_to_edge import prune_empty_tensors, remove_noops, remove_redundant_copies
from et_ir.rewriting import rewrite

__all__ = ["CanonicalizePass", "patterns"]


def patterns(module: ModuleOp) -> list[RewritePattern]:
    """All patterns of the pass, for one module."""
    simple = (
        *remove_noops.PATTERNS,
        *remove_redundant_copies.PATTERNS,
        *prune_empty_tensors.PATTERNS,
        *symbols.PATTERNS,
        *shapes.PATTERNS,
        *slices.PATTERNS,
        *joins.PATTERNS,
        *identities.PATTERNS,
        *updates.PATTERNS,
    )
    return [
        *(pattern() for pattern in simple),
        *arithmetic.patterns(module),
        identities.SelectRange(module),
        permutations.PermuteOperands(module),
        *control.patterns(Globals(module)),
    ]


@dataclass(frozen=True)
class CanonicalizePass(ModulePass):
    """Merge views, drop neutral operations and the like."""

    name = "canonicalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        erase_dead_ops(op)
        # Patterns ask who uses a value: what rewriting has made dead must be gone before the answer is final.
        all_patterns = patterns(op)
        while rewrite(op, all_patterns, recursive=True) and erase_dead_ops(op):
            pass
