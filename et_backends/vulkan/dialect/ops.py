"""Operations of the `spirv` dialect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    UnitAttr,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    EqAttrConstraint,
    IRDLOperation,
    ParamAttrConstraint,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    successor_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, NoTerminator, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from et_backends.vulkan.dialect.types import (
    ArrayType,
    PointerType,
    RuntimeArrayType,
    StructType,
    pointer_type,
)
from et_backends.vulkan.format.spirv import BuiltIn, Capability, Extended, Op

__all__ = [
    "AccessChainOp",
    "AtomicMinimumOp",
    "BranchOp",
    "ConstantOp",
    "DispatchOp",
    "EntryPointOp",
    "ExtendedOp",
    "InstructionOp",
    "LoadOp",
    "LoopBranchOp",
    "ReturnOp",
    "SelectionBranchOp",
    "ShaderOp",
    "StoreOp",
    "VariableOp",
]

_FLOATS: Final = frozenset({Op.FNegate, Op.FAdd, Op.FSub, Op.FMul, Op.FDiv})
_INTEGERS: Final = frozenset(
    {
        Op.IAdd,
        Op.ISub,
        Op.IMul,
        Op.UDiv,
        Op.SDiv,
        Op.UMod,
        Op.SRem,
        Op.ShiftRightLogical,
        Op.ShiftRightArithmetic,
        Op.ShiftLeftLogical,
        Op.BitwiseOr,
        Op.BitwiseXor,
        Op.BitwiseAnd,
    }
)
_BITS: Final = frozenset({Op.LogicalEqual, Op.LogicalNotEqual, Op.LogicalOr, Op.LogicalAnd, Op.LogicalNot})
_COMPARISONS: Final = frozenset(op for op in Op if Op.IEqual <= op <= Op.FUnordGreaterThanEqual)
_CONVERSIONS: Final = frozenset(op for op in Op if Op.ConvertFToS <= op <= Op.Bitcast)
_UNARY: Final = frozenset({Op.FNegate, Op.LogicalNot})

_INTEGER_FUNCTIONS: Final = frozenset({Extended.UMin, Extended.SMin, Extended.UMax, Extended.SMax})


@irdl_op_definition
class ShaderOp(IRDLOperation):
    """A module with one compute shader: variables and constants, then the entry point.

    ```mlir
    spirv.shader "relu" ["Shader"] {
      %0 = spirv.constant 0 : i32
      spirv.entry_point 64 {
        spirv.return
      }
    }
    ```

    Rules: `shader_c1` capabilities are known; `shader_c2` there is one entry point, which is the last operation.
    """

    name = "spirv.shader"
    sym_name = prop_def(StringAttr)
    """The name used by dispatches."""
    capabilities = prop_def(ArrayAttr[StringAttr])
    """Required capabilities: names of `et_backends.vulkan.format.spirv.Capability`."""
    body = region_def("single_block")
    """Variables, constants, and the entry point."""
    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove(), NoTerminator())
    assembly_format = "$sym_name $capabilities $body attr-dict"

    def __init__(self, name: str, capabilities: Sequence[str], body: Region):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "capabilities": ArrayAttr([StringAttr(one) for one in capabilities]),
            },
            regions=[body],
        )

    def verify_(self) -> None:
        for one in self.capabilities:
            if one.data not in Capability.__members__:
                raise VerifyException(
                    f"[shader_c1] '{one.data}' is not one of {', '.join(Capability.__members__)}"
                )
        entries = [op for op in self.body.block.ops if isinstance(op, EntryPointOp)]
        if len(entries) != 1 or entries[0] is not self.body.block.last_op:
            raise VerifyException("[shader_c2] a shader ends with its only entry point")


@irdl_op_definition
class VariableOp(IRDLOperation):
    """A variable: a buffer with a binding, push constants, a built-in, or an array private to an invocation.

    ```mlir
    %x = spirv.variable binding 0 read_only : !spirv.ptr<"StorageBuffer", !spirv.struct<[!spirv.rtarray<f32>]>>
    %i = spirv.variable builtin "GlobalInvocationId" : !spirv.ptr<"Input", vector<3xi32>>
    ```

    Rules: `variable_c1` buffers alone have a binding, inputs alone a built-in; `variable_c2` the built-in is known.
    """

    name = "spirv.variable"
    binding = opt_prop_def(IntegerAttr.constr(i64))
    """The number of a buffer's descriptor, in set 0."""
    read_only = opt_prop_def(UnitAttr)
    """Whether the shader does not write to the buffer."""
    builtin = opt_prop_def(StringAttr)
    """The name of the built-in, for a variable that the device sets."""
    result = result_def(PointerType)
    """The pointer to the variable."""
    traits = traits_def()
    assembly_format = (
        "(`binding` $binding^)? (`read_only` $read_only^)? (`builtin` $builtin^)? attr-dict `:` type($result)"
    )

    def __init__(
        self,
        type: PointerType,
        *,
        binding: int | None = None,
        read_only: bool = False,
        builtin: BuiltIn | None = None,
    ):
        properties: dict[str, Attribute] = {}
        if binding is not None:
            properties["binding"] = IntegerAttr(binding, i64)
        if read_only:
            properties["read_only"] = UnitAttr()
        if builtin is not None:
            properties["builtin"] = StringAttr(builtin.name)
        super().__init__(properties=properties, result_types=[type])

    def verify_(self) -> None:
        storage = pointer_type(self.result).storage.data
        if (self.binding is not None) != (storage == "StorageBuffer") or (self.builtin is not None) != (
            storage == "Input"
        ):
            raise VerifyException(
                "[variable_c1] a variable of StorageBuffer has a binding, one of Input a built-in, others neither"
            )
        if self.builtin is not None and self.builtin.data not in BuiltIn.__members__:
            raise VerifyException(
                f"[variable_c2] '{self.builtin.data}' is not one of {', '.join(BuiltIn.__members__)}"
            )


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A scalar constant.

    ```mlir
    %0 = spirv.constant 0.5 : f32
    ```
    """

    name = "spirv.constant"
    T: ClassVar = VarConstraint("T", AnyAttr())
    value = prop_def(
        ParamAttrConstraint(IntegerAttr, (AnyAttr(), T)) | ParamAttrConstraint(FloatAttr, (AnyAttr(), T))
    )
    """The number."""
    result = result_def(T)
    """The constant as an SSA value."""
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict"

    def __init__(self, value: IntegerAttr | FloatAttr[AnyFloat]):
        super().__init__(properties={"value": value}, result_types=[value.type])


@irdl_op_definition
class EntryPointOp(IRDLOperation):
    """The entry point of a shader, run by each invocation, in workgroups of `local_size`.

    ```mlir
    spirv.entry_point 64 {
      spirv.return
    }
    ```

    Rule: `entry_point_c1` a workgroup has invocations.
    """

    name = "spirv.entry_point"
    local_size = prop_def(IntegerAttr.constr(i64))
    """Invocations per workgroup."""
    body = region_def()
    """Blocks; each comes after its immediate dominator."""
    traits = traits_def(HasParent(ShaderOp))
    assembly_format = "$local_size $body attr-dict"

    def __init__(self, local_size: int, body: Region):
        super().__init__(properties={"local_size": IntegerAttr(local_size, i64)}, regions=[body])

    def verify_(self) -> None:
        if self.local_size.value.data < 1:
            raise VerifyException(f"[entry_point_c1] a workgroup of {self.local_size.value.data} invocations")


@irdl_op_definition
class InstructionOp(IRDLOperation):
    """A scalar instruction (arithmetic, comparison, selection or conversion), named as in the specification.

    ```mlir
    %2 = spirv.instruction "FAdd" %0, %1 : (f32, f32) -> f32
    ```

    Rules: `instruction_c1` the name is one of an instruction for scalars; `instruction_c2` operands and result have
    the types that it takes.
    """

    name = "spirv.instruction"
    opcode = prop_def(StringAttr)
    """The name without `Op`."""
    arguments = var_operand_def(AnyAttr())
    """The operands."""
    result = result_def(AnyAttr())
    """The result."""
    traits = traits_def(Pure())
    assembly_format = "$opcode $arguments attr-dict `:` functional-type($arguments, $result)"

    def __init__(self, op: Op, arguments: Sequence[SSAValue], type: Attribute | None = None):
        """`type` is the result type (default: that of the last argument; `i1` for comparisons)."""
        made = i1 if op in _COMPARISONS else type or arguments[-1].type
        super().__init__(
            operands=[arguments], properties={"opcode": StringAttr(op.name)}, result_types=[made]
        )

    @property
    def op(self) -> Op:
        """The number of the instruction."""
        return Op[self.opcode.data]

    def verify_(self) -> None:
        op = Op.__members__.get(self.opcode.data)
        if op is None or op not in _FLOATS | _INTEGERS | _BITS | _COMPARISONS | _CONVERSIONS | {Op.Select}:
            raise VerifyException(f"[instruction_c1] '{self.opcode.data}' is not an instruction for scalars")
        types, result = [value.type for value in self.arguments], self.result.type
        if op in _CONVERSIONS:
            right = len(types) == 1 and i1 not in (*types, result)
        elif op == Op.Select:
            right = types == [i1, result, result]
        else:
            count = 1 if op in _UNARY else 2
            right = len(types) == count and len(set(types)) == 1 and _is_of(op, types[0])
            right = right and result == (i1 if op in _COMPARISONS else types[0])
        if not right:
            given = ", ".join(map(str, types))
            raise VerifyException(f"[instruction_c2] {self.opcode.data} of ({given}) does not give {result}")


def _is_of(op: Op, type: Attribute) -> bool:
    """Whether an instruction takes operands of a type."""
    if op in _FLOATS or (op in _COMPARISONS and op >= Op.FOrdEqual):
        return isinstance(type, AnyFloat)
    return type == i1 if op in _BITS else isinstance(type, IntegerType) and type != i1


@irdl_op_definition
class ExtendedOp(IRDLOperation):
    """A scalar instruction of the GLSL.std.450 extended instruction set.

    ```mlir
    %1 = spirv.extended "Sqrt" %0 : (f32) -> f32
    ```

    Rules: `extended_c1` the name is one of an instruction; `extended_c2` operands and result have one type that it
    takes.
    """

    name = "spirv.extended"
    opcode = prop_def(StringAttr)
    """The name of the instruction."""
    arguments = var_operand_def(AnyAttr())
    """The operands."""
    result = result_def(AnyAttr())
    """The result."""
    traits = traits_def(Pure())
    assembly_format = "$opcode $arguments attr-dict `:` functional-type($arguments, $result)"

    def __init__(self, op: Extended, arguments: Sequence[SSAValue]):
        super().__init__(
            operands=[arguments], properties={"opcode": StringAttr(op.name)}, result_types=[arguments[0].type]
        )

    @property
    def op(self) -> Extended:
        """The number of the instruction."""
        return Extended[self.opcode.data]

    def verify_(self) -> None:
        op = Extended.__members__.get(self.opcode.data)
        if op is None:
            raise VerifyException(
                f"[extended_c1] '{self.opcode.data}' is not one of {', '.join(Extended.__members__)}"
            )
        types = {value.type for value in self.arguments} | {self.result.type}
        count = 3 if op == Extended.Fma else 2 if op in _INTEGER_FUNCTIONS else 1
        kind = IntegerType if op in _INTEGER_FUNCTIONS else AnyFloat
        if len(self.arguments) != count or len(types) != 1 or not isinstance(self.result.type, kind):
            given = ", ".join(str(value.type) for value in self.arguments)
            raise VerifyException(f"[extended_c2] {op.name} of ({given}) does not give {self.result.type}")


@irdl_op_definition
class AccessChainOp(IRDLOperation):
    """A pointer into an aggregate: to a member of a block, then to an element of an array.

    ```mlir
    %p = spirv.access_chain %id[%zero] : (!spirv.ptr<"Input", vector<3xi32>>, i32) -> !spirv.ptr<"Input", i32>
    ```

    Rule: `access_chain_c1` the result points to what the indices lead to; those of a block are constants.
    """

    name = "spirv.access_chain"
    base = operand_def(PointerType)
    """The pointer to the aggregate."""
    indices = var_operand_def(EqAttrConstraint(i32))
    """One index per level."""
    result = result_def(PointerType)
    """The pointer to the part."""
    traits = traits_def(Pure())
    assembly_format = "$base `[` $indices `]` attr-dict `:` functional-type(operands, $result)"

    def __init__(self, base: SSAValue, indices: Sequence[SSAValue]):
        type = pointer_type(base)
        pointee = part_of(type.pointee, indices)
        assert pointee is not None
        super().__init__(operands=[base, indices], result_types=[PointerType(type.storage, pointee)])

    def verify_(self) -> None:
        type = pointer_type(self.base)
        part = part_of(type.pointee, self.indices)
        if part is None or self.result.type != PointerType(type.storage, part):
            raise VerifyException(
                f"[access_chain_c1] the indices lead to {part}, not to what {self.result.type} says"
            )


def part_of(type: Attribute, indices: Sequence[SSAValue]) -> Attribute | None:
    """The type of the part of an aggregate selected by indices; None if they are invalid."""
    found: Attribute = type
    for index in indices:
        match found:
            case StructType():
                owner = index.owner
                value = owner.value if isinstance(owner, ConstantOp) else None
                if not isinstance(value, IntegerAttr) or not 0 <= value.value.data < len(found.members):
                    return None
                found = found.members.data[value.value.data]
            case RuntimeArrayType() | ArrayType():
                found = found.element
            case VectorType():
                found = found.element_type
            case _:
                return None
    return found


@irdl_op_definition
class LoadOp(IRDLOperation):
    """Loads the value that a pointer points to.

    ```mlir
    %0 = spirv.load %p : (!spirv.ptr<"StorageBuffer", f32>) -> f32
    ```

    Rule: `load_c1` the result has the type that the pointer says.
    """

    name = "spirv.load"
    pointer = operand_def(PointerType)
    """The pointer to load from."""
    result = result_def(AnyAttr())
    """The value."""
    traits = traits_def()
    assembly_format = "$pointer attr-dict `:` functional-type($pointer, $result)"

    def __init__(self, pointer: SSAValue):
        super().__init__(operands=[pointer], result_types=[pointer_type(pointer).pointee])

    def verify_(self) -> None:
        if pointer_type(self.pointer).pointee != self.result.type:
            raise VerifyException(f"[load_c1] {self.pointer.type} does not point to {self.result.type}")


@irdl_op_definition
class StoreOp(IRDLOperation):
    """Stores a value through a pointer.

    ```mlir
    spirv.store %p, %0 : !spirv.ptr<"StorageBuffer", f32>, f32
    ```

    Rule: `store_c1` the value has the type that the pointer says.
    """

    name = "spirv.store"
    pointer = operand_def(PointerType)
    """The pointer to store to."""
    value = operand_def(AnyAttr())
    """The value."""
    traits = traits_def()
    assembly_format = "$pointer `,` $value attr-dict `:` type($pointer) `,` type($value)"

    def __init__(self, pointer: SSAValue, value: SSAValue):
        super().__init__(operands=[pointer, value])

    def verify_(self) -> None:
        if pointer_type(self.pointer).pointee != self.value.type:
            raise VerifyException(f"[store_c1] {self.pointer.type} does not point to {self.value.type}")


@irdl_op_definition
class AtomicMinimumOp(IRDLOperation):
    """Atomic unsigned minimum, at device scope (`OpAtomicUMin`).

    ```mlir
    spirv.atomic_minimum %p, %0 : !spirv.ptr<"StorageBuffer", i32>, i32
    ```

    Rule: `atomic_minimum_c1` the pointer is to an i32 of a buffer.
    """

    name = "spirv.atomic_minimum"
    pointer = operand_def(PointerType)
    """The pointer to the value in memory."""
    value = operand_def(EqAttrConstraint(i32))
    """The other operand."""
    traits = traits_def()
    assembly_format = "$pointer `,` $value attr-dict `:` type($pointer) `,` type($value)"

    def __init__(self, pointer: SSAValue, value: SSAValue):
        super().__init__(operands=[pointer, value])

    def verify_(self) -> None:
        type = pointer_type(self.pointer)
        if type.pointee != i32 or type.storage.data != "StorageBuffer":
            raise VerifyException(f"[atomic_minimum_c1] {type} is not a pointer to an i32 of a buffer")


@irdl_op_definition
class BranchOp(IRDLOperation):
    """An unconditional branch, with the values of the block's arguments.

    ```mlir
    spirv.branch ^next
    ```
    """

    name = "spirv.branch"
    arguments = var_operand_def(AnyAttr())
    """Values of the block's arguments."""
    successor = successor_def()
    """The block."""
    traits = traits_def(IsTerminator())
    assembly_format = "$successor (`(` $arguments^ `:` type($arguments) `)`)? attr-dict"

    def __init__(self, successor: Block, *arguments: SSAValue):
        super().__init__(operands=[list(arguments)], successors=[successor])


