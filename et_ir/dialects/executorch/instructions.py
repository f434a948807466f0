"""Instructions: what a plan executes, one op per table of the file's schema, and the ends of blocks.

    executorch.kernel_call "aten::addmm.out"(%b, %x, %w, 1, 1.0) outs(%r)
    executorch.kernel_call "aten::topk.values"(%r, 2, -1, true, true) outs(%v, %i)
    executorch.kernel_call "aten::split_copy.Tensor_out"(%r, 2, 0) outs([%p, %q])
    executorch.kernel_call "aten::sym_size.int"(%x, 0) returns(%n)
    executorch.delegate_call @lowered_0(%x) outs(%r)
    executorch.move %a to %b
    executorch.free %a
    executorch.jump_false %c, ^else, ^then
    executorch.jump ^join
    executorch.return %r, 3, none

A kernel's `outs` are the arguments it writes to, which the file repeats behind them as what the kernel
returns; `returns` are registers that only stand there: results of prims, and the tensor that an in-place
operator returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self, TypeAlias, TypeGuard, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    LocationAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    successor_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, IsTerminator, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.executorch.arguments import (
    Argument,
    ListValue,
    decode,
    encode,
    operand_count,
    parse_arguments,
    parse_optional_arguments,
    parse_register,
    print_arguments,
    text_attribute,
    verify_arguments,
)
from et_ops.conventions import COPY, ET_VIEW, mutated_arguments

__all__ = [
    "INSTRUCTIONS",
    "DelegateCallOp",
    "FreeOp",
    "Instruction",
    "JumpFalseOp",
    "JumpOp",
    "KernelCallOp",
    "MoveOp",
    "RegisterAccess",
    "ReturnOp",
    "is_instruction",
]


def _reads(values: Sequence[SSAValue]) -> set[EffectInstance]:
    return {EffectInstance(MemoryEffectKind.READ, value) for value in values}


def _writes(values: Sequence[SSAValue]) -> set[EffectInstance]:
    return {EffectInstance(MemoryEffectKind.WRITE, value) for value in values}


class RegisterAccess:
    """Interface of instructions: the registers that one reads, writes and binds.

    An instruction reads before it writes; what it writes and does not read it replaces as a whole. Analyses of
    memory ask nothing else of an instruction.
    """

    @property
    def reads(self) -> Sequence[SSAValue]:
        """The registers whose content the instruction reads."""
        return ()

    @property
    def writes(self) -> Sequence[SSAValue]:
        """The registers whose content the instruction changes."""
        return ()

    @property
    def bound(self) -> Sequence[SSAValue]:
        """The registers that the instruction makes refer to the memory of another."""
        return ()

    @property
    def bound_to(self) -> SSAValue | None:
        """The register whose memory those in `bound` refer to afterwards."""
        return None


class RegisterEffects(MemoryEffect):
    """The op reads and writes the content of registers, as its `reads` and `writes` say."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        instruction = cast(RegisterAccess, op)
        return _reads(instruction.reads) | _writes(instruction.writes)


