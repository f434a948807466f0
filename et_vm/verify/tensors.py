"""Load-time verification of the tensors of a plan: type, shape, layout, and where their bytes are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from et_schema.errors import Error, InvalidFile, Problems
from et_schema.program import MAX_RANK, DeviceType, ExecutionPlan, Tensor, TensorDataLocation
from et_schema.pte import PteFile
from et_schema.scalar_type import ScalarType
from et_vm.values import INT64_MAX, addresses, element_count

# The element types that programs hold. numpy has no complex numbers of half precision.
HELD_TYPES = frozenset(ScalarType) - {
    ScalarType.COMPLEXHALF,
    ScalarType.BITS1X8,
    ScalarType.BITS2X4,
    ScalarType.BITS4X2,
    ScalarType.BITS8,
}

_CONTIGUOUS = [bytes(range(rank)) for rank in range(MAX_RANK + 1)]


class ArenaRange(NamedTuple):
    """Bytes `start` to `end` of an arena."""

    memory_id: int
    start: int
    end: int


def tensor_bytes(table: Tensor) -> int:
    """Bytes of a tensor of the file at its largest."""
    return element_count(table.sizes) * table.scalar_type.itemsize


def tensor_place(table: Tensor) -> ArenaRange | None:
    """Planned place of a tensor; None if it has none."""
    allocation = table.allocation_info
    if allocation is None:
        return None
    start = allocation.memory_offset_high << 32 | allocation.memory_offset_low
    return ArenaRange(allocation.memory_id, start, start + tensor_bytes(table))


def tensor_data(table: Tensor, nbytes: int, pte: PteFile) -> memoryview:
    """The bytes in the file of a constant, or those a mutable buffer starts with. Raises InvalidFile."""
    if table.allocation_info is None:
        return pte.constant(table.data_buffer_idx, nbytes)
    extra = table.extra_tensor_info
    segment = 0 if extra is None else extra.mutable_data_segments_idx
    return pte.mutable_data(segment, table.data_buffer_idx, nbytes)


class BoolConstants:
    """Finds the bool tensors of a program whose bytes in the file are not all 0 or 1.

    Tensors that share their bytes are looked at once; constants of different extent that overlap, which nothing
    writes, are refused when they would cost more than the file is long.
    """

    def __init__(self, budget: int) -> None:
        """`budget` is how many bytes may be looked at."""
        self._budget = budget
        self._known: dict[tuple[int, int], str] = {}

    def fault(self, data: memoryview) -> str:
        """Faults in the bytes of a tensor; empty if there are none."""
        if not data.nbytes:
            return ""
        key = (int(np.frombuffer(data, np.uint8).ctypes.data), data.nbytes)
        known = self._known.get(key)
        if known is None:
            self._budget -= data.nbytes
            if self._budget < 0:
                return "overlapping bool constants expand beyond the limit for a file of this size"
            known = "bool constant with bytes other than 0 and 1" if bytes(data).strip(b"\0\1") else ""
            self._known[key] = known
        return known


def verify_tensor(
    table: Tensor, plan: ExecutionPlan, pte: PteFile, bools: BoolConstants, where: str, problems: Problems
) -> bool:
    """Check one tensor of `plan`, whose table path is `where`; returns whether its number of bytes is known."""

    def report(message: str, field: str, code: Error = Error.InvalidProgram) -> None:
        problems.add(InvalidFile(message, code=code, where=f"{where}.{field}"))

    if table.scalar_type not in HELD_TYPES:
        report(f"element type {table.scalar_type.name}", "scalar_type")
    if table.storage_offset:
        report(
            f"storage offset {table.storage_offset}, only 0 is supported",
            "storage_offset",
            Error.NotSupported,
        )
    external = _verify_extra(table, report)
    rank = len(table.sizes)
    if rank > MAX_RANK:
        report(f"rank {rank}, the most is {MAX_RANK}", "sizes")
        return False
    if len(table.dim_order) != rank:
        report(f"dim order of {len(table.dim_order)} dimensions, the tensor has {rank}", "dim_order")
    elif table.dim_order != _CONTIGUOUS[rank] and sorted(table.dim_order) != list(range(rank)):
        message = f"dim order {list(table.dim_order)} is not a permutation of {rank} dimensions"
        report(message, "dim_order", Error.Internal)
    if rank and min(table.sizes) < 0:
        report(f"negative size in {table.sizes}", "sizes")
        return False
    nbytes = tensor_bytes(table)
    # Only where a size is 0 do the others say more than the bytes.
    if not (0 < nbytes <= INT64_MAX or addresses(table.sizes, table.scalar_type.itemsize)):
        report(f"shape {table.sizes} overflows a 64-bit size", "sizes")
        return False
    _verify_place(table, nbytes, plan, report)
    if table.data_buffer_idx > 0 and not external and not _is_lost(table, pte):
        try:
            data = tensor_data(table, nbytes, pte)
        except InvalidFile as error:
            message = f"data of the tensor is not in the file: {error.message}"
            report(message, "data_buffer_idx", Error.InvalidArgument)
            return True
        # numpy computes with the byte of a bool, so one that is neither 0 nor 1 would give wrong numbers.
        if table.scalar_type == ScalarType.BOOL and (fault := bools.fault(data)):
            report(fault, "data_buffer_idx")
    return True


def _is_lost(table: Tensor, pte: PteFile) -> bool:
    """Whether the entries that say where the data of a tensor is are malformed, which is reported once."""
    if not pte.malformed:
        return False
    entries = pte.program.constant_segment
    if table.allocation_info is not None:
        extra = table.extra_tensor_info
        at = 0 if extra is None else extra.mutable_data_segments_idx
        entries = (
            pte.program.mutable_data_segments[at] if at < len(pte.program.mutable_data_segments) else None
        )
    return id(entries) in pte.malformed


def _verify_extra(table: Tensor, report: Callable[..., None]) -> bool:
    """Check what few tensors have; returns whether the data is outside of the file."""
    extra = table.extra_tensor_info
    if extra is None:
        return False
    if extra.device_type != DeviceType.CPU:
        message = f"tensor on device {extra.device_type.name}"
        report(message, "extra_tensor_info.device_type", Error.NotSupported)
    external = extra.location == TensorDataLocation.EXTERNAL
    if external and not extra.fully_qualified_name:
        report("external tensor without a name", "extra_tensor_info.fully_qualified_name")
    return external


def _verify_place(table: Tensor, nbytes: int, plan: ExecutionPlan, report: Callable[..., None]) -> None:
    allocation = table.allocation_info
    if allocation is None:
        return
    arenas = len(plan.non_const_buffer_sizes)
    if not 0 < allocation.memory_id < arenas:
        report(
            f"memory id {allocation.memory_id}, the method has {max(arenas - 1, 0)} from 1",
            "allocation_info.memory_id",
            Error.InvalidArgument,
        )
        return
    size = plan.non_const_buffer_sizes[allocation.memory_id]
    start = allocation.memory_offset_high << 32 | allocation.memory_offset_low
    # A negative arena is reported as such.
    if start + nbytes > size >= 0:
        report(
            f"{nbytes} bytes from {start} exceed arena {allocation.memory_id} of {size} bytes",
            "allocation_info",
            Error.MemoryAllocationFailed,
        )


def initial_state(table: Tensor) -> object | None:
    """A key of the file's initial content of a tensor's arena bytes; None if there is none."""
    extra = table.extra_tensor_info
    if table.allocation_info is None:
        return None
    if extra is not None and extra.location == TensorDataLocation.EXTERNAL:
        return extra.fully_qualified_name
    if not table.data_buffer_idx:
        return None
    return (0 if extra is None else extra.mutable_data_segments_idx), table.data_buffer_idx


def verify_initial_states(tensors: Sequence[tuple[int, Tensor]], where: str, problems: Problems) -> None:
    """Report the tensors of a plan, given with their indices, that the file initializes in arena bytes which it
    initializes with something else too.

    What such bytes start with would depend on the order of the values, and copying them could cost the product of
    the numbers of tensors and bytes. Several registers of one buffer are no fault.
    """
    found: list[tuple[ArenaRange, int, object]] = []
    for index, table in tensors:
        state = initial_state(table)
        place = None if state is None else tensor_place(table)
        if state is not None and place is not None and place.start < place.end:
            found.append((place, index, state))
    if len(found) < 2:
        return
    found.sort(key=lambda item: item[:2])
    furthest = found[0]
    for item in found[1:]:
        (place, index, state), (before, other, known) = item, furthest
        if place.memory_id == before.memory_id and place.start < before.end:
            if (place, state) != (before, known):
                problems.add(
                    InvalidFile(
                        f"initial state overlaps that of value {other}",
                        where=f"{where}.values[{index}].val.allocation_info",
                    )
                )
            if place.end <= before.end:
                continue
        furthest = item
