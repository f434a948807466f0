"""`et-vm profile`: times of the instructions of a method."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from et_schema.wording import count
from et_tools.exit_codes import UsageError
from et_tools.measurement import measure_as_told, measured_peak
from et_tools.output import check_output, write_file
from et_tools.streams import fit, line_width
from et_tools.vm_files import chosen_platform, open_program, show_bytes

if TYPE_CHECKING:
    from et_tools.measurement import Measurement
    from et_vm.devtools.etdump import ETDumpTracer
    from et_vm.devtools.inspector import Inspector
    from et_vm.devtools.machine_peak import MachinePeak
    from et_vm.devtools.profiling import Profile, ProfileRow, Times
    from et_vm.program import Program

__all__ = ["profile_file"]

HEADER = ("min µs", "median", "p90", "share", "read", "written", "GFLOP/s", "GB/s", "of peak", "name")
MOST_VALUES = 1 << 28
"""Bytes of values that --debug-buffer can hold."""
GROUP_HEADER = ("min µs", "median", "p90", "share", "calls", "name")


def profile_file(args: argparse.Namespace) -> None:
    """Execute, print the table, and write the trace and the folded stacks.

    Raises UsageError for inputs and files that cannot be had, and what loading and executing raise.
    """
    if args.etdump:
        _print_etdump(args)
        return
    for option, is_given in (("--etrecord", args.etrecord), ("--gap", args.gap)):
        if is_given:
            raise UsageError(f"{option} applies to --etdump only")
    if args.debug_buffer is not None and args.write_etdump is None:
        raise UsageError("--debug-buffer applies to --write-etdump or --etdump")
    from et_vm.devtools.flamegraph import flamegraph_svg
    from et_vm.devtools.profiling import chrome_trace, flamegraph_lines, group_rows

    for path in filter(None, (args.trace, args.flamegraph, args.write_etdump, args.debug_buffer)):
        check_output(path, [args.file, args.debug_map, *(args.input or ()), *(args.data or ())])
    program = open_program(args.file, chosen_platform(args))
    etdump = _etdump_tracer(args, program)
    measured = measure_as_told(
        args,
        program,
        repeat=args.repeat,
        debug_map=args.debug_map,
        warmup=args.warmup,
        tracer=etdump,
        overhead=args.overhead,
    )
    name, profile = measured.method, measured.profile
    peak = None if args.no_peak or args.by is not None else measured_peak(args, again=args.remeasure)
    if args.trace is not None:
        usage = [sum(banks.values()) for banks in program.liveness(name).usage()]
        write_file(args.trace, json.dumps(chrome_trace(profile, name, usage)))
    if args.flamegraph is not None:
        if args.flamegraph.endswith(".svg"):
            write_file(args.flamegraph, flamegraph_svg(profile, name))
        else:
            write_file(args.flamegraph, "".join(f"{line}\n" for line in flamegraph_lines(profile, name)))
    if etdump is not None:
        etdump.write(args.write_etdump, args.debug_buffer or "")
    groups = None if args.by is None else group_rows(profile.rows, args.by)
    if args.json:
        print(json.dumps(measured.json(args.file, peak, groups), indent=2, allow_nan=False))
        return
    width = line_width(sys.stdout, wide=args.wide)
    table = _table(profile, peak) if groups is None else _group_table(groups, profile)
    lines = [f"{name}: {count(args.repeat, 'execution')}, {args.kernels} kernels"]
    lines += [*_heading(measured, peak), *_aligned(table)]
    print("\n".join(fit(line, width) for line in lines))


def _etdump_tracer(args: argparse.Namespace, program: Program) -> ETDumpTracer | None:
    from et_vm.devtools.etdump import ETDumpTracer

    if args.write_etdump is None:
        return None
    return ETDumpTracer(program, MOST_VALUES if args.debug_buffer is not None else 0)


def _print_etdump(args: argparse.Namespace) -> None:
    from et_vm.devtools.inspector import Inspector

    for option, is_given in (
        ("--trace", args.trace), ("--flamegraph", args.flamegraph), ("--write-etdump", args.write_etdump),
        ("--by", args.by), ("--input", args.input), ("--json", args.json),
    ):  # fmt: skip
        if is_given:
            raise UsageError(f"{option} does not apply to --etdump")
    if args.gap is not None and (args.etrecord is None or args.debug_buffer is None):
        raise UsageError("--gap needs --etrecord and --debug-buffer")
    try:
        inspector = Inspector(args.file, etrecord=args.etrecord, debug_buffer_path=args.debug_buffer)
        if args.gap is None:
            inspector.print_data_tabular(sys.stdout)
        else:
            _print_gaps(inspector, args)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _print_gaps(inspector: Inspector, args: argparse.Namespace) -> None:
    """A line for each value that the graph has too, in the order of the graph."""
    table: list[tuple[str, ...]] = [(args.gap, "events", "nodes")]
    for gap in inspector.numeric_gaps(args.gap):
        distances = " ".join(f"{one:.3g}" for one in gap.gap)
        table.append((distances, ", ".join(gap.runtime_ops), ", ".join(gap.aot_ops)))
    width = line_width(sys.stdout, wide=args.wide)
    print("\n".join(fit(line, width) for line in _aligned(table)))


def _times(row: ProfileRow, profile: Profile) -> tuple[str, ...]:
    times = row.times
    share = times.median / profile.total.median if profile.total.median else 0.0
    return (*(f"{time / 1e3:.1f}" for time in (times.min, times.median, times.p90)), f"{share:.1%}")


def _table(profile: Profile, peak: MachinePeak | None) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [HEADER]
    for row in profile.rows:
        place = "  ".join(filter(None, (f"{row.instruction}: {row.label}", row.module, row.line)))
        rows.append((*_times(row, profile), *_rates(row, peak), place))
        for event in row.nested:
            name = f"    {event.label}{_calls(event, row)}"
            place = "  ".join(filter(None, (name, event.module, event.line)))
            rows.append((*_times(event, profile), *_rates(event, peak), place))
    return rows


def _calls(event: ProfileRow, row: ProfileRow) -> str:
    each = event.calls / row.calls
    return "" if each == 1 else f" ×{each:g}"


def _rates(row: ProfileRow, peak: MachinePeak | None) -> tuple[str, ...]:
    """Bytes of a call, and what it does a second by the shortest time of an execution in which it ran once."""
    sizes = ["" if nbytes is None else show_bytes(nbytes) for nbytes in (row.bytes_read, row.bytes_written)]
    rates = row.rates(peak)
    shown = ["" if rate is None else f"{rate:.2f}" for rate in (rates.gflops, rates.gbps)]
    return *sizes, *shown, "" if rates.roofline is None else f"{rates.roofline:.1%}"


def _group_table(groups: Sequence[ProfileRow], profile: Profile) -> list[tuple[str, ...]]:
    return [
        GROUP_HEADER,
        *((*_times(row, profile), str(row.calls // len(row.samples)), row.label) for row in groups),
    ]


def _aligned(table: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns to the right, but for the last."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join((*(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False)), row[-1]))
        for row in table
    ]


def _overhead(untraced: Times, profile: Profile) -> str:
    """The cost of tracing, and how near the times of instructions come to an execution and that."""
    total, plain = profile.total.median, untraced.median
    calls = sum(row.calls for row in profile.rows) / len(profile.runs)
    each = (total - plain) / max(calls, 1)
    inside = profile.inside.median
    return (
        f"untraced   median {plain / 1e3:.1f} µs; tracing adds {(total - plain) / 1e3:.1f} µs, "
        f"{each / 1e3:.2f} an instruction; instructions take {inside / 1e3:.1f} µs, {inside / plain - 1:+.1%}"
    )


def _heading(measured: Measurement, peak: MachinePeak | None) -> list[str]:
    profile, recorder = measured.profile, measured.recorder
    total = profile.total
    phases = ", ".join(f"{phase} {(end - start) / 1e6:.2f}" for phase, start, end in recorder.loads)
    sizes = [f"{label} {show_bytes(nbytes)}" for label, nbytes in recorder.allocations if nbytes]
    if measured.resident is not None:
        sizes.append(f"peak of the process {show_bytes(measured.resident)}")
    lines = [
        f"execution  min {total.min / 1e3:.1f} µs  median {total.median / 1e3:.1f} µs  p90 {total.p90 / 1e3:.1f} µs"
        f"  ({profile.inside.median / total.median if total.median else 0:.1%} in instructions)",
        *([] if measured.untraced is None else [_overhead(measured.untraced, profile)]),
        f"load ms    {phases}",
        f"memory     {', '.join(sizes) or 'none'}",
        *(
            [f"requests   one at a time because of {' and '.join(measured.kept_state)}"]
            if measured.kept_state
            else []
        ),
    ]
    if peak is not None:
        caches, memory = peak.bandwidths[0][1] / 1e9, peak.bandwidths[-1][1] / 1e9
        bandwidth = f"{caches:.1f} GB/s in caches, {memory:.1f} in memory"
        threads = count(peak.threads, "thread")
        lines.append(f"peak       {peak.flops / 1e9:.1f} GFLOP/s ({peak.how}), {bandwidth}, {threads}")
    return lines