@irdl_op_definition
class KernelCallOp(IRDLOperation, RegisterAccess):
    """Call a kernel by its operator's name.

    `arguments` are those of the operator's schema in order, without the out arguments. `outs` writes whole
    tensors; `outs([…])` is one argument that is a list of tensors. `debug_handle` connects the instruction
    with the exported graph.

    ```mlir
    executorch.kernel_call "aten::add.out"(%x, %y, 1) outs(%r)
    ```

    Rules: `kernel_call_c1` the name is `namespace::name` or `namespace::name.overload`; `argument_c1`
    arguments are literals of the file's types; `kernel_call_c2` `outs` are tensors.

    Syntax: `"OPERATOR"(ARGUMENT, …) [outs(%R, …) | outs([%R, …]) | returns(%R, …)] [handle N]`.
    """

    name = "executorch.kernel_call"
    operator = prop_def(StringAttr)
    """`namespace::name.overload`, as the runtime looks the kernel up."""
    call_arguments = prop_def(base(ArrayAttr[Attribute]), prop_name="arguments")
    """The schema's arguments without the out arguments: literals, lists, and a mark for each register."""
    list_out = opt_prop_def(UnitAttr)
    """The registers that are written are one argument, a list of tensors."""
    returns = opt_prop_def(UnitAttr)
    """The last registers are no arguments, but hold what the kernel returns."""
    debug_handle = opt_prop_def(IntegerAttr)
    """The number of the exported operator that the instruction computes."""
    registers = var_operand_def(AnyAttr())
    """Those among the arguments, in order, then those that are written."""

    traits = traits_def(RegisterEffects())

    def __init__(
        self,
        operator: str,
        arguments: Sequence[Argument],
        *,
        outs: Sequence[SSAValue] = (),
        returns: Sequence[SSAValue] = (),
        list_out: bool = False,
        location: LocationAttr | None = None,
    ):
        attr, operands = encode(arguments)
        properties: dict[str, Attribute] = {"operator": text_attribute(operator), "arguments": attr}
        if list_out:
            properties["list_out"] = UnitAttr()
        if returns:
            properties["returns"] = UnitAttr()
        # IRDL's constructor would sort out operands that are in order.
        Operation.__init__(self, operands=[*operands, *outs, *returns], properties=properties)
        if location is not None:
            self.location = location

    # The arguments say how many operands are theirs, so that no segment sizes are needed; these properties are
    # asked for more than anything else in a plan, so that operands are counted once for each attribute.

    def _count(self) -> int:
        """Number of register operands among the arguments."""
        arguments = self.properties["arguments"]
        # A field of the class would be taken for a definition of IRDL's.
        cache = vars(self)
        counted: tuple[Attribute, int] | None = cache.get("_counted")
        if counted is None or counted[0] is not arguments:
            counted = cache["_counted"] = arguments, operand_count(arguments)
        return counted[1]

    @property
    def inputs(self) -> tuple[SSAValue, ...]:
        """The registers among the arguments, in order."""
        return _part(self._operands, 0, self._count())

    @property
    def outs(self) -> tuple[SSAValue, ...]:
        """The registers that the call writes as out arguments."""
        if "returns" in self.properties:
            return ()
        return _part(self._operands, self._count())

    @property
    def returned(self) -> tuple[SSAValue, ...]:
        """The registers that hold what the call returns, where those are no out arguments."""
        if "returns" not in self.properties:
            return ()
        return _part(self._operands, self._count())

    @property
    def key(self) -> str:
        """The operator's name with its overload."""
        return cast(StringAttr, self.properties["operator"]).data

    @property
    def arguments(self) -> list[Argument]:
        """The arguments in front of `outs` and `returns`."""
        return decode(self.call_arguments, self.inputs)

    @property
    def writes(self) -> Sequence[SSAValue]:
        """The registers whose content the call changes."""
        written = _part(self._operands, self._count())  # the outs, or what is returned
        mutated = mutated_arguments(self.key)
        if not mutated:
            return written
        changed = (self.arguments[index : index + 1] for index in mutated)
        return (*written, *(a for some in changed for a in some if isinstance(a, SSAValue)))

    @property
    def reads(self) -> Sequence[SSAValue]:
        """The registers whose content the call reads."""
        return self.inputs[1:] if self.key == COPY else self.inputs

    @property
    def bound(self) -> Sequence[SSAValue]:
        return self.returned if self.key == ET_VIEW and self.inputs else ()

    @property
    def bound_to(self) -> SSAValue | None:
        return self.inputs[0] if self.key == ET_VIEW and self.inputs else None

    def verify_(self) -> None:
        namespace, colons, rest = self.key.partition("::")
        if not namespace or not colons or not rest:
            raise VerifyException(
                f"[kernel_call_c1] '{self.key}' is not of the form namespace::name.overload"
            )
        verify_arguments(self.call_arguments, self.inputs)
        for out in self.outs:
            if not isinstance(out.type, TensorType):
                raise VerifyException(f"[kernel_call_c2] an out argument is a tensor, not {out.type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.key)
        printer.print_string("(")
        print_arguments(printer, self.arguments)
        printer.print_string(")")
        if self.list_out is not None:
            printer.print_string(" outs([")
            printer.print_list(self.outs, printer.print_ssa_value)
            printer.print_string("])")
        elif self.outs:
            _print_registers(printer, "outs", self.outs)
        if self.returned:
            _print_registers(printer, "returns", self.returned)
        if self.debug_handle is not None:
            printer.print_string(f" handle {self.debug_handle.value.data}")
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operator = parser.parse_str_literal("expected the operator's name in quotes")
        arguments = parse_arguments(parser)
        outs: Sequence[SSAValue] = ()
        returns: Sequence[SSAValue] = ()
        list_out = False
        if parser.parse_optional_keyword("outs"):
            parser.parse_punctuation("(")
            items = parser.parse_optional_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: parse_register(parser)
            )
            if items is None:
                outs = parser.parse_comma_separated_list(
                    parser.Delimiter.NONE, lambda: parse_register(parser)
                )
            else:
                outs, list_out = items, True
            parser.parse_punctuation(")")
        elif parser.parse_optional_keyword("returns"):
            returns = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: parse_register(parser)
            )
        op = cls(operator, arguments, outs=outs, returns=returns, list_out=list_out)
        _parse_handle(parser, op)
        return op


