"""Times and values in ETDump files, whichever runtime has written them.

The names are those of ExecuTorch's `Inspector`.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

import numpy as np

from et_schema.errors import Error, ExecutorchError, InvalidFile, access_failed
from et_schema.etdump import DebugEvent, ProfileEvent, RunData, Value, ValueType, read_etdump
from et_schema.etdump import Tensor as TensorEntry
from et_schema.etrecord import EXPORTED, ETRecord, RecordedProgram, read_etrecord
from et_schema.file_kinds import RECORDED, kind_of
from et_schema.scalar_type import numpy_dtype
from et_vm.devtools.associated_nodes import associate, edge_program
from et_vm.devtools.events import Event, EventBlock, PerfData, TimeScale
from et_vm.devtools.torch_modules import load_torch_module
from et_vm.values import Array, strided_view

if TYPE_CHECKING:
    from et_vm.devtools.comparators import NumericalComparatorBase
    from et_vm.devtools.numeric_gaps import NumericGap

__all__ = ["Event", "EventBlock", "Inspector", "PerfData", "TimeScale"]


def __getattr__(name: str) -> object:
    from et_schema.executorch_names import missing_name

    raise missing_name(__name__, name)


_OUTSIDE: Final = 2**64 - 1
_COLUMNS: Final = ("p10", "p50", "p90", "avg", "min", "max")
_HIDDEN: Final = ("raw", "delegate_debug_identifier", "stack_traces", "module_hierarchy", "debug_data")
"""Columns that tables for people leave out."""
_SHOWN_OPS: Final = 5
_FEW: Final = 3
"""Operators of an event that a line of the printed table has."""


_PER_SECOND: Final = {TimeScale.NS: 1e9, TimeScale.US: 1e6, TimeScale.MS: 1e3, TimeScale.S: 1.0}


def _factor(source: TimeScale, target: TimeScale) -> float:
    if source is target:
        return 1.0
    if TimeScale.CYCLES in (source, target):
        raise ValueError(f"times in {source.value} cannot be converted to {target.value}")
    return _PER_SECOND[target] / _PER_SECOND[source]


class Inspector:
    """The events of an ETDump file, merged over executions that are alike.

    An ETRecord of the program associates events with the nodes of a graph that they compute: `reference_graph_name` is
    `edge_dialect_exported_program`, or another graph of the record. `delegate_metadata_parser` decodes the metadata
    that backends attach to events, and `delegate_time_scale_converter` converts the time of an event in a delegate,
    given its name, to the unit of the `Inspector`. Modules are always available; `enable_module_hierarchy` is accepted
    for compatibility with upstream.

    Raises `InvalidFile` for a damaged file and for an ETRecord of another program, `ExecutorchError(AccessFailed)` for
    an unreadable file, `ValueError` for units that cannot be converted and for unknown graphs, and `TypeError` unless
    exactly one of `etdump_path` and `etdump_data` is given.
    """

    def __init__(
        self,
        etdump_path: str | os.PathLike[str] | None = None,
        etdump_data: bytes | None = None,
        etrecord: ETRecord | str | os.PathLike[str] | None = None,
        source_time_scale: TimeScale = TimeScale.NS,
        target_time_scale: TimeScale = TimeScale.MS,
        debug_buffer_path: str | os.PathLike[str] | None = None,
        delegate_metadata_parser: Callable[[list[bytes]], Any] | None = None,
        delegate_time_scale_converter: Callable[[int | str, int | float], float] | None = None,
        enable_module_hierarchy: bool = False,
        reference_graph_name: str = "edge_dialect_graph_module",
    ) -> None:
        del enable_module_hierarchy
        if (etdump_path is None) == (etdump_data is None):
            raise TypeError("give one of etdump_path and etdump_data")
        data = _read(etdump_path) if etdump_path is not None else etdump_data
        assert data is not None
        self.source_time_scale = source_time_scale
        self.target_time_scale = target_time_scale
        self._factor = _factor(source_time_scale, target_time_scale)
        self._parser = delegate_metadata_parser
        self._converter = delegate_time_scale_converter
        self._buffer = None if debug_buffer_path is None else _read(debug_buffer_path)
        kind = kind_of(memoryview(data))
        if kind is not None and kind is not RECORDED:
            raise InvalidFile(f"{kind.name}, not {RECORDED.name}")
        self.event_blocks = self._blocks(read_etdump(data).run_data)
        self.etrecord = read_etrecord(etrecord) if isinstance(etrecord, str | os.PathLike) else etrecord
        """The compiler's record of the program, if it was given."""
        if self.etrecord is not None:
            where = os.fspath(etrecord) if isinstance(etrecord, str | os.PathLike) else "the ETRecord"
            associate(self.event_blocks, self.etrecord, reference_graph_name, where)

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
                    _add(mine, other)
        return list(found.values())

    def _block(self, run: RunData, where: str) -> EventBlock:
        index = None if run.bundled_input_index < 0 else run.bundled_input_index
        block = EventBlock(
            run.name,
            [],
            bundled_input_index=index,
            source_time_scale=self.source_time_scale,
            target_time_scale=self.target_time_scale,
        )
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
                    _add(first, made)
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
        name = event.name or str("" if identifier is None else identifier)
        time = (event.end_time - event.start_time) * self._factor
        if identifier is not None and self._converter is not None:
            convert = self._converter
            time = convert(name, event.end_time) - convert(name, event.start_time)
        metadata = bytes(event.delegate_debug_metadata or b"")
        return Event(
            name,
            PerfData([time]),
            event.instruction_id,
            event.chain_index,
            identifier,
            metadata,
            [metadata] if metadata else [],
            self._parser,
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
        try:
            return self._view(self._buffer, tensor, where)
        except ValueError as error:
            # Arrays have 64 dimensions at most, and sizes whose product can be counted.
            raise InvalidFile(f"a tensor {str(tensor.sizes)[:100]}: {error}", where=where) from None

    @staticmethod
    def _view(buffer: bytes, tensor: TensorEntry, where: str) -> Array:
        """The elements of a tensor in the debug buffer."""
        dtype = numpy_dtype(tensor.scalar_type)
        count = prod(tensor.sizes)
        if count == 0 and min(tensor.sizes) >= 0:
            return np.zeros(tensor.sizes, dtype)  # ExecuTorch's runtime gives it no place
        strides = tensor.strides or [1] * len(tensor.sizes)
        good = (
            len(strides) == len(tensor.sizes)
            and min([*tensor.sizes, *strides, tensor.offset], default=0) >= 0
        )
        last = (
            sum((size - 1) * step for size, step in zip(tensor.sizes, strides, strict=False)) if count else -1
        )
        # With strides of 0, there could be any number of elements at one place.
        nbytes = max(last + 1, count) * dtype.itemsize
        if not good or tensor.offset + nbytes > len(buffer):
            raise InvalidFile(
                f"a tensor {tensor.sizes} at {tensor.offset} is not in the debug buffer of {len(buffer)} bytes",
                where=where,
            )
        flat = np.frombuffer(buffer, dtype, last + 1, tensor.offset)
        steps = [step * dtype.itemsize for step in strides]
        return strided_view(flat, tensor.sizes, steps)

    # -- tables

    def rows(
        self, include_units: bool = True, include_delegate_debug_data: bool = False
    ) -> Iterator[dict[str, Any]]:
        """A row for each event, with the columns of ExecuTorch's table."""
        unit = f" ({self.target_time_scale.value})" if include_units else ""
        for block in self.event_blocks:
            for event in block.events:
                row = {
                    "event_block_name": block.name,
                    "event_name": event.name,
                    "raw": event.perf_data.raw,
                    **{f"{name}{unit}": getattr(event.perf_data, name) for name in _COLUMNS},
                    "op_types": event.op_types
                    if len(event.op_types) < _SHOWN_OPS
                    else _shortened(event.op_types),
                    "delegate_debug_identifier": event.delegate_debug_identifier,
                    "stack_traces": event.stack_traces,
                    "module_hierarchy": event.module_hierarchy,
                    "is_delegated_op": event.is_delegated_op,
                    "delegate_backend_name": event.delegate_backend_name,
                    "debug_data": event.debug_data,
                    "start_time": event.start_time,
                }
                if include_delegate_debug_data and event.raw_delegate_debug_metadatas:
                    said = event.delegate_debug_metadatas
                    row |= said if isinstance(said, dict) else {"delegate_debug_metadata": said}
                yield row

    def to_dataframe(self, include_units: bool = True, include_delegate_debug_data: bool = False) -> Any:
        """The rows as a `pandas.DataFrame`. Raises `ExecutorchError(NotSupported)` without pandas."""
        return _data_frame(list(self.rows(include_units, include_delegate_debug_data)), "to_dataframe")

    def save_data_to_tsv(
        self, file: TextIO, include_units: bool = True, include_delegate_debug_data: bool = False
    ) -> None:
        """Write the rows as tab-separated values, with a header line and row numbers, restricted to the columns and
        events of ExecuTorch's table.
        """
        shown = [
            {name: value for name, value in row.items() if name not in _HIDDEN}
            for row in self.rows(include_units, include_delegate_debug_data)
            if row["event_name"] != "OPERATOR_CALL"
        ]
        names = list(dict.fromkeys(name for row in shown for name in row))
        writer = csv.writer(file, "excel-tab", lineterminator="\n")
        writer.writerow(["", *names])
        writer.writerows([number, *(row.get(name) for name in names)] for number, row in enumerate(shown))

    def print_data_tabular(
        self,
        file: TextIO | None = None,
        include_units: bool = True,
        include_delegate_debug_data: bool = False,
    ) -> None:
        """Print one line per event: times, the name and, with an ETRecord, the operators that it computes. The
        metadata of backends is always shown.
        """
        del include_delegate_debug_data
        unit = f" ({self.target_time_scale.value})" if include_units else ""
        lines = [("block", *(f"{name}{unit}" for name in _COLUMNS), "event")]
        for block in self.event_blocks:
            for event in block.events:
                times = (f"{getattr(event.perf_data, name):.5g}" for name in _COLUMNS)
                mark = "  " if event.is_delegated_op else ""
                note = event.delegate_debug_metadata.decode("utf-8", "replace").rstrip("\0")
                shown = f"{mark}{event.name}{f' {note}' if note.isprintable() and note else ''}"
                if event.op_types and event.name != "OPERATOR_CALL":
                    shown += f"  {_computed(event)}"
                lines.append((block.name, *times, shown))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for first, *times, last in lines:
            cells = [
                first.ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(times, widths[1:], strict=False)),
            ]
            print("  ".join((*cells, last)), file=file)

    # -- with an ETRecord

    def find_total_for_module(self, module_name: str) -> float:
        """The sum of the mean times of a module's events, in the unit of the `Inspector`: those with a node in a module
        whose key contains `module_name`. Parts of a delegate are counted in addition to its call.
        """
        return sum(
            event.perf_data.avg
            for block in self.event_blocks
            for event in block.events
            if event.name != "OPERATOR_CALL"
            and any(module_name in key for modules in event.module_hierarchy.values() for key in modules)
        )

    def get_exported_program(self, graph: str | None = None) -> RecordedProgram | None:
        """The edge program of the ETRecord, or another of its graphs by name; None if there is none."""
        if self.etrecord is None:
            return None
        if graph is None:
            return edge_program(self.etrecord)[1]
        if graph == EXPORTED:
            return self.etrecord.exported_program
        return self.etrecord.graph_map.get(graph if "/" in graph else f"{graph}/forward")

    def numeric_gaps(
        self,
        distance: str | NumericalComparatorBase = "MSE",
        disable_debug_handle_valdiation: bool = False,
        reference_graph: str | None = None,
    ) -> list[NumericGap]:
        """The gaps between the values of instructions and parts of delegates, and those of a graph of the ETRecord on
        its representative inputs. `distance` is `MSE`, `L1`, `SNR`, or a custom metric.

        The graph is `exported_program`, `edge_dialect_exported_program` or another one of the record. By default, it
        is the exported program if all nodes of the edge program come from it, or if that check is disabled.

        Raises `ValueError` without an ETRecord or inputs in it, for an unknown distance and for an unknown graph;
        `ExecutorchError` for a graph that torch cannot evaluate, for inputs that do not fit it, and without torch.
        """
        known: Mapping[str, type[NumericalComparatorBase]] = load_torch_module("comparators").COMPARATORS
        gaps_of = load_torch_module("numeric_gaps").numeric_gaps
        if self.etrecord is None:
            raise ValueError("numeric gaps need an ETRecord: Inspector(…, etrecord=…)")
        if isinstance(distance, str):
            comparator = known.get(distance.strip().upper())
            if comparator is None:
                raise ValueError(f"no distance {distance!r}: {', '.join(known)}, or a comparator")
            distance = comparator()
        if distance.inspector is None:
            distance.inspector = self
        events = [event for block in self.event_blocks for event in block.events]
        return gaps_of(
            self.etrecord, events, distance, reference_graph, validated=not disable_debug_handle_valdiation
        )

    def calculate_numeric_gap(
        self,
        distance: str | NumericalComparatorBase,
        disable_debug_handle_valdiation: bool = False,
        reference_graph: str | None = None,
    ) -> Any:
        """The result of `numeric_gaps` as a `pandas.DataFrame`. Raises the same errors, and
        `ExecutorchError(NotSupported)` without pandas.
        """
        found = self.numeric_gaps(distance, disable_debug_handle_valdiation, reference_graph)
        return _data_frame([vars(one) for one in found], "calculate_numeric_gap")


