"""Outputs of et-compile: level text, program, and debug information.

The last says where instructions come from.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from et_tools.compile_stages import Stages
from et_tools.exit_codes import UsageError
from et_tools.output import write_stdout
from et_tools.pass_options import inline_elements

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from xdsl.dialects.builtin import ModuleOp

    from et_ir.etrecord import Snapshot

__all__ = ["write_bundle", "write_debug_map", "write_etrecord", "write_pte", "write_text"]

_TYPED: Final = ("core-aten", "edge")
"""Levels at which operations say of all quantized values what their integers stand for."""


def write_text(module: ModuleOp, args: argparse.Namespace) -> None:
    """Write the text of a level to the output, constants beside it; that of Core ATen and edge with quantized types."""
    from et_ir.text import module_text, save_text, stored_constants

    if args.emit in _TYPED and args.stop_after is None:
        from et_ir.passes.common.infer_quantized_types import infer_quantized_types

        infer_quantized_types(module)
    limit = inline_elements(args)
    text = module_text(module, debuginfo=args.print_debuginfo, inline_elements=limit)
    if args.output in (None, "-"):
        write_stdout(text)
    else:
        save_text(Path(args.output), text, stored_constants(module, limit))


def write_pte(module: ModuleOp, args: argparse.Namespace, stages: Stages) -> None:
    """Write the program and its data files, with a line of progress for each."""
    from et_ir.emit import EmitOptions
    from et_tools.program_files import alignments_of, write_program

    options = EmitOptions(stacktraces=args.emit_stacktrace, **alignments_of(args))
    for path in write_program(module, args.output, options):
        stages.done(path.suffix.removeprefix("."), note=f"{path.stat().st_size} bytes, {path}")


def write_bundle(programs: Mapping[str, ExportedProgram], args: argparse.Namespace, stages: Stages) -> None:
    """Write the program again with a test case for each method: its example inputs, and what torch computes from them.

    Raises what `run_example` does, and `UsageError` for an input or output that no test case can have.
    """
    from et_schema.errors import ExecutorchError
    from et_schema.files import atomic_writer
    from et_tools.loading import run_example
    from et_vm.devtools.bundled import bundle

    cases = [(name, *run_example(name, program)) for name, program in programs.items()]
    path = Path(args.bundle)
    try:
        with atomic_writer(path) as stream:
            size = bundle(Path(args.output).read_bytes(), cases, stream)
    except ExecutorchError as error:
        raise UsageError(f"--bundle: {error}") from None
    stages.done("bpte", note=f"{size} bytes, {path}")


def write_debug_map(module: ModuleOp, output: str) -> None:
    """Write the origin of each instruction as JSON."""
    import json

    from et_ir.emit import origins_json
    from et_schema.files import atomic_writer

    text = json.dumps(origins_json(module), indent=1) + "\n"
    if output == "-":
        write_stdout(text)
        return
    with atomic_writer(Path(output)) as stream:
        stream.write(text.encode())


def write_etrecord(module: ModuleOp, snapshot: Snapshot, output: str, stages: Stages) -> None:
    """Write the ETRecord of a program from its modules at the levels before. Raises `NotRecordable`."""
    from et_ir.etrecord import ETRecord

    path = Path(output)
    ETRecord.of(snapshot, module).save(path)
    stages.done("etrecord", note=f"{path.stat().st_size} bytes, {path}")
