"""The program that et-compile starts from: a factory, a .pt2, a text at any level, or a compiled program."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from et_tools.compile_language_model import export_language_model, is_language_model
from et_tools.compile_options import default_bounds, is_file, is_text
from et_tools.compile_stages import Stages
from et_tools.exit_codes import UsageError

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from xdsl.dialects.builtin import ModuleOp

    from et_tools.compile_training import Training
    from et_tools.loading import Transformation
    from et_tools.plugins import Extensions

__all__ = ["Source", "level_of", "load_source"]


class Source(NamedTuple):
    """A module, and the programs of torch that it is made from, by method."""

    module: ModuleOp
    programs: Mapping[str, ExportedProgram]


def load_source(
    args: argparse.Namespace,
    stages: Stages,
    preserve: list[str],
    extensions: Extensions | None = None,
    transform: Transformation | None = None,
    quantize_weights: Callable[[Any], None] | None = None,
    training: Training | None = None,
) -> Source:
    """The module of a program, with a line of progress for each step. Operators in `preserve` are kept whole; a text
    may have the dialects of `extensions`; modules of a factory become those that `transform` makes of them, and
    `quantize_weights` changes those of a language model; `training` adds gradients.

    Raises `UsageError` for options that the program has nothing for.
    """
    if is_text(args.model):
        from et_ir.passes.common.erase_quantized_types import erase_quantized_types
        from et_ir.verification import verify_module
        from et_tools.reading import read_text_module, require_weights

        stages.start("parse")
        module = read_text_module(args.model, args.weights, extensions)
        verify_module(module)
        erase_quantized_types(module)
        if args.emit == "pte":
            require_weights(module, args.model)
        stages.done("parse")
        return Source(module, {})
    if is_file(args.model):
        from et_ir.driver.raising import import_file
        from et_schema.pte import open_pte

        stages.start("disassemble")
        data = {Path(name).name: Path(name).read_bytes() for name in args.data}
        module = import_file(open_pte(args.model), data, any_data=args.any_data)
        stages.done("disassemble")
        return Source(module, {})
    from et_tools.loading import export_factory, factories_of, load_pt2, not_a_model, transformed

    constants: dict[str, Any] = {}
    stages.start("export")
    if is_language_model(args.model):
        programs, constants = export_language_model(args, quantize_weights)
    elif args.model.endswith(".pt2"):
        program = load_pt2(Path(args.model))
        if transform is not None:
            program = transformed("forward", program, args.model, transform)
        if training is not None:
            training.check_exported()
        programs = {"forward": program}
    elif ":" in args.model:
        programs, constants = export_factory(args.model, transform, training)
    elif args.model.endswith(".py"):
        raise UsageError(factories_of(args.model))
    else:
        raise UsageError(not_a_model(args.model))
    if training is not None:
        programs = training.joint(programs)
    stages.done("export")
    from et_ir.frontend import import_program
    from et_ir.frontend.default_bounds import BoundError

    stages.start("import")
    try:
        module = import_program(
            programs,
            constant_methods=constants,
            preserve=preserve,
            default_bounds=default_bounds(args),
        )
    except BoundError as error:
        raise UsageError(f"--default-bound: {error}") from None
    except ValueError as error:
        raise UsageError(f"--preserve: {error}") from None
    stages.done("import")
    return Source(module, programs)


def level_of(module: ModuleOp) -> str:
    """The level of a parsed text, by the dialects of its ops. Those of others stand beside `edge`."""
    from et_ir.universe import dialect_places

    dialects = {op.name.partition(".")[0] for op in module.walk()}
    if "executorch" in dialects:
        return "executorch"
    if "backend" in dialects:
        return "backend"
    others = dialects - {"builtin", "func", *dialect_places()}
    return "edge" if "edge" in dialects or (others and "aten" not in dialects) else "aten"
