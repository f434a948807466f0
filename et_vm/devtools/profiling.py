"""Profiles of executions: times, traffic and operations by instruction.

Source places come from a debug map or the file's own debug data, nested rows from the events of backends.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import chain, groupby, islice
from statistics import quantiles
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np

from et_ops.library import operator_of_kernel
from et_ops.work import is_transposed, operations
from et_schema.program import Bool
from et_vm.devtools.debug_map import Place
from et_vm.load.instructions import call_inputs, call_outputs
from et_vm.tracer import DelegateEvent, InstructionEvent, RecordingTracer
from et_vm.values import Tensor

if TYPE_CHECKING:
    from et_vm.devtools.machine_peak import MachinePeak
    from et_vm.load.instructions import Instruction
    from et_vm.run.method import Method

__all__ = [
    "Execution",
    "Profile",
    "ProfileRecorder",
    "ProfileRow",
    "Rates",
    "Times",
    "chrome_trace",
    "flamegraph_lines",
    "group_rows",
    "stacks",
]


@dataclass(frozen=True)
class Execution:
    """Events of one execution; times in nanoseconds."""

    start: int
    """Its begin."""
    end: int
    """Its end."""
    instructions: tuple[InstructionEvent, ...]
    """Instructions in the order in which they ran."""
    delegates: tuple[DelegateEvent, ...]
    """Events of backends in the order in which they were reported."""


class ProfileRecorder(RecordingTracer):
    """Recorder of executions, each with events of its own (`runs`), besides loading and allocations."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[Execution] = []

    def on_execute(self, method: str, start: int, end: int) -> None:
        super().on_execute(method, start, end)
        self.runs.append(Execution(start, end, tuple(self.instructions), tuple(self.delegates)))
        self.instructions.clear()
        self.delegates.clear()


@dataclass(frozen=True)
class Times:
    """Distribution of the times of executions, in nanoseconds."""

    min: float
    """The least."""
    median: float
    """The 50th percentile."""
    p90: float
    """The 90th percentile, interpolated."""

    @classmethod
    def of(cls, times: Sequence[float]) -> Times:
        """The distribution of at least one time."""
        if len(times) == 1:
            return cls(times[0], times[0], times[0])
        tenths = quantiles(times, n=10, method="inclusive")
        return cls(min(times), tenths[4], tenths[8])


class Rates(NamedTuple):
    """Rates of an instruction in its shortest time; None where its operations, its bytes or the peak is not known."""

    gflops: float | None
    """10⁹ floating-point operations a second."""
    gbps: float | None
    """10⁹ bytes a second, read and written."""
    roofline: float | None
    """The time that the machine needs at least for these operations and bytes, by the time taken."""


@dataclass(frozen=True)
class ProfileRow:
    """Totals of an instruction, of a backend's event, or of a group of them."""

    label: str
    """The operator, the backend, the name of a backend's event, or that of the group."""
    samples: tuple[float, ...]
    """Nanoseconds in each execution; 0 where it did not run."""
    calls: int = 0
    """Number of calls in all executions."""
    instruction: int = -1
    """Index of the instruction; -1 for groups."""
    module: str = ""
    """Path of the module, such as `encoder.layers.0`; empty where it is not known."""
    line: str = ""
    """`file:line` of the innermost frame; empty where it is not known."""
    bytes_read: int | None = None
    """Bytes that one call reads of tensors; None where it is not known."""
    bytes_written: int | None = None
    """Bytes that one call writes to tensors; None where it is not known."""
    flops: int | None = None
    """Floating-point operations of one call by the operator's formula; None without one."""
    nested: tuple[ProfileRow, ...] = field(default=())
    """Events of the backend that the instruction calls."""

    @property
    def times(self) -> Times:
        """The distribution over the executions."""
        return Times.of(self.samples)

    def rates(self, peak: MachinePeak | None = None) -> Rates:
        """The rates by the shortest time of an execution; all None for instructions that ran several times in one."""
        least = self.times.min
        if not least or self.calls != len(self.samples):
            return Rates(None, None, None)
        read, written = self.bytes_read, self.bytes_written
        nbytes = None if read is None or written is None else read + written
        needed = 0.0 if peak is None else peak.least_ns(self.flops, read, written)
        return Rates(
            None if self.flops is None else self.flops / least,
            None if nbytes is None else nbytes / least,
            needed / least if needed else None,
        )

    def json(self, peak: MachinePeak | None = None) -> dict[str, Any]:
        """The row as JSON; times in nanoseconds."""
        times = self.times
        found: dict[str, Any] = {
            "name": self.label,
            "calls": self.calls,
            "min_ns": times.min,
            "median_ns": times.median,
            "p90_ns": times.p90,
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "flops": self.flops,
        }
        if self.instruction >= 0:
            found |= {"instruction": self.instruction, "module": self.module, "line": self.line}
            found |= self.rates(peak)._asdict()
        if self.nested:
            found["events"] = [
                {**row.json(), **row.rates(peak)._asdict(), "module": row.module, "line": row.line}
                for row in self.nested
            ]
        return found


