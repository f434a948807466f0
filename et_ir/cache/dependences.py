"""What compiled results depend on besides the program: sources of compilers, and versions of what they use."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Final

from et_ir.analysis.time_cache import source_digest

__all__ = ["code_digest", "compiler_digest", "versions"]

_PACKAGES: Final = ("et_ops", "et_schema", "et_ir", "et_vm", "et_backends", "et_tools")
_COMPILER: Final = ("torch", "xdsl", "numpy", "ml_dtypes", "flatbuffers", "torchao")
"""Distributions that every compilation uses."""


@cache
def compiler_digest() -> str:
    """A hash of the sources of this project."""
    return source_digest(*(name for name in _PACKAGES if name in sys.modules or _is_installed(name)))


def _is_installed(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


def versions(others: Iterable[str] = ()) -> dict[str, str]:
    """The versions of Python, of what every compilation uses, and of other distributions, by name."""
    return {"python": platform.python_version()} | {name: _version(name) for name in (*_COMPILER, *others)}


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def code_digest(module_name: str) -> str | None:
    """A hash of the source of a module: of the package that it is in, or of its file and those of the modules that it
    uses and that are neither installed nor of Python. None where there is no source, as in a notebook.
    """
    found: dict[str, str] = {}
    pending = [module_name]
    while pending:
        name = pending.pop()
        top = name.partition(".")[0]
        if top in found or top in sys.stdlib_module_names or (top in _PACKAGES and found):
            continue
        if top in _PACKAGES:
            return compiler_digest()
        module = sys.modules.get(top)
        digest = None if module is None else _digest(module)
        if module is None or digest is None:
            if top == module_name.partition(".")[0]:
                return None
            continue
        found[top] = digest
        pending += _used(module)
    return sha256(repr([compiler_digest(), *sorted(found.items())]).encode()).hexdigest()


def _digest(module: ModuleType) -> str | None:
    """A hash of the files of a package, or of a module's; None for what has no source."""
    folders = list(getattr(module, "__path__", ()))
    file = getattr(module, "__file__", None)
    if not folders and file is None:
        return None
    digest = sha256()
    for path in _sources(folders) if folders else [Path(str(file))]:
        try:
            digest.update(path.name.encode() + path.read_bytes())
        except OSError:
            return None
    return digest.hexdigest()


def _sources(folders: Iterable[str]) -> Iterator[Path]:
    for folder in folders:
        yield from (path for path in sorted(Path(folder).rglob("*")) if path.is_file() and _is_source(path))


def _is_source(path: Path) -> bool:
    return "__pycache__" not in path.parts


def _used(module: ModuleType) -> list[str]:
    """Names of the modules that a module of a single file names, but for installed ones: these have versions."""
    if hasattr(module, "__path__"):
        return []
    names: list[str] = []
    for value in vars(module).values():
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str):
            file = getattr(sys.modules.get(name.partition(".")[0]), "__file__", None) or ""
            if file and "site-packages" not in Path(file).parts:
                names.append(name)
    return names
