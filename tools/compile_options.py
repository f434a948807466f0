"""Options of et-compile: refused combinations, and values that follow from options."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from et_ir.targets.lookup import TARGETS, find_target
from et_schema.whole_numbers import shortened, whole_number
from et_tools.arguments import ALIGNMENTS, CommandParser
from et_tools.compile_language_model import MODEL_FILES, PREFIX, is_language_model
from et_tools.compile_parser import FORMATS, LANGUAGE_MODEL_OPTIONS, LEVELS, compile_parser
from et_tools.exit_codes import UsageError
from et_tools.messages import running_command
from et_tools.output import check_output, check_output_folder, check_text_output, is_same_file, store_of

__all__ = [
    "default_bounds",
    "extra_backends",
    "extra_operators",
    "is_file",
    "is_text",
    "parse_options",
]

_OTHER_ENDINGS: Final = {
    ".mlir": f", or for text --emit {', '.join(LEVELS[:-1])}",
    ".tosa": ", or for the text of TOSA --emit tosa --backend tosa",
    **dict.fromkeys((".o", ".a", ".h"), ", or for an object a processor as --target"),
    ".bpte": ", or for test cases beside it --bundle FILE.bpte",
    ".pt2": "; torch.export.save writes a .pt2",
    ".onnx": "; torch.onnx.export writes a .onnx",
    **dict.fromkeys((".tflite", ".mlmodel", ".mlpackage", ".engine", ".gguf", ".pt", ".pth"), ""),
}
"""Endings of files of other formats than a program's, and the way to these."""

EXAMPLES = "inputs"
"""The value of `--check-passes` for the example inputs."""


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
    alone = {
        "--explain": f"--explain={FORMATS[0]}",
        "--check-passes": f"--check-passes={EXAMPLES}",
        "--cache": "--cache=",
    }
    arguments = [alone.get(argument, argument) for argument in arguments]
    arguments = [
        f"{one}=" if one == "--train" and not after.startswith("loss") else one
        for one, after in pairwise([*arguments, ""])
    ]
    parser = compile_parser(text, command)
    if extend is not None:
        extend(parser)
    args = parser.parse_args(arguments)
    if extend is not None and args.emit == "pte":
        args.emit = "executorch"
    _check(args, command)
    return args


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


def _check(args: argparse.Namespace, command: str) -> None:
    """Raise `UsageError` for options that exclude each other, do not fit the input, or name files that cannot be."""
    is_program = args.emit == "pte" and args.stop_after is None
    _check_emitted(args, command, is_program=is_program)
    _check_input(args)
    _check_files(args)


def _check_emitted(args: argparse.Namespace, command: str, *, is_program: bool) -> None:
    """Options against the level that is emitted."""
    if args.explain == "json" and (args.output == "-" or (not is_program and args.output is None)):
        raise UsageError("--explain=json and the program both go to standard output: give -o FILE")
    if is_program and args.output is None and not args.print_pipeline:
        if args.model.endswith(".py"):  # the other thing that is missing, first
            from et_tools.loading import factories_of

            raise UsageError(f"{factories_of(args.model)}; and give the output, -o FILE")
        raise UsageError("no output file: give -o FILE ('-' for standard output)")
    if args.emit != "pte" and any(getattr(args, name) is not None for name in ALIGNMENTS):
        raise UsageError(f"alignment options apply to .pte files only, not to --emit {args.emit}")
    if args.debug_map is not None and args.stop_after is not None:
        raise UsageError("--debug-map needs instructions, which --stop-after may not reach")
    for option, what, file in (
        ("--debug-map", "instructions", args.debug_map),
        ("--dump-buffers", "a memory plan", args.dump_buffers),
    ):
        if file is not None and args.emit not in ("executorch", "pte"):
            raise UsageError(f"{option} needs {what}, which --emit {args.emit} does not have")
    for option, file in (("--etrecord", args.etrecord), ("--bundle", args.bundle)):
        if file is not None and not is_program:
            raise UsageError(
                f"{option} needs a program: give -o FILE.pte, and leave out --emit and --stop-after"
                f"{_program_target(args)}; or leave out {option}"
            )
    is_printed = not is_program and args.emit in LEVELS
    if is_printed and command == "et-compile" and args.output is not None and args.output.endswith(".pte"):
        option = "--emit" if args.stop_after is None else "--stop-after"
        raise UsageError(
            f"-o {args.output}: {option} prints text: give -o FILE.mlir, or leave out {option} for a program"
        )
    if args.check_bound is not None and args.check_passes is None:
        raise UsageError("--check-bound needs --check-passes")
    if args.native and args.check_passes is None and command == "et-compile":
        raise UsageError("--native needs --check-passes")


def _program_target(args: argparse.Namespace) -> str:
    """What else to leave out for a program."""
    from et_backends.freestanding.compiler.targets import FREESTANDING_TARGETS

    return f", and --target {args.target}, a processor" if args.target in FREESTANDING_TARGETS else ""


