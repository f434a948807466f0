"""Load-time verification: everything about a decoded program that can be wrong without running it.

``et_schema.pte`` has checked the container (header, flatbuffer, segments and references into them). Here
each rule is about what values and instructions mean: :func:`verify_plan` covers a method's values and
instruction operands, ``et_vm.flow`` what its registers can hold where they are used, ``et_vm.link`` what
needs the kernels. All raise InvalidFile with upstream's code, the path of the table and, through
:func:`verified`, its byte.
"""

from __future__ import annotations

from collections.abc import Generator, Set
from contextlib import contextmanager

from et_schema.errors import Error, InvalidFile
from et_schema.generated.program import (
    DeviceType,
    ExecutionPlan,
    Int,
    IntList,
    Null,
    OptionalTensorList,
    Tensor,
    TensorDataLocation,
    TensorList,
)
from et_schema.locate import byte_of
from et_schema.pte import PteFile, read_pte
from et_schema.scalar_type import ScalarType
from et_vm.instructions import Instruction, check_registers, flatten, is_constant, written_tensors
from et_vm.values import MAX_RANK, element_count

INT64_MAX = 2**63 - 1

# The element types that programs hold. numpy has no complex numbers of half precision.
_HELD_TYPES = frozenset(ScalarType) - {
    ScalarType.COMPLEXHALF,
    ScalarType.BITS1X8,
    ScalarType.BITS2X4,
    ScalarType.BITS4X2,
    ScalarType.BITS8,
}
_INPUT_TYPES = ("Tensor", "Int", "Bool", "Double", "String", "Null")


@contextmanager
def verified(file: memoryview) -> Generator[None]:
    """Complete an InvalidFile that leaves the block with the byte of the table that its ``where`` names.

    The file is decoded a second time for that, with positions; a good file pays nothing.
    """
    try:
        yield
    except InvalidFile as error:
        if error.offset is None and error.where:
            locations = read_pte(file, locate=True).locations
            error.offset = byte_of(error.where, locations or {})
        raise


def verify_program(pte: PteFile) -> None:
    """Check what does not belong to one method. Raises InvalidFile."""
    program = pte.program
    if not program.execution_plan:
        raise InvalidFile("the program has no methods", where="execution_plan")
    names: set[str] = set()
    for index, plan in enumerate(program.execution_plan):
        where = f"execution_plan[{index}].name"
        if not plan.name:
            raise InvalidFile("method without a name", where=where)
        if plan.name in names:
            raise InvalidFile(f"method {plan.name!r} occurs twice", where=where)
        names.add(plan.name)
    if program.constant_segment is not None and program.constant_segment.offsets and program.constant_buffer:
        raise InvalidFile("constants are both inline and in a segment", where="constant_segment")
    keys: set[str] = set()
    for index, entry in enumerate(program.named_data):
        if not entry.key or entry.key in keys:
            fault = f"key {entry.key!r} occurs twice" if entry.key else "named data without a key"
            raise InvalidFile(fault, where=f"named_data[{index}].key")
        keys.add(entry.key)


def verify_plan(pte: PteFile, index: int) -> list[Instruction]:
    """Check method ``index`` by itself and return its instructions. Raises InvalidFile."""
    plan = pte.program.execution_plan[index]
    where = f"execution_plan[{index}]"
    _verify_arenas(plan, where)
    for at, operator in enumerate(plan.operators):
        if not operator.name:
            raise InvalidFile("operator without a name", where=f"{where}.operators[{at}].name")
    for at, delegate in enumerate(plan.delegates):
        if not delegate.id:
            raise InvalidFile("delegate without a backend id", where=f"{where}.delegates[{at}].id")
        for spec_at, spec in enumerate(delegate.compile_specs):
            if not spec.key:
                path = f"{where}.delegates[{at}].compile_specs[{spec_at}].key"
                raise InvalidFile("compile spec without a key", where=path)
    for at, value in enumerate(plan.values):
        path = f"{where}.values[{at}].val"
        table = value.val
        if isinstance(table, Tensor):
            _verify_tensor(table, plan, pte, path)
        elif table is None:
            raise InvalidFile("value without a type", where=path)
    _verify_inputs_and_outputs(plan, where)
    instructions = flatten(plan, where)
    assigned = {instruction.assigned for instruction in instructions}
    for at, value in enumerate(plan.values):
        _verify_list(value.val, plan, assigned, f"{where}.values[{at}].val")
    for instruction in instructions:
        _verify_writes(instruction, plan)
    return instructions


def _verify_arenas(plan: ExecutionPlan, where: str) -> None:
    for memory_id, size in enumerate(plan.non_const_buffer_sizes):
        if size < 0:
            raise InvalidFile(
                f"arena {memory_id} has {size} bytes", where=f"{where}.non_const_buffer_sizes[{memory_id}]"
            )
    for at, device in enumerate(plan.non_const_buffer_device):
        path = f"{where}.non_const_buffer_device[{at}]"
        if not 0 <= device.buffer_idx < len(plan.non_const_buffer_sizes):
            raise InvalidFile(
                f"arena {device.buffer_idx} does not exist, there are {len(plan.non_const_buffer_sizes)}",
                where=f"{path}.buffer_idx",
            )
        if device.device_type != DeviceType.CPU:
            raise InvalidFile(
                f"arena on device {device.device_type.name}",
                code=Error.NotSupported,
                where=f"{path}.device_type",
            )


def tensor_bytes(table: Tensor) -> int:
    """Bytes of a tensor of the file at its largest."""
    return element_count(table.sizes) * table.scalar_type.itemsize


