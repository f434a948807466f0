"""Quantization parameters of quantize and dequantize operations: affine, with scales that are shared in several ways.

`quantization_of` reads them from an operation of `quantized_decomposed`, whatever its overload, so that passes and
partitioners match one structure. A real number `x` is stored as `clamp(round(x / scale) + zero_point, quant_min,
quant_max)` and restored as `(q - zero_point) * scale`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
from xdsl.ir import SSAValue

from et_ir.dialects.counterparts import forms
from et_ir.dialects.program import Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.evaluation.arrays import Array, array_of
from et_ops.dtypes import I8, I16, I32, I64, U8, DType

__all__ = [
    "DEQUANTIZE",
    "QUANTIZE",
    "Granularity",
    "Quantization",
    "dequantized",
    "numbers_of",
    "quantization_of",
    "quantized",
]


def _named(*names: str) -> tuple[type[SchemaOp], ...]:
    return forms(*(f"quantized_decomposed.{name}" for name in names))


_KINDS: Final = ("per_tensor", "per_tensor.tensor", "per_channel", "per_channel_group", "per_token")
QUANTIZE: Final = _named(*(f"quantize_{kind}" for kind in _KINDS))
"""The operations that make integers of real numbers."""
DEQUANTIZE: Final = _named(*(f"dequantize_{kind}" for kind in _KINDS))
"""The operations that make real numbers of integers."""
_SAME_NUMBERS: Final = forms("_to_copy", "dim_order_ops._to_dim_order_copy", "view", "view_copy")
_NARROW: Final = (I8, U8, I16, I32)
_QUANTIZE: Final = frozenset(QUANTIZE)
_DEQUANTIZE: Final = frozenset(DEQUANTIZE)


class Granularity(Enum):
    """Sets of elements that share a scale and a zero point."""

    TENSOR = "tensor"
    """All elements."""
    CHANNEL = "channel"
    """The elements of one index of dimension `Quantization.axis`."""
    GROUP = "group"
    """`Quantization.group` neighbours in a row of a matrix."""
    TOKEN = "token"
    """The elements of one index of all dimensions but the last."""


@dataclass(frozen=True, eq=False)
class Quantization:
    """Storage type, limits, scales and zero points of a quantized tensor."""

    dtype: DType
    """Type that integers are stored in."""
    quant_min: int
    """The smallest integer."""
    quant_max: int
    """The largest integer."""
    granularity: Granularity
    """Elements that share a scale."""
    scales: Array | None
    """f64: of shape [] by tensor, [channels] by channel, [rows, groups] by group; `None` if run time tells them."""
    zero_points: Array | None
    """i64, of the shape of `scales`; zeros where the operation names none; `None` if run time tells them."""
    axis: int = 0
    """Dimension of the channels, not negative."""
    group: int = 0
    """Number of elements of a group; 0 by other granularities."""

    @property
    def is_dynamic(self) -> bool:
        """Whether scales and zero points are computed at run time."""
        return self.scales is None or self.zero_points is None

    @property
    def scale(self) -> float:
        """The one scale. Raises `ValueError` if there are several, or none at compile time."""
        return float(self._one(self.scales))

    @property
    def zero_point(self) -> int:
        """The one zero point. Raises `ValueError` if there are several, or none at compile time."""
        return int(self._one(self.zero_points))

    @property
    def is_symmetric(self) -> bool:
        """Whether all zero points are known and 0."""
        return self.zero_points is not None and not np.any(self.zero_points)

    def equals(self, other: Quantization) -> bool:
        """Whether the same integers stand for the same numbers. Those of run time are equal to none."""
        return (
            not self.is_dynamic
            and not other.is_dynamic
            and self._structure() == other._structure()
            and np.array_equal(_known(self.scales), _known(other.scales))
            and np.array_equal(_known(self.zero_points), _known(other.zero_points))
        )

    def _structure(self) -> tuple[object, ...]:
        limits = (self.quant_min, self.quant_max)
        return (self.dtype, limits, self.granularity, self.axis, self.group)

    @staticmethod
    def _one(values: Array | None) -> Array:
        if values is None or values.ndim:
            raise ValueError("there is no single scale and zero point that are known at compile time")
        return values


def _known(values: Array | None) -> Array:
    assert values is not None
    return values


def _granularity(op: SchemaOp) -> Granularity:
    name = op.operator.name
    if "per_channel_group" in name:
        return Granularity.GROUP
    if "per_channel" in name:
        return Granularity.CHANNEL
    if "per_token" in name:
        return Granularity.TOKEN
    return Granularity.TENSOR


def _stored(value: SSAValue) -> SSAValue:
    """The tensor of the same numbers, maybe in another shape and of a narrower integer type, that a value is made of.

    Zero points are converted to a wide type, and constants that would grow by that are not folded.
    """
    while isinstance(value.owner, _SAME_NUMBERS):
        source = value.owner.operands[0]
        wide, narrow = (dtype_of(tensor_type(one).element_type) for one in (value, source))
        if wide is not narrow and not (wide is I64 and narrow in _NARROW):
            break
        value = source
    return value


def numbers_of(value: SSAValue | float, symbols: Globals, kind: type[np.generic]) -> Array | None:
    """A literal, or the numbers of a constant tensor, as an array; `None` for what run time computes."""
    if not isinstance(value, SSAValue):
        return np.array(value, kind)
    symbol = symbols.constant_of(_stored(value))
    if symbol is None or symbol.value is None or not symbol.value.blob.is_resolved:
        return None
    shape = tensor_type(value).get_shape()
    return array_of(symbol.type, symbol.value.blob).astype(kind).reshape(shape)


def quantization_of(op: SchemaOp, symbols: Globals) -> Quantization:
    """The quantization of the integers that an operation of `QUANTIZE` makes, or one of `DEQUANTIZE` takes."""
    granularity = _granularity(op)
    by_tensor = "per_tensor" in op.operator.name
    scales = numbers_of(op.arg("scale" if by_tensor else "scales"), symbols, np.float64)
    zero_points = op.arg("zero_point" if by_tensor else "zero_points")
    if zero_points is None:
        offsets = None if scales is None else np.zeros(scales.shape, np.int64)
    else:
        offsets = numbers_of(zero_points, symbols, np.int64)
    integers = op.results[0] if isinstance(op, QUANTIZE) else op.operands[0]
    type = tensor_type(integers)
    shape: tuple[int, ...] = {
        Granularity.TENSOR: (),
        Granularity.CHANNEL: (-1,),
        Granularity.GROUP: (type.get_shape()[0], -1) if type.get_num_dims() else (-1,),
        Granularity.TOKEN: (-1,),
    }[granularity]
    return Quantization(
        dtype_of(type.element_type),
        op.arg("quant_min"),
        op.arg("quant_max"),
        granularity,
        None if scales is None else scales.reshape(shape),
        None if offsets is None else offsets.reshape(shape),
        axis=op.arg("axis") % type.get_num_dims() if granularity is Granularity.CHANNEL else 0,
        group=op.arg("group_size") if granularity is Granularity.GROUP else 0,
    )


def quantized(value: SSAValue) -> SchemaOp | None:
    """The operation that quantizes a real number's tensor into these integers."""
    owner = value.owner
    return owner if isinstance(owner, SchemaOp) and type(owner) in _QUANTIZE else None


def dequantized(value: SSAValue) -> SchemaOp | None:
    """The operation that restores these real numbers from integers."""
    owner = value.owner
    return owner if isinstance(owner, SchemaOp) and type(owner) in _DEQUANTIZE else None
