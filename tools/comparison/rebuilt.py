"""Debug maps made by compiling a reference again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from et_schema.errors import ExecutorchError
from et_tools.exit_codes import UsageError
from et_tools.vm_files import open_program

__all__ = ["rebuilt_map"]


def rebuilt_map(file: str, reference: str, folder: Path) -> str | None:
    """The debug map of a `.pte`, if `et-compile REFERENCE`, with its backend but no other options, makes the same file;
    None otherwise. The map is written to a folder.

    Programs with stack traces are left alone, as these say where values come from.
    """
    from et_tools.report.compiled import compile_quietly

    program = open_program(file)
    plans = program.pte.program.execution_plan
    if any(trace.items for plan in plans for chain in plan.chains for trace in chain.stacktrace or ()):
        return None
    options = _options({delegate.id for plan in plans for delegate in plan.delegates})
    if options is None:
        return None
    try:
        again, debug_map = compile_quietly(reference, options, folder)
    except (ExecutorchError, UsageError):
        return None  # whatever stops it, this is not how the file was made
    return str(debug_map) if again.read_bytes() == bytes(program.file) else None


def _options(ids: set[str]) -> Sequence[str] | None:
    """The options of et-compile for the backends of a file; None for backends that are not known."""
    if not ids:
        return ()
    from et_schema.backend_packages import backend_packages

    packages = backend_packages().found
    names = {package.backend_id: name for name, package in packages.items() if package.compiler}
    return ("--backend", ",".join(names[one] for one in sorted(ids))) if ids <= names.keys() else None
