"""Rules of reductions."""

from __future__ import annotations

from typing import Final

import numpy as np
from xdsl.ir import SSAValue

from et_backends.tosa.compiler.legalizer import CannotLegalize, Legalizer
from et_backends.tosa.compiler.rules.rule import Rule, axes, require_float
from et_backends.tosa.format.graph import DType, Op
from et_ir.dialects.schema import SchemaOp

__all__ = ["RULES"]


def _dims(t: Legalizer, op: SchemaOp, x: SSAValue) -> list[int]:
    named = op.arg("dim") if "dim" in op.info().schema.by_name else None
    return axes(named, len(t.shape_of(x)))


def _reduction(kind: Op, *, of: tuple[DType, ...] = (DType.FP32, DType.FP16)) -> Rule:
    def lower(t: Legalizer, op: SchemaOp) -> SSAValue:
        x: SSAValue = op.arg("self")
        if t.dtype(x) not in of or t.dtype(op.results[0]) is not t.dtype(x):
            raise CannotLegalize(f"a reduction of {t.dtype(x).name} to {t.dtype(op.results[0]).name}")
        return t.reshape(t.reduce(kind, x, _dims(t, op, x)), t.shape_of(op.results[0]))

    return lower


def _mean(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    require_float(t, x, op.results[0])
    if t.dtype(op.results[0]) is not t.dtype(x):
        x = t.emit(Op.CAST, x, result=t.dtype(op.results[0]))
    return t.reshape(t.mean(x, _dims(t, op, x)), t.shape_of(op.results[0]))


def _variance(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    require_float(t, x)
    dims = _dims(t, op, x)
    count = int(np.prod([t.shape_of(x)[dim] for dim in dims], dtype=np.int64))
    if "correction" in op.info().schema.by_name:
        given = op.arg("correction")
        correction = 1 if given is None else given
    else:
        correction = int(op.arg("unbiased"))
    if count - correction <= 0:
        raise CannotLegalize("a variance of no degrees of freedom")
    apart = t.sub(x, t.mean(x, dims))
    total = t.reduce(Op.REDUCE_SUM, t.mul(apart, apart), dims)
    return t.reshape(t.mul(total, 1.0 / (count - correction)), t.shape_of(op.results[0]))


_NUMBERS: Final = (DType.FP32, DType.FP16, DType.INT32)
_BITS: Final = (DType.BOOL,)

RULES: Final[dict[str, Rule]] = {
    "all": _reduction(Op.REDUCE_ALL, of=_BITS),
    "all.dim": _reduction(Op.REDUCE_ALL, of=_BITS),
    "all.dims": _reduction(Op.REDUCE_ALL, of=_BITS),
    "amax": _reduction(Op.REDUCE_MAX, of=_NUMBERS),
    "amin": _reduction(Op.REDUCE_MIN, of=_NUMBERS),
    "any": _reduction(Op.REDUCE_ANY, of=_BITS),
    "any.dim": _reduction(Op.REDUCE_ANY, of=_BITS),
    "any.dims": _reduction(Op.REDUCE_ANY, of=_BITS),
    "max": _reduction(Op.REDUCE_MAX, of=_NUMBERS),
    "mean": _mean,
    "mean.dim": _mean,
    "min": _reduction(Op.REDUCE_MIN, of=_NUMBERS),
    "prod": _reduction(Op.REDUCE_PRODUCT),
    "prod.dim_int": _reduction(Op.REDUCE_PRODUCT),
    "sum": _reduction(Op.REDUCE_SUM),
    "sum.dim_IntList": _reduction(Op.REDUCE_SUM),
    "var.correction": _variance,
    "var.dim": _variance,
}
