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

from et_backends.codegen.support import KernelSupport
from et_backends.freestanding.compiler.constant_methods import constant_of
from et_backends.freestanding.passes.fold_empty_tensors import FoldEmptyTensorsPass
from et_backends.freestanding.passes.split_complex import SplitComplexPass
from et_backends.native.compiler.partitioner import NativePartitioner
from et_ir.diagnostics import Diagnostic, PassReport, diagnose
from et_ir.dialects.control import CondOp, ControlOp, MapOp, ScanOp, WhileOp, YieldOp
from et_ir.dialects.edge.ops import ComplexOp, ViewAsRealCopyOp
from et_ir.dialects.program import LoadOp, StoreOp
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.driver.delegate import delegate_module
from et_ir.passes.to_executorch.legalize.complex_parts import is_complex

if TYPE_CHECKING:
    from et_ir.driver.kept import KeptOperators

__all__ = ["UnsupportedProgram", "WholeProgramPartitioner", "whole_program"]

_BETWEEN: Final = (ComplexOp.name, ViewAsRealCopyOp.name)
_TITLE: Final = "no freestanding object can be made"
STEPS: Final = frozenset(one.name for one in (CondOp, LoadOp, MapOp, ScanOp, StoreOp, WhileOp))
"""Ops between partitions, which become branches, loops and copies."""


_FIXES: Final = {
    "the code generator has no kernel for this operator": "compute it with other operators, or leave it to the caller: "
    "export the part of the model before or behind it",
    "element type": "use one of the types that it takes: convert the module and its inputs, as with .float(); of "
    "complex numbers, return torch.view_as_real",
    "writes to an input": "return the new value instead",
    "state is updated in place": "return the new value, or keep it in a buffer of the module (register_buffer)",
    **dict.fromkeys(
        (
            "a size without an expression",
            "a size that may be 0",
            "a size that may be too small",
            "dynamic size",
            "empty tensor",
            "unbounded size",
        ),
        "give it a fixed size: export without dynamic shapes, and use masks in place of operators whose results depend "
        "on data, as nonzero",
    ),
    **dict.fromkeys(
        ("an argument is known only at run time", "an index is computed of data"),
        "use a constant, or a tensor as the index (torch.index_select, torch.where)",
    ),
}
"""Changes of a model, by the reason for which there is no kernel."""
_PLACES: Final = 3
"""The most places of one kind that are named beside the first."""


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
    methods = [op for op in made.body.block.ops if isinstance(op, FuncOp) and constant_of(op) is None]
    interface = [finding for method in methods for finding in _interface(method)]
    UnsupportedProgram.raise_if(_TITLE, interface)  # alone: what is computed of inputs follows from that
    FoldEmptyTensorsPass().apply(Context(), made)
    SplitComplexPass().apply(Context(), made)
    report = delegate_module(made, WholeProgramPartitioner(), kept=kept, compile=False)
    left_out = [one for one in report.left_out if one.subject not in STEPS]
    # Complex tensors are put together and taken apart for an operator without a rule, which is left out, too.
    left_out = [one for one in left_out if one.subject not in _BETWEEN] or left_out
    UnsupportedProgram.raise_if(_TITLE, _one_of_each_kind(left_out))
    methods = [op for op in made.body.block.ops if isinstance(op, FuncOp) and constant_of(op) is None]
    findings = [finding for method in methods for finding in _findings(method)]
    if not methods:
        findings.append(Diagnostic("no method computes anything"))
    UnsupportedProgram.raise_if(_TITLE, findings)
    return made


def _one_of_each_kind(left_out: Sequence[Diagnostic]) -> list[Diagnostic]:
    """An error for each reason: at the first op that it holds for, with the places of others, and what to change."""
    kinds: dict[tuple[str, ...], list[Diagnostic]] = {}
    for one in left_out:
        kinds.setdefault(tuple(note.text for note in one.notes), []).append(one)
    found: list[Diagnostic] = []
    for first, *others in kinds.values():
        fix = next((_FIXES[note.message] for note in first.notes if note.message in _FIXES), first.fix)
        places = dict.fromkeys(f"'{one.subject}' at {one.place.source}" for one in others)
        places.pop(f"'{first.subject}' at {first.place.source}", None)
        notes = list(first.notes)
        if places:
            more = f", and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
            notes.append(Diagnostic(f"also {', '.join(list(places)[:_PLACES])}{more}"))
        found.append(replace(first, severity="error", message="needs a runtime", notes=tuple(notes), fix=fix))
    return found


def _interface(method: FuncOp) -> list[Diagnostic]:
    """Diagnostics of inputs that a function in C cannot have, and of complex results."""
    found: list[Diagnostic] = []
    end = method.body.block.last_op
    assert isinstance(end, ReturnOp)
    for number, argument in enumerate(method.body.block.args):
        name = str(number) if argument.name_hint is None else f'"{argument.name_hint}"'
        subject = f"input {name} of @{method.sym_name.data}"
        found += [replace(one, subject=subject) for one in _unknown(method, "it", argument)]
        if is_complex(argument):
            found.append(_complex(method, subject, "take it as torch.view_as_real of it"))
    for number, value in enumerate(end.arguments):
        if is_complex(value):
            subject = f"output {number} of @{method.sym_name.data}"
            found.append(_complex(end, subject, "return torch.view_as_real of it"))
    return found


def _complex(op: Operation, subject: str, fix: str) -> Diagnostic:
    return diagnose(
        op, "it has complex numbers, which functions of objects do not take or return", fix, subject=subject
    )


def _findings(method: FuncOp) -> list[Diagnostic]:
    """Diagnostics of the parts of a method that an object cannot have."""
    found: list[Diagnostic] = []
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
        return [diagnose(op, message, "export the program without dynamic shapes: an object has fixed sizes")]
    return []
