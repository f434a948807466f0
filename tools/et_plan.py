"""et-plan: assign offsets in an arena to buffers, and prove how small it can be.

examples:
  et-plan net.pte                                       smallest arena of a program; layout on standard output
  et-plan net.pte --method decode --arena 2             another arena
  et-plan instance.csv                                  the same of buffers in a table
  et-plan instance.csv --capacity 1048576 -o layout.csv exit code 6 if it does not fit, and why
  et-plan instance.csv --algorithm greedy -o /dev/null  result of another algorithm
  et-plan instance.csv --planner my_planner.py:plan     custom planner, with its result checked
  et-plan instance.csv --budget 1000000 --seconds 60    search for longer
  et-plan instance.csv --svg plan.svg -o /dev/null      drawing of the layout
  et-compile net.py --dump-buffers net.csv -o net.pte && et-plan net.csv    the buffers of a model

The input is a compiled program, or a table in MiniMalloc's CSV format: columns id, lower, upper (exclusive)
and size, optionally alignment and gaps (intervals without use, such as 3-5 8-9). The layout adds the column
offset.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from et_schema.file_kinds import kind_of
from et_schema.program import FILE_IDENTIFIER
from et_schema.whole_numbers import shortened
from et_schema.wording import count
from et_tools.arguments import CommandParser, also_called, natural_number
from et_tools.exit_codes import ExitCode, UsageError, guarded
from et_tools.info.instances import plan_facts
from et_tools.output import check_output, is_same_file, write_file

if TYPE_CHECKING:
    from et_ir.passes.memory.plan_memory.instances import PlannedArena
    from et_ir.planning import Plan
    from et_ir.planning.instances import Instance

__all__ = ["main"]

SHOWN = 12
_DRAWINGS: Final = {".html", ".pdf", ".png", ".svg"}
"""Suffixes of files that are no tables."""


def _byte_count(text: str) -> int:
    """A number of bytes from the command line: `4096`, `256K`, `1MiB`; the units are powers of 1024."""
    from et_ir.planning.banks import BankError, parse_size

    try:
        return parse_size(text)
    except BankError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise argparse.ArgumentTypeError(f"{shortened(text)!r} is not a number of seconds")
    return seconds


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = CommandParser("et-plan", "et-plan [options] FILE", __doc__ or "")
    add = parser.add_argument
    add("file", metavar="FILE", help="CSV file of buffers, or a .pte; '-' is standard input")
    add("--method", metavar="NAME", help="method of a .pte (default: all that have arenas)")
    add("--arena", type=natural_number, metavar="ID", help="arena of a .pte (default: all)")
    capacity = add(
        "--capacity",
        type=_byte_count,
        metavar="BYTES",
        help="largest arena allowed, such as 4096, 256K or 1M",
    )
    also_called(capacity, "limit", "memory", "size", "max")
    add(
        "-o",
        "--output",
        default="-",
        metavar="FILE",
        help="output file of the layout; '-' is standard output",
    )
    add(
        "--algorithm",
        metavar="NAME",
        help="best, exact (default), greedy, naive, upstream, or an installed one",
    )
    add("--planner", metavar="MODULE:FUNCTION", help="custom planner instead, also as FILE.py:FUNCTION")
    add(
        "--budget",
        type=natural_number,
        metavar="NODES",
        help="limit on the partial layouts examined (default: 400000)",
    )
    add("--seconds", type=_seconds, metavar="S", help="time limit of the search; the best plan found is kept")
    add("--svg", metavar="FILE", help="also draw the layout")
    add("--json", action="store_true", help="the layout and its figures as JSON instead of CSV")
    parser.add_version()
    args = parser.parse_args(arguments)
    if args.algorithm is not None and args.planner is not None:
        parser.error("--algorithm and --planner exclude each other")
    return args


def _read(args: argparse.Namespace) -> tuple[Instance, str]:
    """The instance of a table or of an arena, and a remark on the arena's size now."""
    from et_ir.planning.instances import InvalidInstance, read_instance

    data = sys.stdin.buffer.read() if args.file == "-" else Path(args.file).read_bytes()
    if data[4:8] == FILE_IDENTIFIER:
        arena = _chosen(_arenas(data), args)
        return arena.instance, f"; {arena.method}, arena {arena.number}, has {arena.layout.size}"
    kind = kind_of(memoryview(data))
    if kind is not None and kind.is_source:
        raise InvalidInstance(
            f"{kind.name}, neither a compiled program (.pte) nor buffers in CSV; {kind.hint}"
        )
    if args.method is not None or args.arena is not None:
        raise UsageError("--method and --arena apply to a .pte only")
    try:
        return read_instance(data.decode()), ""
    except UnicodeDecodeError as error:
        raise InvalidInstance(
            f"byte {error.start}: not a text in UTF-8; expected a table of buffers, by et-compile --dump-buffers, "
            "or a .pte"
        ) from None


def _arenas(data: bytes) -> list[PlannedArena]:
    """The arenas of a compiled program that hold something. Raises `InvalidInstance` for a damaged one."""
    from et_ir.emit import disassemble
    from et_ir.passes.memory.plan_memory import PlanMemoryPass
    from et_ir.passes.memory.plan_memory.instances import planned_arenas
    from et_ir.planning.instances import InvalidInstance
    from et_schema.errors import InvalidFile
    from et_schema.pte import read_pte

    try:
        return planned_arenas(disassemble(read_pte(data)), PlanMemoryPass.alignment)
    except InvalidFile as error:
        raise InvalidInstance(str(error)) from error


