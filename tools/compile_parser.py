"""Command-line parser of et-compile, in groups of related options."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from et_backends.freestanding.compiler.targets import FREESTANDING_TARGETS
from et_ir.driver.presets import DEFAULT, PRESETS
from et_ir.targets.lookup import DEFAULT as DEFAULT_TARGET
from et_ir.targets.lookup import target_names
from et_schema.whole_numbers import shortened
from et_tools.arguments import (
    ANY_DATA,
    WIDE,
    CommandParser,
    add_alignments,
    also_called,
    natural_number,
    positive_number,
    tolerance,
)
from et_tools.compile_partitions import partition_levels
from et_tools.pass_options import add_pass_options

__all__ = [
    "FORMATS",
    "FREESTANDING_FORMS",
    "LANGUAGE_MODEL_OPTIONS",
    "LEVELS",
    "QUANTIZATION_MODES",
    "compile_parser",
]

FORMATS: Final = ("text", "json")
"""Formats of `--explain`."""
QUANTIZATION_MODES: Final = ("int8", "int8-dynamic", "int8-weights", "8da4w")
"""The values of `--quantize` without their options: those of `et_ir.quantization`, which imports torch."""
LEVELS: Final = ("aten", "core-aten", "edge", "backend", "executorch", "pte")
"""Levels at which a compilation can stop, in order."""
FREESTANDING_FORMS: Final = ("object", "archive", "c-header")
"""Files that `--emit` writes for a processor without a runtime, in addition to `asm`."""

LANGUAGE_MODEL_OPTIONS: Final = (
    "--max-len",
    "--max-prefill",
    "--image-size",
    "--all-logits",
    "--quantize-cache",
    "--custom-sdpa",
)
"""Options that apply to `hf:FOLDER` only."""

_Add: TypeAlias = Callable[..., Any]
"""`add_argument` of a parser, or of a group of its options."""


_SHAPES: Final = (
    "shapes and types of inputs are those of the example inputs: a factory returns (module, inputs)"
)
_SIZES: Final = (
    "sizes that vary are a third value of the factory: (module, inputs, dynamic_shapes of torch.export)"
)
_TYPE: Final = "the element type is that of the module: module.half(), or --quantize int8 for integers"
_ELSEWHERE: Final = {
    **dict.fromkeys(("input-shape", "input-shapes", "shape", "shapes", "batch-size", "batch"), _SHAPES),
    **dict.fromkeys(("dynamic", "dynamic-shapes", "dynamic-batch", "dynamic-axes"), _SIZES),
    **dict.fromkeys(("precision", "dtype", "fp16", "half"), _TYPE),
}
"""Properties of the model, by the options that other tools have for them."""


def compile_parser(text: str, command: str) -> CommandParser:
    """The parser of et-compile, or of another `command` that compiles; `text` is the beginning of its help."""
    output = "-o FILE " if command == "et-compile" else ""
    parser = CommandParser(command, f"{command} MODEL {output}[options]", text)
    parser.elsewhere = _ELSEWHERE
    _add_program_options(parser.add_argument)
    for title, add_options in _GROUPS.items():
        add_options(parser.add_argument_group(title).add_argument)
    parser.add_version()
    return parser


def _add_program_options(add: _Add) -> None:
    """Add the program, the target and the level to stop at."""
    add(
        "model",
        metavar="MODEL",
        help="file.py:factory, package.module:factory, a .pt2, a .mlir at any level, a .pte, or hf:FOLDER: the "
        "configuration, safetensors and tokenizer of a language model",
    )
    add("-o", "--output", metavar="FILE", help="output file; '-' is standard output, the default for text")
    by_level = partition_levels()
    by_backends: dict[str, list[str]] = {}
    for level, backends in by_level.items():
        by_backends.setdefault(" or ".join(sorted(backends, reverse=True)), []).append(level)
    needs = (f"{', '.join(levels)} with --backend {backends}" for backends, levels in by_backends.items())
    add(
        "--emit",
        choices=(*LEVELS, *by_level, *FREESTANDING_FORMS),
        default="pte",
        help=f"the level to stop at (default: pte); {'; '.join(needs)}; object, archive, c-header and "
        "asm with a processor as --target",
    )
    add(
        "--target",
        metavar="NAME",
        help=f"runtime to compile for: {', '.join(target_names())}, FILE.py:ATTRIBUTE, or a processor to "
        f"compile an object for: {', '.join(FREESTANDING_TARGETS)} (default: {DEFAULT_TARGET}, or et-vm for a "
        f"--backend that {DEFAULT_TARGET} does not have)",
    )
    add(
        "--pic",
        action="store_true",
        help="with a processor as --target, generate position-independent code",
    )
    add(
        "--prefix",
        metavar="NAME",
        help="with a processor as --target, what names in the object and its header start with, in C (default: the "
        "name of the output file, or that of the factory)",
    )
    level = add(
        "-O",
        dest="level",
        default=DEFAULT,
        choices=tuple(PRESETS),
        help="optimization level: "
        + "; ".join(f"-O{one.level} {one.summary}" for one in PRESETS.values())
        + f" (default: -O{DEFAULT})",
    )
    also_called(level, "optimize", "optimization", "opt-level", "optimization-level")
    add("--weights", metavar="FILE", help="weight store of a .mlir (default: the .safetensors next to it)")
    add(
        "--data",
        action="append",
        default=[],
        metavar="FILE",
        help="data file (.ptd) that belongs to a .pte which is compiled again; repeatable",
    )
    add("--any-data", **ANY_DATA)
    add(
        "-q",
        "--quiet",
        action="store_true",
        help="print neither progress nor reports, only warnings and errors",
    )


def _add_quantization_options(add: _Add) -> None:
    """Add the options that quantize a module before it is exported."""
    add(
        "--quantize",
        metavar="MODE",
        help="quantize the module, and print a table of its layers: int8[:functions=8|results=32] (weights and "
        "activations; results=32, the default with --backend native: of those, only what layers read), "
        "int8-dynamic (scales of activations computed at run time), int8-weights, 8da4w[:group=N,embedding=4] (linear "
        "layers: weights of 4 bits and activations of 8 bits with scales computed at run time)",
    )
    add(
        "--calibrate",
        metavar="DATA",
        help="inputs that --quantize runs the module on: a .npz with an array for each input, by name or in order, or "
        "a function of the factory's file, or file.py:function, that yields tuples of inputs, or dicts by name",
    )
    add(
        "--keep-float",
        action="append",
        default=[],
        metavar="PATTERN",
        help="modules that --quantize leaves in floats, as 'head', or operators, as 'mel:add'; repeatable",
    )
    add(
        "--accuracy",
        metavar="PERCENT%:FUNCTION",
        help="leave the fewest operators in floats such that FUNCTION(module) of the factory's file loses at most this "
        "part of its value: '0.5%%:evaluate'",
    )
    add(
        "--quantized-io",
        action="store_true",
        help="take quantized inputs and return quantized outputs as integers; constant methods return their scales "
        "and zero points",
    )
    add(
        "--dequantize-weights",
        action="store_true",
        help="dequantize weights at compile time: larger file, no dequantization at run time",
    )


def _add_training_options(add: _Add) -> None:
    """Add the options of training."""
    add(
        "--train",
        nargs="?",
        const="",
        type=_loss,
        metavar="loss=FUNCTION",
        help="make the method forward return its outputs, the gradients of the loss, and the parameters, as runtimes "
        "train them. The loss is the first output of the module, or what a function of the factory's file, or "
        "module:function, makes of the output and the example inputs that follow those of the module: "
        "loss=torch.nn.functional:cross_entropy. Modules stay in training mode",
    )
    add(
        "--trainable",
        action="append",
        default=[],
        metavar="PATTERN",
        help="parameters that --train trains, by name or module, as 'head' or '*.bias'; repeatable (default: all that "
        "require gradients)",
    )
    add(
        "--optimizer",
        metavar="NAME[:key=value,…]",
        help="add the method train_step, which computes the loss and changes the parameters: sgd, adam, adamw, adagrad "
        "or rmsprop, with options of torch.optim, clip=NORM of the gradients, and lr=input for a learning rate that is "
        "the last input, as in adamw:lr=1e-3,weight_decay=0.01",
    )


def _add_backend_options(add: _Add) -> None:
    """Add the options of delegation."""
    backend = add(
        "--backend",
        action="append",
        default=[],
        metavar="NAME[:key=value,…]",
        help="delegate to this backend what it supports; several (native,openvino) are tried in the order given",
    )
    also_called(backend, "delegate", "delegates", "partitioner", "accelerator")
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
        "--strict",
        action="store_true",
        help="stop where a backend fails to compile a part of the program, instead of leaving that to kernels",
    )
    add(
        "--why-not-delegated",
        nargs="?",
        const="text",
        choices=("text", "json"),
        help="report why each remaining op was not delegated, with its source line, and totals by reason",
    )


def _add_runtime_options(add: _Add) -> None:
    """Add what the runtime has beside the target, and bounds of dynamic sizes."""
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
        "--unroll",
        type=natural_number,
        metavar="STEPS",
        help="unroll recurrent layers of at most so many steps; longer ones become loops (default: 8)",
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


def _add_memory_options(add: _Add) -> None:
    """Add the options of memory planning, and of what may use memory at the same time."""
    add(
        "--chains",
        type=positive_number,
        default=1,
        metavar="N",
        help="cut methods into chains that et-vm runs on up to N threads at a time, where that pays (default: 1)",
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
        help="custom planning function, also as FILE.py:FUNCTION",
    )
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
    add("--check-plan", action="store_true", help="verify memory plans with an independent checker")
    add(
        "--dump-buffers",
        metavar="FILE",
        help="write the buffers of the memory plan as CSV, with their offsets, in the format that et-plan reads",
    )


def _add_language_model_options(add: _Add) -> None:
    """Add the options of language models."""
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


def _add_file_options(add: _Add) -> None:
    """Add the options of what the file has, and where."""
    add(
        "--external-constants",
        action="append",
        default=[],
        metavar="[NAMES=]FILE",
        help="write constants to a data file (.ptd) next to the program; NAMES is a glob: 'encoder.*=encoder.ptd'",
    )
    add("--emit-stacktrace", action="store_true", help="store source lines in the file, for run-time errors")
    add(
        "--model-schema",
        action="store_true",
        help="add the method get_model_schema, which returns inputs and outputs with ranges of sizes as JSON for "
        "react-native-executorch",
    )
    add_alignments(add)


def _add_pass_options(add: _Add) -> None:
    """Add the options of passes, and of what checks them."""
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
    add_pass_options(add, verify_each=False)
    add(
        "--check-passes",
        metavar="=inputs|random[:SEED]|FILE.npz",
        help="run the program before and after each pass, and stop at the first pass that changes its results: on the "
        "example inputs (default; random ones where there are none), random inputs, or the arrays of a file",
    )
    add(
        "--native",
        action="store_true",
        help="let machine code and shaders in delegates run when the program does: they can do whatever this command "
        "can",
    )
    add(
        "--check-bound",
        type=tolerance,
        metavar="BOUND",
        help="largest difference that --check-passes accepts, relative to the largest magnitude of the result "
        "(default: 1e-4 for float32, 1e-9 for float64, 1e-2 for float16, 6e-2 for bfloat16, 0 for integers)",
    )


def _add_report_options(add: _Add) -> None:
    """Add the options of reports, and of files written in addition to the program."""
    add(
        "--explain",
        choices=FORMATS,
        metavar="=text|json",
        help="report the chosen lowering of each operator, its alternatives and estimated costs, and what each pass "
        "saved: as a table on stderr, or as JSON on standard output",
    )
    add("--wide", **WIDE)
    add("--table", action="store_true", help="print the op counts of each level on stderr")
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


def _add_cache_options(add: _Add) -> None:
    """Add the options of the cache of compiled partitions."""
    add(
        "--cache",
        metavar="=DIR",
        help="take compiled partitions from a folder, and keep new ones there (default without DIR: compilations in "
        "the cache folder of this project; without --cache: that of ET_IR_CACHE, if it is set)",
    )
    add("--no-cache", action="store_true", help="use no cache, whatever ET_IR_CACHE says")
    add(
        "--cache-stats",
        action="store_true",
        help="print on stderr what the cache holds, and how often it was of use, after the compilation",
    )


_GROUPS: Final[dict[str, Callable[[_Add], None]]] = {
    "quantization": _add_quantization_options,
    "training": _add_training_options,
    "backends": _add_backend_options,
    "operators and sizes": _add_runtime_options,
    "memory planning": _add_memory_options,
    "language models (hf:FOLDER)": _add_language_model_options,
    "contents of the file": _add_file_options,
    "passes": _add_pass_options,
    "cache": _add_cache_options,
    "reports and further outputs": _add_report_options,
}
"""Groups of options by title, in the order of the help."""


def _loss(text: str) -> str:
    """The name of the loss; empty if it is an output of the module."""
    found = re.fullmatch(r"(?:loss=((?:.+:)?\w+))?", text)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{shortened(text)!r} is no loss: expected loss=FUNCTION, a function of the factory's file or "
            "module:function; without it the first output is the loss"
        )
    return found[1] or ""


def _image_size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([1-9][0-9]{0,4})x([1-9][0-9]{0,4})", text)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{shortened(text)!r} is not a size: expected HEIGHTxWIDTH in pixels, such as 224x224"
        )
    return int(found[1]), int(found[2])
