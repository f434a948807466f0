"""Operands of products of quantized numbers: an activation of bytes, constant weights of bytes, a bias.

A product of bytes is exact in i32. Of a real number x = (q - z) s, and weights w = v t with a scale t for each column,
it is `s t (sum q v - z sum v + bias / (s t))`; all but `q v` is known when the program is compiled. Sums start from the
nearest whole number to the bias; the rest is added when they are scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.elements import element_of
from et_backends.codegen.kernels.pointwise_rules import anchor_of
from et_backends.codegen.kernels.quantization_rules import i8, quantizes
from et_ir.analysis.quantization import DEQUANTIZE, Quantization, quantization_of
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.evaluation.arrays import array_of

__all__ = [
    "IntegerOperands",
    "integer_operands",
    "is_dynamic",
    "is_dynamic_factor",
    "is_weight",
    "kernel_operands",
]

Array = np.ndarray[Any, np.dtype[Any]]

_Outside: TypeAlias = Callable[[SSAValue], SSAValue]

LONGEST: Final = 1 << 15
"""Products of bytes whose sum is within half of the range of i32."""
LARGEST_BIAS: Final = 1 << 30
_SIGNAL: Final = 3
_IMAGE: Final = 4
"""Dimensions of signals and images, and of the filters of these."""


@dataclass(frozen=True)
class IntegerOperands:
    """The operands of a convolution or a linear layer of dequantized values."""

    op: SchemaOp
    activation: SchemaOp
    """The op that dequantizes the activation."""
    weight: SchemaOp
    """The op that dequantizes the weights."""
    quantization: Quantization | None
    """That of the activation; None where its scale and zero point, f32, are operands of the op that dequantizes it."""
    weights: Array
    """Weights as they are stored: [columns, inner], of convolutions [columns, inner, height, width], where signals have
    a height of 1."""
    scales: Array
    """f64 of each column: products of the scales of the activation, if it is known, and of the column's weights."""
    bias: Array
    """f64 of each column, in units of `scales`, rounded half to even; in units of 1 where there is no scale."""
    remainder: Array
    """f64 of each column, in units of `scales`: what rounding has taken from `bias`."""

    @property
    def zero_point(self) -> int:
        """Of the activation as bytes without a sign; 0 where it is an operand."""
        if self.quantization is None:
            return 0
        return self.quantization.zero_point + (0 if element_of(self.activation.operands[0]) == ui8 else 128)

    def start(self) -> Array:
        """i32 of each column: the bias, without what the zero point of the activation adds to products."""
        return (self.bias.astype(np.int64) - self.zero_point * self.sums()).astype(np.int32)

    def sums(self) -> Array:
        """i64 sums of the weights of each column."""
        return self.weights.reshape(self.weights.shape[0], -1).sum(1, dtype=np.int64)


def integer_operands(op: SchemaOp) -> IntegerOperands | None:
    """The operands of an op in the body of a method, if it is a product of quantized numbers; None if not."""
    if op.name not in ("edge.linear", "edge.convolution"):
        return None
    activation, weight = op.arg("input").owner, op.arg("weight").owner
    if not isinstance(weight, DEQUANTIZE) or not (_dequantizes(activation) or is_dynamic(activation)):
        return None
    module = _module(op)
    return None if module is None else _matched(op, activation, weight, Globals(module), lambda value: value)


def kernel_operands(symbols: Globals, kernel: KernelOp) -> IntegerOperands:
    """The operands of the product of quantized numbers that is the anchor of a kernel."""
    anchor = anchor_of(kernel)
    outside = kernel.outside()
    activation, weight = anchor.arg("input").owner, anchor.arg("weight").owner
    found = _matched(anchor, activation, weight, symbols, lambda value: outside.get(value, value))
    assert found is not None
    return found


def is_dynamic(op: Any) -> bool:
    """Whether an op dequantizes what was quantized by the range of its own numbers, or is moved to `ui8` from there."""
    if not isinstance(op, DEQUANTIZE) or not op.name.endswith(".dequantize_per_tensor.tensor"):
        return False
    stored, *numbers = op.operands
    if element_of(stored) == ui8 and element_of(numbers[0]) == f32:
        return True
    quantize, choose = stored.owner, numbers[0].owner
    return (
        isinstance(quantize, SchemaOp)
        and quantize.name.endswith(".quantize_per_tensor.tensor")
        and isinstance(choose, SchemaOp)
        and choose.name.endswith(".choose_qparams.tensor")
        and element_of(stored) == i8
        and element_of(choose.operands[0]) == f32
        and [*quantize.operands] == [choose.operands[0], *numbers]
        and [*choose.results] == numbers
    )


