"""Partitioner of the native backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from xdsl.dialects.builtin import i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from et_ir.analysis.quantization import DEQUANTIZE
from et_ir.backends.native.backend import (
    ALGORITHM_SPEC,
    BANDS_SPEC,
    FALLBACK_SPEC,
    INSTRUCTION_SETS_SPEC,
    TUNE_SPEC,
    VALUES_SPEC,
    NativeBackend,
)
from et_ir.backends.native.forms import element_refusal, form_of_operator, is_view
from et_ir.backends.native.kernels.gathers import takes_any_size
from et_ir.backends.native.kernels.integer_operands import is_dynamic_factor, is_weight
from et_ir.backends.native.kernels.pointwise_rules import operator_name
from et_ir.backends.native.kernels.quantized_operands import (
    is_quantized_weight,
    is_row_quantized,
    is_zero_point,
    quantized_operands,
)
from et_ir.backends.native.kernels.scans import scanned_size
from et_ir.backends.native.object_code import INSTRUCTION_SETS, require_llvm
from et_ir.backends.native.passes.choose_algorithms import ALGORITHMS
from et_ir.backends.native.passes.fuse_bands import CACHE
from et_ir.backends.native.sizes import (
    Known,
    count_of,
    has_known_sizes,
    largest,
    least,
    number_of,
    shape_of,
)
from et_ir.backends.native.state_updates import updates_state
from et_ir.delegation.backends_by_name import Backend
from et_ir.delegation.capability import CapabilityPartitioner
from et_ir.delegation.dependences import is_copied
from et_ir.delegation.options import check_options, number_option, operators, operators_option
from et_ir.delegation.partitioner import KeepFilter
from et_ir.delegation.specs import CompileSpec, DelegationSpec
from et_ir.delegation.support import OperatorSupport
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.inference import size_of
from et_ir.dialects.schema.sizes import method_ranges
from et_ir.dialects.schema.tensors import is_tensor, tensor_type

if TYPE_CHECKING:
    from torch._ops import OpOverload

__all__ = ["BACKEND", "KEPT", "NativePartitioner", "NativeSupport", "is_kept"]

KEPT: Final = (
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "channel_shuffle",
    "hardswish",
    "linear",
    "pixel_shuffle",
    "pixel_unshuffle",
    "silu",
)
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
FIXED_FORMS: Final = frozenset(
    {
        "channel_convolution",
        "filter_convolution",
        "gather",
        "pad",
        "resample",
        "scatter",
        "shuffle",
    }
)
"""Forms of kernels for sizes that are known when the program is compiled."""

DEFAULT_SETS: Final = ("x86-64-v4", "x86-64-v3", "aarch64")


class NativeSupport(OperatorSupport):
    """Ops of tensors of fixed sizes that there is a rule for."""

    takes_updates = False
    """Whether updates of state are taken, which the kernels of a program do in place."""

    def __init__(self, method: FuncOp, only: frozenset[str], without: frozenset[str]):
        self._ranges = method_ranges(method)
        self._only, self._without = only, without

    def _dynamic_refusal(self, op: SchemaOp, value: SSAValue) -> Diagnostic | None:
        """Why an op with a tensor whose sizes are known at run time only is not taken."""
        form = form_of_operator(op)
        fixed = form in FIXED_FORMS and not takes_any_size(op)
        if fixed or (form == "pool" and tensor_type(op.operands[0]).get_num_dims() != 4):
            return Diagnostic("dynamic size", str(value.type))
        if largest(count_of(value), self._ranges) is None:
            return Diagnostic("unbounded size", str(value.type))
        if form == "scan" and not least(scanned_size(op), self._ranges):
            return Diagnostic("a size that may be 0", str(op.operands[0].type))
        return None

    def refusal(self, op: Operation) -> Diagnostic | None:
        if not isinstance(op, SchemaOp):
            return Diagnostic("no operator", op.name)
        name = operator_name(op)
        if op.operator.view_form in self._without or (self._only and op.operator.view_form not in self._only):
            return Diagnostic("left out by the user", name)
        if not self.takes_updates and updates_state(op):
            return Diagnostic("state is updated in place", name)
        if name == "embedding" and isinstance(op.operands[0].owner, DEQUANTIZE):
            # A kernel of the program restores the rows that are found; here the whole table would be an input.
            return Diagnostic("rows of integers are looked up", name)
        tensors = [value for value in (*op.operands, *op.results) if is_tensor(value.type)]
        unknown = next((value.type for value in tensors if not has_known_sizes(value)), None)
        if unknown is not None:
            return Diagnostic("a size without an expression", str(unknown))
        form = form_of_operator(op)
        if is_weight(op) or is_quantized_weight(op) or is_dynamic_factor(op) or is_zero_point(op):
            # They are computed with the products that read them, or are read by who restores the weights.
            users = [use.operation for result in op.results for use in result.uses]
            return next(filter(None, map(self.refusal, users)), None)
        if form is None and not is_view(op) and not is_row_quantized(op):
            return Diagnostic("the native backend has no rule for this operator", name)
        used = [result for result in op.results if result.uses] or [op.results[0]]
        for value in (*op.operands, *used):
            if not is_tensor(value.type):
                if name in NUMBERED and value.type == i64:
                    if name == "select_copy.int" and not _is_checked(op, value):
                        return Diagnostic("an index is computed of data", str(value.type))
                    continue
                return Diagnostic("an argument is known only at run time", str(value.type))
            type = value.type
            if not type.has_static_shape():
                refusal = self._dynamic_refusal(op, value)
                if refusal is not None:
                    return refusal
            if 0 in type.get_shape():
                return Diagnostic("empty tensor", str(type))
        reason = element_refusal(op, form)
        return None if reason is None else Diagnostic("element type", reason)


class NativePartitioner(CapabilityPartitioner):
    """Takes what the native backend has rules for.

    `instruction_sets` are levels of architectures that code is made for: `x86-64-v4`, `x86-64-v3`, `aarch64`. With
    `only`, no other operators than these; without those of `without`. `algorithm` is that of convolutions where it can
    compute them: `direct`, `winograd_2` or `winograd_4`; a cost model chooses unless it is given. With `fallback`,
    partitions are in the file as portable programs too, which run where the code is not allowed or a processor lacks a
    feature. Images of more than `bands` bytes between a depthwise convolution and 1x1 convolutions are not written to
    memory; None to write all of them. With `tune`, the algorithms of convolutions are those of the least time on this
    machine, which runs the code meanwhile; times are kept in the user's cache folder. With `values`, what each kernel
    computes is kept in memory of its own, so that tracers, and with them comparisons and debug buffers, have it.

    Raises ValueError for other names and `tune` beside `algorithm`, ModuleNotFoundError where LLVM (llvmlite) is not
    installed.
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
        bands: int | None = CACHE,
        tune: bool = False,
        values: bool = False,
    ):
        for name in instruction_sets:
            if name not in INSTRUCTION_SETS:
                there = ", ".join(INSTRUCTION_SETS)
                raise ValueError(f"unknown instruction set '{name}'; there are: {there}")
        if not instruction_sets:
            raise ValueError("no instruction set")
        if algorithm not in (None, *ALGORITHMS):
            raise ValueError(f"unknown algorithm '{algorithm}'; there are: {', '.join(ALGORITHMS)}")
        if tune and algorithm is not None:
            raise ValueError(f"tune has nothing to choose beside algorithm={algorithm}")
        require_llvm()  # before anything is lowered
        specs = [
            CompileSpec(INSTRUCTION_SETS_SPEC, "+".join(instruction_sets).encode()),
            CompileSpec(BANDS_SPEC, b"off" if bands is None else str(bands).encode()),
        ]
        if algorithm is not None:
            specs.append(CompileSpec(ALGORITHM_SPEC, algorithm.encode()))
        if fallback:
            specs.append(CompileSpec(FALLBACK_SPEC, b"1"))
        if tune:
            specs.append(CompileSpec(TUNE_SPEC, b"1"))
        if values:
            specs.append(CompileSpec(VALUES_SPEC, b"1"))
        super().__init__(DelegationSpec(NativeBackend.backend_id, tuple(specs)))
        self.min_ops = min_ops
        self._only, self._without = operators(only), operators(without)

    takes_numbers = True

    def support(self, method: FuncOp) -> NativeSupport:
        return NativeSupport(method, self._only, self._without)

    def ops_to_not_decompose(
        self,
    ) -> tuple[Sequence[str | type[Operation] | OpOverload], KeepFilter | None]:
        return [name for name in KEPT if name not in self._without], is_kept

    def refuse_partition(self, ops: Sequence[Operation]) -> Diagnostic | None:
        if all(isinstance(op, SchemaOp) and is_view(op) for op in ops):
            return Diagnostic("the partition computes nothing", "it only moves elements")
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


