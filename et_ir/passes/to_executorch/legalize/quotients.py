"""Quotients and remainders of i64, which kernels compute in f64: had from the quotient rounded down, which is exact.

No kernel is asked to divide the least number by -1, of which the process would die: the divisor is 1 there, whose
remainder is the same.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.rewriting import op_type_rewrite_pattern

__all__ = ["PATTERNS"]

Quotient = edge.DivTensorModeOp | edge.DivScalarModeOp
Remainder = edge.RemainderTensorOp | edge.RemainderScalarOp
RemainderOfDividend = edge.FmodTensorOp | edge.FmodScalarOp


def _flags(of: TensorType[Attribute]) -> TensorType[Attribute]:
    return TensorType[Attribute](i1, of.get_shape(), of.encoding)


class _Division:
    """The calls for a quotient rounded down and its remainder."""

    def __init__(
        self, op: Quotient | Remainder | RemainderOfDividend, divisor: int | None, rewriter: PatternRewriter
    ) -> None:
        """Of an operator with a result of i64, whose divisor is this number or else its second operand."""
        self._rewriter = rewriter
        self.value, self.result = op.operands[0], tensor_type(op.results[0])
        self.is_negative_one: SSAValue | None = None
        """Mask of divisors equal to -1, if the divisor is a tensor."""
        if divisor is not None:
            self.divisor = self._number(1 if divisor == -1 else divisor)
        else:
            type = tensor_type(op.operands[1])
            equal = edge.EqScalarOp.make(op.operands[1], -1, result_types=[_flags(type)])
            self.is_negative_one = self.add(equal)
            self.divisor = self.add(
                edge.WhereSelfOp.make(
                    self.is_negative_one, self._number(1), op.operands[1], result_types=[type]
                )
            )
        self.floor = self.add(
            edge.DivTensorModeOp.make(
                self.value, self.divisor, rounding_mode="floor", result_types=[self.result]
            )
        )
        whole = self._made(edge.MulTensorOp, self.floor, self.divisor)
        self.remainder = self._made(edge.SubTensorOp, self.value, whole)
        """That with the sign of the divisor. The product may be beyond the range, and back by the difference."""

    def add(self, made: EdgeOp) -> SSAValue:
        """The result of an op, put where the operator is."""
        return self._rewriter.insert(made).results[0]

    def toward_zero(self) -> SSAValue:
        """Mask of quotients that are not integral and were rounded away from zero."""
        flags = _flags(self.result)
        negative = edge.LtScalarOp.make(self.value, 0, result_types=[_flags(tensor_type(self.value))])
        below = edge.LtScalarOp.make(self.remainder, 0, result_types=[flags])
        differs = self.add(edge.LogicalXorOp.make(self.add(negative), self.add(below), result_types=[flags]))
        some = self.add(edge.NeScalarOp.make(self.remainder, 0, result_types=[flags]))
        return self.add(edge.LogicalAndOp.make(differs, some, result_types=[flags]))

    def chosen(self, where: SSAValue, one: SSAValue, other: SSAValue) -> SSAValue:
        """`one` where a flag is set, else `other`."""
        return self._made(edge.WhereSelfOp, where, one, other)

    def less_divisor(self) -> SSAValue:
        """The remainder less the divisor."""
        return self._made(edge.SubTensorOp, self.remainder, self.divisor)

    def next(self) -> SSAValue:
        """The quotient and one."""
        return self._made(edge.AddScalarOp, self.floor, 1)

    def _number(self, value: int) -> SSAValue:
        return self.add(edge.FullOp.make([], value, dtype=i64, result_types=[TensorType[Attribute](i64, [])]))

    def _made(self, kind: type[EdgeOp], *args: object) -> SSAValue:
        return self.add(kind.make(*args, result_types=[self.result]))


def _division(op: Quotient | Remainder | RemainderOfDividend, rewriter: PatternRewriter) -> _Division | None:
    """The calls for an operator of i64 alone; None for others, and of a number that is zero or
    known at run time only."""
    values = (*op.operands, op.results[0])
    # A divisor that is a number known at run time only is an operand, and no tensor.
    if not all(is_tensor(value.type) and value.type.element_type == i64 for value in values):
        return None
    if len(op.operands) > 1:
        return _Division(op, None, rewriter)
    divisor = op.arg("other")
    if not isinstance(divisor, int) or isinstance(divisor, bool) or not divisor:
        return None
    return _Division(op, divisor, rewriter)


class RemainderOfFloor(RewritePattern):
    """`remainder`: a - floor(a / b) * b."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Remainder, rewriter: PatternRewriter) -> None:
        if made := _division(op, rewriter):
            rewriter.replace(op, [], [made.remainder])


class RemainderOfTruncation(RewritePattern):
    """`fmod`: the same, less b where its sign is not that of a."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: RemainderOfDividend, rewriter: PatternRewriter) -> None:
        if made := _division(op, rewriter):
            other = made.chosen(made.toward_zero(), made.less_divisor(), made.remainder)
            rewriter.replace(op, [], [other])


class Negated(RewritePattern):
    """`div` by the number -1."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.DivScalarModeOp, rewriter: PatternRewriter) -> None:
        same = tensor_type(op.operands[0]) == tensor_type(op.results[0])
        if same and tensor_type(op.results[0]).element_type == i64 and op.arg("other") == -1:
            rewriter.replace(op, edge.NegOp.make(op.operands[0], result_types=[op.results[0].type]))


class TruncatedQuotient(RewritePattern):
    """`div` toward zero: one more than floor(a / b) where that is below zero and not whole, and -a where b is -1."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Quotient, rewriter: PatternRewriter) -> None:
        if op.arg("rounding_mode") != "trunc" or not (made := _division(op, rewriter)):
            return
        quotient = made.chosen(made.toward_zero(), made.next(), made.floor)
        if made.is_negative_one is not None:
            negated = made.add(edge.NegOp.make(made.value, result_types=[tensor_type(made.value)]))
            quotient = made.chosen(made.is_negative_one, negated, quotient)
        rewriter.replace(op, [], [quotient])


PATTERNS: Final = (RemainderOfFloor, RemainderOfTruncation, Negated, TruncatedQuotient)
