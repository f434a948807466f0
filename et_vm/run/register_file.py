"""The register file of a method: every value of its plan, bound to the bytes it lives in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from et_schema.errors import Error, InvalidFile, OutOfMemory
from et_schema.program import (
    Bool,
    BoolList,
    Double,
    DoubleList,
    ExecutionPlan,
    Int,
    IntList,
    OptionalTensorList,
    String,
    TensorDataLocation,
    TensorList,
    TensorShapeDynamism,
)
from et_schema.program import Tensor as TensorTable
from et_schema.wording import data_file
from et_vm.load.data_files import DataFiles
from et_vm.run.blueprint import Place
from et_vm.state.buffers import StateBuffer
from et_vm.values import Array, ListRegister, Tensor
from et_vm.verify.tensors import initial_state, tensor_bytes, tensor_data, tensor_place

if TYPE_CHECKING:
    from et_schema.program import KernelTypes
    from et_schema.pte import PteFile
    from et_schema.scalar_type import ScalarType
    from et_vm.platform import Platform
    from et_vm.run.blueprint import Blueprint
    from et_vm.run.memory import MemoryManager


class RegisterFile:
    """Builds the registers of one plan, whose table path is `where`.

    `owned` are the registers of tensors without data in the file that the method has to give memory to.
    `external` holds the data of tensors that are not in the file, by name. What is in a `blueprint` is not made out
    again. `registers` is the result, `places` says where tensors that the blueprint lacks have their data;
    `owned_bytes` is the memory taken.

    Raises OutOfMemory when an arena is too small, and InvalidFile(InvalidExternalData) for a tensor whose
    external data is missing or too short.
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        where: str,
        pte: PteFile,
        memory: MemoryManager,
        platform: Platform,
        owned: Collection[int],
        external: Mapping[str, memoryview],
        blueprint: Blueprint | None = None,
    ) -> None:
        self._pte = pte
        self._platform = platform
        self._external = external
        self._where = where
        self._banks = {
            memory_id: memory.bank(memory_id, size)
            for memory_id, size in enumerate(plan.non_const_buffer_sizes)
            if memory_id and size
        }
        self.owned_bytes = 0
        self._memory = memory
        self.buffers: dict[str, StateBuffer] = {}
        """The mutable buffers that the file names; the first, where several have one name."""
        # What has been copied because it was not aligned, so that it is not done twice.
        self._copies: dict[tuple[int, int], Array] = {}
        self._copies_left = sum(segment.nbytes for segment in pte.segments)
        self.registers: list[object] = [None] * len(plan.values)
        self.places: dict[int, Place] = {}
        """By register: in an arena, in the file (memory 0), or in memory of the tensor's own (numbers below 0)."""
        others: Iterable[int] = range(len(plan.values))
        if blueprint is not None:
            registers, banks = self.registers, {**self._banks, 0: blueprint.constants}
            for index, like, name, memory_id, start, end in blueprint.entries:
                registers[index] = like.on(banks[memory_id][start:end], name)
            for index, value in blueprint.settled.items():
                registers[index] = value
            others = blueprint.others
        for index in others:
            self.registers[index] = self._register(plan.values[index].val, index, index in owned)

    def _register(self, table: KernelTypes | None, index: int, owned: bool) -> object:
        if isinstance(table, TensorTable):
            return self._tensor(table, index, owned)
        if isinstance(table, Int):
            return table.int_val
        if isinstance(table, Bool):
            return table.bool_val
        if isinstance(table, Double):
            return table.double_val
        if isinstance(table, String):
            return table.string_val
        if isinstance(table, (DoubleList, BoolList)):
            return list(table.items)
        if isinstance(table, (IntList, TensorList, OptionalTensorList)):
            return ListRegister(type(table).__name__, tuple(table.items))
        return None

    def _tensor(self, table: TensorTable, index: int, owned: bool) -> Tensor:
        extra = table.extra_tensor_info
        allocation = table.allocation_info
        external = extra is not None and extra.location == TensorDataLocation.EXTERNAL
        name = f"value {index}"
        if extra is not None and extra.fully_qualified_name:
            name += f" ({extra.fully_qualified_name})"
        nbytes = tensor_bytes(table)
        constant = False
        storage: Array | None = None
        initial: memoryview | None = None
        if allocation is not None:
            offset = allocation.memory_offset_high << 32 | allocation.memory_offset_low
            bank = self._banks.get(allocation.memory_id)
            storage = np.empty(0, np.uint8) if bank is None else bank[offset : offset + nbytes]
            if external or table.data_buffer_idx:
                initial = self._data(table, index, nbytes, external)
                if self._memory.is_new(self._pte, (tensor_place(table), initial_state(table))):
                    storage[:] = np.frombuffer(initial, np.uint8)
        elif external or table.data_buffer_idx:
            constant = True
            data = self._data(table, index, nbytes, external)
            storage = np.frombuffer(data, np.uint8)
        unbound = table.shape_dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND and storage is None
        if owned and storage is None:
            try:
                storage = self._platform.allocate(nbytes)
            except OutOfMemory as error:
                error.where = f"{self._where}.values[{index}].val"
                raise
            self.owned_bytes += nbytes
        if storage is not None:
            self.places[index] = self._place(table, index, storage)
        tensor = Tensor(
            table.scalar_type,
            table.sizes,
            table.dim_order,
            storage=storage,
            dynamism=table.shape_dynamism,
            constant=constant,
            name=name,
            allocate=self._platform.allocate if unbound else None,
        )
        if constant and storage is not None and not tensor.array.flags.aligned:
            copied = self._aligned(storage, table.scalar_type.itemsize)
            self.places[index] = self._place(table, index, copied)
            tensor.bind(copied)
        if allocation is not None and extra is not None and extra.fully_qualified_name:
            self.buffers.setdefault(extra.fully_qualified_name, StateBuffer(tensor, initial))
        return tensor

    @staticmethod
    def _place(table: TensorTable, index: int, storage: Array) -> Place:
        allocation = table.allocation_info
        if allocation is not None:
            start = allocation.memory_offset_high << 32 | allocation.memory_offset_low
            return Place(allocation.memory_id, start, start + storage.nbytes)
        if not storage.flags.writeable:
            start: int = storage.__array_interface__["data"][0]
            return Place(0, start, start + storage.nbytes)
        return Place(-1 - index, 0, storage.nbytes)

    def _data(self, table: TensorTable, index: int, nbytes: int, external: bool) -> memoryview:
        """The bytes that a tensor is made of or starts with."""
        if external:
            return self._external_data(table, nbytes, f"{self._where}.values[{index}].val")
        return tensor_data(table, nbytes, self._pte)

    def _external_data(self, table: TensorTable, nbytes: int, path: str) -> memoryview:
        name = table.extra_tensor_info.fully_qualified_name if table.extra_tensor_info else ""
        data = self._external.get(name)
        if data is None:
            more = bool(self._external)
            raise InvalidFile(
                f"the data of tensor {name!r} is "
                + ("neither in the file nor in the data that is given" if more else "not in the file"),
                code=Error.InvalidExternalData,
                where=path,
                hint=f"give its data file: {data_file(more=more)}",
            )
        if data.nbytes < nbytes:
            raise InvalidFile(
                f"external data of {name!r} has {data.nbytes} bytes, the tensor needs {nbytes}",
                code=Error.InvalidExternalData,
                where=path,
            )
        layout = self._external.layout(name) if isinstance(self._external, DataFiles) else None
        if layout is not None:
            stated = (layout.scalar_type, layout.sizes, bytes(layout.dim_order))
            if stated != (table.scalar_type, table.sizes, bytes(table.dim_order)):
                raise InvalidFile(
                    f"external data of {name!r} is {_type(*stated)}, the tensor is "
                    f"{_type(table.scalar_type, table.sizes, bytes(table.dim_order))}",
                    code=Error.InvalidExternalData,
                    where=path,
                )
        return data[:nbytes]

    def _aligned(self, data: Array, alignment: int) -> Array:
        """A read-only copy of `data`, whose address would make every kernel take numpy's slow path. Constants that
        overlap are not all copied: together the copies are not longer than the segments.
        """
        address = data.ctypes.data
        known = self._copies.get((address, data.nbytes))
        if known is not None and known.ctypes.data % alignment == 0:
            return known
        self._copies_left -= data.nbytes
        if self._copies_left < 0:
            return data
        copy = self._platform.allocate(data.nbytes)
        copy[:] = data
        copy.flags.writeable = False
        self._copies[address, data.nbytes] = copy
        return copy


def _type(scalar_type: ScalarType, sizes: Sequence[int], dim_order: bytes) -> str:
    """For messages: `float32 [2, 3]`, with the dim order if it is not the contiguous one."""
    text = f"{scalar_type.torch_name} {list(sizes)}"
    return text if dim_order == bytes(range(len(dim_order))) else f"{text} in dim order {list(dim_order)}"
