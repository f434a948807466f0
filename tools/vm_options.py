"""Options of the subcommands of et-vm."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from et_tools.arguments import WIDE, CommandParser, positive_number
from et_tools.vm_generation_options import add_generation_options
from et_tools.vm_kernels import LOAD

__all__ = ["VERBS", "add_verbs"]

KERNEL_LIBRARIES = ("portable", "aten")
BUILD_TARGETS = ("cortex-m0plus", "cortex-m4", "cortex-m7", "cortex-m33", "riscv32imac", "wasm32", "host")


RUN = """et-vm run: execute a method.

examples:
  et-vm run model.pte                                  random inputs, a summary of the outputs
  et-vm run model.pte --input x.npy --output-dir out   an array per input; outputs as .npy files
  et-vm run model.pte --input inputs.npz --json        the arrays of an archive, in order
  et-vm run model.pte --method decode --input ones     another method, with inputs of ones
  et-vm run model.pte --kernels aten --repeat 100      torch's kernels; latency as minimum and median
  et-vm run model.pte --data weights.ptd               weights from another file
  et-vm run model.pte --poison                         overwrite dead memory while running
  et-vm run model.pte --instruction-limit 100000       stop endless loops
  et-vm run model.pte --memory-limit 100000000         bound memory; --work-limit bounds computation
  et-vm run model.pte --load mykernels.py              custom kernels
  et-vm run model.pte --native --threads 2             let machine code in the file run, on two threads
  et-vm run edge.mlir --input x.npy                    a text of any level, by the reference evaluator
"""

PROFILE = """et-vm profile: execute a method repeatedly, and print the time of each instruction.

examples:
  et-vm profile model.pte                              random inputs, 10 executions after 1 of warmup
  et-vm profile model.pte --repeat 50 --by operator    sums by operator, line or module
  et-vm profile model.pte --debug-map map.json --by module    modules (et-compile --debug-map)
  et-vm profile model.pte --trace out.json             for Perfetto and chrome://tracing
  et-vm profile model.pte --flamegraph out.svg         flame graph by module (other endings: folded stacks)
  et-vm profile --etdump run.etdp                      events recorded by a runtime
  et-vm profile --etdump run.etdp --etrecord net.etrecord --debug-buffer run.bin --gap MSE    and their errors
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
  et-vm generate model.pte --prompt 'Once upon a time'           the likeliest text, as it comes
  et-vm generate model.pte --prompt - < text.txt --native        machine code; the prompt from a file
  et-vm generate model.pte --prompt 'It was' --temperature 0.8 --top-p 0.9 --seed 1
  et-vm generate model.pte --chat                                a conversation, a line a message
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

COMPARE = """et-vm compare: run a program and its reference on the same inputs, and print how far values are apart.

examples:
  et-vm compare net.pte model.py:net --debug-map net.json  the module (map: et-compile --debug-map)
  et-vm compare new.pte old.pte --input x.npz              another program
  et-vm compare net.pte edge.mlir                          a text of any level, by the reference evaluator
  et-vm compare net.pte model.py:net --bound 1e-2 --all    with every value, and another bound
  et-vm compare net.pte --nan                              what makes the first NaN, or infinity
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
  et-vm bundle model.pte --input x.npy --expected y.npy -o model.bpte    outputs that something else computed
  et-vm bundle model.pte --input x.npy -o model.bpte                     the outputs of a run
  et-vm bundle model.bpte --method decode -o model.bpte                  one more case, with random inputs
"""

