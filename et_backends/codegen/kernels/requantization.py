"""Epilogue of integer products: from sums of products of bytes to bytes in units of the result, or to floats.

A sum is multiplied by one f32 number for each column, bounded, rounded half to even and offset by the zero point:
`clamp(round(sum * m + r) + z)`, where `r` is what the bias has beside the whole number that sums start from. Bounds of
a `relu` or the like between the product and its quantization are among those of the clamp. What is dequantized and
quantized again in the kernel is such a stage of its own: `clamp(round(n * m) + z)` of the whole numbers `n` of the
stage before, less its zero point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.dialect.types import vector_type
from et_backends.codegen.kernels.epilogue import Epilogue
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.integer_operands import IntegerOperands
from et_backends.codegen.kernels.panels import PANEL, array_constant
from et_backends.codegen.kernels.pointwise_rules import operator_name
from et_backends.codegen.kernels.quantization_rules import (
    LARGEST_ROUNDED,
    bounded,
    requantized,
    rounded,
    whole,
)
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_backends.codegen.sizes import Size
from et_ir.dialects.schema import SchemaOp

__all__ = ["IntegerEpilogue", "integer_epilogue"]


@dataclass
class _Stage:
    """A quantization: what it multiplies by, its zero point, and bounds in units of its scale."""

    factor: float
    zero_point: int
    low: int
    high: int


@dataclass
class IntegerEpilogue(Epilogue):
    """The computation of a kernel on sums of products of bytes, i32."""

    multipliers: SSAValue | None = None
    """f32 of each column, in whole panels."""
    remainders: SSAValue | None = None
    """f32 of each column, in whole panels, that are added to scaled sums; none where these are zeros."""
    stages: Sequence[_Stage] = ()
    """Quantizations, each of what the one before stores; none where the product itself is read as floats."""
    dynamic: IntegerOperands | None = None
    """The operands, where the scale and the zero point of the activation are known at run time only."""
    is_rounded_first: bool = False
    """Whether numbers are rounded before they are bounded."""
    _factors: SSAValue | None = None
    _remainders: SSAValue | None = None
    _scale: SSAValue | None = None
    _bias: SSAValue | None = None

    def operands(self, host: Host) -> list[Operand]:
        """The buffers of multipliers, and those of other ops of the kernel."""
        assert self.multipliers is not None
        assert isinstance(self.columns, int)
        padded = -(-self.columns // PANEL) * PANEL
        found = [Operand(self.multipliers, [padded])]
        if self.remainders is not None:
            found.append(Operand(self.remainders, [padded]))
        if self.dynamic is not None:
            activation = self.dynamic.activation
            scale = host.buffer(self.kernel.outside()[activation.operands[1]])
            bias = np.zeros(padded, np.float32)
            bias[: self.columns] = self.dynamic.bias
            found += [Operand(scale, [1]), Operand(array_constant(host, bias), [padded])]
        return [*found, *super().operands(host)]

    def bind(self, buffers: Sequence[SSAValue]) -> None:
        """Note the kernel's arguments for `operands`, in their order."""
        self._factors, *others = buffers
        if self.remainders is not None:
            self._remainders, *others = others
        if self.dynamic is not None:
            self._scale, self._bias, *others = others
        super().bind(others)

    def _total(
        self, b: LoopBuilder, total: SSAValue, at: Sequence[Index], values: Mapping[SSAValue, SSAValue]
    ) -> SSAValue:
        assert self._factors is not None
        shape = vector_type(total).get_shape()
        row = vector_of(shape[-1])
        factors = b.load(self._factors, [at[1]], row)
        if self._scale is not None and self._bias is not None:
            factors = b.value(arith.MulfOp(factors, b.broadcast(b.element(self._scale, [0]), row)))
        wide = b.broadcast(factors, vector_of(*shape))
        value = b.convert("sitofp", total, f32)
        if self._remainders is not None:
            rest = b.broadcast(b.load(self._remainders, [at[1]], row), vector_of(*shape))
            value = b.value(vector.FMAOp(value, wide, rest))
        else:
            value = b.value(arith.MulfOp(value, wide))
        if self._bias is not None:
            bias = b.broadcast(b.load(self._bias, [at[1]], row), vector_of(*shape))
            return b.value(arith.AddfOp(value, bias))
        if not self.stages:
            return value
        *inner, last = self.stages
        for before, after in zip(inner, self.stages[1:], strict=True):
            value = whole(
                b, bounded(b, value, before.low - before.zero_point, before.high - before.zero_point)
            )
            value = b.value(arith.MulfOp(value, b.number(after.factor, value.type)))
        if self.is_rounded_first and not inner:
            return rounded(b, value, last.low, last.high, last.zero_point)
        return requantized(b, value, last.low, last.high, last.zero_point)