class Profile:
    """Rows of a method's instructions over executions.

    Shapes are those of the last execution.
    """

    def __init__(
        self, method: Method, runs: Sequence[Execution], places: Mapping[int, Place] | None = None
    ) -> None:
        """Of at least one run of `method`. `places` are by instruction: those of a debug map (`places_of_method`)."""
        if not runs:
            raise ValueError("a profile needs at least one execution")
        self.runs = tuple(runs)
        self.method = method.metadata.name()
        self.total = Times.of([run.end - run.start for run in runs])
        self.inside = Times.of([sum(event.end - event.start for event in run.instructions) for run in runs])
        """The times of all instructions of an execution."""
        places = places or {}
        own = [_sums((event.index, event) for event in run.instructions) for run in runs]
        inner = [
            _sums(((event.index, event.identifier, event.name), event) for event in run.delegates)
            for run in runs
        ]
        # Kept in the order in which a backend first reports them.
        names = dict.fromkeys(chain.from_iterable(inner))
        nested: defaultdict[int, list[ProfileRow]] = defaultdict(list)
        works = {index: _part_works(method, index) for index in {key[0] for key in names}}
        self.parts: dict[tuple[int, int | str, str], ProfileRow] = {}
        """Rows of the events of backends, by instruction, identifier and name."""
        for key in names:
            samples, calls = _over(inner, key)
            place = places.get(key[0], Place()).parts.get(str(key[1]), Place())
            work = works[key[0]].get(key[1:], (None, None, None))
            row = ProfileRow(key[2], samples, calls, -1, place.module, place.line, *work)
            self.parts[key] = row
            nested[key[0]].append(row)
        self.rows: list[ProfileRow] = []
        """A row for each instruction that ran, in the order of the file."""
        for instruction in method.instructions:
            samples, calls = _over(own, instruction.index)
            if calls:
                place = places.get(instruction.index, Place())
                self.rows.append(
                    ProfileRow(
                        instruction.name,
                        samples,
                        calls,
                        instruction.index,
                        place.module,
                        _line(instruction) or place.line,
                        *_traffic(method, instruction),
                        _flops(method, instruction),
                        tuple(nested[instruction.index]),
                    )
                )

    def _repr_html_(self) -> str:
        """A table of the rows for notebooks, those that took the most time first."""
        heads = ("median µs", "share", "GFLOP/s", "GB/s", "instruction", "module")
        rows = sorted(self.rows, key=lambda row: -row.times.median)
        cells = [
            (
                f"{row.times.median / 1e3:.1f}",
                f"{row.times.median / self.total.median if self.total.median else 0:.1%}",
                *("" if rate is None else f"{rate:.2f}" for rate in row.rates()[:2]),
                f"{row.instruction}: {row.label}",
                row.module,
            )
            for row in rows[:_SHOWN]
        ]
        caption = f"{self.method}: median {self.total.median / 1e3:.1f} µs of {len(self.runs)} executions"
        left = len(rows) - len(cells)
        more = f"<tr><td colspan={len(heads)}>and {left:,} more</td></tr>" if left else ""
        return (
            f"<table><caption>{escape(caption)}</caption><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>"
            + "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in cells)
            + f"{more}</table>"
        )


_SHOWN: Final = 40
"""Rows of a table in a notebook."""


def _sums(events: Iterable[tuple[Any, InstructionEvent | DelegateEvent]]) -> dict[Any, tuple[int, int]]:
    """Nanoseconds and number of events by key."""
    found: dict[Any, tuple[int, int]] = {}
    for key, event in events:
        time, calls = found.get(key, (0, 0))
        found[key] = time + event.end - event.start, calls + 1
    return found


def _over(runs: Sequence[Mapping[Any, tuple[int, int]]], key: Any) -> tuple[tuple[float, ...], int]:
    pairs = [run.get(key, (0, 0)) for run in runs]
    return tuple(time for time, _ in pairs), sum(calls for _, calls in pairs)


def _part_works(
    method: Method, index: int
) -> dict[tuple[int | str, str], tuple[int | None, int | None, int | None]]:
    """Bytes read and written and operations of a delegate's parts, of those that one event is of."""
    parts = method.delegate_work(index)
    times = Counter((part.identifier, part.name) for part in parts)
    return {part[:2]: part[2:] for part in parts if times[part[:2]] == 1}