def is_kept(op: Operation) -> bool:
    """Whether there is one kernel for an operator of `KEPT`.

    A linear layer needs a constant matrix; pools make no indices.
    """
    if op.name.startswith("aten.adaptive_max_pool"):
        return not op.results[1].uses
    if op.name != "aten.linear" or not isinstance(op, SchemaOp):
        return True
    weight = op.arg("weight").owner
    if quantized_operands(op) is not None:
        return True
    if isinstance(weight, DEQUANTIZE) and isinstance(op.arg("input").owner, DEQUANTIZE):
        weight = weight.operands[0].owner
    return isinstance(weight, GetOp)


def _partitioner(options: Mapping[str, str]) -> NativePartitioner:
    try:
        require_llvm()
    except ModuleNotFoundError as error:
        raise ValueError(str(error)) from error  # as for any request that cannot be met
    for key in ("fallback", "tune", "values"):
        if options.get(key, "0") not in ("0", "1"):
            raise ValueError(f"{key}={options[key]}: expected 0 or 1")
    known = ("for", "only", "without", "min", "algorithm", "fallback", "bands", "tune", "values")
    check_options(options, known)
    return NativePartitioner(
        instruction_sets=tuple(filter(None, options["for"].split("+"))) if "for" in options else DEFAULT_SETS,
        only=operators_option(options, "only"),
        without=operators_option(options, "without"),
        min_ops=number_option(options, "min", 1),
        algorithm=options.get("algorithm"),
        fallback=options.get("fallback") == "1",
        bands=_bands_option(options),
        tune=options.get("tune") == "1",
        values=options.get("values") == "1",
    )


def _bands_option(options: Mapping[str, str]) -> int | None:
    given = options.get("bands", str(CACHE))
    if given != "off" and not given.isdecimal():
        raise ValueError(f"bands={given}: expected a number of bytes, or off")
    return None if given == "off" else int(given)


BACKEND: Final = Backend("native", NativeBackend, _partitioner)
