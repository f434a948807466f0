"""The subcommands of et-vm: their help, options and handlers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from importlib import import_module
from typing import Final, NamedTuple

from et_tools import vm_options as options
from et_tools.arguments import CommandParser
from et_tools.exit_codes import ExitCode

__all__ = ["VERBS", "Verb", "add_verbs", "verb_named"]

RUN = """et-vm run: execute a method.

examples:
  et-vm run model.pte                                  random inputs, a summary of the outputs
  et-vm run model.pte --input x.npy --output-dir out   one array per input; outputs as .npy files
  et-vm run model.pte --input inputs.npz --json        the arrays of an archive, in order
  et-vm run model.pte --method decode --input ones     another method, with inputs of ones
  et-vm run model.pte --kernels aten --repeat 100      torch's kernels; latency as minimum and median
  et-vm run model.pte --data weights.ptd               weights from another file
  et-vm run model.pte --poison                         overwrite dead memory while running
  et-vm run model.pte --instruction-limit 100000       stop endless loops
  et-vm run model.pte --memory-limit 100000000         bound memory; --work-limit bounds computation
  et-vm run model.pte --load mykernels.py              custom kernels
  et-vm run model.pte --native --threads 2             let machine code in the file run, on two threads
  et-vm run edge.mlir --input x.npy                    text of any level, run by the reference evaluator
"""

PROFILE = """et-vm profile: execute a method repeatedly, and print the time of each instruction.

examples:
  et-vm profile model.pte                              random inputs, 10 executions after 1 of warmup
  et-vm profile model.pte --repeat 50 --by operator    sums by operator, line or module
  et-vm profile model.pte --debug-map map.json --by module    modules (et-compile --debug-map)
  et-vm profile model.pte --trace out.json             a trace for Perfetto and chrome://tracing
  et-vm profile model.pte --flamegraph out.svg         flame graph by module (other endings: folded stacks)
  et-vm profile --etdump run.etdp                      the events of a recorded run
  et-vm profile --etdump run.etdp --etrecord net.etrecord --debug-buffer run.bin --gap MSE    and numeric gaps
"""

TRAIN = """et-vm train: train a program that et-compile --train --optimizer has made.

examples:
  et-vm train net.pte --data train.npz --save out.ptd                       one epoch
  et-vm train net.pte --data train.npz --save out.ptd --validate val.npz    with the loss of other samples
  et-vm train net.pte --data train.npz --save out.ptd --resume out.ptd      go on
"""

INFO = """et-vm info: describe a program.

examples:
  et-vm info model.pte                   methods, operators, memory, the largest weights
  et-vm info model.pte --kernels aten    mark operators without a kernel in torch
  et-vm info model.pte --json            as JSON, with every weight
  et-vm info model.pte --size --plan     use of file and arena bytes
  et-vm info model.pte --plan --svg plan.svg    draw the arenas: time by offset
  et-vm info model.pte --instructions    disassembly, with source lines if present
"""

DIFF = """et-vm diff: print the differences between two programs; exit code 0 if there are none, 1 otherwise.

examples:
  et-vm diff before.pte after.pte          instructions, memory, weights (- before, + after)
  et-vm diff --all before.pte after.pte    without a limit on lines
  et-vm diff --json before.pte after.pte
"""

GENERATE = """et-vm generate: continue a text with a language model (et-compile hf:FOLDER).

examples:
  et-vm generate model.pte --prompt 'Once upon a time'           greedy decoding, printed as it is generated
  et-vm generate model.pte --prompt - < text.txt --native        machine code; the prompt from a file
  et-vm generate model.pte --prompt 'It was' --temperature 0.8 --top-p 0.9 --seed 1
  et-vm generate model.pte --chat                                a conversation, one message per line
  et-vm generate model.pte --prompt 'Age: ' --regex '[0-9]{1,3}'           constrained text
  et-vm generate model.pte --prompt 'As JSON: ' --json-schema person.json
  et-vm generate large.pte --draft small.pte --prompt 'It was'   speculative decoding
  et-vm generate model.pte --prompt 'It was' --save-session s.safetensors
"""

DEBUG = """et-vm debug: execute a method step by step, forward and back.

examples:
  et-vm debug model.pte                                    random inputs; help lists the commands
  et-vm debug model.pte --input x.npy --debug-map map.json show modules (et-compile --debug-map)
  et-vm debug model.pte --command 'break nan' --command continue --command back --command registers
  et-vm debug model.pte < commands.txt
