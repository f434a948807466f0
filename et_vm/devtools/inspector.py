"""Times and values in ETDump files, whichever runtime has written them.

The names are those of ExecuTorch's `Inspector`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from pathlib import Path
from typing import Any, Final, TextIO

import numpy as np

from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.etdump import DebugEvent, ProfileEvent, RunData, Value, ValueType, read_etdump
from et_schema.etdump import Tensor as TensorEntry
from et_schema.scalar_type import numpy_dtype
from et_vm.values import Array

__all__ = ["Event", "EventBlock", "Inspector", "PerfData", "TimeScale"]

_OUTSIDE: Final = 2**64 - 1
_COLUMNS: Final = ("p10", "p50", "p90", "avg", "min", "max")


class TimeScale(Enum):
    """Units of time; cycles are converted to nothing else."""

    NS = "ns"
    """Nanoseconds."""
    US = "us"
    """Microseconds."""
    MS = "ms"
    """Milliseconds."""
    S = "s"
    """Seconds."""
    CYCLES = "cycles"
    """Cycles of a processor."""


_PER_SECOND: Final = {TimeScale.NS: 1e9, TimeScale.US: 1e6, TimeScale.MS: 1e3, TimeScale.S: 1.0}


def _factor(source: TimeScale, target: TimeScale) -> float:
    if source is target:
        return 1.0
    if TimeScale.CYCLES in (source, target):
        raise ValueError(f"times in {source.value} cannot be converted to {target.value}")
    return _PER_SECOND[target] / _PER_SECOND[source]


@dataclass
class PerfData:
    """Times of an event, one for each time that it took place."""

    raw: list[float]
    """The times, in the unit of the `Inspector`."""

    @property
    def p10(self) -> float:
        """The 10th percentile, interpolated."""
        return float(np.percentile(self.raw, 10))

    @property
    def p50(self) -> float:
        """The median."""
        return float(np.percentile(self.raw, 50))

    @property
    def p90(self) -> float:
        """The 90th percentile, interpolated."""
        return float(np.percentile(self.raw, 90))

    @property
    def avg(self) -> float:
        """The mean."""
        return float(np.mean(self.raw))

    @property
    def min(self) -> float:
        """The least."""
        return float(np.min(self.raw))

    @property
    def max(self) -> float:
        """The greatest."""
        return float(np.max(self.raw))


@dataclass
class Event:
    """An event of an instruction, of a part of a delegate, or of the runtime, over all executions that are alike."""

    name: str
    """The runtime's name of it, or the identifier within the delegate."""
    perf_data: PerfData
    """Times in the unit of the `Inspector`."""
    instruction_id: int = -1
    """Number of the instruction in its chain."""
    chain_index: int = -1
    """Number of the chain, -1 for what belongs to no instruction."""
    delegate_debug_identifier: int | str | None = None
    """The backend's own identifier."""
    delegate_debug_metadata: bytes = b""
    """What the backend says of it in the first execution."""
    debug_data: list[Any] = field(default_factory=list[Any])
    """Values of the first execution: arrays, lists of them, and numbers."""
    start_time: list[int] = field(default_factory=list[int])
    """The begin in each execution, in the unit of the file."""

    @property
    def is_delegated_op(self) -> bool:
        """Whether it took place in a delegate."""
        return self.delegate_debug_identifier is not None


@dataclass
class EventBlock:
    """The events of executions that are alike, or of loading."""

    name: str
    """`Default` for loading, `Execute` for executions."""
    events: list[Event]
    """In the order of the first execution."""
    run_output: list[Any] = field(default_factory=list[Any])
    """Outputs of the first execution, if the file has them."""
    bundled_input_index: int | None = None
    """The number of the test case that was executed."""


