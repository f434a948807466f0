"""Choice of scales and zero points from the values to quantize."""

from __future__ import annotations

from typing import Final

from xdsl.ir import SSAValue

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.passes.to_executorch.decompose_quantized.builder import Builder, decomposes, dtype, shape
from et_ops.dtypes import F16, F32, F64, I32, I64, U8

_LEAST: Final = 2.0**-23
"""The smallest scale for a row: the distance of 1 to the next number of f32."""


def _range(b: Builder, x: SSAValue, dims: tuple[int, ...] = ()) -> tuple[SSAValue, SSAValue]:
    """The least and the largest element, widened to hold 0: of all, or along dimensions that are kept."""
    low, high = (b(cls, x, list(dims), bool(dims)) for cls in (edge.AminOp, edge.AmaxOp))
    return b(edge.ClampOp, low, max=0), b(edge.ClampOp, high, 0)


def _quotient(b: Builder, value: SSAValue, number: float) -> SSAValue:
    """The value divided by a number, as a tensor: stock's kernel for numbers multiplies by the inverse."""
    return b(edge.DivTensorOp, value, b.full((), number, dtype(value)))


@decomposes("choose_qparams.tensor")
def choose(b: Builder, op: edge.QuantizedDecomposedChooseQparamsTensorOp) -> tuple[SSAValue, SSAValue]:
    """`scale = max((high - low) / (most - least), eps)`, `zero_point = clamp(least - round(low / scale))`."""
    low, high = _range(b, op.input)
    span = _quotient(b, b(edge.SubTensorOp, high, low), op.quant_max - op.quant_min)
    scale = b(edge.ClampOp, b.to(span, F32), op.eps)
    below = b.to(b(edge.RoundOp, b(edge.DivTensorOp, b.to(low, F32), scale)), I32)
    zero_point = b(edge.ClampOp, b(edge.RsubScalarOp, below, op.quant_min), op.quant_min, op.quant_max)
    return b.view(b.to(scale, F64), (1,)), b.view(b.to(zero_point, I64), (1,))


@decomposes("choose_qparams_symmetric.tensor")
def choose_symmetric(
    b: Builder, op: edge.QuantizedDecomposedChooseQparamsSymmetricTensorOp
) -> tuple[SSAValue, SSAValue]:
    """`scale = max(max(-low, high) / ((most - least) / 2), eps)`; the zero point is in the middle."""
    low, high = _range(b, op.input)
    largest = b(edge.MaximumOp, b(edge.NegOp, low), high)
    step = _quotient(b, largest, (op.quant_max - op.quant_min) / 2)
    scale = b(edge.ClampOp, b.to(step, F32), op.eps)
    middle = 128 if dtype_of(op.dtype) is U8 else 0
    return b.view(b.to(scale, F64), (1,)), b.full((1,), middle, I64)


@decomposes("choose_qparams_per_token")
def choose_for_rows(
    b: Builder, op: edge.QuantizedDecomposedChooseQparamsPerTokenOp
) -> tuple[SSAValue, SSAValue]:
    largest = b(edge.AmaxOp, b(edge.AbsOp, op.input), [len(shape(op.input)) - 1], True)
    largest = b.to(largest, F32) if dtype(largest) is F16 else largest
    scale = _quotient(b, b(edge.ClampOp, largest, 1e-5), 127)
    return scale, b(edge.FullLikeOp, scale, 0)


@decomposes("choose_qparams_per_token_asymmetric", "_choose_qparams_per_token_asymmetric_impl")
def choose_asymmetric_for_rows(
    b: Builder, op: edge.QuantizedDecomposedChooseQparamsPerTokenAsymmetricOp
) -> tuple[SSAValue, SSAValue]:
    """The zero point is chosen at the end of the range where it rounds less, in the element type of the operand."""
    low, high = _range(b, op.input, (len(shape(op.input)) - 1,))
    step = _quotient(b, b(edge.SubTensorOp, high, low), 255)
    scale = b(edge.ClampOp, step, _LEAST)
    down, up = (b(edge.DivTensorOp, end, scale) for end in (low, high))
    balance = b(edge.AddTensorOp, b(edge.AddScalarOp, down, -128), b(edge.AddScalarOp, up, 127))
    choices = b(edge.RsubScalarOp, down, -128), b(edge.RsubScalarOp, up, 127)
    zero = b(edge.WhereSelfOp, b(edge.GtScalarOp, balance, 0), *choices)
    whole = b(edge.RoundOp, b(edge.ClampOp, zero, -128, 127))
    return b.to(scale, F64), b.to(whole, I64)