def _verify_tensor(table: Tensor, plan: ExecutionPlan, pte: PteFile, where: str) -> None:
    if table.scalar_type not in _HELD_TYPES:
        raise InvalidFile(f"element type {table.scalar_type.name}", where=f"{where}.scalar_type")
    if table.storage_offset:
        raise InvalidFile(
            f"storage offset {table.storage_offset}, only 0 is supported",
            code=Error.NotSupported,
            where=f"{where}.storage_offset",
        )
    rank = len(table.sizes)
    if rank > MAX_RANK:
        raise InvalidFile(f"rank {rank}, the most is {MAX_RANK}", where=f"{where}.sizes")
    if rank and min(table.sizes) < 0:
        raise InvalidFile(f"negative size in {table.sizes}", where=f"{where}.sizes")
    if len(table.dim_order) != rank or sorted(table.dim_order) != list(range(rank)):
        raise InvalidFile(
            f"dim order {list(table.dim_order)} is no permutation of {rank} dimensions",
            code=Error.Internal if len(table.dim_order) == rank else Error.InvalidProgram,
            where=f"{where}.dim_order",
        )
    nbytes = tensor_bytes(table)
    if nbytes > INT64_MAX:
        raise InvalidFile(f"shape {table.sizes} overflows a 64-bit size", where=f"{where}.sizes")
    extra = table.extra_tensor_info
    external = False
    if extra is not None:
        if extra.device_type != DeviceType.CPU:
            raise InvalidFile(
                f"tensor on device {extra.device_type.name}",
                code=Error.NotSupported,
                where=f"{where}.extra_tensor_info.device_type",
            )
        external = extra.location == TensorDataLocation.EXTERNAL
        if external and not extra.fully_qualified_name:
            raise InvalidFile(
                "external tensor without a name", where=f"{where}.extra_tensor_info.fully_qualified_name"
            )
    allocation = table.allocation_info
    if allocation is not None:
        arenas = len(plan.non_const_buffer_sizes)
        if not 0 < allocation.memory_id < arenas:
            raise InvalidFile(
                f"memory id {allocation.memory_id}, the method has {max(arenas - 1, 0)} from 1",
                code=Error.InvalidArgument,
                where=f"{where}.allocation_info.memory_id",
            )
        offset = allocation.memory_offset_high << 32 | allocation.memory_offset_low
        size = plan.non_const_buffer_sizes[allocation.memory_id]
        if offset + nbytes > size:
            raise InvalidFile(
                f"{nbytes} bytes from {offset} do not fit arena {allocation.memory_id} of {size} bytes",
                code=Error.MemoryAllocationFailed,
                where=f"{where}.allocation_info",
            )
    if table.data_buffer_idx > 0 and not external:
        _verify_data(table, nbytes, pte, where)


def _verify_data(table: Tensor, nbytes: int, pte: PteFile, where: str) -> None:
    try:
        data = tensor_data(table, nbytes, pte)
    except InvalidFile as error:
        message = f"data of the tensor is not in the file: {error.message}"
        raise InvalidFile(message, code=Error.InvalidArgument, where=f"{where}.data_buffer_idx") from None
    # numpy computes with the byte of a bool, so one that is neither 0 nor 1 would give wrong numbers.
    if table.scalar_type == ScalarType.BOOL and bytes(data).strip(b"\0\1"):
        raise InvalidFile("bool constant with bytes other than 0 and 1", where=f"{where}.data_buffer_idx")


def tensor_data(table: Tensor, nbytes: int, pte: PteFile) -> memoryview:
    """The bytes in the file of a constant, or those a mutable buffer starts with. Raises InvalidFile."""
    if table.allocation_info is None:
        return pte.constant(table.data_buffer_idx, nbytes)
    extra = table.extra_tensor_info
    segment = 0 if extra is None else extra.mutable_data_segments_idx
    return pte.mutable_data(segment, table.data_buffer_idx, nbytes)


def _verify_inputs_and_outputs(plan: ExecutionPlan, where: str) -> None:
    check_registers(plan.inputs, plan, f"{where}.inputs")
    check_registers(plan.outputs, plan, f"{where}.outputs")
    for at, register in enumerate(plan.inputs):
        table = plan.values[register].val
        kind = type(table).__name__
        if kind not in _INPUT_TYPES:
            raise InvalidFile(f"input of type {kind}", code=Error.NotSupported, where=f"{where}.inputs[{at}]")
        if is_constant(table):
            raise InvalidFile("a constant cannot be an input", where=f"{where}.inputs[{at}]")


def _verify_list(table: object, plan: ExecutionPlan, assigned: Set[int | None], where: str) -> None:
    """Check the items of a list. What the registers that are ``assigned`` hold is not known here."""
    if isinstance(table, IntList):
        wanted, none = (Int,), False
    elif isinstance(table, TensorList):
        wanted, none = (Tensor,), False
    elif isinstance(table, OptionalTensorList):
        wanted, none = (Tensor, Null), True
    else:
        return
    for at, item in enumerate(table.items):
        if none and item == -1:
            continue
        path = f"{where}.items[{at}]"
        check_registers((item,), plan, f"{where}.items")
        if not isinstance(plan.values[item].val, wanted) and item not in assigned:
            kind = type(plan.values[item].val).__name__
            names = " or ".join(kind.__name__ for kind in wanted)
            raise InvalidFile(
                f"item is value {item}, a {kind}, not {names}",
                code=Error.InvalidType if none else Error.InvalidProgram,
                where=path,
            )


def _verify_writes(instruction: Instruction, plan: ExecutionPlan) -> None:
    for register in written_tensors(instruction, plan):
        if is_constant(plan.values[register].val):
            raise InvalidFile(
                f"{instruction.name} writes to value {register}, a constant",
                where=f"{instruction.where}.args",
            )
