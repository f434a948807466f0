"""Products of complex tensors that may have one element. The kernel takes such a one for a real number.

Nothing tells at compile time where sizes are the caller's. Each operand stands twice then, and one product is kept.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.schema import DYNAMIC
from et_ir.dialects.schema.tensors import is_static, may_be_same_type, tensor_type
from et_ir.passes.to_executorch.legalize.complex_parts import is_complex
from et_ir.rewriting import op_type_rewrite_pattern
from et_ir.targets.stock_limits import may_be_one

__all__ = ["ProductOfTwice"]


class ProductOfTwice(RewritePattern):
    """`mul` of two complex tensors of one shape, whose sizes are not all known."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.MulTensorOp, rewriter: PatternRewriter) -> None:
        result = tensor_type(op.results[0])
        shape, element = result.get_shape(), result.element_type
        if is_static(result) or not may_be_one(shape) or not all(map(is_complex, op.operands)):
            return
        if not all(may_be_same_type(value.type, result) for value in op.operands):
            return
        if dim_order_of(result) != contiguous(len(shape)):
            return
        twice = TensorType[Attribute](element, (2, *shape))

        def doubled(value: SSAValue) -> SSAValue:
            one = TensorType[Attribute](element, (1, *shape))
            row = rewriter.insert(edge.UnsqueezeCopyOp.make(value, 0, result_types=[one])).results[0]
            sizes = [2, *(-1 if size == DYNAMIC else size for size in shape)]
            return rewriter.insert(edge.ExpandCopyOp.make(row, sizes, result_types=[twice])).results[0]

        both: Any = [doubled(value) for value in op.operands]
        found = rewriter.insert(edge.MulTensorOp.make(*both, result_types=[twice])).results[0]
        rewriter.replace(op, edge.SelectCopyIntOp.make(found, 0, 0, result_types=[result]))
