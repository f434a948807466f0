"""The values of a plan: registers in the order of the text, then literals in the order of their first use.

Literals are written once per plan: numbers by type and bits, lists by kind and items. Registers never share a
value, because instructions write them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from xdsl.ir import SSAValue

from et_ir.dialects.executorch.arguments import Argument, ListValue, Scalar
from et_ir.dialects.executorch.attributes import ListKind
from et_schema.program import (
    Bool,
    BoolList,
    Double,
    DoubleList,
    EValue,
    Int,
    IntList,
    KernelTypes,
    Null,
    OptionalTensorList,
    String,
    TensorList,
)

__all__ = ["ValueTable", "scalar_value"]

_double = struct.Struct("<d")


def scalar_value(value: Scalar) -> KernelTypes:
    """The file's table for a number, string or `None`."""
    if value is None:
        return Null()
    if isinstance(value, bool):
        return Bool(value)
    if isinstance(value, int):
        return Int(value)
    if isinstance(value, float):
        return Double(value)
    return String(value)


class ValueTable:
    """The value list of one plan as it grows."""

    def __init__(self) -> None:
        self.values: list[EValue] = []
        self.registers: dict[SSAValue, int] = {}
        self._known: dict[object, int] = {}

    def _add(self, value: KernelTypes) -> int:
        self.values.append(EValue(value))
        return len(self.values) - 1

    def declare(self, register: SSAValue, value: KernelTypes) -> None:
        """Give a register the next value. All registers come before the first literal."""
        self.registers[register] = self._add(value)

    def scalar(self, value: Scalar) -> int:
        """The value that holds a literal."""
        # Floats by their bits: 0.0 and -0.0 differ, nan equals itself.
        key = (type(value), _double.pack(value) if isinstance(value, float) else value)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._add(scalar_value(value))
        return found

    def list(self, value: ListValue) -> int:
        """The value that holds a list."""
        items = value.items
        match value.kind:
            case ListKind.FLOATS:
                floats = [item for item in items if isinstance(item, float)]
                return self._list(("floats", *map(_double.pack, floats)), DoubleList(floats))
            case ListKind.BOOLS:
                bools = [item for item in items if isinstance(item, bool)]
                return self._list(("bools", *bools), BoolList(bools))
            case ListKind.INTS:
                return self._list_of("ints", [self.item(item) for item in items])
            case ListKind.TENSORS:
                return self._list_of("tensors", [self.item(item) for item in items])
            case ListKind.OPTIONAL_TENSORS:
                return self._list_of("optional", [-1 if item is None else self.item(item) for item in items])

    def _list_of(self, kind: str, ids: list[int]) -> int:
        table = {"ints": IntList, "tensors": TensorList, "optional": OptionalTensorList}[kind]
        return self._list((kind, *ids), table(ids))

    def _list(self, key: tuple[object, ...], value: KernelTypes) -> int:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._add(value)
        return found

    def tensors(self, registers: Sequence[SSAValue]) -> int:
        """The value that lists tensor registers."""
        return self._list_of("tensors", [self.registers[register] for register in registers])

    def item(self, item: Scalar | SSAValue) -> int:
        """The value of a register or scalar literal."""
        return self.registers[item] if isinstance(item, SSAValue) else self.scalar(item)

    def argument(self, argument: Argument) -> int:
        """The value of any argument."""
        return self.list(argument) if isinstance(argument, ListValue) else self.item(argument)
