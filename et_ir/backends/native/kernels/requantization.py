"""Epilogue of integer products: from sums of products of bytes to bytes in units of the result, or to floats.

A sum is multiplied by one f32 number for each column, bounded, rounded half to even and offset by the zero point:
`clamp(round(sum * m) + z)`. Bounds of a `relu` or the like between the product and its quantization are among those of
the clamp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from et_ir.backends.native.kernels.epilogue import Epilogue
from et_ir.backends.native.kernels.host import Host, Operand
from et_ir.backends.native.kernels.integer_operands import IntegerOperands
from et_ir.backends.native.kernels.panels import PANEL, array_constant
from et_ir.backends.native.kernels.pointwise_rules import operator_name
from et_ir.backends.native.kernels.quantization_rules import requantized
from et_ir.backends.native.loop_builder import Index, LoopBuilder, vector_of
from et_ir.backends.native.sizes import Size
from et_ir.dialects.native import KernelOp
from et_ir.dialects.native.types import vector_type
from et_ir.dialects.schema import SchemaOp

__all__ = ["IntegerEpilogue", "integer_epilogue"]


@dataclass
class _Requantization:
    """Quantization of a result: its scale, zero point and bounds in units of it."""

    scale: float
    zero_point: int
    low: int
    high: int


@dataclass
class IntegerEpilogue(Epilogue):
    """What a kernel computes of sums of products of bytes, i32."""

    multipliers: SSAValue | None = None
    """f32 of each column, in whole panels."""
    requantization: _Requantization | None = None
    """None where the product itself is read as floats."""
    _factors: SSAValue | None = None

    def operands(self, host: Host) -> list[Operand]:
        """The buffers of multipliers, and those of other ops of the kernel."""
        assert self.multipliers is not None
        assert isinstance(self.columns, int)
        return [Operand(self.multipliers, [-(-self.columns // PANEL) * PANEL]), *super().operands(host)]

    def bind(self, buffers: Sequence[SSAValue]) -> None:
        self._factors, *others = buffers
        super().bind(others)

    def _total(
        self, b: LoopBuilder, total: SSAValue, at: Sequence[Index], values: Mapping[SSAValue, SSAValue]
    ) -> SSAValue:
        assert self._factors is not None
        shape = vector_type(total).get_shape()
        factors = b.load(self._factors, [at[1]], vector_of(shape[-1]))
        scaled = b.value(
            arith.MulfOp(b.convert("sitofp", total, f32), b.broadcast(factors, vector_of(*shape)))
        )
        to = self.requantization
        return scaled if to is None else requantized(b, scaled, to.low, to.high, to.zero_point)


def integer_epilogue(
    host: Host, kernel: KernelOp, found: IntegerOperands, rows: Size, columns: int
) -> IntegerEpilogue:
    """The epilogue of a kernel whose anchor is a product of quantized numbers."""
    absorbed = _absorbed(found.op)
    scales, to = found.scales, None
    if absorbed:
        to = _requantization(absorbed)
        scales = scales / to.scale
    padded = np.zeros(-(-columns // PANEL) * PANEL, np.float32)
    padded[:columns] = scales
    return IntegerEpilogue(
        kernel,
        found.op,
        rows,
        columns,
        absorbed=absorbed,
        multipliers=array_constant(host, padded),
        requantization=to,
    )


def _absorbed(anchor: SchemaOp) -> list[SchemaOp]:
    """Bounds and the quantization after a product; none where there is no quantization."""
    chain: list[SchemaOp] = []
    op = anchor
    while len(uses := list(op.results[0].uses)) == 1 and isinstance(user := uses[0].operation, SchemaOp):
        op = user
        chain.append(op)
        if operator_name(op) == "quantized_decomposed.quantize_per_tensor":
            return chain
        if _bounds(op) is None:
            break
    return []


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


def _requantization(chain: Sequence[SchemaOp]) -> _Requantization:
    *bounds, last = chain
    scale, zero_point = float(last.arg("scale")), int(last.arg("zero_point"))
    low, high = int(last.arg("quant_min")), int(last.arg("quant_max"))

    def stored(number: float) -> int:
        # As the quantization rounds a number that a bound has made of another.
        whole = np.rint(np.float32(number) * np.float32(1 / scale)) + zero_point
        return int(np.clip(whole, int(last.arg("quant_min")), int(last.arg("quant_max"))))

    for op in bounds:
        found = _bounds(op)
        assert found is not None
        for number, side in zip(found, (max, min), strict=True):
            if number is not None:
                low, high = side(low, stored(number)), side(high, stored(number))
    return _Requantization(scale, zero_point, low, high)
