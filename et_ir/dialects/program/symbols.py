"""Symbols of a program by name, without walking the module for each."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from et_ir.data import Blob
from et_ir.dialects.program.attributes import DataAttr
from et_ir.dialects.program.ops import BufferOp, ConstantOp, GetOp, GlobalOp

__all__ = ["Globals"]


class Globals:
    """The parameters, buffers and constants of a module, kept up to date by those who add to it through this table."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self.by_name: dict[str, GlobalOp] = {}
        self._last: Operation | None = None
        for op in module.body.block.ops:
            if isinstance(op, GlobalOp):
                self.by_name[op.key] = op
                self._last = op

    def __getitem__(self, name: str) -> GlobalOp:
        """The symbol's op. Raises `VerifyException` if the module has none of that name."""
        try:
            return self.by_name[name]
        except KeyError:
            raise VerifyException(f"no parameter, buffer or constant is named @{name}") from None

    def constant_of(self, value: SSAValue) -> GlobalOp | None:
        """The symbol that a value reads, if it is the result of `program.get` and its data is known."""
        op = value.owner
        if not isinstance(op, GetOp):
            return None
        found = self.by_name.get(op.symbol.string_value())
        return found if found is not None and found.value is not None else None

    def fresh_name(self, hint: str) -> str:
        """A name that no symbol has yet, made from `hint`."""
        name, number = hint, 0
        while name in self.by_name:
            number += 1
            name = f"{hint}_{number}"
        return name

    def add_constant(self, hint: str, type: TensorType[Attribute], blob: Blob) -> ConstantOp:
        """Add a constant symbol after the others; its name starts with `hint`."""
        name = self.fresh_name(hint)
        op = ConstantOp.create(
            properties={
                "sym_name": StringAttr(name),
                "type": type,
                "value": DataAttr.of(type.element_type, blob),
            }
        )
        block = self.module.body.block
        if self._last is not None:
            block.insert_op_after(op, self._last)
        elif block.first_op is not None:
            block.insert_op_before(op, block.first_op)
        else:
            block.add_op(op)
        self.by_name[name] = op
        self._last = op
        return op

    def drop_unused(self) -> None:
        """Erase parameters and constants, and buffers that are no state, that no op of the module refers to."""
        used = {
            name.string_value()
            for op in self.module.walk()
            if isinstance(name := op.properties.get("symbol"), SymbolRefAttr)
        }
        for name, op in list(self.by_name.items()):
            if name in used or (isinstance(op, BufferOp) and isinstance(op.mutable, UnitAttr)):
                continue
            if op is self._last:
                previous = op.prev_op
                self._last = previous if isinstance(previous, GlobalOp) else None
            op.detach()
            op.erase()
            del self.by_name[name]
