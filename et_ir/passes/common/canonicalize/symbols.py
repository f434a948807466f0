"""Sizes and literals that are known."""

from __future__ import annotations

from typing import Any, Final, cast

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from et_ir.dialects.counterparts import forms
from et_ir.dialects.program import ComputeOp, LiteralOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import literal_of
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["PATTERNS"]


class KnownSize(RewritePattern):
    """The size of a dimension that the type states."""

    roots = forms("sym_size.int")

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        shape = tensor_type(op.operands[0]).get_shape()
        dim: int = op.arg("dim")
        size = shape[dim]
        if size >= 0:
            rewriter.replace(op, LiteralOp(size))


class KnownElementCount(RewritePattern):
    """The number of elements of a tensor whose sizes are all known."""

    roots = forms("sym_numel")

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        count = 1
        for size in tensor_type(op.operands[0]).get_shape():
            if size < 0:
                return
            count *= size
        rewriter.replace(op, LiteralOp(count))


class KnownNumber(RewritePattern):
    """A number computed from numbers that are known."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ComputeOp, rewriter: PatternRewriter) -> None:
        numbers = [literal_of(v.owner.value) for v in op.inputs if isinstance(v.owner, LiteralOp)]
        if len(numbers) < len(op.inputs):
            return
        try:
            found = op.evaluate(numbers)
        except (ArithmeticError, ValueError):
            return  # the runtime says what is wrong with it
        if isinstance(found, float) or -(2**63) <= found < 2**63:
            rewriter.replace(op, LiteralOp(found))


class KnownChoice(RewritePattern):
    """One of two numbers that are the same, or by a condition that is known or turned around."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ComputeOp, rewriter: PatternRewriter) -> None:
        if op.function.data == "not":
            negated = _negated(op.result)
            twice = None if negated is None else _negated(negated)
            if twice is not None:
                rewriter.replace(op, (), [twice])
        if op.function.data != "ite":
            return
        condition, a, b = op.inputs
        if isinstance(condition.owner, LiteralOp):
            rewriter.replace(op, (), [a if literal_of(condition.owner.value) else b])
        elif a is b:
            rewriter.replace(op, (), [a])
        else:
            negated = _negated(condition)
            if negated is not None:
                rewriter.replace(op, ComputeOp("ite", [negated, b, a]))


def _negated(value: SSAValue) -> SSAValue | None:
    """Operand of a negation."""
    op = value.owner
    return op.inputs[0] if isinstance(op, ComputeOp) and op.function.data == "not" else None


class InlineLiteral(RewritePattern):
    """A number that stands for a literal known at run time only is the literal."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LiteralOp, rewriter: PatternRewriter) -> None:
        number = literal_of(op.value)
        if not isinstance(number, int | float):
            return
        for user in dict.fromkeys(use.operation for use in op.result.uses):
            if isinstance(user, SchemaOp) and op.result in user.symbols:
                arguments = {name: _inlined(value, op, number) for name, value in _literals(user).items()}
                tensors = {a.name: user.arg(a.name) for a in user.info().tensors}
                types = [result.type for result in user.results]
                made = type(user).make(**tensors, **arguments, result_types=types, location=user.location)
                rewriter.replace(user, made)


def _literals(op: SchemaOp) -> dict[str, Any]:
    return {arg.name: op.arg(arg.name) for arg in op.info().literals}


def _inlined(value: Any, literal: LiteralOp, number: float) -> Any:
    if value is literal.result:
        return number
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        return tuple(number if item is literal.result else item for item in items)
    return value


PATTERNS: Final = (KnownSize, KnownElementCount, KnownNumber, KnownChoice, InlineLiteral)
