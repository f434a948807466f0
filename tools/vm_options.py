"""Options of the subcommands of et-vm."""

from __future__ import annotations

from typing import Any, Final

from et_tools.arguments import (
    ANY_DATA,
    WIDE,
    CommandParser,
    also_called,
    natural_number,
    positive_number,
    tolerance,
)
from et_tools.vm_generation_options import add_generation_options
from et_tools.vm_kernels import LOAD

__all__ = [
    "BUILD_TARGETS",
    "build_options",
    "bundle_options",
    "compare_options",
    "debug_options",
    "diff_options",
    "generate_options",
    "info_options",
    "ops_options",
    "profile_options",
    "report_options",
    "run_options",
    "validate_options",
    "verify_options",
]

KERNEL_LIBRARIES = ("portable", "aten")
_REPETITIONS: Final = ("iterations", "iters", "runs", "times")
"""Names that other tools have for the number of executions."""
BUILD_TARGETS = ("cortex-m0plus", "cortex-m4", "cortex-m7", "cortex-m33", "riscv32imac", "wasm32", "host")


SECTIONS = (
    ("size", "show the use of the file's bytes and every weight, instead of the summary"),
    ("ops", "show operators and the runtimes that have kernels for them"),
    ("plan", "show the arenas: offset and live range of each tensor, and a lower bound of the size"),
    ("values", "show the values of each method"),
    ("instructions", "show the instructions of each method"),
    ("delegates", "show delegates with their compile specs, and their contents if a decoder is installed"),
)


SHARED: Final[dict[str, dict[str, Any]]] = {
    "--method": {"metavar": "NAME", "help": "default: forward, or the only method"},
    "--input": {
        "action": "append",
        "metavar": "SOURCE",
        "help": "x.npy, x.npz (its arrays in order), random[:SEED] or ones; repeat for further inputs; "
        "a single random or ones fills all (default: random:0)",
    },
    "--data": {
        "action": "append",
        "metavar": "FILE",
        "help": "data file (.ptd) with external tensors; repeatable",
    },
    "--any-data": ANY_DATA,
    "--debug-map": {
        "metavar": "FILE",
        "help": "modules and source lines of the instructions, by et-compile --debug-map",
    },
    "--kernels": {"choices": KERNEL_LIBRARIES, "default": "portable", "help": "default: portable"},
    "--load": LOAD,
    "--native": {
        "action": "store_true",
        "help": "let machine code in the file run: it can do whatever this command can",
    },
    "--threads": {
        "type": positive_number,
        "metavar": "N",
        "help": "threads for machine code (default: ET_VM_THREADS, or 1)",
    },
    "--poison": {"action": "store_true", "help": "overwrite dead memory, to expose lifetime errors"},
    "--instruction-limit": {
        "type": positive_number,
        "metavar": "N",
        "help": "trap after N instructions, of a text above the executorch level after N ops (default: 10,000,000)",
    },
    "--memory-limit": {
        "type": positive_number,
        "metavar": "N",
        "help": "limit on bytes allocated by loading and running: arenas, unplanned tensors, working memory",
    },
    "--work-limit": {
        "type": positive_number,
        "metavar": "N",
        "help": "limit on the work of an execution: elements visited and multiply-adds, plus 1,000 per call",
    },
    "--wide": WIDE,
    "--json": {"action": "store_true", "help": "print JSON"},
}
"""Options that several subcommands have, with the same meaning."""


def _add(parser: CommandParser, *options: str) -> None:
    """Add options of `SHARED`."""
    for option in options:
        added = parser.add_argument(option, **SHARED[option])
        if option == "--input":
            also_called(added, "i")


def run_options(parser: CommandParser) -> None:
    """Add the options of `et-vm run`."""
    _add(parser, "--method", "--input")
    parser.add_argument(
        "--weights", metavar="FILE", help="weight store of a .mlir (default: the .safetensors next to it)"
    )
    parser.add_argument(
        "--output-dir", metavar="DIR", help="write output_0.npy, output_1.npy, … to this folder"
    )
    _add(parser, "--data", "--any-data")
    repeat = parser.add_argument(
        "--repeat", type=positive_number, metavar="N", help="execute N times and print the latency"
    )
    also_called(repeat, *_REPETITIONS)
    parser.add_argument(
        "--in-flight",
        type=positive_number,
        metavar="N",
        help="with --repeat: N executions at once, each in memory of its own; print throughput and latency",
    )
    _add(
        parser,
        "--kernels",
        "--load",
        "--native",
        "--threads",
        "--poison",
        "--instruction-limit",
        "--memory-limit",
        "--work-limit",
        "--wide",
        "--json",
    )


