"""Rules of comparisons, logic, selection and conversions of element types."""

from __future__ import annotations

from typing import Final

import numpy as np
from xdsl.ir import SSAValue

from et_ir.backends.tosa.legalizer import FLOATS, CannotLegalize, Legalizer
from et_ir.backends.tosa.rules.rule import Rule
from et_ir.dialects.schema import SchemaOp
from et_schema.tosa_graph import DType, Op

__all__ = ["RULES"]

_COMPARED: Final = (*FLOATS, DType.INT32)


def _compared(t: Legalizer, left: SSAValue, right: SSAValue) -> None:
    for value in (left, right):
        if t.dtype(value) not in _COMPARED:
            raise CannotLegalize(f"element type {t.dtype(value).name}")


def _comparison(kind: Op, *, swap: bool = False, negate: bool = False) -> Rule:
    def lower(t: Legalizer, op: SchemaOp) -> SSAValue:
        x: SSAValue = op.arg("self")
        other = t.operand(op.arg("other"), x)
        _compared(t, x, other)
        made = t.binary(kind, other, x) if swap else t.binary(kind, x, other)
        return t.emit(Op.LOGICAL_NOT, made) if negate else made

    return lower


def _logic(kind: Op, integers: Op | None = None) -> Rule:
    def lower(t: Legalizer, op: SchemaOp) -> SSAValue:
        x: SSAValue = op.arg("self")
        other: SSAValue | float = op.arg("other")
        chosen = kind
        if t.dtype(x) is not DType.BOOL:
            if integers is None or t.dtype(x) in FLOATS:
                raise CannotLegalize(f"element type {t.dtype(x).name}")
            chosen = integers
        return t.binary(chosen, x, t.operand(other, x))

    return lower


def _not(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    if t.dtype(x) is DType.BOOL:
        return t.emit(Op.LOGICAL_NOT, x)
    if "bitwise" not in op.name or t.dtype(x) in FLOATS:
        raise CannotLegalize(f"element type {t.dtype(x).name}")
    return t.emit(Op.BITWISE_NOT, x)


def _select(t: Legalizer, condition: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
    rank = max(len(t.shape_of(value)) for value in (condition, yes, no))
    return t.emit(Op.SELECT, *(t.ranked(value, rank) for value in (condition, yes, no)))


def _where(t: Legalizer, op: SchemaOp) -> SSAValue:
    return _select(t, op.arg("condition"), op.arg("self"), op.arg("other"))


def _masked_fill(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    return _select(t, op.arg("mask"), t.operand(op.arg("value"), x), x)


def _converted(t: Legalizer, op: SchemaOp) -> SSAValue:
    """A copy, to another element type or layout."""
    x: SSAValue = op.arg("self")
    have, want = t.dtype(x), t.dtype(op.results[0])
    if have is want:
        return t.value(x)
    if have in FLOATS and want not in FLOATS:
        # CAST rounds to the nearest integer, where a conversion of the edge level drops the fraction.
        raise CannotLegalize(f"a conversion of {have.name} to {want.name}")
    if have is DType.BOOL and want in FLOATS:
        # CAST takes booleans to integers only.
        rank = len(t.shape_of(x))
        one, zero = (t.const(np.full([1] * rank, number, np.float32), want) for number in (1, 0))
        return t.emit(Op.SELECT, x, one, zero)
    return t.emit(Op.CAST, x, result=want)


RULES: Final[dict[str, Rule]] = {
    "bitwise_and.Tensor": _logic(Op.LOGICAL_AND, Op.BITWISE_AND),
    "bitwise_not": _not,
    "bitwise_or.Tensor": _logic(Op.LOGICAL_OR, Op.BITWISE_OR),
    "bitwise_xor.Tensor": _logic(Op.LOGICAL_XOR, Op.BITWISE_XOR),
    "clone": _converted,
    "dim_order_ops._clone_dim_order": _converted,
    "dim_order_ops._to_dim_order_copy": _converted,
    "eq.Scalar": _comparison(Op.EQUAL),
    "eq.Tensor": _comparison(Op.EQUAL),
    "ge.Scalar": _comparison(Op.GREATER_EQUAL),
    "ge.Tensor": _comparison(Op.GREATER_EQUAL),
    "gt.Scalar": _comparison(Op.GREATER),
    "gt.Tensor": _comparison(Op.GREATER),
    "le.Scalar": _comparison(Op.GREATER_EQUAL, swap=True),
    "le.Tensor": _comparison(Op.GREATER_EQUAL, swap=True),
    "logical_and": _logic(Op.LOGICAL_AND),
    "logical_not": _not,
    "logical_or": _logic(Op.LOGICAL_OR),
    "logical_xor": _logic(Op.LOGICAL_XOR),
    "lt.Scalar": _comparison(Op.GREATER, swap=True),
    "lt.Tensor": _comparison(Op.GREATER, swap=True),
    "masked_fill.Scalar": _masked_fill,
    "masked_fill.Tensor": _masked_fill,
    "ne.Scalar": _comparison(Op.EQUAL, negate=True),
    "ne.Tensor": _comparison(Op.EQUAL, negate=True),
    "where.self": _where,
}
