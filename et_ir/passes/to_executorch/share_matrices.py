"""Products of a batch whose right matrices are repeated: neighbors that read one matrix become rows of one product.

Heads of a group of queries share keys and values, which models repeat for each of them. In a cache that is a copy
of all of it for each token.

Before, for two groups of four heads:

```mlir
%0 = edge.expand_copy %k {size = [2, 4, 32, 64]} : (tensor<2x1x32x64xf32>) -> tensor<2x4x32x64xf32>
%1 = edge.view_copy %0 {size = [8, 32, 64]} : (tensor<2x4x32x64xf32>) -> tensor<8x32x64xf32>
%2 = edge.bmm %q, %1 : (tensor<8x1x32xf32>, tensor<8x32x64xf32>) -> tensor<8x1x64xf32>
```

After:

```mlir
%0 = edge.view_copy %k {size = [2, 32, 64]} : (tensor<2x1x32x64xf32>) -> tensor<2x32x64xf32>
%1 = edge.view_copy %q {size = [2, 4, 32]} : (tensor<8x1x32xf32>) -> tensor<2x4x32xf32>
%2 = edge.bmm %1, %0 : (tensor<2x4x32xf32>, tensor<2x32x64xf32>) -> tensor<2x4x64xf32>
%3 = edge.view_copy %2 {size = [8, 1, 64]} : (tensor<2x4x64xf32>) -> tensor<8x1x64xf32>
```

Between the repetition and the product there may be views that keep matrices, and transpositions of them. The number of
rows may be known at run time only. Where anything but such products reads what is repeated, it is made anyway, and all
stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.common.dce import erase_dead_ops
from et_ir.rewriting import op_type_rewrite_pattern, rewrite

__all__ = ["ShareMatricesPass"]


@dataclass(frozen=True)
class ShareMatricesPass(ModulePass):
    """Multiply matrices that a batch repeats once."""

    name = "share-matrices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if rewrite(op, [_RepeatedMatrices()]):
            erase_dead_ops(op)


class _RepeatedMatrices(RewritePattern):
    """Matrices repeated for products alone."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.ExpandCopyOp, rewriter: PatternRewriter) -> None:
        if not _repeats_matrices(op):
            return
        products = _products(op.results[0])
        if not products or not all(map(_is_contiguous, (op.operands[0], op.results[0]))):
            return
        for product, is_transposed in products.items():
            _share(product, _before_views(op.operands[0]), is_transposed, rewriter)


def _repeats_matrices(expand: edge.ExpandCopyOp) -> bool:
    """Whether an op repeats each matrix for its neighbors in the batch, and does nothing else."""
    before, after = (tensor_type(one).get_shape() for one in (expand.operands[0], expand.results[0]))
    if len(before) < 2 or min(before) <= 0 or min(after) <= 0 or before[-2:] != after[-2:]:
        return False
    batch, repeated = (1,) * (len(after) - len(before)) + before[:-2], after[:-2]
    outer = next((dim for dim, size in enumerate(batch) if size != repeated[dim]), None)
    return outer is not None and prod(batch[outer:]) == 1


def _products(repeated: SSAValue) -> dict[edge.BmmOp, bool] | None:
    """The products that read matrices, and whether they do so by columns; None if another op reads them, too."""
    found: dict[edge.BmmOp, bool] = {}
    pending = [(repeated, False)]
    while pending:
        value, is_transposed = pending.pop()
        for use in value.uses:
            user = use.operation
            if (
                isinstance(user, edge.BmmOp)
                and use.index == 1
                and _is_contiguous(*user.operands, *user.results)
            ):
                found[user] = is_transposed
            elif isinstance(user, edge.ViewCopyOp) and _keeps_matrices(user):
                pending.append((user.results[0], is_transposed))
            elif isinstance(user, edge.PermuteCopyOp) and _transposes_matrices(user):
                pending.append((user.results[0], not is_transposed))
            else:
                return None
    return found


def _keeps_matrices(view: edge.ViewCopyOp) -> bool:
    """Whether a view gives the batch of matrices another shape, and nothing else."""
    before, after = (tensor_type(one).get_shape() for one in (view.operands[0], view.results[0]))
    return len(before) > 2 and min(before[-2:]) >= 0 and before[-2:] == after[-2:]


def _transposes_matrices(permutation: edge.PermuteCopyOp) -> bool:
    """Whether an op exchanges the last two dimensions, and no others."""
    rank = tensor_type(permutation.results[0]).get_num_dims()
    return [dim % rank for dim in permutation.dims] == [*range(rank - 2), rank - 1, rank - 2]


def _is_contiguous(*values: SSAValue) -> bool:
    types = map(tensor_type, values)
    return all(dim_order_of(type) == contiguous(type.get_num_dims()) for type in types)


def _before_views(value: SSAValue) -> SSAValue:
    """Matrices before their batch was given another shape."""
    while isinstance(view := value.owner, edge.ViewCopyOp) and _keeps_matrices(view):
        value = view.operands[0]
    return value


def _share(product: edge.BmmOp, matrices: SSAValue, is_transposed: bool, rewriter: PatternRewriter) -> None:
    """Multiply matrices `[…, height, width]` once with the rows of all neighbors that read them."""
    batch, inner, columns = tensor_type(product.operands[1]).get_shape()
    *outer, height, width = tensor_type(matrices).get_shape()
    number, where = prod(outer), product.location
    made: list[EdgeOp] = [edge.ViewCopyOp.make(matrices, [number, height, width], location=where)]
    if is_transposed:
        made.append(edge.PermuteCopyOp.make(made[-1], [0, 2, 1], location=where))
    rows = edge.ViewCopyOp.make(_before_views(product.operands[0]), [number, -1, inner], location=where)
    shared = edge.BmmOp.make(rows, made[-1], location=where)
    result = product.results[0].type
    whole = edge.ViewCopyOp.make(shared, [batch, -1, columns], result_types=[result], location=where)
    rewriter.replace(product, [*made, rows, shared, whole])