@irdl_op_definition
class DelegateCallOp(IRDLOperation, RegisterAccess):
    """Execute a subgraph that a backend has compiled: `callee` is a `backend.lowered` symbol.

    ```mlir
    executorch.delegate_call @lowered_0(%x) outs(%r)
    ```

    Syntax: `@CALLEE(%R, …) [outs(%R, …)] [handle N]`.
    """

    name = "executorch.delegate_call"
    callee = prop_def(FlatSymbolRefAttrConstr)
    """The compiled subgraph."""
    debug_handle = opt_prop_def(IntegerAttr)
    """The number of the instruction in the debug map."""
    inputs = var_operand_def(AnyAttr())
    """Registers that the delegate reads."""
    outs = var_operand_def(AnyAttr())
    """Registers that it writes."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RegisterEffects())

    def __init__(self, callee: str, inputs: Sequence[SSAValue], outs: Sequence[SSAValue]):
        super().__init__(operands=[inputs, outs], properties={"callee": SymbolRefAttr(callee)})

    @property
    def reads(self) -> list[SSAValue]:
        return list(self.inputs)

    @property
    def writes(self) -> list[SSAValue]:
        return list(self.outs)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        printer.print_string("(")
        printer.print_list(self.inputs, printer.print_ssa_value)
        printer.print_string(")")
        if self.outs:
            _print_registers(printer, "outs", self.outs)
        if self.debug_handle is not None:
            printer.print_string(f" handle {self.debug_handle.value.data}")
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        callee = SymbolRefAttr(parser.parse_symbol_name())
        inputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_register(parser))
        outs: Sequence[SSAValue] = ()
        if parser.parse_optional_keyword("outs"):
            outs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_register(parser))
        op = cls(callee.string_value(), inputs, outs)
        _parse_handle(parser, op)
        return op


@irdl_op_definition
class MoveOp(IRDLOperation, RegisterAccess):
    """Make a register hold what another holds.

    A number is copied; a tensor refers to the same memory afterwards.

    ```mlir
    executorch.move %a to %b
    ```

    Rule: `move_c1` both registers have the same type.

    Syntax: `%SOURCE to %TARGET`.
    """

    name = "executorch.move"
    source = operand_def(AnyAttr())
    """The register that is read."""
    target = operand_def(AnyAttr())
    """The register that holds the same afterwards."""
    traits = traits_def(RegisterEffects())

    def __init__(self, source: SSAValue, target: SSAValue):
        super().__init__(operands=[source, target])

    @property
    def reads(self) -> list[SSAValue]:
        return [self.source]

    @property
    def writes(self) -> list[SSAValue]:
        return [self.target]

    @property
    def bound(self) -> list[SSAValue]:
        return [self.target]

    @property
    def bound_to(self) -> SSAValue:
        return self.source

    def verify_(self) -> None:
        if isinstance(self.source.type, TensorType) != isinstance(self.target.type, TensorType):
            raise VerifyException(f"[move_c1] {self.source.type} cannot be moved to {self.target.type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" to ")
        printer.print_ssa_value(self.target)
        _print_attributes(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_register(parser)
        parser.parse_keyword("to")
        op = cls(source, parse_register(parser))
        _parse_attributes(parser, op)
        return op


@irdl_op_definition
class FreeOp(IRDLOperation, RegisterAccess):
    """Give back the memory that was found at run time for an unbounded tensor.

    ```mlir
    executorch.free %a
    ```

    Syntax: `%REGISTER`.
    """

    name = "executorch.free"
    register = operand_def(TensorType)
    """A tensor register without a place in an arena."""
    traits = traits_def(RegisterEffects())

    def __init__(self, register: SSAValue):
        super().__init__(operands=[register])

    @property
    def writes(self) -> list[SSAValue]:
        return [self.register]

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.register)
        _print_attributes(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        op = cls(parse_register(parser))
        _parse_attributes(parser, op)
        return op


@irdl_op_definition
class JumpFalseOp(IRDLOperation, RegisterAccess):
    """Go on at `target` if the condition is false, else at the next block.

    The condition is a boolean, or a tensor of booleans that is false unless all its elements are true.

    ```mlir
    executorch.jump_false %c, ^else, ^then
    ```

    Rules: `jump_false_c1` the condition is a boolean or a tensor of booleans, or an integer register that a kernel
    returns to, as ExecuTorch's compiler declares comparisons of sizes; `jump_false_c2` the second block stands right
    behind this one, because the file has no instruction that would go there.

    Syntax: `%CONDITION, ^TARGET, ^FALLTHROUGH`.
    """

    name = "executorch.jump_false"
    condition = operand_def(AnyAttr())
    """An i1, or a tensor of i1."""
    target = successor_def()
    """The block where execution goes on if the condition is false."""
    fallthrough = successor_def()
    """The next block."""
    traits = traits_def(RegisterEffects(), IsTerminator())

    def __init__(self, condition: SSAValue, target: Block, fallthrough: Block):
        super().__init__(operands=[condition], successors=[target, fallthrough])

    @property
    def reads(self) -> list[SSAValue]:
        return [self.condition]

    def verify_(self) -> None:
        type = self.condition.type
        element_type = (
            cast("TensorType[Attribute]", type).element_type if isinstance(type, TensorType) else type
        )
        if element_type != i1 and not (type == i64 and _is_returned(self.condition)):
            raise VerifyException(f"[jump_false_c1] a condition is an i1 or a tensor of i1, not {type}")
        block = self.parent_block()
        if block is not None and block.next_block is not self.fallthrough:
            raise VerifyException("[jump_false_c2] the second successor must be the next block")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.condition)
        printer.print_string(", ")
        printer.print_block_name(self.target)
        printer.print_string(", ")
        printer.print_block_name(self.fallthrough)
        _print_attributes(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        condition = parse_register(parser)
        parser.parse_punctuation(",")
        target = parser.parse_successor()
        parser.parse_punctuation(",")
        op = cls(condition, target, parser.parse_successor())
        _parse_attributes(parser, op)
        return op


@irdl_op_definition
class JumpOp(IRDLOperation, RegisterAccess):
    """Go on at another block.

    That is no instruction if it is the next one, else a jump on a condition that is always false.

    ```mlir
    executorch.jump ^join
    ```

    Syntax: `^TARGET`.
    """

    name = "executorch.jump"
    target = successor_def()
    """The block where execution goes on."""
    traits = traits_def(RegisterEffects(), IsTerminator())

    def __init__(self, target: Block):
        super().__init__(successors=[target])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_block_name(self.target)
        _print_attributes(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        op = cls(parser.parse_successor())
        _parse_attributes(parser, op)
        return op


@irdl_op_definition
class ReturnOp(IRDLOperation, RegisterAccess):
    """The end of a plan and its outputs, in order: registers, numbers, strings or `none`.

    ```mlir
    executorch.return %r, 3, none
    ```

    Rules: `return_c1` an output is not a list; `return_c2` it ends the last block.

    Syntax: `[ARGUMENT, …]`.
    """

    name = "executorch.return"
    call_arguments = prop_def(base(ArrayAttr[Attribute]), prop_name="arguments")
    """The outputs: literals, and a mark for each register."""
    outputs = var_operand_def(AnyAttr())
    """The registers among them, in order."""
    traits = traits_def(RegisterEffects(), IsTerminator())

    def __init__(self, arguments: Sequence[Argument]):
        attr, operands = encode(arguments)
        super().__init__(operands=[operands], properties={"arguments": attr})

    @property
    def arguments(self) -> list[Argument]:
        """The outputs, literals among them."""
        return decode(self.call_arguments, tuple(self.outputs))

    @property
    def reads(self) -> list[SSAValue]:
        return list(self.outputs)

    def verify_(self) -> None:
        verify_arguments(self.call_arguments, tuple(self.outputs))
        if any(isinstance(argument, ListValue) for argument in self.arguments):
            raise VerifyException("[return_c1] an output cannot be a list")
        block = self.parent_block()
        if block is not None and block.next_block is not None:
            raise VerifyException("[return_c2] the return ends the last block")

    def print(self, printer: Printer) -> None:
        if self.call_arguments.data:
            printer.print_string(" ")
            print_arguments(printer, self.arguments)
        _print_attributes(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        op = cls(parse_optional_arguments(parser))
        _parse_attributes(parser, op)
        return op


def _is_returned(register: SSAValue) -> bool:
    """Whether a kernel replaces the value of a register, and by that its type."""
    users = (use.operation for use in register.uses)
    return any(isinstance(user, KernelCallOp) and register in user.returned for user in users)


INSTRUCTIONS: Final = (KernelCallOp, DelegateCallOp, MoveOp, FreeOp, JumpFalseOp, JumpOp, ReturnOp)
"""The classes of instructions and ends of blocks."""

Instruction: TypeAlias = KernelCallOp | DelegateCallOp | MoveOp | FreeOp | JumpFalseOp | JumpOp | ReturnOp
"""Ops of a plan other than registers; `reads` and `writes` are the registers whose contents it reads and
changes.
"""

_CLASSES: Final[frozenset[type[Operation]]] = frozenset(INSTRUCTIONS)


def is_instruction(op: Operation) -> TypeGuard[Instruction]:
    """Whether an op is an instruction or the end of a block; faster than `isinstance`, where it is none."""
    return type(op) in _CLASSES


def _part(values: tuple[SSAValue, ...], start: int, end: int | None = None) -> tuple[SSAValue, ...]:
    """A slice of operands as a plain tuple, which takes a fifth of the time that one of xDSL's own class does."""
    return tuple(values)[start:end]


def _print_registers(printer: Printer, keyword: str, values: Sequence[SSAValue]) -> None:
    printer.print_string(f" {keyword}(")
    printer.print_list(values, printer.print_ssa_value)
    printer.print_string(")")


def _print_attributes(printer: Printer, op: Operation) -> None:
    if op.attributes:
        printer.print_op_attributes(op.attributes, print_keyword=True)


def _parse_attributes(parser: Parser, op: Operation) -> None:
    attributes = parser.parse_optional_attr_dict_with_keyword()
    if attributes is not None:
        op.attributes.update(attributes.data)


def _parse_handle(parser: Parser, op: Operation) -> None:
    if parser.parse_optional_keyword("handle"):
        op.properties["debug_handle"] = IntegerAttr(parser.parse_integer(), 64)
    _parse_attributes(parser, op)
