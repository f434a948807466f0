"""Legalization of ops that are computed in integers: those between dequantized operands and a quantized result.

Sums are of 32 bits, and `RESCALE` makes 8 of them. It multiplies by `multiplier / 2**shift`, the nearest such fraction
to a ratio of scales with a multiplier of 31 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import frexp
from typing import Final

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from et_backends.tosa.compiler.legalizer import CannotLegalize, Legalizer
from et_backends.tosa.compiler.rules import RULES
from et_backends.tosa.compiler.rules.convolution import as_image, as_result, convolved, filters_of
from et_backends.tosa.compiler.rules.rule import axes
from et_backends.tosa.format.graph import DType, Op, RoundingMode
from et_ir.analysis.activation_bounds import activation_bounds
from et_ir.analysis.integer_operations import integer_bias, integer_operations, last_of, results_of
from et_ir.analysis.quantization import DEQUANTIZE, QUANTIZE, Quantization, dequantized, quantization_of
from et_ir.dialects.program import Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor
from et_ir.evaluation.arrays import Array

__all__ = ["Integers", "multiplier_and_shift"]

_HEADROOM: Final = 20
"""Bits that operands of a sum are shifted to the left by, so that little of them is lost."""


def multiplier_and_shift(scale: float) -> tuple[int, int]:
    """The fraction `multiplier / 2**shift` nearest to a scale, with a multiplier of 31 bits and a shift from 2 to 62.

    Raises `CannotLegalize` for a scale that none is near to.
    """
    mantissa, exponent = frexp(scale)
    multiplier = round(mantissa * 2**31)
    if multiplier == 2**31:
        multiplier //= 2
        exponent += 1
    shift = 31 - exponent
    if shift > 62:
        multiplier >>= min(shift - 62, 31)
        shift = 62
    if shift < 2 or multiplier <= 0:
        raise CannotLegalize(f"a ratio of scales of {scale}")
    return multiplier, shift


def rescale(
    t: Legalizer,
    value: SSAValue,
    scales: Array | float,
    result: DType,
    zero_points: tuple[int, int] = (0, 0),
) -> SSAValue:
    """A value times a scale, or times one for each of its last dimension, in another type.

    `zero_points` are those of the value and of the result.
    """
    given = np.atleast_1d(np.asarray(scales, np.float64))
    found = [multiplier_and_shift(float(scale)) for scale in given]
    return t.emit(
        Op.RESCALE,
        value,
        t.const(np.array([one for one, _ in found], np.int32), DType.INT32, "multipliers"),
        t.const(np.array([one for _, one in found], np.int8), DType.INT8, "shifts"),
        t.splat(zero_points[0], t.dtype(value)),
        t.splat(zero_points[1], result),
        result=result,
        scale32=True,
        rounding_mode=RoundingMode.SINGLE_ROUND,
        per_channel=len(given) > 1,
        input_unsigned=False,
        output_unsigned=False,
    )


@dataclass
class Integers:
    """The ops of one method that are computed in integers, and what has been made of them."""

    symbols: Globals
    operations: Mapping[Operation, Quantization] = field(default_factory=dict[Operation, Quantization])
    """Quantization of the result of each op."""
    made: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Integers in the place of values that are quantized next."""
    fused: set[Operation] = field(default_factory=set[Operation])
    """Activations that are limits of the op before them."""
    results: set[SSAValue] = field(default_factory=set[SSAValue])
    """Results of ops in integers that are quantized next."""

    @staticmethod
    def of(method: FuncOp, symbols: Globals) -> Integers:
        """The ops of a method that are computed in integers."""
        operations = integer_operations(
            method.body.block.ops, lambda op: quantization_of(op, symbols), symbols
        )
        results = {value for op in operations if isinstance(op, SchemaOp) for value in results_of(op)}
        ends = {value.owner for value in results if isinstance(value.owner, Operation)}
        return Integers(symbols, operations, fused=ends - set(operations), results=results)

    def reads(self, op: Operation) -> bool:
        """Whether an op takes the integers behind dequantized operands."""
        return op in self.operations

    def is_border(self, op: Operation) -> bool:
        """Whether an op quantizes or dequantizes only for ops in integers."""
        if isinstance(op, DEQUANTIZE):
            return all(use.operation in self.operations for use in op.results[0].uses)
        if isinstance(op, QUANTIZE):
            return op.operands[0] in self.results
        return op in self.fused

    def lower(self, t: Legalizer, op: SchemaOp) -> None:
        """Make the ops that compute an op in integers. Raises `ValueError` for what they cannot."""
        how = self.operations[op]
        lower = _LOWER.get(op.name.removeprefix("edge."))
        made = self._moved(t, op) if lower is None else [lower(self, t, op, how)]
        low, high = self._limits(op, how)
        for result, value in zip(results_of(op), made, strict=True):
            self.made[result] = value if (low, high) == (-128, 127) else t.clamp(value, low, high)

    def _moved(self, t: Legalizer, op: SchemaOp) -> list[SSAValue]:
        """A movement of elements, or a choice among them: the rule of floats does it with integers."""
        rule = RULES.get(op.name.removeprefix("edge."))
        if rule is None:
            raise CannotLegalize("there is no rule for the operator")
        copy = op.clone()
        try:
            for number, value in enumerate(op.operands):
                if is_tensor(value.type):
                    copy.operands[number] = self.operand(t, value)[0]
            found = rule(t, copy)
        finally:
            copy.erase()
        results = [found] if isinstance(found, SSAValue) else found
        made = [value for value, result in zip(results, op.results, strict=False) if result.uses]
        if None in made:
            raise CannotLegalize("a result that TOSA does not compute is used")
        return [value for value in made if value is not None]

    def _limits(self, op: SchemaOp, how: Quantization) -> tuple[int, int]:
        """The least and the greatest integer of a result, by its quantization and an activation."""
        low, high = how.quant_min, how.quant_max
        last = last_of(op).owner
        found = [one for one in {op, last} if isinstance(one, SchemaOp)]
        for one in found:
            bounds = activation_bounds(one)
            if bounds is None:
                continue
            for place, bound in enumerate(bounds):
                if not np.isfinite(bound):
                    continue
                number = int(np.clip(np.rint(bound / how.scale) + how.zero_point, low, high))
                low, high = (max(low, number), high) if place == 0 else (low, min(high, number))
        return low, high

    def operand(self, t: Legalizer, value: SSAValue) -> tuple[SSAValue, Quantization]:
        """The integers behind a dequantized value, and their quantization."""
        op = dequantized(value)
        if op is None:
            raise CannotLegalize("an operand is not dequantized")
        return t.operand(op.operands[0]), quantization_of(op, self.symbols)


