"""Operands of types without kernels, converted to a wider one and back."""

from __future__ import annotations

from typing import Any, Final

from xdsl.dialects.builtin import TensorType, f32, f64, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.promotion import operands_of
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.tensors import is_static, tensor_type
from et_ir.rewriting import op_type_rewrite_pattern

__all__ = ["PATTERNS"]


def converted(value: SSAValue, to: Attribute, rewriter: PatternRewriter) -> SSAValue:
    """A value in another element type."""
    type = tensor_type(value)
    result = TensorType[Attribute](to, type.get_shape(), type.encoding)
    made = edge.DimOrderOpsUnderscoreToDimOrderCopyOp.make(value, dtype=to, result_types=[result])
    return rewriter.insert(made).results[0]


class WideIndex(RewritePattern):
    """Indices of i32."""

    roots = (edge.GatherOp, edge.ScatterSrcOp, edge.ScatterValueOp, edge.ScatterAddOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        ((place, index),) = operands_of(op, "index")
        if tensor_type(index).element_type == i64:
            return
        op.operands[place] = converted(index, i64, rewriter)
        rewriter.notify_op_modified(op)


class InSingle(RewritePattern):
    """`logit` and `leaky_relu` of half precision, which torch computes in single precision, with their numbers."""

    roots = (edge.LogitOp, edge.LeakyReluOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        result = tensor_type(op.results[0])
        dtype = dtype_of(tensor_type(op.operands[0]).element_type)
        if not dtype.is_float or dtype.bits != 16:
            return
        wide = converted(op.operands[0], f32, rewriter)
        arguments: dict[str, Any] = {**op.args(), "self": wide}
        made = rewriter.insert(type(op).make(**arguments, result_types=[wide.type]))
        rewriter.replace(op, [], [converted(made.results[0], result.element_type, rewriter)])


class VarianceInSingle(RewritePattern):
    """Variances of half precision, which kernels sum up in it: of two thousand bf16 elements the result may be twice
    as large as it should be.
    """

    roots = (edge.VarCorrectionOp, edge.VarDimOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        result = tensor_type(op.results[0])
        dtype = dtype_of(tensor_type(op.operands[0]).element_type)
        if not dtype.is_float or dtype.bits != 16:
            return
        arguments: dict[str, Any] = {**op.args(), "self": converted(op.operands[0], f32, rewriter)}
        wide = TensorType[Attribute](f32, result.get_shape(), result.encoding)
        made = rewriter.insert(type(op).make(**arguments, result_types=[wide])).results[0]
        rewriter.replace(op, [], [converted(made, result.element_type, rewriter)])


class LogSoftmaxInDouble(RewritePattern):
    """`_log_softmax` of f64 by its formula: x - max, less the logarithm of the sum of the exponentials of that."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.UnderscoreLogSoftmaxOp, rewriter: PatternRewriter) -> None:
        value = op.operands[0]
        type = tensor_type(value)
        dim = op.arg("dim")
        if type.element_type != f64 or not is_static(type) or not isinstance(dim, int):
            return
        if not type.get_num_dims():
            rewriter.replace(op, edge.SubTensorOp.make(value, value, result_types=[type]))
            return
        shape = list(type.get_shape())
        shape[dim] = 1
        reduced = TensorType[Attribute](f64, shape)
        largest = rewriter.insert(edge.AmaxOp.make(value, [dim], True, result_types=[reduced]))
        shifted = rewriter.insert(edge.SubTensorOp.make(value, largest.results[0], result_types=[type]))
        powers = rewriter.insert(edge.ExpOp.make(shifted.results[0], result_types=[type]))
        total = rewriter.insert(
            edge.SumDimIntListOp.make(powers.results[0], [dim], True, result_types=[reduced])
        )
        log = rewriter.insert(edge.LogOp.make(total.results[0], result_types=[reduced]))
        rewriter.replace(op, edge.SubTensorOp.make(shifted.results[0], log.results[0], result_types=[type]))


class NumberOfAnotherType(RewritePattern):
    """A number added to truth values, or a float to integers: these in the type of the result; a truth value added to
    truth values: either.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.AddScalarOp, rewriter: PatternRewriter) -> None:
        result = tensor_type(op.results[0])
        given = tensor_type(op.operands[0]).element_type
        if given != i1 and given == result.element_type:
            return
        if result.element_type == i1:
            added = bool(op.arg("other")) and bool(op.arg("alpha"))
            rewriter.replace(op, edge.BitwiseOrScalarOp.make(op.operands[0], added, result_types=[result]))
            return
        number = converted(op.operands[0], result.element_type, rewriter)
        made = edge.AddScalarOp.make(number, op.arg("other"), op.arg("alpha"), result_types=[result])
        rewriter.replace(op, made)


PATTERNS: Final = (WideIndex, InSingle, VarianceInSingle, LogSoftmaxInDouble, NumberOfAnotherType)
