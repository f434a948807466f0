"""`et-vm verify`: run a program on the test cases that it is bundled with."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from et_schema.errors import ExecutorchError
from et_schema.wording import count
from et_tools.exit_codes import ExitCode
from et_tools.messages import print_message
from et_tools.vm_backends import chosen_backends, chosen_native
from et_tools.vm_errors import describe, exit_code_of_error
from et_tools.vm_files import chosen_platform, open_data
from et_tools.vm_kernels import chosen_kernels


def verify_file(args: argparse.Namespace) -> int:
    """Run every test case and report those that fail; returns the exit code, 1 when only results differ.

    Raises what loading the file and its methods raises.
    """
    from et_vm.devtools.bundled import BundledProgram, Mismatch
    from et_vm.run.interpreter import MAX_INSTRUCTIONS

    source = sys.stdin.buffer.read() if args.file == "-" else args.file
    bundled = BundledProgram.load(source, platform=chosen_platform(args))
    external = open_data(args)
    kernels = chosen_kernels(args, args.kernels)
    backends = chosen_backends(args)
    methods = {
        name: bundled.program.load_method(
            name,
            kernels=kernels,
            backends=backends,
            native=chosen_native(args),
            poison=args.poison,
            external=external,
            instruction_limit=args.instruction_limit or MAX_INSTRUCTIONS,
        )
        for name in dict.fromkeys(name for name, _ in bundled.cases())
    }
    code = ExitCode.OK
    results: list[dict[str, Any]] = []
    for name, case in bundled.cases():
        result: dict[str, Any] = {"method": name, "case": case, "passed": True}
        try:
            bundled.verify(methods[name], case, rtol=args.rtol, atol=args.atol)
        except ExecutorchError as error:
            result |= {"passed": False, "message": error.message, "where": error.where}
            print_message("et-vm", describe(error, args.file))
            failed = ExitCode.CHECK_FAILED if isinstance(error, Mismatch) else exit_code_of_error(error)
            code = max(code, failed)
        results.append(result)
    if args.json:
        print(json.dumps({"file": args.file, "cases": results}, indent=2))
    else:
        passed = sum(result["passed"] for result in results)
        print(f"{passed} of {count(len(results), 'test case')} passed")
    return code
