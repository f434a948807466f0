"""The `executorch` dialect: a program as the runtime executes it, one op per table of the file's schema.

A method is a plan of registers and instructions. Text and file translate into each other.
"""

from xdsl.ir import Dialect

from et_ir.dialects.executorch.arguments import Argument, ListValue
from et_ir.dialects.executorch.attributes import ArenaDeviceAttr, ElementType, ListAttr, ListKind, OperandAttr
from et_ir.dialects.executorch.chain import ChainOp
from et_ir.dialects.executorch.instructions import (
    INSTRUCTIONS,
    DelegateCallOp,
    FreeOp,
    Instruction,
    JumpFalseOp,
    JumpOp,
    KernelCallOp,
    MoveOp,
    ReturnOp,
    is_instruction,
)
from et_ir.dialects.executorch.plan import PlanOp
from et_ir.dialects.executorch.registers import (
    AllocOp,
    ConstantOp,
    InputOp,
    MemoryRegisterOp,
    ReferenceOp,
    RegisterOp,
    StateOp,
    SymbolRegisterOp,
    TensorRegisterOp,
    ValueOp,
    ViewOp,
    is_register,
)

__all__ = [
    "INSTRUCTIONS",
    "AllocOp",
    "ArenaDeviceAttr",
    "Argument",
    "ChainOp",
    "ConstantOp",
    "DelegateCallOp",
    "ElementType",
    "Executorch",
    "FreeOp",
    "InputOp",
    "Instruction",
    "JumpFalseOp",
    "JumpOp",
    "KernelCallOp",
    "ListAttr",
    "ListKind",
    "ListValue",
    "MemoryRegisterOp",
    "MoveOp",
    "OperandAttr",
    "PlanOp",
    "ReferenceOp",
    "RegisterOp",
    "ReturnOp",
    "StateOp",
    "SymbolRegisterOp",
    "TensorRegisterOp",
    "ValueOp",
    "ViewOp",
    "is_instruction",
    "is_register",
]

Executorch = Dialect(
    "executorch",
    [
        PlanOp, InputOp, ConstantOp, StateOp, AllocOp, ViewOp, ReferenceOp, ValueOp,
        ChainOp, KernelCallOp, DelegateCallOp, MoveOp, FreeOp, JumpFalseOp, JumpOp, ReturnOp,
    ],
    [OperandAttr, ListAttr, ElementType, ArenaDeviceAttr],
)  # fmt: skip