"""

COMPARE = """et-vm compare: run a program and a reference on the same inputs, and print how much values differ.

examples:
  et-vm compare net.pte model.py:net --debug-map net.json  the module (map: et-compile --debug-map)
  et-vm compare new.pte old.pte --input x.npz              another program
  et-vm compare net.pte edge.mlir                          text of any level, run by the reference evaluator
  et-vm compare net.pte model.py:net --bound 1e-2 --all    with every value, and another bound
  et-vm compare net.pte --nan                              what produces the first NaN or infinity
  et-vm compare run.etdp model.py:net --debug-buffer run.bin --debug-map net.json  a recorded execution
"""

OPS = """et-vm ops: list the operators of programs in the format of ExecuTorch's selective build.

examples:
  et-vm ops model.pte -o selected_operators.yaml    for ExecuTorch's build
  et-vm ops a.pte b.pte                             one runtime for several programs
"""

BUILD = """et-vm build: generate a runtime for microcontrollers, with the kernels that programs use.

examples:
  et-vm build --target cortex-m4 --ops model.pte -o build/      C sources and libet_micro.a
  et-vm build --target cortex-m4 --ops a.pte b.pte -o build/    one runtime for several programs
  et-vm build --target cortex-m4 --ops ops.yaml -o build/       operators listed by et-vm ops or gen_oplist
  et-vm build --target cortex-m4 --cc 'arm-none-eabi-gcc -mcpu=cortex-m4' --ops a.pte -o build/
"""

BUNDLE = """et-vm bundle: write a program with a test case (.bpte), for et-vm verify and for ExecuTorch's runtime.

examples:
  et-vm bundle model.pte --input x.npy --expected y.npy -o model.bpte    expected outputs from a file
  et-vm bundle model.pte --input x.npy -o model.bpte                     expected outputs from a run
  et-vm bundle model.bpte --method decode -o model.bpte                  one more case, with random inputs
"""

REPORT = """et-vm report: write a self-contained HTML page about programs.

examples:
  et-vm report model.pte -o report.html                            graph, instructions, memory, weights
  et-vm report model.pte --debug-map map.json -o report.html       with modules and source lines
  et-vm report before.pte after.pte -o report.html                 two programs and their differences
  et-vm report model.pte --measure 20 -o report.html               with times and the roofline
  et-vm report model.pte --measure 20 --native --threads 2 -o report.html    of machine code, too
  et-vm report model.py:net -o report.html                         compile, with all levels side by side
  et-vm report model.py:net --compile '--backend xnnpack' -o report.html    what was not delegated, and why
  et-vm report model.pte --format json -o report.json              the same facts as JSON
  et-vm report model.pte --format dot -o graph.dot                 the graph, for Graphviz
"""

VERIFY = """et-vm verify: run the test cases bundled with a program (.bpte) and compare the results.

examples:
  et-vm verify model.bpte                         exit code 0 if all results match, 1 otherwise
  et-vm verify model.bpte --rtol 1e-3 --atol 1e-3
"""

VALIDATE = """et-vm validate: check a program; prints nothing if it is valid.

examples:
  et-vm validate model.pte                       well-formed, and calls match their kernels
  et-vm validate model.pte --no-kernels          the file alone, independent of a runtime
  et-vm validate model.pte --kernels portable    also load each method
  et-vm validate model.pte --json                all problems, with table paths and offsets
