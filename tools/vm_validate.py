"""``et-vm validate``: say whether a file is good, by the exit code alone when it is."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from et_schema.errors import ExecutorchError, MissingOperator
from et_tools.exit_codes import ExitCode
from et_tools.vm_errors import describe, exit_code_of_error
from et_tools.vm_files import open_program


def validate_file(args: argparse.Namespace) -> int:
    """Verify the file, and with ``--kernels`` load its methods; returns the exit code."""
    try:
        program = open_program(args.file)
        if args.kernels:
            for name in program.method_names:
                program.load_method(name, kernels=args.kernels)
    except ExecutorchError as error:
        print(f"et-vm: error: {describe(error, args.file)}", file=sys.stderr)
        if args.json:
            print(json.dumps({"file": args.file, "valid": False, "error": _facts(error)}, indent=2))
        return exit_code_of_error(error)
    if args.json:
        print(json.dumps({"file": args.file, "valid": True, "methods": list(program.method_names)}, indent=2))
    return ExitCode.OK


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
