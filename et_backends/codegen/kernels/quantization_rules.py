"""Quantization and dequantization of elements, on values of any one shape.

A quantized number is `clamp(round(x * (1 / scale)) + zero_point)`, rounded to nearest and half to even, as torch
computes it in f32. Bounds are applied before rounding, which changes nothing as they are whole numbers: what is rounded
is small then, and the sum with `MAGIC` rounds it and has the integer in its low bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import CompareOp, SelectOp
from et_backends.codegen.dialect.types import vector_type
from et_backends.codegen.elements import element_of, in_registers
from et_backends.codegen.kernels.integer_rules import converted
from et_backends.codegen.loop_builder import LoopBuilder, vector_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8
from et_ir.dialects.schema.tensors import is_tensor

__all__ = [
    "LARGEST_ROUNDED",
    "QUANTIZING",
    "bounded",
    "i8",
    "quantization_rule",
    "quantizes",
    "requantized",
    "rounded",
    "whole",
]

i8: Final = in_registers(ui8)
MAGIC: Final = 1.5 * 2**23
"""The number whose sum with a smaller one than 2**22 is a whole number: units in its last place are 1."""
MAGIC_BITS: Final = 0x4B400000
LARGEST_ROUNDED: Final = 2.0**21
"""Numbers below may be rounded before they are bounded, which takes integers."""

QUANTIZING: Final = frozenset(
    {"quantized_decomposed.quantize_per_tensor", "quantized_decomposed.dequantize_per_tensor"}
)
"""Operators whose scale and zero point are numbers."""


def quantizes(op: SchemaOp) -> bool:
    """Whether an op is one of `QUANTIZING` between f32 and bytes."""
    name = op.name.removeprefix("edge.")
    if name not in QUANTIZING or sum(is_tensor(one.type) for one in op.operands) != 1:
        return False
    real, stored = op.operands[0], op.results[0]
    if "dequantize" in name:
        real, stored = stored, real
    scale = float(op.arg("scale"))
    with np.errstate(over="ignore"):
        known = np.isfinite(np.float32(scale)) and np.isfinite(np.float32(1 / scale)) if scale > 0 else False
    return (
        element_of(real) == f32
        and element_of(stored) in (ui8, i8)
        and abs(int(op.arg("zero_point"))) < 2**20
        and bool(known)
    )


def quantization_rule(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    """The result of an op of `QUANTIZING` for the elements of its operand."""
    (value,) = x
    zero_point = int(op.arg("zero_point"))
    if "dequantize" in op.name:
        whole = converted(b, value, element_of(op.operands[0]), i32)
        if zero_point:
            whole = b.value(arith.SubiOp(whole, b.number(zero_point, whole.type)))
        real = b.convert("sitofp", whole, f32)
        return b.value(arith.MulfOp(real, b.number(float(op.arg("scale")), real.type)))
    inverse = float(np.float32(1 / float(op.arg("scale"))))
    scaled = b.value(arith.MulfOp(value, b.number(inverse, value.type)))
    return requantized(b, scaled, int(op.arg("quant_min")), int(op.arg("quant_max")), zero_point)


def requantized(b: LoopBuilder, scaled: SSAValue, low: int, high: int, zero_point: int) -> SSAValue:
    """Numbers in units of the scale, as bytes from `low` to `high`."""
    limited = bounded(b, scaled, low - zero_point, high - zero_point)
    shifted = b.value(arith.AddfOp(limited, b.number(MAGIC, limited.type)))
    type = vector_of(*vector_type(limited).get_shape(), element=i32)
    bits = b.value(vector.BitcastOp(shifted, cast("Any", type)))
    return b.convert("trunc", b.value(arith.AddiOp(bits, b.number(zero_point - MAGIC_BITS, type))), i8)


def rounded(b: LoopBuilder, scaled: SSAValue, low: int, high: int, zero_point: int) -> SSAValue:
    """As `requantized`, of numbers up to `LARGEST_ROUNDED`: processors that compare floats slowly have
    instructions that bound integers.
    """
    shifted = b.value(arith.AddfOp(scaled, b.number(MAGIC, scaled.type)))
    type = vector_of(*vector_type(scaled).get_shape(), element=i32)
    bits = b.value(vector.BitcastOp(shifted, cast("Any", type)))
    number = b.value(arith.AddiOp(bits, b.number(zero_point - MAGIC_BITS, type)))
    number = b.value(arith.MaxSIOp(number, b.number(low, type)))
    return b.convert("trunc", b.value(arith.MinSIOp(number, b.number(high, type))), i8)


def whole(b: LoopBuilder, value: SSAValue) -> SSAValue:
    """The nearest whole numbers, half to even, of numbers below 2**22."""
    magic = b.number(MAGIC, value.type)
    return b.value(arith.SubfOp(b.value(arith.AddfOp(value, magic)), magic))


def bounded(b: LoopBuilder, x: SSAValue, low: float, high: float) -> SSAValue:
    """Between bounds; a NaN becomes the lower one."""
    bound = b.number(low, x.type)
    x = b.value(SelectOp(b.value(CompareOp("ogt", x, bound)), x, bound))
    bound = b.number(high, x.type)
    return b.value(SelectOp(b.value(CompareOp("olt", x, bound)), x, bound))
