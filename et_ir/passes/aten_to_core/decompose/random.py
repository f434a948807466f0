"""Random numbers of all distributions, from `rand` and `randn`. The first is uniform over [0, 1), the second normal.

What comes out follows torch's distribution; the numbers are those of the target's generator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, Number, Reason, Size, decomposes, meta
from et_ops.dtypes import BOOL, F32, F64, I64, DType, as_float, real_of


def _uniform(b: Chain, size: Sequence[Size], dtype: DType) -> SSAValue:
    return b(aten.RandOp, size, dtype=dtype)


def _normal(b: Chain, size: Sequence[Size], dtype: DType) -> SSAValue:
    """Of variance 1, which is that of both parts of a complex number together."""
    if dtype.is_complex:
        parts = b(aten.RandnOp, (*size, 2), dtype=real_of(dtype))
        return b(aten.ViewAsComplexCopyOp, b(aten.MulScalarOp, parts, math.sqrt(0.5)))
    return b(aten.RandnOp, size, dtype=dtype)


def _wide(dtype: DType) -> DType:
    """The type to draw in, for a result of a type."""
    return dtype if dtype in (F32, F64) else F32


@decomposes(Reason.COMMON, aten.RandLikeOp)
def rand_like(b: Chain, op: aten.RandLikeOp) -> SSAValue:
    return _uniform(b, b.sizes(op.self), meta(op.result).dtype)


@decomposes(Reason.COMMON, aten.RandnLikeOp)
def randn_like(b: Chain, op: aten.RandnLikeOp) -> SSAValue:
    return _normal(b, b.sizes(op.self), meta(op.result).dtype)


# -- integers


def _integers(b: Chain, size: Sequence[Size], low: Size, high: Size, dtype: DType) -> SSAValue | None:
    """`low` up to, without, `high`. Numbers of 24 bits are too coarse for ranges that are not much smaller."""
    if isinstance(low, SSAValue) or isinstance(high, SSAValue):
        return None
    span = high - low
    if not 0 < span <= 2**53:
        return None
    uniform = _uniform(b, size, F32 if span <= 2**16 else F64)
    drawn = b(aten.FloorOp, b(aten.MulScalarOp, uniform, float(span)))
    drawn = b.to(drawn, I64)
    return b.to(b(aten.AddScalarOp, drawn, low) if low else drawn, dtype)


@decomposes(Reason.NONE, aten.RandintOp)
def randint(b: Chain, op: aten.RandintOp) -> SSAValue | None:
    return _integers(b, op.size, 0, op.high, meta(op.result).dtype)


@decomposes(Reason.NONE, aten.RandintLowOp)
def randint_from(b: Chain, op: aten.RandintLowOp) -> SSAValue | None:
    return _integers(b, op.size, op.low, op.high, meta(op.result).dtype)


@decomposes(Reason.NONE, aten.RandintLikeOp)
def randint_like(b: Chain, op: aten.RandintLikeOp) -> SSAValue | None:
    return _integers(b, b.sizes(op.self), 0, op.high, meta(op.result).dtype)


@decomposes(Reason.NONE, aten.RandintLikeLowDtypeOp)
def randint_like_from(b: Chain, op: aten.RandintLikeLowDtypeOp) -> SSAValue | None:
    return _integers(b, b.sizes(op.self), op.low, op.high, meta(op.result).dtype)


_EXACT = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
"""Up to this power of two a float type has every integer."""


@decomposes(Reason.NONE, aten.RandomOp)
def random(b: Chain, op: aten.RandomOp) -> SSAValue | None:
    """All numbers from 0 that the type has, or has exactly."""
    dtype = meta(op.self).dtype
    if dtype.is_complex:
        return None
    bits = _EXACT[dtype.name] if dtype.is_float else dtype.bits - (dtype.name[0] == "i" and dtype is not BOOL)
    return _integers(b, b.sizes(op.self), 0, 2**bits + (dtype.is_float), dtype)


@decomposes(Reason.NONE, aten.RandomToOp)
def random_to(b: Chain, op: aten.RandomToOp) -> SSAValue | None:
    return _integers(b, b.sizes(op.self), 0, op.to, meta(op.self).dtype)


@decomposes(Reason.NONE, aten.RandomFromOp)
def random_from(b: Chain, op: aten.RandomFromOp) -> SSAValue | None:
    if op.to is None:
        return None
    return _integers(b, b.sizes(op.self), op.arg("from"), op.to, meta(op.self).dtype)


# -- truth


@decomposes(Reason.COMMON, aten.BernoulliOp)
def bernoulli(b: Chain, op: aten.BernoulliOp) -> SSAValue:
    dtype = meta(op.self).dtype
    uniform = _uniform(b, b.sizes(op.self), _wide(dtype))
    return b.to(b(aten.LtTensorOp, uniform, op.self), dtype)


@decomposes(Reason.NONE, aten.BernoulliPOp)
def bernoulli_of(b: Chain, op: aten.BernoulliPOp) -> SSAValue:
    return b.to(_chosen(b, b.sizes(op.self), op.p), meta(op.self).dtype)


@decomposes(Reason.NONE, aten.BernoulliTensorOp)
def bernoulli_tensor(b: Chain, op: aten.BernoulliTensorOp) -> SSAValue:
    uniform = _uniform(b, b.sizes(op.self), _wide(as_float(meta(op.p).dtype)))
    return b.to(b(aten.LtTensorOp, uniform, op.p), meta(op.self).dtype)


def _chosen(b: Chain, size: Sequence[Size], probability: float) -> SSAValue:
    """True with a probability."""
    return b(aten.LtScalarOp, _uniform(b, size, F32), probability)


# -- distributions


def _scaled(b: Chain, x: SSAValue, factor: Number | SSAValue, offset: Number | SSAValue) -> SSAValue:
    """`x * factor + offset`."""
    if isinstance(factor, SSAValue):
        x = b(aten.MulTensorOp, x, factor)
    elif factor != 1:
        x = b(aten.MulScalarOp, x, factor)
    if isinstance(offset, SSAValue):
        return b(aten.AddTensorOp, x, offset)
    return b(aten.AddScalarOp, x, offset) if offset else x


@decomposes(Reason.NONE, aten.NormalFunctionalOp)
def normal_functional(b: Chain, op: aten.NormalFunctionalOp) -> SSAValue:
    dtype = meta(op.self).dtype
    return _scaled(b, _normal(b, b.sizes(op.self), dtype), op.std, op.mean)


@decomposes(Reason.NONE, aten.UniformOp)
def uniform(b: Chain, op: aten.UniformOp) -> SSAValue:
    low, high = op.arg("from"), op.to
    return _scaled(b, _uniform(b, b.sizes(op.self), meta(op.self).dtype), high - low, low)


@decomposes(Reason.KERNEL, aten.GeometricOp)
def geometric(b: Chain, op: aten.GeometricOp) -> SSAValue:
    """The number of trials up to the first success, at least 1. Integers are not drawn as such."""
    u = _uniform(b, b.sizes(op.self), _wide(meta(op.self).dtype))
    scaled = b(aten.MulScalarOp, b(aten.Log1pOp, b(aten.NegOp, u)), 1 / math.log1p(-op.p))
    return b.to(b(aten.AddScalarOp, b(aten.FloorOp, scaled), 1), meta(op.self).dtype)


# -- layers that are random in training


def dropped(b: Chain, x: SSAValue, p: float, size: Sequence[Size]) -> SSAValue:
    """Elements with a probability of `1 - p`, scaled to keep the mean; 0 for the others."""
    dtype = meta(x).dtype
    if p == 1:
        return b(aten.MulScalarOp, x, 0.0)
    kept = b.to(_chosen(b, size, 1 - p), dtype)
    return b(aten.MulTensorOp, x, b(aten.MulScalarOp, kept, 1 / (1 - p)))


@decomposes(Reason.COMMON, aten.DropoutOp)
def dropout(b: Chain, op: aten.DropoutOp) -> SSAValue:
    if not op.train or op.p == 0:
        return op.input
    return dropped(b, op.input, op.p, b.sizes(op.input))


def _rrelu(
    b: Chain, x: SSAValue, lower: Number | SSAValue, upper: Number | SSAValue, training: bool
) -> tuple[SSAValue, SSAValue | None] | None:
    """`x` with its negative elements scaled by random factors, and the factors; by their mean, and `None`."""
    if isinstance(lower, SSAValue) or isinstance(upper, SSAValue):
        return None
    if not training:
        return b(aten.LeakyReluOp, x, (lower + upper) / 2), None
    dtype = meta(x).dtype
    factor = _scaled(b, _uniform(b, b.sizes(x), dtype), upper - lower, lower)
    factor = b(aten.WhereSelfOp, b(aten.LeScalarOp, x, 0), factor, b.scalar(1, dtype))
    return b(aten.MulTensorOp, x, factor), factor


@decomposes(Reason.NONE, aten.RreluWithNoiseFunctionalOp)
def rrelu_with_noise(b: Chain, op: aten.RreluWithNoiseFunctionalOp) -> tuple[SSAValue, SSAValue] | None:
    found = _rrelu(b, op.self, op.lower, op.upper, op.training)
    if found is None:
        return None
    y, factor = found
    return y, op.noise if factor is None else factor
