"""Softmax and normalizations."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.passes.aten_to_core.decompose.chain import Chain, Reason, decomposes, is_static, meta
from et_ops.dtypes import F32, F64

__all__ = ["softmax"]

_EPSILON = {F32: 2.0**-23, F64: 2.0**-52}


def softmax(b: Chain, x: SSAValue, dim: int) -> SSAValue:
    """`softmax` of floats."""
    return b(aten.UnderscoreSoftmaxOp, x, dim, False)


def _converted(b: Chain, op: aten.SoftmaxIntOp) -> SSAValue:
    return op.self if op.dtype is None else b.to(op.self, dtype_of(op.dtype))


@decomposes(Reason.COMMON, aten.SoftmaxIntOp)
def decompose_softmax(b: Chain, op: aten.SoftmaxIntOp) -> SSAValue:
    return softmax(b, _converted(b, op), op.dim)


@decomposes(Reason.COMMON, aten.LogSoftmaxIntOp)
def decompose_log_softmax(b: Chain, op: aten.SoftmaxIntOp) -> SSAValue:
    return b(aten.UnderscoreLogSoftmaxOp, _converted(b, op), op.dim, False)


@decomposes(Reason.COMMON, aten.LayerNormOp)
def layer_norm(b: Chain, op: aten.LayerNormOp) -> SSAValue:
    return b(aten.NativeLayerNormOp, op.input, op.normalized_shape, op.weight, op.bias, op.eps)


@decomposes(Reason.COMMON, aten.BatchNormOp)
def batch_norm(b: Chain, op: aten.BatchNormOp) -> SSAValue | None:
    if op.training:
        # With running statistics it writes them: torch's functionalization has another op for that.
        if op.running_mean is not None:
            return None
        return b(
            aten.UnderscoreNativeBatchNormLegitNoStatsOp,
            op.input,
            op.weight,
            op.bias,
            True,
            op.momentum,
            op.eps,
        )
    if op.running_mean is None or op.running_var is None:
        return None
    return b(
        aten.UnderscoreNativeBatchNormLegitNoTrainingOp,
        op.input,
        op.weight,
        op.bias,
        op.running_mean,
        op.running_var,
        op.momentum,
        op.eps,
    )


def _group_norm(
    b: Chain, x: SSAValue, weight: SSAValue | None, bias: SSAValue | None, groups: int, eps: float
) -> SSAValue:
    batch, channels, *rest = meta(x).shape
    return b(aten.NativeGroupNormOp, x, weight, bias, batch, channels, prod(rest), groups, eps)


@decomposes(Reason.COMMON, aten.GroupNormOp)
def group_norm(b: Chain, op: aten.GroupNormOp) -> SSAValue | None:
    if not is_static(op.input):
        return None
    return _group_norm(b, op.input, op.weight, op.bias, op.num_groups, op.eps)


@decomposes(Reason.FEWER, aten.InstanceNormOp)
def instance_norm(b: Chain, op: aten.InstanceNormOp) -> SSAValue | None:
    """A group normalization in which each channel is a group, unless running statistics are used."""
    if op.use_input_stats:
        if op.running_mean is not None or not is_static(op.input):
            return None
        return _group_norm(b, op.input, op.weight, op.bias, meta(op.input).shape[1], op.eps)
    return b(
        aten.BatchNormOp,
        op.input,
        op.weight,
        op.bias,
        op.running_mean,
        op.running_var,
        False,
        op.momentum,
        op.eps,
        False,
    )


@decomposes(Reason.COMMON, aten.RmsNormOp)
def rms_norm(b: Chain, op: aten.RmsNormOp) -> SSAValue | None:
    dtype = meta(op.input).dtype
    if not dtype.is_float:
        return None
    x = b.wide(op.input)
    dims = tuple(range(-len(op.normalized_shape), 0))
    square = b(aten.MeanDimOp, b(aten.MulTensorOp, x, x), dims, True)
    eps = op.eps if op.eps is not None else _EPSILON[meta(x).dtype]
    y = b(aten.MulTensorOp, x, b(aten.RsqrtOp, b(aten.AddScalarOp, square, eps)))
    if op.weight is not None:
        y = b(aten.MulTensorOp, y, op.weight)
    return b.to(y, dtype)