class Inspector:
    """The events of an ETDump file, merged over executions that are alike.

    Raises `InvalidFile` for a damaged file, `ExecutorchError(AccessFailed)` for one that cannot be read, `ValueError`
    for units that cannot be converted, and `TypeError` unless one of `etdump_path` and `etdump_data` is given.
    """

    def __init__(
        self,
        etdump_path: str | os.PathLike[str] | None = None,
        etdump_data: bytes | None = None,
        *,
        source_time_scale: TimeScale = TimeScale.NS,
        target_time_scale: TimeScale = TimeScale.MS,
        debug_buffer_path: str | os.PathLike[str] | None = None,
    ) -> None:
        if (etdump_path is None) == (etdump_data is None):
            raise TypeError("give one of etdump_path and etdump_data")
        data = _read(etdump_path) if etdump_path is not None else etdump_data
        assert data is not None
        self.target_time_scale = target_time_scale
        self._factor = _factor(source_time_scale, target_time_scale)
        self._buffer = None if debug_buffer_path is None else _read(debug_buffer_path)
        self.event_blocks = self._blocks(read_etdump(data).run_data)

    def _blocks(self, runs: Sequence[RunData]) -> list[EventBlock]:
        found: dict[object, EventBlock] = {}
        for number, run in enumerate(runs):
            block = self._block(run, f"run_data[{number}]")
            signature = (
                block.name,
                block.bundled_input_index,
                tuple((one.name, one.chain_index, one.instruction_id) for one in block.events),
            )
            known = found.setdefault(signature, block)
            if known is not block:
                for mine, other in zip(known.events, block.events, strict=True):
                    mine.perf_data.raw += other.perf_data.raw
                    mine.start_time += other.start_time
        return list(found.values())

    def _block(self, run: RunData, where: str) -> EventBlock:
        index = None if run.bundled_input_index < 0 else run.bundled_input_index
        block = EventBlock(run.name, [], bundled_input_index=index)
        values: dict[tuple[int, int, int | str | None], list[Any]] = {}
        known: dict[tuple[str, int, int, int | str | None], Event] = {}
        for at, event in enumerate(run.events):
            if event.profile_event is not None:
                made = self._event(event.profile_event, f"{where}.events[{at}]")
                key = (made.name, made.chain_index, made.instruction_id, made.delegate_debug_identifier)
                first = known.setdefault(key, made)
                if first is made:
                    block.events.append(made)
                else:  # an instruction of a loop, or parts of a delegate with one identifier
                    first.perf_data.raw += made.perf_data.raw
                    first.start_time += made.start_time
            elif event.debug_event is not None and event.debug_event.debug_entry is not None:
                entry = event.debug_event.debug_entry
                value = self._value(entry, f"{where}.events[{at}].debug_event.debug_entry")
                if entry.output is not None and entry.output.bool_val:
                    block.run_output.append(value)
                else:
                    key = (*_place(event.debug_event), _identifier(event.debug_event))
                    values.setdefault(key, []).append(value)
        for one in block.events:
            key = (one.chain_index, one.instruction_id, one.delegate_debug_identifier)
            one.debug_data = values.get(key, [])
        return block

    def _event(self, event: ProfileEvent, where: str) -> Event:
        if event.end_time < event.start_time:
            raise InvalidFile(f"it ends at {event.end_time}, before {event.start_time}", where=where)
        identifier = _identifier(event)
        return Event(
            event.name or str("" if identifier is None else identifier),
            PerfData([(event.end_time - event.start_time) * self._factor]),
            event.instruction_id,
            event.chain_index,
            identifier,
            bytes(event.delegate_debug_metadata or b""),
            start_time=[event.start_time],
        )

    def _value(self, entry: Value, where: str) -> Any:
        """An array, a list of them, a number, or None for what is not in the file."""
        if entry.val is ValueType.TENSOR and entry.tensor is not None:
            return self._array(entry.tensor, where)
        if entry.val is ValueType.TENSOR_LIST and entry.tensor_list is not None:
            return [self._array(one, where) for one in entry.tensor_list.tensors]
        if entry.int_value is not None:
            return entry.int_value.int_val
        if entry.bool_value is not None:
            return entry.bool_value.bool_val
        if entry.double_value is not None:
            return entry.double_value.double_val
        return None if entry.float_value is None else entry.float_value.float_val

    def _array(self, tensor: TensorEntry, where: str) -> Array | None:
        if self._buffer is None:
            return None
        dtype = numpy_dtype(tensor.scalar_type)
        count = prod(tensor.sizes)
        strides = tensor.strides or [1] * len(tensor.sizes)
        good = (
            len(strides) == len(tensor.sizes)
            and min([*tensor.sizes, *strides, tensor.offset], default=0) >= 0
        )
        last = (
            sum((size - 1) * step for size, step in zip(tensor.sizes, strides, strict=False)) if count else -1
        )
        if not good or tensor.offset + (last + 1) * dtype.itemsize > len(self._buffer):
            raise InvalidFile(
                f"a tensor {tensor.sizes} at {tensor.offset} is not in the debug buffer of {len(self._buffer)} bytes",
                where=where,
            )
        flat = np.frombuffer(self._buffer, dtype, last + 1, tensor.offset)
        steps = [step * dtype.itemsize for step in strides]
        return np.lib.stride_tricks.as_strided(flat, tensor.sizes, steps, writeable=False)

    # -- tables

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each event, with the columns of ExecuTorch's table that are known without an ETRecord."""
        unit = self.target_time_scale.value
        for block in self.event_blocks:
            for event in block.events:
                yield {
                    "event_block_name": block.name,
                    "event_name": event.name,
                    "raw": event.perf_data.raw,
                    **{f"{name} ({unit})": getattr(event.perf_data, name) for name in _COLUMNS},
                    "delegate_debug_identifier": event.delegate_debug_identifier,
                    "is_delegated_op": event.is_delegated_op,
                    "debug_data": event.debug_data,
                    "start_time": event.start_time,
                }

    def to_dataframe(self) -> Any:
        """The rows as a `pandas.DataFrame`. Raises `ExecutorchError(NotSupported)` without pandas."""
        try:
            import pandas  # pyright: ignore[reportMissingTypeStubs, reportMissingImports]
        except ModuleNotFoundError as error:
            raise ExecutorchError(
                Error.NotSupported, "to_dataframe needs the package pandas", hint="pip install pandas"
            ) from error
        made: Any = pandas
        return made.DataFrame(list(self.rows()))

    def save_data_to_tsv(self, file: TextIO) -> None:
        """Write the rows, separated by tabs, with a line of headings."""
        for number, row in enumerate(self.rows()):
            if not number:
                print(*row, sep="\t", file=file)
            print(*row.values(), sep="\t", file=file)

    def print_data_tabular(self, file: TextIO | None = None) -> None:
        """Print a line for each event: times, and the name."""
        lines = [("block", *(f"{name} ({self.target_time_scale.value})" for name in _COLUMNS), "event")]
        for block in self.event_blocks:
            for event in block.events:
                times = (f"{getattr(event.perf_data, name):.5g}" for name in _COLUMNS)
                mark = "  " if event.is_delegated_op else ""
                note = event.delegate_debug_metadata.decode("utf-8", "replace").rstrip("\0")
                shown = f"{mark}{event.name}{f' {note}' if note.isprintable() and note else ''}"
                lines.append((block.name, *times, shown))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for first, *times, last in lines:
            cells = [
                first.ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(times, widths[1:], strict=False)),
            ]
            print("  ".join((*cells, last)), file=file)


def _identifier(event: ProfileEvent | DebugEvent) -> int | str | None:
    if event.delegate_debug_id_str:
        return event.delegate_debug_id_str
    return None if event.delegate_debug_id_int == -1 else event.delegate_debug_id_int


def _place(event: DebugEvent) -> tuple[int, int]:
    return (-1 if event.chain_index == _OUTSIDE else event.chain_index), event.instruction_id


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ExecutorchError(Error.AccessFailed, f"cannot read {os.fspath(path)}: {reason}") from error
