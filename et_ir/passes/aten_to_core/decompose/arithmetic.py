"""Pointwise arithmetic, comparisons and selections that Core ATen does not have."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.passes.aten_to_core.decompose.chain import Chain, Number, decomposes, is_static, meta
from et_ops.dtypes import BOOL, C128, F64, I64, DType, as_float


@decomposes(aten.SquareOp)
def square(b: Chain, op: aten.SquareOp) -> SSAValue:
    x = b.to(op.self, I64) if meta(op.self).dtype is BOOL else op.self
    return b(aten.MulTensorOp, x, x)


@decomposes(aten.RsubTensorOp)
def rsub(b: Chain, op: aten.RsubTensorOp) -> SSAValue:
    return b(aten.SubTensorOp, op.other, op.self, alpha=op.alpha)


@decomposes(aten.RsubScalarOp)
def rsub_scalar(b: Chain, op: aten.RsubScalarOp) -> SSAValue:
    other = op.other if isinstance(op.other, SSAValue) else b.number(op.other)
    return b(aten.SubTensorOp, other, op.self, alpha=op.alpha)


@decomposes(aten.AddScalarOp, aten.SubScalarOp)
def add_scalar(b: Chain, op: aten.AddScalarOp) -> SSAValue | None:
    """Integers and a float are added as floats: kernels take one type."""
    dtype = meta(op.result).dtype
    if not meta(op.self).dtype.is_integral or dtype.is_integral or isinstance(op.other, SSAValue):
        return None
    return b(type(op), b.to(op.self, dtype), op.other, alpha=op.alpha)


def _add_scaled(b: Chain, op: aten.AddcmulOp, combined: SSAValue) -> SSAValue:
    """`self + value * combined`, with a value of the result's category."""
    dtype = meta(op.result).dtype
    value = op.value
    if dtype.is_integral and isinstance(value, float):
        value = int(value)
    return b.to(b(aten.AddTensorOp, b.wide(op.self), combined, alpha=value), dtype)


@decomposes(aten.AddcmulOp)
def addcmul(b: Chain, op: aten.AddcmulOp) -> SSAValue:
    return _add_scaled(b, op, b(aten.MulTensorOp, b.wide(op.tensor1), b.wide(op.tensor2)))


@decomposes(aten.AddcdivOp)
def addcdiv(b: Chain, op: aten.AddcmulOp) -> SSAValue | None:
    if meta(op.self).dtype.is_integral:
        return None
    return _add_scaled(b, op, b(aten.DivTensorOp, b.wide(op.tensor1), b.wide(op.tensor2)))


@decomposes(aten.LerpScalarOp)
def lerp(b: Chain, op: aten.LerpScalarOp) -> SSAValue | None:
    """From whichever end is nearer, so that both ends are met exactly."""
    start, end, weight = op.self, op.end, op.weight
    if isinstance(weight, SSAValue) or meta(start).dtype.is_complex:
        return None
    difference = b(aten.SubTensorOp, end, start)
    if abs(weight) < 0.5:
        return b(aten.AddTensorOp, start, difference, alpha=weight)
    return b(aten.SubTensorOp, end, difference, alpha=1 - weight)


@decomposes(aten.LerpTensorOp)
def lerp_tensor(b: Chain, op: aten.LerpTensorOp) -> SSAValue | None:
    start, end, weight = op.self, op.end, op.weight
    if meta(start).dtype.is_complex:
        return None
    difference = b(aten.SubTensorOp, end, start)
    near = b(aten.LtScalarOp, b(aten.AbsOp, weight), 0.5)
    from_start = b(aten.AddTensorOp, start, b(aten.MulTensorOp, difference, weight))
    rest = b(aten.SubTensorOp, b.number(1), weight)
    from_end = b(aten.SubTensorOp, end, b(aten.MulTensorOp, difference, rest))
    return b(aten.WhereSelfOp, near, from_start, from_end)


@decomposes(aten.CdistOp)
def cdist(b: Chain, op: aten.CdistOp) -> SSAValue:
    return b(aten.UnderscoreCdistForwardOp, op.x1, op.x2, op.p, op.compute_mode)


