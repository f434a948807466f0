"""et-compile: compile a PyTorch program to a .pte file, or stop at a level and print it.

examples:
  et-compile examples/models/resnet18.py:resnet18 -o resnet18.pte
  et-compile package.module:factory -o model.pte          a factory on the Python path
  et-compile model.pt2 --emit edge                        stop at a level, text on stdout
  et-compile edge.mlir -o model.pte                       go on from a text, whatever level it is at
  et-compile model.py:net -o net.pte --target et-vm       kernels that only et-vm has are allowed
  et-compile model.py:net -o net.pte --target et-vm --load mykernels.py      and kernels of your own
  et-compile model.py:net -o net.pte --table              which ops there are at each level
  et-compile model.py:net -o net.pte --debug-map net.json the module and source line of each instruction

A factory returns (module, example_args[, dynamic_shapes]) or a dict of method names to that; a number,
string or tensor in a dict is a method that returns it.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from et_ir.targets.manifest import TARGETS
from et_tools.arguments import ALIGNMENTS, CommandParser
from et_tools.exit_codes import UsageError, guarded
from et_tools.op_table import count_ops, print_op_table
from et_tools.output import check_output, write_stdout

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

__all__ = ["main"]

LEVELS = ("aten", "core-aten", "edge", "backend", "executorch", "pte")


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = CommandParser("et-compile", "et-compile MODEL -o FILE [options]", __doc__ or "")
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        help="file.py:factory, package.module:factory, a .pt2, or a .mlir at any level",
    )
    add("-o", "--output", metavar="FILE", help="output ('-': standard output, where text goes without it)")
    add("--emit", choices=LEVELS, default="pte", help="the level to stop at (default: pte)")
    add("--target", default="stock-1.4", choices=TARGETS, help="whose kernels to use")
    add(
        "--load",
        action="append",
        default=[],
        metavar="FILE",
        help="Python file or module with operators of your own, or kernels for et-vm (@et_vm.kernel); repeatable",
    )
    add(
        "--extra-operators",
        action="append",
        default=[],
        metavar="NAMES",
        help="operators that your runtime has kernels for beside the target's: 'mylib::foo.out,mylib::bar.out'",
    )
    add(
        "--preserve",
        action="append",
        default=[],
        metavar="OP",
        help="keep whole an operator that is not Core ATen, or one of your own without an out variant ('mylib::foo')",
    )
    add(
        "--dequantize-weights",
        action="store_true",
        help="make floats of quantised weights: a larger file, nothing to restore while it runs",
    )
    add("--backend", action="append", default=[], metavar="NAME[:key=value]", help="delegate to a backend")
    add(
        "--memory-planning",
        default="best",
        metavar="NAME",
        help="planning algorithm: best (default), exact, greedy, naive, upstream, or one installed",
    )
    add(
        "--planner",
        dest="memory_planning",
        metavar="MODULE:FUNCTION",
        help="plan memory by a function of your own, or FILE.py:FUNCTION",
    )
    add("--check-plan", action="store_true", help="have memory planning checked by code of its own")
    add("--no-plan-inputs", action="store_true", help="inputs are the caller's memory")
    add("--no-plan-outputs", action="store_true", help="outputs are the caller's memory")
    add(
        "--external-constants",
        action="append",
        default=[],
        metavar="[NAMES=]FILE",
        help="put constants into a data file beside the program (.ptd); NAMES is a pattern: 'encoder.*=encoder.ptd'",
    )
    add(
        "--default-bound",
        action="append",
        default=[],
        metavar="NAME=N",
        help="the largest value of a size that export has no bound of: 's77=4096', or input and dimension, 'x.0=64'",
    )
    add(
        "--unbounded",
        default="error",
        choices=("error", "runtime"),
        help="what tensors without a largest size are: errors, or et-vm finds memory for them while it runs",
    )
    add("--emit-stacktrace", action="store_true", help="keep source lines in the file for run-time errors")
    parser.add_alignments()
    add("--debug-map", metavar="FILE", help="write where each instruction comes from, as JSON")
    add("-g", "--print-debuginfo", action="store_true", help="print locations in text")
    add("--weights", metavar="FILE", help="weight store of a .mlir; default its .safetensors")
    add("--table", action="store_true", help="print the ops of each level at the end, on stderr")
    add("-q", "--quiet", action="store_true", help="no progress lines")
    parser.add_version()
    return parser.parse_args(arguments)


class _Stages:
    """Prints a line per stage on stderr: its name, its time, and how many ops the level has."""

    def __init__(self, quiet: bool):
        self.quiet = quiet
        self.last = time.perf_counter()
        self.levels: dict[str, Counter[str]] = {}

    def done(self, stage: str, note: str = "") -> None:
        now = time.perf_counter()
        if not self.quiet:
            print(f"{stage:<12} {(now - self.last) * 1e3:9.1f} ms  {note}".rstrip(), file=sys.stderr)
        self.last = time.perf_counter()

    def reached(self, level: str, module: ModuleOp) -> None:
        self.levels[level] = count_ops(module)
        total = self.levels[level].total()
        self.done(level, f"{total} op" + ("" if total == 1 else "s"))


def _level_of(module: ModuleOp) -> str:
    """The level of a parsed text, by the dialects of its ops."""
    dialects = {op.name.partition(".")[0] for op in module.walk()}
    if "executorch" in dialects:
        return "executorch"
    if "backend" in dialects:
        return "backend"
    return "edge" if "edge" in dialects else "aten"


def _compile(args: argparse.Namespace) -> None:
    from et_ir.faults import with_later_faults
    from et_ir.frontend.unsupported import UnsupportedProgram
    from et_ir.passes.pipelines import (
        ATEN,
        BACKEND,
        EDGE,
        core_aten_pipeline,
        executorch_pipeline,
        link_check,
        parse_passes,
        split_preserved,
    )
    from et_ir.planning.planners import PlannerError, find_planner

    preserved, custom = split_preserved(args.preserve)
    try:
        core_aten = core_aten_pipeline(preserved, dequantize=args.dequantize_weights)
    except ValueError as error:
        raise UsageError(f"--preserve: {error}") from None
    try:
        find_planner(args.memory_planning)
    except PlannerError as error:
        raise UsageError(f"--memory-planning: {error}") from None
    extra = _extra_operators(args)
    stages = _Stages(args.quiet)
    lower = executorch_pipeline(
        target=args.target,
        algorithm=args.memory_planning,
        check_plan=args.check_plan,
        plan_inputs=not args.no_plan_inputs,
        plan_outputs=not args.no_plan_outputs,
        extra_operators=extra,
        unbounded=args.unbounded,
    )
    externalize = [_externalize_pass(wanted) for wanted in args.external_constants]
    lower = ",".join((lower, *externalize))
    pipelines: dict[str, str] = dict(zip(LEVELS, (ATEN, core_aten, EDGE, BACKEND, lower), strict=False))
    try:
        module = _load(args, stages, custom)
    except UnsupportedProgram as error:
        passes = parse_passes(",".join(pipelines[level] for level in _up_to(args.emit)))
        raise with_later_faults(error, error.module, passes) from error
    reached = _level_of(module)
    if LEVELS.index(args.emit) < LEVELS.index(reached):
        raise UsageError(f"{args.model} is at level {reached} already, past {args.emit}")
    # A text that is at a level has reached it: what it was read as is checked, not lowered again.
    if reached == "edge":
        pipelines[reached] = "verify-edge"
    elif reached == "executorch":
        pipelines[reached] = ",".join((link_check(args.target, extra), "verify-executorch", *externalize))
    for level in LEVELS[LEVELS.index(reached) : -1]:
        _run(module, [pipelines[later] for later in _up_to(args.emit, level)])
        stages.reached(level, module)
        if level == args.emit:
            _write_text(module, args)
            break
    else:
        _write_pte(module, args, stages)
    if args.debug_map is not None:
        _write_debug_map(module, args.debug_map)
    if args.table:
        print_op_table(stages.levels, sys.stderr)


def _externalize_pass(wanted: str) -> str:
    """The pass that `--external-constants` asks for. Raises `UsageError`."""
    match, equals, file = wanted.rpartition("=")
    if not file or "/" in file or '"' in wanted or (equals and not match):
        raise UsageError(
            f"--external-constants {wanted}: expected FILE or NAMES=FILE, a file name without folder"
        )
    return f'externalize-constants{{file="{file}" match="{match or "*"}"}}'


def _up_to(last: str, first: str = "aten") -> list[str]:
    """The levels that passes take a program to, from one to another."""
    return [level for level in LEVELS[LEVELS.index(first) : LEVELS.index(last) + 1] if level != "pte"]


def _run(module: ModuleOp, pipelines: list[str]) -> None:
    """Run the first pipeline. Where it finds faults, those that the others would find are in the same report."""
    from et_ir.faults import with_later_faults
    from et_ir.passes.pipelines import parse_passes, run_pipeline
    from et_ir.passes.report import PassReport

    done: list[str] = []
    try:
        run_pipeline(module, pipelines[0], after=lambda one, _: done.append(one.name))
    except PassReport as error:
        passes = parse_passes(",".join(pipelines))[len(done) :]
        raise with_later_faults(error, module, passes) from error


def _extra_operators(args: argparse.Namespace) -> list[str]:
    """The operators that the runtime has beside the target's: those that are named, and for et-vm those of the files
    that are loaded. Raises `UsageError`.
    """
    from et_tools.vm_kernels import load_files

    names = [name.strip() for given in args.extra_operators for name in given.split(",")]
    for name in names:
        if re.fullmatch(r"\w+::\w+(\.\w+)?", name) is None:
            raise UsageError(f"--extra-operators {name}: expected names as files have them, 'mylib::foo.out'")
    loaded = load_files(args.load)
    if args.target.startswith("et-vm"):
        names += [name for kernels in loaded for name in kernels.names]
    if args.load and args.target == "et-vm-aten":
        from et_vm.kernels.aten.schema import custom_operators

        names += custom_operators()
    return sorted(set(names))


def _default_bounds(args: argparse.Namespace) -> dict[str, int]:
    """The bounds by name. Raises `UsageError`."""
    bounds: dict[str, int] = {}
    for given in args.default_bound:
        name, _, bound = given.partition("=")
        if not bound.isdecimal():
            raise UsageError(f"--default-bound {given}: expected NAME=N, as in s77=4096 or x.0=64")
        bounds[name] = int(bound)
    return bounds


def _load(args: argparse.Namespace, stages: _Stages, preserve: list[str]) -> ModuleOp:
    for spec in args.backend:
        from et_ir.backends import find_backend

        find_backend(spec)
    if args.model.endswith(".mlir") or args.model == "-":
        from et_ir.verification import verify_module
        from et_tools.reading import read_text_module, require_weights

        module = read_text_module(args.model, args.weights)
        verify_module(module)
        if args.emit == "pte":
            require_weights(module, args.model)
        stages.done("parse")
        return module
    from et_tools.loading import export_factory, load_pt2

    programs: Any
    constants: dict[str, Any] = {}
    if args.model.endswith(".pt2"):
        programs = load_pt2(Path(args.model))
    elif ":" in args.model:
        programs, constants = export_factory(args.model)
    else:
        raise UsageError(f"{args.model}: expected file.py:factory, package.module:factory, a .pt2 or a .mlir")
    stages.done("export")
    from et_ir.frontend import import_program
    from et_ir.frontend.default_bounds import BoundError

    try:
        module = import_program(
            programs,
            constant_methods=constants,
            preserve=preserve,
            default_bounds=_default_bounds(args),
        )
    except BoundError as error:
        raise UsageError(f"--default-bound: {error}") from None
    except ValueError as error:
        raise UsageError(f"--preserve: {error}") from None
    stages.done("import")
    return module


def _write_text(module: ModuleOp, args: argparse.Namespace) -> None:
    from et_ir.text import print_module, save_text, stored_constants

    text = io.StringIO()
    print_module(module, text, debuginfo=args.print_debuginfo)
    if args.output in (None, "-"):
        write_stdout(text.getvalue())
    else:
        save_text(Path(args.output), text.getvalue(), stored_constants(module))


def _write_pte(module: ModuleOp, args: argparse.Namespace, stages: _Stages) -> None:
    from et_ir.emit import EmitOptions
    from et_tools.program_files import alignments_of, write_program

    options = EmitOptions(stacktraces=args.emit_stacktrace, **alignments_of(args))
    for path in write_program(module, args.output, options):
        stages.done(path.suffix.removeprefix("."), note=f"{path.stat().st_size} bytes, {path}")


def _write_debug_map(module: ModuleOp, output: str) -> None:
    import json

    from et_ir.emit import origins_json
    from et_schema.atomic import atomic_writer

    text = json.dumps(origins_json(module), indent=1) + "\n"
    if output == "-":
        write_stdout(text)
        return
    with atomic_writer(Path(output)) as stream:
        stream.write(text.encode())


def _is_same_file(one: str, other: str | None) -> bool:
    return other is not None and "-" not in (one, other) and os.path.realpath(one) == os.path.realpath(other)


def run(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    args = _arguments(arguments)
    if args.emit == "pte" and args.output is None:
        raise UsageError("-o FILE says where the .pte goes ('-' for standard output)")
    if args.emit != "pte" and any(getattr(args, name) is not None for name in ALIGNMENTS):
        raise UsageError(f"alignments are those of a file, which the level {args.emit} is not")
    if args.debug_map is not None and args.emit not in ("executorch", "pte"):
        raise UsageError(f"--debug-map is about instructions, which the level {args.emit} does not have")
    is_text = args.model.endswith(".mlir") or args.model == "-"
    if args.weights is not None and not is_text:
        raise UsageError(f"--weights is the store of a .mlir; {args.model} has its weights itself")
    for output in (args.output, args.debug_map):
        if output is not None:
            check_output(output)
    source = args.model if is_text or args.model.endswith(".pt2") else args.model.rpartition(":")[0]
    if (
        args.output is not None
        and _is_same_file(args.output, source)
        and not (is_text and args.emit != "pte")
    ):
        raise UsageError(f"-o {args.output} would replace the program that is compiled")
    if args.default_bound and is_text:
        raise UsageError("--default-bound is for programs of torch: a text has program.range")
    if args.debug_map is not None and any(_is_same_file(args.debug_map, f) for f in (args.output, source)):
        raise UsageError(f"--debug-map {args.debug_map} is another file of this command")
    from et_tools.failures import report_failures

    text = args.model if args.model.endswith(".mlir") else ""
    with report_failures("et-compile", "<stdin>" if args.model == "-" else text) as outcome:
        _compile(args)
    return outcome.exit_code


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `et-compile`."""
    return guarded(run, sys.argv[1:] if arguments is None else arguments, "et-compile")


if __name__ == "__main__":
    sys.exit(main())
