"""Instructions of shaders by operation, and capabilities by width."""

from __future__ import annotations

from typing import Final

from xdsl.dialects import arith, math, vector
from xdsl.ir import Operation

from et_backends.vulkan.format.spirv import Capability, Extended, Op

__all__ = [
    "ARITH_PREDICATES",
    "BINARY",
    "CONVERSIONS",
    "EXTENDED",
    "EXTREMA",
    "FLOAT_PREDICATES",
    "INTEGER_PREDICATES",
    "LOGICAL",
    "STORED",
    "WIDTHS",
]

BINARY: Final[dict[type[Operation], Op]] = {
    arith.AddiOp: Op.IAdd,
    arith.SubiOp: Op.ISub,
    arith.MuliOp: Op.IMul,
    arith.DivUIOp: Op.UDiv,
    arith.DivSIOp: Op.SDiv,
    arith.RemUIOp: Op.UMod,
    arith.RemSIOp: Op.SRem,
    arith.AndIOp: Op.BitwiseAnd,
    arith.OrIOp: Op.BitwiseOr,
    arith.XOrIOp: Op.BitwiseXor,
    arith.ShLIOp: Op.ShiftLeftLogical,
    arith.ShRUIOp: Op.ShiftRightLogical,
    arith.ShRSIOp: Op.ShiftRightArithmetic,
    arith.AddfOp: Op.FAdd,
    arith.SubfOp: Op.FSub,
    arith.MulfOp: Op.FMul,
    arith.DivfOp: Op.FDiv,
}

LOGICAL: Final[dict[type[Operation], Op]] = {
    arith.AndIOp: Op.LogicalAnd,
    arith.OrIOp: Op.LogicalOr,
    arith.XOrIOp: Op.LogicalNotEqual,
    arith.AddiOp: Op.LogicalNotEqual,
    arith.MuliOp: Op.LogicalAnd,
}
"""The same for bits, whose sum has no carry."""

EXTENDED: Final[dict[type[Operation], Extended]] = {
    arith.MinSIOp: Extended.SMin,
    arith.MaxSIOp: Extended.SMax,
    arith.MinUIOp: Extended.UMin,
    arith.MaxUIOp: Extended.UMax,
    math.AbsFOp: Extended.FAbs,
    math.CeilOp: Extended.Ceil,
    math.FloorOp: Extended.Floor,
    math.SqrtOp: Extended.Sqrt,
    math.TruncOp: Extended.Trunc,
    math.RoundEvenOp: Extended.RoundEven,
    math.FmaOp: Extended.Fma,
    vector.FMAOp: Extended.Fma,
}

EXTREMA: Final[dict[type[Operation], tuple[Op, bool]]] = {
    arith.MaximumfOp: (Op.FOrdGreaterThan, True),
    arith.MinimumfOp: (Op.FOrdLessThan, True),
    arith.MaxnumfOp: (Op.FOrdGreaterThan, False),
    arith.MinnumfOp: (Op.FOrdLessThan, False),
}
"""The comparison for which the first operand is taken, and whether a NaN is taken before a number."""

FLOAT_PREDICATES: Final = {
    "oeq": Op.FOrdEqual,
    "ogt": Op.FOrdGreaterThan,
    "oge": Op.FOrdGreaterThanEqual,
    "olt": Op.FOrdLessThan,
    "ole": Op.FOrdLessThanEqual,
    "one": Op.FOrdNotEqual,
    "ueq": Op.FUnordEqual,
    "ugt": Op.FUnordGreaterThan,
    "uge": Op.FUnordGreaterThanEqual,
    "ult": Op.FUnordLessThan,
    "ule": Op.FUnordLessThanEqual,
    "une": Op.FUnordNotEqual,
}

INTEGER_PREDICATES: Final = {
    "eq": Op.IEqual,
    "ne": Op.INotEqual,
    "slt": Op.SLessThan,
    "sle": Op.SLessThanEqual,
    "sgt": Op.SGreaterThan,
    "sge": Op.SGreaterThanEqual,
    "ult": Op.ULessThan,
    "ule": Op.ULessThanEqual,
    "ugt": Op.UGreaterThan,
    "uge": Op.UGreaterThanEqual,
}
ARITH_PREDICATES: Final = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""By the numbers of `arith.cmpi`."""

CONVERSIONS: Final = {
    "sext": Op.SConvert,
    "zext": Op.UConvert,
    "trunc": Op.UConvert,
    "sitofp": Op.ConvertSToF,
    "uitofp": Op.ConvertUToF,
}

WIDTHS: Final = {8: Capability.Int8, 16: Capability.Int16, 64: Capability.Int64}
STORED: Final = {8: Capability.StorageBuffer8BitAccess, 16: Capability.StorageBuffer16BitAccess}
