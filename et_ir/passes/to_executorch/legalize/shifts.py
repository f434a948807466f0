"""Shifts by numbers outside of the width of the type.

Kernels leave them to the processor. As torch has them, all bits are gone: what is left to the right is the sign.
"""

from __future__ import annotations

from typing import Final, cast

from xdsl.dialects.builtin import IntegerType, TensorType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.literals import ui8
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.rewriting import op_type_rewrite_pattern

__all__ = ["PATTERNS"]

ByNumber = edge.BitwiseLeftShiftTensorScalarOp | edge.BitwiseRightShiftTensorScalarOp
ByTensor = edge.BitwiseLeftShiftTensorOp | edge.BitwiseRightShiftTensorOp


def _width(element: Attribute) -> int | None:
    """The bits of an integer type; None for others."""
    is_integer = isinstance(element, IntegerType) and element != i1
    return cast("IntegerType", element).bitwidth if is_integer else None


def _has_sign(op: ByNumber | ByTensor) -> bool:
    """Whether an op leaves the sign of what it shifts all bits of away."""
    is_left = isinstance(op, edge.BitwiseLeftShiftTensorScalarOp | edge.BitwiseLeftShiftTensorOp)
    return not is_left and tensor_type(op.results[0]).element_type != ui8


def _sign(value: SSAValue, width: int) -> EdgeOp:
    """0, or -1 where a value is below: the shift by all bits but one."""
    return edge.BitwiseRightShiftTensorScalarOp.make(value, width - 1, result_types=[value.type])


class ShiftByNumber(RewritePattern):
    """A shift by a number, which is one of the type of the tensor."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ByNumber, rewriter: PatternRewriter) -> None:
        (value,), number = op.operands, op.arg("other")
        width = _width(tensor_type(value).element_type)
        if width is None or not isinstance(number, int) or 0 <= number < width:
            return
        count = number % (1 << width)
        if count < width:
            rewriter.replace(op, type(op).make(value, count, result_types=[value.type]))
        elif _has_sign(op):
            rewriter.replace(op, _sign(value, width))
        else:
            rewriter.replace(op, edge.FullLikeOp.make(value, 0, result_types=[value.type]))


class ShiftByTensor(RewritePattern):
    """A shift by the last bits of the numbers, where these are no others; numbers that are masked so are left."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ByTensor, rewriter: PatternRewriter) -> None:
        value, counts = op.operands
        result, type_ = tensor_type(op.results[0]), tensor_type(counts)
        element = result.element_type
        width = _width(element)
        if width is None or {tensor_type(value).element_type, type_.element_type} != {element}:
            return
        masked = counts.owner
        if isinstance(masked, edge.BitwiseAndScalarOp) and masked.arg("other") == width - 1:
            return

        def add(made: EdgeOp) -> SSAValue:
            return rewriter.insert(made).results[0]

        rest = add(edge.BitwiseAndScalarOp.make(counts, width - 1, result_types=[type_]))
        flags = TensorType[Attribute](i1, type_.get_shape(), type_.encoding)
        inside = add(edge.EqTensorOp.make(counts, rest, result_types=[flags]))
        shifted = add(type(op).make(value, rest, result_types=[result]))
        if _has_sign(op):
            emptied = add(_sign(value, width))
        else:
            number = TensorType[Attribute](element, [])
            emptied = add(edge.FullOp.make([], 0, dtype=dtype_of(element), result_types=[number]))
        rewriter.replace(op, edge.WhereSelfOp.make(inside, shifted, emptied, result_types=[result]))


PATTERNS: Final = (ShiftByNumber, ShiftByTensor)
