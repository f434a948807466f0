"""Registers: the values of a plan. Declaring one is no instruction; each is an entry of the value list.

    %x = executorch.input {memory_id = 1, offset = 0} : tensor<1x4xf32>
    %n = executorch.input 3 : i64
    %w = executorch.constant @"fc.weight" : tensor<4x4xf32>
    %s = executorch.state @"cache" {memory_id = 2, offset = 0} : tensor<8xf32>
    %r = executorch.alloc bound {memory_id = 1, offset = 64} : tensor<32x4xf32>
    %v = executorch.view %r : tensor<128xf32>
    %e = executorch.reference : tensor<4xf32>
    %i = executorch.value 0 : i64

An SSA value names a register, whose content instructions read and write. Flags stand before, the place in
memory in braces:

- `bound`, `unbound`: sizes are upper bounds, or hints; without either they are exact.
- `external`: the bytes are in another file (`.ptd`) under the symbol's name.
- `anonymous`: the file does not tell the symbol's name.
- `requires_grad`: as torch's attribute of that name.
- `aliased`: the input is the caller's tensor itself, so that the caller sees what is written.
- `memory_id`, `offset`: the arena, counted from 1, and the byte in it; absent before memory planning and for
  memory that the caller gives. `device`: the device the tensor lives on, the CPU if absent.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, Final, Self, TypeGuard, cast

from xdsl.dialects.builtin import (
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Pure
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.executorch.arguments import (
    Scalar,
    is_next,
    literal_attribute,
    literal_type,
    literal_value,
    parse_literal,
    parse_register,
    print_literal,
)
from et_ir.dialects.executorch.layout import Tensor, device, excess_of, nbytes
from et_ir.dialects.program.ops import symbol_reference
from et_schema.program import TensorShapeDynamism

__all__ = [
    "AllocOp",
    "ConstantOp",
    "InputOp",
    "MemoryRegisterOp",
    "ReferenceOp",
    "RegisterOp",
    "StateOp",
    "SymbolRegisterOp",
    "TensorRegisterOp",
    "ValueOp",
    "ViewOp",
    "dynamism_property",
    "is_register",
]

_DYNAMISM: Final = {
    "bound": TensorShapeDynamism.DYNAMIC_BOUND,
    "unbound": TensorShapeDynamism.DYNAMIC_UNBOUND,
}
_DYNAMISM_NAMES: Final = {value: name for name, value in _DYNAMISM.items()}
_FLAGS: Final = ("external", "anonymous", "requires_grad", "aliased")


class AllocatesRegister(MemoryEffect):
    """The op makes a register: two equal ones are two registers, one that nothing uses can be dropped."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, cast(SSAValue, op.results[0]))}


class RegisterOp(IRDLOperation, ABC):
    """A declaration of one register."""

    declared = result_def()
    """The register."""

    FLAGS: ClassVar[tuple[str, ...]] = ()
    """The flags that this kind of register takes."""

    @property
    def result(self) -> SSAValue:
        """The register."""
        # Asked for more than anything else in a plan: IRDL's accessor takes eight times as long.
        (register,) = self.results
        return register

    # -- text: one syntax for all kinds; what is special to a kind is its subject

    def print_subject(self, printer: Printer) -> None:
        """Print what stands between flags and place: a symbol, a register or a literal."""

    @classmethod
    def parse_subject(cls, parser: Parser) -> tuple[list[SSAValue], dict[str, Attribute]]:
        """Parse it again: operands and properties."""
        return [], {}

    def print(self, printer: Printer) -> None:
        dynamism = self.properties.get("dynamism")
        if isinstance(dynamism, StringAttr):
            printer.print_string(f" {dynamism.data}")
        for flag in _FLAGS:
            if flag in self.properties:
                printer.print_string(f" {flag}")
        self.print_subject(printer)
        place = [
            (key, value)
            for key in ("memory_id", "offset", "device")
            if (value := self.properties.get(key)) is not None
        ]
        for index, (key, value) in enumerate(place):
            printer.print_string(", " if index else " {")
            printer.print_string(f"{key} = ")
            print_literal(printer, literal_value(value))
        if place:
            printer.print_string("}")
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {}
        while (flag := parser.parse_optional_keyword_in(cls.FLAGS)) is not None:
            if flag in _DYNAMISM:
                properties["dynamism"] = StringAttr(flag)
            else:
                properties[flag] = UnitAttr()
        operands, subject = cls.parse_subject(parser)
        properties.update(subject)
        if parser.parse_optional_punctuation("{") is not None:
            while True:
                position = parser.pos
                key = parser.parse_identifier(context_msg="expected the place of a register")
                if (
                    key not in ("memory_id", "offset", "device")
                    or key not in cls.get_irdl_definition().properties
                ):
                    parser.raise_error(f"{cls.name} has no '{key}'", position, position + len(key))
                parser.parse_punctuation("=")
                value = parser.parse_str_literal() if key == "device" else parser.parse_integer()
                properties[key] = literal_attribute(value)
                if parser.parse_optional_punctuation(",") is None:
                    break
            parser.parse_punctuation("}")
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        return cls.create(
            operands=operands,
            properties=properties,
            attributes={} if attributes is None else attributes.data,
            result_types=[parser.parse_type()],
        )


