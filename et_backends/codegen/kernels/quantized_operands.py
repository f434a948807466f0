"""Operands of products with weights quantized by channel or group.

Weights are `w[c, k] = v[c, k] t[g, c]` with a scale `t` for each column and each group of neighbors of the shared
dimension, `g = k // group`; there is one group where scales are by channel. Activations are floats, or bytes with a
scale and a zero point for each row, `x[r, k] = (q[r, k] - z[r]) s[r]`, as they are where these are computed of the row
when the program runs. Then sums of products of bytes are exact in i32, and the product is
`s[r] (sum_g t[g, c] sum q v - z[r] sum_g t[g, c] sum v)`, whose last sum is known when the program is compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.elements import element_of, is_integer
from et_backends.codegen.kernels.integer_operands import integer_operands
from et_backends.codegen.kernels.pointwise_rules import anchor_of, operator_name
from et_backends.codegen.kernels.quantization_rules import i8
from et_ir.analysis.quantization import DEQUANTIZE, Granularity, Quantization, quantization_of
from et_ir.dialects.counterparts import forms
from et_ir.dialects.program import GetOp, GlobalOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.evaluation.arrays import array_of

__all__ = [
    "QuantizedOperands",
    "is_quantized_weight",
    "is_row_quantized",
    "is_zero_point",
    "kernel_quantized_operands",
    "quantized_operands",
]

Array = np.ndarray[Any, np.dtype[Any]]

NIBBLES: Final = (-8, 7)
QUAD: Final = 4
LONGEST: Final = 1 << 15
"""Products of a byte and 16 times a nibble whose sum is within half of the range of i32."""
_LINEAR: Final = forms("linear", "grouped.linear")
_SAME_NUMBERS: Final = forms("_to_copy", "dim_order_ops._to_dim_order_copy", "view")
_MOST_OPERANDS: Final = 3
"""Operands of an op that dequantizes: integers, scales, zero points."""


@dataclass(frozen=True)
class QuantizedOperands:
    """The operands of a linear layer with dequantized weights."""

    op: SchemaOp
    weight: SchemaOp
    """The op that dequantizes the weights."""
    activation: SchemaOp | None
    """The op that dequantizes rows of bytes; None for an activation of floats."""
    weights: Array
    """i8 [columns, inner], as they are stored; of several matrices, columns of one after the other."""
    quantization: Quantization
    scales: Array
    """f32 [columns, groups], as they are stored where there are several groups."""

    @property
    def group(self) -> int:
        """Elements of the shared dimension with one scale."""
        return self.quantization.group or self.weights.shape[1]

    @property
    def units(self) -> int:
        """The numbers of a group that a lane holds: weights, or for products of bytes fours of weights."""
        return self.group // (1 if self.activation is None else QUAD)

    @property
    def ends(self) -> SSAValue | None:
        """Where groups of rows end that have matrices of their own, which are stacked; None for one matrix."""
        return self.op.arg("ends") if operator_name(self.op) == "grouped.linear" else None

    @property
    def bias(self) -> SSAValue | None:
        """What is added to each row."""
        return None if self.ends is not None else self.op.arg("bias")

    @property
    def matrices(self) -> int:
        """How many matrices the weights are."""
        return 1 if self.ends is None else tensor_type(self.ends).get_shape()[0]

    @cached_property
    def has_nibbles(self) -> bool:
        """Whether weights are packed as two to a byte: they fit, and groups have two units or more."""
        low, high = NIBBLES
        limits = low <= self.quantization.quant_min and self.quantization.quant_max <= high
        if not limits or self.units < 2:
            return False
        return bool(low <= self.weights.min() and self.weights.max() <= high)

    @property
    def stored_units(self) -> int:
        """Lanes of a group as they are stored: where two units share one, the last of an odd number has one alone."""
        return -(-self.units // 2) if self.has_nibbles else self.units


def quantized_operands(op: SchemaOp) -> QuantizedOperands | None:
    """The operands of an op in the body of a method, if it is a linear layer with constant quantized weights."""
    if not isinstance(op, _LINEAR) or not isinstance(op.arg("weight").owner, DEQUANTIZE):
        return None
    found: Operation | None = op
    while found is not None and not isinstance(found, ModuleOp):
        found = found.parent_op()
    return None if found is None else _matched(op, Globals(found))


def kernel_quantized_operands(symbols: Globals, kernel: KernelOp) -> QuantizedOperands:
    """The operands of the product with quantized weights that is the anchor of a kernel."""
    found = _matched(anchor_of(kernel), _KernelGlobals(symbols, kernel.outside()))
    assert found is not None
    return found


class _KernelGlobals(Globals):
    """The constants of a module, as the body of a kernel reads them."""

    def __init__(self, symbols: Globals, outside: Mapping[SSAValue, SSAValue]):
        super().__init__(symbols.module)
        self._outside = outside

    def constant_of(self, value: SSAValue) -> GlobalOp | None:
        return super().constant_of(self._outside.get(value, value))


def _matched(op: SchemaOp, symbols: Globals) -> QuantizedOperands | None:
    weight = op.arg("weight").owner
    stored = weight.operands[0]
    if element_of(stored) != i8 or element_of(op.results[0]) != f32:
        return None
    if operator_name(op) == "grouped.linear" and not tensor_type(op.arg("ends")).has_static_shape():
        return None
    symbol = symbols.constant_of(stored)
    if symbol is None or symbol.value is None or not symbol.value.blob.is_resolved:
        return None
    quantization = quantization_of(weight, symbols)
    if not quantization.is_symmetric or quantization.scales is None or quantization.axis:
        return None
    weights = array_of(symbol.type, symbol.value.blob)
    activation = op.arg("input").owner
    if not is_row_quantized(activation) or not _multiplies_bytes(weights, quantization):
        activation = None
    scales = _scales(weight, weights, quantization, symbols)
    return QuantizedOperands(op, weight, activation, weights, quantization, scales)


def _scales(weight: SchemaOp, weights: Array, quantization: Quantization, symbols: Globals) -> Array:
    """f32 [columns, groups]: not copied where they are stored so, as there may be many."""
    columns = weights.shape[0]
    if quantization.granularity is Granularity.GROUP:
        symbol = symbols.constant_of(weight.arg("scales"))
        if symbol is not None and symbol.value is not None and symbol.type.element_type == f32:
            return array_of(symbol.type, symbol.value.blob).reshape(columns, -1)
    found = quantization.scales
    assert found is not None
    if quantization.granularity is not Granularity.GROUP:
        found = np.broadcast_to(found, columns).reshape(columns, 1)
    return np.ascontiguousarray(found, np.float32)


def _multiplies_bytes(weights: Array, quantization: Quantization) -> bool:
    """Whether rows and groups are of whole quads, and sums of products are exact."""
    group = quantization.group or weights.shape[1]
    return group % QUAD == 0 and group < LONGEST


def is_row_quantized(op: Any) -> bool:
    """Whether an op dequantizes bytes with a scale and a zero point, computed when it runs, for each row."""
    if not isinstance(op, DEQUANTIZE) or not op.name.endswith(".dequantize_per_channel"):
        return False
    stored, scales, *points = op.operands
    type = tensor_type(stored)
    axis = op.arg("axis") % type.get_num_dims()
    return (
        not isinstance(stored.owner, GetOp)
        and element_of(stored) in (i8, ui8)
        and element_of(scales) == f32
        and element_of(op.results[0]) == f32
        and all(is_integer(element_of(one)) or element_of(one) == f32 for one in points)
        and axis == type.get_num_dims() - 2
        and all(size == 1 for size in type.get_shape()[:axis])
    )


def is_zero_point(op: Operation) -> bool:
    """Whether an op converts constant zero points, or gives them another shape, and nothing else reads them."""
    source = op
    while isinstance(source, _SAME_NUMBERS):
        owner = source.operands[0].owner
        if not isinstance(owner, Operation):
            return False
        source = owner
    return source is not op and isinstance(source, GetOp) and _is_read_as_zero_point(op.results[0])


def _is_read_as_zero_point(value: SSAValue) -> bool:
    users = [use.operation for use in value.uses]
    return bool(users) and all(
        (isinstance(user, DEQUANTIZE) and user.operands[-1] is value and len(user.operands) == _MOST_OPERANDS)
        or (isinstance(user, _SAME_NUMBERS) and _is_read_as_zero_point(user.results[0]))
        for user in users
    )


def is_quantized_weight(op: Operation) -> bool:
    """Whether an op dequantizes a constant that products alone read, as it is stored."""
    if not isinstance(op, DEQUANTIZE) or not isinstance(op.operands[0].owner, GetOp):
        return False
    users = [use.operation for use in op.results[0].uses]
    return bool(users) and all(
        isinstance(user, SchemaOp)
        and integer_operands(user) is None
        and (found := quantized_operands(user)) is not None
        and found.weight is op
        for user in users
    )
