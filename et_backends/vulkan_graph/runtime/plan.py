"""Plans made from graphs: registers, memory, and calls of kernels.

The registers of a plan begin with the values of the graph. Values that the graph places in the same memory object share
memory here, too; whatever the translation adds has memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from et_backends.vulkan_graph.format import tables as v
from et_backends.vulkan_graph.format.blob import SCALAR_TYPES, VkBlob, staged_type
from et_schema import program as p
from et_schema.errors import Error, InvalidFile
from et_schema.pte import serialize_pte
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.platform import Platform
from et_vm.values import Array, element_count

if TYPE_CHECKING:
    from et_schema.program import KernelTypes
    from et_vm.work import WorkMeter

__all__ = ["METHOD", "Composite", "Plan", "Scalar", "integers_of", "misfit", "number_of", "registers"]

METHOD: Final = "forward"
ALIGNMENT: Final = 64
"""Alignment of tensors in the arena, in bytes."""
_ARENA: Final = 1

Scalar = bool | int | float | str | None


def misfit(message: str) -> InvalidFile:
    """The error for arguments that an operator does not take."""
    return InvalidFile(message, code=Error.DelegateInvalidCompatibility, where="args")


class Plan:
    """An execution plan under construction."""

    def __init__(
        self,
        blob: VkBlob,
        named_data: Mapping[str, memoryview],
        platform: Platform,
        meter: WorkMeter | None = None,
    ) -> None:
        """`platform` and `meter` count what is derived from constants.

        Raises InvalidFile(DelegateInvalidCompatibility) for constants that the program does not have.
        """
        self._blob = blob
        self._named_data = named_data
        self._platform = platform
        self._meter = meter
        self.reservations: list[object] = []
        """Of the platform, for what was derived from constants."""
        self.external: dict[str, memoryview] = {}
        """The data of constants by name."""
        self.identifiers: list[int] = []
        """For each instruction, the identifier of the operator call that it belongs to."""
        self.identifier = 0
        """Identifier of the operator call that is translated."""
        self._plan = p.ExecutionPlan(
            name=METHOD,
            container_meta_type=p.ContainerMetadata(),
            chains=[p.Chain()],
            non_const_buffer_sizes=[0, 0],
        )
        self._scalars: dict[tuple[type, str], int] = {}
        self._operators: dict[str, int] = {}
        self._places: dict[int, int] = {}
        self._registers: dict[int, int] = {}
        """Registers of values that have another one's."""
        objects: dict[int, int] = {}
        for value in blob.graph.values:
            if isinstance(value.value, v.VkTensor) and value.value.mem_obj_id >= 0:
                number = value.value.mem_obj_id
                objects[number] = max(objects.get(number, 0), _nbytes(value.value))
        self._places.update((number, self._allocate(nbytes)) for number, nbytes in objects.items())
        for value in blob.graph.values:
            self._append(self._table(value.value))

    # -- values of the graph

    def __getitem__(self, register: int) -> KernelTypes:
        found = self._plan.values[register].val
        assert found is not None
        return found

    def register_of(self, value: int) -> int:
        """The register of a value of the graph."""
        return self._registers.get(value, value)

    def alias(self, value: int, register: int) -> None:
        """Let a value be what a register holds."""
        self._registers[value] = register

    def is_constant(self, register: int) -> bool:
        """Whether a register is a constant tensor."""
        table = self[register]
        return isinstance(table, p.Tensor) and table.allocation_info is None

    def data_of(self, register: int) -> memoryview:
        """The bytes of a constant tensor."""
        table = self[register]
        assert isinstance(table, p.Tensor)
        assert table.extra_tensor_info is not None
        return self.external[table.extra_tensor_info.fully_qualified_name]

    def array_of(self, register: int) -> Array:
        """The elements of a constant tensor. Raises InvalidFile for what is none."""
        sizes = self.sizes_of(register)
        if not self.is_constant(register):
            raise misfit(f"expected a constant, got a variable of sizes {sizes}")
        dtype = numpy_dtype(self.type_of(register))
        return np.frombuffer(self.data_of(register), dtype, element_count(sizes)).reshape(sizes)

    def _table(self, value: v.GraphTypes | None) -> KernelTypes:
        """The register's table. Lists of values become registers where they are used, as their kind depends on that."""
        match value:
            case v.VkTensor():
                return self._tensor_table(value)
            case v.Int():
                return p.Int(value.int_val)
            case v.SymInt():
                return p.Int(value.value)
            case v.Double():
                return p.Double(value.double_val)
            case v.Bool():
                return p.Bool(value.bool_val)
            case v.String():
                return p.String(value.string_val)
            case v.BoolList():
                return p.BoolList(list(value.items))
            case v.DoubleList():
                return p.DoubleList(list(value.items))
            case _:
                return p.Null()

    def _tensor_table(self, tensor: v.VkTensor) -> p.Tensor:
        scalar_type = SCALAR_TYPES[tensor.datatype]
        if tensor.constant_id >= 0:
            data = self._blob.constant(tensor.constant_id, self._named_data)
            # numpy computes with the byte of a bool, so one that is neither 0 nor 1 would give wrong numbers.
            if scalar_type == ScalarType.BOOL and bytes(data).strip(b"\0\1"):
                raise InvalidFile(
                    "bool constant with bytes other than 0 and 1",
                    code=Error.DelegateInvalidCompatibility,
                    where=f"constants[{tensor.constant_id}]",
                )
            return self._constant_table(scalar_type, tensor.dims, data, f"constants[{tensor.constant_id}]")
        at = self._places.get(tensor.mem_obj_id)
        return _planned(scalar_type, tensor.dims, self._allocate(_nbytes(tensor)) if at is None else at)

    def _constant_table(
        self, scalar_type: ScalarType, sizes: Sequence[int], data: memoryview, name: str
    ) -> p.Tensor:
        self.external[name] = data
        info = p.ExtraTensorInfo(fully_qualified_name=name, location=p.TensorDataLocation.EXTERNAL)
        return p.Tensor(scalar_type, 0, list(sizes), bytes(range(len(sizes))), extra_tensor_info=info)

    def _allocate(self, nbytes: int) -> int:
        sizes = self._plan.non_const_buffer_sizes
        at = sizes[_ARENA]
        sizes[_ARENA] += -(-nbytes // ALIGNMENT) * ALIGNMENT
        return at

    # -- further registers

    def _append(self, table: KernelTypes) -> int:
        self._plan.values.append(p.EValue(table))
        return len(self._plan.values) - 1

    def scalar(self, value: Scalar) -> int:
        """The register of a number, a text or None."""
        key = (type(value), repr(value))
        found = self._scalars.get(key)
        if found is None:
            found = self._scalars[key] = self._append(_scalar_table(value))
        return found

    def ints(self, items: Sequence[int]) -> int:
        """A list of integers."""
        return self.int_registers([self.scalar(item) for item in items])

    def int_registers(self, registers: Sequence[int]) -> int:
        """A list of the integers that registers hold."""
        return self._append(p.IntList(list(registers)))

    def doubles(self, items: Sequence[float]) -> int:
        """A list of floats."""
        return self._append(p.DoubleList(list(items)))

    def tensors(self, registers: Sequence[int], *, optional: bool = False) -> int:
        """A list of tensors, or of tensors and None."""
        return self._append((p.OptionalTensorList if optional else p.TensorList)(list(registers)))

    def tensor(self, scalar_type: ScalarType, sizes: Sequence[int]) -> int:
        """A tensor of these sizes at most."""
        at = self._allocate(element_count(sizes) * scalar_type.itemsize)
        return self._append(_planned(scalar_type, sizes, at))

    def constant(self, scalar_type: ScalarType, sizes: Sequence[int], data: memoryview) -> int:
        """A constant that is made when the graph is loaded, of bytes that were reserved."""
        return self._append(self._constant_table(scalar_type, sizes, data, f"derived[{len(self.external)}]"))

    def reserve(self, nbytes: int) -> None:
        """Count what is about to be derived from constants. Raises OutOfMemory if the platform has not that much."""
        self.reservations.append(self._platform.reserve(nbytes))

    def constant_bytes(self, values: Sequence[int]) -> int:
        """Bytes of the constants among values of the graph."""
        found = filter(self.is_constant, map(self.register_of, values))
        return sum(self.data_of(register).nbytes for register in found)

    @contextmanager
    def bounded(self, nbytes: int) -> Generator[None]:
        """Count what is made of constants meanwhile, beside what is kept of it.

        Raises OutOfMemory or ExecutorchError(OutOfResources) when a limit would be passed.
        """
        if self._meter is not None:
            self._meter.spend(nbytes)
        meanwhile = self._platform.reserve(nbytes)
        try:
            yield
        finally:
            del meanwhile

    def type_of(self, register: int) -> ScalarType:
        """The element type of a tensor. Raises InvalidFile for what is no tensor."""
        return self._tensor_of(register).scalar_type

    def sizes_of(self, register: int) -> list[int]:
        """The sizes of a tensor, which are upper bounds. Raises InvalidFile for what is no tensor."""
        return self._tensor_of(register).sizes

    def _tensor_of(self, register: int) -> p.Tensor:
        table = self[register]
        if not isinstance(table, p.Tensor):
            raise misfit(f"expected a tensor, got {type(table).__name__}")
        return table

    # -- instructions

    def call(self, kernel: str, *args: int) -> None:
        """Call a kernel or a prim by name. The arguments end as those of an instruction do."""
        number = self._operators.get(kernel)
        if number is None:
            number = self._operators[kernel] = len(self._operators)
            name, _, overload = kernel.partition(".")
            self._plan.operators.append(p.Operator(name, overload))
        self._plan.chains[0].instructions.append(p.Instruction(p.KernelCall(number, list(args))))
        self.identifiers.append(self.identifier)

    def compute(self, kernel: str, *args: int, out: int) -> int:
        """Call a kernel with one result, `out`; returns it."""
        self.call(kernel, *args, out, out)
        return out

    def size_of(self, register: int, dim: int) -> int:
        """The register of a size of a tensor, which is read when the plan runs."""
        out = self._append(p.Int(0))
        self.call("aten::sym_size.int", register, self.scalar(dim), out)
        return out

    def sum_of(self, a: int, b: int) -> int:
        """The register of the sum of two integers, which is computed when the plan runs."""
        out = self._append(p.Int(0))
        self.call("executorch_prim::add.Scalar", a, b, out)
        return out

    def converted(self, register: int, scalar_type: ScalarType) -> int:
        """A tensor in another element type."""
        if self.type_of(register) == scalar_type:
            return register
        return self.convert(register, self.tensor(scalar_type, self.sizes_of(register)))

    def convert(self, register: int, out: int) -> int:
        """Copy a tensor to one of another element type; returns that."""
        return self.compute("aten::_to_copy.out", register, self.scalar(False), self.scalar(None), out=out)

    # -- the whole

    def finish(self) -> bytes:
        """The program of one method, whose inputs and outputs are those of the graph."""
        graph = self._blob.graph
        self._plan.inputs = [self._input(number) for number in graph.input_ids]
        self._plan.outputs = [self.register_of(number) for number in graph.output_ids]
        return serialize_pte(p.Program(execution_plan=[self._plan]))

    def _input(self, value: int) -> int:
        """The register that the caller sets; a number is the element of a tensor."""
        if not isinstance(self._blob.graph.values[value].value, v.SymInt):
            return value
        tensor = self.tensor(ScalarType.LONG, [])
        self.call("aten::_local_scalar_dense", tensor, value)
        chain = self._plan.chains[0]
        chain.instructions.insert(0, chain.instructions.pop())
        self.identifiers.insert(0, self.identifiers.pop())
        return tensor

    def staged_types(self, values: Sequence[int]) -> list[ScalarType]:
        """The element types of arguments; numbers are 64-bit integers."""
        tables = [self._blob.graph.values[value].value for value in values]
        return [staged_type(one) if isinstance(one, v.VkTensor) else ScalarType.LONG for one in tables]


def _nbytes(tensor: v.VkTensor) -> int:
    return element_count(tensor.dims) * SCALAR_TYPES[tensor.datatype].itemsize


def _planned(scalar_type: ScalarType, sizes: Sequence[int], at: int) -> p.Tensor:
    return p.Tensor(
        scalar_type,
        0,
        list(sizes),
        bytes(range(len(sizes))),
        allocation_info=p.AllocationDetails(_ARENA, at & 0xFFFFFFFF, at >> 32),
        shape_dynamism=p.TensorShapeDynamism.DYNAMIC_BOUND,
    )


def _scalar_table(value: Scalar) -> KernelTypes:
    match value:
        case bool():
            return p.Bool(value)
        case int():
            return p.Int(value)
        case float():
            return p.Double(value)
        case str():
            return p.String(value)
        case None:
            return p.Null()


# -- arguments of operators that take several calls

Composite: TypeAlias = Callable[[Plan, v.VkGraph, list[int], list[int]], None]
"""Adds the calls that compute an operator, from its arguments and its results, which are values of the graph."""


def registers(plan: Plan, args: Sequence[int], least: int, most: int | None = None) -> list[int]:
    """The registers of the arguments. Raises InvalidFile for another number of arguments."""
    if not least <= len(args) <= (least if most is None else most):
        raise misfit(f"{len(args)} arguments, expected {least}")
    return [plan.register_of(arg) for arg in args]


def number_of(plan: Plan, register: int) -> int | float | None:
    """The number that a register holds, None if it holds none. Raises InvalidFile for something else."""
    match plan[register]:
        case p.Int() as found:
            return found.int_val
        case p.Double() as found:
            return found.double_val
        case p.Null():
            return None
        case found:
            raise misfit(f"expected a number, got {type(found).__name__}")


def integers_of(plan: Plan, graph: v.VkGraph, value: int) -> int:
    """The register of a list of integers."""
    found = graph.values[value].value
    if isinstance(found, v.IntList):
        return plan.ints(found.items)
    if isinstance(found, v.ValueList):
        return plan.int_registers([plan.register_of(item) for item in found.items])
    raise misfit(f"value {value} is not a list of integers")
