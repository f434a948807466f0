"""Import of users' files, and exceptions in their code.

Passes, kernels, backends, planners and targets come from files that are not of this project. Commands and libraries
import them here, and name the line at fault here when they raise.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path
from types import ModuleType

from et_schema.errors import Error, ExecutorchError

__all__ = ["LoadError", "causes", "import_place", "is_library", "raised", "user_place"]

_LIBRARIES = (
    "et_ops",
    "et_schema",
    "et_ir",
    "et_vm",
    "et_backends",
    "et_tools",
    "xdsl",
    "torch",
    "numpy",
    "ml_dtypes",
    "flatbuffers",
)
_INSTALLED = ("site-packages", "dist-packages")
_STANDARD = sysconfig.get_path("stdlib")


class LoadError(ExecutorchError):
    """A user's file or module cannot be imported; `where` says which, with the line."""


def import_place(place: str | PathLike[str]) -> ModuleType:
    """The module of a Python file (`fma.py`) or of a dotted name (`package.fma`).

    A file is imported by its own name, so that it is the same module for those that import it. Its folder, or for a
    file of a package the folder of that, becomes the last from which modules are imported: it hides no module of
    another. Raises `LoadError`, among others for a file whose name another module has.
    """
    text = fspath(place)
    path = Path(text)
    file, _, name = text.rpartition(":")
    if file.endswith(".py") and name.isidentifier() and not path.exists():
        raise LoadError(
            Error.InvalidArgument, f"a file is loaded as a whole: leave out ':{name}'", where=text
        )
    if not (text.endswith(".py") or "/" in text or path.is_file()):
        return _import(text, Path.cwd(), text)
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "no such file"
        raise LoadError(Error.AccessFailed, problem, where=text)
    if path.suffix != ".py":
        raise LoadError(Error.AccessFailed, "not a Python file", where=text)
    path = path.resolve()
    folder, parts = path.parent, [path.stem]
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return _import(".".join(parts), folder, text, path)


def _import(name: str, folder: Path, place: str, path: Path | None = None) -> ModuleType:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    importlib.invalidate_caches()  # the file may be younger than the listing of its folder
    try:
        if path is not None and name not in sys.modules:
            # Of another's name: found out before that other is imported for nothing.
            spec = importlib.util.find_spec(name)
            _check_file(name, None if spec is None else spec.origin, path, place)
        module = importlib.import_module(name)
    except LoadError:
        raise
    except (Exception, SystemExit) as error:
        absent = error.name if isinstance(error, ModuleNotFoundError) else None
        if absent is not None and f"{name}.".startswith(f"{absent}."):
            raise LoadError(Error.NotFound, f"no module named {absent!r}", where=place) from None
        text = f"importing it failed: {_message(error)}"
        raise LoadError(Error.InvalidArgument, text, where=_line(error, place, path)) from error
    if path is not None:
        _check_file(name, getattr(module, "__file__", None), path, place)
    return module


def _check_file(name: str, found: str | None, path: Path, place: str) -> None:
    if found is None or Path(found).resolve() != path:
        message = f"another module is named {name!r}"
        raise LoadError(Error.InvalidArgument, message, where=place, hint="rename the file")


def _line(error: BaseException, place: str, path: Path | None) -> str:
    """The line of the user's code at which an import failed."""
    found = _place(error)
    if found is None:
        return place
    file, line, _ = found
    return f"{place}:{line}" if Path(file).resolve() == path else f"{_short(file)}:{line}"


# -- exceptions


def is_library(value: object) -> bool:
    """Whether a class, a function, or the class of an object is this project's, or of what it builds on."""
    return str(value.__module__).partition(".")[0] in _LIBRARIES


def causes(error: BaseException) -> Iterator[BaseException]:
    """The causes of an exception, its own first; each once, as exceptions can be causes of each other."""
    seen = {id(error)}
    cause = error.__cause__
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__


def user_place(error: BaseException) -> str:
    """The innermost line of the user's code that an exception passed through, as `fma.py:12 in apply`.

    The user's is what neither this project, nor Python, nor an installed package has. Empty where none was passed.
    """
    found = _place(error)
    if found is None:
        return ""
    file, line, function = found
    return f"{_short(file)}:{line}" + (f" in {function}" if function else "")


def raised(error: BaseException) -> str:
    """An exception in users' code as messages have it: `TypeError: not a tensor (fma.py:12 in apply)`.

    Of the code of an installed package, the place is in there; where only libraries were passed, it is theirs.
    """
    if isinstance(error, LoadError):
        return f"{error.where}: {error.message}" + (f"; {error.hint}" if error.hint else "")
    place = user_place(error)
    if not place:
        frames = list(_frames(error))
        others = [frame for frame in frames if frame[3].partition(".")[0] not in _LIBRARIES]
        place = next((f"{_short(f)}:{line} in {name}" for f, line, name, _ in reversed(others or frames)), "")
    return _message(error) + (f" ({place})" if place else "")


def _message(error: BaseException) -> str:
    text = str(error.msg if isinstance(error, SyntaxError) else error).strip()
    return ": ".join(filter(None, (type(error).__name__, text)))


def _place(error: BaseException) -> tuple[str, int, str] | None:
    """File, line and function of the innermost frame of the user's."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno and _is_users(error.filename, ""):
        return error.filename, error.lineno, ""
    frames = [(f, line, name) for f, line, name, module in _frames(error) if _is_users(f, module)]
    return frames[-1] if frames else None


def _frames(error: BaseException) -> Iterator[tuple[str, int, str, str]]:
    """File, line, function and module of each frame of a traceback, outermost first, without the import system's."""
    for frame, line in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        if not code.co_filename.startswith("<frozen"):
            # What `python -m` runs is called `__main__`, and has its name here.
            module = getattr(frame.f_globals.get("__spec__"), "name", None) or frame.f_globals.get("__name__")
            yield code.co_filename, line, code.co_name, str(module)


def _is_users(file: str, module: str) -> bool:
    if module.partition(".")[0] in _LIBRARIES or file.startswith("<"):
        return False
    installed = any(part in _INSTALLED for part in Path(file).parts)
    return not installed and not file.startswith(_STANDARD)


def _short(file: str) -> str:
    """A path as the user would write it: from the working directory where it is below that."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
