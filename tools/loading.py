"""Finding the program that a command line names: a factory in Python, an exported program, a text.

A factory returns `module, example_args` or `module, example_args, dynamic_shapes`, or a dict of method names to such.
`example_args` is a tuple of positional arguments, or `(args, kwargs)` with a dict last.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import logging
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from et_tools.exit_codes import ExitCode, UsageError

if TYPE_CHECKING:
    from torch.export import ExportedProgram

__all__ = ["ProgramError", "export_factory", "load_pt2"]


class ProgramError(Exception):
    """The program named on the command line cannot be made: its factory, or its export, failed."""

    exit_code = ExitCode.INVALID_INPUT


def export_factory(spec: str) -> dict[str, ExportedProgram]:
    """Export what `file.py:factory` or `package.module:factory` returns; method names to exported programs.

    Raises `UsageError` if there is no such file, module or factory, `ProgramError` if the factory or export fails.
    """
    place, _, name = spec.rpartition(":")
    factory = _find_factory(place, name)
    try:
        made = factory()
    except Exception as error:
        raise ProgramError(f"the factory {spec} failed: {_told(error)}") from error
    methods = made if isinstance(made, dict) else {"forward": made}
    if not methods:
        raise ProgramError(f"the factory {spec} returned no methods")
    return {str(method): _export(method, parts, spec) for method, parts in methods.items()}


def _find_factory(place: str, name: str) -> Callable[[], Any]:
    if place.endswith(".py"):
        path = Path(place)
        if not path.is_file():
            raise UsageError(f"{place}: no such file")
        root, module_name = _dotted(path.resolve())
    else:
        root, module_name = Path.cwd(), place
    sys.path.insert(0, str(root))
    try:
        if not place.endswith(".py") and importlib.util.find_spec(module_name) is None:
            raise UsageError(f"no module named '{module_name}'")
        module = importlib.import_module(module_name)
    except UsageError:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and module_name.startswith(error.name):
            raise UsageError(f"no module named '{error.name}'") from None
        raise ProgramError(f"importing {place} failed: {_told(error)}") from error
    except Exception as error:
        raise ProgramError(f"importing {place} failed: {_told(error)}") from error
    factory = getattr(module, name, None)
    if not callable(factory):
        there = ", ".join(n for n in vars(module) if not n.startswith("_") and callable(getattr(module, n)))
        raise UsageError(f"{place} has no factory '{name}'; it has {there or 'none'}")
    return factory


def _dotted(path: Path) -> tuple[Path, str]:
    """The folder to import a file from and its dotted name: packages are the folders that have an `__init__.py`."""
    parts = [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def _export(method: str, parts: Any, spec: str) -> ExportedProgram:
    import torch

    if not isinstance(parts, tuple) or len(parts) not in (2, 3) or not isinstance(parts[0], torch.nn.Module):
        raise ProgramError(
            f"the factory {spec} must return (module, example_args[, dynamic_shapes]) for '{method}', "
            f"got {_shape_of(parts)}"
        )
    module, example_args = parts[0], parts[1]
    args, kwargs = example_args, None
    if (
        isinstance(args, tuple)
        and len(args) == 2
        and isinstance(args[0], tuple)
        and isinstance(args[1], dict)
    ):
        args, kwargs = args
    if not isinstance(args, tuple):
        raise ProgramError(f"the factory {spec} must give example_args as a tuple, got {type(args).__name__}")
    try:
        with _quiet_torch():
            return torch.export.export(
                module.eval(), args, kwargs, dynamic_shapes=parts[2] if len(parts) == 3 else None
            )
    except Exception as error:
        raise ProgramError(f"torch.export cannot export '{method}' of {spec}: {_told(error)}") from error


@contextmanager
def _quiet_torch() -> Iterator[None]:
    """Without the graphs and warnings that torch prints while an export fails: the exception says what matters."""
    logging.disable(logging.ERROR)
    try:
        with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(logging.NOTSET)


def _shape_of(parts: Any) -> str:
    if isinstance(parts, tuple):
        return f"a tuple of ({', '.join(type(p).__name__ for p in parts)})"
    return f"a {type(parts).__name__}"


def _told(error: BaseException) -> str:
    """An exception in one line, with the line of the user's own code it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "site-packages" not in f.filename and not f.filename.startswith("<")]
    outside = [f for f in own if Path(f.filename).parent != Path(__file__).parent]
    text = (str(error).strip().splitlines() or [""])[0]
    place = f" ({outside[-1].filename}:{outside[-1].lineno} in {outside[-1].name})" if outside else ""
    return f"{type(error).__name__}: {text}{place}"


def load_pt2(path: Path) -> ExportedProgram:
    """Load a `.pt2`. Raises `ProgramError` if it cannot be read as one."""
    import torch

    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    try:
        return torch.export.load(path)
    except Exception as error:
        raise ProgramError(f"{path} is no exported program: {_told(error)}") from error