class TensorRegisterOp(RegisterOp, ABC):
    """A register that always holds a tensor. Rule: `register_c1` its sizes are static, unknown ones upper
    bounds, and a file can describe them.
    """

    requires_grad = opt_prop_def(UnitAttr)
    """As torch's attribute of that name."""
    dynamism_name = opt_prop_def(StringAttr, prop_name="dynamism")
    """`bound` where sizes are upper bounds, `unbound` where they are hints; absent where they are exact."""
    device = opt_prop_def(StringAttr)
    """The device that the tensor lives on; the CPU if absent."""

    FLAGS: ClassVar[tuple[str, ...]] = ("bound", "unbound", "requires_grad")

    @property
    def type(self) -> Tensor:
        """The type of the register, as sizes are at most."""
        return cast(Tensor, self.result.type)

    @property
    def dynamism(self) -> TensorShapeDynamism:
        name = self.properties.get("dynamism")
        return _DYNAMISM[name.data] if type(name) is StringAttr else TensorShapeDynamism.STATIC

    def set_dynamism(self, dynamism: TensorShapeDynamism) -> None:
        """Say how far the sizes are known."""
        self.properties.pop("dynamism", None)
        self.properties.update(dynamism_property(dynamism))

    @property
    def is_static(self) -> bool:
        return "dynamism" not in self.properties

    def verify_(self) -> None:
        verify_tensor(self.result.type, self.properties)


def verify_tensor(type: Attribute, properties: dict[str, Attribute]) -> None:
    """Rule `register_c1`."""
    if not isinstance(type, TensorType):
        raise VerifyException(f"[register_c1] a register for a tensor has type {type}")
    if not type.has_static_shape():
        raise VerifyException(
            f"[register_c1] sizes of {type} must be static; unknown ones are upper bounds, with 'bound'"
        )
    try:
        nbytes(cast(Tensor, type))
    except VerifyException as error:
        raise VerifyException(f"[register_c1] {error}") from None
    excess = excess_of(cast(Tensor, type))
    if excess is not None:
        raise VerifyException(
            f"[register_c1] a tensor has {excess[0]}; one of a file has {excess[1]} at most"
        )
    where = properties.get("device")
    if isinstance(where, StringAttr):
        try:
            device(where.data)
        except VerifyException as error:
            raise VerifyException(f"[register_c1] {error}") from None
    dynamism = properties.get("dynamism")
    if dynamism is not None and not (isinstance(dynamism, StringAttr) and dynamism.data in _DYNAMISM):
        raise VerifyException(f"[register_c1] dynamism is {dynamism}, expected one of {', '.join(_DYNAMISM)}")


class MemoryRegisterOp(RegisterOp, ABC):
    """A register whose memory may be planned. Rule: `register_c2` arena and offset come together, from 1 and
    from 0.
    """

    memory_id_attr = opt_prop_def(IntegerAttr.constr(i64), prop_name="memory_id")
    """The arena, counted from 1."""
    offset_attr = opt_prop_def(IntegerAttr.constr(i64), prop_name="offset")
    """The first byte in the arena."""

    @property
    def place(self) -> tuple[int, int] | None:
        """Arena and byte offset, or `None` for a register without planned memory."""
        memory_id, offset = self.memory_id_attr, self.offset_attr
        if memory_id is None or offset is None:
            return None
        return memory_id.value.data, offset.value.data

    def set_place(self, place: tuple[int, int] | None) -> None:
        """Plan the register at an arena and byte offset, or take its memory away."""
        if place is None:
            self.properties.pop("memory_id", None)
            self.properties.pop("offset", None)
        else:
            self.properties["memory_id"] = literal_attribute(place[0])
            self.properties["offset"] = literal_attribute(place[1])