def _line(instruction: Instruction) -> str:
    # The innermost frame is the last one, as in Python's tracebacks.
    return next((f"{frame.filename}:{frame.lineno}" for frame in reversed(instruction.frames)), "")


def _tensors(method: Method, registers: Iterable[int]) -> list[Tensor]:
    """Tensors that registers hold, and those in their lists."""
    found: dict[int, Tensor] = {}
    for register in registers:
        value = method.machine.value(register)
        items = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else [value]
        found |= {id(item): item for item in items if isinstance(item, Tensor)}
    return list(found.values())


def _nbytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel * tensor.dtype.itemsize for tensor in tensors)


def _traffic(method: Method, instruction: Instruction) -> tuple[int | None, int | None]:
    """Bytes that a call of a kernel reads and writes. A delegate does not say which of its arguments are outputs."""
    if instruction.opcode.mnemonic != "call" or instruction.prim is not None:
        return None, None
    plan = method.machine.plan
    inputs = _tensors(method, call_inputs(instruction, plan))
    outputs = _tensors(method, call_outputs(instruction, plan))
    written = _nbytes(outputs)
    base = instruction.name.partition(".")[0]
    if base in _CACHES:
        return _nbytes([inputs[0], *inputs[2:]]), _nbytes(inputs[:1])
    if base in _UPDATES and outputs and np.may_share_memory(inputs[0].array, outputs[0].array):
        return _nbytes(inputs[1:]), _nbytes(inputs[-1:])
    operator = operator_of_kernel(instruction.name)
    if operator is not None and operator.facts.reads_part:
        return min(_nbytes(inputs[:1]), written) + _nbytes(inputs[1:]), written
    return _nbytes(inputs), written


_UPDATES = frozenset(
    f"aten::{name}" for name in ("index_put", "index_put_", "slice_scatter", "select_scatter")
)
"""Operators that write their last tensor into the first one; in place, they touch nothing else of it."""
_CACHES = frozenset({"llama::update_cache", "llama::update_cache_with_indices"})
"""Operators that write their first tensor into the second one."""


def _flops(method: Method, instruction: Instruction) -> int | None:
    """Operations of a call: two for each multiply-add of products and convolutions, one for an element else."""
    if instruction.opcode.mnemonic != "call":
        return None
    plan = method.machine.plan
    outputs = _tensors(method, call_outputs(instruction, plan)[:1])
    if not outputs or outputs[0].dtype.kind != "f":
        return None
    operator = operator_of_kernel(instruction.name)
    if operator is None:
        return None
    registers = dict(zip(operator.schema.by_name, instruction.args, strict=False))

    def sizes(name: str) -> Sequence[int] | None:
        value = method.machine.value(registers[name])
        return value.sizes if isinstance(value, Tensor) else None

    def constant(name: str) -> object:
        value = plan.values[registers[name]].val
        return value.bool_val if isinstance(value, Bool) else None

    transposed = is_transposed(operator, constant)
    return operations(operator, sizes, outputs[0].numel, transposed=transposed)


def group_rows(rows: Iterable[ProfileRow], by: str) -> list[ProfileRow]:
    """Sums by `operator`, `module` or `line`, the largest median first. `(unknown)` has what has no such place.

    Of a delegate's call, the events count where they come from; the rest of it, and events without a place, are of the
    backend, `(XnnpackBackend)` among modules and lines.
    """
    groups: defaultdict[str, list[ProfileRow]] = defaultdict(list)
    for row in rows:
        apart = row.nested if by == "operator" or _is_placed(row) else ()
        for one in (*apart, _remainder(row, apart)):
            key = {"operator": one.label, "module": one.module, "line": one.line}[by]
            groups[key or (f"({row.label})" if apart else "(unknown)")].append(one)
    sums = [
        ProfileRow(
            name,
            tuple(map(sum, zip(*(row.samples for row in found), strict=True))),
            sum(row.calls for row in found),
        )
        for name, found in groups.items()
    ]
    return sorted(sums, key=lambda row: -row.times.median)


def _is_placed(row: ProfileRow) -> bool:
    """Whether it is known where the events of a delegate's call come from."""
    return any(event.module or event.line for event in row.nested)


def _remainder(row: ProfileRow, apart: Sequence[ProfileRow]) -> ProfileRow:
    """A row without the events that are counted elsewhere, and then without their place, which is of one of them."""
    if not apart:
        return row
    inner = map(sum, zip(*(event.samples for event in apart), strict=True))
    samples = tuple(max(0, whole - part) for whole, part in zip(row.samples, inner, strict=True))
    return replace(row, samples=samples, module="", line="", nested=())


