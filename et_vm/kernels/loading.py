"""Finding kernels of one's own: in a file, in a module, or published by an installed package."""

from __future__ import annotations

import importlib
import sys
import traceback
from os import PathLike, fspath
from pathlib import Path
from types import ModuleType

from et_schema.errors import Error, ExecutorchError
from et_vm.kernels.registry import KernelRegistry, Prepare
from et_vm.kernels.user import KernelsOf, kernels_of

__all__ = ["ENTRY_POINTS", "KernelLoadError", "import_place", "load_kernels", "published_kernel"]

ENTRY_POINTS = "et_vm.kernels"
"""The group of entry points by which packages publish kernels: the name is the operators' namespace, the value the
module that has them.
"""


class KernelLoadError(ExecutorchError):
    """A file or module of kernels cannot be had; `where` says which, with the line."""


def load_kernels(place: str | PathLike[str] | ModuleType) -> KernelsOf:
    """The kernels of a Python file (`mykernels.py`), of a module (`package.kernels`), or of a module object.

    A file is imported by its own name, so that it is the same module for those that import it; its folder becomes one
    that modules are imported from, as that of a script is. Raises KernelLoadError, and what `kernels_of` raises.
    """
    return kernels_of(place if isinstance(place, ModuleType) else import_place(place))


def import_place(place: str | PathLike[str]) -> ModuleType:
    """The module of a file or of a dotted name. Raises KernelLoadError."""
    text = fspath(place)
    path = Path(text)
    if not (text.endswith(".py") or "/" in text or path.is_file()):
        return _import(text, Path.cwd(), text)
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "no such file"
        raise KernelLoadError(Error.AccessFailed, problem, where=text)
    if path.suffix != ".py":
        raise KernelLoadError(Error.AccessFailed, "not a Python file", where=text)
    path = path.resolve()
    folder, parts = path.parent, [path.stem]
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    module = _import(".".join(parts), folder, text)
    file = getattr(module, "__file__", None)
    if file is None or Path(file).resolve() != path:
        raise KernelLoadError(
            Error.InvalidArgument,
            f"another module is named {module.__name__!r}",
            where=text,
            hint="rename the file",
        )
    return module


def _import(name: str, folder: Path, place: str) -> ModuleType:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        absent = error.name if isinstance(error, ModuleNotFoundError) else None
        if absent is not None and f"{name}.".startswith(f"{absent}."):
            raise KernelLoadError(Error.NotFound, f"no module named {absent!r}", where=place) from None
        raise KernelLoadError(
            Error.InvalidArgument,
            f"importing it failed: {type(error).__name__}: {error}",
            where=_line(error, place),
        ) from error


def _line(error: BaseException, place: str) -> str:
    """The line at which an import failed: the innermost one that is not of the import system."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{error.filename}:{error.lineno}"
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<")
        and "importlib" not in frame.filename
        and frame.filename != __file__
    ]
    inside = [frame for frame in own if Path(frame.filename).name == Path(place).name] or own
    return (
        f"{place}:{inside[-1].lineno}" if inside and inside[-1].filename.endswith(Path(place).name) else place
    )


def published_kernel(registry: KernelRegistry, name: str) -> Prepare | None:
    """The kernel that an installed package publishes for an operator; the package's others are registered as well.

    Raises KernelLoadError where the package cannot be imported.
    """
    from importlib.metadata import entry_points

    namespace = name.partition("::")[0]
    for point in entry_points(group=ENTRY_POINTS, name=namespace):
        library = kernels_of(_import(point.module, Path.cwd(), point.value))
        if name in library.names:
            library(registry)
            return registry.registered(name)
    return None
