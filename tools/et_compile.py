"""et-compile: compile a PyTorch program to a .pte file, or stop at a level and print it.

examples:
  et-compile examples/models/resnet18.py:resnet18 -o resnet18.pte
  et-compile package.module:factory -o model.pte          a factory on the Python path
  et-compile model.pt2 --emit edge                        stop at a level, text on stdout
  et-compile edge.mlir -o model.pte                       go on from a text, whatever level it is at
  et-compile model.py:net -o net.pte --target et-vm       kernels that only et-vm has are allowed

A factory returns (module, example_args[, dynamic_shapes]) or a dict of method names to that.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from et_tools.exit_codes import UsageError, guarded

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

__all__ = ["main"]

LEVELS = ("aten", "core-aten", "edge", "backend", "executorch", "pte")


class _ArgumentParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see et-compile --help)")


def _arguments(arguments: list[str]) -> argparse.Namespace:
    summary, _, examples = (__doc__ or "").partition("\n\n")
    parser = _ArgumentParser(
        prog="et-compile",
        usage="et-compile MODEL -o FILE [options]",
        description=f"{examples}\n{summary.partition(': ')[2]}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        help="file.py:factory, package.module:factory, a .pt2, or a .mlir at any level",
    )
    add("-o", "--output", metavar="FILE", help="output; text goes to standard output without it")
    add("--emit", choices=LEVELS, default="pte", help="the level to stop at (default: pte)")
    add("--target", default="stock-1.4", choices=("stock-1.4", "et-vm"), help="whose kernels to use")
    add("--backend", action="append", default=[], metavar="NAME[:key=value]", help="delegate to a backend")
    add("--memory-planning", default="greedy", choices=("greedy", "naive"), help="planning algorithm")
    add("--no-plan-inputs", action="store_true", help="inputs are the caller's memory")
    add("--no-plan-outputs", action="store_true", help="outputs are the caller's memory")
    add("--emit-stacktrace", action="store_true", help="keep source lines in the file for run-time errors")
    add("-g", "--print-debuginfo", action="store_true", help="print locations in text")
    add("--weights", metavar="FILE", help="weight store of a .mlir; default its .safetensors")
    add("-q", "--quiet", action="store_true", help="no progress lines")
    return parser.parse_args(arguments)


class _Stages:
    """Prints a line per stage on stderr: its name, its time, and how many ops the level has."""

    def __init__(self, quiet: bool):
        self.quiet = quiet
        self.start = self.last = time.perf_counter()

    def done(self, stage: str, module: ModuleOp | None = None, note: str = "") -> None:
        now = time.perf_counter()
        if not self.quiet:
            if module is not None:
                count = sum(_op_counts(module).values())
                note = f"{count} ops"
            print(f"{stage:<12} {(now - self.last) * 1e3:9.1f} ms  {note}".rstrip(), file=sys.stderr)
        self.last = time.perf_counter()


def _op_counts(module: ModuleOp) -> Counter[str]:
    """How often each op occurs in the methods of a module."""
    return Counter(op.name for top in module.body.block.ops for region in top.regions for op in region.walk())


def _level_of(module: ModuleOp) -> str:
    """The level of a parsed text, by the dialects of its ops."""
    dialects = {name.partition(".")[0] for name in _op_counts(module)}
    if "executorch" in dialects or any(op.name == "executorch.plan" for op in module.body.block.ops):
        return "executorch"
    if "backend" in dialects:
        return "backend"
    return "edge" if "edge" in dialects else "aten"


def _compile(args: argparse.Namespace) -> None:
    from et_ir.passes.pipelines import ATEN, BACKEND, CORE_ATEN, EDGE, executorch_pipeline, run_pipeline

    stages = _Stages(args.quiet)
    module = _load(args, stages)
    steps = [
        ("aten", ATEN),
        ("core-aten", CORE_ATEN),
        ("edge", EDGE),
        ("backend", BACKEND),
        (
            "executorch",
            executorch_pipeline(
                target=args.target,
                algorithm=args.memory_planning,
                plan_inputs=not args.no_plan_inputs,
                plan_outputs=not args.no_plan_outputs,
            ),
        ),
    ]
    names = [name for name, _ in steps]
    reached = _level_of(module)
    if args.emit != "pte" and names.index(args.emit) < names.index(reached):
        raise UsageError(f"{args.model} is at level {reached} already, past {args.emit}")
    first = names.index(reached)
    for name, pipeline in steps[first:]:
        # A text that is at a level has reached it: what it was read as is checked, not lowered again.
        text = {"edge": "verify-edge", "executorch": "verify-executorch"}.get(name, pipeline)
        run_pipeline(module, text if name == reached and name != "aten" else pipeline)
        stages.done(name, module)
        if name == args.emit:
            _write_text(module, args)
            return
    _write_pte(module, args, stages)


def _load(args: argparse.Namespace, stages: _Stages) -> ModuleOp:
    for spec in args.backend:
        from et_ir.backends import find_backend

        find_backend(spec)
    if args.model.endswith(".mlir") or args.model == "-":
        from et_ir.verification import verify_module
        from et_tools.reading import read_text_module

        module = read_text_module(args.model, args.weights)
        verify_module(module)
        stages.done("parse", module)
        return module
    from et_tools.loading import export_factory, load_pt2

    programs: Any
    if args.model.endswith(".pt2"):
        programs = load_pt2(Path(args.model))
    elif ":" in args.model:
        programs = export_factory(args.model)
    else:
        raise UsageError(f"{args.model}: expected file.py:factory, package.module:factory, a .pt2 or a .mlir")
    stages.done("export")
    from et_ir.frontend import import_program

    module = import_program(programs)
    stages.done("import", module)
    return module


def _write_text(module: ModuleOp, args: argparse.Namespace) -> None:
    from et_ir.text import print_module, store_path, write_weights
    from et_schema.atomic import atomic_writer

    text = io.StringIO()
    print_module(module, text, debuginfo=args.print_debuginfo)
    if args.output in (None, "-"):
        sys.stdout.write(text.getvalue())
        return
    path = Path(args.output)
    with atomic_writer(path) as stream:
        stream.write(text.getvalue().encode())
    write_weights(module, store_path(path))


def _write_pte(module: ModuleOp, args: argparse.Namespace, stages: _Stages) -> None:
    from et_ir.emit import EmitOptions, write
    from et_schema.atomic import atomic_writer

    options = EmitOptions(stacktraces=args.emit_stacktrace)
    if args.output == "-":
        write(module, sys.stdout.buffer, options)
        return
    path = Path(args.output)
    with atomic_writer(path) as stream:
        write(module, stream, options)
    stages.done("pte", note=f"{path.stat().st_size} bytes, {path}")


def run(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    args = _arguments(arguments)
    if args.emit == "pte" and args.output is None:
        raise UsageError("-o FILE says where the .pte goes ('-' for standard output)")
    from et_tools.failures import report_failures

    with report_failures() as outcome:
        _compile(args)
    return outcome.exit_code


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `et-compile`."""
    return guarded(run, sys.argv[1:] if arguments is None else arguments, "et-compile")


if __name__ == "__main__":
    sys.exit(main())
