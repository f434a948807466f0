"""Memory and estimated time of an optimization level, against the default level's."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from et_ir.analysis.cost_model import CostModel
from et_ir.analysis.footprint import footprint
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.observer import Observer
from et_ir.driver.pipelines import executorch_passes
from et_ir.driver.presets import DEFAULT
from et_ir.driver.stages import run_passes

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

__all__ = ["Exchange"]

LAST = "kernel-limits"
"""The first pass after the choice of operators."""


class Exchange(Observer):
    """Compares a level that may take more memory with the default level, from the program at the backend level on."""

    def __init__(self, config: ExecutorchBackendConfig):
        self._config = config
        self._module: ModuleOp | None = None

    def reached(self, level: str, module: ModuleOp) -> None:
        if level == "backend":
            self._module = module.clone()

    def report(self) -> None:
        """Print to stderr what both levels take at once in bytes, and the estimated time of the operators that the
        target's table of costs has.
        """
        if self._module is None:
            return
        wanted, usual = (
            _Outcome(self._module.clone(), replace(self._config, level=level))
            for level in (self._config.level, DEFAULT)
        )
        print(
            f"-O{self._config.level}: {wanted.memory:,} bytes peak, -O{DEFAULT} {usual.memory:,}; "
            f"estimated {wanted.seconds * 1e3:.3g} ms, -O{DEFAULT} {usual.seconds * 1e3:.3g} ms",
            file=sys.stderr,
        )


class _Outcome(Observer):
    def __init__(self, module: ModuleOp, config: ExecutorchBackendConfig):
        self.seconds = 0.0
        self._model = CostModel.of(config.target)
        run_passes(module, executorch_passes(config), self)
        self.memory = footprint(module, config.target).memory or 0

    def after_pass(self, one: ModulePass, module: ModuleOp) -> None:
        if one.name == LAST and self._model is not None:
            self.seconds = sum(self._model.seconds([op]) or 0.0 for op in module.walk())