@decomposes(aten.FracOp)
def frac(b: Chain, op: aten.FracOp) -> SSAValue:
    return b(aten.SubTensorOp, op.self, b(aten.TruncOp, op.self))


def _float(b: Chain, x: SSAValue) -> SSAValue:
    return b.to(x, as_float(meta(x).dtype))


@decomposes(aten.Deg2radOp)
def deg2rad(b: Chain, op: aten.Deg2radOp) -> SSAValue:
    return b(aten.MulScalarOp, _float(b, op.self), math.pi / 180)


@decomposes(aten.Rad2degOp)
def rad2deg(b: Chain, op: aten.Rad2degOp) -> SSAValue:
    return b(aten.MulScalarOp, _float(b, op.self), 180 / math.pi)


@decomposes(aten.Exp2Op)
def exp2(b: Chain, op: aten.Exp2Op) -> SSAValue:
    return b(aten.PowScalarOp, 2.0, _float(b, op.self))


@decomposes(aten.SincOp)
def sinc(b: Chain, op: aten.SincOp) -> SSAValue:
    x = b(aten.MulScalarOp, _float(b, op.self), math.pi)
    zero = b(aten.EqScalarOp, x, 0)
    return b(aten.WhereSelfOp, zero, b.scalar(1, meta(x).dtype), b(aten.DivTensorOp, b(aten.SinOp, x), x))


@decomposes(aten.LogitOp)
def logit(b: Chain, op: aten.LogitOp) -> SSAValue:
    x = _float(b, op.self)
    if op.eps is not None and op.eps >= 0:
        x = b(aten.ClampOp, x, op.eps, 1 - op.eps)
    return b(aten.LogOp, b(aten.DivTensorOp, x, b(aten.RsubScalarOp, x, 1)))


@decomposes(aten.LogaddexpOp)
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


@decomposes(aten.SgnOp)
def sgn(b: Chain, op: aten.SgnOp) -> SSAValue | None:
    return None if meta(op.self).dtype.is_complex else b(aten.SignOp, op.self)


@decomposes(aten.PositiveOp)
def positive(b: Chain, op: aten.PositiveOp) -> SSAValue:
    return op.self


@decomposes(aten.NanToNumOp)
def nan_to_num(b: Chain, op: aten.NanToNumOp) -> SSAValue | None:
    x, dtype = op.self, meta(op.self).dtype
    if dtype.is_integral:
        return x
    if dtype.is_complex:
        return None
    largest = _LARGEST[dtype.name]
    positive = largest if op.posinf is None else op.posinf
    negative = -largest if op.neginf is None else op.neginf
    y = b(aten.WhereSelfOp, b(aten.IsnanOp, x), b.scalar(0.0 if op.nan is None else op.nan, dtype), x)
    y = b(aten.WhereSelfOp, b(aten.EqScalarOp, x, math.inf), b.scalar(positive, dtype), y)
    return b(aten.WhereSelfOp, b(aten.EqScalarOp, x, -math.inf), b.scalar(negative, dtype), y)


_LARGEST = {
    "f16": 65504.0,
    "bf16": 2.0**128 - 2.0**120,
    "f32": 2.0**128 - 2.0**104,
    "f64": 1.7976931348623157e308,
}


@decomposes(aten.Logaddexp2Op)
def logaddexp2(b: Chain, op: aten.Logaddexp2Op) -> SSAValue | None:
    """As `logaddexp`, with powers of two."""
    x, y = op.self, op.other
    if not (meta(x).dtype.is_float and meta(y).dtype.is_float):
        return None
    largest = b(aten.MaximumOp, x, y)
    difference = b(aten.NegOp, b(aten.AbsOp, b(aten.SubTensorOp, x, y)))
    soft = b(aten.MulScalarOp, b(aten.Log1pOp, b(aten.Exp2Op, difference)), 1 / math.log(2))
    same = b(aten.LogicalAndOp, b(aten.EqTensorOp, x, y), b(aten.IsinfOp, x))
    return b(aten.WhereSelfOp, same, largest, b(aten.AddTensorOp, largest, soft))


@decomposes(aten.HypotOp)
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


@decomposes(aten.SignbitOp)
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