def _verify_place(op: MemoryRegisterOp) -> None:
    memory_id, offset = op.memory_id_attr, op.offset_attr
    if (memory_id is None) != (offset is None):
        raise VerifyException("[register_c2] 'memory_id' and 'offset' must be given together")
    if memory_id is not None and memory_id.value.data < 1:
        raise VerifyException("[register_c2] memory ids start at 1")
    if offset is not None and offset.value.data < 0:
        raise VerifyException("[register_c2] the offset is negative")


class SymbolRegisterOp(TensorRegisterOp, ABC):
    """A tensor register whose bytes a symbol of the module says."""

    symbol = prop_def(FlatSymbolRefAttrConstr)
    """The parameter, constant or buffer."""
    external = opt_prop_def(UnitAttr)
    """The bytes are in a data file (`.ptd`), under the symbol's name."""
    anonymous = opt_prop_def(UnitAttr)
    """The file does not have the symbol's name."""

    FLAGS: ClassVar[tuple[str, ...]] = ("external", "anonymous", *TensorRegisterOp.FLAGS)

    @property
    def key(self) -> str:
        """The symbol's name."""
        return self.symbol.string_value()

    def print_subject(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.symbol)

    @classmethod
    def parse_subject(cls, parser: Parser) -> tuple[list[SSAValue], dict[str, Attribute]]:
        return [], {"symbol": SymbolRefAttr(parser.parse_symbol_name())}


@irdl_op_definition
class InputOp(MemoryRegisterOp):
    """An input of the method, in order.

    One that is no tensor has the value that the program was exported with. An `aliased` one is the caller's own
    tensor: it is never planned, and the caller sees what is written to it.

    ```mlir
    %x = executorch.input {memory_id = 1, offset = 0} : tensor<1x4xf32>
    %y = executorch.input aliased : tensor<4xf32>
    %n = executorch.input 3 as "n" : i64
    ```

    Rules: `register_c1` as of tensor registers; `input_c1` an input is a tensor, or has a value of its type and no
    place; `input_c2` an aliased input is a tensor without a place; `input_c3` a name is not empty.

    Syntax: `[bound | unbound] [requires_grad] [aliased] [LITERAL] [as "NAME"]
    [{memory_id = N, offset = N, device = "NAME"}] : TYPE`.
    """

    name = "executorch.input"
    value = opt_prop_def(AnyAttr())
    """The value of an input that is no tensor."""
    given_name = opt_prop_def(StringAttr)
    """The name of the parameter that it was, which the file keeps."""
    aliased = opt_prop_def(UnitAttr)
    """The tensor is the caller's own, so that the caller sees what is written."""
    requires_grad = opt_prop_def(UnitAttr)
    """As torch's attribute of that name."""
    dynamism_name = opt_prop_def(StringAttr, prop_name="dynamism")
    """`bound` where sizes are upper bounds, `unbound` where they are hints; absent where they are exact."""
    device = opt_prop_def(StringAttr)
    """The device that the tensor lives on; the CPU if absent."""

    FLAGS: ClassVar[tuple[str, ...]] = (*TensorRegisterOp.FLAGS, "aliased")

    def __init__(
        self,
        type: Attribute,
        value: Scalar = None,
        *,
        name: str | None = None,
        dynamism: TensorShapeDynamism | None = None,
    ):
        properties: dict[str, Attribute] = dynamism_property(dynamism)
        if name:
            properties["given_name"] = StringAttr(name)
        tensor = isinstance(type, TensorType)
        if not tensor:
            properties["value"] = literal_attribute(value)
        super().__init__(properties=properties, result_types=[type])

    @property
    def type(self) -> Tensor:
        """The type of an input that is a tensor, which `value is None` says."""
        return cast(Tensor, self.result.type)

    @property
    def dynamism(self) -> TensorShapeDynamism:
        name = self.properties.get("dynamism")
        return _DYNAMISM[name.data] if type(name) is StringAttr else TensorShapeDynamism.STATIC

    def print_subject(self, printer: Printer) -> None:
        if self.value is not None:
            printer.print_string(" ")
            print_literal(printer, literal_value(self.value))
        if self.given_name is not None:
            printer.print_string(" as ")
            printer.print_string_literal(self.given_name.data)

    @classmethod
    def parse_subject(cls, parser: Parser) -> tuple[list[SSAValue], dict[str, Attribute]]:
        properties: dict[str, Attribute] = {}
        # A name, a place or the type follows where there is no literal.
        if not is_next(parser, "{", ":", "attributes", "as"):
            properties["value"] = literal_attribute(parse_literal(parser))
        if parser.parse_optional_keyword("as") is not None:
            properties["given_name"] = StringAttr(parser.parse_str_literal())
        return [], properties

    def verify_(self) -> None:
        _verify_place(self)
        if self.aliased is not None and (self.value is not None or self.place is not None):
            raise VerifyException("[input_c2] only an unplanned tensor can be owned by the caller")
        if self.given_name is not None and not self.given_name.data:
            raise VerifyException("[input_c3] the name of an input is empty")
        if self.value is None:
            verify_tensor(self.result.type, self.properties)
            return
        try:
            expected = literal_type(self.value)
        except VerifyException as error:
            raise VerifyException(f"[input_c1] {error}") from None
        if expected != self.result.type:
            raise VerifyException(f"[input_c1] {self.value} is not a value of type {self.result.type}")
        if self.place is not None:
            raise VerifyException("[input_c1] only tensors have memory")


