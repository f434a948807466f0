"""Choosing the scale and the zero point of a whole tensor."""

from __future__ import annotations

import functools

import numpy as np

from et_ops.inference import quantized as rules
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import check_kinds
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.promotion import kind
from et_vm.kernels.portable.quantized.quantize import rounded
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


def _same_kind(ctx: PrepareContext, scalar_type: ScalarType, out: Tensor, *, arg: str) -> None:
    check_kinds(ctx, out.scalar_type, (kind(scalar_type),), arg=arg)


def _range(ctx: PrepareContext, x: Array) -> tuple[Array, Array]:
    low, high = np.asarray(x.min()), np.asarray(x.max())
    if not low <= high:
        raise ctx.trap(arg="input", expected="numbers", got="NaN")
    return np.minimum(low, 0), np.maximum(high, 0)


def _affine(
    ctx: PrepareContext, exact: ScalarType, least: int, most: int, eps: float, x: Array
) -> tuple[Array, Array]:
    low, high = _range(ctx, x)
    step = rounded(np.divide, exact, rounded(np.subtract, exact, high, low), most - least)
    scale = np.maximum(step.astype(np.float32), np.float32(eps))
    zero = least - np.rint(low.astype(np.float32) / scale).astype(np.int32)
    return scale.reshape(1), np.clip(zero, least, most).reshape(1)


def _symmetric(
    ctx: PrepareContext, exact: ScalarType, half: float, zero: int, eps: float, x: Array
) -> tuple[Array, Array]:
    low, high = _range(ctx, x)
    step = rounded(np.divide, exact, np.maximum(-low, high), half)
    scale = np.maximum(step.astype(np.float32), np.float32(eps))
    return scale.reshape(1), np.array([zero])


@kernel("quantized_decomposed::choose_qparams.Tensor_out")
@inferred(rules.choose, check=_same_kind, outs=2)
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
    return evaluated(compute, (input,), (scale_out, zero_point_out))


@kernel("quantized_decomposed::choose_qparams_symmetric.Tensor_out")
@inferred(rules.choose, check=_same_kind, outs=2)
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
    return evaluated(compute, (input,), (scale_out, zero_point_out))
