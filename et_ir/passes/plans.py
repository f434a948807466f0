"""The plans of a module, for passes that run on them."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from et_ir.diagnostics import PassReport, diagnose
from et_ir.dialects.executorch import PlanOp

__all__ = ["plans_of"]


def plans_of(module: ModuleOp, of: ModulePass) -> list[PlanOp]:
    """The plans of a module, in their order.

    Raises `PassReport` for a module whose methods are at a level before `executorch`, where the pass would do nothing.
    """
    plans = [op for op in module.body.block.ops if isinstance(op, PlanOp)]
    if not plans:
        methods = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
        message = f"the pass '{of.name}' runs on plans, and this method is not lowered to one"
        fix = "run the stages before it, which end with to-out-variant: see et-compile MODEL --print-pipeline"
        PassReport.raise_if(
            "the program is at another level",
            [diagnose(op, message, fix, subject=f"@{op.sym_name.data}") for op in methods],
        )
    return plans
