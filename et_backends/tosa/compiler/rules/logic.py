"""Rules of logic, filling by masks, and conversions of element types."""

from __future__ import annotations

from typing import Final

import numpy as np
from xdsl.ir import SSAValue

from et_backends.tosa.compiler.legalizer import FLOATS, CannotLegalize, Legalizer
from et_backends.tosa.compiler.rules.rule import Rule
from et_backends.tosa.format.graph import DType, Op
from et_ir.dialects.schema import SchemaOp

__all__ = ["RULES"]


def _logic(kind: Op, integers: Op | None = None) -> Rule:
    def lower(t: Legalizer, op: SchemaOp) -> SSAValue:
        x: SSAValue = op.arg("self")
        other: SSAValue | float = op.arg("other")
        chosen = kind
        if t.dtype(x) is not DType.BOOL:
            if integers is None or t.dtype(x) in FLOATS:
                raise CannotLegalize(f"element type {t.dtype(x).name}")
            chosen = integers
        return t.binary(chosen, x, t.value(other, x))

    return lower


def _not(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    if t.dtype(x) is DType.BOOL:
        return t.emit(Op.LOGICAL_NOT, x)
    if "bitwise" not in op.name or t.dtype(x) in FLOATS:
        raise CannotLegalize(f"element type {t.dtype(x).name}")
    return t.emit(Op.BITWISE_NOT, x)


def _masked_fill(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    return t.select(op.arg("mask"), t.value(op.arg("value"), x), x)


def _converted(t: Legalizer, op: SchemaOp) -> SSAValue:
    """A copy, to another element type or layout."""
    x: SSAValue = op.arg("self")
    have, want = t.dtype(x), t.dtype(op.results[0])
    if have is want:
        return t.operand(x)
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
    "logical_and": _logic(Op.LOGICAL_AND),
    "logical_not": _not,
    "logical_or": _logic(Op.LOGICAL_OR),
    "logical_xor": _logic(Op.LOGICAL_XOR),
    "masked_fill.Scalar": _masked_fill,
    "masked_fill.Tensor": _masked_fill,
}
