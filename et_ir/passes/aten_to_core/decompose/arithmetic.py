"""Pointwise arithmetic, comparisons and selections that Core ATen does not have."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from et_ir.dialects.aten import AtenOp
from et_ir.dialects.aten import ops as aten
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.passes.aten_to_core.decompose.chain import Chain, Number, Reason, decomposes, is_static, meta
from et_ops.dtypes import BOOL, DType, as_float


@decomposes(Reason.COMMON, aten.RsubTensorOp)
def rsub(b: Chain, op: aten.RsubTensorOp) -> SSAValue:
    return b(aten.SubTensorOp, op.other, op.self, alpha=op.alpha)


@decomposes(Reason.COMMON, aten.RsubScalarOp)
def rsub_scalar(b: Chain, op: aten.RsubScalarOp) -> SSAValue:
    other = op.other if isinstance(op.other, SSAValue) else b.number(op.other)
    return b(aten.SubTensorOp, other, op.self, alpha=op.alpha)


def _add_scaled(b: Chain, op: aten.AddcmulOp | aten.AddcdivOp, combine: type[AtenOp]) -> SSAValue:
    """`self + value * combine(tensor1, tensor2)`, of operands rounded to the type of the result, with a value of its
    category.
    """
    dtype = meta(op.result).dtype
    one, other = (b.wide(b.to(factor, dtype)) for factor in (op.tensor1, op.tensor2))
    combined = b(combine, one, other)
    value = op.value
    if dtype.is_integral and isinstance(value, float):
        value = int(value)
    return b.to(b(aten.AddTensorOp, b.wide(b.to(op.self, dtype)), combined, alpha=value), dtype)


@decomposes(Reason.KERNEL, aten.AddScalarOp, aten.SubScalarOp)
def add_scalar(b: Chain, op: aten.AddScalarOp) -> SSAValue | None:
    """Integers and a float are added as floats: kernels take one type."""
    dtype = meta(op.result).dtype
    if not meta(op.self).dtype.is_integral or dtype.is_integral or isinstance(op.other, SSAValue):
        return None
    return b(type(op), b.to(op.self, dtype), op.other, alpha=op.alpha)


@decomposes(Reason.FEWER, aten.AddcmulOp)
def addcmul(b: Chain, op: aten.AddcmulOp) -> SSAValue:
    return _add_scaled(b, op, aten.MulTensorOp)


@decomposes(Reason.FEWER, aten.AddcdivOp)
def addcdiv(b: Chain, op: aten.AddcdivOp) -> SSAValue | None:
    if meta(op.result).dtype.is_integral:
        return None
    return _add_scaled(b, op, aten.DivTensorOp)


@decomposes(Reason.FEWER, aten.LerpScalarOp)
def lerp(b: Chain, op: aten.LerpScalarOp) -> SSAValue | None:
    """From whichever end is nearer, so that both ends are met exactly."""
    start, end, weight = op.self, op.end, op.weight
    if isinstance(weight, SSAValue) or meta(start).dtype.is_complex:
        return None
    difference = b(aten.SubTensorOp, end, start)
    if abs(weight) < 0.5:
        return b(aten.AddTensorOp, start, difference, alpha=weight)
    return b(aten.SubTensorOp, end, difference, alpha=1 - weight)


def _float(b: Chain, x: SSAValue) -> SSAValue:
    return b.to(x, as_float(meta(x).dtype))


@decomposes(Reason.NONE, aten.Exp2Op)
def exp2(b: Chain, op: aten.Exp2Op) -> SSAValue:
    return b(aten.PowScalarOp, 2.0, _float(b, op.self))


@decomposes(Reason.FEWER, aten.LogitOp)
def logit(b: Chain, op: aten.LogitOp) -> SSAValue:
    x = _float(b, op.self)
    if op.eps is not None and op.eps >= 0:
        x = b(aten.ClampOp, x, op.eps, 1 - op.eps)
    return b(aten.LogOp, b(aten.DivTensorOp, x, b(aten.RsubScalarOp, x, 1)))


@decomposes(Reason.FEWER, aten.LogaddexpOp)
def logaddexp(b: Chain, op: aten.LogaddexpOp) -> SSAValue | None:
    """`max + log1p(exp(-|x - y|))`; where both are the same infinity, that one."""
    x, y = op.self, op.other
    if not (meta(x).dtype.is_float and meta(y).dtype.is_float):
        return None
    largest = b(aten.MaximumOp, x, y)
    difference = b(aten.NegOp, b(aten.AbsOp, b(aten.SubTensorOp, x, y)))
    soft = b(aten.AddTensorOp, largest, b(aten.Log1pOp, b(aten.ExpOp, difference)))
    same = b(aten.LogicalAndOp, b(aten.EqTensorOp, x, y), b(aten.IsinfOp, x))
    return b(aten.WhereSelfOp, same, largest, soft)


@decomposes(Reason.NONE, aten.HypotOp)
def hypot(b: Chain, op: aten.HypotOp) -> SSAValue | None:
    """The larger side times `sqrt(1 + ratio ** 2)`, which overflows only where the result does."""
    dtype = meta(op.result).dtype
    if not dtype.is_float:
        return None
    x, y = (b(aten.AbsOp, b.wide(b.to(side, dtype))) for side in (op.self, op.other))
    wide = meta(x).dtype
    large, small = b(aten.MaximumOp, x, y), b(aten.MinimumOp, x, y)
    zero = b(aten.EqScalarOp, large, 0)
    ratio = b(aten.WhereSelfOp, zero, b.scalar(0, wide), b(aten.DivTensorOp, small, large))
    root = b(aten.SqrtOp, b(aten.AddScalarOp, b(aten.MulTensorOp, ratio, ratio), 1))
    infinite = b(aten.LogicalOrOp, b(aten.IsinfOp, x), b(aten.IsinfOp, y))
    product = b(aten.MulTensorOp, large, root)
    return b.to(b(aten.WhereSelfOp, infinite, b.scalar(math.inf, wide), product), dtype)


# -- signs


@decomposes(Reason.NONE, aten.SignbitOp)
def signbit(b: Chain, op: aten.SignbitOp) -> SSAValue:
    """Of zeros, that of their reciprocals. The sign of a NaN counts as positive."""
    x, dtype = op.self, meta(op.self).dtype
    if dtype is BOOL:
        return b.full(b.sizes(x), False, BOOL)
    negative = b(aten.LtScalarOp, x, 0)
    if not dtype.is_float:
        return negative
    below = b(aten.EqScalarOp, b(aten.ReciprocalOp, x), -math.inf)
    zero = b(aten.LogicalAndOp, b(aten.EqScalarOp, x, 0), below)
    return b(aten.LogicalOrOp, negative, zero)


@decomposes(Reason.FEWER, aten.CopysignTensorOp)
def copysign(b: Chain, op: aten.CopysignTensorOp) -> SSAValue:
    size = b(aten.AbsOp, b.to(op.self, meta(op.result).dtype))
    return b(aten.WhereSelfOp, b(aten.SignbitOp, op.other), b(aten.NegOp, size), size)


# -- extrema of numbers


@decomposes(Reason.NONE, aten.FmaxOp, aten.FminOp)
def fmax(b: Chain, op: aten.FmaxOp | aten.FminOp) -> SSAValue:
    """The larger, or smaller, of both, and the other one where one is NaN."""
    dtype = meta(op.result).dtype
    x, y = b.to(op.self, dtype), b.to(op.other, dtype)
    is_larger = isinstance(op, aten.FmaxOp)
    if not dtype.is_float:
        return b(aten.MaximumOp if is_larger else aten.MinimumOp, x, y)
    # Of equal numbers, which zeros of two signs are, torch gives the first, and the second in bfloat16.
    if dtype.name == "bf16":
        first = b(aten.GtTensorOp if is_larger else aten.LtTensorOp, x, y)
    else:
        first = b(aten.GeTensorOp if is_larger else aten.LeTensorOp, x, y)
    found = b(aten.WhereSelfOp, first, x, y)
    return b(aten.WhereSelfOp, b(aten.IsnanOp, y), x, found)


# -- powers and division


@decomposes(Reason.COMMON, aten.FloorDivideOp)
def floor_divide(b: Chain, op: aten.FloorDivideOp) -> SSAValue:
    return b(aten.DivTensorModeOp, op.self, op.other, rounding_mode="floor")


@decomposes(Reason.COMMON, aten.FloorDivideScalarOp)
def floor_divide_scalar(b: Chain, op: aten.FloorDivideScalarOp) -> SSAValue:
    return b(aten.DivScalarModeOp, op.self, op.other, rounding_mode="floor")


# -- clamps and selections


@decomposes(Reason.COMMON, aten.ClampMinOp)
def clamp_min(b: Chain, op: aten.ClampMinOp) -> SSAValue:
    return b(aten.ClampOp, op.self, op.arg("min"), None)


@decomposes(Reason.COMMON, aten.ClampMaxOp)
def clamp_max(b: Chain, op: aten.ClampMaxOp) -> SSAValue:
    return b(aten.ClampOp, op.self, None, op.arg("max"))


@decomposes(Reason.KERNEL, aten.ClampMinTensorOp)
def clamp_min_tensor(b: Chain, op: aten.ClampMinTensorOp) -> SSAValue:
    return b(aten.MaximumOp, op.self, op.arg("min"))


@decomposes(Reason.KERNEL, aten.ClampMaxTensorOp)
def clamp_max_tensor(b: Chain, op: aten.ClampMaxTensorOp) -> SSAValue:
    return b(aten.MinimumOp, op.self, op.arg("max"))


@decomposes(Reason.NONE, aten.RemainderScalarTensorOp)
def remainder_of_number(b: Chain, op: aten.RemainderScalarTensorOp) -> SSAValue:
    value, dtype = op.arg("self"), meta(op.results[0]).dtype
    if isinstance(value, int) and dtype.is_integral:
        value = dtype.wrapped(value)
    return b(aten.RemainderTensorOp, _as_tensor(b, value, dtype), op.other)


def _as_tensor(b: Chain, value: Number | SSAValue, dtype: DType) -> SSAValue:
    """A number as a tensor without dimensions; tensors stay."""
    if not isinstance(value, SSAValue):
        return b.scalar(value, dtype)
    return b(aten.ScalarTensorOp, value, dtype=dtype) if meta(value).wrapped else value


@decomposes(Reason.COMMON, aten.WhereScalarOp, aten.WhereScalarOtherOp, aten.WhereScalarSelfOp)
def where_scalar(b: Chain, op: aten.WhereScalarOp) -> SSAValue:
    dtype = meta(op.result).dtype
    this, other = _as_tensor(b, op.arg("self"), dtype), _as_tensor(b, op.other, dtype)
    return b(aten.WhereSelfOp, op.condition, this, other)


@decomposes(Reason.COMMON, aten.MaskedFillScalarOp)
def masked_fill(b: Chain, op: aten.MaskedFillScalarOp) -> SSAValue:
    return b(aten.WhereSelfOp, op.mask, _as_tensor(b, op.value, meta(op.self).dtype), op.self)


@decomposes(Reason.COMMON, aten.MaskedFillTensorOp)
def masked_fill_tensor(b: Chain, op: aten.MaskedFillTensorOp) -> SSAValue | None:
    if meta(op.value).wrapped:
        return None
    return b(aten.WhereSelfOp, op.mask, b.to(op.value, meta(op.self).dtype), op.self)


@decomposes(Reason.FEWER, aten.HeavisideOp)
def heaviside(b: Chain, op: aten.HeavisideOp) -> SSAValue | None:
    x, values = op.self, op.values
    dtype = meta(x).dtype
    if meta(values).dtype is not dtype:
        return None
    step = b.to(b(aten.GtScalarOp, x, 0), dtype)
    return b(aten.WhereSelfOp, b(aten.EqScalarOp, x, 0), values, step)


@decomposes(Reason.NONE, aten.EqualOp)
def equal(b: Chain, op: aten.EqualOp) -> SSAValue | None:
    if meta(op.self).shape != meta(op.other).shape or not is_static(op.self):
        return None
    different = b(aten.AnyOp, b(aten.NeTensorOp, op.self, op.other))
    return b(aten.UnderscoreLocalScalarDenseOp, b(aten.LogicalNotOp, different))


# -- conversions


@decomposes(Reason.KERNEL, aten.ItemOp)
def item(b: Chain, op: aten.ItemOp) -> SSAValue | None:
    """The number in a tensor of one element."""
    if meta(op.self).dtype.is_complex:
        return None
    return b(aten.UnderscoreLocalScalarDenseOp, b.wide(op.self))


@decomposes(Reason.COMMON, aten.ToDtypeOp, aten.ToDeviceOp, aten.ToDtypeLayoutOp)
def to_dtype(b: Chain, op: aten.ToDtypeLayoutOp) -> SSAValue:
    """A conversion to another element type or memory format. There is one device and one layout."""
    dtype = meta(op.self).dtype if op.dtype is None else dtype_of(op.dtype)
    if op.memory_format not in (None, "preserve_format"):
        return b(aten.UnderscoreToCopyOp, op.self, dtype=dtype, memory_format=op.memory_format)
    return b.to(op.self, dtype)


@decomposes(Reason.COMMON, aten.ToOtherOp)
def to_other(b: Chain, op: aten.ToOtherOp) -> SSAValue:
    dtype = meta(op.other).dtype
    if op.memory_format not in (None, "preserve_format"):
        return b(aten.UnderscoreToCopyOp, op.self, dtype=dtype, memory_format=op.memory_format)
    return b.to(op.self, dtype)


@decomposes(Reason.COMMON, aten.TypeAsOp)
def type_as(b: Chain, op: aten.TypeAsOp) -> SSAValue:
    return b.to(op.self, meta(op.other).dtype)


@decomposes(Reason.COMMON, aten.ContiguousOp)
def contiguous(b: Chain, op: aten.ContiguousOp) -> SSAValue:
    """A copy in the memory format asked for. The edge level drops it where that is the tensor's format
    already.
    """
    return b(aten.CloneOp, op.self, memory_format=op.memory_format)


@decomposes(Reason.COMMON, aten.DetachOp)
def detach(b: Chain, op: aten.DetachOp) -> SSAValue:
    return op.self