@irdl_op_definition
class ConstantOp(SymbolRegisterOp):
    """The bytes of a symbol, read where they lie in the file.

    The type may differ from the symbol's if it has the same size in bytes.

    ```mlir
    %w = executorch.constant @"fc.weight" : tensor<4x4xf32>
    ```

    Syntax: `[bound | unbound] [external] [anonymous] [requires_grad] @SYMBOL [{device = "NAME"}] : TYPE`.
    """

    name = "executorch.constant"
    traits = traits_def(Pure())

    def __init__(self, symbol: str, type: Attribute, *, anonymous: bool = False):
        properties: dict[str, Attribute] = {"symbol": symbol_reference(symbol)}
        if anonymous:
            properties["anonymous"] = UnitAttr()
        super().__init__(properties=properties, result_types=[type])


@irdl_op_definition
class StateOp(SymbolRegisterOp, MemoryRegisterOp):
    """A mutable buffer: memory that keeps its content from one execution to the next.

    It starts as the symbol's data, or as zeros where the symbol has none.

    ```mlir
    %s = executorch.state @"cache" {memory_id = 1, offset = 64} : tensor<8xf32>
    ```

    Syntax: `[bound | unbound] [external] [anonymous] [requires_grad] @SYMBOL
    [{memory_id = N, offset = N, device = "NAME"}] : TYPE`.
    """

    name = "executorch.state"

    def __init__(self, symbol: str, type: Attribute, *, anonymous: bool = False):
        properties: dict[str, Attribute] = {"symbol": symbol_reference(symbol)}
        if anonymous:
            properties["anonymous"] = UnitAttr()
        super().__init__(properties=properties, result_types=[type])

    def verify_(self) -> None:
        verify_tensor(self.result.type, self.properties)
        _verify_place(self)


@irdl_op_definition
class AllocOp(TensorRegisterOp, MemoryRegisterOp):
    """A tensor in an arena.

    One without a place is yet to be planned, is given by the caller, or gets memory at run time.

    ```mlir
    %r = executorch.alloc {memory_id = 1, offset = 64} : tensor<4x4xf32>
    ```

    Syntax: `[bound | unbound] [requires_grad] [{memory_id = N, offset = N, device = "NAME"}] : TYPE`.
    """

    name = "executorch.alloc"
    traits = traits_def(AllocatesRegister())

    def __init__(self, type: Attribute, *, dynamism: TensorShapeDynamism | None = None):
        # IRDL's constructor would sort out results that are in order; there are thousands of registers.
        Operation.__init__(self, properties=dynamism_property(dynamism), result_types=[type])

    def verify_(self) -> None:
        verify_tensor(self.result.type, self.properties)
        _verify_place(self)


