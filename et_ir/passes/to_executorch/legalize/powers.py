"""Powers of integers with a known exponent, which kernels compute in f64: by squares and products, modulo the range of
the type as torch's. As many calls as the exponent has binary digits, and one for each that is 1.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import i1
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.tensors import may_be_same_type, tensor_type
from et_ir.rewriting import op_type_rewrite_pattern
from et_ops.dtypes import Category

__all__ = ["PATTERNS"]


class IntegerPower(RewritePattern):
    """`pow.Tensor_Scalar` of integers; the exponent 0 is left, of which any kernel knows."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.PowTensorScalarOp, rewriter: PatternRewriter) -> None:
        (value,), exponent = op.operands, op.arg("exponent")
        type = tensor_type(value)
        whole = isinstance(exponent, int) and not isinstance(exponent, bool) and exponent > 0
        if not whole or not may_be_same_type(type, op.results[0].type) or type.element_type == i1:
            return
        if dtype_of(type.element_type).category is not Category.INTEGER:
            return
        total, square = None, value
        while True:
            if exponent & 1:
                total = (
                    square
                    if total is None
                    else rewriter.insert(edge.MulTensorOp.make(total, square, result_types=[type])).results[0]
                )
            exponent >>= 1
            if not exponent:
                break
            square = rewriter.insert(edge.MulTensorOp.make(square, square, result_types=[type])).results[0]
        assert total is not None
        rewriter.replace(op, [], [total])


PATTERNS: Final = (IntegerPower,)
