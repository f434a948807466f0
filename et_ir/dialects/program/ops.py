"""Ops of the `program` dialect: module-level symbols and access to them."""

from __future__ import annotations

from abc import ABC
from functools import lru_cache

from xdsl.dialects.builtin import (
    FlatSymbolRefAttrConstr,
    FloatAttr,
    IntegerAttr,
    NoneType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
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
from xdsl.traits import (
    ConstantLike,
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    Pure,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.program.attributes import DataAttr, StringType, item_size
from et_ir.dialects.schema.storage import StoredType

__all__ = [
    "BufferOp",
    "ConstantOp",
    "GetOp",
    "GlobalOp",
    "LiteralOp",
    "LoadOp",
    "ParameterOp",
    "StoreOp",
    "symbol_reference",
]


@lru_cache(maxsize=4096)
def symbol_reference(name: str) -> SymbolRefAttr:
    """The reference to a symbol of a module, which several ops of it hold."""
    return SymbolRefAttr(name)


class GlobalOp(IRDLOperation, ABC):
    """A tensor that belongs to the program. Rules: `global_c1` data has the type's element type and size; `global_c2`
    the element type is that of stored numbers, which accesses may say more of.
    """

    sym_name = prop_def(SymbolNameConstraint())
    """The name in the program, as `torch.export` gives it, or the pass that made the symbol."""
    type = prop_def(TensorType)
    """The type of the tensor, whose sizes are static."""
    value = opt_prop_def(DataAttr)
    """The elements; none where the bytes are not at hand, and for a buffer that starts as zeros."""

    traits = traits_def(SymbolOpInterface())

    @property
    def key(self) -> str:
        """The symbol's name as plain text."""
        return self.sym_name.data

    def verify_(self) -> None:
        element = self.type.element_type
        if isinstance(element, StoredType):
            raise VerifyException(
                f"[global_c2] @{self.key} has elements of type {element}: declare it with {element.storage}, "
                "and give this type to the operations that read it"
            )
        if self.value is None:
            return
        type, data = self.type, self.value
        count = 1
        for size in type.get_shape():
            count *= size
        if type.element_type != data.element_type or count * item_size(type.element_type) != data.blob.nbytes:
            raise VerifyException(
                f"[global_c1] data of {data.data.count} x {data.element_type} does not fit the type {type}"
            )


@irdl_op_definition
class ParameterOp(GlobalOp):
    """A trained weight, which no method changes.

    ```mlir
    program.parameter @"fc.weight" : tensor<2xf32> = #program.data<f32, [1.0, 2.0]>
    ```
    """

    name = "program.parameter"
    assembly_format = "$sym_name `:` $type (`=` qualified($value)^)? attr-dict"


@irdl_op_definition
class ConstantOp(GlobalOp):
    """A constant that is no parameter: lifted from the program, or made by a pass.

    ```mlir
    program.constant @"c0" : tensor<i64> = #program.data<i64, [3]>
    ```
    """

    name = "program.constant"
    assembly_format = "$sym_name `:` $type (`=` qualified($value)^)? attr-dict"


@irdl_op_definition
class BufferOp(GlobalOp):
    """A buffer of the module.

    With `mutable` it is state that methods read and write; without data it starts as zeros.

    ```mlir
    program.buffer mutable @"cache" : tensor<1x8xf32>
    ```
    """

    name = "program.buffer"
    mutable = opt_prop_def(UnitAttr)
    """The buffer is state: methods may read it with `program.load` and write it with `program.store`."""
    assembly_format = "(`mutable` $mutable^)? $sym_name `:` $type (`=` qualified($value)^)? attr-dict"


@irdl_op_definition
class GetOp(IRDLOperation):
    """The value of a symbol that never changes.

    ```mlir
    %w = program.get @"fc.weight" : tensor<2xf32>
    ```
    """

    name = "program.get"
    symbol = prop_def(FlatSymbolRefAttrConstr)
    """A parameter, a constant or a buffer that is not mutable."""
    result = result_def(TensorType)
    """Its value, of the symbol's type."""
    traits = traits_def(Pure())
    assembly_format = "$symbol `:` type($result) attr-dict"

    def __init__(self, symbol: str, type: Attribute):
        # IRDL's constructor would sort out results that are in order.
        Operation.__init__(self, properties={"symbol": symbol_reference(symbol)}, result_types=[type])


class ReadsState(MemoryEffect):
    """The op reads mutable state."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.READ, op.properties["symbol"])}  # pyright: ignore[reportArgumentType]


class WritesState(MemoryEffect):
    """The op writes mutable state."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.WRITE, op.properties["symbol"])}  # pyright: ignore[reportArgumentType]


@irdl_op_definition
class LoadOp(IRDLOperation):
    """The current value of a mutable buffer.

    ```mlir
    %c = program.load @"cache" : tensor<1x8xf32>
    ```
    """

    name = "program.load"
    symbol = prop_def(FlatSymbolRefAttrConstr)
    """A mutable buffer."""
    result = result_def(TensorType)
    """The value of the buffer at this place in the method."""
    traits = traits_def(ReadsState())
    assembly_format = "$symbol `:` type($result) attr-dict"

    def __init__(self, symbol: str, type: Attribute):
        super().__init__(properties={"symbol": symbol_reference(symbol)}, result_types=[type])


@irdl_op_definition
class StoreOp(IRDLOperation):
    """Replace the value of a mutable buffer.

    ```mlir
    program.store @"cache", %c : tensor<1x8xf32>
    ```
    """

    name = "program.store"
    symbol = prop_def(FlatSymbolRefAttrConstr)
    """A mutable buffer."""
    value = operand_def(TensorType)
    """Its new value, of the symbol's type."""
    traits = traits_def(WritesState())
    assembly_format = "$symbol `,` $value `:` type($value) attr-dict"

    def __init__(self, symbol: str, value: SSAValue):
        super().__init__(properties={"symbol": symbol_reference(symbol)}, operands=[value])


@irdl_op_definition
class LiteralOp(IRDLOperation):
    """A Python number, string or None: where a number stands in a tensor slot, or is the output of a method.

    The attribute says the type: i64, f64, i1, a string, or `none`. Rule: `literal_c1` value and result type agree.

    ```mlir
    %two = program.literal 2.000000e+00 : f64
    ```

    Syntax: `VALUE`.
    """

    name = "program.literal"
    value = prop_def(Attribute)
    """The number, string or `none`."""
    result = result_def(Attribute)
    """The value: an i64, f64, i1, `!program.string` or `none`."""
    traits = traits_def(Pure(), ConstantLike())

    def __init__(self, value: int | float | bool | str | None):
        attr, type = literal_attribute(value)
        super().__init__(properties={"value": attr}, result_types=[type])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> LiteralOp:
        position = parser.pos
        value = parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        type = literal_type(value)
        if type is None:
            parser.raise_error(
                f"{value} is not a literal: expected an i64, f64 or i1 number, a string or none", position
            )
        return cls.create(
            properties={"value": value},
            result_types=[type],
            attributes={} if attributes is None else attributes.data,
        )

    def verify_(self) -> None:
        expected = literal_type(self.value)
        if expected is None or expected != self.result.type:
            raise VerifyException(f"[literal_c1] {self.value} is not a literal of type {self.result.type}")


def literal_attribute(value: int | float | bool | str | None) -> tuple[Attribute, Attribute]:
    """The attribute of a Python literal, and its type in the IR."""
    if isinstance(value, bool):
        return IntegerAttr(int(value), i1), i1
    if isinstance(value, int):
        return IntegerAttr(value, i64), i64
    if isinstance(value, float):
        return FloatAttr(value, f64), f64
    if isinstance(value, str):
        return StringAttr(value), StringType()
    return NoneType(), NoneType()


def literal_type(attr: Attribute) -> Attribute | None:
    """The IR type of a literal attribute, or `None` if the attribute is none."""
    match attr:
        case IntegerAttr() | FloatAttr():
            type = attr.type
            return type if type in (i64, i1, f64) else None
        case StringAttr():
            return StringType()
        case NoneType():
            return NoneType()
        case _:
            return None
