"""Reduce concatenations part by part, without making the whole.

```mlir
%c = edge.cat [%a, %b] {dim = 1} : (tensor<1x8x32x32xf32>, tensor<1x8x32x32xf32>) -> tensor<1x16x32x32xf32>
%r = edge.relu %c : tensor<1x16x32x32xf32>
%m = edge.mean.dim %r {dim = [2, 3]} : (tensor<1x16x32x32xf32>) -> tensor<1x16xf32>
// becomes
%0 = edge.relu %a : tensor<1x8x32x32xf32>
%1 = edge.mean.dim %0 {dim = [2, 3]} : (tensor<1x8x32x32xf32>) -> tensor<1x8xf32>
%2 = edge.relu %b : tensor<1x8x32x32xf32>
%3 = edge.mean.dim %2 {dim = [2, 3]} : (tensor<1x8x32x32xf32>) -> tensor<1x8xf32>
%m = edge.cat [%1, %3] {dim = 1} : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x16xf32>
```

The operators are those of which each part of a result along the dimension of the concatenation depends on that part of
the argument alone. A concatenation sinks through pointwise ones that nothing else uses to a reduction along other
dimensions, or a pool of concatenated channels, that makes less than it takes. Each element is computed from the same
numbers as before.

Ahn et al., "Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired Neural Networks for Edge Devices", MLSys 2020,
section 3.3, do so with convolutions, whose sums change their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.analysis.memory_graph import bytes_of_value
from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.tensors import is_static, is_tensor, layout_of, sized_tensor, sizes_of, tensor_type
from et_ir.passes.common.dce import erase_dead_ops
from et_ir.rewriting import rewrite

__all__ = ["SinkConcatenationsPass"]

REDUCTIONS: Final = (edge.MeanDimOp, edge.SumDimIntListOp, edge.AmaxOp, edge.AminOp)
POOLS: Final = (edge.AvgPool2dOp, edge.MaxPool2dWithIndicesOp, edge.UnderscoreAdaptiveAvgPool2dOp)


@dataclass(frozen=True)
class SinkConcatenationsPass(ModulePass):
    """Reduce concatenations part by part."""

    name = "sink-concatenations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if rewrite(op, [_ReduceParts()], recursive=True):
            erase_dead_ops(op)


class _ReduceParts(RewritePattern):
    """An operator that makes less than it takes, at the end of a chain behind a concatenation."""

    roots = (*REDUCTIONS, *POOLS)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        if not _is_plain(op) or bytes_of_value(op.results[0]) >= bytes_of_value(op.operands[0]):
            return
        chain = [op]
        before = op.operands[0].owner
        while isinstance(before, EdgeOp) and _is_pointwise(before) and before.results[0].has_one_use():
            chain.insert(0, before)
            before = before.operands[0].owner
        if not isinstance(before, edge.CatOp) or not before.results[0].has_one_use():
            return
        whole = tensor_type(before.results[0])
        dim = before.dim % whole.get_num_dims()
        after = _dim_after(op, dim)
        if after is None or not all(_is_part(value, whole) for value in before.operands):
            return
        pieces: list[SSAValue] = []
        for part in before.operands:
            value, size = part, tensor_type(part).get_shape()[dim]
            for one in chain:
                value = _of_part(rewriter, one, value, after if one is op else dim, size)
            pieces.append(value)
        joined = edge.CatOp.make(pieces, after, result_types=[op.results[0].type])
        rewriter.replace(op, joined, [joined.result, *(None for _ in op.results[1:])])


def _is_plain(op: EdgeOp) -> bool:
    """Whether an operator has one operand, one result that is used, and sizes that are known."""
    if len(op.operands) != 1:
        return False
    values = (op.operands[0], op.results[0])
    return all(is_tensor(value.type) and is_static(value.type) for value in values) and all(
        result.first_use is None for result in op.results[1:]
    )


def _is_pointwise(op: EdgeOp) -> bool:
    return op.operator.is_pointwise and len(op.results) == 1 and _is_plain(op)


def _is_part(value: SSAValue, whole: TensorType[Attribute]) -> bool:
    """Whether a value is concatenated as it is: torch also takes empty tensors of any shape, and other layouts."""
    type = value.type
    return (
        is_tensor(type)
        and is_static(type)
        and type.get_num_dims() == whole.get_num_dims()
        and type.element_type == whole.element_type
        and layout_of(type) == layout_of(whole)
    )


def _dim_after(op: EdgeOp, dim: int) -> int | None:
    """The dimension of an operator's result that depends on a dimension of its argument index by index."""
    rank = tensor_type(op.operands[0]).get_num_dims()
    if isinstance(op, POOLS):
        return dim if dim == rank - 3 else None
    assert isinstance(op, REDUCTIONS)
    reduced = {one % rank for one in op.dim or range(rank)}
    if dim in reduced:
        return None
    return dim if op.keepdim else dim - sum(one < dim for one in reduced)


def _of_part(rewriter: PatternRewriter, op: EdgeOp, value: SSAValue, dim: int, size: int) -> SSAValue:
    """The result of an operator on a part, which has `size` along a dimension of the result."""
    types: list[Attribute] = []
    for result in op.results:
        type = tensor_type(result)
        sizes = list(sizes_of(type))
        sizes[dim] = size
        types.append(sized_tensor(type.element_type, sizes, layout_of(type)))
    made = op.__class__.create(operands=[value], properties=dict(op.properties), result_types=types)
    made.attributes.update(op.attributes)
    made.location = op.location
    return rewriter.insert(made).results[0]
