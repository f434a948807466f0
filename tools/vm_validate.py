"""`et-vm validate`: say whether a file is good, by the exit code alone when it is."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from et_schema.errors import ExecutorchError, MissingOperator
from et_tools.exit_codes import ExitCode, UsageError
from et_tools.messages import print_message
from et_tools.vm_backends import chosen_backends
from et_tools.vm_blobs import blob_problems
from et_tools.vm_errors import describe, exit_code_of_error
from et_tools.vm_files import open_data
from et_tools.vm_kernels import chosen_kernels

if TYPE_CHECKING:
    from et_vm.kernels.registry import KernelRegistry

__all__ = ["validate_file"]

# A byte that is changed can make a thousand others mean something else.
SHOWN = 16


def validate_file(args: argparse.Namespace) -> int:
    """Report everything that is wrong with the file, and unless told `--no-kernels` each call that does not fit the
    kernel it would be linked to; with `--kernels` or `--load` also what loading its methods raises.

    Returns the exit code, which is that of the first problem.

    Raises UsageError, ExecutorchError(AccessFailed).
    """
    if args.no_kernels and args.load:
        raise UsageError("--no-kernels and --load exclude each other")
    # Imported here because starting is part of the time that every verb takes.
    from et_vm.load.loader import MmapDataLoader
    from et_vm.run.validation import validate

    standard_input = args.file == "-"
    file = memoryview(sys.stdin.buffer.read()) if standard_input else MmapDataLoader(args.file).load_all()
    kernels = None if args.no_kernels else chosen_kernels(args, args.kernels or "portable")
    found = validate(file, kernels)
    problems = [_with_way_out(problem, args) for problem in found.problems]
    if kernels is not None and (args.kernels or args.load) and not problems:
        problems = _load_methods(file, kernels, args)
    elif not problems:
        # Loading methods would find these as well.
        problems = list(blob_problems(file, kernels))
    everything = (*problems, *found.clashes)
    for problem in everything[:SHOWN]:
        print_message("et-vm", describe(problem, args.file))
    if len(everything) > SHOWN:
        more = len(everything) - SHOWN
        print_message("et-vm", f"{args.file}: {more:,} more problems (--json lists all)")
    if args.json:
        report = {
            "file": args.file,
            "valid": not everything,
            "methods": found.methods,
            "problems": [_facts(problem) for problem in everything],
        }
        print(json.dumps(report, indent=2))
    if problems:
        return exit_code_of_error(problems[0])
    return ExitCode.CHECK_FAILED if found.clashes else ExitCode.OK


def _with_way_out(problem: ExecutorchError, args: argparse.Namespace) -> ExecutorchError:
    """A file is not wrong for calling operators of another runtime: say how to check it alone."""
    if isinstance(problem, MissingOperator) and not args.kernels:
        hint = "--no-kernels checks the file alone"
        problem.hint = f"{problem.hint}; {hint}" if problem.hint else hint
    return problem


def _load_methods(
    file: memoryview,
    kernels: KernelRegistry,
    args: argparse.Namespace,
) -> list[ExecutorchError]:
    """Errors of the data files and of loading each method. What machine code may not run is looked at instead."""
    from et_vm.backend import NativeOptions, NativeRefused
    from et_vm.program import Program

    program = Program.load(file)
    try:
        external = open_data(args)
    except ExecutorchError as error:
        return [error]
    problems: list[ExecutorchError] = [] if external is None else [*external.damaged()]
    backends = chosen_backends(args)
    refused = False
    for name in program.method_names:
        try:
            # Loading runs the code that rearranges constants.
            options = NativeOptions(args.native)
            program.load_method(name, kernels=kernels, backends=backends, external=external, native=options)
        except NativeRefused:
            refused = True
        except ExecutorchError as error:
            problems.append(error)
    return [*problems, *blob_problems(file, kernels)] if refused else problems


def _facts(error: ExecutorchError) -> dict[str, Any]:
    facts = error.diagnostic.json()
    if isinstance(error, MissingOperator):
        facts["operators"] = list(error.operators)
    return facts
