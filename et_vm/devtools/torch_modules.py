"""Modules of the devtools that compute with torch."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from et_schema.distribution import installation
from et_schema.errors import Error, ExecutorchError

__all__ = ["load_torch_module"]


def load_torch_module(name: str) -> Any:
    """The module `et_vm.devtools.NAME`. Raises `ExecutorchError(NotSupported)` where it or torch is not installed."""
    module = f"{__package__}.{name}"
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, "torch"):
            raise
        raise ExecutorchError(
            Error.NotSupported,
            f"reference values need the package {error.name!r}, which is not installed",
            hint=installation("compiler"),
        ) from error
