"""Let channels-last tensors flow through the operators that keep the layout.

A copy to contiguous moves from the operand of such an operator to its result; one in front of a `return` is dropped, so
that the method gives its output as eager does. Other operands of the operator are copied to channels-last, which for
constants `constant-fold` does at compile time.

```mlir
%1 = edge.dim_order_ops._clone_dim_order %0 {dim_order = [0, 1, 2, 3]}                   // before: %0 is channels-last
  : (tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>) -> tensor<1x2x3x4xf32>
%2 = edge.relu %1 : tensor<1x2x3x4xf32>

%1 = edge.relu %0 : tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>                     // after
%2 = edge.dim_order_ops._clone_dim_order %1 {dim_order = [0, 1, 2, 3]}
  : (tensor<1x2x3x4xf32, #edge.dim_order<0, 2, 3, 1>>) -> tensor<1x2x3x4xf32>
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import (
    CHANNELS_LAST,
    contiguous,
    dim_order_of,
    is_channels_last,
    with_dim_order,
)
from et_ir.dialects.edge.layout import shares_layout
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.passes.core_to_edge.memory_formats_to_dim_orders import laid_out
from et_ir.rewriting import op_type_rewrite_pattern, rewrite

__all__ = ["PropagateDimOrderPass"]

_CONVERSIONS: Final = (
    edge.DimOrderOpsUnderscoreCloneDimOrderOp,
    edge.DimOrderOpsUnderscoreToDimOrderCopyOp,
)


def _source(value: SSAValue) -> SSAValue | None:
    """The channels-last tensor that a value is the contiguous copy of, if it is one."""
    op = value.owner
    if not isinstance(op, edge.DimOrderOpsUnderscoreCloneDimOrderOp):
        return None
    source, type = op.operands[0], tensor_type(value)
    is_copy = is_channels_last(tensor_type(source)) and dim_order_of(type) == contiguous(type.get_num_dims())
    return source if is_copy else None


class SinkCopy(RewritePattern):
    """Moves the copy to contiguous from the operand that decides on an op's layout to the op's results."""

    roots = (EdgeOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        if isinstance(op, _CONVERSIONS) or not (op.operator.is_pointwise or op.operator.facts.shares_layout):
            return
        leading = next((v for v in op.operands if is_tensor(v.type) and v.type.get_num_dims() > 2), None)
        if leading is None or _source(leading) is None or not shares_layout(op):
            return
        rank = tensor_type(leading).get_num_dims()
        operands = [_laid_out(value, rank, op, rewriter) for value in op.operands]
        made = type_of(op).create(
            operands=operands,
            result_types=[
                with_dim_order(t, CHANNELS_LAST[rank]) if is_tensor(t) and t.get_num_dims() == rank else t
                for t in op.result_types
            ],
            properties=op.properties,
        )
        back = [
            laid_out(new, contiguous(rank)) if new.type != old.type else None
            for old, new in zip(op.results, made.results, strict=True)
        ]
        values = [new if b is None else b.result for new, b in zip(made.results, back, strict=True)]
        rewriter.replace(op, [made, *(b for b in back if b is not None)], values)


def type_of(op: EdgeOp) -> type[EdgeOp]:
    """The class of an op, as the type checker sees it."""
    return type(op)


def _laid_out(value: SSAValue, rank: int, op: Operation, rewriter: PatternRewriter) -> SSAValue:
    """An operand in channels-last, if it has the rank for it."""
    type = value.type
    if not is_tensor(type) or type.get_num_dims() != rank:
        return value
    source = _source(value)
    if source is not None:
        return source
    return rewriter.insert(laid_out(value, CHANNELS_LAST[rank]), InsertPoint.before(op)).result


class ReturnAsIs(RewritePattern):
    """Return a channels-last tensor rather than its contiguous copy."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReturnOp, rewriter: PatternRewriter) -> None:
        method = op.parent_op()
        sources = [_source(value) for value in op.arguments]
        # An input that is returned stays a copy: an output needs memory of its own.
        kept = [s if s is not None and isinstance(s.owner, EdgeOp) else v
                for s, v in zip(sources, op.arguments, strict=True)]  # fmt: skip
        if not isinstance(method, FuncOp) or kept == list(op.arguments):
            return
        rewriter.replace(op, ReturnOp(*kept))
        outputs = [value.type for value in kept]
        method.function_type = FunctionType.from_lists(method.function_type.inputs.data, outputs)


@dataclass(frozen=True)
class PropagateDimOrderPass(ModulePass):
    """Keep channels-last tensors channels-last."""

    name = "propagate-dim-order"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [SinkCopy(), ReturnAsIs()])
