"""Measured executions of a method: what `et-vm profile` prints, and reports show."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from et_schema.errors import InputError
from et_tools.progress import progress
from et_tools.vm_backends import chosen_backends, chosen_native
from et_tools.vm_files import open_data
from et_tools.vm_inputs import method_inputs, method_name
from et_tools.vm_kernels import chosen_kernels

if TYPE_CHECKING:
    from et_tools.vm_inputs import Input
    from et_vm.devtools.debug_map import Place
    from et_vm.devtools.machine_peak import MachinePeak
    from et_vm.devtools.profiling import Profile, ProfileRecorder, ProfileRow, Times
    from et_vm.program import Program
    from et_vm.tracer import EventTracer

__all__ = ["Measurement", "measure", "measure_as_told", "measured_peak"]


@dataclass(frozen=True)
class Measurement:
    """A profile, and what is known besides."""

    method: str
    profile: Profile
    recorder: ProfileRecorder
    planned: int
    """Bytes of the arenas."""
    resident: int | None
    """The most bytes that the process has had until the end of the executions."""
    kept_state: tuple[str, ...] = ()
    """What keeps requests of the method from executing at once."""
    untraced: Times | None = None
    """Times of executions without tracing, which took turns with the traced ones, if they were asked for."""

    def json(
        self, file: str, peak: MachinePeak | None, groups: Sequence[ProfileRow] | None = None
    ) -> dict[str, Any]:
        """All of it as JSON, with rows of instructions or of groups of them."""
        total = self.profile.total
        return {
            "file": file,
            "method": self.method,
            "repeat": len(self.profile.runs),
            "total_ns": {"min": total.min, "median": total.median, "p90": total.p90},
            "instructions_ns": asdict(self.profile.inside),
            "untraced_ns": None if self.untraced is None else asdict(self.untraced),
            "load_ns": {phase: end - start for phase, start, end in self.recorder.loads},
            "memory": dict(self.recorder.allocations),
            "planned_bytes": self.planned,
            "peak_resident_bytes": self.resident,
            "peak": None if peak is None else peak.json(),
            "kept_state": list(self.kept_state),
            "rows": [row.json(peak) for row in groups or self.profile.rows],
        }


def measure(
    program: Program,
    method: str,
    inputs: Sequence[Input],
    *,
    repeat: int,
    warmup: int = 1,
    places: Mapping[int, Place] | None = None,
    tracer: EventTracer | None = None,
    overhead: bool = False,
    **loading: Any,
) -> Measurement:
    """Execute a method `warmup + repeat` times, each from the same inputs. `places` are by instruction; `tracer`
    is told of all events too; with `overhead`, each execution is followed by one of the method without tracing;
    `loading` is for `Program.load_method`.

    Raises what loading and executing raise; an error of an input names its source.
    """
    import time

    from et_vm.devtools.profiling import Profile, ProfileRecorder, Times
    from et_vm.devtools.resident_memory import peak_resident_bytes
    from et_vm.tracer import TracerGroup

    recorder = ProfileRecorder()
    events = recorder if tracer is None else TracerGroup(recorder, tracer)
    loaded = program.load_method(method, tracer=events, **loading)
    plain = program.load_method(method, **loading) if overhead else None
    untraced: list[float] = []
    for _ in progress(range(warmup + repeat), "executions"):
        try:
            loaded.execute(_fresh(inputs, loaded.written_inputs))
            if plain is not None:
                values = _fresh(inputs, plain.written_inputs)
                started = time.perf_counter_ns()
                plain.execute(values)
                untraced.append(time.perf_counter_ns() - started)
        except InputError as error:
            label, _, index = (error.where or "").partition(" ")
            if label == "input" and index.isdecimal():
                error.where = f"{error.where} ({inputs[int(index)].source})"
            raise
    planned = sum(program.method_meta(method).memory_planned_buffer_sizes().values())
    profile = Profile(loaded, recorder.runs[warmup:], places)
    # Here, before the peak of the machine is measured: that takes more memory than many programs.
    times = Times.of(untraced[warmup:]) if overhead else None
    return Measurement(
        method, profile, recorder, planned, peak_resident_bytes(), loaded.kept_state, untraced=times
    )


def measure_as_told(
    args: argparse.Namespace, program: Program, *, repeat: int, debug_map: str | None, **others: Any
) -> Measurement:
    """Measure a method with the inputs, kernels, backends, data and leave for machine code of a command line; `others`
    is for `measure`.

    Raises UsageError for inputs and files that cannot be had, and what loading and executing raise.
    """
    from et_vm.devtools.debug_map import places_of_method

    method = method_name(program, args.method)
    return measure(
        program,
        method,
        method_inputs(program.method_meta(method), args.input or ["random:0"]),
        repeat=repeat,
        places=None if debug_map is None else places_of_method(debug_map, method),
        kernels=chosen_kernels(args, args.kernels),
        backends=chosen_backends(args),
        native=chosen_native(args),
        external=open_data(args),
        **others,
    )


def measured_peak(args: argparse.Namespace, *, again: bool = False) -> MachinePeak:
    """The peak on as many threads as the kernels may take: those of machine code, or those of numpy's BLAS. It is
    measured `again`, or once for each processor.
    """
    from et_vm.devtools.machine_peak import machine_peak

    return machine_peak(chosen_native(args).threads if args.native else _usual_threads(), again=again)


def _fresh(inputs: Sequence[Input], written: Collection[int]) -> list[Any]:
    """The inputs, copies of those that the method writes to."""
    return [given.value.copy() if at in written else given.value for at, given in enumerate(inputs)]


def _usual_threads() -> int:
    """The threads that numpy's BLAS takes: those of its environment variables, else a thread a processor."""
    import os

    from et_vm.platform import processors

    given = next(filter(None, map(os.environ.get, ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"))), "")
    return min(int(given), processors()) if given.isdecimal() and int(given) else processors()
