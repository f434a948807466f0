"""Linear layers with 4-bit weights, scaled by groups.

A group is of neighbors in a row.

ExecuTorch's runtime has an operator for

    %w = edge.quantized_decomposed.dequantize_per_channel_group %integers, %scales, %zeros {group_size = 32, …}
    %y = edge.linear %x, %w, %bias

with symmetric weights: `et_vk.linear_q4gsw`, whose constants `pack` lays out.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation

from et_backends.vulkan_graph.compiler.storage import BUFFER
from et_ir.analysis.quantization import Granularity, dequantized, numbers_of, quantization_of
from et_ir.backends.operator_rules import is_constant
from et_ir.dialects.edge.ops import LinearOp
from et_ir.dialects.program import Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["OPERATOR", "GroupedLinear", "grouped_linear"]

OPERATOR: Final = "et_vk.linear_q4gsw.default"

_HIGHEST_RANK: Final = 4
_COLUMNS: Final = 4
"""The operator takes rows and groups of a multiple of so many numbers, and vectors padded to one."""
_PACKED: Final = 8
"""Packed rows are padded to a multiple of so many numbers."""
_LEAST, _MOST = -8, 7

Array = np.ndarray[Any, Any]


class GroupedLinear(NamedTuple):
    """A layer, and what restores its weight."""

    restore: SchemaOp
    linear: LinearOp
    integers: Array
    """Weight, i8 [rows, columns] from -8 to 7."""
    scales: Array
    """f32 [rows, groups]."""
    group: int
    """Numbers of a row that share a scale."""
    bias: Array | None
    """f32 [rows]."""

    def packed_weight(self) -> Array:
        """u8 [rows, columns / 2], of two numbers plus 8 each, the first in the low bits."""
        padding = -self.integers.shape[1] % _PACKED
        positive = (np.pad(self.integers, ((0, 0), (0, padding))) - _LEAST).astype(np.uint8)
        return positive[:, 1::2] << 4 | positive[:, ::2]

    def packed_scales(self) -> Array:
        """f32 [groups, rows]."""
        return _padded(self.scales.T.astype(np.float32))

    def packed_bias(self) -> Array | None:
        """f32 [rows]."""
        return None if self.bias is None else _padded(self.bias)


def grouped_linear(op: Operation, symbols: Globals) -> GroupedLinear | None:
    """The layer that an op is, if the operator computes it and only layers use the restored weight."""
    if not isinstance(op, LinearOp):
        return None
    restore, bias = dequantized(op.arg("weight")), op.arg("bias")
    if restore is None or not (bias is None or is_constant(bias)):
        return None
    weight = restore.results[0]
    if not all(
        isinstance(use.operation, LinearOp) and use.operation.arg("weight") is weight for use in weight.uses
    ):
        return None
    types = [tensor_type(value) for value in (op.arg("input"), op.result)]
    if any(
        type.element_type != f32
        or not type.has_static_shape()
        or not 2 <= len(type.get_shape()) <= _HIGHEST_RANK
        or 0 in type.get_shape()
        or not BUFFER.holds(type.get_shape())
        for type in types
    ):
        return None
    how = quantization_of(restore, symbols)
    integers = numbers_of(restore.operands[0], symbols, np.int8)
    if (
        integers is None
        or how.granularity is not Granularity.GROUP
        or how.scales is None
        or not how.is_symmetric
    ):
        return None
    columns = integers.shape[1]
    fits = integers.min() >= _LEAST and integers.max() <= _MOST
    # The device counts groups by so many columns, of which a smaller group has none.
    if not fits or how.group % _COLUMNS or how.group * how.scales.shape[1] != columns:
        return None
    numbers = None if bias is None else numbers_of(bias, symbols, np.float32)
    if (numbers is None) != (bias is None):
        return None
    return GroupedLinear(restore, op, integers, how.scales, how.group, numbers)


def _padded(array: Array) -> Array:
    """With zeros behind the last dimension."""
    padding = [(0, 0)] * (array.ndim - 1) + [(0, -array.shape[-1] % _COLUMNS)]
    return np.ascontiguousarray(np.pad(array, padding))
