"""Recording of executions as ETDump files, which the tools of ExecuTorch read."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from et_schema import etdump
from et_schema.errors import Error, ExecutorchError
from et_schema.files import atomic_writer
from et_schema.scalar_type import ScalarType
from et_vm.tracer import EventTracer
from et_vm.values import Tensor

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan
    from et_vm.program import Program

__all__ = ["ETDumpTracer"]

_LOADING: Final = "Default"
_EXECUTION: Final = "Execute"
_CALLS: Final = {
    "call": "OPERATOR_CALL",
    "delegate": "DELEGATE_CALL",
    "move": "MOVE_CALL",
    "jump_false": "JF_CALL",
    "free": "FREE_CALL",
}
"""ExecuTorch's name of the event of an instruction, by its mnemonic."""
_WIDENED: Final = {ScalarType.HALF: ScalarType.FLOAT, ScalarType.BFLOAT16: ScalarType.FLOAT}
"""Element types that the tools of ExecuTorch do not read, and those that are written for them."""
_OUTSIDE: Final = 2**64 - 1
"""The chain of what belongs to no instruction."""


class ETDumpTracer(EventTracer):
    """Recorder of loading and executions of a program's methods, in the blocks and under the names that ExecuTorch's
    runtime uses.

    With a debug buffer of some bytes, the values that instructions and parts of delegates compute are kept in it, and
    the outputs of executions; floats of 16 bits as f32. Values that no longer fit are counted.
    """

    def __init__(self, program: Program, debug_buffer_size: int = 0) -> None:
        self.dump = etdump.ETDump()
        self.wants_values = debug_buffer_size > 0
        self._plans = {plan.name: plan for plan in program.pte.program.execution_plan}
        self._buffer = bytearray(debug_buffer_size)
        self._used = 0
        self._loading: dict[str, list[etdump.ProfileEvent]] = {}
        self._block: etdump.RunData | None = None
        self._written: dict[int, etdump.Value] = {}
        """The last value of each register in this execution."""

    def write(self, path: str | os.PathLike[str], debug_path: str | os.PathLike[str]) -> None:
        """Write what was recorded, and the debug buffer, if there is one.

        Raises ExecutorchError: OutOfResources for a debug buffer that was too small, AccessFailed for a path that
        cannot be written.
        """
        if self._used > len(self._buffer):
            raise ExecutorchError(
                Error.OutOfResources,
                f"the values do not fit into the debug buffer of {len(self._buffer):,} bytes",
                hint=f"load the program with debug_buffer_size={self._used}, or execute less often",
            )
        files: list[tuple[str | os.PathLike[str], bytes | bytearray]] = [
            (path, etdump.serialize_etdump(self.dump))
        ]
        if self.wants_values:
            files.append((debug_path, self._buffer[: self._used]))
        for target, data in files:
            try:
                with atomic_writer(Path(target)) as stream:
                    stream.write(data)
            except OSError as error:
                reason = error.strerror or str(error)
                raise ExecutorchError(
                    Error.AccessFailed, f"cannot write the file: {reason}", where=os.fspath(target)
                ) from error

    # -- events

    def on_load(self, method: str, phase: str, start: int, end: int) -> None:
        events = self._loading.get(method)
        if events is None:
            names = ("Method::init", "Program::load_method")
            events = self._loading[method] = [
                etdump.ProfileEvent(name, -1, 0, start_time=start) for name in names
            ]
            block = etdump.RunData(_LOADING, events=[etdump.Event(profile_event=one) for one in events])
            self.dump.run_data.append(block)
        for event in events:
            event.end_time = end

    def on_instruction(self, method: str, index: int, opcode: str, name: str, start: int, end: int) -> None:
        chain, place = self._place(method, index)
        names = [_CALLS.get(opcode, opcode)]
        if opcode == "call":
            names.insert(0, f"native_call_{name.rpartition('::')[2]}")
        for label in names:
            self._add(
                etdump.Event(
                    profile_event=etdump.ProfileEvent(label, chain, place, start_time=start, end_time=end)
                )
            )

    def on_delegate(
        self, method: str, index: int, identifier: int | str, name: str, start: int, end: int
    ) -> None:
        chain, place = self._place(method, index)
        event = etdump.ProfileEvent(
            chain_index=chain,
            instruction_id=place,
            delegate_debug_metadata=name.encode(),
            start_time=start,
            end_time=end,
        )
        _identify(event, identifier)
        self._add(etdump.Event(profile_event=event))

    def on_value(self, method: str, index: int, register: int, value: object) -> None:
        chain, place = self._place(method, index)
        entry = self._value(value)
        if entry is not None:
            self._written[register] = entry
            self._add(
                etdump.Event(
                    debug_event=etdump.DebugEvent(chain_index=chain, instruction_id=place, debug_entry=entry)
                )
            )

    def on_delegate_value(
        self, method: str, index: int, identifier: int | str, name: str, output: int, value: object
    ) -> None:
        chain, place = self._place(method, index)
        entry = self._value(value)
        if entry is not None:
            event = etdump.DebugEvent(chain, place, entry, name=name)
            _identify(event, identifier)
            self._add(etdump.Event(debug_event=event))

    def on_execute(self, method: str, start: int, end: int) -> None:
        event = etdump.ProfileEvent("Method::execute", -1, 0, start_time=start, end_time=end)
        self._add(etdump.Event(profile_event=event))
        for register in self._plans[method].outputs:
            entry = self._written.get(register)
            if entry is not None:
                shown = etdump.Value(*(getattr(entry, name) for name in _VALUE_FIELDS))
                shown.output = etdump.Bool(bool_val=True)
                self._add(etdump.Event(debug_event=etdump.DebugEvent(_OUTSIDE, 0, shown)))
        self._block = None
        self._written.clear()

    def _add(self, event: etdump.Event) -> None:
        if self._block is None:
            self._block = etdump.RunData(_EXECUTION)
            self.dump.run_data.append(self._block)
        self._block.events.append(event)

    def _place(self, method: str, index: int) -> tuple[int, int]:
        """Chain and number in it of an instruction."""
        plan = self._plans[method]
        if len(plan.chains) == 1:
            return 0, index
        begins = _begins(plan)
        chain = bisect_right(begins, index) - 1
        return chain, index - begins[chain]

    # -- values

    def _value(self, value: object) -> etdump.Value | None:
        """An entry for a value; None for one that files cannot have."""
        kind = etdump.ValueType
        if isinstance(value, Tensor):
            return etdump.Value(kind.TENSOR, tensor=self._tensor(value))
        if isinstance(value, bool):
            return etdump.Value(kind.BOOL, bool_value=etdump.Bool(bool_val=value))
        if isinstance(value, int):
            return etdump.Value(kind.INT, int_value=etdump.Int(value))
        if isinstance(value, float):
            return etdump.Value(kind.DOUBLE, double_value=etdump.Double(value))
        if isinstance(value, list) and all(isinstance(one, Tensor) for one in cast("list[object]", value)):
            tensors = [self._tensor(one) for one in cast("list[Tensor]", value)]
            return etdump.Value(kind.TENSOR_LIST, tensor_list=etdump.TensorList(tensors))
        return None

    def _tensor(self, tensor: Tensor) -> etdump.Tensor:
        """A tensor, whose elements are copied to the debug buffer in their logical order."""
        kind = _WIDENED.get(tensor.scalar_type, tensor.scalar_type)
        array = np.ascontiguousarray(tensor.array)
        if kind is not tensor.scalar_type:
            array = array.astype(np.float32)
        begin = -(-self._used // etdump.DATA_ALIGNMENT) * etdump.DATA_ALIGNMENT
        self._used = begin + array.nbytes
        if self._used <= len(self._buffer):
            self._buffer[begin : self._used] = array.tobytes()
        strides = list(_strides(tensor.sizes))
        return etdump.Tensor(kind, list(tensor.sizes), strides, begin)


_VALUE_FIELDS: Final = tuple(etdump.Value.__annotations__)


def _identify(event: etdump.ProfileEvent | etdump.DebugEvent, identifier: int | str) -> None:
    if isinstance(identifier, int):
        event.delegate_debug_id_int = identifier
    else:
        event.delegate_debug_id_str = identifier


def _begins(plan: ExecutionPlan) -> list[int]:
    """The number of the first instruction of each chain."""
    return [0, *accumulate(len(chain.instructions) for chain in plan.chains[:-1])]


def _strides(sizes: Sequence[int]) -> Iterator[int]:
    """Those of a contiguous tensor, in elements."""
    for at in range(len(sizes)):
        stride = 1
        for size in sizes[at + 1 :]:
            stride *= max(size, 1)
        yield stride
