"""Operations that backends compute in integers: those between dequantized operands and a quantized result.

The operations that quantize and dequantize around them become the type of values of the graph, and no nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from xdsl.ir import Operation, SSAValue

from et_ir.analysis.activation_bounds import activation_bounds
from et_ir.analysis.quantization import QUANTIZE, Granularity, Quantization, dequantized
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.evaluation.arrays import Array, array_of
from et_ops.dtypes import I8

__all__ = [
    "Quantizations",
    "integer_bias",
    "integer_operations",
    "is_one_scale",
    "is_quantized_constant",
    "last_of",
    "restored_constant",
    "results_of",
]

_LAYERS: Final = {"convolution": "weight", "linear": "weight"}
"""Operators with a constant weight, and the argument that it is; biases are 32 bits wide."""
_BOUNDED: Final = frozenset({"add.Tensor", "convolution", "linear", "mul.Tensor", "sub.Tensor"})
"""Operators whose nodes bound their result, as an activation behind them does."""
_CHOICES: Final = frozenset({"cat", "clamp", "hardtanh", "max_pool2d_with_indices", "relu"})
"""Operators that give elements of their operands, or limits. Their result has the scale and zero point of these, as
that of operators that move elements has.
"""
_COMPUTED: Final = _LAYERS.keys() | _BOUNDED | {"mean.dim"}

_LEAST_SCALE: Final = float(np.finfo(np.float32).tiny)
_MOST_PRODUCT: Final = 255 * 128
"""The largest product of an activation less its zero point and a weight."""
_SUMS: Final = np.iinfo(np.int32)

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


def integer_bias(bias: Array, scales: Array, weights: int, result: Quantization) -> Array | None:
    """A bias, f64 in steps of the sums that it is added to, as i32; `None` if 32 bits do not hold all sums.

    `scales` are those of the sums, for each filter or one, and `weights` the number of weights of a filter. What takes
    every sum beyond the range of the result becomes the least number that does.
    """
    products = _MOST_PRODUCT * weights
    # One step of the result more, as halves are rounded.
    least = (result.quant_min - result.zero_point - 1) * result.scale
    most = (result.quant_max - result.zero_point + 1) * result.scale
    with np.errstate(all="ignore"):
        steps = scales.astype(np.float64)
        fitting = np.clip(np.rint(bias), least / steps - products, most / steps + products)
        holds = bool((np.abs(fitting) + products <= _SUMS.max).all())  # not for NaN, either
    return np.rint(fitting).astype(np.int32) if holds else None


def last_of(op: SchemaOp) -> SSAValue:
    """The result of the node of an op: of the activation that is part of it, if there is one."""
    value = op.results[0]
    uses = list(value.uses)
    user = uses[0].operation if len(uses) == 1 else None
    bounded = op.name.removeprefix("edge.") in _BOUNDED
    if bounded and isinstance(user, SchemaOp) and activation_bounds(user) is not None:
        return user.results[0]
    return value


def results_of(op: SchemaOp) -> Sequence[SSAValue]:
    """What the node of an op gives: what `last_of` says, or those parts of a split that are used."""
    if len(op.results) > 1 and op.operator.moves:
        return [result for result in op.results if result.uses]
    return [last_of(op)]


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
    ops: Iterable[Operation], quantizations: Quantizations, symbols: Globals
) -> Mapping[Operation, Quantization]:
    """The operations that are computed in integers, with the quantization of their results."""
    found: dict[Operation, Quantization] = {}
    for op in ops:
        name = op.name.removeprefix("edge.")
        if not isinstance(op, SchemaOp) or not (name in _COMPUTED or _keeps_scale(op)):
            continue
        how = _result_of(op, quantizations)
        if how is None:
            continue
        if name in _LAYERS:
            takes = _takes_layer(op, quantizations) and _holds_sums(op, how, quantizations, symbols)
        else:
            takes = _takes(op, how, quantizations)
        if takes:
            found[op] = how
    return found


def _result_of(op: SchemaOp, quantizations: Quantizations) -> Quantization | None:
    """How the results of the node of an op are quantized by all that reads them."""
    users = [use.operation for result in results_of(op) for use in result.uses]
    found: Quantization | None = None
    for user in users:
        if not isinstance(user, QUANTIZE):
            return None
        how = quantizations(user)
        if not is_one_scale(how) or (found is not None and not how.equals(found)):
            return None
        found = how
    return found


def _keeps_scale(op: SchemaOp) -> bool:
    return op.operator.moves or op.name.removeprefix("edge.") in _CHOICES


def _takes(op: SchemaOp, result: Quantization, quantizations: Quantizations) -> bool:
    keeps_scale = _keeps_scale(op)
    operands = [value for value in op.operands if is_tensor(value.type)]
    for value in operands:
        made = dequantized(value)
        if made is None:
            return False
        how = quantizations(made)
        if not is_one_scale(how) or (keeps_scale and not how.equals(result)):
            return False
    return bool(operands) and not all(map(is_quantized_constant, operands))


def _takes_layer(op: SchemaOp, quantizations: Quantizations) -> bool:
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


def _holds_sums(op: SchemaOp, result: Quantization, quantizations: Quantizations, symbols: Globals) -> bool:
    """Whether 32 bits hold the sums of a layer, as far as the elements of its bias are known."""
    bias = op.arg("bias")
    symbol = None if bias is None else symbols.constant_of(bias)
    if symbol is None or symbol.value is None or not symbol.value.blob.is_resolved:
        return True
    x, weight = dequantized(op.arg("input")), dequantized(op.arg("weight"))
    assert x is not None
    assert weight is not None
    scales = quantizations(weight).scales
    assert scales is not None
    numbers = array_of(symbol.type, symbol.value.blob).astype(np.float64).reshape(-1)
    sums = scales.reshape(-1) * quantizations(x).scale
    weights = tensor_type(op.arg("weight")).element_count() // numbers.size
    with np.errstate(all="ignore"):
        return integer_bias(numbers / sums, sums, weights, result) is not None
