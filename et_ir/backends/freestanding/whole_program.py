"""Programs whose operators all have kernels: what a freestanding object is compiled of.

The native partitioner decides what there are kernels for. What is between its partitions is control flow and state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from et_ir.backends.freestanding.constant_methods import constant_of
from et_ir.backends.freestanding.fold_empty_tensors import FoldEmptyTensorsPass
from et_ir.backends.native.partitioner import NativePartitioner
from et_ir.codegen.support import KernelSupport
from et_ir.diagnostics import Diagnostic, PassReport, diagnose
from et_ir.dialects.control import CondOp, ControlOp, MapOp, ScanOp, WhileOp, YieldOp
from et_ir.dialects.program import LoadOp, StoreOp
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.driver.delegate import delegate_module

if TYPE_CHECKING:
    from et_ir.driver.kept import KeptOperators

__all__ = ["UnsupportedProgram", "WholeProgramPartitioner", "whole_program"]

STEPS: Final = frozenset(one.name for one in (CondOp, LoadOp, MapOp, ScanOp, StoreOp, WhileOp))
"""Ops between partitions, which become branches, loops and copies."""


class UnsupportedProgram(PassReport):
    """A program that needs more than a freestanding object has."""


class _Support(KernelSupport):
    takes_updates = True


class WholeProgramPartitioner(NativePartitioner):
    """Takes all that there are kernels for, also where it only moves elements, and updates of state."""

    def support(self, method: FuncOp) -> KernelSupport:
        return _Support(method, frozenset(), frozenset())

    def refuse_partition(self, ops: Sequence[Operation]) -> Diagnostic | None:
        return None


def whole_program(module: ModuleOp, kept: KeptOperators | None = None) -> ModuleOp:
    """A copy of a program at the edge level whose methods are partitions, control flow, and uses of state, or constant.

    Ops of `kept` operators without a kernel are decomposed. Raises `UnsupportedProgram` for operators without a
    kernel, and for sizes and numbers that are known at run time only.
    """
    made = module.clone()
    FoldEmptyTensorsPass().apply(Context(), made)
    report = delegate_module(made, WholeProgramPartitioner(), kept=kept, compile=False)
    left_out = [
        replace(one, message="needs a runtime") for one in report.left_out if one.subject not in STEPS
    ]
    UnsupportedProgram.raise_if("no freestanding object can be made", left_out)
    methods = [op for op in made.body.block.ops if isinstance(op, FuncOp) and constant_of(op) is None]
    findings = [finding for method in methods for finding in _findings(method)]
    if not methods:
        findings.append(Diagnostic("no method computes anything"))
    UnsupportedProgram.raise_if("no freestanding object can be made", findings)
    return made


def _findings(method: FuncOp) -> list[Diagnostic]:
    """Diagnostics of the parts of a method that an object cannot have."""
    found: list[Diagnostic] = []
    for number, argument in enumerate(method.body.block.args):
        found += _unknown(method, f"input {number}", argument)
    end = method.body.block.last_op
    assert isinstance(end, ReturnOp)
    for number, value in enumerate(end.arguments):
        found += _unknown(method, f"output {number}", value)
    for op in method.walk():
        if isinstance(op, ControlOp):
            carried = (*op.operands, *(one for region in op.regions for one in region.block.args))
            found += [one for value in (*carried, *op.results) for one in _unknown(op, "a value", value)]
        if isinstance(op, YieldOp):
            found += [one for value in op.values for one in _unknown(op, "a value", value)]
    return found


def _unknown(op: Operation, what: str, value: SSAValue) -> list[Diagnostic]:
    if not is_tensor(value.type):
        return [diagnose(op, f"{what} is a number, not a tensor", "export it as a constant or a tensor")]
    if not tensor_type(value).has_static_shape():
        message = f"{what} has sizes that are known at run time only: {value.type}"
        return [diagnose(op, message, "export it without dynamic shapes")]
    return []
