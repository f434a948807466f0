"""Delegation of a module: partitioners decide, regions are made, and what is left out is said with its reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from et_ir.delegation.dependences import is_copied, is_statement
from et_ir.delegation.details import BackendDetails
from et_ir.delegation.lowering import lower_partitions
from et_ir.delegation.partitioner import Partitioner
from et_ir.delegation.refusals import Refusal
from et_ir.delegation.regions import PartitionError, form_partitions
from et_ir.delegation.registry import details_of
from et_ir.delegation.specs import PartitionResult
from et_ir.delegation.tags import clear_tags
from et_ir.delegation.why_not import DelegationReport, LeftOut
from et_ir.dialects.backend import CallOp, PartitionOp
from et_ir.dialects.control import YieldOp
from et_ir.driver.kept import KeptOperators, all_partitioners, clear_marks
from et_ir.report import Finding, PassReport

__all__ = ["Partitioners", "delegate_module", "partition_module"]

_ROUNDS: Final = 16

Partitioners = Partitioner | Sequence[Partitioner] | Mapping[str, Partitioner | Sequence[Partitioner]]
"""Who decides: for all methods, or by method; of several, each gets what those before it left."""


def partition_module(module: ModuleOp, partitioners: Partitioners) -> DelegationReport:
    """Make partitions of what backends take, in the methods of a module; returns what they left out, and why.

    Raises `PassFailedException` for a method that there is not, and `PassReport` for a partitioner that fails, or asks
    for what cannot be done: the methods before it in the module have their partitions then.
    """
    methods = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    if isinstance(partitioners, Mapping):
        unknown = [name for name in partitioners if name not in methods]
        if unknown:
            there = ", ".join(sorted(methods)) or "none"
            raise PassFailedException(f"partition: no method is called '{unknown[0]}'; there are: {there}")
    for partitioner in dict.fromkeys(all_partitioners(partitioners)):
        _prepare(partitioner, module)
    report = DelegationReport()
    for name, method in methods.items():
        chosen = partitioners.get(name, ()) if isinstance(partitioners, Mapping) else partitioners
        refusals: dict[Operation, list[Refusal]] = {}
        for partitioner in [chosen] if isinstance(chosen, Partitioner) else chosen:
            for op, refusal in _partition(partitioner, method).refusals.items():
                refusals.setdefault(op, []).append(refusal)
        _report(report, name, method, refusals)
    return report


def delegate_module(
    module: ModuleOp,
    partitioners: Partitioners,
    *,
    details_of: Callable[[str], type[BackendDetails]] = details_of,
    kept: KeptOperators | None = None,
    compile: bool = True,
) -> DelegationReport:
    """Delegate what backends take of a module at the edge level, which then is at the backend level.

    Of the operators that are `kept` for backends, those ops that no partition takes are decomposed, and partitioners
    are asked again. Without `compile`, partitions stay regions.

    Raises what `partition_module` and `lower_partitions` raise; the module is as it was then.
    """
    work = module.clone()
    for _ in range(_ROUNDS):
        if kept is not None:
            kept.mark(work)
        trial = work.clone()
        report = partition_module(trial, partitioners)
        if kept is None or not kept.decompose_left(work, trial):
            clear_marks(trial)
            break
        _lower_again(work)
    else:
        raise AssertionError(f"operators that are kept come down to each other, {_ROUNDS} times")
    if compile:
        lower_partitions(trial, details_of)
    block = module.body.block
    for op in list(block.ops):
        op.detach()
        op.erase(safe_erase=False)
    for op in list(trial.body.block.ops):
        op.detach()
        block.add_op(op)
    return report


def _lower_again(module: ModuleOp) -> None:
    """Bring what has been decomposed at the edge level there."""
    from et_ir.driver.pipelines import EDGE, run_pipeline

    run_pipeline(module, f"decompose,decompose-traced,decompose,canonicalize,constant-fold,fold-sizes,{EDGE}")


def _prepare(partitioner: Partitioner, module: ModuleOp) -> None:
    """Run the passes that a partitioner wants to run."""
    try:
        for one in partitioner.passes():
            one.apply(Context(), module)
    except PassFailedException:
        raise
    except Exception as error:
        text = f"the passes of {type(partitioner).__name__} raised {type(error).__name__}: {error}"
        raise PassFailedException(f"partition: {text}") from error


def _partition(partitioner: Partitioner, method: FuncOp) -> PartitionResult:
    try:
        result = partitioner.partition(method)
        form_partitions(method, result.partition_tags)
    except (PassFailedException, PartitionError):
        clear_tags(method)
        raise
    except Exception as error:
        clear_tags(method)
        text = f"{type(partitioner).__name__} raised {type(error).__name__}: {error}"
        finding = Finding.at(method, text, "mend the partitioner, or leave it out")
        raise PassReport("a partitioner failed", [finding]) from error
    return result


def _report(
    report: DelegationReport, name: str, method: FuncOp, refusals: Mapping[Operation, Sequence[Refusal]]
) -> None:
    """Note what of a method is in no partition."""
    pending = [op for region in method.regions for op in region.block.ops]
    while pending:
        op = pending.pop(0)
        if isinstance(op, PartitionOp):
            report.partitions.append((name, op.backend.data, sum(map(_counts, op.body.walk()))))
            continue
        if isinstance(op, CallOp) or not _counts(op):
            continue
        reasons = refusals.get(op) or [Refusal("no partitioner was asked")]
        report.left_out.append(LeftOut(name, op.name, op.location, tuple(reasons)))
        pending = [inner for region in op.regions for inner in region.block.ops] + pending


def _counts(op: Operation) -> bool:
    """Whether an op computes something that a backend could take."""
    if is_copied(op) or is_statement(op) or isinstance(op, YieldOp):
        return False
    return op.name not in ("func.return", "backend.yield")