_Lower = Callable[[Integers, Legalizer, SchemaOp, Quantization], SSAValue]


def _scales(how: Quantization) -> Array:
    assert how.scales is not None
    return how.scales


def _layer(
    self: Integers, t: Legalizer, op: SchemaOp, how: Quantization
) -> tuple[SSAValue, int, SSAValue, SSAValue, Array]:
    """The image's integers and zero point, the weight, the bias of 32 bits, and the scales of the result."""
    x, x_how = self.operand(t, op.arg("input"))
    weight, weight_how = self.operand(t, op.arg("weight"))
    bias: SSAValue | None = op.arg("bias")
    sums = _scales(weight_how).reshape(-1) * x_how.scale
    if bias is None:
        added = t.splat(0, DType.INT32)
    else:
        numbers = t.constant(bias)
        if numbers is None:
            raise CannotLegalize("the bias is not a constant")
        numbers = numbers.astype(np.float64).reshape(-1)
        weights = int(np.prod(t.shape_of(weight), dtype=np.int64)) // numbers.size
        with np.errstate(all="ignore"):
            whole = integer_bias(numbers / sums, sums, weights, how)
        if whole is None:
            raise CannotLegalize("the sums exceed 32 bits")
        added = t.const(whole, DType.INT32, "bias")
    return x, x_how.zero_point, weight, added, sums / how.scale