def integer_epilogue(
    host: Host, kernel: KernelOp, found: IntegerOperands, rows: Size, columns: int
) -> IntegerEpilogue:
    """The epilogue of a kernel whose anchor is a product of quantized numbers."""
    absorbed, stages = ([], []) if found.quantization is None else _stages(found.op)
    scales = found.scales
    if stages:
        scales = scales * stages[0].factor
    padded, remainders = np.zeros((2, -(-columns // PANEL) * PANEL), np.float32)
    padded[:columns] = scales
    remainders[:columns] = found.remainder * scales
    return IntegerEpilogue(
        kernel,
        found.op,
        rows,
        columns,
        absorbed=absorbed,
        multipliers=array_constant(host, padded),
        # Processors without vectors may have no fused product and sum.
        remainders=array_constant(host, remainders) if remainders.any() and not host.small else None,
        stages=stages,
        dynamic=found if found.quantization is None else None,
        is_rounded_first=host.small and bool(stages) and _largest(found, padded) < LARGEST_ROUNDED,
    )


def _largest(found: IntegerOperands, multipliers: np.ndarray[Any, Any]) -> float:
    """The largest number that a sum can become, with any activations."""
    columns = found.weights.shape[0]
    sums = np.abs(found.weights.astype(np.int64)).reshape(columns, -1).sum(1)
    return float(
        ((255 * sums + np.abs(found.start().astype(np.int64))) * multipliers[:columns]).max(initial=0)
    )


def _stages(anchor: SchemaOp) -> tuple[list[SchemaOp], list[_Stage]]:
    """Quantizations after a product, each with the bounds before it and what dequantizes the one before that."""
    taken: list[SchemaOp] = []
    stages: list[_Stage] = []
    chain: list[SchemaOp] = []
    op, scale = anchor, 1.0
    while len(uses := list(op.results[0].uses)) == 1 and isinstance(user := uses[0].operation, SchemaOp):
        before, op = op, user
        chain.append(op)
        name = operator_name(op)
        if name == "quantized_decomposed.quantize_per_tensor":
            stages.append(_stage(chain, scale))
            taken += chain
            chain = []
            scale = float(op.arg("scale"))
        elif name == "quantized_decomposed.dequantize_per_tensor":
            if chain != [op] or any(op.arg(one) != before.arg(one) for one in ("scale", "zero_point")):
                break
        elif _bounds(op) is None:
            break
    return taken, stages


def _bounds(op: SchemaOp) -> tuple[float | None, float | None] | None:
    """The bounds between which an op keeps numbers; None for other ops."""
    match operator_name(op):
        case "relu":
            return 0.0, None
        case "hardtanh":
            return float(op.arg("min_val")), float(op.arg("max_val"))
        case "clamp":
            low, high = op.arg("min"), op.arg("max")
            return None if low is None else float(low), None if high is None else float(high)
        case _:
            return None


def _stage(chain: Sequence[SchemaOp], before: float) -> _Stage:
    """A quantization and the ops before it; `before` is the scale of what these read."""
    *bounds, last = chain
    scale, zero_point = float(last.arg("scale")), int(last.arg("zero_point"))
    least, most = int(last.arg("quant_min")), int(last.arg("quant_max"))
    low, high = least, most
    for found in filter(None, map(_bounds, bounds)):
        for number, side in zip(found, (max, min), strict=True):
            if number is not None:
                # As the quantization rounds a number that a bound has made of another.
                stored = np.rint(np.float32(number) * np.float32(1 / scale)) + zero_point
                bound = int(np.clip(stored, least, most))
                low, high = side(low, bound), side(high, bound)
    return _Stage(before / scale, zero_point, low, high)
