"""et-vm: run, inspect and check ExecuTorch programs.

examples:
  et-vm run model.pte                                random inputs, a summary of the outputs
  et-vm run model.pte --input x.npy --output-dir out one array per input, outputs as .npy files
  et-vm run model.pte --input ones --repeat 100      latency as minimum and median
  et-vm run model.pte --poison                       overwrite dead memory while running
  et-vm generate model.pte --prompt 'Once upon'       continue a text with a language model
  et-vm debug model.pte                              step through the instructions, forward and back
  et-vm profile model.pte                            time of each instruction
  et-vm info model.pte                               methods, operators, memory, weights
  et-vm report model.pte -o report.html              a page: graph, memory, weights
  et-vm diff a.pte b.pte                             differences between two programs
  et-vm compare model.pte model.py:net               gaps between its values and those of the module
  et-vm ops model.pte                                operators used, for a selective build
  et-vm build --target cortex-m4 --ops model.pte -o build/    a runtime for microcontrollers
  et-vm bundle model.pte --input x.npy -o model.bpte add a test case to a program
  et-vm verify model.bpte                            run bundled test cases
  et-vm validate model.pte                           silent if the file is valid
"""

from __future__ import annotations

import sys

from et_tools.arguments import CommandParser
from et_tools.exit_codes import ExitCode, guarded, print_traceback
from et_tools.messages import print_message
from et_tools.vm_options import VERBS, add_verbs

__all__ = ["main"]


def _parser() -> CommandParser:
    names = ",".join(verb.name for verb in VERBS)
    parser = CommandParser("et-vm", f"et-vm {{{names}}} [options]", __doc__ or "")
    parser.add_version()
    add_verbs(parser)
    return parser


def run(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    args = _parser().parse_args(arguments)
    from et_schema.errors import ExecutorchError
    from et_tools.vm_errors import describe, exit_code_of_error
    from et_tools.vm_files import BadFile

    try:
        match args.verb:
            case "run":
                from et_tools.vm_run import run_file

                if args.file.endswith(".mlir"):
                    from et_tools.failures import report_failures

                    with report_failures("et-vm", args.file) as outcome:
                        run_file(args)
                    return outcome.exit_code
                run_file(args)
            case "generate":
                from et_tools.vm_generate import generate_text

                generate_text(args)
            case "debug":
                from et_tools.vm_debug import debug_file

                return debug_file(args)
            case "profile":
                from et_tools.vm_profile import profile_file

                profile_file(args)
            case "info":
                from et_tools.vm_info import print_info

                print_info(args)
            case "ops":
                from et_tools.vm_ops import print_operators

                print_operators(args)
            case "build":
                from et_tools.vm_build import build_runtime

                build_runtime(args)
            case "bundle":
                from et_tools.vm_bundle import bundle_file

                bundle_file(args)
            case "verify":
                from et_tools.vm_verify import verify_file

                return verify_file(args)
            case "compare":
                from et_tools.failures import report_failures
                from et_tools.vm_compare import compare_files

                code = ExitCode.OK
                with report_failures("et-vm", args.file) as outcome:
                    code = compare_files(args)
                return outcome.exit_code or code
            case "report":
                from et_tools.vm_report import needs_compiler, report_files

                if needs_compiler(args):
                    from et_tools.failures import report_failures

                    with report_failures("et-vm", args.files[0]) as outcome:
                        report_files(args)
                    return outcome.exit_code
                report_files(args)
            case "diff":
                from et_tools.vm_diff import diff_files

                return diff_files(args)
            case _:
                from et_tools.vm_validate import validate_file

                return validate_file(args)
    except ExecutorchError as error:
        print_traceback(error)
        bad = BadFile(args.ops[0] if args.verb == "build" else args.file, error)
    except BadFile as error:
        print_traceback(error)
        bad = error
    else:
        return ExitCode.OK
    print_message("et-vm", describe(bad.error, bad.file))
    return exit_code_of_error(bad.error)


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `et-vm`."""
    return guarded(run, sys.argv[1:] if arguments is None else arguments, "et-vm")


if __name__ == "__main__":
    sys.exit(main())
