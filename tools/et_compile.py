"""et-compile: compile a PyTorch program to a .pte file, or stop at a level and print it.

examples:
  et-compile examples/models/resnet18.py:resnet18 -o resnet18.pte
  et-compile package.module:factory -o model.pte          a factory on the Python path
  et-compile model.pt2 --emit edge                        stop at a level, text on stdout
  et-compile edge.mlir -o model.pte                       go on from a text, whatever level it is at
  et-compile model.py:net -o net.pte --target et-vm       kernels that only et-vm has are allowed
  et-compile model.py:net -o net.pte --target et-vm --load mykernels.py      and kernels of your own
  et-compile model.py:net -o net.pte -O2 --explain        speed before memory, and what was chosen and why
  et-compile model.py:net -o net.pte --backend nested --why-not-delegated     what a backend leaves, and why
  et-compile model.py:net -o net.pte --table              which ops there are at each level
  et-compile model.py:net -o net.pte --debug-map net.json the module and source line of each instruction

A factory returns (module, example_args[, dynamic_shapes]) or a dict of method names to that; a number,
string or tensor in a dict is a method that returns it.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from et_ir.driver.presets import DEFAULT, preset
from et_tools.compile_delegation import Delegation
from et_tools.compile_memory import caller_memory, memory_pins
from et_tools.compile_options import LEVELS, extra_backends, extra_operators, parse_options
from et_tools.compile_output import write_debug_map, write_pte, write_text
from et_tools.compile_source import level_of, load_source
from et_tools.compile_stages import Stages
from et_tools.exit_codes import UsageError, guarded
from et_tools.op_table import print_op_table

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from et_tools.compile_explain import Explanation

__all__ = ["main"]


def _compile(args: argparse.Namespace) -> None:
    from et_ir.driver.faults import with_later_faults
    from et_ir.driver.pipelines import (
        ATEN,
        BACKEND,
        core_aten_pipeline,
        edge_pipeline,
        executorch_pipeline,
        link_check,
        parse_passes,
        split_preserved,
    )
    from et_ir.frontend.unsupported import UnsupportedProgram
    from et_ir.planning.planners import PlannerError, find_planner

    extra, backends = extra_operators(args), extra_backends(args)
    delegation = Delegation(args)
    preserved, custom = split_preserved([*args.preserve, *delegation.kept_operators])
    try:
        core_aten = core_aten_pipeline(preserved, dequantize=args.dequantize_weights, level=args.level)
    except ValueError as error:
        raise UsageError(f"--preserve: {error}") from None
    try:
        find_planner(args.memory_planning)
    except PlannerError as error:
        raise UsageError(f"--memory-planning: {error}") from None
    pins = memory_pins(args)
    stages = Stages(args.quiet)
    lower, usual = (
        executorch_pipeline(
            target=args.target,
            algorithm=args.memory_planning,
            check_plan=args.check_plan,
            plan_inputs=not args.no_plan_inputs,
            plan_outputs=not args.no_plan_outputs,
            extra_operators=extra,
            extra_backends=backends,
            unbounded=args.unbounded,
            memory=args.memory,
            caller=caller_memory(args),
            pins=pins,
            level=level,
        )
        for level in (args.level, DEFAULT)
    )
    compared = (lower, usual)
    externalize = [_externalize_pass(wanted) for wanted in args.external_constants]
    lower = ",".join((lower, *externalize))
    pipelines: dict[str, str] = dict(
        zip(LEVELS, (ATEN, core_aten, edge_pipeline(level=args.level), BACKEND, lower), strict=False)
    )
    try:
        module = load_source(args, stages, custom)
    except UnsupportedProgram as error:
        passes = parse_passes(",".join(pipelines[level] for level in _up_to(args.emit)))
        raise with_later_faults(error, error.module, passes) from error
    reached = level_of(module)
    delegation.check(reached)
    if LEVELS.index(args.emit) < LEVELS.index(reached):
        raise UsageError(f"{args.model} is at level {reached} already, past {args.emit}")
    # A text that is at a level has reached it: what it was read as is checked, not lowered again.
    if reached == "edge":
        pipelines[reached] = "verify-edge"
    elif reached == "executorch":
        check = link_check(args.target, extra, backends)
        pipelines[reached] = ",".join((check, "verify-executorch", *externalize))
    explanation = _explanation(args)
    for level in LEVELS[LEVELS.index(reached) : -1]:
        delegation.before(level, module)
        compares = level == "executorch" and reached != level and _exchanges(args)
        before = module.clone() if compares else None
        _run(module, [pipelines[later] for later in _up_to(args.emit, level)], explanation)
        if before is not None:
            from et_tools.compile_exchange import print_exchange

            print_exchange(before, args.target, args.level, compared)
        stages.reached(level, module)
        if level == args.emit:
            write_text(module, args)
            break
    else:
        write_pte(module, args, stages)
    if args.debug_map is not None:
        write_debug_map(module, args.debug_map)
    delegation.report()
    if args.table:
        print_op_table(stages.levels, sys.stderr)
    if explanation is not None:
        explanation.write(args.explain)


def _exchanges(args: argparse.Namespace) -> bool:
    """Whether to say what memory a level of -O takes for its speed."""
    return preset(args.level).memory == "any" and (not args.quiet or args.explain == "text")


def _explanation(args: argparse.Namespace) -> Explanation | None:
    """What takes down what passes do, if that is asked for."""
    if args.explain is None:
        return None
    from et_tools.compile_explain import Explanation

    return Explanation(args.target, args.level)


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


def _run(module: ModuleOp, pipelines: list[str], explanation: Explanation | None) -> None:
    """Run the first pipeline. Where it finds faults, those that the others would find are in the same report."""
    from et_ir.driver.faults import with_later_faults
    from et_ir.driver.pipelines import parse_passes, run_pipeline
    from et_ir.report import PassReport

    done: list[str] = []
    if explanation is not None:
        explanation.before(module)

    def after(one: ModulePass, module: ModuleOp) -> None:
        done.append(one.name)
        if explanation is not None:
            explanation.after(one, module)

    try:
        run_pipeline(module, pipelines[0], None if explanation is None else explanation.context, after)
    except PassReport as error:
        passes = parse_passes(",".join(pipelines))[len(done) :]
        raise with_later_faults(error, module, passes) from error


def run(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    args = parse_options(__doc__ or "", arguments)
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
