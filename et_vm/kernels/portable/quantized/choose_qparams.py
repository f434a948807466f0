"""Choosing the scale and the zero point of a whole tensor."""

from __future__ import annotations

import functools

import numpy as np

from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import FLOAT, INTEGER, check_kinds
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.quantized.quantize import check_quantized, rounded
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Array, Tensor


def _choose(
    ctx: PrepareContext,
    input: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: int,
    scale_out: Tensor,
    zero_point_out: Tensor,
    compute: functools.partial[tuple[Array, Array]],
) -> Step:
    good = input.scalar_type in (ScalarType.FLOAT, ScalarType.HALF, ScalarType.BFLOAT16)
    ctx.check(good, arg="input", expected="float32, float16 or bfloat16", got=input.scalar_type.torch_name)
    ctx.check(input.numel > 0, arg="input", expected="at least one element", got=list(input.sizes))
    check_quantized(ctx, dtype)
    good = quant_min <= 0 <= quant_max and quant_min < quant_max
    ctx.check(good, arg="quant_min", expected="limits on both sides of 0", got=[quant_min, quant_max])
    check_kinds(ctx, scale_out.scalar_type, (FLOAT,), arg="scale_out")
    check_kinds(ctx, zero_point_out.scalar_type, (INTEGER,), arg="zero_point_out")
    scale_out.resize((1,))
    zero_point_out.resize((1,))
    return evaluated(compute, (input,), (scale_out, zero_point_out))


def _range(ctx: PrepareContext, x: Array) -> tuple[Array, Array]:
    low, high = np.asarray(x.min()), np.asarray(x.max())
    if not low <= high:
        raise ctx.trap(arg="input", expected="numbers", got="NaN")
    return np.minimum(low, 0), np.maximum(high, 0)


def _affine(
    ctx: PrepareContext, kind: ScalarType, least: int, most: int, eps: float, x: Array
) -> tuple[Array, Array]:
    low, high = _range(ctx, x)
    step = rounded(np.divide, kind, rounded(np.subtract, kind, high, low), most - least)
    scale = np.maximum(step.astype(np.float32), np.float32(eps))
    zero = least - np.rint(low.astype(np.float32) / scale).astype(np.int32)
    return scale.reshape(1), np.clip(zero, least, most).reshape(1)


def _symmetric(
    ctx: PrepareContext, kind: ScalarType, half: float, zero: int, eps: float, x: Array
) -> tuple[Array, Array]:
    low, high = _range(ctx, x)
    step = rounded(np.divide, kind, np.maximum(-low, high), half)
    scale = np.maximum(step.astype(np.float32), np.float32(eps))
    return scale.reshape(1), np.array([zero])


@kernel("quantized_decomposed::choose_qparams.Tensor_out")
def choose_qparams_out(
    ctx: PrepareContext,
    input: Tensor,
    quant_min: int,
    quant_max: int,
    eps: float,
    dtype: int,
    scale_out: Tensor,
    zero_point_out: Tensor,
) -> Step:
    """The scale [1], at least `eps`, and the zero point [1] that take the range of `input`, widened to hold
    0, to [`quant_min`, `quant_max`].
    """
    compute = functools.partial(_affine, ctx, input.scalar_type, quant_min, quant_max, eps)
    return _choose(ctx, input, quant_min, quant_max, dtype, scale_out, zero_point_out, compute)


@kernel("quantized_decomposed::choose_qparams_symmetric.Tensor_out")
def choose_qparams_symmetric_out(
    ctx: PrepareContext,
    input: Tensor,
    quant_min: int,
    quant_max: int,
    eps: float,
    dtype: int,
    scale_out: Tensor,
    zero_point_out: Tensor,
) -> Step:
    """The scale [1], at least `eps`, that takes the largest magnitude of `input` to half the range of the
    limits, and the zero point [1]: 128 for uint8, else 0.
    """
    zero = 128 if ScalarType(dtype) == ScalarType.BYTE else 0
    compute = functools.partial(_symmetric, ctx, input.scalar_type, (quant_max - quant_min) / 2, zero, eps)
    return _choose(ctx, input, quant_min, quant_max, dtype, scale_out, zero_point_out, compute)