@decomposes(aten.CopysignTensorOp)
def copysign(b: Chain, op: aten.CopysignTensorOp) -> SSAValue:
    size = b(aten.AbsOp, b.to(op.self, meta(op.result).dtype))
    return b(aten.WhereSelfOp, b(aten.SignbitOp, op.other), b(aten.NegOp, size), size)


@decomposes(aten.CopysignScalarOp)
def copysign_scalar(b: Chain, op: aten.CopysignScalarOp) -> SSAValue | None:
    if isinstance(op.other, SSAValue):
        return None
    size = b(aten.AbsOp, b.to(op.self, meta(op.result).dtype))
    return b(aten.NegOp, size) if math.copysign(1, op.other) < 0 else size


# -- extrema of numbers


@decomposes(aten.FmaxOp, aten.FminOp)
def fmax(b: Chain, op: aten.FmaxOp | aten.FminOp) -> SSAValue:
    """The larger, or smaller, of both, and the other one where one is NaN."""
    dtype = meta(op.result).dtype
    x, y = b.to(op.self, dtype), b.to(op.other, dtype)
    found = b(aten.MaximumOp if isinstance(op, aten.FmaxOp) else aten.MinimumOp, x, y)
    if not dtype.is_float:
        return found
    found = b(aten.WhereSelfOp, b(aten.IsnanOp, y), x, found)
    return b(aten.WhereSelfOp, b(aten.IsnanOp, x), y, found)


# -- powers and division


def _power_type(*types: DType) -> DType:
    return C128 if any(dtype.is_complex for dtype in types) else F64


@decomposes(aten.FloatPowerTensorTensorOp)
def float_power(b: Chain, op: aten.FloatPowerTensorTensorOp) -> SSAValue:
    dtype = _power_type(meta(op.self).dtype, meta(op.exponent).dtype)
    return b(aten.PowTensorTensorOp, b.to(op.self, dtype), b.to(op.exponent, dtype))


@decomposes(aten.FloatPowerTensorScalarOp)
def float_power_scalar(b: Chain, op: aten.FloatPowerTensorScalarOp) -> SSAValue:
    return b(aten.PowTensorScalarOp, b.to(op.self, _power_type(meta(op.self).dtype)), op.exponent)


@decomposes(aten.FloatPowerScalarOp)
def float_power_of_scalar(b: Chain, op: aten.FloatPowerScalarOp) -> SSAValue:
    exponent = op.exponent
    return b(aten.PowScalarOp, op.arg("self"), b.to(exponent, _power_type(meta(exponent).dtype)))


@decomposes(aten.FloorDivideOp)
def floor_divide(b: Chain, op: aten.FloorDivideOp) -> SSAValue:
    return b(aten.DivTensorModeOp, op.self, op.other, rounding_mode="floor")


@decomposes(aten.FloorDivideScalarOp)
def floor_divide_scalar(b: Chain, op: aten.FloorDivideScalarOp) -> SSAValue:
    return b(aten.DivScalarModeOp, op.self, op.other, rounding_mode="floor")


@decomposes(aten.XlogyTensorOp, aten.SpecialXlogyOp)
def xlogy(b: Chain, op: aten.XlogyTensorOp) -> SSAValue:
    """0 where `x` is, unless `y` is NaN."""
    x, y = op.self, op.other
    product = b(aten.MulTensorOp, x, b(aten.LogOp, _float(b, y)))
    zero = b(aten.LogicalAndOp, b(aten.EqScalarOp, x, 0), b(aten.LogicalNotOp, b(aten.IsnanOp, y)))
    return b(aten.WhereSelfOp, zero, b.scalar(0, meta(product).dtype), product)


def _shift(op: aten.BitwiseLeftShiftTensorScalarOp) -> int | None:
    """The power of two of a shift that has no surprises: within the width of an integer type."""
    dtype = meta(op.self).dtype
    if dtype is BOOL or not dtype.is_integral or not isinstance(op.other, int):
        return None
    return 2**op.other if 0 <= op.other < dtype.bits - 1 else None


@decomposes(aten.BitwiseLeftShiftTensorScalarOp)
def left_shift(b: Chain, op: aten.BitwiseLeftShiftTensorScalarOp) -> SSAValue | None:
    factor = _shift(op)
    return None if factor is None else b(aten.MulScalarOp, op.self, factor)


