"""Kernels that compute with scipy, an extra of the package: rare special functions and factorizations."""

from __future__ import annotations

import importlib
from typing import Any

from et_schema.distribution import installation
from et_schema.errors import Error
from et_vm.kernels.registry import PrepareContext

__all__ = ["scipy_module"]


def scipy_module(ctx: PrepareContext, name: str) -> Any:
    """A module of scipy (`scipy.special`), for a kernel that is prepared: nothing imports it before.

    Raises Trap(OperatorMissing), naming the kernel and the extra, if scipy is not installed.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "scipy":
            raise
        raise ctx.error(
            f"the kernel '{ctx.op}' needs the package scipy, which is not installed",
            code=Error.OperatorMissing,
            hint=installation("scipy"),
        ) from error
