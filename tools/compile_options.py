"""The command line of et-compile: its options, what they may be together, and what they say of the compilation."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from pathlib import Path

from et_ir.driver.presets import DEFAULT, PRESETS
from et_ir.targets.lookup import DEFAULT as DEFAULT_TARGET
from et_ir.targets.lookup import find_target, target_names
from et_tools.arguments import ALIGNMENTS, WIDE, CommandParser, positive_number
from et_tools.exit_codes import UsageError
from et_tools.output import check_output, check_output_folder
from et_tools.pass_options import add_pass_options

__all__ = [
    "FREESTANDING_FORMS",
    "LEVELS",
    "MACHINE_LEVELS",
    "default_bounds",
    "extra_backends",
    "extra_operators",
    "is_file",
    "is_text",
    "parse_options",
]

FORMATS = ("text", "json")
"""Formats of `--explain`."""

EXAMPLES = "inputs"
"""The value of `--check-passes` for the example inputs."""

LEVELS = ("aten", "core-aten", "edge", "backend", "executorch", "pte")
"""Levels at which a compilation can stop, in order."""
MACHINE_LEVELS = ("loops", "vector", "llvm", "asm", "tosa", "spirv")
"""Levels of the partitions of a backend, which is what `--emit` prints there."""
FREESTANDING_FORMS = ("object", "archive", "c-header")
"""What `--emit` writes of a program for a processor without a runtime, beside `asm`."""


def parse_options(
    text: str,
    arguments: list[str],
    command: str = "et-compile",
    extend: Callable[[CommandParser], None] | None = None,
) -> argparse.Namespace:
    """The options of a command line; `text` is what the help begins with. Raises `UsageError` for what cannot be.

    Another command that compiles may `extend` the parser by options of its own; what it compiles is not written.
    """
    # Without a value these options must not take the model for one.
    alone = {"--explain": f"--explain={FORMATS[0]}", "--check-passes": f"--check-passes={EXAMPLES}"}
    arguments = [alone.get(argument, argument) for argument in arguments]
    parser = _parser(text, command)
    if extend is not None:
        extend(parser)
    args = parser.parse_args(arguments)
    if extend is not None and args.emit == "pte":
        args.emit = "executorch"
    _check(args)
    return args


def _parser(text: str, command: str) -> CommandParser:
    output = "-o FILE " if command == "et-compile" else ""
    parser = CommandParser(command, f"{command} MODEL {output}[options]", text)
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        help="file.py:factory, package.module:factory, a .pt2, a .mlir at any level, a .pte, or hf:FOLDER: the "
        "configuration, safetensors and tokenizer of a language model",
    )
    add("-o", "--output", metavar="FILE", help="output file; '-' is standard output, the default for text")
    emitted = (*LEVELS, *MACHINE_LEVELS, *FREESTANDING_FORMS)
    add(
        "--emit",
        choices=emitted,
        default="pte",
        help="the level to stop at (default: pte); loops, vector, llvm and asm are of --backend native, tosa of "
        "--backend tosa or ethos-u, spirv of --backend vulkan; object, archive, c-header and asm of a --target that "
        "is a processor",
    )
    add(
        "--target",
        default=DEFAULT_TARGET,
        metavar="NAME",
        help=f"runtime to compile for: {', '.join(target_names())}, FILE.py:ATTRIBUTE, or a processor to "
        "compile an object for: cortex-m4, aarch64, x86-64 (default: %(default)s)",
    )
    add(
        "--pic",
        action="store_true",
        help="with a processor as --target, generate position-independent code",
    )
    add(
        "-O",
        dest="level",
        default=DEFAULT,
        choices=tuple(PRESETS),
        help="optimization level: "
        + "; ".join(f"-O{one.level} {one.summary}" for one in PRESETS.values())
        + f" (default: -O{DEFAULT})",
    )
    add(
        "--explain",
        choices=FORMATS,
        metavar="=text|json",
        help="report the chosen lowering of each operator, its alternatives and estimated costs, and what each pass "
        "saved: as a table on stderr, or as JSON on standard output",
    )
    add("--wide", **WIDE)
    add(
        "--load",
        action="append",
        default=[],
        metavar="FILE",
        help="Python file or module that defines dialects, passes, targets, backends, custom operators, or kernels "
        "(@et_vm.kernel) and backends (et_vm.Backend) for et-vm; repeatable",
    )
    add(
        "--pass",
        dest="passes",
        action="append",
        default=[],
        metavar="LEVEL:PIPELINE",
        help="run passes when the program is at a level, before it is checked ('edge:fuse-fma{limit=2},cse'), at "
        "executorch before memory is planned; repeatable",
    )
    add_pass_options(parser, verify_each=False)
    add(
        "--extra-operators",
        action="append",
        default=[],
        metavar="NAMES",
        help="operators that your runtime has kernels for in addition to the target's: 'mylib::foo.out,mylib::bar.out'",
    )
    add(
        "--extra-backends",
        action="append",
        default=[],
        metavar="IDS",
        help="ids of backends that your runtime has in addition to the target's: 'StripsBackend'",
    )
    add(
        "--preserve",
        action="append",
        default=[],
        metavar="OP",
        help=(
            "do not decompose this operator, although it is not Core ATen or has no out variant "
            "('mylib::foo'); repeatable"
        ),
    )
    add(
        "--dequantize-weights",
        action="store_true",
        help="dequantize weights at compile time: larger file, no dequantization at run time",
    )
    add(
        "--quantize",
        metavar="MODE",
        help="quantize the module, and print a table of its layers: int8[:functions=8] (weights and activations), "
        "int8-dynamic (scales of activations computed at run time), int8-weights, 8da4w[:group=N,embedding=4] (linear "
        "layers: weights of 4 bits and activations of 8 bits with scales computed at run time)",
    )
    add(
        "--quantized-io",
        action="store_true",
        help="take and return integers where inputs are quantized and outputs are restored; constant methods have "
        "their scales and zero points",
    )
    add(
        "--calibrate",
        metavar="DATA",
        help="inputs that --quantize runs the module on: a .npz with an array for each input, in order, or a function "
        "of the factory's file that yields tuples of inputs",
    )
    add(
        "--keep-float",
        action="append",
        default=[],
        metavar="PATTERN",
        help="modules that --quantize leaves in floats, by their path: 'head.*'; repeatable",
    )
    add(
        "--accuracy",
        metavar="PERCENT%:FUNCTION",
        help="leave the fewest layers in floats such that FUNCTION(module) of the factory's file loses at most this "
        "part of its value: '0.5%%:evaluate'",
    )
    add(
        "--backend",
        action="append",
        default=[],
        metavar="NAME[:key=value,…]",
        help="delegate to this backend what it supports; several (native,openvino) are tried in the order given",
    )
    add(
        "--choose",
        choices=("first", "fastest"),
        default="first",
        help="which of several backends gets a partition that all can take: the first, or the fastest on this machine, "
        "measured by running the compiled code (times are cached)",
    )
    add(
        "--tune",
        action="store_true",
        help="choose the algorithms of --backend native by measuring them on this machine, which runs the compiled "
        "code (times are cached)",
    )
    add(
        "--why-not-delegated",
        nargs="?",
        const="text",
        choices=("text", "json"),
        help="report why each remaining op was not delegated, with its source line, and totals by reason",
    )
    add(
        "--memory-planning",
        default="best",
        metavar="NAME",
        help="planning algorithm: best (default), exact, greedy, naive, upstream, or an installed one",
    )
    add(
        "--planner",
        dest="memory_planning",
        metavar="MODULE:FUNCTION",
        help="custom planning function instead, also as FILE.py:FUNCTION",
    )
    add(
        "--check-passes",
        metavar="=inputs|random[:SEED]|FILE.npz",
        help="run the program before and after each pass, and stop at the first pass that changes its results: on the "
        "example inputs (default; random ones where there are none), random inputs, or the arrays of a file",
    )
    add(
        "--check-bound",
        type=_bound,
        metavar="BOUND",
        help="largest difference that --check-passes accepts, relative to the largest magnitude of the result "
        "(default: 1e-4 for float32, 1e-9 for float64, 1e-2 for float16, 6e-2 for bfloat16, 0 for integers)",
    )
    add("--check-plan", action="store_true", help="verify memory plans with an independent checker")
    add(
        "--memory",
        default="",
        metavar="BANKS",
        help="memory banks with sizes and speeds, fastest first: 'sram:id=1,size=256K;dram:id=2'; exit code 6 if the "
        "program does not fit",
    )
    add(
        "--pin",
        action="append",
        default=[],
        metavar="VALUE=BANK",
        help="place a value in a bank: 'forward.inputs.0=dram', 'decode.state.cache.*=dram', or "
        "'forward.modules.encoder=sram' for all values of a submodule; repeatable, the last match wins",
    )
    add(
        "--no-plan-inputs",
        action="store_true",
        help="leave inputs unplanned: the caller provides their memory",
    )
    add(
        "--no-plan-outputs",
        action="store_true",
        help="leave outputs unplanned: the caller provides their memory",
    )
    add(
        "--caller-memory",
        action="append",
        default=[],
        metavar="VALUE",
        help=(
            "leave one input or output unplanned: 'forward.inputs.0', or all of a method: "
            "'decode.outputs'; repeatable"
        ),
    )
    add(
        "--external-constants",
        action="append",
        default=[],
        metavar="[NAMES=]FILE",
        help="write constants to a data file (.ptd) next to the program; NAMES is a glob: 'encoder.*=encoder.ptd'",
    )
    add(
        "--default-bound",
        action="append",
        default=[],
        metavar="NAME=N",
        help=(
            "upper bound of a size that the export leaves unbounded, by symbol ('s77=4096') or by input "
            "and dimension ('x.0=64')"
        ),
    )
    add(
        "--unbounded",
        default="error",
        choices=("error", "runtime"),
        help="tensors without an upper bound are an error, or are allocated by et-vm at run time",
    )
    add(
        "--max-len",
        type=positive_number,
        metavar="N",
        help="positions that the cache of hf:FOLDER holds (default: those of the model, at most 2048)",
    )
    add(
        "--max-prefill",
        type=positive_number,
        metavar="N",
        help="most tokens of hf:FOLDER in one call; longer prompts take several calls (default: 128)",
    )
    add(
        "--image-size",
        type=_image_size,
        metavar="HxW",
        help="image size in pixels for hf:FOLDER, to which images are scaled (default: that of the model)",
    )
    add(
        "--all-logits",
        action="store_true",
        help="have hf:FOLDER return the logits of every token of a call, not only of the last",
    )
    add(
        "--quantize-cache",
        action="store_true",
        help="store keys and values of hf:FOLDER in 8 bits, with a scale per position and head",
    )
    add(
        "--custom-sdpa",
        action="store_true",
        help="have hf:FOLDER use llama::custom_sdpa for attention, as ExecuTorch's language model runners expect",
    )
    add("--emit-stacktrace", action="store_true", help="store source lines in the file, for run-time errors")
    parser.add_alignments()
    add(
        "--dump-buffers",
        metavar="FILE",
        help="write the buffers of the memory plan as CSV, with their offsets, in the format that et-plan reads",
    )
    add("--debug-map", metavar="FILE", help="write the source location of each instruction as JSON")
    add(
        "--etrecord",
        metavar="FILE",
        help="write an ETRecord (the program's graphs, and the node of each instruction) for ExecuTorch's Inspector",
    )
    add(
        "--save-levels",
        metavar="FOLDER",
        help="also write the text of each level with its locations, as aten.mlir, edge.mlir, …, without weights",
    )
    add(
        "--bundle",
        metavar="FILE",
        help="also write the program with a test case for each method (.bpte): the example inputs, and what torch "
        "computes from them",
    )
    add("-g", "--print-debuginfo", action="store_true", help="print locations in text")
    add("--weights", metavar="FILE", help="weight store of a .mlir (default: the .safetensors next to it)")
    add(
        "--data",
        action="append",
        default=[],
        metavar="FILE",
        help="data file (.ptd) that belongs to a .pte which is compiled again; repeatable",
    )
    add("--table", action="store_true", help="print the op counts of each level on stderr")
    add("-q", "--quiet", action="store_true", help="do not print progress")
    parser.add_version()
    return parser


def _image_size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([1-9][0-9]{0,4})x([1-9][0-9]{0,4})", text)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a size: expected HEIGHTxWIDTH in pixels, such as 224x224"
        )
    return int(found[1]), int(found[2])


def _bound(text: str) -> float:
    try:
        bound = float(text)
    except ValueError:
        bound = -1.0
    if not bound >= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a bound: expected a non-negative number")
    return bound


def is_file(model: str) -> bool:
    """Whether a model is given as a compiled program, by its content."""
    path = Path(model)
    if not path.is_file():
        return model.endswith(".pte")
    with path.open("rb") as stream:
        return stream.read(6)[4:] == b"ET"


def is_text(model: str) -> bool:
    """Whether a model is given as text, and not as a program of torch."""
    return model.endswith(".mlir") or model == "-"


def _check(args: argparse.Namespace) -> None:
    is_program = args.emit == "pte" and args.stop_after is None
    if args.explain == "json" and (args.output == "-" or (not is_program and args.output is None)):
        raise UsageError("--explain=json and the program both go to standard output: give -o FILE")
    if is_program and args.output is None and not args.print_pipeline:
        raise UsageError("no output file: give -o FILE ('-' for standard output)")
    if args.emit != "pte" and any(getattr(args, name) is not None for name in ALIGNMENTS):
        raise UsageError(f"alignment options apply to .pte files only, not to --emit {args.emit}")
    if args.debug_map is not None and args.stop_after is not None:
        raise UsageError("--debug-map needs instructions, which --stop-after may not reach")
    if args.debug_map is not None and args.emit not in ("executorch", "pte"):
        raise UsageError(f"--debug-map needs instructions, which --emit {args.emit} does not have")
    if args.etrecord is not None and not is_program:
        raise UsageError("--etrecord needs a program: leave out --emit and --stop-after")
    if args.dump_buffers is not None and args.emit not in ("executorch", "pte"):
        raise UsageError(f"--dump-buffers needs a memory plan, which --emit {args.emit} does not have")
    if args.bundle is not None and not is_program:
        raise UsageError("--bundle needs a program: leave out --emit and --stop-after")
    if not args.model.startswith("hf:"):
        for option, value in (
            ("--max-len", args.max_len),
            ("--max-prefill", args.max_prefill),
            ("--image-size", args.image_size),
            ("--all-logits", args.all_logits),
            ("--quantize-cache", args.quantize_cache),
            ("--custom-sdpa", args.custom_sdpa),
        ):
            if value:
                raise UsageError(f"{option} applies to hf:FOLDER only; {args.model} is none")
    compiled = is_file(args.model)
    if args.data and not compiled:
        raise UsageError(f"--data applies to .pte input only; {args.model} is none")
    if compiled and args.emit in LEVELS[:2]:
        raise UsageError(f"--emit {args.emit}: a .pte is raised to the edge level, not beyond")
    if args.bundle is not None and (is_text(args.model) or compiled):
        raise UsageError(f"--bundle needs example inputs, which {args.model} does not have; use et-vm bundle")
    if args.bundle is not None and "-" in (args.bundle, args.output):
        raise UsageError("--bundle and -o need file names")
    if args.check_bound is not None and args.check_passes is None:
        raise UsageError("--check-bound needs --check-passes")
    if args.check_passes is not None and compiled:
        raise UsageError(f"--check-passes does not apply to .pte input: {args.model} is one")
    if args.dump_buffers == "-":
        raise UsageError("--dump-buffers needs a file name")
    text = is_text(args.model)
    if args.weights is not None and not text:
        raise UsageError(f"--weights applies to .mlir input only; {args.model} contains its weights")
    for output in (args.output, args.debug_map, args.etrecord, args.dump_buffers, args.bundle):
        if output is not None:
            check_output(output)
    if args.save_levels is not None:
        check_output_folder(args.save_levels)
    source = args.model if text or compiled or args.model.endswith(".pt2") else args.model.rpartition(":")[0]
    if args.output is not None and _is_same_file(args.output, source) and not (text and args.emit != "pte"):
        raise UsageError(f"-o {args.output} would overwrite the input")
    if args.default_bound and (text or compiled):
        raise UsageError("--default-bound applies to PyTorch input only; in .mlir use program.range")
    others = (
        ("--debug-map", args.debug_map),
        ("--etrecord", args.etrecord),
        ("--dump-buffers", args.dump_buffers),
        ("--bundle", args.bundle),
    )
    for option, file in others:
        if file is not None and any(_is_same_file(file, other) for other in (args.output, source)):
            raise UsageError(f"{option} {file} is also the input or output file")


def _is_same_file(one: str, other: str | None) -> bool:
    return other is not None and "-" not in (one, other) and os.path.realpath(one) == os.path.realpath(other)


def extra_operators(args: argparse.Namespace) -> list[str]:
    """The operators that the runtime has beside the target's: those that are named, and for et-vm those of the files
    that are loaded. Raises `UsageError`.
    """
    from et_tools.vm_kernels import load_files, published_operators

    names = [name.strip() for given in args.extra_operators for name in given.split(",")]
    if args.custom_sdpa:
        names.append("llama::custom_sdpa.out")
    for name in names:
        if re.fullmatch(r"\w+::\w+(\.\w+)?", name) is None:
            raise UsageError(f"--extra-operators {name}: expected operator names such as 'mylib::foo.out'")
    loaded = load_files(args.load)
    runtime = find_target(args.target)
    if runtime.vm_kernels is not None:
        names += [name for kernels in loaded for name in kernels.names]
        names += published_operators("et-compile")
    if args.load and runtime.vm_kernels == "aten":
        from et_vm.kernels.aten.schema import custom_operators

        names += custom_operators()
    return sorted(set(names))


def extra_backends(args: argparse.Namespace) -> list[str]:
    """The backends that the runtime has beside the target's: those that are named, and for et-vm those of the files
    that are loaded and of packages. Raises `UsageError`.
    """
    names = [name.strip() for given in args.extra_backends for name in given.split(",")]
    for name in names:
        if re.fullmatch(r"[\w.:/-]+", name) is None:
            raise UsageError(f"--extra-backends {name}: expected backend ids such as 'StripsBackend'")
    if find_target(args.target).vm_kernels is not None:
        from et_tools.vm_backends import added_backends

        names += added_backends(args.load)
    return sorted(set(names))


def default_bounds(args: argparse.Namespace) -> dict[str, int]:
    """The bounds by name. Raises `UsageError`."""
    bounds: dict[str, int] = {}
    for given in args.default_bound:
        name, _, bound = given.partition("=")
        if not bound.isdecimal():
            raise UsageError(f"--default-bound {given}: expected NAME=N, for example s77=4096 or x.0=64")
        bounds[name] = int(bound)
    return bounds
