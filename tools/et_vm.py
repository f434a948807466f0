"""et-vm: run, inspect and check ExecuTorch programs.

examples:
  et-vm run model.pte                                random inputs, a summary of the outputs
  et-vm run model.pte --input x.npy --output-dir out one array per input, outputs as .npy files
  et-vm run model.pte --input ones --repeat 100      latency as minimum and median
  et-vm run model.pte --poison                       overwrite dead memory while running
  et-vm generate model.pte --prompt 'Once upon'       continue a text with a language model
  et-vm debug model.pte                              step through the instructions, forward and back
  et-vm train model.pte --data x.npz --save s.ptd    train a program that has an optimizer
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
from et_tools.vm_verbs import add_verbs, verb_named

__all__ = ["main"]


def _parser() -> CommandParser:
    parser = CommandParser("et-vm", "et-vm VERB [options]", __doc__ or "")
    parser.add_version()
    add_verbs(parser)
    return parser


def run(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    args = _parser().parse_args(arguments)
    verb = verb_named(args.verb)
    from et_schema.errors import ExecutorchError
    from et_tools.vm_errors import describe, exit_code_of_error
    from et_tools.vm_files import BadFile, blamed

    try:
        if not verb.needs_compiler(args):
            return verb.run(args)
        from et_tools.failures import report_failures

        code: int = ExitCode.OK
        with report_failures("et-vm", verb.subject(args)) as outcome:
            code = verb.run(args)
        return outcome.exit_code or code
    except ExecutorchError as error:
        print_traceback(error)
        bad = blamed(error, args, verb.subject(args))
    except BadFile as error:
        print_traceback(error)
        bad = blamed(error.error, args, error.file)
    print_message("et-vm", describe(bad.error, bad.file))
    return exit_code_of_error(bad.error)


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `et-vm`."""
    return guarded(run, sys.argv[1:] if arguments is None else arguments, "et-vm")


if __name__ == "__main__":
    sys.exit(main())