REPORT = """et-vm report: write a page about programs that a browser opens from disk, without any request.

examples:
  et-vm report model.pte -o report.html                            graph, instructions, memory, weights
  et-vm report model.pte --debug-map map.json -o report.html       with modules and source lines
  et-vm report before.pte after.pte -o report.html                 two programs and their differences
  et-vm report model.pte --measure 20 -o report.html               with times and the roofline
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


SECTIONS = (
    ("size", "show the use of the file's bytes and every weight, instead of the summary"),
    ("ops", "show operators and the runtimes that have kernels for them"),
    ("plan", "show the arenas: offset and live range of each tensor, and a lower bound of the size"),
    ("values", "show the values of each method"),
    ("instructions", "show the instructions of each method"),
    ("delegates", "show delegates with their compile specs, and their contents if a decoder is installed"),
)


LIMITS = {
    "memory-limit": "limit on bytes allocated by loading and running: arenas, unplanned tensors, working memory",
    "work-limit": "limit on the work of an execution: elements visited and multiply-adds, plus 1,000 per call",
}


INPUT: dict[str, Any] = {
    "action": "append",
    "metavar": "SOURCE",
    "help": "x.npy, x.npz (its arrays in order), random[:SEED] or ones; repeat for further inputs; "
    "a single random or ones fills all (default: random:0)",
}

DATA: dict[str, Any] = {
    "action": "append",
    "metavar": "FILE",
    "help": "data file (.ptd) with external tensors; repeatable",
}

NATIVE: dict[str, Any] = {
    "action": "store_true",
    "help": "let machine code in the file run: it can do whatever this command can",
}

THREADS: dict[str, Any] = {
    "type": positive_number,
    "metavar": "N",
    "help": "threads that share the work of machine code (default: ET_VM_THREADS, or 1)",
}

INSTRUCTION_LIMIT: dict[str, Any] = {
    "type": positive_number,
    "metavar": "N",
    "help": "trap after N instructions (default: 10,000,000)",
}


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of executions")
    return int(text)


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a tolerance: expected a non-negative number")
    return value


def _add_limits(parser: CommandParser) -> None:
    for name, summary in LIMITS.items():
        parser.add_argument(f"--{name}", type=positive_number, metavar="N", help=summary)


def _add_run_options(parser: CommandParser) -> None:
    parser.add_argument("--method", metavar="NAME", help="default: forward, or the only method")
    parser.add_argument("--input", **INPUT)
    parser.add_argument(
        "--weights", metavar="FILE", help="weight store of a .mlir (default: the .safetensors next to it)"
    )
    parser.add_argument(
        "--output-dir", metavar="DIR", help="write output_0.npy, output_1.npy, … to this folder"
    )
    parser.add_argument("--data", **DATA)
    parser.add_argument(
        "--repeat", type=positive_number, metavar="N", help="execute N times and print the latency"
    )
    parser.add_argument("--kernels", choices=KERNEL_LIBRARIES, default="portable", help="default: portable")
    parser.add_argument("--load", **LOAD)
    parser.add_argument("--native", **NATIVE)
    parser.add_argument("--threads", **THREADS)
    parser.add_argument(
        "--poison", action="store_true", help="overwrite dead memory, to expose lifetime errors"
    )
    parser.add_argument("--instruction-limit", **INSTRUCTION_LIMIT)
    _add_limits(parser)
    parser.add_argument("--wide", **WIDE)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_generate_options(parser: CommandParser) -> None:
    add_generation_options(parser, KERNEL_LIBRARIES)
    parser.add_argument("--native", **NATIVE)
    parser.add_argument("--threads", **THREADS)


def _add_debug_options(parser: CommandParser) -> None:
    parser.add_argument("--method", metavar="NAME", help="default: forward, or the only method")
    parser.add_argument("--input", **INPUT)
    parser.add_argument(
        "--command", action="append", metavar="COMMAND", help="carry out a command and end; repeatable"
    )
    parser.add_argument(
        "--script",
        action="append",
        metavar="FILE",
        help="carry out the commands of a file and end; repeatable",
    )
    parser.add_argument(
        "--debug-map",
        metavar="FILE",
        help="modules and source lines of the instructions, by et-compile --debug-map",
    )
    parser.add_argument("--data", **DATA)
    parser.add_argument("--kernels", choices=KERNEL_LIBRARIES, default="portable", help="default: portable")
    parser.add_argument("--load", **LOAD)
    parser.add_argument("--native", **NATIVE)
    parser.add_argument("--threads", **THREADS)
    parser.add_argument(
        "--poison", action="store_true", help="overwrite dead memory, to expose lifetime errors"
    )
    _add_limits(parser)


def _add_profile_options(parser: CommandParser) -> None:
    parser.add_argument("--method", metavar="NAME", help="default: forward, or the only method")
    parser.add_argument("--input", **INPUT)
    parser.add_argument(
        "--repeat", type=positive_number, default=10, metavar="N", help="executions measured (default: 10)"
    )
    parser.add_argument(
        "--warmup", type=_count, default=1, metavar="N", help="executions before these (default: 1)"
    )
    parser.add_argument(
        "--overhead",
        action="store_true",
        help="alternate with untraced executions, and print the cost of tracing",
    )
    parser.add_argument(
        "--by", choices=("operator", "module", "line"), help="sum over instructions that have this in common"
    )
    parser.add_argument(
        "--debug-map",
        metavar="FILE",
        help="modules and source lines of the instructions, by et-compile --debug-map",
    )
    parser.add_argument("--trace", metavar="FILE", help="write a trace in Chrome's format, for Perfetto")
    parser.add_argument(
        "--flamegraph",
        metavar="FILE",
        help="write a flame graph by module: a drawing as .svg, folded stacks otherwise",
    )
    parser.add_argument(
        "--no-peak", action="store_true", help="do not compare rates with the measured peak of the machine"
    )
    parser.add_argument(
        "--remeasure",
        action="store_true",
        help="measure the peak again (by default, it is measured once per processor)",
    )
    parser.add_argument(
        "--write-etdump", metavar="FILE", help="write the events of all executions for ExecuTorch's tools"
    )
    parser.add_argument(
        "--debug-buffer",
        metavar="FILE",
        help="with --write-etdump: write the values that instructions compute; with --etdump: read them",
    )
    parser.add_argument(
        "--etdump", action="store_true", help="FILE is an ETDump instead of a program: print its events"
    )
    parser.add_argument(
        "--etrecord",
        metavar="FILE",
        help="with --etdump: show operators and modules of the events (written by et-compile --etrecord or ExecuTorch)",
    )
    parser.add_argument(
        "--gap",
        choices=("MSE", "L1", "SNR"),
        help="with --etrecord: print the gap between recorded values and those of the reference graph",
    )
    parser.add_argument("--data", **DATA)
    parser.add_argument("--kernels", choices=KERNEL_LIBRARIES, default="portable", help="default: portable")
    parser.add_argument("--load", **LOAD)
    parser.add_argument("--native", **NATIVE)
    parser.add_argument("--threads", **THREADS)
    _add_limits(parser)
    parser.add_argument("--wide", **WIDE)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_info_options(parser: CommandParser) -> None:
    parser.add_argument(
        "--kernels",
        choices=KERNEL_LIBRARIES,
        default="portable",
        help="mark operators without a kernel in this library (default: portable)",
    )
    parser.add_argument("--load", **LOAD)
    for name, summary in SECTIONS:
        parser.add_argument(f"--{name}", action="store_true", help=summary)
    parser.add_argument("--svg", metavar="FILE", help="also draw the arenas of --plan")
    parser.add_argument(
        "--memory",
        default="",
        metavar="BANKS",
        help="names and sizes of the arenas of --plan, as for et-compile",
    )
    parser.add_argument("--wide", **WIDE)
    parser.add_argument("--json", action="store_true", help="print JSON, with every weight")


def _add_report_options(parser: CommandParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a .pte file, or what et-compile takes, such as file.py:factory; '-' is standard input",
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUTPUT", help="output file; '-' is standard output"
    )
    parser.add_argument(
        "--format", choices=("html", "json", "dot", "model-explorer"), default="html", help="default: html"
    )
    parser.add_argument(
        "--debug-map",
        action="append",
        default=[],
        metavar="MAP",
        help="modules and source lines, by et-compile --debug-map; repeatable, in the order of the files",
    )
    parser.add_argument(
        "--profile",
        action="append",
        default=[],
        metavar="PROFILE",
        help="times, by et-vm profile --json; repeatable, in the order of the files",
    )
    parser.add_argument(
        "--measure", type=positive_number, metavar="N", help="measure times in N executions on random inputs"
    )
    parser.add_argument(
        "--explain",
        action="append",
        default=[],
        metavar="JSON",
        help="what the compiler chose and did not delegate, by et-compile --explain=json or --why-not-delegated=json; "
        "repeatable, in the order of the files",
    )
    parser.add_argument(
        "--levels",
        action="append",
        default=[],
        metavar="FOLDER",
        help="texts of the levels, by et-compile --save-levels; repeatable, in the order of the files",
    )
    parser.add_argument(
        "--compile",
        default="",
        metavar="OPTIONS",
        help="options of et-compile for files that are compiled: '-O2 --backend xnnpack'",
    )


def _add_diff_options(parser: CommandParser) -> None:
    parser.add_argument("files", nargs=2, metavar="FILE", help="a .pte file; '-' is standard input")
    parser.add_argument(
        "--all", action="store_true", help="print all differences of each kind, not only the first 40"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with all differences")


def _add_compare_options(parser: CommandParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="a .pte, a .mlir at any level, an ETDump, or file.py:factory"
    )
    parser.add_argument(
        "reference", nargs="?", metavar="REFERENCE", help="the same: what values are compared with"
    )
    parser.add_argument("--method", metavar="NAME", help="default: forward, or the only method")
    inputs = "example inputs of a factory, else random:0"
    parser.add_argument("--input", **{**INPUT, "help": INPUT["help"].replace("random:0)", f"{inputs})")})
    parser.add_argument(
        "--bound",
        type=_tolerance,
        help="largest difference relative to the largest magnitude (default: by element type, 1e-4 for float32)",
    )
    parser.add_argument(
        "--debug-map", metavar="FILE", help="sources of the instructions, by et-compile --debug-map"
    )
    parser.add_argument("--reference-map", metavar="FILE", help="the same of a reference that is a .pte")
    parser.add_argument("--debug-buffer", metavar="FILE", help="debug buffer with the values of an ETDump")
    parser.add_argument(
        "--nan", action="store_true", help="find what makes the first NaN and the first infinity"
    )
    parser.add_argument(
        "--all", action="store_true", help="print every value, not only those beyond the bound"
    )
    parser.add_argument("--data", **DATA)
    parser.add_argument("--kernels", choices=KERNEL_LIBRARIES, default="portable", help="default: portable")
    parser.add_argument("--load", **LOAD)
    parser.add_argument("--native", **NATIVE)
    parser.add_argument("--threads", **THREADS)
    parser.add_argument("--wide", **WIDE)
    parser.add_argument("--json", action="store_true", help="print JSON, with every value")


def _add_ops_options(parser: CommandParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a .pte file; '-' is standard input")
    parser.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="output file (default: '-', standard output)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_build_options(parser: CommandParser) -> None:
    parser.add_argument(
        "--target",
        required=True,
        choices=BUILD_TARGETS,
        metavar="NAME",
        help=f"processor: {', '.join(BUILD_TARGETS)}",
    )
    parser.add_argument(
        "--ops",
        nargs="+",
        required=True,
        metavar="FILE",
        help="programs (.pte), or lists of operators (.yaml)",
    )
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="output folder")
    parser.add_argument(
        "--cc",
        metavar="COMMAND",
        help="C compiler, with its options for the target (default: zig cc from ziglang)",
    )


def _add_bundle_options(parser: CommandParser) -> None:
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="output file (.bpte); '-' is standard output"
    )
    parser.add_argument("--method", metavar="NAME", help="default: forward, or the only method")
    parser.add_argument("--input", **INPUT)
    parser.add_argument(
        "--expected",
        action="append",
        metavar="SOURCE",
        help="x.npy or x.npz with expected outputs, in order; repeatable (default: the outputs of a run)",
    )
    parser.add_argument("--data", **DATA)
    parser.add_argument("--kernels", choices=KERNEL_LIBRARIES, default="portable", help="default: portable")
    parser.add_argument("--load", **LOAD)


def _add_verify_options(parser: CommandParser) -> None:
    parser.add_argument(
        "--rtol", type=_tolerance, default=1e-5, help="relative tolerance of floats (default: 1e-5)"
    )
    parser.add_argument(
        "--atol", type=_tolerance, default=1e-8, help="absolute tolerance of floats (default: 1e-8)"
    )
    parser.add_argument("--kernels", choices=KERNEL_LIBRARIES, default="portable", help="default: portable")
    parser.add_argument("--load", **LOAD)
    parser.add_argument("--native", **NATIVE)
    parser.add_argument("--threads", **THREADS)
    parser.add_argument(
        "--poison", action="store_true", help="overwrite dead memory, to expose lifetime errors"
    )
    parser.add_argument("--data", **DATA)
    parser.add_argument("--instruction-limit", **INSTRUCTION_LIMIT)
    _add_limits(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_validate_options(parser: CommandParser) -> None:
    linking = parser.add_mutually_exclusive_group()
    linking.add_argument(
        "--kernels",
        choices=KERNEL_LIBRARIES,
        help="check calls against the kernels of this library (default: portable), and load every method with them",
    )
    linking.add_argument(
        "--no-kernels", action="store_true", help="check the file alone, without matching calls to kernels"
    )
    parser.add_argument("--load", **LOAD)
    parser.add_argument("--data", **DATA)
    parser.add_argument("--json", action="store_true", help="print JSON")


class Verb(NamedTuple):
    """A subcommand."""

    name: str
    summary: str
    text: str
    """Its help: a sentence, and examples."""
    add_options: Callable[[CommandParser], None]
    files: str = "FILE"
    """Files that it reads, in its usage; a single one unless it adds them itself."""


VERBS: Final = (
    Verb("run", "execute a method", RUN, _add_run_options),
    Verb("generate", "continue a text with a language model", GENERATE, _add_generate_options),
    Verb("debug", "execute a method step by step, forward and back", DEBUG, _add_debug_options),
    Verb("profile", "measure the time of each instruction", PROFILE, _add_profile_options),
    Verb("info", "describe a program", INFO, _add_info_options),
    Verb("report", "write a page about programs", REPORT, _add_report_options, "FILE… -o OUTPUT"),
    Verb("diff", "print the differences between two programs", DIFF, _add_diff_options, "FILE FILE"),
    Verb(
        "compare",
        "compare the values of a program with a reference",
        COMPARE,
        _add_compare_options,
        "FILE [REFERENCE]",
    ),
    Verb("ops", "list the operators of programs, for a selective build", OPS, _add_ops_options, "FILE…"),
    Verb(
        "build",
        "generate a runtime for microcontrollers",
        BUILD,
        _add_build_options,
        "--target NAME --ops FILE… -o FOLDER",
    ),
    Verb("bundle", "add a test case to a program", BUNDLE, _add_bundle_options),
    Verb("verify", "run the test cases bundled with a program", VERIFY, _add_verify_options),
    Verb("validate", "check a program", VALIDATE, _add_validate_options),
)


def add_verbs(parser: CommandParser) -> None:
    """The subcommands, whose name becomes the argument `verb`."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb in VERBS:
        usage = f"et-vm {verb.name} [options] {verb.files}"
        added = verbs.add_parser(verb.name, help=verb.summary, usage=usage, text=verb.text)
        added.prog = f"et-vm {verb.name}"
        if verb.files == "FILE":
            added.add_argument("file", metavar="FILE", help="a .pte file; '-' is standard input")
        verb.add_options(added)
