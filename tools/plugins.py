"""Passes from a user's own file: `et-opt --load my_pass.py -p my-pass`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from xdsl.passes import ModulePass

from et_tools.exit_codes import UsageError

__all__ = ["load_passes"]


def load_passes(path: Path) -> dict[str, type[ModulePass]]:
    """The passes that a Python file defines, by name; the backends that it registers are then found by theirs.

    Raises `UsageError` if the file is not there, fails to import, or defines neither.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        line = f":{frame.tb_lineno}" if frame is not None else ""
        raise UsageError(f"loading {path}{line} failed: {type(error).__name__}: {error}") from None
    passes = {
        value.name: value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, ModulePass) and value.__module__ == path.stem
    }
    if not passes and not any(map(_is_backend, vars(module).values())):
        raise UsageError(
            f"{path}: defines neither a pass (a subclass of xdsl.passes.ModulePass) nor a backend "
            "(et_ir.backends.register_backend)"
        )
    return passes


def _is_backend(value: object) -> bool:
    """Whether a value is a backend, without loading what backends are made with where none is."""
    registry = sys.modules.get("et_ir.delegation.registry")
    return registry is not None and isinstance(value, registry.Backend)