def _convolution(self: Integers, t: Legalizer, op: SchemaOp, how: Quantization) -> SSAValue:
    x, zero, _, bias, scales = _layer(self, t, op, how)
    weight = dequantized(op.arg("weight"))
    assert weight is not None
    filters = filters_of(t, op, weight.operands[0])
    made = convolved(t, op, as_image(t, x), filters, bias, (zero, 0))
    return as_result(t, op, rescale(t, made, scales, DType.INT8, (0, how.zero_point)))


def _linear(self: Integers, t: Legalizer, op: SchemaOp, how: Quantization) -> SSAValue:
    x, zero, weight, bias, scales = _layer(self, t, op, how)
    *batch, depth = t.shape_of(x)
    outputs = t.shape_of(weight)[0]
    made = t.emit(
        Op.CONV2D,
        t.reshape(x, (int(np.prod(batch, dtype=np.int64)), 1, 1, depth)),
        t.reshape(weight, (outputs, 1, 1, depth)),
        bias,
        t.splat(zero, DType.INT8),
        t.splat(0, DType.INT8),
        pad=[0] * 4,
        stride=[1, 1],
        dilation=[1, 1],
        acc_type=DType.INT32,
    )
    return t.reshape(rescale(t, made, scales, DType.INT8, (0, how.zero_point)), (*batch, outputs))


def _sum(kind: Op) -> _Lower:
    def lower(self: Integers, t: Legalizer, op: SchemaOp, how: Quantization) -> SSAValue:
        if op.arg("alpha") != 1:
            raise CannotLegalize("a sum with a factor")
        parts = [self.operand(t, value) for value in op.operands if is_tensor(value.type)]
        if len(parts) != 2:
            raise CannotLegalize("a sum with a number")
        common = 2 * max(part.scale for _, part in parts)
        wide = [
            rescale(t, value, part.scale / common * 2**_HEADROOM, DType.INT32, (part.zero_point, 0))
            for value, part in parts
        ]
        made = t.binary(kind, *wide)
        return rescale(t, made, common / 2**_HEADROOM / how.scale, DType.INT8, (0, how.zero_point))

    return lower


def _product(self: Integers, t: Legalizer, op: SchemaOp, how: Quantization) -> SSAValue:
    parts = [self.operand(t, value) for value in op.operands if is_tensor(value.type)]
    if len(parts) != 2:
        raise CannotLegalize("a product with a number")
    wide = [rescale(t, value, 1.0, DType.INT32, (part.zero_point, 0)) for value, part in parts]
    scale = parts[0][1].scale * parts[1][1].scale / how.scale
    return rescale(t, t.mul(wide[0], wide[1]), scale, DType.INT8, (0, how.zero_point))


def _mean(self: Integers, t: Legalizer, op: SchemaOp, how: Quantization) -> SSAValue:
    x, x_how = self.operand(t, op.arg("self"))
    shape = t.shape_of(x)
    dims = axes(op.arg("dim"), len(shape))
    count = int(np.prod([shape[dim] for dim in dims], dtype=np.int64))
    wide = rescale(t, x, 1.0, DType.INT32, (x_how.zero_point, 0))
    made = t.reduce(Op.REDUCE_SUM, wide, dims)
    made = rescale(t, made, x_how.scale / count / how.scale, DType.INT8, (0, how.zero_point))
    return t.reshape(made, t.shape_of(op.results[0]))


def _limited(self: Integers, t: Legalizer, op: SchemaOp, how: Quantization) -> SSAValue:
    """An activation, which is limits of its operand's integers."""
    return self.operand(t, op.arg("self"))[0]


_LOWER: Final[dict[str, _Lower]] = {
    "add.Tensor": _sum(Op.ADD),
    "clamp": _limited,
    "convolution": _convolution,
    "hardtanh": _limited,
    "linear": _linear,
    "mean.dim": _mean,
    "mul.Tensor": _product,
    "relu": _limited,
    "sub.Tensor": _sum(Op.SUB),
}
"""Integer computation of each operator; the others move elements."""
