"""Writes to consecutive places of a cache as `slice_scatter`.

It takes the first place as a number.

```mlir
%at = aten.add.Tensor %new, %count : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>                   // of arange(3)
%1 = aten.index_copy %cache, %at, %k {dim = 1} : (tensor<1x48x2x8xf32>, tensor<3xi64>, tensor<1x3x2x8xf32>) -> …

%begin = aten.item %count : (tensor<i64>) -> i64                                                    // after
%end = program.compute "add"(%begin, 3)
%1 = aten.slice_scatter %cache, %k {dim = 1, start = %begin, end = %end} : …
```

For a runtime with the extra operator `llama::update_cache.out`, `update-in-place` makes that of it. Caches are state
`[batch, places, groups, size]`, as `permute-state` stores them for attention. Places are known to be consecutive where
they are `arange(n) + start`, or that of a single token; with `consecutive` that is assumed of every vector that a
method takes, and the caller has to comply.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.analysis.consecutive_integers import first_of_consecutive, original
from et_ir.dialects.aten import ops as aten
from et_ir.dialects.program import LoadOp
from et_ir.passes.aten_to_core.decompose.chain import Chain, meta
from et_ir.passes.common.dce import erase_dead_ops
from et_ir.rewriting import op_type_rewrite_pattern, rewrite

__all__ = ["FormCacheUpdatesPass"]


class FormSliceScatter(RewritePattern):
    """Forms one write. The vectors in `assumed` are assumed to hold consecutive places."""

    def __init__(self, assumed: Set[SSAValue]):
        self.assumed = assumed

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: aten.IndexCopyOp, rewriter: PatternRewriter, /) -> None:
        if (
            meta(op.self).rank != 4
            or op.dim not in (1, -3)
            or not isinstance(original(op.self).owner, LoadOp)
        ):
            return
        first = first_of_consecutive(op.index, self.assumed)
        if first is None:
            return
        b = Chain(op, rewriter, {})
        begin = first if isinstance(first, int) else b.item(first.tensor)
        end = b.compute("add", begin, b.size(op.source, 1))
        found = b(aten.SliceScatterOp, op.self, op.source, 1, begin, end)
        rewriter.replace(op, [], [b.fitted(found, op.results[0].type)])


@dataclass(frozen=True)
class FormCacheUpdatesPass(ModulePass):
    """Form `slice_scatter` of writes to caches."""

    name = "form-cache-updates"

    consecutive: bool = False
    """Whether to assume that integers which methods take as vectors are consecutive places."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        assumed: set[SSAValue] = set()
        if self.consecutive:
            assumed.update(arg for one in op.body.block.ops if isinstance(one, FuncOp) for arg in one.args)
        rewrite(op, [FormSliceScatter(assumed)])
        erase_dead_ops(op)  # the vectors of places
