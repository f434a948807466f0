"""Operators that the code generator supports, with reasons for refusals."""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from et_backends.codegen.elements import element_of
from et_backends.codegen.forms import element_refusal, form_of_operator, is_view
from et_backends.codegen.kernels.gathers import takes_any_size
from et_backends.codegen.kernels.integer_operands import is_dynamic_factor, is_weight
from et_backends.codegen.kernels.pointwise_rules import operator_name
from et_backends.codegen.kernels.quantized_operands import (
    is_quantized_weight,
    is_row_quantized,
    is_zero_point,
    quantized_operands,
)
from et_backends.codegen.kernels.resampling import RESIZES
from et_backends.codegen.kernels.scans import scanned_size
from et_backends.codegen.kernels.sorts import least_size, sorted_size
from et_backends.codegen.sizes import (
    count_of,
    has_known_sizes,
    largest,
    least,
)
from et_backends.codegen.state_updates import is_made_in_place, updates_state
from et_ir.analysis.integer_tables import is_integer_table
from et_ir.analysis.quantization import DEQUANTIZE
from et_ir.delegation.dependences import is_copied
from et_ir.delegation.support import OperatorSupport, is_chosen
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.inference import size_of
from et_ir.dialects.schema.sizes import method_ranges
from et_ir.dialects.schema.tensors import is_tensor, tensor_type

__all__ = ["KEPT", "KernelSupport", "is_kept"]

KEPT: Final = (
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "channel_shuffle",
    "grouped.linear",
    "hardswish",
    "linear",
    "pixel_shuffle",
    "pixel_unshuffle",
    "roll",
    "silu",
)
"""Operators that there is one kernel for, and that would else be decomposed."""

_SHUFFLES: Final = ("aten.channel_shuffle", "aten.pixel_shuffle", "aten.pixel_unshuffle")
"""Shuffles of channels: operators whose kernel needs sizes that are known when the program is compiled."""

