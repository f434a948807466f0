"""What a level of -O that may take more memory gains by it: its arenas and estimated time beside the default's."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from et_ir.analysis.cost_model import CostModel
from et_ir.analysis.footprint import footprint
from et_ir.driver.pipelines import run_pipeline
from et_ir.driver.presets import DEFAULT

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

__all__ = ["print_exchange"]

LAST = "kernel-limits"
"""The last pass that operators are chosen before."""


@dataclass(frozen=True)
class _Outcome:
    memory: int
    seconds: float


def print_exchange(module: ModuleOp, target: str, level: str, pipelines: tuple[str, str]) -> None:
    """Lower copies of a backend-level module by the pipeline of `level` and by the default's, and say on standard
    error what memory they take and what the operators that the target's table has are estimated to take in time.
    """
    wanted, usual = (_outcome(module.clone(), target, pipeline) for pipeline in pipelines)
    print(
        f"-O{level}: {wanted.memory:,} bytes at once, -O{DEFAULT} {usual.memory:,}; "
        f"estimated {wanted.seconds * 1e3:.3g} ms, -O{DEFAULT} {usual.seconds * 1e3:.3g} ms",
        file=sys.stderr,
    )


def _outcome(module: ModuleOp, target: str, pipeline: str) -> _Outcome:
    seconds = 0.0
    model = CostModel.of(target)

    def after(one: ModulePass, module: ModuleOp) -> None:
        nonlocal seconds
        if one.name == LAST and model is not None:
            seconds = sum(model.seconds([op]) or 0.0 for op in module.walk())

    run_pipeline(module, pipeline, after=after)
    return _Outcome(footprint(module, target).memory or 0, seconds)