def is_dynamic_factor(op: Operation) -> bool:
    """Whether an op quantizes the activation of linear layers, and nothing else, by the range of its numbers."""
    if not isinstance(op, SchemaOp) or "quantized_decomposed" not in op.name:
        return False
    uses = [use.operation for result in op.results for use in result.uses]
    if is_dynamic(op):
        found = [integer_operands(user) for user in uses if isinstance(user, SchemaOp)]
        return (
            bool(uses)
            and len(found) == len(uses)
            and all(one is not None and one.quantization is None for one in found)
        )
    if not op.name.endswith((".quantize_per_tensor.tensor", ".choose_qparams.tensor")):
        return False
    return bool(uses) and all(is_dynamic_factor(user) for user in uses)


def _dequantizes(op: Any) -> bool:
    return isinstance(op, DEQUANTIZE) and quantizes(op)


def _matched(
    op: SchemaOp, activation: SchemaOp, weight: SchemaOp, symbols: Globals, outside: _Outside
) -> IntegerOperands | None:
    """As `integer_operands`; `outside` gives the value in the method for one in the body of a kernel."""
    type = tensor_type(op.results[0])
    stored = outside(weight.operands[0])
    if not type.has_static_shape() or element_of(stored) != i8 or element_of(op.results[0]) != f32:
        return None
    symbol = symbols.constant_of(stored)
    if symbol is None or symbol.value is None or not symbol.value.blob.is_resolved:
        return None
    dynamic = is_dynamic(activation)
    if op.name == "edge.convolution" and (dynamic or not _is_taken(op)):
        return None
    quantization = None if dynamic else quantization_of(activation, symbols)
    weights = array_of(symbol.type, symbol.value.blob)
    if op.name == "edge.convolution" and weights.ndim == _SIGNAL:
        weights = weights[:, :, None]
    scales, symmetric, axis = _scales(weight, symbols, outside)
    if scales is None or not symmetric or axis or weights.size // weights.shape[0] >= LONGEST:
        return None
    scale = 1.0 if quantization is None else quantization.scale
    scales = np.broadcast_to(scales * scale, weights.shape[:1])
    bias = remainder = np.zeros(weights.shape[0])
    if op.arg("bias") is not None:
        numbers = _constant(outside(op.arg("bias")), symbols)
        if numbers is None or numbers.dtype != np.float32 or not (scales > 0).all():
            return None
        bias = numbers.astype(np.float64)
        if quantization is None:
            return IntegerOperands(op, activation, weight, None, weights, scales, bias, remainder)
        exact = bias / scales
        bias = np.rint(exact)
        remainder = exact - bias
    if not (np.abs(bias) < LARGEST_BIAS).all():
        return None
    return IntegerOperands(op, activation, weight, quantization, weights, scales, bias, remainder)


def _is_taken(op: SchemaOp) -> bool:
    """Whether there is code for a convolution: of images or signals, all channels or each by itself."""
    shape, groups = tensor_type(op.arg("weight")).get_shape(), op.arg("groups")
    places = (*op.arg("stride"), *op.arg("padding"), *op.arg("dilation"))
    return (
        len(shape) in (_SIGNAL, _IMAGE)
        and tensor_type(op.arg("input")).get_num_dims() == len(shape)
        and not op.arg("transposed")
        and not any(isinstance(one, SSAValue) for one in places)
        and (groups == 1 or (shape[1] == 1 and shape[0] == groups))
    )


def _scales(weight: SchemaOp, symbols: Globals, outside: _Outside) -> tuple[Array | None, bool, int]:
    """Scales of weights, whether their zero points are 0, and the dimension of the channels."""
    name = weight.operator.name
    if "per_channel" in name and "group" not in name:
        scales = _constant(outside(weight.arg("scales")), symbols)
        points = weight.arg("zero_points")
        zeros = None if points is None else _constant(outside(points), symbols)
        if scales is None or (points is not None and zeros is None):
            return None, False, 0
        return scales.astype(np.float64), zeros is None or not zeros.any(), int(weight.arg("axis"))
    if quantizes(weight):
        return np.array([float(weight.arg("scale"))]), int(weight.arg("zero_point")) == 0, 0
    return None, False, 0


def _constant(value: SSAValue, symbols: Globals) -> Array | None:
    symbol = symbols.constant_of(value)
    if symbol is None or symbol.value is None or not symbol.value.blob.is_resolved:
        return None
    return array_of(symbol.type, symbol.value.blob)


def _module(op: Operation) -> ModuleOp | None:
    found: Operation | None = op
    while found is not None and not isinstance(found, ModuleOp):
        found = found.parent_op()
    return found


def is_weight(op: Operation) -> bool:
    """Whether an op dequantizes a constant that products alone read, as integers."""
    if not isinstance(op, DEQUANTIZE) or not isinstance(op.operands[0].owner, GetOp):
        return False
    uses = list(op.results[0].uses)
    return bool(uses) and all(
        isinstance(use.operation, SchemaOp)
        and (found := integer_operands(use.operation)) is not None
        and found.weight is op
        for use in uses
    )
