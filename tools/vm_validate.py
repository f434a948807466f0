"""``et-vm validate``: say whether a file is good, by the exit code alone when it is."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from et_schema.errors import ExecutorchError, MissingOperator
from et_tools.exit_codes import ExitCode
from et_tools.vm_errors import describe, exit_code_of_error
from et_tools.vm_files import open_program

if TYPE_CHECKING:
    from et_vm.liveness import Clash
    from et_vm.program import Program


def validate_file(args: argparse.Namespace) -> int:
    """Verify the file and that no live tensors share memory, with ``--kernels`` load its methods too; returns the exit
    code.
    """
    try:
        program = open_program(args.file)
        if args.kernels:
            for name in program.method_names:
                program.load_method(name, kernels=args.kernels)
        clashes = [(name, clash) for name in program.method_names for clash in program.clashes(name)]
    except ExecutorchError as error:
        print(f"et-vm: error: {describe(error, args.file)}", file=sys.stderr)
        if args.json:
            print(json.dumps({"file": args.file, "valid": False, "error": _facts(error)}, indent=2))
        return exit_code_of_error(error)
    for name, clash in clashes:
        print(f"et-vm: error: {args.file}: {_sentence(program, name, clash)}", file=sys.stderr)
    if args.json:
        report: dict[str, Any] = {
            "file": args.file,
            "valid": not clashes,
            "methods": list(program.method_names),
        }
        if clashes:
            report["clashes"] = [{"method": name, **clash._asdict()} for name, clash in clashes]
        print(json.dumps(report, indent=2))
    return ExitCode.CHECK_FAILED if clashes else ExitCode.OK


def _sentence(program: Program, method: str, clash: Clash) -> str:
    if clash.instruction < 0:
        writer = f"the caller of {method}"
    else:
        instruction = program.instructions(program.plan_index(method))[clash.instruction]
        writer = f"instruction {clash.instruction} ({instruction.name}) of {method}"
    return (
        f"{writer} writes values[{clash.written}] over bytes that values[{clash.needed}] still needs; "
        "plan its memory again (et-translate --pte-to-mlir, et-opt -p plan-memory, et-translate --mlir-to-pte)"
    )


def _facts(error: ExecutorchError) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": error.code.name,
        "code": int(error.code),
        "message": error.message,
        "where": error.where,
        "offset": error.offset,
    }
    if isinstance(error, MissingOperator):
        facts["operators"] = list(error.operators)
    return facts
