"""Exponentials of differences to a maximum: of numbers that are not above zero.

Softmax and attention spend most of their time here. Without numbers above zero there is no overflow, and without
results below the smallest normal number no second rounding: half the arithmetic of `exp` for all numbers.
"""

from __future__ import annotations

from math import log
from typing import Final

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, VectorType, i32
from xdsl.ir import SSAValue

from et_backends.codegen.dialect.types import vector_type
from et_backends.codegen.kernels.pointwise_rules import choose, sub
from et_backends.codegen.loop_builder import LoopBuilder

__all__ = ["exp_of_difference"]

_LOG2E: Final = 1 / log(2)
_HIGH: Final = 0.693359375
"""The logarithm of 2 in few bits, so that its product with a small whole number is exact."""
_LOW: Final = log(2) - _HIGH
_MAGIC: Final = 12582912.0
"""1.5 * 2**23: a float that is this much more than a small number has the number, rounded, in its low bits."""
_LOWEST: Final = -125 * log(2)
"""Results of smaller numbers are 0."""
_EXP: Final = (
    1.0,
    0.999999707,
    0.499991489,
    0.16667637,
    0.0418980214,
    0.00829029766,
)
"""Polynomial of exp(r) for |r| up to log(2)/2, exact at 0; relative error 9.2e-08."""


def exp_of_difference(b: LoopBuilder, x: SSAValue) -> SSAValue:
    """exp(x) of vectors of numbers up to 0, within two units in the last place; 0 below 2**-125. A NaN stays one."""
    type = vector_type(x)
    shifted = _fma(b, x, b.number(_LOG2E, type), b.number(_MAGIC, type))
    n = sub(b, shifted, b.number(_MAGIC, type))
    r = _fma(b, n, b.number(-_LOW, type), _fma(b, n, b.number(-_HIGH, type), x))
    result = b.number(_EXP[-1], type)
    for factor in reversed(_EXP[:-1]):
        result = _fma(b, result, r, b.number(factor, type))
    # The low bits of the sum, moved to those of the exponent: times 2**n.
    integers = VectorType(i32, type.get_shape())
    places = b.constant(DenseIntOrFPElementsAttr.from_list(integers, [23]), integers)
    power = b.value(arith.ShLIOp(b.value(vector.BitcastOp(shifted, integers)), places))
    scaled = b.value(arith.AddiOp(b.value(vector.BitcastOp(result, integers)), power))
    return choose(
        b, "olt", x, b.number(_LOWEST, type), b.number(0.0, type), b.value(vector.BitcastOp(scaled, type))
    )


def _fma(b: LoopBuilder, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    return b.value(vector.FMAOp(x, y, z))