@irdl_op_definition
class SelectionBranchOp(IRDLOperation):
    """A conditional branch with its merge block: `OpSelectionMerge` and `OpBranchConditional`.

    The blocks take no arguments but the third, where one of the two is it.

    ```mlir
    spirv.selection_branch %c, ^then, ^else merge ^after
    ```
    """

    name = "spirv.selection_branch"
    condition = operand_def(EqAttrConstraint(i1))
    """The condition."""
    then = successor_def()
    """The successor if the condition is true."""
    otherwise = successor_def()
    """The successor if the condition is false."""
    merge = successor_def()
    """The merge block."""
    traits = traits_def(IsTerminator())
    assembly_format = "$condition `,` $then `,` $otherwise `merge` $merge attr-dict"

    def __init__(self, condition: SSAValue, then: Block, otherwise: Block, merge: Block):
        super().__init__(operands=[condition], successors=[then, otherwise, merge])


@irdl_op_definition
class LoopBranchOp(IRDLOperation):
    """The terminator of a loop header: `OpLoopMerge` and `OpBranchConditional`.

    Values of the body that the continue block needs are its block arguments.

    ```mlir
    spirv.loop_branch %c, ^body merge ^after continue ^next
    ```
    """

    name = "spirv.loop_branch"
    condition = operand_def(EqAttrConstraint(i1))
    """Whether there is another iteration."""
    body = successor_def()
    """The first block of an iteration."""
    merge = successor_def()
    """The block after the loop."""
    proceed = successor_def()
    """The continue target, which branches back to the header."""
    traits = traits_def(IsTerminator())
    assembly_format = "$condition `,` $body `merge` $merge `continue` $proceed attr-dict"

    def __init__(self, condition: SSAValue, body: Block, merge: Block, proceed: Block):
        super().__init__(operands=[condition], successors=[body, merge, proceed])


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """The end of an invocation.

    ```mlir
    spirv.return
    ```
    """

    name = "spirv.return"
    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class DispatchOp(IRDLOperation):
    """Runs a shader with the given number of invocations, rounded up to workgroups. Not a SPIR-V instruction.

    ```mlir
    spirv.dispatch "relu"(%x, %y) words [16] invocations 16 steps 0 : memref<16xf32>, memref<16xf32>
    ```

    Rule: `dispatch_c1` there are invocations.
    """

    name = "spirv.dispatch"
    shader = prop_def(StringAttr)
    """The name of the shader."""
    buffers = var_operand_def(MemRefType)
    """The buffers, in the order of their bindings."""
    words = prop_def(DenseArrayBase.constr(i32))
    """Push constants."""
    invocations = prop_def(IntegerAttr.constr(i64))
    """The number of active invocations."""
    steps = prop_def(IntegerAttr.constr(i64))
    """An upper bound on the total number of loop iterations of an invocation."""
    traits = traits_def()
    assembly_format = (
        "$shader `(` $buffers `)` `words` $words `invocations` $invocations `steps` $steps attr-dict"
        " `:` type($buffers)"
    )

    def __init__(
        self, shader: str, buffers: Sequence[SSAValue], words: Sequence[int], invocations: int, steps: int
    ):
        super().__init__(
            operands=[buffers],
            properties={
                "shader": StringAttr(shader),
                "words": DenseArrayBase.from_list(i32, words),
                "invocations": IntegerAttr(invocations, i64),
                "steps": IntegerAttr(steps, i64),
            },
        )

    def verify_(self) -> None:
        if self.invocations.value.data < 1:
            raise VerifyException(f"[dispatch_c1] {self.invocations.value.data} invocations")