@irdl_op_definition
class ViewOp(TensorRegisterOp):
    """The memory of another register under another type: no instruction, no memory of its own.

    `from` is the byte at which the view starts in the other register, 0 if it is not given.

    ```mlir
    %v = executorch.view %r : tensor<16xf32>
    %w = executorch.view %r from 32 : tensor<8xf32>
    ```

    Rule: `view_c1` the view lies within the register that it shares memory with.

    Syntax: `[bound | unbound] [requires_grad] %REGISTER [from N] [{device = "NAME"}] : TYPE`.
    """

    name = "executorch.view"
    viewed = operand_def(TensorType)
    """The register whose memory it is."""
    start = opt_prop_def(IntegerAttr.constr(i64))
    """The byte of it at which the view starts; 0 if absent."""
    traits = traits_def(AllocatesRegister())

    def __init__(
        self, base: SSAValue, type: Attribute, *, start: int = 0, dynamism: TensorShapeDynamism | None = None
    ):
        properties = dynamism_property(dynamism)
        if start:
            properties["start"] = literal_attribute(start)
        Operation.__init__(self, operands=[base], properties=properties, result_types=[type])

    @property
    def base(self) -> SSAValue:
        """The register that the view shares memory with."""
        (base,) = self._operands
        return base

    @property
    def first_byte(self) -> int:
        """Offset of the view in its base, in bytes."""
        start = self.start
        return 0 if start is None else start.value.data

    def print_subject(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.base)
        if self.start is not None:
            printer.print_string(f" from {self.start.value.data}")

    @classmethod
    def parse_subject(cls, parser: Parser) -> tuple[list[SSAValue], dict[str, Attribute]]:
        base = parse_register(parser)
        if parser.parse_optional_keyword("from") is None:
            return [base], {}
        return [base], {"start": literal_attribute(parser.parse_integer())}

    def verify_(self) -> None:
        verify_tensor(self.result.type, self.properties)
        mine, whole = nbytes(self.type), nbytes(cast(Tensor, self.base.type))
        if self.first_byte < 0 or self.first_byte + mine > whole:
            raise VerifyException(
                f"[view_c1] {mine} bytes at {self.first_byte} are outside a register of {whole} bytes"
            )


@irdl_op_definition
class ReferenceOp(TensorRegisterOp):
    """A tensor without memory of its own: an instruction makes it refer to that of another.

    ```mlir
    %e = executorch.reference : tensor<4xf32>
    ```

    Syntax: `[bound | unbound] [requires_grad] [{device = "NAME"}] : TYPE`.
    """

    name = "executorch.reference"
    traits = traits_def(AllocatesRegister())

    def __init__(self, type: Attribute, *, dynamism: TensorShapeDynamism | None = None):
        super().__init__(properties=dynamism_property(dynamism), result_types=[type])


@irdl_op_definition
class ValueOp(RegisterOp):
    """A number, string or `none` that instructions write, with what it holds before the first execution.

    ```mlir
    %i = executorch.value 0 : i64
    ```

    Rule: `value_c1` the initial value is of the register's type.

    Syntax: `LITERAL : TYPE`.
    """

    name = "executorch.value"
    value = prop_def(AnyAttr())
    """Content of the register before the first execution."""
    traits = traits_def(AllocatesRegister())

    def __init__(self, value: Scalar):
        attr = literal_attribute(value)
        super().__init__(properties={"value": attr}, result_types=[literal_type(attr)])

    def print_subject(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_literal(printer, literal_value(self.value))

    @classmethod
    def parse_subject(cls, parser: Parser) -> tuple[list[SSAValue], dict[str, Attribute]]:
        return [], {"value": literal_attribute(parse_literal(parser))}

    def verify_(self) -> None:
        try:
            expected = literal_type(self.value)
        except VerifyException as error:
            raise VerifyException(f"[value_c1] {error}") from None
        if expected != self.result.type:
            raise VerifyException(f"[value_c1] {self.value} is not a value of type {self.result.type}")


def dynamism_property(dynamism: TensorShapeDynamism | None) -> dict[str, Attribute]:
    """The property that says how far a register's sizes are known; none if they are exact."""
    name = _DYNAMISM_NAMES.get(dynamism) if dynamism is not None else None
    return {} if name is None else {"dynamism": StringAttr(name)}


_CLASSES: Final[frozenset[type[Operation]]] = frozenset(
    {InputOp, ConstantOp, StateOp, AllocOp, ViewOp, ReferenceOp, ValueOp}
)


def is_register(op: Operation) -> TypeGuard[RegisterOp]:
    """Whether an op declares a register; faster than `isinstance`, which asks an abstract class."""
    return type(op) in _CLASSES
