"""Select the operators with the fastest kernels by the target's costs.

| now | other forms |
|---|---|
| `mm` | `linear`, with the transposition of its matrix undone or done at compile time |
| `addmm` with factors 1 | `mm` and `add`; `linear` with the bias |
| `bmm` with a transposed batch | the other factor transposed instead, and the product back |
| `permute_copy` that exchanges two groups of dimensions | `transpose_copy.int` between views |

```mlir
%1 = edge.permute_copy %w {dims = [1, 0]} : (tensor<8x4xf32>) -> tensor<4x8xf32>                  // before
%2 = edge.mm %x, %1 : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>

%2 = edge.linear %x, %w : (tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<2x8xf32>                   // after
```

Each operator is computed in the form that costs least for its shapes (`choices.py`); a size that is known at run time
only counts as 64. On stock's kernels `addmm` is a plain loop and takes 50 times as long as `mm`, `permute_copy` twice
as long as `transpose_copy`. Programs for targets without a table stay as they are.

Runs after everything that looks at the program's structure, partitioners among it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from et_ir.analysis.choices import CheapestForm
from et_ir.analysis.cost_model import CostModel
from et_ir.dialects.edge import ops as edge
from et_ir.passes.common.dce import erase_dead_ops
from et_ir.passes.to_executorch.select_kernels.products import (
    BiasedLinear,
    BiasedProduct,
    SwappedBatch,
    TransposedProduct,
)
from et_ir.passes.to_executorch.select_kernels.transpositions import Transposition
from et_ir.rewriting import rewrite
from et_ir.targets.lookup import DEFAULT

__all__ = ["SelectKernelsPass"]


@dataclass(frozen=True)
class SelectKernelsPass(ModulePass):
    """Call the operators whose kernels are fastest."""

    name = "select-kernels"

    target: str = DEFAULT
    """The runtime whose kernels there are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        model = CostModel.of(self.target)
        if model is None:
            return
        rewrite(op, [CheapestForm(edge.BmmOp, [SwappedBatch()], model, ctx)])
        # `addmm` first, which may become `mm`, which may then become `linear`.
        rewrite(op, [CheapestForm(edge.AddmmOp, [BiasedProduct(), BiasedLinear()], model, ctx)])
        rewrite(op, [CheapestForm(edge.MmOp, [TransposedProduct()], model, ctx)])
        erase_dead_ops(op)
        rewrite(op, [CheapestForm(edge.PermuteCopyOp, [Transposition()], model, ctx)])