def generate_options(parser: CommandParser) -> None:
    """Add the options of `et-vm generate`."""
    add_generation_options(parser, KERNEL_LIBRARIES)
    _add(parser, "--native", "--threads")


def train_options(parser: CommandParser) -> None:
    """Add the options of `et-vm train`."""
    add = parser.add_argument
    add(
        "--data",
        required=True,
        metavar="FILE.npz",
        help="samples: an array for each input, named like the inputs or in their order, with a sample in each row",
    )
    add(
        "--save",
        required=True,
        metavar="FILE",
        help="write the state, after each epoch and on Ctrl-C: .ptd or .safetensors",
    )
    add("--method", metavar="NAME", help="the training step (default: train_step)")
    add("--epochs", type=positive_number, default=1, metavar="N", help="passes over the samples (default: 1)")
    add(
        "--batch",
        type=positive_number,
        metavar="N",
        help="samples of a step (default: those that the method takes); an incomplete batch is left out",
    )
    add("--lr", type=float, metavar="RATE", help="learning rate, of a program compiled with lr=input")
    add(
        "--validate",
        metavar="FILE.npz",
        help="samples whose loss the method forward computes after each epoch",
    )
    add(
        "--patience",
        type=positive_number,
        metavar="N",
        help="stop after N epochs without a lower loss of --validate, and keep the state of the lowest",
    )
    add("--resume", metavar="FILE", help="begin with a state that --save has written")
    add("--seed", type=int, default=0, metavar="N", help="of the order of the samples (default: 0)")
    _add(
        parser,
        "--kernels",
        "--load",
        "--native",
        "--threads",
        "--poison",
        "--memory-limit",
        "--work-limit",
        "--json",
    )


def debug_options(parser: CommandParser) -> None:
    """Add the options of `et-vm debug`."""
    _add(parser, "--method", "--input")
    parser.add_argument(
        "--command",
        action="append",
        metavar="COMMAND",
        help="execute a debugger command, then exit; repeatable",
    )
    parser.add_argument(
        "--script",
        action="append",
        metavar="FILE",
        help="execute the debugger commands in a file, then exit; repeatable",
    )
    _add(
        parser,
        "--debug-map",
        "--data",
        "--any-data",
        "--kernels",
        "--load",
        "--native",
        "--threads",
        "--poison",
        "--memory-limit",
        "--work-limit",
    )


def profile_options(parser: CommandParser) -> None:
    """Add the options of `et-vm profile`."""
    _add(parser, "--method", "--input")
    repeat = parser.add_argument(
        "--repeat", type=positive_number, default=10, metavar="N", help="executions measured (default: 10)"
    )
    also_called(repeat, *_REPETITIONS)
    parser.add_argument(
        "--warmup", type=natural_number, default=1, metavar="N", help="executions before these (default: 1)"
    )
    parser.add_argument(
        "--overhead",
        action="store_true",
        help="alternate with untraced executions, and print the cost of tracing",
    )
    parser.add_argument(
        "--by",
        choices=("operator", "module", "line"),
        help="sum over the instructions of each operator, module or line",
    )
    _add(parser, "--debug-map")
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
    _add(
        parser,
        "--data",
        "--any-data",
        "--kernels",
        "--load",
        "--native",
        "--threads",
        "--memory-limit",
        "--work-limit",
        "--wide",
        "--json",
    )


def info_options(parser: CommandParser) -> None:
    """Add the options of `et-vm info`."""
    parser.add_argument(
        "--kernels",
        choices=KERNEL_LIBRARIES,
        default="portable",
        help="mark operators without a kernel in this library (default: portable)",
    )
    _add(parser, "--load")
    for name, summary in SECTIONS:
        section = parser.add_argument(f"--{name}", action="store_true", help=summary)
        if name == "size":
            also_called(section, "weights", "sizes")
    parser.add_argument("--svg", metavar="FILE", help="also draw the arenas of --plan")
    parser.add_argument(
        "--memory",
        default="",
        metavar="BANKS",
        help="names and sizes of the arenas of --plan, as in --plan --memory sram:id=1,size=64K",
    )
    _add(parser, "--wide")
    parser.add_argument("--json", action="store_true", help="print JSON, with every weight")


