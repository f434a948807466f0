"""Operations that backends compute in integers: those between dequantized operands and a quantized result.

The operations that quantize and dequantize around them become the type of values of the graph, and no nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import numpy as np
from xdsl.ir import Operation, SSAValue

from et_ir.analysis.activation_bounds import activation_bounds
from et_ir.analysis.quantization import QUANTIZE, Granularity, Quantization, dequantized
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor
from et_ops.dtypes import I8

__all__ = [
    "Quantizations",
    "integer_operations",
    "is_one_scale",
    "is_quantized_constant",
    "last_of",
    "restored_constant",
]

_LAYERS: Final = {"convolution": "weight", "linear": "weight"}
"""Operators with a constant weight, and the argument that it is; biases are 32 bits wide."""
_BOUNDED: Final = frozenset({"add.Tensor", "convolution", "linear", "mul.Tensor", "sub.Tensor"})
"""Operators whose nodes bound their result, as an activation behind them does."""
_MOVES: Final = frozenset(
    {
        "cat",
        "clamp",
        "hardtanh",
        "max_pool2d_with_indices",
        "permute_copy",
        "relu",
        "slice_copy.Tensor",
        "squeeze_copy.dim",
        "squeeze_copy.dims",
        "transpose_copy.int",
        "unsqueeze_copy",
        "view_copy",
    }
)
"""Operators whose result has the scale and zero point of their operands."""
_OTHERS: Final = frozenset({"mean.dim"})

_LEAST_SCALE: Final = float(np.finfo(np.float32).tiny)

Quantizations = Callable[[SchemaOp], Quantization]
"""The quantization of an operation of `QUANTIZE` or `DEQUANTIZE`."""


def is_quantized_constant(value: SSAValue) -> bool:
    """Whether a value is restored from integers that the program has, with scales that it has."""
    op = dequantized(value)
    return op is not None and all(isinstance(one.owner, GetOp) for one in op.operands)


def restored_constant(integers: np.ndarray, how: Quantization) -> np.ndarray:
    """The numbers that integers stand for, f32."""
    assert how.scales is not None
    assert how.zero_points is not None
    if how.granularity is Granularity.GROUP:
        rows = integers.reshape(*how.scales.shape, -1)
        restored = (rows - how.zero_points[..., None]) * how.scales[..., None]
        return restored.reshape(integers.shape).astype(np.float32)
    shape = [1] * integers.ndim
    if how.scales.ndim:
        shape[how.axis] = -1
    return ((integers - how.zero_points.reshape(shape)) * how.scales.reshape(shape)).astype(np.float32)


def last_of(op: SchemaOp) -> SSAValue:
    """The result of the node of an op: of the activation that is part of it, if there is one."""
    value = op.results[0]
    uses = list(value.uses)
    user = uses[0].operation if len(uses) == 1 else None
    bounded = op.name.removeprefix("edge.") in _BOUNDED
    if bounded and isinstance(user, SchemaOp) and activation_bounds(user) is not None:
        return user.results[0]
    return value


def is_one_scale(how: Quantization) -> bool:
    """Whether a value of a graph can be of a quantization: 8 bits, a scale and a zero point at compile time."""
    return (
        how.dtype is I8
        and how.granularity is Granularity.TENSOR
        and not how.is_dynamic
        and how.scale >= _LEAST_SCALE
    )


def _is_weight(value: SSAValue, quantizations: Quantizations) -> bool:
    op = dequantized(value)
    if op is None or not is_quantized_constant(value):
        return False
    how = quantizations(op)
    return (
        how.dtype is I8
        and how.granularity in (Granularity.TENSOR, Granularity.CHANNEL)
        and how.is_symmetric
        and how.scales is not None
        and bool((how.scales >= _LEAST_SCALE).all())
    )


def integer_operations(
    ops: Iterable[Operation], quantizations: Quantizations
) -> Mapping[Operation, Quantization]:
    """The operations that are computed in integers, with the quantization of their results."""
    found: dict[Operation, Quantization] = {}
    for op in ops:
        name = op.name.removeprefix("edge.")
        if not isinstance(op, SchemaOp) or name not in (_LAYERS.keys() | _BOUNDED | _MOVES | _OTHERS):
            continue
        how = _result_of(op, quantizations)
        if how is not None and _takes(op, name, how, quantizations):
            found[op] = how
    return found


def _result_of(op: SchemaOp, quantizations: Quantizations) -> Quantization | None:
    """How the result of the node of an op is quantized by all that reads it."""
    users = [use.operation for use in last_of(op).uses]
    found: Quantization | None = None
    for user in users:
        if not isinstance(user, QUANTIZE):
            return None
        how = quantizations(user)
        if not is_one_scale(how) or (found is not None and not how.equals(found)):
            return None
        found = how
    return found


def _takes(op: SchemaOp, name: str, result: Quantization, quantizations: Quantizations) -> bool:
    if name in _LAYERS:
        return _takes_layer(op, result, quantizations)
    operands = [value for value in op.operands if is_tensor(value.type)]
    for value in operands:
        made = dequantized(value)
        if made is None:
            return False
        how = quantizations(made)
        if not is_one_scale(how) or (name in _MOVES and not how.equals(result)):
            return False
    return bool(operands) and not all(map(is_quantized_constant, operands))


def _takes_layer(op: SchemaOp, result: Quantization, quantizations: Quantizations) -> bool:
    x, weight, bias = op.arg("input"), op.arg("weight"), op.arg("bias")
    made = dequantized(x)
    if made is None or is_quantized_constant(x) or not is_one_scale(quantizations(made)):
        return False
    if not _is_weight(weight, quantizations) or (bias is not None and not isinstance(bias.owner, GetOp)):
        return False
    restored = dequantized(weight)
    assert restored is not None
    how = quantizations(restored)
    if how.granularity is Granularity.TENSOR:
        return True
    if op.name.removeprefix("edge.") == "linear" or not op.arg("transposed"):
        return how.axis == 0
    return how.axis == 1 and op.arg("groups") == 1
