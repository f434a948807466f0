"""Dependences of compiled results: sources of compilers, and versions of packages."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

__all__ = ["code_digest", "compiler_digest", "versions"]

_PACKAGES: Final = ("et_ops", "et_schema", "et_ir", "et_vm", "et_backends", "et_tools")
_COMPILER: Final = ("torch", "xdsl", "llvmlite", "numpy", "ml_dtypes", "flatbuffers", "torchao")
"""Distributions that compilations use."""


@cache
def compiler_digest() -> str:
    """A hash of all files of this project's packages, sources and data, as they are when it is first asked for."""
    folders = [(name, _folders(name)) for name in _PACKAGES]
    return sha256(repr([(name, _files_digest(found)) for name, found in folders]).encode()).hexdigest()


@cache
def code_digest(module_name: str) -> str | None:
    """A hash of all files of this project's packages, and of the top-level package that a module is in. None for a
    module outside of packages, which may import any neighbour, and for what has no file, as in a notebook.
    """
    top = module_name.partition(".")[0]
    if top in _PACKAGES:
        return compiler_digest()
    folders = _folders(top)
    if not folders:
        return None
    return sha256(repr([compiler_digest(), top, _files_digest(folders)]).encode()).hexdigest()


def versions(others: Iterable[str] = ()) -> dict[str, str]:
    """The versions of Python, of what compilations use, and of other distributions, by name."""
    return {"python": platform.python_version()} | {name: _version(name) for name in (*_COMPILER, *others)}


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def _folders(name: str) -> list[str]:
    """The folders of a top-level package; none for what is no package, or is not installed."""
    module = sys.modules.get(name)
    if module is not None:
        return list(getattr(module, "__path__", ()))
    spec = find_spec(name)
    return list((spec and spec.submodule_search_locations) or ())


def _files_digest(folders: Iterable[str]) -> str:
    """A hash of the names and contents of all files in folders, but for compiled bytecode."""
    digest = sha256()
    for folder in folders:
        for parent, names, files in os.walk(folder):
            names[:] = sorted(name for name in names if name != "__pycache__")
            for file in sorted(files):
                path = Path(parent, file)
                content = sha256(path.read_bytes()).hexdigest()
                digest.update(f"{path.relative_to(folder).as_posix()}\n{content}\n".encode())
    return digest.hexdigest()
