"""Operations on vectors without a fast instruction of LLVM: saturation, sums of products."""

from __future__ import annotations

from math import frexp
from typing import Final, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerType,
    VectorType,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from et_backends.codegen.dialect import CompareOp, ConvertOp, SelectOp
from et_backends.codegen.dialect.types import float_splat, integer_splat, vector_of, vector_type
from et_backends.codegen.elements import nbytes
from et_backends.codegen.llvm_builder import LlvmBuilder

__all__ = ["NEON_LANES", "dot_product", "helium_conversion", "helium_scaled", "saturated", "splat"]

NEON_LANES: Final = 4
"""Elements of 32 bits in a vector of AArch64, which has an instruction for saturating conversion."""

HELIUM_LANES: Final = 4
"""Elements of 32 bits in a vector of Arm's microcontrollers."""

HELIUM_FLOATS: Final = "llvm.arm.mve.vcvt.fp.int.v4f32.v4i32"
"""The intrinsic that makes floats of integers."""


def splat(b: LlvmBuilder, element: SSAValue, type: VectorType[Attribute]) -> SSAValue:
    """A vector with the element in each lane."""

    def make() -> Operation:
        parts = b.undefined(type), element, b.number_of(0, i64)
        inserted = b.like((llvm.InsertElementOp,), parts, [type], lambda: llvm.InsertElementOp(*parts))
        first, lanes = b.made(inserted), type.get_shape()[0]

        def shuffle() -> Operation:
            zeros = DenseArrayBase.from_list(i32, [0] * lanes)
            return llvm.ShuffleVectorOp(first, first, zeros, type)

        return b.like((llvm.ShuffleVectorOp, lanes), (first, first), [type], shuffle)

    return b.once((splat, type, element), make)


def saturated(b: LlvmBuilder, source: SSAValue, type: VectorType[Attribute]) -> SSAValue:
    """Floats as i32: the nearest there is where they are out of range, 0 for NaN.

    LLVM's intrinsic becomes code for one element after the other on x86.
    """
    floats = vector_type(source)
    zero = b.constant(float_splat(floats, 0.0), floats)
    limit = b.constant(float_splat(floats, 2.0**31), floats)
    least = b.constant(float_splat(floats, -(2.0**31)), floats)
    above = b.made(CompareOp("oge", source, limit))
    below = b.made(CompareOp("olt", source, least))
    inside = b.made(SelectOp(b.made(CompareOp("olt", source, limit)), source, zero))
    made = b.made(ConvertOp("fptosi", b.made(SelectOp(below, zero, inside)), i32))
    for mask, number in ((above, 2**31 - 1), (below, -(2**31))):
        made = b.made(SelectOp(mask, b.constant(integer_splat(type, number), type), made))
    return made


def helium_conversion(
    b: LlvmBuilder, kind: str, source: SSAValue, result: VectorType[Attribute]
) -> SSAValue | None:
    """Integers of up to 32 bits as f32, or f32 as i32, saturated, by an intrinsic of the processor; None for any other
    conversion. `kind` is LLVM's name of it.

    LLVM makes one instruction of its own conversion and a multiplication by a power of 2, and its code generator aborts
    where the exponent is a constant of something else in the same block, too.
    """
    (lanes,) = result.get_shape()
    given = vector_type(source).element_type
    if not 1 < lanes <= HELIUM_LANES:
        return None
    if kind == "fptosi" and (given, result.element_type) == (f32, i32):
        name = "llvm.arm.mve.vcvt.int.fp.v4i32.v4f32"
    elif kind in ("sitofp", "uitofp") and nbytes(given) <= 4 and result.element_type == f32:
        name = HELIUM_FLOATS
        if given != i32:
            source = b.made(ConvertOp("zext" if kind == "uitofp" else "sext", source, i32))
    else:
        return None
    unsigned = b.number_of(int(kind == "uitofp"), i32)
    whole = vector_of(HELIUM_LANES, element=result.element_type)
    made = b.intrinsic(name, [_resized(b, source, HELIUM_LANES), unsigned], whole)
    return _resized(b, made, lanes)


