"""Operations on vectors without a fast instruction of LLVM: saturation, sums of products."""

from __future__ import annotations

from typing import Final

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, VectorType, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from et_ir.codegen.llvm_builder import LlvmBuilder
from et_ir.dialects.native import CompareOp, ConvertOp, SelectOp
from et_ir.dialects.native.types import float_splat, integer_splat, vector_type

__all__ = ["NEON_LANES", "dot_product", "saturated", "splat"]

NEON_LANES: Final = 4
"""Elements of 32 bits in a vector of AArch64, which has an instruction for saturating conversion."""


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
