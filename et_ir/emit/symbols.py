"""Constants and state of a file as symbols of a module."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr, TensorType, UnitAttr
from xdsl.ir import Attribute

from et_ir.data import Blob
from et_ir.dialects.executorch.layout import Tensor, nbytes
from et_ir.dialects.program import BufferOp, ConstantOp, DataAttr, GlobalOp, ParameterOp
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_schema.program import Tensor as TensorTable
from et_schema.program import TensorDataLocation
from et_schema.pte import PteFile

__all__ = ["FileSymbols"]

_BYTE = ELEMENT_TYPES["ui8"]
_PRINTABLE = frozenset(ELEMENT_TYPES.values())


class FileSymbols:
    """Makes one symbol per constant, element type and name, which all methods share."""

    def __init__(self, file: PteFile):
        self.file = file
        self.ops: list[GlobalOp] = []
        self.sizes: dict[int, int] = {}
        """Bytes of each constant by its number, as far as tensors say."""
        self.state_sizes: dict[int, int] = {}
        """The same of initial state."""
        self._names: dict[tuple[object, ...], str] = {}
        self._taken = {plan.name for plan in file.program.execution_plan}

    def constant(self, table: TensorTable, type: Tensor) -> str:
        """The symbol of a constant. Raises `InvalidFile` if the file does not have its bytes."""
        info = table.extra_tensor_info
        name = "" if info is None else info.fully_qualified_name
        if info is not None and info.location == TensorDataLocation.EXTERNAL:
            return self._symbol(("external", name, type), name or "external", ParameterOp, type, None)
        index, size = table.data_buffer_idx, nbytes(type)
        data = self.file.constant(index, size)
        self.sizes[index] = max(size, self.sizes.get(index, 0))
        kind = ParameterOp if name else ConstantOp
        identity = ("constant", index, size, name, type.element_type)
        return self._symbol(identity, name or f"constant_{index}", kind, type, data)

    def state(self, table: TensorTable, type: Tensor) -> str:
        """The symbol of a mutable buffer. Raises `InvalidFile` if the file does not have its initial bytes."""
        info = table.extra_tensor_info
        name = "" if info is None else info.fully_qualified_name
        external = info is not None and info.location == TensorDataLocation.EXTERNAL
        data = None
        if table.data_buffer_idx and not external:
            segment = 0 if info is None else info.mutable_data_segments_idx
            data = self.file.mutable_data(segment, table.data_buffer_idx, nbytes(type))
            self.state_sizes[table.data_buffer_idx] = nbytes(type)
        # Without a name nothing says that the buffers of two methods are the same one.
        identity = ("state", name, type) if name else ("state", len(self.ops))
        return self._symbol(identity, name or "state", BufferOp, type, data)

    def fresh_name(self, hint: str) -> str:
        """A name that no symbol of the module has."""
        name, number = hint, 0
        while name in self._taken:
            number += 1
            name = f"{hint}_{number}"
        self._taken.add(name)
        return name

    def _symbol(
        self,
        identity: tuple[object, ...],
        hint: str,
        kind: type[GlobalOp],
        type: Tensor,
        data: memoryview | None,
    ) -> str:
        known = self._names.get(identity)
        if known is not None:
            return known
        name = self._names[identity] = self.fresh_name(hint)
        # Data of a type that constants cannot have is kept as bytes.
        if type.element_type not in _PRINTABLE:
            type = TensorType(_BYTE, [nbytes(type)])
        properties: dict[str, Attribute] = {"sym_name": StringAttr(name), "type": type}
        if data is not None:
            properties["value"] = DataAttr.of(type.element_type, Blob.of(name, data))
        if kind is BufferOp:
            properties["mutable"] = UnitAttr()
        self.ops.append(kind.create(properties=properties))
        return name