"""


def _never(_: argparse.Namespace) -> bool:
    return False


def _always(_: argparse.Namespace) -> bool:
    return True


def _runs_text(args: argparse.Namespace) -> bool:
    return args.file.endswith(".mlir")


def _reports_compilation(args: argparse.Namespace) -> bool:
    from et_tools.vm_report import needs_compiler

    return needs_compiler(args)


class Verb(NamedTuple):
    """A subcommand."""

    name: str
    """Its name on the command line."""
    summary: str
    """Its line in the help of `et-vm`."""
    text: str
    """Its help: a sentence, and examples."""
    add_options: Callable[[CommandParser], None]
    """Adds its options to its parser."""
    handler: str
    """`module:function` that carries it out, imported when it is called; the function may return an exit code."""
    files: str = "FILE"
    """The arguments in its usage. Its options add them, unless there is a single file."""
    file_argument: str = "file"
    """The parsed argument whose file, or first file, errors without another file are about."""
    needs_compiler: Callable[[argparse.Namespace], bool] = _never
    """Whether it reads IR or compiles, so that there may be errors of the compiler."""
    other_names: Collection[str] = ()
    """The names that other tools have for it."""

    def run(self, args: argparse.Namespace) -> int:
        """Carry it out. Returns the exit code."""
        module, _, name = self.handler.partition(":")
        code: int | None = getattr(import_module(module), name)(args)
        return ExitCode.OK if code is None else code

    def subject(self, args: argparse.Namespace) -> str:
        """The file that errors are about."""
        files = getattr(args, self.file_argument)
        return files if isinstance(files, str) else files[0]


VERBS: Final = (
    Verb(
        "run",
        "execute a method",
        RUN,
        options.run_options,
        "et_tools.vm_run:run_file",
        needs_compiler=_runs_text,
        other_names=("execute", "infer", "inference", "predict"),
    ),
    Verb(
        "generate",
        "continue a text with a language model",
        GENERATE,
        options.generate_options,
        "et_tools.vm_generate:generate_text",
    ),
    Verb(
        "debug",
        "execute a method step by step, forward and back",
        DEBUG,
        options.debug_options,
        "et_tools.vm_debug:debug_file",
    ),
    Verb(
        "train",
        "train a program with an optimizer",
        TRAIN,
        options.train_options,
        "et_tools.vm_train:train_file",
        other_names=("fit", "finetune"),
    ),
    Verb(
        "profile",
        "measure the time of each instruction",
        PROFILE,
        options.profile_options,
        "et_tools.vm_profile:profile_file",
        other_names=("bench", "benchmark", "time"),
    ),
    Verb(
        "info",
        "describe a program",
        INFO,
        options.info_options,
        "et_tools.vm_info:print_info",
        other_names=("inspect", "show", "dump", "disassemble", "print"),
    ),
    Verb(
        "report",
        "write an HTML page about programs",
        REPORT,
        options.report_options,
        "et_tools.vm_report:report_files",
        "FILE… -o OUTPUT",
        "files",
        _reports_compilation,
        ("html", "visualize", "view"),
    ),
    Verb(
        "diff",
        "print the differences between two programs",
        DIFF,
        options.diff_options,
        "et_tools.vm_diff:diff_files",
        "FILE FILE",
        "files",
    ),
    Verb(
        "compare",
        "compare the values of a program with a reference",
        COMPARE,
        options.compare_options,
        "et_tools.vm_compare:compare_files",
        "FILE [REFERENCE]",
        needs_compiler=_always,
    ),
    Verb(
        "ops",
        "list the operators of programs, for a selective build",
        OPS,
        options.ops_options,
        "et_tools.vm_ops:print_operators",
        "FILE…",
        "files",
    ),
    Verb(
        "build",
        "generate a runtime for microcontrollers",
        BUILD,
        options.build_options,
        "et_tools.vm_build:build_runtime",
        "--target NAME --ops FILE… -o FOLDER",
        "ops",
    ),
    Verb(
        "bundle",
        "add a test case to a program",
        BUNDLE,
        options.bundle_options,
        "et_tools.vm_bundle:bundle_file",
    ),
    Verb(
        "verify",
        "run the test cases bundled with a program",
        VERIFY,
        options.verify_options,
        "et_tools.vm_verify:verify_file",
    ),
    Verb(
        "validate",
        "check a program",
        VALIDATE,
        options.validate_options,
        "et_tools.vm_validate:validate_file",
    ),
)


def verb_named(name: str) -> Verb:
    """The subcommand of a name, which the parser has accepted."""
    return next(verb for verb in VERBS if verb.name == name)


def add_verbs(parser: CommandParser) -> None:
    """Add the subcommands, whose name becomes the argument `verb`."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb in VERBS:
        usage = f"et-vm {verb.name} [options] {verb.files}"
        added = verbs.add_parser(verb.name, help=verb.summary, usage=usage, text=verb.text)
        added.prog = f"et-vm {verb.name}"
        added.other_names = verb.other_names
        if verb.files == "FILE":
            added.add_argument("file", metavar="FILE", help="a .pte file; '-' is standard input")
        verb.add_options(added)
