"""Rules of softmax and of normalizations, which TOSA computes by their definitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.ir import SSAValue

from et_backends.tosa.compiler.legalizer import Legalizer
from et_backends.tosa.compiler.rules.rule import Rule, axis, require_float
from et_backends.tosa.format.graph import Op
from et_ir.dialects.schema import SchemaOp

__all__ = ["RULES"]


def _softmax(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    require_float(t, x)
    dim = axis(int(op.arg("dim")), len(t.shape_of(x)))
    shifted = t.sub(x, t.emit(Op.REDUCE_MAX, x, axis=dim))
    powers = t.emit(Op.EXP, shifted)
    total = t.emit(Op.REDUCE_SUM, powers, axis=dim)
    if op.name.endswith("_log_softmax"):
        return t.sub(shifted, t.emit(Op.LOG, total))
    return t.mul(powers, t.emit(Op.RECIPROCAL, total))


def _normalized(
    t: Legalizer, x: SSAValue, dims: Sequence[int], eps: float
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """A value with mean 0 and variance 1 over dimensions, the mean, and the reciprocal of the deviation."""
    mean = t.mean(x, dims)
    apart = t.sub(x, mean)
    variance = t.mean(t.mul(apart, apart), dims)
    scale = t.emit(Op.RSQRT, t.add(variance, eps))
    return t.mul(apart, scale), mean, scale


def _layer_norm(t: Legalizer, op: SchemaOp) -> list[SSAValue | None]:
    x: SSAValue = op.arg("input")
    require_float(t, x)
    rank = len(t.shape_of(x))
    dims = range(rank - len(op.arg("normalized_shape")), rank)
    made, mean, scale = _normalized(t, x, list(dims), op.arg("eps"))
    if op.arg("weight") is not None:
        made = t.mul(made, op.arg("weight"))
    if op.arg("bias") is not None:
        made = t.add(made, op.arg("bias"))
    return [made, mean, scale]


def _group_norm(t: Legalizer, op: SchemaOp) -> list[SSAValue | None]:
    x: SSAValue = op.arg("input")
    require_float(t, x)
    shape = t.shape_of(x)
    batch, groups = shape[0], int(op.arg("group"))
    size = 1
    for one in shape[1:]:
        size *= one
    apart = t.reshape(x, (batch, groups, size // groups))
    made, mean, scale = _normalized(t, apart, [2], op.arg("eps"))
    made = t.reshape(made, shape)
    channels = (1, shape[1], *(1 for _ in shape[2:]))
    if op.arg("weight") is not None:
        made = t.mul(made, t.reshape(op.arg("weight"), channels))
    if op.arg("bias") is not None:
        made = t.add(made, t.reshape(op.arg("bias"), channels))
    return [made, t.reshape(mean, (batch, groups)), t.reshape(scale, (batch, groups))]


def _batch_norm(t: Legalizer, op: SchemaOp) -> list[SSAValue | None]:
    x: SSAValue = op.arg("input")
    require_float(t, x)
    shape = t.shape_of(x)
    channels = (1, shape[1], *(1 for _ in shape[2:]))
    made = t.sub(x, t.reshape(op.arg("running_mean"), channels))
    variance = t.reshape(op.arg("running_var"), channels)
    made = t.mul(made, t.emit(Op.RSQRT, t.add(variance, op.arg("eps"))))
    if op.arg("weight") is not None:
        made = t.mul(made, t.reshape(op.arg("weight"), channels))
    if op.arg("bias") is not None:
        made = t.add(made, t.reshape(op.arg("bias"), channels))
    return [made, None, None]


RULES: Final[dict[str, Rule]] = {
    "_log_softmax": _softmax,
    "_native_batch_norm_legit_no_training": _batch_norm,
    "_softmax": _softmax,
    "native_group_norm": _group_norm,
    "native_layer_norm": _layer_norm,
}