_NUMBERED: Final = frozenset(
    {
        "expand_copy",
        "native_group_norm",
        "native_layer_norm",
        "select_copy.int",
        "slice_copy.Tensor",
        "slice_scatter",
        "view_copy",
        *RESIZES,
    }
)
"""Operators that take integers which are known at run time only: sizes, which the type of the result tells, and places.
"""
_FIXED_FORMS: Final = frozenset(
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


class KernelSupport(OperatorSupport):
    """Ops that the code generator has kernels for, on tensors whose sizes are known, bounded or told by inputs."""

    takes_updates = False
    """Whether updates of state are taken, which the kernels of a program do in place."""
    takes_tables = False
    """Whether rows of integers are looked up and restored, which a kernel of a program does too."""

    takes_doubles = False
    """Whether elements of f64 are moved and computed with."""

    def __init__(self, method: FuncOp, only: frozenset[str], without: frozenset[str]):
        self.ranges = method_ranges(method)
        """Bounds of the sizes that are known at run time only."""
        self._only, self._without = only, without

    def _dynamic_refusal(self, op: SchemaOp, value: SSAValue) -> Diagnostic | None:
        """Why an op with a tensor whose sizes are known at run time only is not taken."""
        form = form_of_operator(op)
        fixed = form in _FIXED_FORMS and not (takes_any_size(op) or operator_name(op) in RESIZES)
        if fixed or (form == "pool" and tensor_type(op.operands[0]).get_num_dims() != 4):
            return Diagnostic("dynamic size", str(value.type))
        if largest(count_of(value), self.ranges) is None:
            return Diagnostic("unbounded size", str(value.type))
        if form == "scan" and not least(scanned_size(op), self.ranges):
            return Diagnostic("a size that may be 0", str(op.operands[0].type))
        if form == "sort" and least(sorted_size(op), self.ranges) < least_size(op):
            return Diagnostic("a size that may be too small", str(op.operands[0].type))
        return None

    def refusal(self, op: Operation) -> Diagnostic | None:
        if not isinstance(op, SchemaOp):
            return Diagnostic("no operator", op.name)
        name = operator_name(op)
        if not is_chosen(op.operator.view_form, self._only, self._without):
            return Diagnostic("left out by the user", name)
        if not self.takes_updates and updates_state(op) and not is_made_in_place(op):
            return Diagnostic("state is updated in place", name)
        table = op.operands[0].owner if name == "embedding" else None
        if isinstance(table, DEQUANTIZE) and not (self.takes_tables and is_integer_table(table)):
            # A kernel of the program restores the rows that are found; here the whole table would be an input.
            return Diagnostic("rows of integers are looked up", name)
        tensors = [value for value in (*op.operands, *op.results) if is_tensor(value.type)]
        unknown = next((value.type for value in tensors if not has_known_sizes(value)), None)
        if unknown is not None:
            return Diagnostic("a size without an expression", str(unknown))
        form = form_of_operator(op)
        takes_table = self.takes_tables and is_integer_table(op)
        if (
            takes_table
            or is_weight(op)
            or is_quantized_weight(op)
            or is_dynamic_factor(op)
            or is_zero_point(op)
        ):
            # They are computed with the products that read them, or are read by who restores the weights.
            users = [use.operation for result in op.results for use in result.uses]
            return next(filter(None, map(self.refusal, users)), None)
        if form is None and not is_view(op) and not is_row_quantized(op):
            return Diagnostic("the code generator has no kernel for this operator", name)
        used = [result for result in op.results if result.uses] or [op.results[0]]
        for value in (*op.operands, *used):
            if not is_tensor(value.type):
                if name in _NUMBERED and value.type == i64:
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
        if not self.takes_doubles and any(element_of(value) == f64 for value in tensors):
            return Diagnostic("element type", "f64")
        reason = element_refusal(op, form)
        return None if reason is None else Diagnostic("element type", reason)


def is_kept(op: Operation) -> bool:
    """Whether there is one kernel for an operator of `KEPT`.

    A linear layer needs a constant matrix, as layers of groups do, whose number is to be known too; pools make no
    indices. Where sizes are fixed, `roll` becomes parts that are concatenated, which are copied by whole rows; where
    they are not, shuffles become views in another order.
    """
    if op.name in _SHUFFLES:
        return tensor_type(op.operands[0]).has_static_shape()
    if op.name == "aten.roll":
        return not tensor_type(op.operands[0]).has_static_shape()
    if op.name.startswith("aten.adaptive_max_pool"):
        return not op.results[1].uses
    if op.name == "aten.grouped.linear" and isinstance(op, SchemaOp):
        has_rule = element_of(op.results[0]) == f32 and tensor_type(op.arg("ends")).has_static_shape()
        return has_rule and _is_rearranged_constant(op.arg("weight"))
    if op.name != "aten.linear" or not isinstance(op, SchemaOp):
        return True
    weight = op.arg("weight").owner
    if quantized_operands(op) is not None:
        return True
    if isinstance(weight, DEQUANTIZE) and isinstance(op.arg("input").owner, DEQUANTIZE):
        weight = weight.operands[0].owner
    return isinstance(weight, GetOp)


def _is_rearranged_constant(value: SSAValue) -> bool:
    """Whether a value has the elements of a constant, in another order, or in floats where these are integers."""
    while isinstance(value.owner, Operation) and not isinstance(value.owner, GetOp):
        source = value.owner
        # The order of a constant's elements changes, not what they are.
        is_moved = isinstance(source, SchemaOp) and source.operator.rearranges
        if not is_moved and not isinstance(source, DEQUANTIZE):
            return False
        value = value.owner.operands[0]
    return isinstance(value.owner, GetOp)


def _is_checked(op: SchemaOp, index: SSAValue) -> bool:
    """Whether an index is one of sizes, or an integer that is checked when the partition is called."""
    if size_of(index) is not None:
        return True
    source = tensor_type(op.operands[0])
    computed = isinstance(index.owner, Operation) and is_copied(index.owner)
    return not computed and source.get_shape()[int(op.arg("dim")) % source.get_num_dims()] >= 0
