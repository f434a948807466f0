"""Rules of quantization and dequantization in floats, at the borders of integers."""

from __future__ import annotations

from typing import Final

import numpy as np
from xdsl.ir import SSAValue

from et_backends.tosa.compiler.legalizer import CannotLegalize, Legalizer
from et_backends.tosa.compiler.rules.rule import Rule
from et_backends.tosa.format.graph import DType, Op
from et_ir.analysis.quantization import Granularity, Quantization, quantization_of
from et_ir.dialects.schema import SchemaOp
from et_ir.evaluation.arrays import Array

__all__ = ["RULES", "known_quantization"]

_STORED: Final = (DType.INT8, DType.INT16)


def known_quantization(t: Legalizer, op: SchemaOp) -> Quantization:
    """The quantization of an op of `quantized_decomposed`.

    Raises `CannotLegalize` for scales of run time, of groups and of tokens.
    """
    how = quantization_of(op, t.symbols)
    if how.is_dynamic:
        raise CannotLegalize("scales that are known at run time only")
    if how.granularity not in (Granularity.TENSOR, Granularity.CHANNEL):
        raise CannotLegalize(f"quantization by {how.granularity.value}")
    return how


def _spread(how: Quantization, numbers: Array | None, rank: int) -> Array:
    """A number for each channel, in a shape that is broadcast to a tensor's."""
    assert numbers is not None
    shape = [1] * rank
    if how.granularity is Granularity.CHANNEL:
        shape[how.axis] = -1
    return numbers.reshape(shape)


def _quantized(t: Legalizer, op: SchemaOp) -> SSAValue:
    how = known_quantization(t, op)
    x: SSAValue = op.operands[0]
    rank, stored = len(t.shape_of(x)), t.dtype(op.results[0])
    if t.dtype(x) is not DType.FP32 or stored not in _STORED:
        raise CannotLegalize(f"quantization of {t.dtype(x).name} to {stored.name}")
    scales = _spread(how, how.scales, rank).astype(np.float32)
    zero = _spread(how, how.zero_points, rank)
    scaled = t.mul(x, t.const(np.float32(1) / scales, DType.FP32))
    # Rounded before the zero point is added: halves are rounded to even numbers.
    limit = float(np.abs([how.quant_min, how.quant_max]).max() + np.abs(zero).max() + 1)
    whole = t.emit(Op.CAST, t.clamp(scaled, -limit, limit), result=DType.INT32)
    moved = t.add(t.emit(Op.CAST, whole, result=DType.FP32), t.const(zero.astype(np.float32), DType.FP32))
    return t.emit(Op.CAST, t.clamp(moved, how.quant_min, how.quant_max), result=stored)


def _restored(t: Legalizer, op: SchemaOp) -> SSAValue:
    how = known_quantization(t, op)
    x: SSAValue = op.operands[0]
    rank = len(t.shape_of(x))
    if t.dtype(x) not in _STORED or t.dtype(op.results[0]) is not DType.FP32:
        raise CannotLegalize(f"dequantization of {t.dtype(x).name} to {t.dtype(op.results[0]).name}")
    zero = _spread(how, how.zero_points, rank).astype(np.float32)
    apart = t.emit(Op.CAST, x, result=DType.FP32)
    if zero.any():
        apart = t.sub(apart, t.const(zero, DType.FP32))
    return t.mul(apart, t.const(_spread(how, how.scales, rank).astype(np.float32), DType.FP32))


RULES: Final[dict[str, Rule]] = {
    "quantized_decomposed.dequantize_per_channel": _restored,
    "quantized_decomposed.dequantize_per_tensor": _restored,
    "quantized_decomposed.quantize_per_channel": _quantized,
    "quantized_decomposed.quantize_per_tensor": _quantized,
}
