"""Delegation: partitioning, decomposition of preserved operators that were left out, and preprocessing by backends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from et_ir.delegation.backends_by_name import details_of
from et_ir.delegation.details import BackendDetails
from et_ir.delegation.failures import clear_failures, mark_failures
from et_ir.delegation.lowering import BackendFailed, lower_partitions
from et_ir.delegation.partitioner import Partitioners, all_partitioners
from et_ir.delegation.partitioning import partition_module
from et_ir.delegation.why_not import DelegationReport
from et_ir.diagnostics import Diagnostic
from et_ir.driver.kept import KeptOperators
from et_ir.driver.method_passes import PythonPass
from et_ir.driver.pipelines import edge_passes
from et_ir.driver.stages import run_passes

__all__ = ["DelegatePass", "delegate_module"]

_ROUNDS: Final = 16


@dataclass(frozen=True)
class DelegatePass(PythonPass):
    """Delegate what partitioners choose."""

    name = "delegate"

    partitioners: Partitioners
    kept: KeptOperators | None = None
    backends: Sequence[str] = ()
    """The partitioners as `et-compile --backend` takes them: `NAME[:key=value,…]`."""
    choose: str = "first"
    """Selection among several backends for a partition: the `first` that takes it, or the `fastest` on this machine."""
    strict: bool = True
    """Whether a failure of a partitioner or a backend is an error, rather than left to other backends and kernels."""
    reports: list[DelegationReport] = field(default_factory=list[DelegationReport], compare=False)
    """Reports of delegated and remaining ops, one for each application."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.reports.append(
            delegate_module(op, self.partitioners, kept=self.kept, choose=self.choose, strict=self.strict)
        )

    def standard_passes(self) -> Sequence[ModulePass]:
        from et_ir.passes.backend.lower_partitions import LowerPartitionsPass
        from et_ir.passes.backend.partition import PartitionPass

        return [*(PartitionPass(backend) for backend in self.backends), LowerPartitionsPass()]


def delegate_module(
    module: ModuleOp,
    partitioners: Partitioners,
    *,
    details_of: Callable[[str], type[BackendDetails]] = details_of,
    kept: KeptOperators | None = None,
    compile: bool = True,
    choose: str = "first",
    strict: bool = True,
) -> DelegationReport:
    """Delegate what backends take of a module at the edge level, which then is at the backend level.

    Of the operators that are `kept` for backends, those ops that no partition takes are decomposed, and partitioners
    are asked again. Without `compile`, partitions stay regions. With `choose="fastest"`, each goes to the fastest of
    the backends that take all of it (`et_ir.driver.fastest`).

    Raises what `partition_module` and `lower_partitions` raise; the module is as it was then. Unless it is `strict`,
    a partition that its backend fails to compile is left to other backends, and to kernels; the report has the failure.
    """
    work = module.clone()
    failures: list[Diagnostic] = []
    for _ in range(_ROUNDS):
        trial = work.clone()
        copies = {} if kept is None else kept.copies(work, trial)
        originals = dict(zip(trial.walk(), work.walk(), strict=True))
        report = partition_module(trial, partitioners, strict=strict)
        if kept is not None and kept.decompose_left(work, trial, copies):
            _lower_again(work)
            continue
        try:
            _compile(trial, report, partitioners, details_of if compile else None, choose)
        except BackendFailed as error:
            if strict or not error.partitions:
                raise
            failures += error.diagnostics
            for partition in error.partitions:
                ops = [originals[op] for op in partition.walk() if op in originals]
                if not ops or partition in originals:
                    raise  # it would be formed again, or the program has it already
                mark_failures(ops, partition.backend.data)
            continue
        break
    else:
        raise AssertionError(
            f"operators that are kept come down to each other, or to what backends fail for, {_ROUNDS} times"
        )
    report.failures += failures
    clear_failures(trial)
    block = module.body.block
    for op in list(block.ops):
        op.detach()
        op.erase(safe_erase=False)
    for op in list(trial.body.block.ops):
        op.detach()
        block.add_op(op)
    return report


def _compile(
    module: ModuleOp,
    report: DelegationReport,
    partitioners: Partitioners,
    details_of: Callable[[str], type[BackendDetails]] | None,
    choose: str,
) -> None:
    """Have the partitions of a module compiled, each by the backend that is to have it."""
    if choose == "fastest":
        from et_ir.driver.fastest import choose_fastest

        chosen = choose_fastest(module, list(all_partitioners(partitioners)), delegate_module)
        report.partitions = [
            (method, chosen.get(number, backend), ops)
            for number, (method, backend, ops) in enumerate(report.partitions)
        ]
    if details_of is not None:
        lower_partitions(module, details_of)


def _lower_again(module: ModuleOp) -> None:
    """Bring what has been decomposed at the edge level there."""
    from et_ir.passes.aten_to_core.decompose import DecomposePass
    from et_ir.passes.aten_to_core.decompose_traced import DecomposeTracedPass
    from et_ir.passes.aten_to_core.fold_sizes import FoldSizesPass
    from et_ir.passes.common.canonicalize import CanonicalizePass
    from et_ir.passes.common.constant_fold import ConstantFoldPass

    decompose = [DecomposePass(), DecomposeTracedPass(), DecomposePass()]
    fold = [CanonicalizePass(), ConstantFoldPass(), FoldSizesPass()]
    run_passes(module, [*decompose, *fold, *edge_passes()])
