"""The remainder has the sign of the divisor, which kernels forget: it is had from that of the dividend."""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.rewriting import op_type_rewrite_pattern

__all__ = ["PATTERNS"]


class RemainderBySign(RewritePattern):
    """`remainder.Scalar`: r = fmod(a, b), and r + b where r is not zero and its sign is not that of b."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.RemainderScalarOp, rewriter: PatternRewriter) -> None:
        divisor = op.arg("other")
        value, result = op.operands[0], tensor_type(op.results[0])
        if not isinstance(divisor, int | float) or tensor_type(value).element_type != result.element_type:
            return
        flags = TensorType[Attribute](i1, result.get_shape(), result.encoding)

        def add(made: EdgeOp) -> SSAValue:
            return rewriter.insert(made).results[0]

        rest = add(edge.FmodScalarOp.make(value, divisor, result_types=[result]))
        compare = edge.LtScalarOp if divisor > 0 else edge.GtScalarOp
        other_sign = add(compare.make(rest, 0, result_types=[flags]))
        moved = add(edge.AddScalarOp.make(rest, divisor, result_types=[result]))
        rewriter.replace(op, edge.WhereSelfOp.make(other_sign, moved, rest, result_types=[result]))


class RemainderOfTensors(RewritePattern):
    """The same for `remainder.Tensor`, where the sign of the divisor is known at run time only."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.RemainderTensorOp, rewriter: PatternRewriter) -> None:
        value, divisor = op.operands
        result, type = tensor_type(op.results[0]), tensor_type(divisor)
        flags = TensorType[Attribute](i1, result.get_shape(), result.encoding)
        signs = TensorType[Attribute](i1, type.get_shape(), type.encoding)

        def add(made: EdgeOp) -> SSAValue:
            return rewriter.insert(made).results[0]

        rest = add(edge.FmodTensorOp.make(value, divisor, result_types=[result]))
        below = add(edge.LtScalarOp.make(rest, 0, result_types=[flags]))
        divisor_below = add(edge.LtScalarOp.make(divisor, 0, result_types=[signs]))
        differs = add(edge.LogicalXorOp.make(below, divisor_below, result_types=[flags]))
        some = add(edge.NeScalarOp.make(rest, 0, result_types=[flags]))
        other_sign = add(edge.LogicalAndOp.make(differs, some, result_types=[flags]))
        moved = add(edge.AddTensorOp.make(rest, divisor, result_types=[result]))
        rewriter.replace(op, edge.WhereSelfOp.make(other_sign, moved, rest, result_types=[result]))


PATTERNS: Final = (RemainderBySign, RemainderOfTensors)