@decomposes(aten.BitwiseRightShiftTensorScalarOp)
def right_shift(b: Chain, op: aten.BitwiseLeftShiftTensorScalarOp) -> SSAValue | None:
    divisor = _shift(op)
    if divisor is None:
        return None
    return b(aten.DivScalarModeOp, op.self, divisor, rounding_mode="floor")


# -- clamps and selections


@decomposes(aten.ClampMinOp)
def clamp_min(b: Chain, op: aten.ClampMinOp) -> SSAValue:
    return b(aten.ClampOp, op.self, op.arg("min"), None)


@decomposes(aten.ClampMaxOp)
def clamp_max(b: Chain, op: aten.ClampMaxOp) -> SSAValue:
    return b(aten.ClampOp, op.self, None, op.arg("max"))


@decomposes(aten.ClampMinTensorOp)
def clamp_min_tensor(b: Chain, op: aten.ClampMinTensorOp) -> SSAValue:
    return b(aten.MaximumOp, op.self, op.arg("min"))


@decomposes(aten.ClampMaxTensorOp)
def clamp_max_tensor(b: Chain, op: aten.ClampMaxTensorOp) -> SSAValue:
    return b(aten.MinimumOp, op.self, op.arg("max"))


def _as_tensor(b: Chain, value: Number | SSAValue, dtype: DType) -> SSAValue:
    """A number as a tensor without dimensions; tensors stay."""
    if not isinstance(value, SSAValue):
        return b.scalar(value, dtype)
    return b(aten.ScalarTensorOp, value, dtype=dtype) if meta(value).wrapped else value


@decomposes(aten.WhereScalarOp, aten.WhereScalarOtherOp, aten.WhereScalarSelfOp)
def where_scalar(b: Chain, op: aten.WhereScalarOp) -> SSAValue:
    dtype = meta(op.result).dtype
    this, other = _as_tensor(b, op.arg("self"), dtype), _as_tensor(b, op.other, dtype)
    return b(aten.WhereSelfOp, op.condition, this, other)


@decomposes(aten.MaskedFillScalarOp)
def masked_fill(b: Chain, op: aten.MaskedFillScalarOp) -> SSAValue:
    return b(aten.WhereSelfOp, op.mask, _as_tensor(b, op.value, meta(op.self).dtype), op.self)


@decomposes(aten.MaskedFillTensorOp)
def masked_fill_tensor(b: Chain, op: aten.MaskedFillTensorOp) -> SSAValue | None:
    if meta(op.value).wrapped:
        return None
    return b(aten.WhereSelfOp, op.mask, b.to(op.value, meta(op.self).dtype), op.self)


@decomposes(aten.HeavisideOp)
def heaviside(b: Chain, op: aten.HeavisideOp) -> SSAValue | None:
    x, values = op.self, op.values
    dtype = meta(x).dtype
    if meta(values).dtype is not dtype:
        return None
    step = b.to(b(aten.GtScalarOp, x, 0), dtype)
    return b(aten.WhereSelfOp, b(aten.EqScalarOp, x, 0), values, step)


# -- predicates


def _all(b: Chain, x: SSAValue, value: bool) -> SSAValue:
    return b.full(b.sizes(x), value, BOOL)


@decomposes(aten.IsfiniteOp)
def isfinite(b: Chain, op: aten.IsfiniteOp) -> SSAValue | None:
    x = op.self
    if meta(x).dtype.is_integral:
        return _all(b, x, True)
    if meta(x).dtype.is_complex:
        return None
    return b(aten.LogicalNotOp, b(aten.LogicalOrOp, b(aten.IsinfOp, x), b(aten.IsnanOp, x)))


@decomposes(aten.IsposinfOp)
def isposinf(b: Chain, op: aten.IsposinfOp) -> SSAValue:
    x = op.self
    return _all(b, x, False) if meta(x).dtype.is_integral else b(aten.EqScalarOp, x, math.inf)


@decomposes(aten.IsneginfOp)
def isneginf(b: Chain, op: aten.IsneginfOp) -> SSAValue:
    x = op.self
    return _all(b, x, False) if meta(x).dtype.is_integral else b(aten.EqScalarOp, x, -math.inf)


