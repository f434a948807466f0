"""`et-vm report`: pages and graphs of programs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from et_schema.errors import ExecutorchError
from et_tools.exit_codes import UsageError
from et_tools.output import check_output, write_file
from et_tools.progress import activity
from et_tools.vm_files import BadFile, chosen_platform, open_program

if TYPE_CHECKING:
    from et_tools.report.model import Subject
    from et_vm.platform import Platform
    from et_vm.program import Program

__all__ = ["needs_compiler", "report_files"]

OPTIONS: Final = ("debug_map", "profile", "explain", "levels")
"""Options that are given once for each file, in the order of these."""
MEASURING: Final = (
    "method",
    "input",
    "data",
    "any_data",
    "load",
    "native",
    "threads",
    "memory_limit",
    "work_limit",
)
"""Options of executions."""

SUFFIXES: Final = {".html": "html", ".htm": "html", ".json": "json", ".dot": "dot", ".gv": "dot"}
"""Formats by the suffixes of their files."""


def needs_compiler(args: argparse.Namespace) -> bool:
    """Whether programs are compiled, or texts of levels read."""
    return bool(args.levels) or any(map(_is_source, args.files))


def _is_source(file: str) -> bool:
    """Whether a file is for et-compile: no program, nor a file that happens to have a colon in its name."""
    if file.endswith((".pte", ".bpte")) or file == "-":
        return False
    return file.endswith((".pt2", ".py", ".mlir")) or (":" in file and not Path(file).exists())


def report_files(args: argparse.Namespace) -> None:
    """Write the report.

    Raises UsageError, BadFile, what reading debug maps, profiles and levels raises, and what compiling sources raises.
    """
    from et_tools.report.exchange import dot, model_explorer
    from et_tools.report.model import report_facts
    from et_tools.report.page import page

    models = [*args.files, *(one.rpartition(":")[0] for one in args.files if ":" in one)]
    check_output(args.output, [*models, *args.debug_map, *args.profile, *args.explain, *(args.data or ())])
    form = args.format or _format_of(args.output)
    for option in OPTIONS:
        given = getattr(args, option)
        if len(given) > len(args.files):
            name = option.replace("_", "-")
            raise UsageError(f"--{name} is given {len(given)} times for {len(args.files)} files")
    if args.files.count("-") > 1:
        raise UsageError("'-' can be given only once")
    if args.profile and args.measure:
        raise UsageError("--measure and --profile both give times")
    for name in MEASURING:
        if getattr(args, name) and not args.measure:
            raise UsageError(
                f"--{name.replace('_', '-')} applies to what --measure executes: give --measure N"
            )
    if args.compile and not any(map(_is_source, args.files)):
        raise UsageError("--compile applies to files that are compiled, such as file.py:factory")
    formats = {"html": page, "json": _json, "dot": dot, "model-explorer": model_explorer}
    with TemporaryDirectory() as folder:
        subjects = [_subject(args, at, Path(folder)) for at in range(len(args.files))]
        with activity(f"writing {args.output}"):
            text = formats[form](report_facts(subjects))
    write_file(args.output, text)


def _format_of(output: str) -> str:
    """The format by the suffix of a file. Raises UsageError for another suffix."""
    suffix = Path(output).suffix.lower()
    if suffix and suffix not in SUFFIXES:
        raise UsageError(
            f"-o {output}: a report is .html, .json, .dot (Graphviz) or, with --format model-explorer, .json"
        )
    return SUFFIXES.get(suffix, "html")


def _subject(args: argparse.Namespace, at: int, folder: Path) -> Subject:
    """The program of a file, compiled if need be, with what options say of it."""
    from et_tools.report.explanations import HINT
    from et_tools.report.model import Subject
    from et_tools.report.profiles import read_json

    file = args.files[at]
    platform = chosen_platform(args)

    def option(name: str) -> str | None:
        given = getattr(args, name)
        return given[at] if at < len(given) else None

    if _is_source(file):
        from et_tools.report.compiled import compile_source

        for name in ("debug_map", "explain", "levels"):
            if option(name) is not None:
                raise UsageError(
                    f"--{name.replace('_', '-')}: {file} is compiled here, which tells it anyway"
                )
        own = folder / str(at)
        own.mkdir()
        made = compile_source(file, args.compile, own)
        subject = Subject(
            file, open_program(str(made.file), platform), str(made.debug_map), levels=made.levels
        )
        subject.explanation = (file, made.explanation)
    else:
        subject = Subject(file, _opened(file, platform), option("debug_map"))
        explanation, levels = option("explain"), option("levels")
        if explanation is not None:
            subject.explanation = (explanation, read_json(explanation, "explanation of a compilation", HINT))
        if levels is not None:
            from et_tools.report.saved_levels import saved_levels

            subject.levels = saved_levels(levels, subject.program, subject.debug_map)
    profile = option("profile")
    if profile is not None:
        subject.profile = (profile, read_json(profile, "profile", "et-vm profile --json prints one"))
    if args.measure:
        with activity(f"measuring {file}"):
            subject.profile = (file, _measured(args, subject))
    return subject


def _opened(file: str, platform: Platform) -> Program:
    try:
        return open_program(file, platform)
    except ExecutorchError as error:
        raise BadFile(file, error) from error


def _measured(args: argparse.Namespace, subject: Subject) -> dict[str, Any]:
    """The output of `et-vm profile --json` for a program."""
    from et_tools.measurement import measure_as_told, measured_peak

    try:
        measured = measure_as_told(args, subject.program, repeat=args.measure, debug_map=subject.debug_map)
    except ExecutorchError as error:
        raise BadFile(subject.name, error) from error
    found = measured.json(subject.name, measured_peak(args))
    # Here, the process does more than to execute a program.
    return found | {"peak_resident_bytes": None}


def _json(facts: dict[str, Any]) -> str:
    return json.dumps(facts, indent=1, allow_nan=False) + "\n"
