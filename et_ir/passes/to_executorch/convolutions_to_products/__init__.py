"""Compute convolutions as matrix products where that is faster.

```mlir
%1 = edge.convolution %x, %w, %b {…} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>, tensor<64xf32>) -> …    // before

%0 = edge.constant_pad_nd %x {pad = [1, 1, 1, 1]} : (…) -> tensor<1x64x58x58xf32>                               // after
%1 = edge.as_strided_copy %0 {…} : (…) -> tensor<64x3x3x56x56xf32>
%2 = edge.mm %w2, %1v : (tensor<64x576xf32>, tensor<576x3136xf32>) -> tensor<64x3136xf32>
%3 = edge.add.Tensor %2, %b2 : (tensor<64x3136xf32>, tensor<64x1xf32>) -> …
```

(`%w2`, `%b2` and `%1v` are views.) This is *im2col*: one copy lays out, for each tap of the kernel, the inputs that it
meets; for kernels of size 1 with stride 1 it is the input itself, and nothing is copied. The copy is as many times as
large as the input as the kernel has taps, so it is tiled, `workspace` bytes a tile: some rows of the output at a time,
or some groups where there are groups, whose products are a `bmm`. Tiles shrink so that the program's peak does not
grow. `memory` says what happens where not even the smallest tile fits below it:

| `memory` | the program may need at once |
|---|---|
| `peak` | its peak so far and `headroom` bytes; a convolution stays where no tile fits |
| `fast` | enough for every convolution without groups, which would take a hundred times as long otherwise |
| `any` | as much as tiles of `workspace` bytes take |

| form | convolutions | tiled over |
|---|---|---|
| `mm` | kernels of size 1, stride 1 | |
| `mm of patches` | others | rows of the output |
| `bmm of patches` | groups, depthwise among them | groups |

Which form a convolution takes is decided by the target's table of costs (`choices.py`). On stock's portable kernels a
convolution of 64 by 64 channels, 3 by 3 taps and 56 by 56 outputs takes 1200 ms, and 5 ms so; a depthwise one is ten
times as fast so. Programs for targets without a table stay as they are.

Taken are convolutions of one or two dimensions of one image, that are not transposed. Sums are added in another order,
so results differ by rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from et_ir.analysis.choices import CheapestForm
from et_ir.analysis.cost_model import CostModel
from et_ir.analysis.memory_allowance import MemoryAllowance
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import MEMORY
from et_ir.passes.to_executorch.convolutions_to_products.forms import (
    GroupPatches,
    Pointwise,
    RowPatches,
    copies_of,
)
from et_ir.passes.to_executorch.convolutions_to_products.tiling import Copies, tile_budgets
from et_ir.passes.to_executorch.convolutions_to_products.window import Window, window_of
from et_ir.rewriting import rewrite
from et_ir.targets.lookup import DEFAULT

__all__ = ["ConvolutionsToProductsPass"]


@dataclass(frozen=True)
class ConvolutionsToProductsPass(ModulePass):
    """Compute convolutions as matrix products."""

    name = "convolutions-to-products"

    target: str = DEFAULT
    """The runtime whose kernels there are."""
    workspace: int = 1 << 20
    """Bytes that the copies for one tile may take."""
    headroom: int = 0
    """Bytes by which the program may need more memory at once."""
    memory: MemoryAllowance = "peak"
    """Limit of additional peak memory."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        model = CostModel.of(self.target)
        if model is None:
            return
        windows: dict[Operation, Window] = {
            one: window
            for one in op.walk()
            if isinstance(one, edge.ConvolutionOp) and (window := window_of(one)) is not None
        }

        def copies(one: Operation) -> Sequence[Copies]:
            return copies_of(windows[one]) if one in windows else ()

        found = tile_budgets(op, copies, self.target, self.workspace, self.headroom, self.memory)
        geometry = {one: (window, found[one]) for one, window in windows.items()}
        forms = [Pointwise(geometry), RowPatches(geometry), GroupPatches(geometry)]
        rewrite(op, [CheapestForm(edge.ConvolutionOp, forms, model, ctx, apart=self.memory != "any")])
        for one in op.walk():
            one.attributes.pop(MEMORY, None)
