"""Partitioner of the native backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from xdsl.dialects.builtin import f32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from et_ir.backends.native.backend import ALGORITHM_SPEC, FALLBACK_SPEC, INSTRUCTION_SETS_SPEC, NativeBackend
from et_ir.backends.native.forms import VIEWS, form_of, is_comparison
from et_ir.backends.native.kernels.pointwise_rules import operator_name
from et_ir.backends.native.object_code import INSTRUCTION_SETS, require_llvm
from et_ir.backends.native.passes.choose_algorithms import ALGORITHMS
from et_ir.backends.native.sizes import Known, count_of, has_known_sizes, largest, number_of, shape_of
from et_ir.backends.native.state_updates import updates_state
from et_ir.delegation.backends_by_name import Backend
from et_ir.delegation.capability import CapabilityPartitioner
from et_ir.delegation.dependences import is_copied
from et_ir.delegation.options import check_options, number_option, operators, operators_option
from et_ir.delegation.partitioner import KeepFilter
from et_ir.delegation.specs import CompileSpec, DelegationSpec
from et_ir.delegation.support import OperatorSupport
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.inference import size_of
from et_ir.dialects.schema.literals import element_type_name
from et_ir.dialects.schema.sizes import method_ranges
from et_ir.dialects.schema.tensors import is_tensor, tensor_type

if TYPE_CHECKING:
    from torch._ops import OpOverload

__all__ = ["BACKEND", "KEPT", "NativePartitioner"]

KEPT: Final = ("hardswish", "linear", "silu")
"""Operators that there is one kernel for, and that would else be decomposed."""

NUMBERED: Final = frozenset(
    {
        "expand_copy",
        "native_group_norm",
        "native_layer_norm",
        "select_copy.int",
        "slice_copy.Tensor",
        "view_copy",
    }
)
"""Operators that take integers which are known at run time only: sizes, which the type of the result tells, and places.
"""
DEFAULT_SETS: Final = ("x86-64-v4", "x86-64-v3", "aarch64")


class NativeSupport(OperatorSupport):
    """Ops of f32 tensors of fixed sizes that there is a rule for."""

    def __init__(self, method: FuncOp, only: frozenset[str], without: frozenset[str]):
        self._ranges = method_ranges(method)
        self._only, self._without = only, without

    def _dynamic_refusal(self, op: SchemaOp, value: SSAValue) -> Diagnostic | None:
        """Why an op with a tensor whose sizes are known at run time only is not taken."""
        if not has_known_sizes(value):
            return Diagnostic("a size without an expression", str(value.type))
        if largest(count_of(value), self._ranges) is None:
            return Diagnostic("unbounded size", str(value.type))
        return None

    def refusal(self, op: Operation) -> Diagnostic | None:
        if not isinstance(op, SchemaOp):
            return Diagnostic("no operator", op.name)
        name = operator_name(op)
        if op.operator.view_form in self._without or (self._only and op.operator.view_form not in self._only):
            return Diagnostic("left out by the user", name)
        if updates_state(op):
            return Diagnostic("state is updated in place", name)
        if form_of(op) is None and name not in VIEWS:
            return Diagnostic("the native backend has no rule for this operator", name)
        used = [result for result in op.results if result.uses] or [op.results[0]]
        if is_comparison(op):
            used = []
        read = list(op.operands)
        if name == "where.self":
            mask = read.pop(0).owner
            if not isinstance(mask, SchemaOp) or not is_comparison(mask) or self.refusal(mask) is not None:
                return Diagnostic("the condition is not a comparison of the partition", name)
        for value in (*read, *used):
            if not is_tensor(value.type):
                if name in NUMBERED and value.type == i64:
                    if name == "select_copy.int" and not _is_checked(op, value):
                        return Diagnostic("an index is computed of data", str(value.type))
                    continue
                return Diagnostic("an argument is known only at run time", str(value.type))
            type = value.type
            if type.element_type != f32:
                return Diagnostic("element type", f"{element_type_name(type.element_type)}, it takes f32")
            if not type.has_static_shape():
                refusal = self._dynamic_refusal(op, value)
                if refusal is not None:
                    return refusal
            if 0 in type.get_shape():
                return Diagnostic("empty tensor", str(type))
            if tuple(dim_order_of(type)) != tuple(range(type.get_num_dims())):
                return Diagnostic("memory format", str(type))
        return None


class NativePartitioner(CapabilityPartitioner):
    """Takes what the native backend has rules for.

    `instruction_sets` are levels of architectures that code is made for: `x86-64-v4`, `x86-64-v3`, `aarch64`. With
    `only`, no other operators than these; without those of `without`. `algorithm` is that of convolutions where it can
    compute them: `direct`, `winograd_2` or `winograd_4`; a cost model chooses unless it is given. With `fallback`,
    partitions are in the file as portable programs too, which run where the code is not allowed or a processor lacks a
    feature.

    Raises ValueError for other names, ModuleNotFoundError where LLVM (llvmlite) is not installed.
    """

    def __init__(
        self,
        *,
        instruction_sets: Sequence[str] = DEFAULT_SETS,
        only: Sequence[str] = (),
        without: Sequence[str] = (),
        min_ops: int = 1,
        algorithm: str | None = None,
        fallback: bool = False,
    ):
        for name in instruction_sets:
            if name not in INSTRUCTION_SETS:
                there = ", ".join(INSTRUCTION_SETS)
                raise ValueError(f"unknown instruction set '{name}'; there are: {there}")
        if not instruction_sets:
            raise ValueError("no instruction set")
        if algorithm not in (None, *ALGORITHMS):
            raise ValueError(f"unknown algorithm '{algorithm}'; there are: {', '.join(ALGORITHMS)}")
        require_llvm()  # before anything is lowered
        specs = [CompileSpec(INSTRUCTION_SETS_SPEC, "+".join(instruction_sets).encode())]
        if algorithm is not None:
            specs.append(CompileSpec(ALGORITHM_SPEC, algorithm.encode()))
        if fallback:
            specs.append(CompileSpec(FALLBACK_SPEC, b"1"))
        super().__init__(DelegationSpec(NativeBackend.backend_id, tuple(specs)))
        self.min_ops = min_ops
        self._only, self._without = operators(only), operators(without)

    takes_numbers = True

    def support(self, method: FuncOp) -> OperatorSupport:
        return NativeSupport(method, self._only, self._without)

    def ops_to_not_decompose(
        self,
    ) -> tuple[Sequence[str | type[Operation] | OpOverload], KeepFilter | None]:
        return [name for name in KEPT if name not in self._without], _is_kept

    def refuse_partition(self, ops: Sequence[Operation]) -> Diagnostic | None:
        if all(isinstance(op, SchemaOp) and operator_name(op) in VIEWS for op in ops):
            return Diagnostic("the partition computes nothing", "it only moves elements")
        inside = set(ops)
        if any(
            isinstance(op, SchemaOp) and is_comparison(op) and not _users(op) <= inside for op in ops
        ) or any(
            isinstance(op, SchemaOp)
            and operator_name(op) == "where.self"
            and op.operands[0].owner not in inside
            for op in ops
        ):
            return Diagnostic(
                "a mask passes from one partition to another", "kernels keep masks in registers"
            )
        return super().refuse_partition(ops) or _untold(ops)


def _is_checked(op: SchemaOp, index: SSAValue) -> bool:
    """Whether an index is one of sizes, or an integer that is checked when the partition is called."""
    if size_of(index) is not None:
        return True
    source = tensor_type(op.operands[0])
    computed = isinstance(index.owner, Operation) and is_copied(index.owner)
    return not computed and source.get_shape()[int(op.arg("dim")) % source.get_num_dims()] >= 0


def _untold(ops: Sequence[Operation]) -> Diagnostic | None:
    """Why a partition would not know the sizes of its tensors: it is told those of its inputs."""
    inside = set(ops)
    inputs: dict[SSAValue, None] = {}
    pending = [operand for op in ops for operand in op.operands]
    while pending:
        value = pending.pop(0)
        owner = value.owner
        if isinstance(owner, Operation) and is_copied(owner):
            pending += owner.operands
        elif owner not in inside:
            inputs.setdefault(value)
    for value in inputs:
        if not is_tensor(value.type) and value.type != i64:
            return Diagnostic("takes a number that is no integer", str(value.type))
    known = Known(list(inputs))
    for op in ops:
        for operand in op.operands:
            if not is_tensor(operand.type) and number_of(operand, known.numbers) is None:
                return Diagnostic("a number is not known at run time", str(operand.type))
        for result in op.results:
            try:
                for size in shape_of(result):
                    known.told(size)
            except ValueError as error:
                return Diagnostic("a size is not known at run time", str(error))
    return None


def _is_kept(op: Operation) -> bool:
    """Whether there is one kernel for an operator of `KEPT`: a linear layer needs a constant matrix."""
    if op.name != "aten.linear" or not isinstance(op, SchemaOp):
        return True
    return isinstance(op.arg("weight").owner, GetOp)


def _users(op: Operation) -> set[Operation]:
    return {use.operation for result in op.results for use in result.uses}


def _partitioner(options: Mapping[str, str]) -> NativePartitioner:
    try:
        require_llvm()
    except ModuleNotFoundError as error:
        raise ValueError(str(error)) from error  # as for any request that cannot be met
    if options.get("fallback", "0") not in ("0", "1"):
        raise ValueError(f"fallback={options['fallback']}: expected 0 or 1")
    check_options(options, ("for", "only", "without", "min", "algorithm", "fallback"))
    return NativePartitioner(
        instruction_sets=tuple(filter(None, options["for"].split("+"))) if "for" in options else DEFAULT_SETS,
        only=operators_option(options, "only"),
        without=operators_option(options, "without"),
        min_ops=number_option(options, "min", 1),
        algorithm=options.get("algorithm"),
        fallback=options.get("fallback") == "1",
    )


BACKEND: Final = Backend("native", NativeBackend, _partitioner)
