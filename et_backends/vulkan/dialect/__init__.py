"""The `spirv` dialect: SPIR-V 1.3 compute shaders, one operation per instruction.

Scalars have the types of xDSL's builtin dialect; pointers and arrays have types of this dialect. A branch of structured
control flow and the merge instruction before it are one operation, and block arguments represent phi instructions.
`spirv.dispatch` is not an instruction: it calls a shader from the function of a partition.
"""

from xdsl.ir import Dialect

from et_backends.vulkan.dialect.ops import (
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
from et_backends.vulkan.dialect.types import ArrayType, PointerType, RuntimeArrayType, StructType

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