def _chosen(arenas: list[PlannedArena], args: argparse.Namespace) -> PlannedArena:
    """The arena that the options say, or the only one. Raises `UsageError` if there is not one."""
    there = ", ".join(f"{arena.method} {arena.number}" for arena in arenas) or "none"
    found = [
        arena
        for arena in arenas
        if args.method in (None, arena.method) and args.arena in (None, arena.number)
    ]
    if not arenas:
        raise UsageError(f"{args.file} has no planned memory")
    if not found:
        raise UsageError(f"{args.file}: no such arena; methods and arenas are: {there}")
    if len(found) > 1:
        raise UsageError(
            f"{args.file} has several arenas: choose one with --method and --arena; there are: {there}"
        )
    return found[0]


def _plan(instance: Instance, args: argparse.Namespace) -> Plan:
    from et_ir.planning import plan_exact
    from et_ir.planning.exact import BUDGET
    from et_ir.planning.planners import run_planner

    name = args.planner or args.algorithm or "exact"
    if name != "exact":
        return run_planner(name, instance.buffers, args.budget)
    budget = BUDGET if args.budget is None else args.budget
    plan = plan_exact(instance.buffers, budget=budget, seconds=args.seconds)
    if args.capacity is not None and plan.bound <= args.capacity < plan.size:
        again = plan_exact(instance.buffers, budget=budget, seconds=args.seconds, goal=args.capacity)
        plan = min(plan, again, key=lambda one: (one.size, -one.bound))
    return plan


def _say(message: str) -> None:
    print(f"et-plan: {message}", file=sys.stderr)


def _too_large(instance: Instance, plan: Plan, args: argparse.Namespace) -> ExitCode:
    """Report why the capacity is too small."""
    from et_ir.planning.exact import BUDGET
    from et_ir.planning.infeasible import conflict_of

    budget = BUDGET if args.budget is None else args.budget
    conflict = conflict_of(instance.buffers, args.capacity, budget=budget)
    if conflict is None:
        _say(f"error: no layout in {args.capacity} bytes was found, and none was proven impossible")
    else:
        _say(f"error: no layout fits in {args.capacity} bytes")
        each = " (minimal set)" if conflict.irreducible else ""
        total = sum(instance.buffers[index].size for index in conflict.members)
        _say(f"{len(conflict.members)} buffers of {total} bytes cannot be placed together{each}:")
        for index in sorted(conflict.members, key=lambda i: (-instance.buffers[i].size, i))[:SHOWN]:
            buffer = instance.buffers[index]
            _say(
                f"  {instance.names[index]}: {buffer.size} bytes from {buffer.first} to before {buffer.last + 1}"
            )
        if len(conflict.members) > SHOWN:
            _say(f"  and {len(conflict.members) - SHOWN} more")
    if plan.optimal:
        _say(f"the smallest sufficient capacity is {plan.size} bytes")
    else:
        _say(
            f"{plan.size} bytes are enough and fewer than {plan.bound} are not; between these, it is not known"
        )
    return ExitCode.INFEASIBLE_MEMORY


def run(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    from et_ir.planning import layout_problems
    from et_ir.planning.instances import InvalidInstance, write_layout
    from et_ir.planning.planners import PlannerError

    args = _arguments(arguments)
    check_output(args.output)
    if (suffix := Path(args.output).suffix.lower()) in _DRAWINGS:
        drawing = Path(args.output).with_suffix(".svg")
        raise UsageError(
            f"-o writes a table, not {suffix}; for a drawing: --svg {shlex.quote(str(drawing))} -o {os.devnull}"
        )
    if args.svg is not None:
        check_output(args.svg)
        if args.svg == "-" or is_same_file(args.svg, args.file):
            raise UsageError("--svg needs the name of another file")
    if is_same_file(args.output, args.file):
        raise UsageError(f"-o {args.output} would overwrite the input")
    try:
        instance, now = _read(args)
    except InvalidInstance as error:
        _say(f"error: {args.file}: {error}")
        return ExitCode.INVALID_INPUT
    try:
        plan = _plan(instance, args)
    except PlannerError as error:
        raise UsageError(str(error)) from error
    problems = layout_problems(instance.buffers, plan.layout)
    if problems:
        _say("error: invalid layout: " + "; ".join(problems[:SHOWN]))
        return ExitCode.CHECK_FAILED
    if args.capacity is not None and plan.size > args.capacity:
        return _too_large(instance, plan, args)
    certain = "no arena is smaller" if plan.optimal else f"none is smaller than {plan.bound} (+{plan.gap})"
    _say(f"{plan.size} bytes for {count(len(instance.buffers), 'buffer')}; {certain}{now}")
    if args.svg is not None:
        from et_tools.info.plan_svg import svg

        write_file(args.svg, svg([plan_facts(instance, plan, Path(args.file).stem)]))
    if args.json:
        text = json.dumps(plan_facts(instance, plan, Path(args.file).stem), indent=2) + "\n"
    else:
        text = write_layout(instance, plan.layout)
    write_file(args.output, text)
    return ExitCode.OK


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `et-plan`."""
    return guarded(run, sys.argv[1:] if arguments is None else arguments, "et-plan")


if __name__ == "__main__":
    sys.exit(main())
