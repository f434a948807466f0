"""Methods whose operators all have kernels: what a freestanding object is compiled of.

The native partitioner decides what there are kernels for; here its partitions are put back into the method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_ir.backends.native.partitioner import NativePartitioner
from et_ir.diagnostics import Diagnostic, PassReport, diagnose
from et_ir.dialects.backend import PartitionOp
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.driver.delegate import delegate_module
from et_ir.driver.stages import run_pipeline

if TYPE_CHECKING:
    from et_ir.driver.kept import KeptOperators

__all__ = ["UnsupportedProgram", "WholeProgramPartitioner", "whole_program"]


class UnsupportedProgram(PassReport):
    """A program that needs more than a freestanding object has."""


class WholeProgramPartitioner(NativePartitioner):
    """Takes all that there are kernels for, also where it only moves elements."""

    def refuse_partition(self, ops: Sequence[Operation]) -> Diagnostic | None:
        return None


def whole_program(module: ModuleOp, kept: KeptOperators | None = None) -> ModuleOp:
    """A copy of a program at the edge level, where ops of `kept` operators without a kernel are decomposed.

    Raises `UnsupportedProgram` for operators without a kernel, sizes that are known at run time only, inputs that
    are numbers, state, control flow, and several methods.
    """
    made = module.clone()
    report = delegate_module(made, WholeProgramPartitioner(), kept=kept, compile=False)
    left_out = [replace(one, message="needs a runtime") for one in report.left_out]
    UnsupportedProgram.raise_if("no freestanding object can be made", left_out)
    methods = [op for op in made.body.block.ops if isinstance(op, FuncOp)]
    findings = [diagnose(one, "several methods", "compile one at a time") for one in methods[1:]]
    for method in methods:
        for op in list(method.body.block.ops):
            if isinstance(op, PartitionOp):
                _inline(op)
        findings += _findings(method)
    UnsupportedProgram.raise_if("no freestanding object can be made", findings)
    run_pipeline(made, "canonicalize,narrow-selections,canonicalize,dce")
    return made


def _inline(op: PartitionOp) -> None:
    """The ops of a partition in its place."""
    block, body = op.parent, op.body.block
    assert block is not None
    for argument, value in zip(body.args, op.inputs, strict=True):
        argument.replace_all_uses_with(value)
    end = body.last_op
    assert end is not None
    for inner in list(body.ops):
        if inner is not end:
            inner.detach()
            block.insert_op_before(inner, op)
    for result, value in zip(op.results, end.operands, strict=True):
        result.replace_all_uses_with(value)
    block.erase_op(op)


def _findings(method: FuncOp) -> list[Diagnostic]:
    """What of a method is beyond an object."""
    found: list[Diagnostic] = []
    for number, argument in enumerate(method.body.block.args):
        if not is_tensor(argument.type):
            message = f"input {number} is a number, not a tensor"
            found.append(diagnose(method, message, "export it as a constant"))
        elif not tensor_type(argument).has_static_shape():
            message = f"input {number} has sizes that are known at run time only: {argument.type}"
            found.append(diagnose(method, message, "export it without dynamic shapes"))
    return found