@decomposes(aten.IscloseOp)
def isclose(b: Chain, op: aten.IscloseOp) -> SSAValue | None:
    """`x == y`, or both are finite and `|x - y| <= atol + rtol * |y|`."""
    x, y = op.self, op.other
    if not meta(x).dtype.is_float or meta(x).dtype is not meta(y).dtype:
        return None
    allowed = b(aten.AddScalarOp, b(aten.AbsOp, b(aten.MulScalarOp, y, op.rtol)), op.atol)
    distance = b(aten.AbsOp, b(aten.SubTensorOp, x, y))
    near = b(aten.LogicalAndOp, b(aten.LeTensorOp, distance, allowed), b(aten.IsfiniteOp, distance))
    close = b(aten.LogicalOrOp, b(aten.EqTensorOp, x, y), near)
    if op.equal_nan:
        close = b(aten.LogicalOrOp, close, b(aten.LogicalAndOp, b(aten.IsnanOp, x), b(aten.IsnanOp, y)))
    return close


@decomposes(aten.EqualOp)
def equal(b: Chain, op: aten.EqualOp) -> SSAValue | None:
    if meta(op.self).shape != meta(op.other).shape or not is_static(op.self):
        return None
    same = b(aten.EqTensorOp, op.self, op.other)
    return b(aten.UnderscoreLocalScalarDenseOp, b(aten.AllOp, same))


# -- conversions


@decomposes(aten.ItemOp)
def item(b: Chain, op: aten.ItemOp) -> SSAValue | None:
    """The number in a tensor of one element."""
    if meta(op.self).dtype.is_complex:
        return None
    return b(aten.UnderscoreLocalScalarDenseOp, b.wide(op.self))


@decomposes(aten.ToDtypeOp, aten.ToDeviceOp, aten.ToDtypeLayoutOp)
def to_dtype(b: Chain, op: aten.ToDtypeLayoutOp) -> SSAValue:
    """A conversion to another element type or memory format. There is one device and one layout."""
    dtype = meta(op.self).dtype if op.dtype is None else dtype_of(op.dtype)
    if op.memory_format not in (None, "preserve_format"):
        return b(aten.UnderscoreToCopyOp, op.self, dtype=dtype, memory_format=op.memory_format)
    return b.to(op.self, dtype)


@decomposes(aten.ToOtherOp)
def to_other(b: Chain, op: aten.ToOtherOp) -> SSAValue:
    dtype = meta(op.other).dtype
    if op.memory_format not in (None, "preserve_format"):
        return b(aten.UnderscoreToCopyOp, op.self, dtype=dtype, memory_format=op.memory_format)
    return b.to(op.self, dtype)


@decomposes(aten.TypeAsOp)
def type_as(b: Chain, op: aten.TypeAsOp) -> SSAValue:
    return b.to(op.self, meta(op.other).dtype)


@decomposes(
    aten.UnderscoreCastByteOp,
    aten.UnderscoreCastCharOp,
    aten.UnderscoreCastDoubleOp,
    aten.UnderscoreCastFloatOp,
    aten.UnderscoreCastHalfOp,
    aten.UnderscoreCastIntOp,
    aten.UnderscoreCastLongOp,
    aten.UnderscoreCastShortOp,
)
def cast(b: Chain, op: aten.UnderscoreCastByteOp) -> SSAValue:
    return b.to(op.self, meta(op.result).dtype)


@decomposes(aten.ContiguousOp)
def contiguous(b: Chain, op: aten.ContiguousOp) -> SSAValue:
    """A copy in the memory format asked for. The edge level drops it where that is the tensor's format
    already.
    """
    return b(aten.CloneOp, op.self, memory_format=op.memory_format)


@decomposes(aten.DetachOp, aten.DataOp)
def detach(b: Chain, op: aten.DetachOp) -> SSAValue:
    return op.self


@decomposes(aten.FillTensorOp)
def fill_tensor(b: Chain, op: aten.FillTensorOp) -> SSAValue | None:
    if not is_static(op.self) or meta(op.value).wrapped:
        return None
    shape = meta(op.self).shape
    return b.expand(b.to(b.view(op.value, ()), meta(op.self).dtype), shape)
