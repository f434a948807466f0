"""The `spirv` dialect: compute shaders of SPIR-V 1.3, an operation for each instruction.

Values have the types of xDSL's builtin dialect, pointers and arrays those of this one. Branches of structured control
flow are one operation with the merge instruction that the specification wants before them, and arguments of blocks are
its phi instructions. `spirv.dispatch` is no instruction: it is the call of a shader in the function of a partition.
"""

from xdsl.ir import Dialect

from et_ir.dialects.spirv.ops import (
    AccessChainOp,
    AtomicMinimumOp,
    BranchOp,
    ConstantOp,
    DispatchOp,
    EntryPointOp,
    ExtendedOp,
    InstructionOp,
    LoadOp,
    LoopBranchOp,
    ReturnOp,
    SelectionBranchOp,
    ShaderOp,
    StoreOp,
    VariableOp,
)
from et_ir.dialects.spirv.types import ArrayType, PointerType, RuntimeArrayType, StructType

__all__ = [
    "AccessChainOp",
    "ArrayType",
    "AtomicMinimumOp",
    "BranchOp",
    "ConstantOp",
    "DispatchOp",
    "EntryPointOp",
    "ExtendedOp",
    "InstructionOp",
    "LoadOp",
    "LoopBranchOp",
    "PointerType",
    "ReturnOp",
    "RuntimeArrayType",
    "SelectionBranchOp",
    "ShaderOp",
    "Spirv",
    "StoreOp",
    "StructType",
    "VariableOp",
]

Spirv = Dialect(
    "spirv",
    [
        ShaderOp,
        VariableOp,
        ConstantOp,
        EntryPointOp,
        InstructionOp,
        ExtendedOp,
        AccessChainOp,
        LoadOp,
        StoreOp,
        AtomicMinimumOp,
        BranchOp,
        SelectionBranchOp,
        LoopBranchOp,
        ReturnOp,
        DispatchOp,
    ],
    [PointerType, StructType, RuntimeArrayType, ArrayType],
)