def _check_input(args: argparse.Namespace) -> None:
    """Options against the kind of the input: a language model, a program of torch, a text or a compiled program."""
    if not args.model.startswith("hf:"):
        for option in LANGUAGE_MODEL_OPTIONS:
            if getattr(args, option.removeprefix("--").replace("-", "_")):
                raise UsageError(f"{option} applies to hf:FOLDER only; {args.model} is not one")
    text, compiled = is_text(args.model), is_file(args.model)
    if args.data and not compiled:
        raise UsageError(f"--data applies to .pte input only; {args.model} is not one")
    if compiled and args.emit in LEVELS[:2]:
        raise UsageError(f"--emit {args.emit}: a .pte is raised to the edge level, not beyond")
    if args.bundle is not None and (text or compiled):
        raise UsageError(f"--bundle needs example inputs, which {args.model} does not have; use et-vm bundle")
    if args.check_passes is not None and compiled:
        raise UsageError(f"--check-passes does not apply to .pte input: {args.model} is one")
    if args.weights is not None and not text:
        raise UsageError(f"--weights applies to .mlir input only; {args.model} contains its weights")
    if args.default_bound and (text or compiled):
        raise UsageError("--default-bound applies to PyTorch input only; in .mlir use program.range")


def _check_files(args: argparse.Namespace) -> None:
    """Output files: that they can be written, and are neither the input nor each other."""
    if args.bundle is not None and "-" in (args.bundle, args.output):
        raise UsageError("--bundle and -o need file names")
    if args.dump_buffers == "-":
        raise UsageError("--dump-buffers needs a file name")
    others = (
        ("--debug-map", args.debug_map),
        ("--etrecord", args.etrecord),
        ("--dump-buffers", args.dump_buffers),
        ("--bundle", args.bundle),
    )
    for output in (args.output, *(file for _, file in others)):
        if output is not None:
            check_output(output)
    if args.save_levels is not None:
        check_output_folder(args.save_levels)
    text = is_text(args.model)
    if is_language_model(args.model):
        _check_model_folder(args.model.removeprefix(PREFIX), [args.output, *(file for _, file in others)])
    is_path = text or is_file(args.model) or args.model.endswith(".pt2")
    source = args.model if is_path else args.model.rpartition(":")[0]
    if args.output is not None and is_same_file(args.output, source) and not (text and args.emit != "pte"):
        raise UsageError(f"-o {args.output} would overwrite the input")
    if text and args.output is not None:
        if args.emit in LEVELS[:-1]:
            check_text_output(args.output, args.model, args.weights)
        else:
            check_output(args.output, [store_of(args.model, args.weights)])
    for option, file in others:
        if file is not None and any(is_same_file(file, other) for other in (args.output, source)):
            raise UsageError(f"{option} {file} is also the input or output file")
    if args.emit == "pte" and args.stop_after is None and args.output is not None:
        _check_ending(args)


def _check_ending(args: argparse.Namespace) -> None:
    """Raise `UsageError` for a program in a file that is named as one of another format."""
    ending = Path(args.output).suffix
    if ending not in _OTHER_ENDINGS or (ending != ".mlir" and args.target not in (None, *TARGETS)):
        return  # of a processor's object, and of a target that there is not, is said elsewhere
    raise UsageError(
        f"-o {args.output}: --emit pte, the default, makes a program: give -o FILE.pte{_OTHER_ENDINGS[ending]}"
    )


def _check_model_folder(folder: str, outputs: Sequence[str | None]) -> None:
    """Raise `UsageError` for an output that is a file of the model; programs of before may be in its folder."""
    files = [str(one) for one in Path(folder).glob("*") if one.name.endswith(MODEL_FILES)]
    for output in outputs:
        if output is not None and any(is_same_file(output, one) for one in files):
            raise UsageError(f"{output}: would overwrite a file of the model")


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
        names += published_operators(running_command())
    if args.load and runtime.vm_kernels == "aten":
        from et_vm.kernels.aten.schema import custom_operators

        names += custom_operators()
    return sorted(set(names))


def extra_backends(args: argparse.Namespace, target: str) -> list[str]:
    """The backends that the runtime has beside those of a target: those that are named, and for et-vm those of the
    files that are loaded and of packages. Raises `UsageError`.
    """
    names = [name.strip() for given in args.extra_backends for name in given.split(",")]
    for name in names:
        if re.fullmatch(r"[\w.:/-]+", name) is None:
            raise UsageError(f"--extra-backends {name}: expected backend ids such as 'StripsBackend'")
    if find_target(target).vm_kernels is not None:
        from et_tools.vm_backends import added_backends

        names += added_backends(args.load)
    return sorted(set(names))


def default_bounds(args: argparse.Namespace) -> dict[str, int]:
    """The bounds by name. Raises `UsageError`."""
    bounds: dict[str, int] = {}
    for given in args.default_bound:
        name, _, bound = given.partition("=")
        number = whole_number(bound)
        if number is None:
            raise UsageError(
                f"--default-bound {shortened(given)}: expected NAME=N, for example s77=4096 or x.0=64"
            )
        bounds[name] = number
    return bounds
