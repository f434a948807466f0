"""Scalar operations that take several instructions of a shader: comparisons, conversions, extrema, dot products."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import AnyFloat, IntegerAttr, IntegerType, i1, i32
from xdsl.ir import Attribute, SSAValue

from et_backends.vulkan.compiler.instructions import CONVERSIONS, FLOAT_PREDICATES, INTEGER_PREDICATES
from et_backends.vulkan.compiler.shader_builder import ShaderBuilder, number_attribute
from et_backends.vulkan.dialect import ExtendedOp, InstructionOp
from et_backends.vulkan.format.spirv import Extended, Op

__all__ = ["compared", "converted", "copy_sign", "dot_product", "extremum"]


def extremum(b: ShaderBuilder, comparison: Op, propagates: bool, x: SSAValue, y: SSAValue) -> SSAValue:
    """The greater or lesser of two floats by `comparison`; if one is NaN, NaN if it `propagates`, else the other."""
    other = x if propagates else y
    unordered = b.compare(Op.FUnordNotEqual, other, other)
    first = b.make(InstructionOp(Op.LogicalOr, [b.compare(comparison, x, y), unordered]))
    return b.make(InstructionOp(Op.Select, [first, x, y]))


def compared(b: ShaderBuilder, predicate: str, x: SSAValue, y: SSAValue) -> SSAValue:
    """A comparison of booleans, integers or floats, by a predicate of the `arith` dialect."""
    if x.type == i1:
        op = {"eq": Op.LogicalEqual, "ne": Op.LogicalNotEqual}.get(predicate)
        if op is not None:
            return b.make(InstructionOp(op, [x, y]))
        # As bytes with a sign, of which a set bit is -1 where the comparison has one.
        low, high = (b.constant(IntegerAttr(number, i32)) for number in (0, -1))
        x, y = (b.make(InstructionOp(Op.Select, [one, high, low])) for one in (x, y))
    if not isinstance(x.type, AnyFloat):
        return b.compare(INTEGER_PREDICATES[predicate], x, y)
    if predicate in ("ord", "uno"):
        nan = [b.compare(Op.FUnordNotEqual, one, one) for one in (x, y)]
        either = b.make(InstructionOp(Op.LogicalOr, nan))
        return either if predicate == "uno" else b.make(InstructionOp(Op.LogicalNot, [either]))
    return b.compare(FLOAT_PREDICATES[predicate], x, y)


def converted(b: ShaderBuilder, kind: str, value: SSAValue, type: Attribute) -> SSAValue:
    """A number in another type, by a conversion of the `native` dialect. Floats saturate to integers; NaN becomes 0."""
    if kind == "fptosi":
        return _saturated(b, value, type)
    if value.type == i1:
        # A set bit is 1, and -1 with a sign.
        one = -1 if kind in ("sext", "sitofp") else 1
        numbers = [b.constant(number_attribute(number, type)) for number in (one, 0)]
        return b.make(InstructionOp(Op.Select, [value, *numbers]))
    if type == i1:
        low = b.constant(IntegerAttr(1, cast("IntegerType", value.type)))
        bit = b.make(InstructionOp(Op.BitwiseAnd, [value, low]))
        return b.compare(Op.IEqual, bit, low)
    return b.make(InstructionOp(CONVERSIONS[kind], [value], type))


def _saturated(b: ShaderBuilder, value: SSAValue, type: Attribute) -> SSAValue:
    """A float rounded toward zero and saturated to the integer range; 0 for NaN."""
    integer = cast("IntegerType", type)
    limit = 2.0 ** (integer.width.data - 1)
    above, below, zero = (b.constant(number_attribute(number, value.type)) for number in (limit, -limit, 0.0))
    low = b.compare(Op.FOrdLessThan, value, below)
    high = b.compare(Op.FOrdGreaterThanEqual, value, above)
    inside = b.compare(Op.FOrdGreaterThanEqual, value, below)
    safe = b.make(InstructionOp(Op.LogicalAnd, [inside, b.compare(Op.FOrdLessThan, value, above)]))
    taken = b.make(InstructionOp(Op.Select, [safe, value, zero]))
    wide = integer if integer.width.data >= 32 else i32
    made = b.make(InstructionOp(Op.ConvertFToS, [taken], wide))
    if wide != integer:
        made = b.make(InstructionOp(Op.SConvert, [made], integer))
    for mask, number in ((low, -int(limit)), (high, int(limit) - 1)):
        made = b.make(InstructionOp(Op.Select, [mask, b.constant(IntegerAttr(number, integer)), made]))
    return made


def dot_product(b: ShaderBuilder, x: SSAValue, w: SSAValue, acc: SSAValue) -> SSAValue:
    """`acc` plus the products of four bytes in two i32, of which those of `x` have no sign."""
    for place in range(4):
        right, left, top, low = (b.number(number) for number in (8 * place, 24 - 8 * place, 24, 255))
        shifted = b.make(InstructionOp(Op.ShiftRightLogical, [x, right]))
        byte = b.make(InstructionOp(Op.BitwiseAnd, [shifted, low]))
        shifted = b.make(InstructionOp(Op.ShiftLeftLogical, [w, left]))
        signed = b.make(InstructionOp(Op.ShiftRightArithmetic, [shifted, top]))
        acc = b.make(InstructionOp(Op.IAdd, [acc, b.make(InstructionOp(Op.IMul, [byte, signed]))]))
    return acc


def copy_sign(b: ShaderBuilder, size: SSAValue, sign: SSAValue) -> SSAValue:
    """A float with the sign of another.

    By a comparison and a selection: llvmpipe of Mesa 22.3 takes wrong bits where signs are moved by masks.
    """
    bits = IntegerType(cast("AnyFloat", size.type).bitwidth)
    number = b.make(InstructionOp(Op.Bitcast, [sign], bits))
    is_negative = b.compare(Op.SLessThan, number, b.constant(IntegerAttr(0, bits)))
    positive = b.make(ExtendedOp(Extended.FAbs, [size]))
    negative = b.make(InstructionOp(Op.FNegate, [positive]))
    return b.make(InstructionOp(Op.Select, [is_negative, negative, positive]))
