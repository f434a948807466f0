"""Partitioning of a module: tags become regions, and what is left out is reported with its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException, VerifyException

from et_ir.delegation.dependences import is_copied, is_statement
from et_ir.delegation.failures import without_failed
from et_ir.delegation.partitioner import Partitioner, Partitioners, all_partitioners
from et_ir.delegation.regions import PartitionError, form_partitions
from et_ir.delegation.restored_weights import merge_weights, separate_weights
from et_ir.delegation.specs import PartitionResult
from et_ir.delegation.tags import clear_tags
from et_ir.delegation.why_not import DelegationReport
from et_ir.diagnostics import Diagnostic, PassReport, diagnose
from et_ir.dialects.backend import CallOp, PartitionOp
from et_ir.dialects.control import YieldOp
from et_ir.locations import place_of
from et_ir.pass_application import apply_pass
from et_schema.user_code import raised

__all__ = ["partition_module"]


def partition_module(
    module: ModuleOp, partitioners: Partitioners, *, strict: bool = True
) -> DelegationReport:
    """Make partitions of what backends take, in the methods of a module; returns what they left out, and why.

    Raises `PassFailedException` for a method that there is not, and `PassReport` for a partitioner that fails, or asks
    for what cannot be done: the methods before it in the module have their partitions then. Unless it is `strict`, such
    a partitioner takes nothing of the method, or not the op that it fails for, and the report has the failure.
    """
    methods = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    if isinstance(partitioners, Mapping):
        unknown = [name for name in partitioners if name not in methods]
        if unknown:
            there = ", ".join(sorted(methods)) or "none"
            raise PassFailedException(f"partition: no method named '{unknown[0]}'; methods are: {there}")
    for partitioner in dict.fromkeys(all_partitioners(partitioners)):
        _prepare(partitioner, module)
    report = DelegationReport()
    for name, method in methods.items():
        chosen = partitioners.get(name, ()) if isinstance(partitioners, Mapping) else partitioners
        refusals: dict[Operation, list[Diagnostic]] = {}
        copies = separate_weights(method)
        for partitioner in [chosen] if isinstance(chosen, Partitioner) else chosen:
            result = _partition(partitioner, method, strict=strict)
            report.failures += [finding for failure in result.failures for finding in failure.diagnostics]
            for op, refusal in result.refusals.items():
                refusals.setdefault(op, []).append(refusal)
        merge_weights(method, copies)
        _report(report, name, method, refusals)
    return report


def _prepare(partitioner: Partitioner, module: ModuleOp) -> None:
    """Run the passes that a partitioner wants to run."""
    try:
        for one in partitioner.passes():
            apply_pass(one, Context(), module)
    except (PassFailedException, VerifyException):
        raise
    except (Exception, SystemExit) as error:
        text = f"the passes of {type(partitioner).__name__} raised {raised(error)}"
        raise PassFailedException(f"partition: {text}") from error


def _partition(partitioner: Partitioner, method: FuncOp, *, strict: bool) -> PartitionResult:
    try:
        result = without_failed(method, partitioner.partition(method))
        if strict and result.failures:
            raise result.failures[0]
        form_partitions(method, result.partition_tags)
    except (PassFailedException, PartitionError):
        clear_tags(method)
        raise
    except (Exception, SystemExit) as error:
        clear_tags(method)
        text = f"{type(partitioner).__name__} raised {raised(error)}"
        finding = diagnose(method, text, "fix the partitioner, or compile without it")
        failure = PassReport("a partitioner failed", [finding])
        if strict:
            raise failure from error
        return PartitionResult(method, {}, failures=[failure])
    return result


def _report(
    report: DelegationReport, name: str, method: FuncOp, refusals: Mapping[Operation, Sequence[Diagnostic]]
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
        reasons = refusals.get(op) or [Diagnostic("no partitioner given")]
        at = replace(place_of(op.location), path=f"@{name}")
        report.left_out.append(
            Diagnostic("is not delegated", subject=op.name, at=at, severity="remark", notes=tuple(reasons))
        )
        pending = [inner for region in op.regions for inner in region.block.ops] + pending


def _counts(op: Operation) -> bool:
    """Whether an op computes something that a backend could take."""
    if is_copied(op) or is_statement(op) or isinstance(op, YieldOp):
        return False
    return op.name not in ("func.return", "backend.yield")
