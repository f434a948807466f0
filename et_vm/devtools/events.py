"""Execution events returned by an `Inspector`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

__all__ = ["Event", "EventBlock", "PerfData", "TimeScale"]


class TimeScale(Enum):
    """Units of time; cycles are not converted."""

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


@dataclass
class PerfData:
    """Times of an event, one per occurrence."""

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
        """The minimum."""
        return float(np.min(self.raw))

    @property
    def max(self) -> float:
        """The maximum."""
        return float(np.max(self.raw))


@dataclass
class Event:
    """An event of an instruction, a part of a delegate, or the runtime, merged over identical executions."""

    name: str
    """The name given by the runtime, or the identifier within the delegate."""
    perf_data: PerfData
    """Times in the unit of the `Inspector`."""
    instruction_id: int = -1
    """Number of the instruction in its chain."""
    chain_index: int = -1
    """Number of the chain; -1 for events that belong to no instruction."""
    delegate_debug_identifier: int | str | None = None
    """The backend's identifier."""
    delegate_debug_metadata: bytes = b""
    """The backend's metadata in the first execution."""
    raw_delegate_debug_metadatas: list[bytes] = field(default_factory=list[bytes])
    """The backend's metadata in each execution."""
    delegate_metadata_parser: Callable[[list[bytes]], Any] | None = None
    """The parser from these to `delegate_debug_metadatas`."""
    op_types: list[str] = field(default_factory=list[str])
    """With an ETRecord, the operators of the graph nodes that it computes."""
    debug_handles: int | list[int] | None = None
    """The debug handles of these nodes."""
    num_outputs: int = 1
    """For a delegate call, the number of results."""
    stack_traces: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """The Python stacks of the nodes by their names."""
    module_hierarchy: dict[str, Mapping[str, tuple[str, str]]] = field(
        default_factory=dict[str, Mapping[str, tuple[str, str]]]
    )
    """The modules around the nodes by their names: path and type of each by key, outermost first."""
    value_order: tuple[int, ...] | None = None
    """With an ETRecord of this compiler, the dimensions of the node's value in the order of `debug_data`, outermost
    first, () if the event has computed no node's; None where it is the node's.
    """
    delegate_backend_name: str | None = None
    """The backend in which it took place, or which it calls."""
    debug_data: list[Any] = field(default_factory=list[Any])
    """Values of the first execution: arrays, lists of them, and numbers."""
    start_time: list[int] = field(default_factory=list[int])
    """The start time in each execution, in the unit of the file."""

    @property
    def is_delegated_op(self) -> bool:
        """Whether it took place in a delegate."""
        return self.delegate_debug_identifier is not None

    @property
    def delegate_debug_metadatas(self) -> Any:
        """The backend's metadata in each execution, decoded by the parser of the `Inspector`."""
        parser = self.delegate_metadata_parser
        if parser is None or not self.is_delegated_op:
            return self.raw_delegate_debug_metadatas
        return parser(self.raw_delegate_debug_metadatas)


@dataclass
class EventBlock:
    """The events of identical executions, or of loading."""

    name: str
    """`Default` for loading, `Execute` for executions."""
    events: list[Event]
    """In the order of the first execution."""
    run_output: list[Any] = field(default_factory=list[Any])
    """Outputs of the first execution, if the file has them."""
    bundled_input_index: int | None = None
    """The number of the test case that was executed."""
    reference_output: list[Any] | None = None
    """The outputs that the ETRecord expects of the test case."""
    source_time_scale: TimeScale = TimeScale.NS
    """The unit of the file."""
    target_time_scale: TimeScale = TimeScale.MS
    """The unit of the times."""