def stacks(profile: Profile, root: str) -> dict[tuple[str, ...], int]:
    """Nanoseconds by path, `(root, module, submodule, operator, event)`: the medians.

    Events of a delegate are below the modules that they come from, where these are known. What a delegate spends
    outside of its events stays with the delegate.
    """
    found: defaultdict[tuple[str, ...], int] = defaultdict(int)
    for row in profile.rows:
        placed = _is_placed(row)
        inner = 0
        for event in row.nested:
            time = round(event.times.median)
            inner += time
            found[root, *_modules(event if placed else row), row.label, event.label] += time
        path = (root, *(() if placed else _modules(row)), row.label)
        found[path] += max(0, round(row.times.median) - inner)
    return {path: time for path, time in found.items() if time}


def _modules(row: ProfileRow) -> Iterator[str]:
    return filter(None, row.module.split("."))


def flamegraph_lines(profile: Profile, root: str) -> list[str]:
    """Folded stacks: `root;module;submodule;operator;event nanoseconds`, as `stacks` has them."""
    return [
        f"{';'.join(part.replace(';', ',') for part in path)} {time}"
        for path, time in stacks(profile, root).items()
    ]


def chrome_trace(profile: Profile, method: str, live_bytes: Sequence[int] = ()) -> dict[str, Any]:
    """Trace of the executions in Chrome's event format, which Perfetto reads; times in microseconds.

    An execution encloses its instructions, and these enclose the events of backends. Where modules are known, a second
    track has a span from the first to the last of consecutive instructions of a module, or of events of a delegate
    where their modules are known, and an arrow to each of them. `live_bytes` are arena bytes in use by instruction, a
    counter of the trace.
    """
    origin = profile.runs[0].start
    rows = {row.instruction: row for row in profile.rows}
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": "et-vm"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": method}},
    ]

    def span(name: str, category: str, start: int, end: int, **args: Any) -> dict[str, Any]:
        return {
            **{"ph": "X", "name": name, "cat": category, "pid": 1, "tid": 1},
            **{"ts": (start - origin) / 1e3, "dur": (end - start) / 1e3, "args": args},
        }

    if any(row.module for row in (*profile.rows, *profile.parts.values())):
        events.append({"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "modules"}})
        for run in profile.runs:
            events += _module_flow(run, rows, profile.parts, span)
    for number, run in enumerate(profile.runs):
        events.append(span("Method::execute", "method", run.start, run.end, run=number))
        inner = iter(sorted(run.delegates, key=lambda event: (event.start, -event.end)))
        pending = next(inner, None)
        for event in run.instructions:
            row = rows[event.index]
            place = {"module": row.module, "line": row.line}
            events.append(
                span(event.name, "instruction", event.start, event.end, instruction=event.index, **place)
            )
            while pending is not None and pending.start < event.end:
                part = profile.parts[pending.index, pending.identifier, pending.name]
                known = {"module": part.module, "line": part.line} if part.module or part.line else {}
                args = {"identifier": str(pending.identifier), **known}
                events.append(span(pending.name, "delegate", pending.start, pending.end, **args))
                pending = next(inner, None)
            for nbytes in islice(live_bytes, event.index, event.index + 1):
                counter = {"ph": "C", "name": "live bytes", "pid": 1, "tid": 1}
                events.append({**counter, "ts": (event.start - origin) / 1e3, "args": {"bytes": nbytes}})
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _module_flow(
    run: Execution,
    rows: Mapping[int, ProfileRow],
    parts: Mapping[tuple[int, int | str, str], ProfileRow],
    span: Callable[..., dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Spans of modules on a track of their own, and flow events from each to its instructions and events."""
    found = [
        (event.start, event.end, rows[event.index].module)
        for event in run.instructions
        if not _is_placed(rows[event.index])
    ]
    for event in run.delegates:
        if _is_placed(rows[event.index]):
            module = parts[event.index, event.identifier, event.name].module
            found.append((event.start, event.end, module))
    for module, several in groupby(sorted(found), key=lambda one: one[2]):
        if not module:
            continue
        inside = list(several)
        yield {**span(module, "module", inside[0][0], inside[-1][1]), "tid": 2}
        for start, end, _ in inside:
            # One arrow: what is begun on the track of modules ends at the instruction of the same time.
            arrow = {"name": "module", "cat": "module", "id": start, "pid": 1}
            at = span(module, "module", start, end)["ts"]
            yield {**arrow, "ph": "s", "tid": 2, "ts": at}
            yield {**arrow, "ph": "f", "bp": "e", "tid": 1, "ts": at}
