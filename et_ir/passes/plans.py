"""The plans of a module, for passes that run on them."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from et_ir.diagnostics import PassReport, diagnose
from et_ir.dialects.executorch import PlanOp

__all__ = ["plans_in_one_chain", "plans_of", "refuse_chains"]


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


def plans_in_one_chain(module: ModuleOp, of: ModulePass) -> list[PlanOp]:
    """The plans of a module, for passes that take the order of the text for the order in time.

    Raises `PassReport` for plans of several chains, and as `plans_of` does.
    """
    plans = plans_of(module, of)
    refuse_chains(plans, of)
    return plans


def refuse_chains(plans: Iterable[PlanOp], of: ModulePass) -> None:
    """Raise `PassReport` for those of plans that have several chains, which the pass would break."""
    message = f"the pass '{of.name}' changes what runs when, and this plan is in several chains"
    PassReport.raise_if(
        "the program is in chains",
        [
            diagnose(plan, message, "run form-chains behind it", subject=f"@{plan.key}")
            for plan in plans
            if len(plan.chains) > 1
        ],
    )