def _data_frame(rows: list[dict[str, Any]], function: str) -> Any:
    try:
        import pandas  # pyright: ignore[reportMissingTypeStubs, reportMissingImports]
    except ModuleNotFoundError as error:
        raise ExecutorchError(
            Error.NotSupported, f"{function} needs the package pandas", hint="pip install pandas"
        ) from error
    made: Any = pandas
    return made.DataFrame(rows)


def _add(event: Event, other: Event) -> None:
    event.perf_data.raw += other.perf_data.raw
    event.start_time += other.start_time
    event.raw_delegate_debug_metadatas += other.raw_delegate_debug_metadatas


def _shortened(ops: Sequence[str]) -> str:
    return f"['{ops[0]}', '{ops[1]}' ... '{ops[-1]}'] ({len(ops)} total)"


def _computed(event: Event) -> str:
    """The operators of an event and the module of the first, in short."""
    ops = list(dict.fromkeys(event.op_types))
    shown = ", ".join(ops[:_FEW]) + (f", … {len(ops) - _FEW} more" if len(ops) > _FEW else "")
    paths = [path for modules in event.module_hierarchy.values() for path, _ in modules.values()]
    path = max(paths, key=len, default="")
    return f"{shown}  {path}".rstrip()


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
        raise access_failed(path, error) from error