def helium_scaled(b: LlvmBuilder, value: SSAValue, factor: SSAValue) -> SSAValue | None:
    """A product of integers as floats, by `helium_conversion`, and a power of 2 between 1/2 and 2^-32: the integers
    read as numbers of fixed point. None for any other product.
    """
    call, constant = value.owner, factor.owner
    if not (isinstance(call, llvm.CallIntrinsicOp) and call.intrin.data == HELIUM_FLOATS):
        return None
    splat = constant.value if isinstance(constant, llvm.ConstantOp) else None
    if not (isinstance(splat, DenseIntOrFPElementsAttr) and splat.is_splat()):
        return None
    mantissa, exponent = frexp(cast(float, splat.get_values()[0]))
    bits = 1 - exponent
    if mantissa != 0.5 or not 1 <= bits <= 32:
        return None
    source, unsigned = call.args
    name = "llvm.arm.mve.vcvt.fix.v4f32.v4i32"
    return b.intrinsic(name, [unsigned, source, b.number_of(bits, i32)], value.type)


def _resized(b: LlvmBuilder, value: SSAValue, lanes: int) -> SSAValue:
    """The first elements of a vector, and any others behind those that it has."""
    type = vector_type(value)
    (count,) = type.get_shape()
    if count == lanes:
        return value
    places = DenseArrayBase.from_list(i32, [min(lane, count - 1) for lane in range(lanes)])
    resized = vector_of(lanes, element=type.element_type)
    return b.made(llvm.ShuffleVectorOp(value, value, places, resized))


def dot_product(b: LlvmBuilder, x: SSAValue, w: SSAValue, acc: SSAValue, *, dual: bool) -> SSAValue:
    """Sums of products of bytes: by one instruction of AVX-512, pairs with AVX2, one by one elsewhere.

    The instruction of AVX2 that multiplies bytes saturates sums of two: bytes are widened first.
    """
    (lanes,) = vector_type(x).get_shape()
    if lanes == 16:
        bytes = VectorType(IntegerType(8), [64])
        parts = [acc, b.bits_as(x, bytes), b.bits_as(w, bytes)]
        return b.made(llvm.CallIntrinsicOp("llvm.x86.avx512.vpdpbusd.512", parts, [x.type]))
    if lanes == 8:
        pairs = VectorType(IntegerType(16), [16])
        eight = b.constant(integer_splat(pairs, 8), pairs)
        x, w = b.bits_as(x, pairs), b.bits_as(w, pairs)
        low = b.constant(integer_splat(pairs, 255), pairs)
        halves = [
            (b.binary(llvm.AndOp, x, low), b.binary(llvm.ShlOp, w, eight)),
            (b.binary(llvm.LShrOp, x, eight), w),
        ]
        for byte, shifted in halves:
            factors = [byte, b.binary(llvm.AShrOp, shifted, eight)]
            made = llvm.CallIntrinsicOp("llvm.x86.avx2.pmadd.wd", factors, [acc.type])
            acc = b.binary(llvm.AddOp, acc, b.made(made))
        return acc
    type = vector_type(x)
    if dual and lanes == 1:
        return _dual_dot(b, x, w, acc)
    for place in range(4):
        low, top, right = (b.constant(integer_splat(type, number), type) for number in (255, 24, 8 * place))
        byte = b.binary(llvm.AndOp, b.binary(llvm.LShrOp, x, right), low)
        left = b.constant(integer_splat(type, 24 - 8 * place), type)
        signed = b.binary(llvm.AShrOp, b.binary(llvm.ShlOp, w, left), top)
        acc = b.binary(llvm.AddOp, acc, b.binary(llvm.MulOp, byte, signed))
    return acc


def _dual_dot(b: LlvmBuilder, x: SSAValue, w: SSAValue, acc: SSAValue) -> SSAValue:
    """Two products at a time: of bytes 0 and 2, then of bytes 1 and 3, extended to 16 bits."""
    eight = b.number_of(8, i32)
    one, other, total = (b.bits_as(value, i32) for value in (x, w, acc))
    for turned in (False, True):
        factors: list[SSAValue] = []
        for value, extend in ((one, "llvm.arm.uxtb16"), (other, "llvm.arm.sxtb16")):

            def halves(value: SSAValue = value, extend: str = extend, turned: bool = turned) -> Operation:
                if turned:
                    value = b.made(llvm.CallIntrinsicOp("llvm.fshr.i32", [value, value, eight], [i32]))
                return llvm.CallIntrinsicOp(extend, [value], [i32])

            # Once for all rows or columns that it is multiplied with.
            factors.append(b.once((extend, turned, value), halves))
        total = b.made(llvm.CallIntrinsicOp("llvm.arm.smlad", [*factors, total], [i32]))
    return b.bits_as(total, acc.type)