def report_options(parser: CommandParser) -> None:
    """Add the options of `et-vm report`."""
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
        "--format",
        choices=("html", "json", "dot", "model-explorer"),
        help="default: by the suffix of the output, html without one",
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
    measure = parser.add_argument(
        "--measure", type=positive_number, metavar="N", help="measure times in N executions, on --input"
    )
    also_called(measure, "repeat", *_REPETITIONS)
    _add(
        parser,
        "--method",
        "--input",
        "--data",
        "--any-data",
        "--kernels",
        "--load",
        "--native",
        "--threads",
        "--memory-limit",
        "--work-limit",
    )
    parser.add_argument(
        "--explain",
        action="append",
        default=[],
        metavar="JSON",
        help="the compiler's choices, by et-compile --explain=json, or ops that were not delegated, by "
        "--why-not-delegated=json; repeatable, in the order of the files",
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


def diff_options(parser: CommandParser) -> None:
    """Add the options of `et-vm diff`."""
    parser.add_argument("files", nargs=2, metavar="FILE", help="a .pte file; '-' is standard input")
    parser.add_argument(
        "--all", action="store_true", help="print all differences of each kind, not only the first 40"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with all differences")


def compare_options(parser: CommandParser) -> None:
    """Add the options of `et-vm compare`."""
    parser.add_argument(
        "file", metavar="FILE", help="a .pte, a .mlir at any level, an ETDump, or file.py:factory"
    )
    parser.add_argument(
        "reference", nargs="?", metavar="REFERENCE", help="the reference, given in the same way"
    )
    _add(parser, "--method")
    inputs = "example inputs of a factory, else random:0"
    usual = SHARED["--input"]
    parser.add_argument("--input", **{**usual, "help": usual["help"].replace("random:0)", f"{inputs})")})
    bound = parser.add_argument(
        "--bound",
        type=tolerance,
        metavar="NUMBER",
        help="largest difference relative to the largest magnitude (default: by element type, 1e-4 for float32)",
    )
    also_called(bound, "rtol", "atol", "tolerance", "threshold")
    parser.add_argument(
        "--debug-map", metavar="FILE", help="sources of the instructions, by et-compile --debug-map"
    )
    parser.add_argument("--reference-map", metavar="FILE", help="debug map of the reference, if it is a .pte")
    parser.add_argument("--debug-buffer", metavar="FILE", help="debug buffer with the values of an ETDump")
    parser.add_argument(
        "--nan",
        action="store_true",
        help="find the instructions that produce the first NaN and the first infinity",
    )
    parser.add_argument(
        "--all", action="store_true", help="print every value, not only those beyond the bound"
    )
    _add(parser, "--data", "--any-data", "--kernels", "--load", "--native", "--threads", "--wide")
    parser.add_argument("--json", action="store_true", help="print JSON, with every value")


def ops_options(parser: CommandParser) -> None:
    """Add the options of `et-vm ops`."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="a .pte file; '-' is standard input")
    parser.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="output file (default: '-', standard output)"
    )
    _add(parser, "--json")


def build_options(parser: CommandParser) -> None:
    """Add the options of `et-vm build`."""
    parser.add_argument(
        "--target",
        required=True,
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


def bundle_options(parser: CommandParser) -> None:
    """Add the options of `et-vm bundle`."""
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="output file (.bpte); '-' is standard output"
    )
    _add(parser, "--method", "--input")
    parser.add_argument(
        "--expected",
        action="append",
        metavar="SOURCE",
        help="x.npy or x.npz with expected outputs, in order; repeatable (default: the outputs of a run)",
    )
    _add(parser, "--data", "--any-data", "--kernels", "--load", "--native")


def verify_options(parser: CommandParser) -> None:
    """Add the options of `et-vm verify`."""
    parser.add_argument(
        "--rtol",
        type=tolerance,
        default=1e-5,
        metavar="NUMBER",
        help="relative tolerance of floats (default: 1e-5)",
    )
    parser.add_argument(
        "--atol",
        type=tolerance,
        default=1e-8,
        metavar="NUMBER",
        help="absolute tolerance of floats (default: 1e-8)",
    )
    _add(
        parser,
        "--kernels",
        "--load",
        "--native",
        "--threads",
        "--poison",
        "--data",
        "--any-data",
        "--instruction-limit",
        "--memory-limit",
        "--work-limit",
        "--json",
    )


def validate_options(parser: CommandParser) -> None:
    """Add the options of `et-vm validate`."""
    linking = parser.add_mutually_exclusive_group()
    linking.add_argument(
        "--kernels",
        choices=KERNEL_LIBRARIES,
        help="check calls against the kernels of this library (default: portable), and load every method with them",
    )
    linking.add_argument(
        "--no-kernels", action="store_true", help="check the file alone, without matching calls to kernels"
    )
    _add(parser, "--load", "--data", "--any-data", "--native", "--json")
