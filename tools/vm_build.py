"""`et-vm build`: generate the microcontroller runtime with the kernels that programs use."""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from et_schema.diagnostics import Diagnostic, did_you_mean, same_numbers
from et_tools.exit_codes import UsageError
from et_tools.messages import print_diagnostics
from et_tools.output import check_output_folder, write_file
from et_tools.vm_files import BadFile, open_programs
from et_tools.vm_ops import operators_text
from et_tools.vm_options import BUILD_TARGETS

if TYPE_CHECKING:
    from et_vm.program import Program

SELECTIONS = (".yaml", ".yml", ".json")


def build_runtime(args: argparse.Namespace) -> None:
    """Write the sources, and the library where there is a compiler. Raises BadFile, UsageError, ExecutorchError."""
    from et_schema.errors import ExecutorchError
    from et_schema.files import atomic_writer
    from et_vm.micro.compilers import compile_archive, compiler_of
    from et_vm.micro.selection import Selection, selected_of_programs, selected_of_yaml
    from et_vm.micro.sources import runtime_sources

    _check_target(args.target)
    check_output_folder(args.output)
    selection, users = Selection(), dict[str, list[str]]()
    programs = [file for file in args.ops if not file.endswith(SELECTIONS)]
    for file, program in zip(programs, open_programs(programs), strict=True):
        _add(selection, users, selected_of_programs([program]), file)
        _warn_of_delegates(file, program)
    for file in args.ops:
        if file in programs:
            continue
        try:
            text = Path(file).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}"
            ) from error
        try:
            _add(selection, users, selected_of_yaml(text), file)
        except ExecutorchError as error:
            raise BadFile(file, error) from error
    sources = runtime_sources(selection)
    command = compiler_of(args.target, args.cc)
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in sources.items():
        write_file(str(folder / name), content)
    write_file(str(folder / "selected_operators.yaml"), operators_text(selection.keys, users))
    if command is None:
        print(f"{folder}: wrote sources only, as no compiler was found (pip install ziglang, or use --cc)")
        return
    with TemporaryDirectory() as temporary:
        work = Path(temporary)
        for name, content in sources.items():
            (work / name).write_text(content)
        archive = compile_archive(
            work, [name for name in sources if name.endswith(".c")], command, args.target
        )
        with atomic_writer(folder / archive.name) as stream:
            stream.write(archive.read_bytes())


def _check_target(name: str) -> None:
    """Raise UsageError for a target that is none, with those for the device of that name."""
    if name in BUILD_TARGETS:
        return
    from et_ir.targets.devices import device_hint, processor_hint

    hint = processor_hint(name, BUILD_TARGETS)
    if not hint and device_hint(name, "host"):
        hint = f"; on {name} ExecuTorch's runtime or et-vm runs a .pte, without a build; for this machine give host"
    near = "" if hint else did_you_mean(name, same_numbers(name, BUILD_TARGETS))
    raise UsageError(
        f"argument --target: unknown processor '{name}', expected one of {', '.join(BUILD_TARGETS)}{near}{hint}"
    )


def _warn_of_delegates(file: str, program: Program) -> None:
    """Say what runs in backends, none of which is built."""
    backends = sorted(
        {name for method in program.method_names for name in program.method_meta(method).backends()}
    )
    if backends:
        print_diagnostics(
            "et-vm",
            [
                Diagnostic(
                    f"{file}: it delegates to {', '.join(backends)}, which the runtime does not have: it will not "
                    "load the program",
                    severity="warning",
                    fix="compile it without --backend, or an object for the processor with et-compile --target "
                    "PROCESSOR",
                )
            ],
        )


def _add(selection: object, users: dict[str, list[str]], more: object, file: str) -> None:
    from et_vm.micro.selection import Selection

    assert isinstance(selection, Selection)
    assert isinstance(more, Selection)
    selection.update(more)
    for operator in more.keys:
        users.setdefault(operator, []).append(file)
