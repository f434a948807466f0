"""et-compile: compile a PyTorch program to a .pte file, or stop at a level and print it.

examples:
  et-compile examples/models/resnet18.py:resnet18 -o resnet18.pte
  et-compile package.module:factory -o model.pte          a factory on the Python path
  et-compile hf:FOLDER -o model.pte --quantize 8da4w      a language model with its cache
  et-compile model.pt2 --emit edge                        stop at a level, text on stdout
  et-compile edge.mlir -o model.pte                       continue from IR in text form, at any level
  et-compile any.pte --backend native -o fast.pte         compile a .pte again, without its source
  et-compile model.py:net -o net.pte --target et-vm       allow kernels that only et-vm has
  et-compile model.py:net -o net.pte --target et-vm --load mykernels.py      and custom kernels
  et-compile model.py:net -o net.pte -O2 --explain        optimize for speed, and report each choice
  et-compile model.py:net -o net.pte --backend nested --why-not-delegated     list ops that were not delegated
  et-compile model.py:net --backend native --emit asm     machine code: loops, vector, llvm, asm
  et-compile model.py:net --target cortex-m4 --emit object -o net.o     an object and a C header, no runtime
  et-compile model.py:net -o net.pte --quantize int8 --calibrate data.npz      8-bit integers
  et-compile model.py:net -o net.pte --backend native --cache     compile what has changed since the last time
  et-compile model.py:net -o net.pte --train --trainable head     gradients, for training on a device
  et-compile model.py:net -o net.pte --table              count the ops at each level
  et-compile model.py:net -o net.pte --load fma.py --pass edge:fuse-fma      passes and dialects of a file
  et-compile model.py:net --stop-after fold-batch-norm    print the module after a pass
  et-compile model.py:net --print-pipeline                the pipeline of each level, in et-opt's syntax
  et-compile model.py:net -o net.pte --debug-map net.json map instructions to modules and source lines
  et-compile model.py:net -o net.pte --etrecord net.etrecord      a record for ExecuTorch's Inspector
  et-compile model.py:net -o net.pte --bundle net.bpte    also write a test case: the example inputs

A factory returns (module, example_args[, dynamic_shapes]) or a torch.export.ExportedProgram, or a dict from
method names to these. A number, string or tensor in the dict becomes a method that returns that constant.
Modules are compiled in evaluation mode but for --train, and a warning says where that changes the program; an
ExportedProgram is compiled in the mode that it was exported in. A factory is code, and so is a .pt2, which
holds pickled objects: compile only those that you trust.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from et_ir.driver.observer import Observer, Observers
from et_ir.driver.presets import preset
from et_ir.targets.lookup import find_target
from et_tools.compile_cache import chosen_store, lookups_json, print_lookups, print_statistics
from et_tools.compile_configs import edge_config, executorch_config
from et_tools.compile_delegation import Delegation
from et_tools.compile_freestanding import chosen_freestanding
from et_tools.compile_levels import LevelTexts
from et_tools.compile_memory import report_memory
from et_tools.compile_options import is_file, parse_options
from et_tools.compile_output import write_bundle, write_debug_map, write_etrecord, write_pte, write_text
from et_tools.compile_parser import LEVELS
from et_tools.compile_partitions import chosen_partition_texts
from et_tools.compile_quantize import FloatBoundary, Quantization
from et_tools.compile_source import level_of, load_source
from et_tools.compile_stages import Stages
from et_tools.compile_target import choose_target
from et_tools.compile_training import Training
from et_tools.exit_codes import UsageError, guarded
from et_tools.messages import running_command
from et_tools.op_table import print_op_table
from et_tools.output import write_stdout

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from xdsl.dialects.builtin import ModuleOp

    from et_ir.driver.configs import ExecutorchBackendConfig
    from et_ir.driver.stages import Stage
    from et_tools.check_passes import PassChecker
    from et_tools.compile_exchange import Exchange
    from et_tools.compile_explain import Explanation
    from et_tools.compile_source import Source

__all__ = ["main"]


def compile_program(
    args: argparse.Namespace,
    progress: Stages,
    watch: Callable[[Source], Observer] | None = None,
    *,
    listeners: Sequence[Observer] = (),
    explain: Callable[[dict[str, Any]], None] | None = None,
) -> None:
    """Compile as the command line says. With `watch`, an observer that it makes of the source is told of the passes,
    and nothing is written. `listeners` are told of the passes too; `explain` is called with what `--explain` would
    print, and then no reports are printed.
    """
    from et_ir.analysis.choices import explained
    from et_ir.cache.store import caching
    from et_ir.context import OperatorContext
    from et_ir.driver.pipelines import split_preserved
    from et_ir.driver.raising import raising_stage
    from et_ir.driver.stages import (
        backend_stage,
        edge_stages,
        executorch_stage,
        import_faults,
        run_stages,
    )
    from et_ir.frontend.unsupported import UnsupportedProgram
    from et_ir.rewrite_limit import limited
    from et_tools.compile_passes import (
        loaded_extensions,
        rewrite_limit,
        stages_until,
        user_passes,
        with_user_passes,
    )
    from et_tools.pass_pipelines import IrPrinter
    from et_tools.plugins import register_dialects

    freestanding = chosen_freestanding(args)  # the options are those of its edge program from here on
    extensions = loaded_extensions(args)  # first: they may register backends
    partitions = chosen_partition_texts(args)  # before: partitions are compiled with the level `backend`
    store = chosen_store(args)
    delegation = Delegation(args)
    choose_target(args, delegation.backend_ids)
    executorch = executorch_config(args)
    quantization = Quantization(args, delegation.backend_ids if freestanding.target is None else ())
    training = Training(args)
    training.check_target(find_target(executorch.target))
    edge = edge_config(args, delegation.kept_operators)
    try:
        stages = edge_stages(edge, delegation.preserving)
    except ValueError as error:
        raise UsageError(f"--preserve: {error}") from None
    stages += [backend_stage(delegation.passes), executorch_stage(executorch)]
    stages = stages[: LEVELS.index(args.emit) + 1]
    compiled = is_file(args.model)
    if compiled:
        stages = [raising_stage(args.level), *stages[LEVELS.index("edge") + 1 :]]
    passes = user_passes(args, extensions)
    if args.print_pipeline:
        stages = with_user_passes(stages, passes)
        stages = stages if args.stop_after is None else stages_until(stages, args.stop_after)
        write_stdout(_pipeline_text(stages))
        return
    try:
        transform = quantization if quantization.is_wanted else None
        weights = quantization.quantize_weights if quantization.is_wanted else None
        source = load_source(
            args,
            progress,
            list(split_preserved(edge.preserve_names)[1]),
            extensions,
            transform,
            weights,
            training if training.is_wanted else None,
        )
    except UnsupportedProgram as error:
        found = import_faults(error, stages)
        if found is error:
            raise  # not from itself: who follows causes would never end
        raise found from error
    module = source.module
    examples = source.programs if args.bundle is not None else {}
    snapshot = None
    if args.etrecord is not None:
        from et_ir.etrecord import Snapshot

        snapshot = Snapshot.of(source.programs)
    checker = None if args.check_passes is None else _checker(args, source)
    watchers = [] if watch is None else [watch(source)]
    del source  # and the tensors of the programs, where nobody needs them
    # A compiled program is at the edge level when the first stage has raised it.
    reached = "edge" if compiled else level_of(module)
    delegation.check(reached)
    _check_level(args, reached)
    if not compiled:
        stages = _remaining_stages(stages, reached, executorch)
    stages = with_user_passes(stages, passes)
    if args.stop_after is not None:
        stages = stages_until(stages, args.stop_after)
    levels = None if args.save_levels is None else LevelTexts()
    boundary = FloatBoundary() if args.quantized_io and not args.quiet else None
    observers: list[Observer] = [progress, *watchers, *listeners]
    observers += [one for one in (levels, checker, snapshot, boundary) if one is not None]
    if IrPrinter.is_wanted(args):
        observers.append(IrPrinter(args, [one for stage in stages for one in stage.passes]))
    explanation = _explanation(args, observers)
    exchange = _exchange(args, executorch, observers)
    context = OperatorContext() if explanation is None else explanation.context
    register_dialects(context)
    extensions.register_dialects(context)
    limit = rewrite_limit(args, edge, executorch)
    try:
        explaining = explained(explanation and explanation.context)
        # A partition that is kept reaches no level within it.
        kept = caching(store if partitions.level is None else None)
        with limited(limit), partitions.observed(), explaining, kept:
            run_stages(module, stages, Observers(observers), context, verify_each=args.verify_each)
    finally:
        if limit is not None:
            print(f"{running_command()}: rewrite limit {limit.limit}: {limit}", file=sys.stderr)
    if watch is not None:
        return
    if checker is not None and not args.quiet:
        print(f"{checker.checked} passes changed the program, none of them its results", file=sys.stderr)
    if exchange is not None:
        exchange.report()
    report_memory(module, args)
    if freestanding.target is not None and args.stop_after is None:
        freestanding.write(module, args, delegation.kept)
    elif partitions.level is not None:
        partitions.write(args)
    else:
        _write_program(module, args, progress, examples)
    if args.debug_map is not None:
        write_debug_map(module, args.debug_map)
    if snapshot is not None:
        write_etrecord(module, snapshot, args.etrecord, progress)
    if levels is not None:
        levels.write(args.save_levels)
    if explanation is not None:
        report = delegation.latest
        explanation.others = {
            "delegation": None if report is None else report.json(),
            "quantization": quantization.json(),
            "cache": lookups_json(store),
        }
    if explain is not None:
        explain({} if explanation is None else explanation.json())
        return
    quantization.report(quiet=args.quiet)
    if boundary is not None:
        boundary.report()
    delegation.report()
    if args.table:
        print_op_table(progress.levels, sys.stderr)
    if explanation is not None:
        explanation.write(args.explain, wide=args.wide)
        if store is not None and args.explain == "text":
            print_lookups(store)
    if store is not None and args.cache_stats:
        print_statistics(store)


def _check_level(args: argparse.Namespace, reached: str) -> None:
    """Raise `UsageError` for options that do not fit the level that the input has."""
    if reached == "executorch" and args.etrecord is not None:
        raise UsageError(
            f"--etrecord needs a program above the executorch level; {args.model} is at that level"
        )
    if LEVELS.index(args.emit) < LEVELS.index(reached):
        raise UsageError(f"{args.model} is already at the {reached} level, past --emit {args.emit}")


def _remaining_stages(stages: Sequence[Stage], reached: str, config: ExecutorchBackendConfig) -> list[Stage]:
    """The stages of a text that is at a level: it is verified there, not lowered to it again."""
    from et_ir.driver.pipelines import externalization, link_check
    from et_ir.driver.stages import Stage
    from et_ir.passes.verify.verify_edge import VerifyEdgePass
    from et_ir.passes.verify.verify_executorch import VerifyExecutorchPass

    first, *others = stages[LEVELS.index(reached) :]
    if reached == "edge":
        first = Stage(reached, [VerifyEdgePass()])
    elif reached == "executorch":
        checks = [link_check(config), VerifyExecutorchPass()]
        first = Stage(reached, [*checks, *externalization(config)])
    return [first, *others]


def _write_program(
    module: ModuleOp, args: argparse.Namespace, progress: Stages, examples: Mapping[str, ExportedProgram]
) -> None:
    """Write the program to a file, with a test case if one is wanted, or the text of its level."""
    if args.emit != "pte" or args.stop_after is not None:
        write_text(module, args)
        return
    write_pte(module, args, progress)
    if args.bundle is not None:
        write_bundle(examples, args, progress)


def _checker(args: argparse.Namespace, source: Source) -> PassChecker:
    """A checker that compares results before and after passes. Raises `UsageError` for inputs that do not fit."""
    from et_tools.check_passes import PassChecker
    from et_tools.example_inputs import given_inputs
    from et_tools.level_runs import LevelRunner

    inputs = given_inputs(args.check_passes, source.module, source.programs, "--check-passes")
    return PassChecker(inputs, LevelRunner.with_files(args.load, native=args.native), args.check_bound)


def _explanation(args: argparse.Namespace, observers: list[Observer]) -> Explanation | None:
    """The record of choices and savings, if it is asked for."""
    if args.explain is None:
        return None
    from et_tools.compile_explain import Explanation

    explanation = Explanation(args.target, args.level)
    observers.append(explanation)
    return explanation


def _exchange(
    args: argparse.Namespace, config: ExecutorchBackendConfig, observers: list[Observer]
) -> Exchange | None:
    """The comparison with the default level, for levels that trade memory for speed."""
    silent = (args.quiet and args.explain != "text") or args.stop_after is not None
    if preset(args.level).memory != "any" or silent or args.emit not in LEVELS[-2:]:
        return None
    from et_tools.compile_exchange import Exchange

    exchange = Exchange(config)
    observers.append(exchange)
    return exchange


def _pipeline_text(stages: Sequence[Stage]) -> str:
    """A line for each level: its name and the passes that lead to it, as `et-opt -p` takes them."""
    from et_ir.driver.pipelines import pipeline_text

    return "".join(f"{stage.level}: {pipeline_text(stage.passes)}\n" for stage in stages)


def run(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    args = parse_options(__doc__ or "", arguments)
    from et_tools.failures import report_failures

    text = args.model if args.model.endswith(".mlir") else ""
    with (
        report_failures("et-compile", "<stdin>" if args.model == "-" else text) as outcome,
        Stages(args.quiet) as stages,
    ):
        compile_program(args, stages)
    return outcome.exit_code


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `et-compile`."""
    return guarded(run, sys.argv[1:] if arguments is None else arguments, "et-compile")


if __name__ == "__main__":
    sys.exit(main())
